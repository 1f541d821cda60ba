"""Functions of numpy that put elements in, take zeros off the ends, or repeat an array until a shape is full."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.exceptions import AxisError

from lazycache.array.functions import array_function
from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import shape_text, size_of
from lazycache.array.infer.manipulation import as_shape
from lazycache.array.infer.reductions import normalize_axes, normalize_axis
from lazycache.array.manipulation import plain_ints
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, known_value, operand
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS, Node

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = ["insert", "resize", "trim_zeros"]


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> LazyArray:
    """Return the array with `values` put in before the places `obj` of an axis, or of the flattened array."""
    found, new = operand(arr), operand(values)
    if found.dtype is not None and found.dtype.kind in "mM" and new.kind in (float, complex):
        raise ValueError("Could not convert object to NumPy datetime")
    shape: Shape = (size_of(found.shape),) if axis is None else found.shape
    position = normalize_axis(-1 if axis is None else axis, len(shape))
    places, count, is_scalar = _places(obj, shape[position], position)
    if count == 1:
        count = _taken(new.shape, is_scalar, position, len(shape))
        _check_fits(_turned(new.shape, is_scalar, position, len(shape)), _with(shape, position, count))
    else:
        _check_fits(new.shape, _with(shape, position, count))
    size = shape[position]
    total = None if size is None or count is None else size + count
    options = {} if axis is None else {"axis": operator.index(axis)}
    args = (found.arg, places, new.arg)
    backend = common_backend((found, new, *([] if isinstance(places, slice) else [operand(places)])))
    return make(
        array_function("insert"), args, options or NO_KWARGS, _with(shape, position, total), found.dtype, backend
    )


def _with(shape: Shape, position: int, size: Size) -> Shape:
    return (*shape[:position], size, *shape[position + 1 :])


def _places(obj: Any, size: Size, axis: int) -> tuple[Any, Size, bool]:
    """Return the places as an argument, how many they are, and whether they are one number."""
    if isinstance(obj, slice):
        if find_nodes(obj) or size is None:
            return obj, None, False
        return obj, len(range(*obj.indices(size))), False
    if not isinstance(obj, Node) and not find_nodes(obj):
        array = np.asarray(obj)
        if array.dtype.kind == "b" and (not isinstance(obj, np.ndarray) or obj.ndim != 1):
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        obj = array if array.size or isinstance(obj, np.ndarray) else array.astype(np.intp)
    places = operand(obj)
    if len(places.shape) > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    value = known_value(places.arg)
    if value is not None:
        value = np.flatnonzero(value) if value.dtype.kind == "b" else value
        _check_known(value, size, axis)
        return places.arg, value.size, not value.ndim
    is_mask = places.dtype is not None and places.dtype.kind == "b"
    return places.arg, None if is_mask else size_of(places.shape), not places.shape


def _check_known(places: np.ndarray[Any, Any], size: Size, axis: int) -> None:
    if places.dtype.kind not in "iu":
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    if size is None:
        return
    if places.size == 1:
        low, high, moved = -size, size, places.reshape(1)
    else:
        # Each place moves on by what was put in before it.
        moved = np.where(places < 0, places + size, places)
        moved[moved.argsort(kind="stable")] += np.arange(moved.size)
        low, high = -size - moved.size, size + moved.size - 1
    for index in moved[(moved < low) | (moved > high)]:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")


def _turned(shape: Shape, is_scalar: bool, position: int, ndim: int) -> Shape:
    """Return the shape of values for one place, as numpy lays it along the axis."""
    whole = (*(1,) * (ndim - len(shape)), *shape)
    if not is_scalar:
        return whole
    rest = whole[1:]
    if position >= len(whole):
        raise AxisError(position, len(whole), "destination")
    return (*rest[:position], whole[0], *rest[position:])


def _taken(shape: Shape, is_scalar: bool, position: int, ndim: int) -> Size:
    return _turned(shape, is_scalar, position, ndim)[position]


def _check_fits(values: Shape, target: Shape) -> None:
    lacking = len(values) - len(target)
    inner = values[max(lacking, 0) :]
    pairs = zip(reversed(inner), reversed(target), strict=False)
    fits = all(size in (1, None) for size in values[: max(lacking, 0)])
    fits = fits and all(size in (1, None, wanted) or wanted is None for size, wanted in pairs)
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {shape_text(values)} into shape {shape_text(target)}"
        )


def resize(a: Any, new_shape: Any) -> LazyArray:
    """Return the elements in another shape, from the start again and again if they are too few."""
    found = operand(a)
    sizes = new_shape if isinstance(new_shape, (tuple, list)) else (new_shape,)
    if any(size < 0 for size in sizes):
        raise ValueError("all elements of `new_shape` must be non-negative")
    shape = as_shape(tuple(sizes))
    return _node("resize", found, shape, shape)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> LazyArray:
    """Return the array without the zeros at the ends of its axes; the sizes that are left depend on values."""
    found = operand(filt)
    if trim.lower() not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = normalize_axes(plain_ints(axis), len(found.shape), "axis")
    shape = tuple(None if position in axes else size for position, size in enumerate(found.shape))
    options = {} if trim == "fb" else {"trim": trim}
    return _node("trim_zeros", found, shape, **options, **({} if axis is None else {"axis": plain_ints(axis)}))


def _node(name: str, x: Operand, shape: Shape, *args: Any, **kwargs: Any) -> LazyArray:
    return make(array_function(name), (x.arg, *args), kwargs or NO_KWARGS, shape, x.dtype, x.backend)
