"""numpy's functions of dates: business days, and dates as texts."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import BOOL, INT64, DType
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, operand
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = ["busday_count", "busday_offset", "datetime_as_string", "is_busday"]

_DAY = np.dtype("M8[D]")


def _days(dates: Any) -> Operand:
    """Return dates as an operand; what is no array is read as numpy reads texts and dates."""
    if isinstance(dates, (str, datetime.date, list, tuple)):
        dates = np.asarray(dates, _DAY)
    found = operand(dates)
    if found.dtype is not None and not np.can_cast(found.dtype, _DAY, "safe"):
        raise TypeError(f"the dates could not be cast from {found.dtype!r} to {_DAY!r} according to the rule 'safe'")
    return found


def _calendar(weekmask: Any, holidays: Any, busdaycal: Any) -> dict[str, Any]:
    if busdaycal is not None:
        if holidays is not None or weekmask != "1111100":
            raise ValueError("Cannot supply both the weekmask/holidays and the busdaycal parameters to a function")
        # What it holds: the calendar itself has no digest.
        weekmask, holidays = busdaycal.weekmask, busdaycal.holidays
    options = {} if isinstance(weekmask, str) and weekmask == "1111100" else {"weekmask": weekmask}
    if holidays is not None and not (isinstance(holidays, (tuple, list)) and not holidays):
        options["holidays"] = _days(holidays).arg
    return options


def _node(name: str, operands: tuple[Operand, ...], dtype: DType, options: dict[str, Any]) -> LazyArray:
    args = tuple(one.arg for one in operands)
    shape = broadcast(*(one.shape for one in operands))
    return make(array_function(name), args, options or NO_KWARGS, shape, dtype, common_backend(operands))


def is_busday(dates: Any, weekmask: Any = "1111100", holidays: Any = None, busdaycal: Any = None) -> LazyArray:
    """Say which dates are business days."""
    return _node("is_busday", (_days(dates),), BOOL, _calendar(weekmask, holidays, busdaycal))


def busday_count(
    begindates: Any, enddates: Any, weekmask: Any = "1111100", holidays: Any = None, busdaycal: Any = None
) -> LazyArray:
    """Return how many business days there are from one date to before another."""
    pair = (_days(begindates), _days(enddates))
    return _node("busday_count", pair, INT64, _calendar(weekmask, holidays, busdaycal))


def busday_offset(
    dates: Any,
    offsets: Any,
    roll: str = "raise",
    weekmask: Any = "1111100",
    holidays: Any = None,
    busdaycal: Any = None,
) -> LazyArray:
    """Return the dates that many business days later."""
    steps = operand(offsets)
    if not isinstance(steps.kind, type) and steps.dtype is not None and not np.can_cast(steps.dtype, INT64, "safe"):
        raise TypeError(f"Cannot cast array data from {steps.dtype!r} to {INT64!r} according to the rule 'safe'")
    options = _calendar(weekmask, holidays, busdaycal)
    if roll != "raise":
        options["roll"] = roll
    return _node("busday_offset", (_days(dates), steps), _DAY, options)


def datetime_as_string(
    arr: Any, unit: str | None = None, timezone: Any = "naive", casting: str = "same_kind"
) -> LazyArray:
    """Return dates and times as texts."""
    found = operand(arr)
    given = {"unit": unit, "timezone": timezone, "casting": casting}
    options = {name: value for name, value in given.items() if value not in (None, "naive", "same_kind")}
    dtype: DType = None
    if found.dtype is not None:
        if found.dtype.kind != "M":
            raise TypeError("input must have type NumPy datetime")
        # Of nothing, for the length that numpy gives the texts.
        dtype = np.datetime_as_string(np.empty(0, found.dtype), **options).dtype
    called = array_function("datetime_as_string")
    return make(called, (found.arg,), options or NO_KWARGS, found.shape, dtype, found.backend)
