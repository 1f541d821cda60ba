"""Indexing: ``a[index]`` for every index that numpy takes, and functions that pick elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import DType
from lazycache.array.infer.indexing import INVALID, LAZY_SLICE, IndexArray, as_index, check_mode, describe, index_shape
from lazycache.array.infer.reductions import normalize_axis, whole_axis
from lazycache.array.node import ArrayNode, from_data, make, make_leaf
from lazycache.array.operands import Operand, operand
from lazycache.array.sharing import active, argument_key
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS, Node

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def getitem(x: Any, index: Any, /) -> LazyArray:
    """Return ``x[index]``, with numpy's shape for every index it takes.

    An index may hold lazy arrays, of integers or of booleans, and lazy bounds
    of slices; a size that then depends on values is ``None``.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> x = lz.Variable((5, 6, 7))
    >>> x[..., None, ::-2].shape, x[[0, 1], :, [2, 3]].shape, x[:, x[0, :, 0] > 0].shape
    ((5, 6, 1, 4), (2, 6), (5, None, 7))
    """
    found = operand(x)
    if isinstance(index, str) or (isinstance(index, list) and index and all(isinstance(one, str) for one in index)):
        return _field(found, index)
    items = index if isinstance(index, tuple) else (index,)
    stored = []
    described = []
    for item in items:
        kept, known = _item(item)
        stored.append(kept)
        described.append(known)
    shape = index_shape(found.shape, tuple(described))
    kept_index = tuple(stored) if isinstance(index, tuple) else stored[0]
    dtype = found.dtype if shape or not all(type(item) is int for item in described) else _of_scalar(found)
    return make(array_function("getitem"), (found.arg, kept_index), NO_KWARGS, shape, dtype, found.backend)


def _of_scalar(x: Operand) -> DType:
    """Return the dtype of one element of an array: numpy's scalars have the byte order of the machine."""
    return x.dtype if x.dtype is None or x.dtype.kind == "V" else x.dtype.newbyteorder("=")


def _field(x: Operand, name: str | list[str]) -> LazyArray:
    """Return the field, or fields, of a structured array."""
    if x.dtype is None or x.dtype.names is None:
        raise IndexError(INVALID)
    if isinstance(name, list):
        for one in name:
            if one not in x.dtype.names:
                raise KeyError(one)
        names = tuple(name)
        dtype = x.dtype[name]
        return make(array_function("fields"), (x.arg, names), NO_KWARGS, x.shape, dtype, x.backend)
    if name not in x.dtype.names:
        raise ValueError(f"no field of name {name}")
    dtype = x.dtype[name]
    shape = (*x.shape, *dtype.shape)
    return make(array_function("getitem"), (x.arg, name), NO_KWARGS, shape, dtype.base, x.backend)


def _item(item: Any) -> tuple[Any, Any]:
    """Return one item as it is stored, and as the rules for shapes see it."""
    if type(item) in (int, slice) or item is None or item is Ellipsis:
        if type(item) is slice and find_nodes(item):
            return item, LAZY_SLICE
        return item, as_index(item)
    if isinstance(item, Node):
        return _lazy_item(item)
    if isinstance(item, (list, tuple)) and find_nodes(item):
        nested = operand(item).arg
        return _lazy_item(nested)
    plain = as_index(item)
    if not isinstance(plain, np.ndarray):
        return plain, plain
    return _constant(item, plain), describe(plain)


def _lazy_item(item: Any) -> tuple[Any, Any]:
    known = operand(item)
    if not isinstance(known.arg, ArrayNode) and not isinstance(known.arg, Node):
        return known.arg, known.arg
    if known.dtype is None:
        raise IndexError("an index array needs a dtype: say Variable(shape, dtype=…), or astype")
    if known.dtype.kind not in "iub":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    value = item._value if item._function is None else None
    if isinstance(value, (np.ndarray, np.generic)):
        plain = as_index(value)
        return item, describe(plain) if isinstance(plain, np.ndarray) else plain
    return item, IndexArray(known.shape, known.dtype.kind == "b")


def _constant(given: Any, array: np.ndarray[Any, Any]) -> LazyArray:
    """Return the leaf of an index array; in a sharing context equal lists give one leaf."""
    if isinstance(given, np.ndarray):
        return from_data(given)
    shared = active.get()
    if shared is None:
        return make_leaf(array, "numpy", array.shape, array.dtype)
    key = ("index", argument_key(given))
    entry = shared.get(key)
    if entry is None:
        entry = shared.setdefault(key, (make_leaf(array, "numpy", array.shape, array.dtype), given))
    return entry[0]  # type: ignore[no-any-return]


def take(x: Any, /, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> LazyArray:
    """Return the elements at `indices` along an axis, or of the flattened array."""
    from lazycache.array.reductions import refuse_out

    refuse_out(out)
    check_mode(mode)
    found, wanted = operand(x), operand(_as_places(indices))
    if wanted.dtype is not None and wanted.dtype.kind not in "biu":
        raise TypeError(
            f"Cannot cast array data from {wanted.dtype!r} to {np.dtype(np.intp)!r} according to the rule 'safe'"
        )
    # numpy takes from a number as from a vector of one.
    sizes = found.shape if axis is None else found.shape or (1,)
    position = None if axis is None else whole_axis(axis, len(sizes))
    size = found.size if position is None else sizes[position]
    _check_known(wanted.arg, 0 if position is None else position, size, mode)
    rest = ((), ()) if position is None else (sizes[:position], sizes[position + 1 :])
    shape = (*rest[0], *wanted.shape, *rest[1])
    options: dict[str, Any] = {} if axis is None else {"axis": axis}
    if mode != "raise":
        options["mode"] = mode
    args = (found.arg, wanted.arg)
    dtype = found.dtype if shape else _of_scalar(found)
    return make(array_function("take"), args, options or NO_KWARGS, shape, dtype, found.backend)


def _as_places(indices: Any) -> Any:
    """Return indices; of an empty list numpy knows that it is of integers."""
    if isinstance(indices, (list, tuple)) and not find_nodes(indices):
        places = np.asarray(indices)
        return places if places.size else places.astype(np.intp)
    return indices


def _check_known(indices: Any, axis: int, size: int | None, mode: str) -> None:
    value = indices._value if isinstance(indices, Node) and indices._function is None else indices
    if isinstance(value, Node) or size is None:
        return
    array = np.asarray(value)
    if size == 0 and array.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if array.size and mode == "raise":
        for bound in (int(array.min()), int(array.max())):
            if not -size <= bound < size:
                raise IndexError(f"index {bound} is out of bounds for axis {axis} with size {size}")


def take_along_axis(x: Any, /, indices: Any, axis: int | None = -1) -> LazyArray:
    """Return the elements that `indices`, one for each place, name along an axis."""
    found, wanted = operand(x), operand(indices)
    if wanted.dtype is not None and wanted.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if len(wanted.shape) != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        _check_known(wanted.arg, 0, found.size, "raise")
        shape: Shape = wanted.shape
    else:
        if len(found.shape) != len(wanted.shape):
            raise ValueError("`indices` and `arr` must have the same number of dimensions")
        position = normalize_axis(axis, len(found.shape))
        _check_known(wanted.arg, position, found.shape[position], "raise")
        others = broadcast(
            (*found.shape[:position], 1, *found.shape[position + 1 :]),
            (*wanted.shape[:position], 1, *wanted.shape[position + 1 :]),
        )
        shape = (*others[:position], wanted.shape[position], *others[position + 1 :])
    options = {"axis": axis}
    args = (found.arg, wanted.arg)
    return make(array_function("take_along_axis"), args, options, shape, found.dtype, found.backend)
