"""Reshaping, joining, repeating: functions that move elements and leave them as they are."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.backends import NUMPY_RULES
from lazycache.array.conversion import array
from lazycache.array.functions import array_function
from lazycache.array.indexing import getitem
from lazycache.array.infer import Shape
from lazycache.array.infer import broadcasting as broadcasting_rules
from lazycache.array.infer import manipulation as rules
from lazycache.array.infer.broadcasting import size_of
from lazycache.array.infer.dtypes import result_type
from lazycache.array.infer.reductions import normalize_axes, normalize_axis
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, each_size, operand
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS, Node

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def shape(x: Any, /) -> Shape:
    """Return the shape of an array, or of what can be one."""
    return operand(x).shape


def ndim(x: Any, /) -> int:
    """Return the number of axes."""
    return len(operand(x).shape)


def size(x: Any, /, axis: int | None = None) -> int | None:
    """Return the number of elements, or the size of an axis; None if it depends on values."""
    sizes = operand(x).shape
    return size_of(sizes) if axis is None else sizes[axis]


def _moved(name: str, x: Operand, shape: Shape, *args: Any, **kwargs: Any) -> LazyArray:
    return make(array_function(name), (x.arg, *args), kwargs or NO_KWARGS, shape, x.dtype, x.backend)


def plain_ints(value: Any) -> Any:
    """Return an int, or a tuple of ints."""
    if isinstance(value, (tuple, list, range)) or (isinstance(value, np.ndarray) and value.ndim):
        return tuple(plain_ints(one) for one in value)
    return value if value is None or isinstance(value, Node) else operator.index(value)


def reshape(x: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> LazyArray:
    """Return the elements in another shape; one size may be ``-1``."""
    found = operand(x)
    if find_nodes(shape):
        sizes = each_size(shape)
        # What -1 stands for follows from sizes that are not known.
        unknown = tuple(None if isinstance(size, Node) or size < 0 else int(size) for size in sizes)
        return _moved("reshape", found, unknown, sizes)
    target = rules.as_shape(shape)
    options = _order(order)
    if copy is not None:
        options["copy"] = copy
    return _moved("reshape", found, rules.reshaped(found.shape, target), target, **options)


def ravel(x: Any, /, order: str = "C") -> LazyArray:
    """Return the elements in one dimension."""
    found = operand(x)
    shape = (size_of(found.shape),)
    if order in ("K", "k"):
        # As they lie in memory, which only the array knows.
        return _moved("ravel", found, shape, order="K")
    return _moved("reshape", found, shape, (-1,), **_order(order))


def _order(order: str | None) -> dict[str, Any]:
    """Return the order that elements are read in as an argument, unless it is the default."""
    name = "C" if order is None else str(order).upper()
    if name not in ("C", "F", "A"):
        raise ValueError(f"order must be one of 'C', 'F', 'A' here (got {order!r})")
    return {} if name == "C" else {"order": name}


def permute_dims(x: Any, /, axes: Any) -> LazyArray:
    """Return the array with its axes in another order."""
    found = operand(x)
    order = plain_ints(axes)
    order = (order,) if isinstance(order, int) else order
    return _moved("permute_dims", found, rules.permuted(found.shape, order), order)


def transpose(x: Any, /, axes: Any = None) -> LazyArray:
    """Return the array with its axes reversed, or in the order of `axes`."""
    found = operand(x)
    return permute_dims(x, tuple(range(len(found.shape)))[::-1] if axes is None else axes)


def matrix_transpose(x: Any, /) -> LazyArray:
    """Return the array with its last two axes exchanged."""
    found = operand(x)
    if len(found.shape) < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {len(found.shape)}")
    return _moved("matrix_transpose", found, (*found.shape[:-2], found.shape[-1], found.shape[-2]))


def moveaxis(x: Any, /, source: Any, destination: Any) -> LazyArray:
    """Return the array with some axes moved to other places."""
    found = operand(x)
    order = rules.moved(len(found.shape), plain_ints(source), plain_ints(destination))
    return _moved("moveaxis", found, tuple(found.shape[i] for i in order), plain_ints(source), plain_ints(destination))


def swapaxes(x: Any, /, axis1: int, axis2: int) -> LazyArray:
    """Return the array with two axes exchanged."""
    found = operand(x)
    return _moved("swapaxes", found, rules.swapped(found.shape, axis1, axis2), plain_ints(axis1), plain_ints(axis2))


def expand_dims(x: Any, /, axis: Any = 0) -> LazyArray:
    """Return the array with new axes of size one."""
    found = operand(x)
    return _moved("expand_dims", found, rules.expanded(found.shape, plain_ints(axis)), axis=plain_ints(axis))


def squeeze(x: Any, /, axis: Any = None) -> LazyArray:
    """Return the array without axes of size one."""
    found = operand(x)
    if isinstance(axis, list):
        raise TypeError("'list' object cannot be interpreted as an integer")
    shape = rules.squeezed(found.shape, plain_ints(axis))
    if axis is None:
        return _moved("squeeze", found, shape, axis=tuple(i for i, size in enumerate(found.shape) if size == 1))
    return _moved("squeeze", found, shape, axis=plain_ints(axis))


def flip(x: Any, /, axis: Any = None) -> LazyArray:
    """Return the array with the order along an axis, or along all, reversed."""
    found = operand(x)
    normalize_axes(plain_ints(axis), len(found.shape))
    return _moved("flip", found, found.shape, **({} if axis is None else {"axis": plain_ints(axis)}))


def roll(x: Any, /, shift: Any, axis: Any = None) -> LazyArray:
    """Return the array with its elements moved along an axis, round the end."""
    found = operand(x)
    rules.rolled(found.shape, plain_ints(shift), plain_ints(axis))
    return _moved("roll", found, found.shape, plain_ints(shift), **({} if axis is None else {"axis": plain_ints(axis)}))


def broadcast_to(x: Any, /, shape: Any) -> LazyArray:
    """Return the array broadcast to a shape."""
    found = operand(x)
    if find_nodes(shape):
        sizes = each_size(shape)
        wanted = tuple(None if isinstance(size, Node) else rules.as_shape(size)[0] for size in sizes)
        return _moved("broadcast_to", found, broadcasting_rules.broadcast_to(found.shape, wanted), sizes)
    target = rules.as_shape(shape)
    return _moved("broadcast_to", found, broadcasting_rules.broadcast_to(found.shape, target), target)


def broadcast_arrays(*arrays: Any) -> tuple[LazyArray, ...]:
    """Return the arrays broadcast against each other."""
    shape = broadcasting_rules.broadcast(*(operand(x).shape for x in arrays))
    return tuple(_moved("broadcast_to", operand(x), shape, shape) for x in arrays)


def broadcast_shapes(*shapes: Any) -> Shape:
    """Return the shape that shapes broadcast to."""
    return broadcasting_rules.broadcast(*(tuple(s) if isinstance(s, (tuple, list)) else (s,) for s in shapes))


def _join(name: str, found: list[Operand], shape: Shape, dtype: Any, casting: Any, **kwargs: Any) -> LazyArray:
    args = (tuple(one.arg for one in found),)
    backend = common_backend(found)
    if dtype is None:
        known = result_type([one.kind for one in found])
        if backend not in NUMPY_RULES and any(one.dtype != known for one in found):
            # What dtypes that differ become is the backend's own matter.
            known = None
    else:
        known = np.dtype(dtype)
        for one in found:
            if one.dtype is not None and not np.can_cast(one.dtype, known, casting):
                raise TypeError(
                    f"Cannot cast array data from {one.dtype!r} to {known!r} according to the rule {casting!r}"
                )
        kwargs.update(dtype=known, casting=casting)
    return make(array_function(name), args, kwargs or NO_KWARGS, shape, known, common_backend(found))


def concat(
    arrays: Sequence[Any], /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> LazyArray:
    """Return arrays joined along an axis; with ``axis=None`` flattened first."""
    if out is not None:
        raise TypeError("a lazy array cannot be computed into an array that is there: leave out=")
    found = [operand(x) for x in arrays]
    shape = rules.concatenated([one.shape for one in found], axis)
    options: dict[str, Any] = {} if axis == 0 else {"axis": axis}
    return _join("concat", found, shape, dtype, casting, **options)


concatenate = concat


def stack(
    arrays: Sequence[Any], /, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> LazyArray:
    """Return arrays of one shape laid along a new axis."""
    if out is not None:
        raise TypeError("a lazy array cannot be computed into an array that is there: leave out=")
    found = [operand(x) for x in arrays]
    shape = rules.stacked([one.shape for one in found], axis)
    return _join("stack", found, shape, dtype, casting, **({} if axis == 0 else {"axis": axis}))


def atleast_1d(*arrays: Any) -> Any:
    """Return the array with at least one axis; of several arrays a tuple."""
    return one_or_all([at_least(x, 1) for x in arrays])


def atleast_2d(*arrays: Any) -> Any:
    """Return the array with at least two axes, a vector as a row; of several arrays a tuple."""
    return one_or_all([at_least(x, 2) for x in arrays])


def one_or_all(made: list[Any]) -> Any:
    """Return what was made of one array, or a tuple of what was made of several."""
    return made[0] if len(made) == 1 else tuple(made)


def at_least(x: Any, ndim: int) -> Any:
    """Return the array with at least `ndim` axes; new ones come first."""
    missing = ndim - len(operand(x).shape)
    return expand_dims(x, tuple(range(missing))) if missing > 0 else array(x)


def hstack(arrays: Sequence[Any], /, *, dtype: Any = None, casting: str = "same_kind") -> LazyArray:
    """Return arrays joined along the second axis, or the first of 1-d arrays."""
    parts = [at_least(x, 1) for x in arrays]
    axis = 0 if parts and len(operand(parts[0]).shape) == 1 else 1
    return concat(parts, axis=axis, dtype=dtype, casting=casting)


def vstack(arrays: Sequence[Any], /, *, dtype: Any = None, casting: str = "same_kind") -> LazyArray:
    """Return arrays joined along the first axis; 1-d arrays are rows."""
    return concat([at_least(x, 2) for x in arrays], axis=0, dtype=dtype, casting=casting)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[LazyArray, ...]:
    """Return the parts of an array along an axis."""
    found = operand(x)
    if not found.shape:
        raise ValueError("Input array must be at least 1-d.")
    position = normalize_axis(axis, len(found.shape))
    size = found.shape[position]
    if size is None:
        raise ValueError("cannot unstack an axis whose size depends on values")
    before = (slice(None),) * position
    # The standard asks for an index of every axis, or for an ellipsis.
    after = (...,) if position + 1 < len(found.shape) else ()
    return tuple(getitem(x, (*before, number, *after)) for number in range(size))


def split(x: Any, /, indices_or_sections: Any, axis: int = 0) -> list[LazyArray]:
    """Return the parts of an array, cut into equal parts or at the given places."""
    return _split(x, indices_or_sections, axis, exact=True)


def array_split(x: Any, /, indices_or_sections: Any, axis: int = 0) -> list[LazyArray]:
    """Return the parts of an array; they may differ by one in size."""
    return _split(x, indices_or_sections, axis, exact=False)


def _split(x: Any, sections: Any, axis: int, exact: bool) -> list[LazyArray]:
    found = operand(x)
    position = normalize_axis(axis, len(found.shape))
    cuts = sections.tolist() if isinstance(sections, np.ndarray) else sections
    before = (slice(None),) * position
    bounds = rules.split_bounds(found.shape[position], cuts, exact)
    return [getitem(x, (*before, slice(start, stop))) for start, stop in bounds]


def repeat(x: Any, /, repeats: Any, axis: int | None = None) -> LazyArray:
    """Return the array with each element repeated."""
    found = operand(x)
    counts = None if find_nodes(repeats) else np.asarray(repeats).tolist()
    if counts == []:
        repeats = np.zeros(0, np.intp)
    shape = rules.repeated(found.shape, counts, axis)
    given = operand(repeats).arg if counts is None or isinstance(counts, list) else counts
    return _moved("repeat", found, shape, given, **({} if axis is None else {"axis": axis}))


def tile(x: Any, /, reps: Any) -> LazyArray:
    """Return the array repeated as a whole."""
    found = operand(x)
    if find_nodes(reps):
        counts = each_size(reps)
        whole = rules.tiled(found.shape, [1 if isinstance(count, Node) else count for count in counts])
        lazy = [isinstance(count, Node) for count in (*(1,) * (len(whole) - len(counts)), *counts)]
        return _moved("tile", found, rules.opened(whole, lazy), counts)
    return _moved("tile", found, rules.tiled(found.shape, reps), plain_ints(reps))


def pad(x: Any, /, pad_width: Any, mode: str = "constant", **kwargs: Any) -> LazyArray:
    """Return the array with borders; see numpy for the modes."""
    found = operand(x)
    widths = pad_width.tolist() if isinstance(pad_width, np.ndarray) else pad_width
    sizes: Shape = (None,) * len(found.shape)
    pairs: Any
    if find_nodes(widths):
        lazy = operand(widths)
        broadcasting_rules.broadcast_to(lazy.shape, (len(sizes), 2))
        pairs = lazy.arg
    else:
        sizes, pairs = rules.padded(found.shape, widths)
    if mode not in _MODES:
        raise ValueError(f"mode '{mode}' is not supported")
    if unknown := set(kwargs) - _MODES[mode]:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if mode not in ("constant", "empty") and isinstance(pairs, tuple):
        for axis, (size, pair) in enumerate(zip(found.shape, pairs, strict=True)):
            if size == 0 and any(pair):
                raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    options = {"mode": mode, **kwargs} if mode != "constant" else kwargs
    return _moved("pad", found, sizes, pairs if found.shape else ((0, 0),), **options)


_MODES: dict[str, set[str]] = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
}


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> LazyArray:
    """Return the diagonals of the planes of two axes."""
    found = operand(x)
    shape = rules.diagonal(found.shape, operator.index(offset), axis1, axis2)
    return _moved("diagonal", found, shape, offset, axis1, axis2)


def diag(x: Any, /, k: int = 0) -> LazyArray:
    """Return the diagonal of a matrix, or the matrix of a diagonal."""
    found = operand(x)
    return _moved("diag", found, rules.diag(found.shape, operator.index(k)), k)


def _triangle(name: str, x: Any, k: int) -> LazyArray:
    found = operand(x)
    if not found.shape:
        raise TypeError(f"{name} takes an array of at least one dimension")
    if not isinstance(k, (int, float, np.number)):
        raise TypeError(f"a diagonal is named by a number, not by a {type(k).__name__}")
    shape = found.shape if len(found.shape) > 1 else (*found.shape, *found.shape)
    dtype = None if found.dtype is None else result_type((found.dtype, found.dtype))
    return make(array_function(name), (found.arg,), {"k": k}, shape, dtype, found.backend)


def tril(x: Any, /, k: int = 0) -> LazyArray:
    """Return the lower triangle, with zeros above."""
    return _triangle("tril", x, k)


def triu(x: Any, /, k: int = 0) -> LazyArray:
    """Return the upper triangle, with zeros below."""
    return _triangle("triu", x, k)


def rot90(x: Any, /, k: int = 1, axes: Any = (0, 1)) -> LazyArray:
    """Return the array turned by right angles in the plane of two axes."""
    found = operand(x)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    ndim = len(found.shape)
    if any(not -ndim <= axis < ndim for axis in axes):
        raise ValueError(f"Axes={tuple(axes)} out of range for array of ndim={ndim}.")
    if (axes[0] - axes[1]) % ndim == 0:
        raise ValueError("Axes must be different.")
    shape = rules.swapped(found.shape, *axes) if k % 2 else found.shape
    return _moved("rot90", found, shape, k, tuple(axes))
