"""Encodings of numpy's values: arrays and their subclasses, scalars, dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazycache.digests.code import class_of_instance
from lazycache.digests.objects import Attributes, attributes_of
from lazycache.digests.owned import known_token
from lazycache.digests.registry import Leaf, Parts, expanders, families, leaves, no_label, register_named, standing_for
from lazycache_storage.arrayhash import array_encoding, array_order, dtype_encoding

Array = np.ndarray[Any, Any]

_OF_EVERY_MASKED_ARRAY = frozenset(
    ("_mask", "_fill_value", "_hardmask", "_sharedmask", "_isfield", "_baseclass", "_optinfo", "_basedict")
)


def expand_array(value: Array) -> Parts | bytes:
    """Encode a plain array by its bytes, or by its elements where these are references."""
    if not value.dtype.hasobject:
        return known_token(value) or array_encoding(value)
    return known_token(value) or _expand_references(value)


def _expand_references(value: Array) -> Parts:
    dtype = value.dtype
    head = (b"%b%b" % (dtype_encoding(dtype), array_order(value).encode()), value.shape, _missing_marker(dtype))
    if dtype.names is not None:
        fields = [np.asarray(value[name]) for name in dtype.names]
        return b"a", (*head, *fields), _record_label, True
    return b"a", (*head, *value.reshape(-1).tolist()), _element_label, True


def _missing_marker(dtype: np.dtype[Any]) -> Any:
    """Return what a variable-length string dtype says beyond its name."""
    if dtype.kind != "T":
        return None
    return getattr(dtype, "coerce", True), hasattr(dtype, "na_object"), getattr(dtype, "na_object", None)


def _element_label(value: Any, _children: Sequence[Any], index: int) -> str:
    where = np.unravel_index(max(index - 3, 0), value.shape)
    return f"[{', '.join(map(str, where))}]"


def _record_label(value: Any, _children: Sequence[Any], index: int) -> str:
    return f"[{value.dtype.names[index - 3]!r}]"


def _expand_memmap(value: Array) -> Parts | bytes:
    # What arithmetic on maps returns has the type and no file; a map is an array like any other.
    return known_token(value) or expand_array(value.view(np.ndarray))


def _expand_subclass(value: Any) -> Parts | bytes:
    known = known_token(value)
    if known is not None:
        return known
    name = class_of_instance(type(value))
    if isinstance(value, np.ma.MaskedArray):
        return b"w", (name, *_masked(value)), no_label, True
    return b"w", (name, value.view(np.ndarray), attributes_of(value)), no_label, True


def _masked(value: Any) -> tuple[Any, ...]:
    """Return data, mask and fill value, and what few have; bytes under the mask count, since ``.data`` shows them.

    No mask and a mask of False alone are one value: pickle makes the one of the other. So are the fill value
    of a kind of numbers and the same one said in the dtype of the array.
    """
    data = value.view(np.ndarray)
    mask = np.asarray(np.ma.getmaskarray(value), order=array_order(data))
    # Reading the fill value of the array itself would set an attribute of it. Half floats have none of their own.
    with np.errstate(over="ignore"):
        fill_value = np.asarray(value.view().fill_value)
        if value._fill_value is None and not value.dtype.hasobject:
            fill_value = fill_value.astype(value.dtype)
    parts = (data, mask, fill_value)
    added = {name: part for name, part in vars(value).items() if name not in _OF_EVERY_MASKED_ARRAY}
    return (*parts, value.hardmask, Attributes(added)) if value.hardmask or added else parts


def _dtype(value: np.dtype[Any]) -> bytes:
    return b"D" + dtype_encoding(value)


def _expand_dtype(value: np.dtype[Any]) -> Parts | bytes:
    marker = _missing_marker(value)
    return _dtype(value) if marker is None else (b"R", ("numpy string dtype", marker), no_label, True)


def _fixed_scalar(kind: type[np.generic]) -> Leaf:
    head = b"n" + dtype_encoding(np.dtype(kind))
    return lambda value: head + value.tobytes()


def _scalar(value: np.generic) -> bytes:
    return b"n%b%b" % (dtype_encoding(value.dtype), value.tobytes())


def _extended_scalar(value: np.generic) -> bytes:
    return b"n" + array_encoding(np.asarray(value))


def _expand_scalar(value: np.generic) -> Parts:
    return b"w", (class_of_instance(type(value)), np.asarray(value), attributes_of(value)), no_label, True


def _seed_sequence(value: Any) -> Any:
    entropy = value.entropy
    pool = (value.spawn_key, value.pool_size, value.n_children_spawned)
    return (entropy if entropy is None or isinstance(entropy, int) else list(entropy), *pool)


expanders[np.ndarray] = expand_array
expanders[np.memmap] = _expand_memmap
families[np.ndarray] = _expand_subclass
families[np.generic] = _expand_scalar
families[np.dtype] = _expand_dtype
leaves.update({type(np.dtype(char)): _dtype for char in "?bhilqBHILQefdgFDG"})
leaves.update({np.dtype(char).type: _fixed_scalar(np.dtype(char).type) for char in "?bhilqBHILQefdFD"})
leaves.update(dict.fromkeys((np.datetime64, np.timedelta64, np.str_, np.bytes_), _scalar))
leaves.update(dict.fromkeys((np.longdouble, np.clongdouble), _extended_scalar))
register_named({"numpy.random.bit_generator.SeedSequence": _seed_sequence})
expanders.update(
    {kind: standing_for(f"numpy.{kind.__name__}", lambda value: value.dtype) for kind in (np.finfo, np.iinfo)}
)
