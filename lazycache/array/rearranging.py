"""Functions of numpy that join, cut, turn and pick arrays, and that the array API standard does not have."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.exceptions import AxisError

from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import size_of
from lazycache.array.infer.dtypes import INTP, DType, result_type
from lazycache.array.infer.reductions import normalize_axis, whole_axis
from lazycache.array.manipulation import (
    at_least,
    concat,
    diag,
    expand_dims,
    flip,
    moveaxis,
    one_or_all,
    plain_ints,
    ravel,
    split,
)
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, known_value, operand
from lazycache.array.searching import check_places, check_selection, parts
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = [
    "append", "argpartition", "atleast_3d", "block", "column_stack", "compress", "delete", "diagflat", "dsplit",
    "dstack", "extract", "fliplr", "flipud", "hsplit", "intersect1d", "lexsort", "rollaxis", "setdiff1d", "setxor1d",
    "union1d", "unravel_index", "vsplit",
]  # fmt: skip


def _need(x: Any, ndim: int, message: str) -> None:
    if len(operand(x).shape) < ndim:
        raise ValueError(message)


def fliplr(m: Any) -> LazyArray:
    """Return the array with its second axis reversed."""
    _need(m, 2, "Input must be >= 2-d.")
    return flip(m, axis=1)


def flipud(m: Any) -> LazyArray:
    """Return the array with its first axis reversed."""
    _need(m, 1, "Input must be >= 1-d.")
    return flip(m, axis=0)


def rollaxis(a: Any, axis: int, start: int = 0) -> LazyArray:
    """Return the array with an axis moved to before another."""
    ndim = len(operand(a).shape)
    source = normalize_axis(axis, ndim)
    target = start + ndim if start < 0 else start
    if not 0 <= target <= ndim:
        raise AxisError(f"'start' arg requires {-ndim} <= start < {ndim + 1}, but {start} was passed in")
    return moveaxis(a, source, target - 1 if source < target else target)


def atleast_3d(*arrays: Any) -> Any:
    """Return the array with at least three axes: a matrix gets one at its end, a vector one at each."""
    return one_or_all([_at_least_3d(x) for x in arrays])


def _at_least_3d(x: Any) -> Any:
    ndim = len(operand(x).shape)
    if ndim == 1:
        return expand_dims(x, (0, 2))
    return expand_dims(x, 2) if ndim == 2 else at_least(x, 3)


def dstack(arrays: Sequence[Any], /) -> LazyArray:
    """Return arrays joined along the third axis."""
    return concat([_at_least_3d(x) for x in arrays], axis=2)


def column_stack(arrays: Sequence[Any], /) -> LazyArray:
    """Return arrays joined along the second axis; 1-d arrays are columns."""
    columns = [expand_dims(at_least(x, 1), 1) if len(operand(x).shape) < 2 else x for x in arrays]
    return concat(columns, axis=1)


def append(arr: Any, values: Any, axis: int | None = None) -> LazyArray:
    """Return two arrays joined along an axis, or both flattened."""
    if axis is None:
        return concat([ravel(arr), ravel(values)], axis=0)
    return concat([arr, values], axis=axis)


def block(arrays: Any) -> LazyArray:
    """Return one array of nested lists of blocks."""
    depth = _depth(arrays)
    ndim = max(depth, max(len(operand(x).shape) for x in _leaves(arrays)))
    return _assemble(arrays, depth, ndim)  # type: ignore[no-any-return]


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(one) for one in arrays}
    if len(depths) > 1:
        raise ValueError("List depths are mismatched")
    return depths.pop() + 1


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for one in arrays for leaf in _leaves(one)] if isinstance(arrays, list) else [arrays]


def _assemble(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        return at_least(arrays, ndim)
    return concat([_assemble(one, depth - 1, ndim) for one in arrays], axis=-depth)


def vsplit(ary: Any, indices_or_sections: Any) -> list[LazyArray]:
    """Return the parts of an array along its first axis."""
    _need(ary, 2, "vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[LazyArray]:
    """Return the parts of an array along its second axis, or the only one."""
    _need(ary, 1, "hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if len(operand(ary).shape) > 1 else 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[LazyArray]:
    """Return the parts of an array along its third axis."""
    _need(ary, 3, "dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def diagflat(v: Any, k: int = 0) -> LazyArray:
    """Return a matrix with the flattened array on a diagonal."""
    return diag(ravel(v), k)


def delete(arr: Any, obj: Any, axis: int | None = None) -> LazyArray:
    """Return the array without some of the places along an axis."""
    found = operand(arr)
    sizes = list(found.shape) if axis is not None else [size_of(found.shape)]
    position = 0 if axis is None else normalize_axis(axis, len(sizes))
    size = sizes[position]
    where, is_known = (obj, True) if isinstance(obj, slice) else _known_places(obj, size)
    sizes[position] = size - _removed(where, size, position) if is_known and size is not None else None
    options = {} if axis is None else {"axis": axis}
    dtype = found.dtype
    return make(array_function("delete"), (found.arg, where), options or NO_KWARGS, tuple(sizes), dtype, found.backend)


def _known_places(obj: Any, size: int | None) -> tuple[Any, bool]:
    """Return places as an argument, and whether it is known which they are."""
    if not find_nodes(obj):
        return _places(obj, size), True
    given = operand(obj)
    if given.dtype is not None and given.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    value = known_value(given.arg)
    return (given.arg, False) if value is None else (_places(value, size), True)


def _places(obj: Any, size: int | None) -> Any:
    """Return places as ints; those where a mask is true."""
    given = np.asarray(obj)
    if given.size == 0 and isinstance(obj, (list, tuple)):
        given = given.astype(np.intp)
    if given.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if given.dtype.kind != "b":
        return plain_ints(given.ravel()) if given.ndim else operator.index(obj)
    if given.shape != (size,):
        raise ValueError(
            f"boolean array argument `obj` to delete must be one-dimensional and match the axis length of {size}"
        )
    return plain_ints(np.flatnonzero(given))


def _removed(where: Any, size: int, axis: int) -> int:
    if isinstance(where, slice):
        return len(range(*where.indices(size)))
    places = where if isinstance(where, tuple) else (where,)
    for place in places:
        if not -size <= place < size:
            raise IndexError(f"index {place} is out of bounds for axis {axis} with size {size}")
    return len({place % size for place in places})


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> LazyArray:
    """Return the slices along an axis for which a condition holds."""
    if out is not None:
        raise TypeError("a lazy array cannot be computed into an array that is there: leave out=")
    test, found = operand(condition), operand(a)
    if len(test.shape) != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        shape: Shape = (_count_held(test, found.size),)
    else:
        position = whole_axis(axis, len(found.shape) or 1)
        held = _count_held(test, (found.shape or (1,))[position])
        shape = (*found.shape[:position], held, *found.shape[position + 1 :])
    options = {} if axis is None else {"axis": axis}
    args = (test.arg, found.arg)
    return make(array_function("compress"), args, options or NO_KWARGS, shape, found.dtype, found.backend)


def _count_held(condition: Operand, size: int | None) -> int | None:
    """Return how often a condition holds, if it is known; refuse one that holds where there is no element."""
    value = known_value(condition.arg)
    if value is None:
        return None
    places = np.flatnonzero(value)
    if size is not None and places.size and places[-1] >= size:
        if size == 0:
            raise IndexError("cannot do a non-empty take from an empty axes.")
        raise IndexError(f"index {places[-1]} is out of bounds for axis 0 with size {size}")
    return len(places)


def extract(condition: Any, arr: Any) -> LazyArray:
    """Return the elements for which a condition holds."""
    test, found = operand(condition), operand(arr)
    shape = (_count_held(test, found.size),)
    return make(array_function("extract"), (test.arg, found.arg), NO_KWARGS, shape, found.dtype, found.backend)


def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect") -> LazyArray:
    """Return the indices that put the `kth` element in its sorted place."""
    check_selection(kind)
    found = operand(a)
    shape = (found.shape or (1,)) if axis is not None else (size_of(found.shape),)
    check_places(kth, shape, whole_axis(-1 if axis is None else axis, len(shape)))
    args = (found.arg, plain_ints(kth))
    return make(array_function("argpartition"), args, {"axis": axis}, shape, INTP, found.backend)


def lexsort(keys: Any, axis: int = -1) -> LazyArray:
    """Return the indices that sort by the last key first, then by those before it."""
    rows = [operand(one) for one in keys]
    if not rows:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(one.shape != rows[0].shape and None not in (*one.shape, *rows[0].shape) for one in rows):
        raise ValueError("all keys need to be the same shape")
    shape = rows[0].shape
    # Of one number each numpy takes two axes.
    operator.index(axis)
    if shape or axis not in (0, -1):
        normalize_axis(axis, len(shape))
    args = (tuple(one.arg for one in rows),)
    options = {} if axis == -1 else {"axis": axis}
    return make(array_function("lexsort"), args, options or NO_KWARGS, shape, INTP, common_backend(rows))


def _set_operation(name: str, ar1: Any, ar2: Any, is_of_first: bool, **options: Any) -> LazyArray:
    first, second = operand(ar1), operand(ar2)
    if is_of_first:
        dtype: DType = first.dtype
    elif name == "union1d":
        # It joins them, where a number takes the dtype of the array.
        dtype = result_type((first.kind, second.kind))
    else:
        dtype = result_type((first.dtype, second.dtype))
    args = (first.arg, second.arg)
    backend = common_backend((first, second))
    return make(array_function(name), args, options or NO_KWARGS, (None,), dtype, backend)


def union1d(ar1: Any, ar2: Any) -> LazyArray:
    """Return the sorted values that are in one of two arrays."""
    return _set_operation("union1d", ar1, ar2, False)


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the sorted values that are in both of two arrays, and with `return_indices` where they are in each."""
    if return_indices:
        first, second = operand(ar1), operand(ar2)
        backend = common_backend((first, second))
        options = {"return_indices": True, **({"assume_unique": True} if assume_unique else {})}
        values = result_type((first.dtype, second.dtype))
        outputs: list[tuple[Shape, DType]] = [((None,), values), ((None,), INTP), ((None,), INTP)]
        return parts("intersect1d", (first.arg, second.arg), options, backend, outputs)
    return _set_operation("intersect1d", ar1, ar2, False, **({"assume_unique": True} if assume_unique else {}))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> LazyArray:
    """Return the values of one array that are not in another."""
    return _set_operation("setdiff1d", ar1, ar2, True, **({"assume_unique": True} if assume_unique else {}))


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> LazyArray:
    """Return the sorted values that are in one of two arrays only."""
    return _set_operation("setxor1d", ar1, ar2, False, **({"assume_unique": True} if assume_unique else {}))


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[LazyArray, ...]:
    """Return the indices, along each axis of an array of a shape, of places in the flattened array."""
    found = operand(indices)
    if found.dtype is not None and found.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    sizes = plain_ints(shape) if isinstance(shape, (tuple, list)) else (plain_ints(shape),)
    options = {} if order == "C" else {"order": order}
    outputs: list[tuple[Shape, DType]] = [(found.shape, INTP)] * len(sizes)
    return parts("unravel_index", (found.arg, sizes), options, found.backend, outputs)
