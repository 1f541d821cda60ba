"""The shape of ``a[index]`` for every index that numpy takes.

An index array is described by its shape, its kind (``"i"`` or ``"b"``) and,
where it is known, its values: for integers their range, for booleans how many
are true.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import broadcast_indices

INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)


class _LazySlice:
    def __repr__(self) -> str:
        return "LAZY_SLICE"


LAZY_SLICE = _LazySlice()
"""Stands for a slice with bounds that are not known."""


@dataclass(frozen=True, slots=True)
class IndexArray:
    """An index array as far as its shape is concerned.

    Attributes
    ----------
    shape : tuple
        Its shape.
    boolean : bool
        Whether it is a mask.
    count : int or None
        For a mask: how many are true, if known.
    low, high : int or None
        For integers: the smallest and the largest, if known.
    """

    shape: Shape
    boolean: bool
    count: Size = None
    low: int | None = None
    high: int | None = None


def describe(array: np.ndarray[Any, Any]) -> IndexArray:
    """Describe an index array whose values are known."""
    if array.dtype.kind == "b":
        return IndexArray(array.shape, True, count=int(array.sum()))
    if array.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if array.size == 0:
        return IndexArray(array.shape, False)
    return IndexArray(array.shape, False, low=int(array.min()), high=int(array.max()))


def index_shape(shape: Shape, index: tuple[Any, ...]) -> Shape:
    """Return the shape of ``a[index]``.

    Parameters
    ----------
    shape : tuple
        That of ``a``.
    index : tuple
        Of ints, slices, `LAZY_SLICE`, ``None``, ``Ellipsis`` and `IndexArray`.

    Examples
    --------
    >>> index_shape((5, 6, 7), (slice(None, None, -2), None, ..., 3))
    (3, 1, 6)
    """
    items = _expand_ellipsis(shape, index)
    fancy = any(isinstance(item, IndexArray) for item in items)
    out: list[Size] = []
    arrays: list[tuple[int, int, IndexArray]] = []
    places: list[int] = []
    position: int | None = None
    axis = 0
    for place, item in enumerate(items):
        if item is None:
            out.append(1)
        elif isinstance(item, slice):
            out.append(_slice_size(item, shape[axis]))
            axis += 1
        elif item is LAZY_SLICE:
            out.append(None)
            axis += 1
        elif item is Ellipsis:
            continue
        else:
            position = len(out) if position is None else position
            places.append(place)
            if isinstance(item, IndexArray):
                arrays.append((axis, len(arrays), item))
                axis += len(item.shape) if item.boolean else 1
            else:
                _check_bounds(item, item, axis, shape[axis])
                axis += 1
    if not fancy:
        return tuple(out)
    block = _fancy_block(shape, arrays)
    together = places[-1] - places[0] == len(places) - 1
    at = position if together and position is not None else 0
    return (*out[:at], *block, *out[at:])


def _expand_ellipsis(shape: Shape, index: tuple[Any, ...]) -> list[Any]:
    used = 0
    dots: int | None = None
    for place, item in enumerate(index):
        if item is Ellipsis:
            if dots is not None:
                raise IndexError("an index can only have a single ellipsis ('...')")
            dots = place
        elif isinstance(item, IndexArray):
            used += len(item.shape) if item.boolean else 1
        elif item is not None:
            used += 1
    missing = len(shape) - used
    if missing < 0:
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    fill: list[Any] = [slice(None)] * missing
    if dots is None:
        return [*index, *fill]
    # An ellipsis that stands for no axis still parts two index arrays.
    return [*index[:dots], *(fill or [Ellipsis]), *index[dots + 1 :]]


def _slice_size(item: slice, size: Size) -> Size:
    if size is None:
        item.indices(0)
        full = item.start is None and item.stop is None and item.step in (None, 1, -1)
        return None if full or item != slice(0, 0) else 0
    start, stop, step = item.indices(size)
    return max(0, (stop - start + (step - (1 if step > 0 else -1))) // step)


def _check_bounds(low: int | None, high: int | None, axis: int, size: Size) -> None:
    if size is None:
        return
    for value in (low, high):
        if value is not None and not -size <= value < size:
            raise IndexError(f"index {value} is out of bounds for axis {axis} with size {size}")


def _fancy_block(shape: Shape, arrays: list[tuple[int, int, IndexArray]]) -> Shape:
    shapes: list[Shape] = []
    for axis, _, array in arrays:
        if not array.boolean:
            shapes.append(array.shape)
            continue
        for offset, size in enumerate(array.shape):
            wanted = shape[axis + offset]
            # numpy does not look at an axis of a mask that is empty.
            if size and size != wanted and wanted is not None:
                raise IndexError(
                    f"boolean index did not match indexed array along axis {axis + offset}; size of axis is {wanted} "
                    f"but size of corresponding boolean axis is {size}"
                )
        shapes.append((array.count,))
    block = broadcast_indices(shapes)
    if 0 not in block:
        for axis, _, array in arrays:
            if not array.boolean:
                _check_bounds(array.low, array.high, axis, shape[axis])
    return block


def as_index(item: Any) -> Any:
    """Return `item` as an int, slice, ``None``, ``Ellipsis`` or integer or boolean array."""
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if isinstance(item, slice):
        item.indices(0)
        return item
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item)
    if isinstance(item, (list, tuple, range)):
        array = np.asarray(item)
        return array.astype(np.intp) if array.size == 0 and array.dtype.kind == "f" else _checked(array)
    if isinstance(item, (np.ndarray, np.generic)):
        array = np.asarray(item)
        return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else _checked(array)
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(INVALID) from None


def _checked(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "iub":
        if array.ndim == 0 or array.dtype.kind not in "fcOUSMm":
            raise IndexError(INVALID)
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return array


def check_mode(mode: Any) -> None:
    """Refuse a rule for indices out of bounds that numpy does not have."""
    if mode is not None and mode not in ("raise", "wrap", "clip", b"raise", b"wrap", b"clip", 0, 1, 2):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
