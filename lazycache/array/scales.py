"""Numbers that are evenly spaced on a logarithmic scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.creation import linspace
from lazycache.array.elementwise import power
from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import FLOAT64, result_type
from lazycache.array.manipulation import at_least, expand_dims
from lazycache.array.node import make
from lazycache.array.operands import common_backend, known_value, operand
from lazycache.array.typing_functions import astype

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = ["geomspace", "logspace"]


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> LazyArray:
    """Return `num` powers of `base`, whose exponents are evenly spaced from `start` to `stop`."""
    if not isinstance(base, (float, int)) and operand(base).shape:
        ndim = len(broadcast(*(operand(one).shape for one in (start, stop, base))))
        start, stop, base = (at_least(one, ndim) for one in (start, stop, base))
        base = expand_dims(base, axis)
    made = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return made if dtype is None else astype(made, dtype)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> LazyArray:
    """Return `num` numbers from `start` to `stop`, each as many times the one before."""
    first, last = operand(start), operand(stop)
    for one in (first, last):
        value = known_value(one.arg)
        if value is not None and np.any(value == 0):
            raise ValueError("Geometric sequence cannot include zero")
    # Of the shape that these numbers have on an even scale.
    even = linspace(start, stop, num, endpoint, axis=axis)
    asked = FLOAT64 if dtype is None else np.dtype(dtype)
    known = result_type((first.dtype, last.dtype, float, asked)) if dtype is None else asked
    given = {"endpoint": endpoint or None if endpoint else False, "dtype": None if dtype is None else asked}
    options = {name: value for name, value in given.items() if value is not None and value is not True}
    if axis != 0:
        options["axis"] = axis
    args = (first.arg, last.arg, int(num))
    return make(array_function("geomspace"), args, options, even._shape, known, common_backend((first, last)))
