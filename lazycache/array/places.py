"""Index arrays that follow from shapes, or that name places of a grid."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.creation import arange
from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import broadcast, size_of
from lazycache.array.infer.dtypes import BOOL, INTP
from lazycache.array.infer.indexing import check_mode
from lazycache.array.manipulation import plain_ints, reshape
from lazycache.array.node import ArrayNode, make
from lazycache.array.operands import common_backend, known_value, operand
from lazycache.array.searching import nonzero, parts
from lazycache.array.typing_functions import astype
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = ["diag_indices_from", "ix_", "ravel_multi_index", "tril_indices_from", "triu_indices_from"]


def ix_(*args: Any) -> tuple[LazyArray, ...]:
    """Return vectors as the index of the grid that they span; a mask counts as the places where it holds."""
    out = []
    for axis, vector in enumerate(args):
        found = operand(vector)
        if len(found.shape) != 1:
            raise ValueError("Cross index must be 1 dimensional")
        places = nonzero(found.arg)[0] if found.dtype == BOOL else found.arg
        if isinstance(vector, (list, tuple)) and found.size == 0:
            places = astype(places, INTP)
        out.append(reshape(places, (*(1,) * axis, -1, *(1,) * (len(args) - axis - 1))))
    return tuple(out)


def diag_indices_from(arr: Any) -> tuple[LazyArray, ...]:
    """Return the index of the main diagonal of an array whose axes have one size."""
    found = operand(arr)
    if len(found.shape) < 2:
        raise ValueError("input array must be at least 2-d")
    known = {size for size in found.shape if size is not None}
    if len(known) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    if not known:
        return parts("diag_indices_from", (found.arg,), None, found.backend, [((None,), INTP)] * len(found.shape))
    return (arange(known.pop(), dtype=INTP),) * len(found.shape)


def _triangle(name: str, arr: Any, k: int) -> tuple[LazyArray, ...]:
    found = operand(arr)
    if len(found.shape) != 2:
        raise ValueError("input array must be 2-d")
    offset = operator.index(k)
    rows, columns = found.shape
    if rows is None or columns is None:
        return parts(name, (found.arg,), {"k": offset}, found.backend, [((None,), INTP)] * 2)
    below = _below(rows, columns, offset if name.startswith("tril") else offset - 1)
    count = below if name.startswith("tril") else rows * columns - below
    args = (rows, offset, columns)
    return parts(name.removesuffix("_from"), args, None, None, [((count,), INTP)] * 2)


def _below(rows: int, columns: int, k: int) -> int:
    """Return how many places of a matrix are at or below its `k`-th diagonal.

    Examples
    --------
    >>> _below(3, 4, 0), _below(3, 4, -1), _below(2**40, 2, 5)
    (6, 3, 2199023255552)
    """
    # The first row of which all is below, and the first of which something is.
    full = min(max(columns - 1 - k, 0), rows)
    first = min(max(-k, 0), full)
    count = full - first
    return count * (first + k + 1) + count * (count - 1) // 2 + (rows - full) * columns


def tril_indices_from(arr: Any, k: int = 0) -> tuple[LazyArray, ...]:
    """Return the index of the lower triangle of a matrix."""
    return _triangle("tril_indices_from", arr, k)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[LazyArray, ...]:
    """Return the index of the upper triangle of a matrix."""
    return _triangle("triu_indices_from", arr, k)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> LazyArray:
    """Return the places in the flattened array that an index of several axes names."""
    sizes = tuple(map(operator.index, dims if isinstance(dims, (tuple, list)) else (dims,)))
    index = list(multi_index) if isinstance(multi_index, (tuple, list, ArrayNode, np.ndarray)) else [multi_index]
    if len(index) != len(sizes):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    found = [operand(one) for one in index]
    shape = broadcast(*(one.shape for one in found))
    whole = size_of(shape)
    modes = mode if isinstance(mode, (tuple, list)) else (mode,) * len(sizes)
    for one, size, rule in zip(found, sizes, modes, strict=True):
        check_mode(rule)
        if one.dtype is not None and one.dtype.kind not in "biu":
            raise TypeError("only int indices permitted")
        value = known_value(one.arg)
        if whole != 0 and rule == "raise" and value is not None and ((value < 0) | (value >= size)).any():
            raise ValueError("invalid entry in coordinates array")
    given = {"mode": tuple(mode) if isinstance(mode, list) else mode, "order": order}
    options = {name: value for name, value in given.items() if value not in ("raise", "C")}
    args = (tuple(one.arg for one in found), plain_ints(sizes))
    called = array_function("ravel_multi_index")
    return make(called, args, options or NO_KWARGS, shape, INTP, common_backend(found))
