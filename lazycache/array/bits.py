"""Bytes of packed bits: numpy's ``packbits`` and ``unpackbits``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.functions import array_function
from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import size_of
from lazycache.array.infer.reductions import normalize_axis
from lazycache.array.node import make
from lazycache.array.operands import Operand, operand
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = ["packbits", "unpackbits"]

_BYTE = np.dtype(np.uint8)


def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> LazyArray:
    """Return the elements as bits, eight in a byte, along an axis or of the flattened array."""
    found = operand(a)
    if found.dtype is not None and found.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    shape, position = _along(found.shape, axis)
    size = shape[position]
    return _node("packbits", found, shape, position, None if size is None else -(-size // 8), axis, None, bitorder)


def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> LazyArray:
    """Return the bits of bytes, eight for each, along an axis or of the flattened array; `count` of them."""
    found = operand(a)
    if found.dtype is not None and found.dtype != _BYTE:
        raise TypeError("Expected an input array of unsigned byte data type")
    shape, position = _along(found.shape, axis)
    size = shape[position]
    bits = None if size is None else 8 * size
    if count is not None and count >= 0:
        bits = count
    elif count is not None and bits is not None:
        bits += count
        if bits < 0:
            raise ValueError("-count larger than number of elements")
    return _node("unpackbits", found, shape, position, bits, axis, count, bitorder)


def _along(shape: Shape, axis: int | None) -> tuple[Shape, int]:
    """Return the shape, flattened without an axis, and the axis; a number has one."""
    if axis is None or not shape:
        return (size_of(shape),), normalize_axis(axis or 0, 1)
    return shape, normalize_axis(axis, len(shape))


def _node(
    name: str, x: Operand, shape: Shape, position: int, size: Size, axis: int | None, count: int | None, bitorder: str
) -> LazyArray:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    given = {"axis": axis, "count": count, "bitorder": None if bitorder == "big" else bitorder}
    options = {key: value for key, value in given.items() if value is not None}
    whole = (*shape[:position], size, *shape[position + 1 :])
    return make(array_function(name), (x.arg,), options or NO_KWARGS, whole, _BYTE, x.backend)
