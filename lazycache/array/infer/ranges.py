"""How long a range is, and of which dtype, without making it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazycache.array.infer.dtypes import DType

_TIMES = (np.datetime64, np.timedelta64)


def extent(first: Any, last: Any, step: Any) -> tuple[int, DType]:
    """Return the length and the dtype of numpy's ``arange``, from numbers or from times.

    Examples
    --------
    >>> extent(0, np.float32(2), 0.5), extent(np.datetime64("2026-01-01"), np.datetime64("2026-01-02"), 1)
    ((4, dtype('float64')), (1, dtype('<M8[D]')))
    """
    if any(isinstance(value, _TIMES) for value in (first, last, step)):
        return _times(first, last, step)
    if step == 0:
        raise ZeroDivisionError("division by zero")
    kinds = [np.dtype(type(value)) if isinstance(value, (int, float)) else value.dtype for value in (first, last, step)]
    if any(kind.kind == "f" for kind in kinds):
        length = max(0, math.ceil((last - first) / step))
    else:
        length = len(range(int(first), int(last), int(step)))
    # No range is narrower than the integers that it starts from.
    return length, np.result_type(np.intp, *kinds)


def _times(first: Any, last: Any, step: Any) -> tuple[int, DType]:
    times = [value for value in (first, last, step) if isinstance(value, _TIMES)]
    if any(np.isnat(value) for value in times):
        raise ValueError("arange: cannot use NaT (not-a-time) datetime values")
    from_date = isinstance(first, np.datetime64)
    # As dates, months and days have a common unit.
    dtype = np.result_type(*[value.dtype.str.replace("m8", "M8") if from_date else value.dtype for value in times])

    def steps(value: Any) -> int:
        if not isinstance(value, _TIMES):
            return int(value)
        kind = dtype.str.replace("m8", "M8") if isinstance(value, np.datetime64) else dtype.str.replace("M8", "m8")
        return int(value.astype(kind).astype(np.int64))

    start, stop, stride = steps(first), steps(last), steps(step)
    if stride == 0:
        raise ValueError("arange: step cannot be zero")
    if from_date and not isinstance(last, np.datetime64):
        stop += start
    return len(range(start, stop, stride)), dtype
