"""The Zarr v3 folder of an array in one uncompressed chunk, made by hand.

``zarr.json`` and one file with the bytes of the array: as quick to write as an
``.npy``, quick to map, and readable by every Zarr reader.
"""

import base64
from typing import Any, Literal

import msgspec
import numpy as np

from lazycache_storage.objects import dtypes
from lazycache_storage.objects.dtypes import AnyDtype

METADATA_FILE = "zarr.json"

Order = Literal["C", "F"]

_NOT_A_TIME = "NaT"
_LONGEST_FILL_VALUE = 65536


def chunk_file(dimensions: int) -> str:
    """Return the name of the file with the bytes.

    Examples
    --------
    >>> chunk_file(2), chunk_file(0)
    ('0.0', '0')
    """
    return ".".join("0" * dimensions) or "0"


def can_hold(dtype: AnyDtype) -> bool:
    """Tell whether an array of this dtype can be a Zarr array.

    Examples
    --------
    >>> can_hold(np.dtype("f8")), can_hold(np.dtype("O"))
    (True, False)
    """
    if dtype.kind == "V" and dtype.itemsize > _LONGEST_FILL_VALUE:
        return False
    return dtype.itemsize > 0 and dtypes.is_plain(dtype)


def data_type(dtype: AnyDtype) -> tuple[Any, Any]:
    """Return how Zarr names a dtype, and its fill value.

    A structured dtype which Zarr would read with other offsets or another byte
    order is named as raw bytes: the bits are right in every reader.

    Raises
    ------
    ValueError
        If an array of that dtype is more than its bytes, or has none.
    """
    if not can_hold(dtype):
        raise ValueError(f"Zarr cannot hold an array of dtype {dtype}")
    named = _named(dtype)
    if named is None:
        return _with_length("raw_bytes", dtype), _zeros(dtype)
    return named


def _named(dtype: AnyDtype) -> tuple[Any, Any] | None:
    if dtype.kind == "b":
        return "bool", False
    if dtype.kind in "iu":
        return dtype.name, 0
    if dtype.kind == "f":
        return dtype.name, 0.0
    if dtype.kind == "c":
        return dtype.name, [0.0, 0.0]
    if dtype.kind in "mM":
        unit, count = np.datetime_data(dtype)
        name = "numpy.datetime64" if dtype.kind == "M" else "numpy.timedelta64"
        return {"name": name, "configuration": {"unit": unit, "scale_factor": count}}, _NOT_A_TIME
    if dtype.kind == "S":
        return _with_length("null_terminated_bytes", dtype), ""
    if dtype.kind == "U":
        return _with_length("fixed_length_utf32", dtype), ""
    if dtype.names is None:
        return _with_length("raw_bytes", dtype), _zeros(dtype)
    return _named_structured(dtype)


def _named_structured(dtype: AnyDtype) -> tuple[Any, Any] | None:
    fields: list[tuple[str, Any]] = []
    position = 0
    every: Any = dtype.fields
    for name in dtype.names or ():
        field, offset, *title = every[name]
        swapped = field.byteorder == ">" or field.str[:1] == ">"
        if title or offset != position or swapped or field.subdtype is not None or not field.itemsize:
            return None
        named = _named(field)
        if named is None:
            return None
        fields.append((name, named[0]))
        position += field.itemsize
    if position != dtype.itemsize or not fields:
        return None
    return {"name": "structured", "configuration": {"fields": fields}}, _zeros(dtype)


def _with_length(name: str, dtype: AnyDtype) -> Any:
    return {"name": name, "configuration": {"length_bytes": dtype.itemsize}}


def _zeros(dtype: AnyDtype) -> str:
    return base64.b64encode(bytes(dtype.itemsize)).decode()


def metadata(dtype: AnyDtype, shape: tuple[int, ...], order: Order) -> bytes:
    """Return the content of ``zarr.json``.

    Raises
    ------
    ValueError
        If Zarr cannot hold an array of that dtype.
    """
    name, fill_value = data_type(dtype)
    codecs: list[Any] = []
    if order == "F":
        codecs.append({"name": "transpose", "configuration": {"order": list(range(len(shape)))[::-1]}})
    if dtype.byteorder == "|":
        codecs.append({"name": "bytes"})
    else:
        codecs.append({"name": "bytes", "configuration": {"endian": "big" if dtype.str[0] == ">" else "little"}})
    content = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [max(1, size) for size in shape]}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}},
        "fill_value": fill_value,
        "codecs": codecs,
        "attributes": {} if dtype.names is None else {"numpy_dtype": dtypes.describe(dtype)},
    }
    return msgspec.json.encode(content)
