"""Shapes of reductions, and what an axis may be."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from numpy.exceptions import AxisError

from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import size_of

Axis = int | Sequence[int] | None


def normalize_axis(axis: Any, ndim: int, prefix: str | None = None) -> int:
    """Return `axis` counted from the front; AxisError if there is no such axis."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise AxisError(number, ndim, prefix)
    return number + ndim if number < 0 else number


def whole_axis(axis: Any, ndim: int) -> int:
    """Return `axis` counted from the front where numpy, in what it has written in C, takes no truth value for one."""
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    return normalize_axis(axis, ndim)


def normalize_axes(axis: Axis, ndim: int, what: str | None = None) -> tuple[int, ...]:
    """Return every axis meant, counted from the front; ``None`` means all."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)):
        return (normalize_axis(axis, ndim),)
    axes = tuple(normalize_axis(one, ndim, what) for one in axis)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'" if what is None else f"repeated axis in `{what}` argument")
    return axes


def reduced_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction; numpy lets a 0-d array have axis 0."""
    if ndim == 0 and isinstance(axis, int) and axis in (0, -1):
        return ()
    return normalize_axes(axis, ndim)


def reduced(shape: Shape, axis: Axis, keepdims: bool = False) -> Shape:
    """Return the shape that is left after a reduction.

    Examples
    --------
    >>> reduced((2, 3, 4), axis=-1), reduced((2, 3, 4), axis=(0, 2), keepdims=True)
    ((2, 3), (1, 3, 1))
    """
    axes = reduced_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if i in axes else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes)


def check_identity(shape: Shape, axis: Axis, name: str) -> None:
    """Refuse the maximum of nothing, as numpy does."""
    if any(shape[i] == 0 for i in reduced_axes(axis, len(shape))):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


def searched(shape: Shape, axis: int | None, keepdims: bool, name: str) -> Shape:
    """Return the shape of argmax and argmin, which take one axis or all."""
    if isinstance(axis, (tuple, list)):
        raise TypeError("'tuple' object cannot be interpreted as an integer")
    out = reduced(shape, axis, keepdims)
    if any(shape[i] == 0 for i in reduced_axes(axis, len(shape))):
        raise ValueError(f"attempt to get {name} of an empty sequence")
    return out


def accumulated(shape: Shape, axis: int | None, include_initial: bool = False) -> Shape:
    """Return the shape of cumulative sums; without an axis the array is flattened."""
    if axis is None or not shape:
        normalize_axis(0 if axis is None else axis, 1)
        flat: list[Size] = [size_of(shape)]
        position = 0
    else:
        flat = list(shape)
        position = normalize_axis(axis, len(shape))
    size = flat[position]
    if include_initial and size is not None:
        flat[position] = size + 1
    return tuple(flat)
