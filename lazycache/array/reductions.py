"""Sums, means, extremes: functions that take axes away, and running totals."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.backends import NUMPY_RULES, index_dtype, numpy_dtype, passed_dtype
from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import broadcast_to
from lazycache.array.infer.dtypes import (
    BOOL,
    DType,
    accumulated_dtype,
    mean_dtype,
    real_dtype,
    ufunc_dtype,
)
from lazycache.array.infer.reductions import (
    Axis,
    accumulated,
    check_identity,
    normalize_axes,
    reduced,
    reduced_axes,
    searched,
)
from lazycache.array.node import make
from lazycache.array.operands import Operand, operand
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import Node

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


class _Missing:
    def __repr__(self) -> str:
        return "<no value>"


NO_VALUE: Any = _Missing()


def refuse_out(out: Any) -> None:
    """Refuse to write into an array: a lazy result has no memory yet."""
    if out is not None:
        raise TypeError("a lazy array cannot be computed into an array that is there: leave out=")


def plain_axis(axis: Any) -> Axis:
    """Return an axis, or several, as ints."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError("an integer is required for the axis")
    if isinstance(axis, tuple):
        return tuple(operator.index(one) for one in axis)
    return operator.index(axis)


def options_of(axis: Axis, keepdims: bool, **others: Any) -> dict[str, Any]:
    """Return the keyword arguments of a node: those that are not the default."""
    options: dict[str, Any] = {} if axis is None else {"axis": axis}
    if keepdims:
        options["keepdims"] = True
    options.update({name: value for name, value in others.items() if value is not None and value is not NO_VALUE})
    return options


def reduce_axes(
    name: str, x: Any, axis: Any, dtype: DType, keepdims: bool, given: Any, initial: Any, where: Any
) -> LazyArray:
    """Make the node of a function that takes axes away."""
    found = operand(x)
    along = plain_axis(axis)
    if name not in _ANY_TRUTH:
        operator.index(keepdims)
    shape = reduced(found.shape, along, keepdims)
    options = options_of(along, keepdims, dtype=passed_dtype(given), where=_mask(where, found))
    if initial is not NO_VALUE:
        options["initial"] = _checked_initial(initial, dtype)
    return make(array_function(name), (found.arg,), options, shape, dtype, found.backend)


def _mask(where: Any, x: Operand) -> Any:
    """Return what `where` goes into a node as; it may be broadcast to `x`, and not `x` to it."""
    if where is NO_VALUE or where is True:
        return NO_VALUE
    mask = operand(np.asarray(where, bool) if isinstance(where, (list, tuple)) and not find_nodes(where) else where)
    if mask.shape:
        broadcast_to(mask.shape, x.shape)
        if mask.dtype is not None and mask.dtype.kind != "b":
            raise TypeError(f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule 'safe'")
    return mask.arg


def _checked_initial(initial: Any, dtype: DType) -> Any:
    """Return where a reduction starts, refusing what its dtype cannot hold in numpy's words."""
    if initial is not None and dtype is not None and not isinstance(initial, Node) and dtype.kind in "biufc":
        np.empty((), dtype)[...] = initial
    return initial


def total_dtype(ufunc: np.ufunc, x: Operand, asked: Any = None) -> DType:
    """Return the dtype of a sum or a product; what small integers become is the backend's own matter."""
    if asked is not None:
        wanted = numpy_dtype(asked)
        return accumulated_dtype(ufunc, x.dtype, wanted) if x.backend in NUMPY_RULES else wanted
    known = accumulated_dtype(ufunc, x.dtype)
    return known if x.backend in NUMPY_RULES or known == x.dtype else None


def totals(name: str, ufunc: np.ufunc) -> Callable[..., LazyArray]:
    """Return a function that gives sums or products."""

    def total(
        x: Any,
        /,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = NO_VALUE,
    ) -> LazyArray:
        refuse_out(out)
        if initial is None:
            # So numpy is told to start with an element, of which there must be one.
            check_start(ufunc, operand(x), axis, where)
        known = total_dtype(ufunc, operand(x), dtype)
        return reduce_axes(name, x, axis, known, keepdims, dtype, initial, where)

    return documented(total, name, "Over all axes, or those of `axis`")


def check_start(ufunc: np.ufunc, x: Operand, axis: Any, where: Any) -> None:
    """Refuse a reduction that nothing is there to start with."""
    along = plain_axis(axis)
    reduced_axes(along, len(x.shape))
    if where is not NO_VALUE and where is not True:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to "
            "specify 'initial'"
        )
    check_identity(x.shape, along, ufunc.__name__)


def extremes(name: str, ufunc: np.ufunc) -> Callable[..., LazyArray]:
    """Return a function that gives the largest or the smallest."""

    def extreme(
        x: Any,
        /,
        axis: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = NO_VALUE,
    ) -> LazyArray:
        refuse_out(out)
        found = operand(x)
        if initial is None or initial is NO_VALUE:
            initial = NO_VALUE
            check_start(ufunc, found, axis, where)
        return reduce_axes(name, x, axis, accumulated_dtype(ufunc, found.dtype), keepdims, None, initial, where)

    return documented(extreme, name, "Over all axes, or those of `axis`")


def _truths(name: str) -> Callable[..., LazyArray]:
    def truth(x: Any, /, axis: Any = None, out: Any = None, keepdims: bool = False, where: Any = NO_VALUE) -> LazyArray:
        refuse_out(out)
        return reduce_axes(name, x, axis, BOOL, keepdims, None, NO_VALUE, where)

    return documented(truth, name, "Over all axes, or those of `axis`")


def documented(function: Callable[..., LazyArray], name: str, text: str) -> Callable[..., LazyArray]:
    """Give a function that was made from a pattern its name and its text."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = "lazycache.array"
    function.__doc__ = f"{text}, as numpy's ``{name}``."
    return function


sum = totals("sum", np.add)  # noqa: A001
prod = totals("prod", np.multiply)
max = extremes("max", np.maximum)  # noqa: A001
min = extremes("min", np.minimum)  # noqa: A001
all = _truths("all")  # noqa: A001
any = _truths("any")  # noqa: A001


# numpy looks here whether there are to be axes; elsewhere it wants a number, or True or False.
_ANY_TRUTH = frozenset({"median", "nanmedian"})
_SUMMED = frozenset({"nanmean", "nanstd", "nanvar"})


def check_axes(x: Any, axis: Any, name: str) -> None:
    """Refuse axis 0 of a 0-d array, which numpy takes in sums and not in means."""
    found = operand(x)
    # Of what may hold NaN, numpy makes these means from sums.
    is_sum = name in _SUMMED and (found.dtype is None or found.dtype.kind in "fcO")
    if found.backend in NUMPY_RULES and not is_sum:
        normalize_axes(plain_axis(axis), len(found.shape))


def averaged(x: Operand) -> DType:
    """Return the dtype of a mean; a TypeError for what cannot be added up."""
    dtype = x.dtype
    if x.backend not in NUMPY_RULES:
        return dtype if dtype is not None and dtype.kind in "fc" else None
    if dtype is not None and dtype.kind in "SUVM":
        ufunc_dtype(np.true_divide, (accumulated_dtype(np.add, dtype), int))
    return mean_dtype(dtype)


def _spread_dtype(x: Operand) -> DType:
    found = averaged(x)
    return None if found is None else real_dtype(ufunc_dtype(np.square, (found,)))


def means(name: str) -> Callable[..., LazyArray]:
    """Return a function that gives means."""

    def average(
        x: Any,
        /,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        where: Any = NO_VALUE,
    ) -> LazyArray:
        refuse_out(out)
        check_axes(x, axis, name)
        found = operand(x)
        known = averaged(found) if dtype is None else _asked(name, found, dtype)
        if dtype is not None and found.backend in NUMPY_RULES:
            known = accumulated_dtype(np.add, found.dtype, known)
        return reduce_axes(name, x, axis, known, keepdims, dtype, NO_VALUE, where)

    return documented(average, name, "Over all axes, or those of `axis`; of integers as float64")


def _asked(name: str, x: Operand, dtype: Any) -> DType:
    """Return the dtype that a user asks a mean to have."""
    known = numpy_dtype(dtype)
    holds_nan = x.dtype is not None and x.dtype.kind in "fc"
    if name.startswith("nan") and holds_nan and known is not None and known.kind not in "fcO":
        raise TypeError("If a is inexact, then dtype must be inexact")
    return known


mean = means("mean")


def spreads(name: str) -> Callable[..., LazyArray]:
    """Return a function that gives standard deviations or variances."""

    def spread(
        x: Any,
        /,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        where: Any = NO_VALUE,
        correction: Any = NO_VALUE,
    ) -> LazyArray:
        refuse_out(out)
        found = operand(x)
        if correction is not NO_VALUE:
            if ddof != 0:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = correction
        check_axes(x, axis, name)
        known = _spread_dtype(found) if dtype is None else _asked(name, found, dtype)
        along = plain_axis(axis)
        operator.index(keepdims)
        shape = reduced(found.shape, along, keepdims)
        if name.endswith("std") and shape and known is not None and known.kind in "biu":
            raise TypeError(f"the standard deviations cannot be of {known.name}: a root is no integer")
        options = options_of(along, keepdims, dtype=passed_dtype(dtype), where=_mask(where, found))
        if ddof:
            options["correction"] = ddof
        return make(array_function(name), (found.arg,), options, shape, known, found.backend)

    return documented(spread, name, "About the mean over all axes, or those of `axis`")


std = spreads("std")
var = spreads("var")


def positions(name: str) -> Callable[..., LazyArray]:
    """Return a function that gives the places of extremes."""

    def position(x: Any, /, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> LazyArray:
        refuse_out(out)
        found = operand(x)
        along = plain_axis(axis)
        if found.dtype is not None and found.dtype.kind == "V":
            raise TypeError("data type not ordered")
        shape = searched(found.shape, along, keepdims, name)  # type: ignore[arg-type]
        return make(
            array_function(name),
            (found.arg,),
            options_of(along, keepdims),
            shape,
            index_dtype(found.backend),
            found.backend,
        )

    return documented(position, name, "Of the flattened array, or along `axis`")


argmax = positions("argmax")
argmin = positions("argmin")


def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> LazyArray:
    """Return how many elements are not zero."""
    kept = bool(keepdims) if axis is None else keepdims
    return reduce_axes("count_nonzero", x, axis, index_dtype(operand(x).backend), kept, None, NO_VALUE, NO_VALUE)


def running_totals(name: str, ufunc: np.ufunc, initial: bool) -> Callable[..., LazyArray]:
    """Return a function that gives running sums or products."""

    def running(
        x: Any, /, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> LazyArray:
        refuse_out(out)
        found = operand(x)
        if initial and axis is None and len(found.shape) != 1 and found.shape:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        along: Any = plain_axis(axis)
        shape = accumulated(found.shape, along, include_initial)
        if found.backend == "torch" and not found.shape and not include_initial and (initial or axis is not None):
            shape = ()
        known = total_dtype(ufunc, found, dtype)
        options = options_of(along, False, dtype=passed_dtype(dtype))
        if include_initial:
            options["include_initial"] = True
        return make(array_function(name), (found.arg,), options, shape, known, found.backend)

    return documented(running, name, "Running along `axis`")


cumulative_sum = running_totals("cumulative_sum", np.add, True)
cumulative_prod = running_totals("cumulative_prod", np.multiply, True)
cumsum = running_totals("cumsum", np.add, False)
cumprod = running_totals("cumprod", np.multiply, False)


def ptp(x: Any, /, axis: Any = None, out: Any = None, keepdims: bool = False) -> LazyArray:
    """Return the maximum less the minimum."""
    refuse_out(out)
    found = operand(x)
    check_identity(found.shape, plain_axis(axis), "maximum")
    dtype = None if found.dtype is None else ufunc_dtype(np.subtract, (found.dtype, found.dtype))
    return reduce_axes("ptp", x, axis, dtype, keepdims, None, NO_VALUE, NO_VALUE)
