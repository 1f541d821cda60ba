"""Medians, quantiles and weighted means."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.backends import NUMPY_RULES
from lazycache.array.functions import array_function
from lazycache.array.infer.dtypes import DType, mean_dtype, result_type, ufunc_dtype
from lazycache.array.infer.reductions import normalize_axes, reduced
from lazycache.array.node import make
from lazycache.array.operands import Operand, operand
from lazycache.array.reductions import (
    NO_VALUE,
    averaged,
    check_axes,
    documented,
    mean,
    options_of,
    plain_axis,
    reduce_axes,
    refuse_out,
)

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def medians(name: str) -> Callable[..., LazyArray]:
    """Return a function that gives medians."""

    def median(x: Any, /, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> LazyArray:
        refuse_out(out)
        check_axes(x, axis, name)
        return reduce_axes(name, x, axis, averaged(operand(x)), keepdims, None, NO_VALUE, NO_VALUE)

    return documented(median, name, "Over all axes, or those of `axis`")


median = medians("median")


def quantiles(name: str, limit: float) -> Callable[..., LazyArray]:
    """Return a function that gives quantiles; they are numbers up to `limit`."""

    def quantile(x: Any, q: Any, /, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> LazyArray:
        refuse_out(out)
        found, wanted = operand(x), operand(q)
        if isinstance(q, (int, float)) and not 0 <= q <= limit:
            raise ValueError(f"{name.capitalize()}s must be in the range [0, {int(limit)}]")
        check_axes(x, axis, name)
        along = plain_axis(axis)
        shape = (*wanted.shape, *reduced(found.shape, along, keepdims))
        dtype = _quantile_dtype(found, wanted)
        return make(
            array_function(name), (found.arg, wanted.arg), options_of(along, keepdims), shape, dtype, found.backend
        )

    return documented(quantile, name, "Over all axes, or those of `axis`")


def _quantile_dtype(x: Operand, q: Operand) -> DType:
    if x.dtype is None or q.dtype is None or (x.backend not in NUMPY_RULES and x.dtype.kind != "f"):
        return None
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if x.dtype.kind in "mM":
        return x.dtype
    if x.dtype.kind == "b":
        ufunc_dtype(np.subtract, (x.dtype, x.dtype))
    return result_type((mean_dtype(x.dtype), float if isinstance(q.kind, type) else mean_dtype(q.dtype)))


quantile = quantiles("quantile", 1)
percentile = quantiles("percentile", 100)


def average(x: Any, /, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> LazyArray:
    """Return the weighted mean."""
    found = operand(x)
    if weights is None:
        return mean(x, axis=axis, keepdims=keepdims)
    heavy = operand(weights)
    along = plain_axis(axis)
    if heavy.shape != found.shape:
        if along is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if heavy.shape != tuple(found.shape[one] for one in normalize_axes(along, len(found.shape))):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    dtype = result_type((mean_dtype(found.dtype), heavy.dtype))
    if found.dtype is not None and found.dtype.kind in "biu":
        dtype = result_type((found.dtype, heavy.dtype, np.dtype(float)))
    if found.backend not in NUMPY_RULES and found.dtype != heavy.dtype:
        dtype = None
    options = options_of(along, keepdims)
    options["weights"] = heavy.arg
    shape = reduced(found.shape, along, keepdims)
    return make(array_function("average"), (found.arg,), options, shape, dtype, found.backend)
