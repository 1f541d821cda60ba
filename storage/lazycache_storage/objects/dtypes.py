"""numpy dtypes as text, exactly: byte order, offsets, titles and alignment kept.

The text is JSON: a string such as ``"<f8"`` for a simple dtype, an object with
names, formats and offsets for a structured one, base and shape for a
sub-array. Reading such a text runs no code and never makes another dtype than
the text says.
"""

import functools
import re
from typing import Any

import msgspec
import numpy as np

from lazycache_storage.errors import CorruptEntryError

AnyDtype = np.dtype[Any]

_SIMPLE = re.compile(r"[<>|][biufcSUVmMO]\d*(\[\d*[a-zA-Zμ]+\])?|[<>]?[qQ]")
_SIMPLE_CHARS = frozenset("?bhilBHILefdFD")
"""Type characters that the text of a native dtype brings back."""
_PLAIN_BYTES = frozenset("?bhilqBHILQpPefdFDSUVmM")
"""Type characters of which an array is nothing but its bytes, and which Zarr can hold."""


def describe(dtype: AnyDtype) -> str | None:
    """Return the text of a dtype, or None if a text could not bring it back.

    Examples
    --------
    >>> describe(np.dtype(">i4"))
    '">i4"'
    >>> parse(describe(np.dtype([("a", "i1"), ("b", "<f8")], align=True))).isalignedstruct
    True
    >>> describe(np.dtypes.StringDType()) is None
    True
    """
    if dtype.isbuiltin == 1 and dtype.char in _SIMPLE_CHARS:
        return f'"{dtype.str}"'
    spec = _to_spec(dtype)
    return None if spec is None else msgspec.json.encode(spec).decode()


def _to_spec(dtype: AnyDtype) -> Any:
    if dtype.metadata is not None:
        return None
    if dtype.subdtype is not None:
        base = _to_spec(dtype.subdtype[0])
        return None if base is None else {"base": base, "shape": dtype.subdtype[1]}
    if dtype.names is not None:
        return _structured_spec(dtype)
    # The type characters q and Q share their text with l and L, but are other types.
    for text in (dtype.str, dtype.char, dtype.byteorder + dtype.char):
        if _SIMPLE.fullmatch(text):
            again = np.dtype(text)
            if again == dtype and again.char == dtype.char and type(again) is type(dtype):
                return text
    return None


def _structured_spec(dtype: AnyDtype) -> Any:
    if dtype.type not in (np.void, np.record) or dtype.names is None or dtype.fields is None:
        return None
    fields = [dtype.fields[name] for name in dtype.names]
    formats = [_to_spec(field[0]) for field in fields]
    titles = [field[2] if len(field) > 2 else None for field in fields]
    if None in formats or not all(title is None or type(title) is str for title in titles):
        return None
    spec: dict[str, Any] = {"names": dtype.names, "formats": formats, "offsets": [field[1] for field in fields]}
    spec["itemsize"] = dtype.itemsize
    if dtype.isalignedstruct:
        spec["aligned"] = True
    if any(titles):
        spec["titles"] = titles
    if dtype.type is np.record:
        spec["record"] = True
    return spec


def parse(text: str) -> AnyDtype:
    """Return the dtype of a text made by `describe`.

    Raises
    ------
    CorruptEntryError
        If the text is no dtype.
    """
    if text[:1] == '"' and _SIMPLE.fullmatch(text, 1, len(text) - 1):
        spec: Any = text[1:-1]
    else:
        spec = _load(text)
    try:
        return _from_spec(spec)
    except (TypeError, ValueError, KeyError, OverflowError, RecursionError, MemoryError) as error:
        raise CorruptEntryError(path=f"dtype {text[:80]}", reason=str(error)) from error


def _load(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise CorruptEntryError(path=f"dtype {text[:80]}", reason=str(error)) from error


def _from_spec(spec: Any) -> AnyDtype:
    if isinstance(spec, str):
        if not _SIMPLE.fullmatch(spec):
            raise ValueError(f"no dtype has the text {spec[:80]!r}")
        return np.dtype(spec)
    if "base" in spec:
        return np.dtype((_from_spec(spec["base"]), tuple(spec["shape"])))
    parts: Any = {name: spec[name] for name in ("names", "offsets", "itemsize", "titles") if name in spec}
    parts["formats"] = [_from_spec(part) for part in spec["formats"]]
    dtype: AnyDtype = np.dtype(parts, align=spec.get("aligned", False) is True)
    return np.dtype((np.record, dtype)) if spec.get("record") else dtype


def is_plain(dtype: AnyDtype) -> bool:
    """Tell whether an array of this dtype is nothing but its bytes.

    Not so: Python objects, strings of variable length, dtypes of other packages
    or with metadata, and long doubles, whose bytes mean something on one
    machine only.
    """
    if dtype.char not in _PLAIN_BYTES or dtype.hasobject or dtype.metadata is not None:
        return False
    return dtype.char != "V" or _to_spec(dtype) is not None


def parse_array_dtype(text: str) -> AnyDtype:
    """Like `parse`, for bytes that are to become an array.

    Raises
    ------
    CorruptEntryError
        If an array of that dtype would hold pointers, or would have another shape.
    """
    # The names of a structured dtype can be set in place, so each array gets one of its own.
    return _parse_simple(text) if text[:1] == '"' else _check_array_dtype(text, parse(text))


@functools.lru_cache(maxsize=256)
def _parse_simple(text: str) -> AnyDtype:
    return _check_array_dtype(text, parse(text))


def _check_array_dtype(text: str, dtype: AnyDtype) -> AnyDtype:
    if dtype.hasobject or dtype.subdtype is not None or dtype.kind not in "biufcSUVmM":
        raise CorruptEntryError(path=f"dtype {text[:80]}", reason="bytes cannot be an array of it")
    return dtype
