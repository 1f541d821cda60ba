"""How shapes broadcast, and how they are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lazycache.array.infer import Shape, Size


def shape_text(shape: Sequence[Size]) -> str:
    """Write a shape as numpy does in its messages: ``(2,3)``, ``(2,)``, ``()``."""
    sizes = ",".join("?" if size is None else str(size) for size in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape that `shapes` broadcast to.

    Examples
    --------
    >>> broadcast((3, 1), (4,))
    (3, 4)
    """
    if len(shapes) == 2:
        left, right = shapes
        if left == right or not right:
            return left
        if not left:
            return right
    merged = _merge(shapes)
    if merged is None:
        texts = " ".join(shape_text(shape) for shape in shapes)
        raise ValueError(f"operands could not be broadcast together with shapes {texts} ")
    return merged


def broadcast_indices(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that index arrays broadcast to."""
    merged = _merge(shapes)
    if merged is None:
        texts = " ".join(shape_text(shape) for shape in shapes)
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts} ")
    return merged


def broadcast_to(shape: Shape, target: Shape) -> Shape:
    """Return the shape of an array of `shape` that is broadcast to `target`."""
    if any(size is not None and size < 0 for size in target):
        raise ValueError("all elements of broadcast shape must be non-negative")
    if shape and not target:
        raise ValueError("cannot broadcast a non-scalar to a scalar array")
    if len(shape) > len(target):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    for size, wanted in zip(reversed(shape), reversed(target), strict=False):
        if size is not None and size not in (1, wanted) and wanted is not None:
            raise ValueError(
                "operands could not be broadcast together with remapped shapes [original->remapped]: "
                f"{shape_text(shape)}  and requested shape {shape_text(target)}"
            )
    return target


def size_of(shape: Iterable[Size]) -> Size:
    """Return the number of elements, or None where a size is unknown."""
    total = 1
    unknown = False
    for size in shape:
        if size is None:
            unknown = True
        else:
            total *= size
    return None if unknown and total else total


def _merge(shapes: Sequence[Shape]) -> Shape | None:
    ndim = max((len(shape) for shape in shapes), default=0)
    merged: list[Size] = [1] * ndim
    for shape in shapes:
        offset = ndim - len(shape)
        for axis, size in enumerate(shape, offset):
            known = merged[axis]
            if size == known or size == 1:
                continue
            if known == 1 or known is None:
                merged[axis] = size if size is not None or known == 1 else known
            elif size is not None:
                return None
    return tuple(merged)
