"""Shapes of functions that rearrange, join or repeat arrays."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from numpy.exceptions import AxisError

from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import size_of
from lazycache.array.infer.reductions import normalize_axes, normalize_axis, reduced_axes, whole_axis


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return what a user gave for a shape as a tuple of ints."""
    sizes = shape if isinstance(shape, (tuple, list, range)) or getattr(shape, "ndim", None) else (shape,)
    if any(size is None for size in sizes):
        raise TypeError(
            f"a size in {shape} is None: it is not known before it is computed; "
            "functions that take their shape from an array (zeros_like, full_like, …) need not know it"
        )
    return tuple(operator.index(size) for size in sizes)


def new_shape(shape: Any) -> tuple[int, ...]:
    """Return the shape of an array that is made; refuse negative sizes."""
    if isinstance(shape, bool):
        raise TypeError("expected a sequence of integers or a single integer, got a truth value")
    sizes = as_shape(shape)
    if any(size < 0 for size in sizes):
        raise ValueError("negative dimensions are not allowed")
    return sizes


def reshaped(shape: Shape, target: Any) -> Shape:
    """Return the shape of ``reshape(a, target)``, with ``-1`` found.

    Examples
    --------
    >>> reshaped((2, 6), (3, -1))
    (3, 4)
    """
    sizes = as_shape(target)
    if sum(size < 0 for size in sizes) > 1:
        raise ValueError("can only specify one unknown dimension")
    total = size_of(shape)
    known = size_of(size for size in sizes if size >= 0)
    if total is None or known is None:
        return tuple(None if size < 0 else size for size in sizes)
    if min(sizes, default=0) < 0:
        if known and total % known == 0:
            return tuple(total // known if size < 0 else size for size in sizes)
    elif known == total:
        return sizes
    words = ["newaxis" if size < 0 else str(size) for size in sizes]
    text = "(" + ",".join(words) + (",)" if len(sizes) == 1 else ")")
    raise ValueError(f"cannot reshape array of size {total} into shape {text}")


def permuted(shape: Shape, axes: Sequence[int] | None) -> Shape:
    """Return the shape after a transposition."""
    if axes is None:
        return shape[::-1]
    if len(axes) != len(shape):
        raise ValueError("axes don't match array")
    order = tuple(normalize_axis(axis, len(shape)) for axis in axes)
    if len(set(order)) != len(order):
        raise ValueError("repeated axis in transpose")
    return tuple(shape[axis] for axis in order)


def moved(ndim: int, source: Any, destination: Any) -> tuple[int, ...]:
    """Return the order of axes that ``moveaxis`` makes."""
    sources = normalize_axes((source,) if not isinstance(source, (tuple, list)) else source, ndim, "source")
    targets = normalize_axes(
        (destination,) if not isinstance(destination, (tuple, list)) else destination, ndim, "destination"
    )
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return tuple(order)


def swapped(shape: Shape, axis1: int, axis2: int) -> Shape:
    """Return the shape with two axes exchanged."""
    first = normalize_axis(axis1, len(shape), "axis1")
    second = normalize_axis(axis2, len(shape), "axis2")
    sizes = list(shape)
    sizes[first], sizes[second] = sizes[second], sizes[first]
    return tuple(sizes)


def squeezed(shape: Shape, axis: Any) -> Shape:
    """Return the shape without axes of size one."""
    if axis is None:
        if None in shape:
            raise ValueError("cannot squeeze an array with sizes that depend on values, unless axis is given")
        return tuple(size for size in shape if size != 1)
    axes = reduced_axes(axis, len(shape))
    if any(shape[one] not in (1, None) for one in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return tuple(size for i, size in enumerate(shape) if i not in axes)


def expanded(shape: Shape, axis: Any) -> Shape:
    """Return the shape with new axes of size one at `axis`."""
    wanted = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    ndim = len(shape) + len(wanted)
    axes = _distinct(wanted, ndim)
    rest = iter(shape)
    return tuple(1 if i in axes else next(rest) for i in range(ndim))


def _distinct(axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    found = tuple(normalize_axis(axis, ndim) for axis in axes)
    if len(set(found)) != len(found):
        raise ValueError("repeated axis")
    return found


def concatenated(shapes: Sequence[Shape], axis: int | None) -> Shape:
    """Return the shape of ``concat``; without an axis arrays are flattened first."""
    if not shapes:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        sizes = [size_of(shape) for shape in shapes]
        return (_total(sizes),)
    ndim = len(shapes[0])
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    position = whole_axis(axis, ndim)
    out = list(shapes[0])
    for number, shape in enumerate(shapes[1:], 1):
        if len(shape) != ndim:
            raise ValueError(
                f"all the input arrays must have same number of dimensions, but the array at index 0 has {ndim} "
                f"dimension(s) and the array at index {number} has {len(shape)} dimension(s)"
            )
        for i, (size, known) in enumerate(zip(shape, out, strict=True)):
            if i == position or size == known or size is None:
                continue
            if known is not None:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {i}, the array at index 0 has size {known} and the array at index {number} has size "
                    f"{size}"
                )
            out[i] = size
    out[position] = _total([shape[position] for shape in shapes])
    return tuple(out)


def stacked(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of arrays laid along a new axis."""
    if not shapes:
        raise ValueError("need at least one array to stack")
    out = common_shape(shapes)
    position = normalize_axis(axis, len(out) + 1)
    return (*out[:position], len(shapes), *out[position:])


def common_shape(shapes: Sequence[Shape]) -> Shape:
    """Return the one shape that all arrays have, as far as sizes are known."""
    if any(len(shape) != len(shapes[0]) for shape in shapes):
        raise ValueError("all input arrays must have the same shape")
    out: list[Size] = []
    for sizes in zip(*shapes, strict=True):
        known = {size for size in sizes if size is not None}
        if len(known) > 1:
            raise ValueError("all input arrays must have the same shape")
        out.append(known.pop() if known else None)
    return tuple(out)


def split_bounds(size: Size, sections: Any, exact: bool = True) -> list[tuple[int | None, int | None]]:
    """Return where each part of ``split`` begins and ends."""
    if isinstance(sections, (tuple, list)):
        cuts = [operator.index(cut) for cut in sections]
        return list(zip([0, *cuts], [*cuts, None], strict=True))
    count = operator.index(sections)
    if count == 0 and exact:
        raise ZeroDivisionError("integer modulo by zero")
    if count <= 0:
        raise ValueError("number sections must be larger than 0.")
    if size is None:
        raise ValueError("cannot split an axis whose size depends on values into equal parts")
    if exact and size % count:
        raise ValueError("array split does not result in an equal division")
    small, larger = divmod(size, count)
    ends = [number * small + min(number, larger) for number in range(count + 1)]
    return list(itertools.pairwise(ends))


def padded(shape: Shape, pad_width: Any) -> tuple[Shape, tuple[tuple[int, int], ...]]:
    """Return the padded shape, and the width before and after each axis."""
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * len(shape)
        for axis, width in pad_width.items():
            pairs[normalize_axis(axis, len(shape))] = _pair(width)
    else:
        pairs = _pad_pairs(pad_width, len(shape))
    # Of no axes too, numpy looks at the widths that it is given.
    given = pairs if shape or isinstance(pad_width, dict) else _pad_pairs(pad_width, 1)
    if any(width < 0 for pair in given for width in pair):
        raise ValueError("index can't contain negative values")
    sizes = tuple(None if size is None else size + sum(pair) for size, pair in zip(shape, pairs, strict=True))
    return sizes, tuple(pairs)


def opened(shape: Shape, is_open: Sequence[bool]) -> Shape:
    """Return `shape` with the sizes taken out that are not known."""
    return tuple(None if unknown else size for size, unknown in zip(shape, is_open, strict=True))


def _pair(width: Any) -> tuple[int, int]:
    if isinstance(width, (tuple, list)):
        if len(width) == 1:
            return (operator.index(width[0]),) * 2
        before, after = width
        return operator.index(before), operator.index(after)
    return (operator.index(width),) * 2


def _pad_pairs(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if not isinstance(pad_width, (tuple, list)):
        return [_pair(pad_width)] * ndim
    if not any(isinstance(width, (tuple, list)) for width in pad_width):
        return [_pair(pad_width)] * ndim
    pairs = [_pair(width) for width in pad_width]
    if len(pairs) == 1:
        return pairs * ndim
    if len(pairs) != ndim:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: ({len(pairs)},2)  "
            f"and requested shape ({ndim},2)"
        )
    return pairs


def tiled(shape: Shape, repetitions: Any) -> Shape:
    """Return the shape of ``tile``."""
    counts = as_shape(repetitions)
    if any(count < 0 for count in counts):
        raise ValueError("negative dimensions are not allowed")
    ndim = max(len(shape), len(counts))
    sizes: Shape = (*(1,) * (ndim - len(shape)), *shape)
    factors = (*(1,) * (ndim - len(counts)), *counts)
    return tuple(None if size is None else size * factor for size, factor in zip(sizes, factors, strict=True))


def repeated(shape: Shape, repeats: Any, axis: int | None) -> Shape:
    """Return the shape of ``repeat``; `repeats` is an int, a list of ints, or None if it is lazy."""
    sizes = [size_of(shape)] if axis is None or not shape else list(shape)
    position = 0 if axis is None else whole_axis(axis, len(sizes))
    size = sizes[position]
    counts = None if repeats is None else as_shape(repeats)
    if counts is None:
        sizes[position] = None
    elif len(counts) == 1:
        if counts[0] < 0 and size:
            raise ValueError("negative dimensions are not allowed")
        sizes[position] = None if size is None else size * counts[0]
    else:
        if size is not None and len(counts) != size:
            raise ValueError(f"operands could not be broadcast together with shape ({size},) ({len(counts)},)")
        if any(count < 0 for count in counts):
            raise ValueError("repeats may not contain negative values.")
        sizes[position] = sum(counts)
    return tuple(sizes)


def diagonal(shape: Shape, offset: int, axis1: int, axis2: int) -> Shape:
    """Return the shape of the diagonals of the planes of `axis1` and `axis2`."""
    if len(shape) < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = normalize_axis(axis1, len(shape), "axis1"), normalize_axis(axis2, len(shape), "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    rest = tuple(size for i, size in enumerate(shape) if i not in (first, second))
    rows, columns = shape[first], shape[second]
    if rows is None or columns is None:
        return (*rest, None)
    return (*rest, max(0, min(rows + min(offset, 0), columns - max(offset, 0))))


def diag(shape: Shape, k: int) -> Shape:
    """Return the shape of ``diag``: a matrix from a vector, or the reverse."""
    if len(shape) == 1:
        size = shape[0]
        return (None, None) if size is None else (size + abs(k),) * 2
    if len(shape) == 2:
        return diagonal(shape, k, 0, 1)
    raise ValueError("Input must be 1- or 2-d.")


def rolled(shape: Shape, shift: Any, axis: Any) -> Shape:
    """Return `shape`, once `shift` and `axis` of ``roll`` fit it and each other."""
    if axis is not None:
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        for one in axes:
            if not -len(shape) <= one < len(shape):
                raise AxisError(one, len(shape))
        shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
        if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
            raise ValueError(
                "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg 0 with shape "
                f"({len(shifts)},) and arg 1 with shape ({len(axes)},)."
            )
    return shape


def _total(sizes: Sequence[Size]) -> Size:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
