"""Short texts of values, bounded however large the value is."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazycache.nests import NATIVES, is_nest, members

_LONG = 60
_MOST_BITS = 256
_READABLE = frozenset({"datetime", "decimal", "fractions", "pathlib", "uuid", "zoneinfo"})


def clip(text: str, limit: int) -> str:
    """Return `text` with at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def constant_text(value: Any) -> str | None:
    """Return the text of a native that is short, as Python would write it; else None.

    Examples
    --------
    >>> constant_text("hello"), constant_text(3), constant_text([1])
    ("'hello'", '3', None)
    """
    kind = type(value)
    if kind is int:
        return repr(value) if value.bit_length() <= _MOST_BITS else None
    if kind in NATIVES:
        return repr(value) if not isinstance(value, str | bytes) or len(value) <= _LONG else None
    if isinstance(value, type):
        return f"np.{value.__name__}" if issubclass(value, np.generic) else value.__qualname__
    if isinstance(value, np.dtype):
        return clip(repr(value), _LONG)
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return clip(repr(value), _LONG)
    return None


def inline_text(value: Any) -> str | None:
    """Return the text of a value that is written where it is used: natives and small nests of them."""
    if not is_nest(value):
        return constant_text(value)
    if type(value) is dict or (type(value) is not slice and len(value) > 8):
        return None
    texts = [constant_text(member) for member in members(value)]
    if None in texts or sum(len(text or "") for text in texts) > _LONG:
        return None
    return repr(value)


def value_text(value: Any) -> str:
    """Return what kind of thing a value is, with its shape and dtype where it has them.

    Examples
    --------
    >>> value_text(np.zeros((2, 3)))
    'ndarray(shape=(2, 3), dtype=float64)'
    >>> value_text([1, 2, 3])
    'list(length=3)'
    """
    kind = type(value)
    name = kind.__name__
    constant = constant_text(value)
    if constant is not None:
        return constant
    if isinstance(value, np.ndarray):
        return f"{name}(shape={value.shape}, dtype={clip(str(value.dtype), _LONG)})"
    if kind is int:
        return f"int(bits={value.bit_length()})"
    if kind.__module__.partition(".")[0] in _READABLE:
        return clip(repr(value), 2 * _LONG)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and not isinstance(value, type):
        dtype = getattr(value, "dtype", None)
        return f"{name}(shape={shape}, dtype={dtype})" if dtype is not None else f"{name}(shape={shape})"
    if kind.__module__ == "builtins" and hasattr(kind, "__len__"):
        return f"{name}(length={len(value)})"
    qualname = getattr(value, "__qualname__", None)
    if isinstance(qualname, str):
        return f"{name} {value.__module__}.{qualname}"
    return name
