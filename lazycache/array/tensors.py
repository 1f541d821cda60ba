"""Linear equations of tensors: numpy.linalg's ``tensorinv`` and ``tensorsolve``."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from numpy.linalg import LinAlgError

from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import size_of
from lazycache.array.infer.dtypes import inexact_dtype, result_type
from lazycache.array.infer.reductions import normalize_axis
from lazycache.array.node import make
from lazycache.array.operands import common_backend, operand
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def tensorinv(a: Any, ind: int = 2) -> LazyArray:
    """Return the inverse with respect to ``tensordot`` over the first `ind` axes."""
    found, count = operand(a), operator.index(ind)
    if count <= 0:
        raise ValueError("Invalid ind argument.")
    if not found.shape:
        raise TypeError("a number has no axes to invert over")
    first, last = found.shape[:count], found.shape[count:]
    sizes = size_of(first), size_of(last)
    if None not in sizes and sizes[0] != sizes[1]:
        if not sizes[1]:
            raise ValueError(f"cannot reshape array of size 0 into shape ({sizes[1]},newaxis)")
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if sizes[1] == 0:
        raise ValueError("cannot reshape array of size 0 into shape (0,newaxis)")
    options = {} if count == 2 else {"ind": count}
    called = array_function("linalg.tensorinv")
    dtype = inexact_dtype(found.dtype)
    return make(called, (found.arg,), options or NO_KWARGS, (*last, *first), dtype, found.backend)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> LazyArray:
    """Return `x` with ``tensordot(a, x, x.ndim) == b``."""
    left, right = operand(a), operand(b)
    ndim = len(left.shape)
    order = list(range(ndim))
    options: dict[str, Any] = {}
    if axes is not None:
        places = tuple(operator.index(axis) for axis in axes)
        options["axes"] = places
        for place in places:
            order.remove(normalize_axis(place, ndim))
            order.append(place)
    turned = tuple(left.shape[place] for place in order)
    shape = turned[-(ndim - len(right.shape)) :]
    if None not in turned and math.prod(turned) != math.prod(shape) ** 2:  # type: ignore[arg-type]
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    if None not in (*shape, right.size) and math.prod(shape) != right.size:  # type: ignore[arg-type]
        raise ValueError("solve: Input operand 1 has a mismatch in its core dimension 0")
    dtype = result_type((inexact_dtype(left.dtype), inexact_dtype(right.dtype)))
    called = array_function("linalg.tensorsolve")
    return make(called, (left.arg, right.arg), options or NO_KWARGS, shape, dtype, common_backend((left, right)))
