"""Regions of arrays on disk: what to read for an index, what that costs, and what was asked for within it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Items = tuple[Any, ...]


def plan(index: Items, shape: tuple[int, ...], scattered: bool) -> tuple[Items, Items]:
    """Return what to read along each axis, and the index of what was asked for in that.

    What is read are slices that go forwards, and, if `scattered`, arrays of
    places that ascend.

    Examples
    --------
    >>> plan((slice(None, None, -2), 3), (10, 5), True)
    ((slice(1, 10, 2), slice(3, 4, None)), (slice(None, None, -1), 0))
    """
    items = [part for item in index for part in _as_places(item)]
    missing = len(shape) - sum([item is not None and item is not Ellipsis and not _is_truth(item) for item in items])
    wanted: list[Any] = []
    within: list[Any] = []
    for item in items:
        if item is Ellipsis:
            wanted += [slice(None)] * missing
            missing = 0
        elif isinstance(item, slice):
            forwards, item = _forwards(item, shape[len(wanted)])
            wanted.append(forwards)
        elif isinstance(item, np.ndarray) and not _is_truth(item):
            places, item = _ascending(item, shape[len(wanted)], scattered)
            wanted.append(places)
        elif isinstance(item, int):
            place = item % max(shape[len(wanted)], 1)
            wanted.append(slice(place, place + 1))
            item = 0
        within.append(item)
    return (*wanted, *[slice(None)] * missing), tuple(within)


def _as_places(item: Any) -> Items:
    """Return one item of an index as ints, slices and arrays of places; a mask is as many as it has axes."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return (item,)
    array = np.asarray(item)
    if array.dtype == bool:
        return (array,) if array.ndim == 0 else array.nonzero()
    return (int(array),) if array.ndim == 0 else (array.astype(np.intp),)


def _is_truth(item: Any) -> bool:
    """Say whether an item is a single truth value, which takes no axis."""
    return isinstance(item, np.ndarray) and item.dtype == bool


def _forwards(item: slice, size: int) -> tuple[slice, slice]:
    start, stop, step = item.indices(size)
    count = len(range(start, stop, step))
    if not count:
        return slice(0, 0), slice(None)
    if step > 0:
        return slice(start, stop, step), slice(None)
    return slice(start + (count - 1) * step, start + 1, -step), slice(None, None, -1)


def _ascending(places: np.ndarray[Any, Any], size: int, scattered: bool) -> tuple[Any, np.ndarray[Any, Any]]:
    places = np.where(places < 0, places + size, places)
    if not places.size:
        return slice(0, 0), places
    low, high = int(places.min()), int(places.max())
    if not scattered or high - low < places.size:
        return slice(low, high + 1), places - low
    each, back = np.unique(places, return_inverse=True)
    return each, back.reshape(places.shape)


def count_chunks(wanted: Items, shape: Sequence[int], chunks: Sequence[int]) -> int:
    """Return how many chunks must be read for what `plan` says.

    Examples
    --------
    >>> count_chunks((slice(90, 120), np.array([0, 7])), (1000, 8), (100, 4))
    4
    """
    return math.prod(map(_count_along, wanted, shape, chunks))


def _count_along(places: Any, size: int, chunk: int) -> int:
    if isinstance(places, np.ndarray):
        return len(np.unique(places // chunk))
    every = range(size)[places]
    if not every:
        return 0
    return len(every) if every.step > chunk else every[-1] // chunk - every[0] // chunk + 1
