"""Medians, quantiles, weighted means and covariances."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.backends import NUMPY_RULES, numpy_dtype
from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer.dtypes import FLOAT64, INT64, DType, mean_dtype, result_type, ufunc_dtype
from lazycache.array.infer.reductions import Axis, normalize_axes, reduced
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, operand
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
from lazycache.array.searching import parts
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def medians(name: str) -> Callable[..., LazyArray]:
    """Return a function that gives medians."""

    def median(x: Any, /, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> LazyArray:
        refuse_out(out)
        axis = _axes(axis)
        check_axes(x, axis, name)
        return reduce_axes(name, x, axis, averaged(operand(x)), keepdims, None, NO_VALUE, NO_VALUE)

    return documented(median, name, "Over all axes, or those of `axis`")


median = medians("median")


def quantiles(name: str, limit: float) -> Callable[..., LazyArray]:
    """Return a function that gives quantiles; they are numbers up to `limit`."""

    def quantile(
        x: Any,
        /,
        q: Any,
        axis: Any = None,
        out: Any = None,
        *,
        method: str = "linear",
        keepdims: bool = False,
        weights: Any = None,
    ) -> LazyArray:
        refuse_out(out)
        found, wanted = operand(x), operand(q)
        dtype = _quantile_dtype(found, wanted, method, limit)
        if method not in _METHODS:
            raise ValueError(f"{method!r} is not a valid method. Use one of: {sorted(_METHODS)}")
        if isinstance(q, (int, float)) and not 0 <= q <= limit:
            raise ValueError(f"{name.removeprefix('nan').capitalize()}s must be in the range [0, {int(limit)}]")
        check_axes(x, _axes(axis), name)
        along = plain_axis(_axes(axis))
        options = options_of(along, keepdims)
        inside = reduced(found.shape, along, keepdims)
        if name.startswith("nan") and found.size == 0 and found.backend in (None, "numpy"):
            # Of nothing numpy takes the mean, whatever is asked for.
            args = (found.arg, wanted.arg)
            return make(array_function(name), args, options, inside, mean_dtype(found.dtype), found.backend)
        if not name.startswith("nan") and any(found.shape[one] == 0 for one in normalize_axes(along, len(found.shape))):
            raise IndexError("a quantile of no elements: the size of an axis is 0")
        if method != "linear":
            options["method"] = method
        if weights is not None:
            if method != "inverted_cdf":
                raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
            options["weights"] = _weights(found, weights, along).arg
        args = (found.arg, wanted.arg)
        return make(array_function(name), args, options, (*wanted.shape, *inside), dtype, found.backend)

    return documented(quantile, name, "Over all axes, or those of `axis`")


def _axes(axis: Any) -> Any:
    """Return axes that may be given as a list too, as numpy takes them in what it has written in Python."""
    return tuple(axis) if isinstance(axis, list) else int(axis) if isinstance(axis, bool) else axis


_CHOOSING = frozenset({"closest_observation", "higher", "inverted_cdf", "lower", "nearest"})
# With these the smallest and the largest, if whole numbers ask for them, are counted in whole numbers.
_COUNTING = frozenset({"averaged_inverted_cdf", "interpolated_inverted_cdf"})
_BETWEEN = frozenset({"hazen", "linear", "median_unbiased", "midpoint", "normal_unbiased", "weibull"})
_METHODS = _CHOOSING | _COUNTING | _BETWEEN


def _quantile_dtype(x: Operand, q: Operand, method: str, limit: float) -> DType:
    if x.dtype is None or q.dtype is None or (x.backend not in NUMPY_RULES and x.dtype.kind != "f"):
        return None
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    # An element is chosen, also by a whole number of the smallest and the largest.
    if x.dtype.kind in "mM" or method in _CHOOSING or (method == "linear" and limit == 1 and q.dtype.kind in "biu"):
        return x.dtype
    if x.dtype.kind == "b":
        ufunc_dtype(np.subtract, (x.dtype, x.dtype))
    is_plain = isinstance(q.kind, type)
    if x.backend not in NUMPY_RULES and not is_plain and q.dtype != x.dtype:
        return None
    if limit == 1 and q.dtype.kind in "biu" and method in _COUNTING and not is_plain:
        return result_type((x.dtype, INT64 if q.dtype.kind == "b" else q.dtype))
    return result_type((x.dtype, float if is_plain else mean_dtype(q.dtype)))


quantile = quantiles("quantile", 1)
percentile = quantiles("percentile", 100)


def _weights(x: Operand, weights: Any, axis: Axis) -> Operand:
    heavy = operand(weights)
    if heavy.shape != x.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if heavy.shape != tuple(x.shape[one] for one in normalize_axes(axis, len(x.shape))):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    return heavy


def average(x: Any, /, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """Return the weighted mean, and with `returned` the sum of the weights too."""
    found = operand(x)
    if weights is None:
        made = mean(x, axis=_axes(axis), keepdims=keepdims)
        if found.dtype is not None and found.dtype.kind in "mM":
            # It divides the sizes in this dtype.
            raise ValueError(f"there is no average of elements of {found.dtype!r}: take the mean")
        if found.backend in NUMPY_RULES and made.size == 0:
            # numpy divides the sizes.
            raise ZeroDivisionError("division by zero")
        if not returned:
            return made
        options = {**options_of(plain_axis(_axes(axis)), keepdims), "returned": True}
        outputs = [(made._shape, made._dtype)] * 2
        return parts("average", (found.arg,), options, found.backend, outputs)
    along = plain_axis(_axes(axis))
    heavy = _weights(found, weights, along)
    dtype = result_type((mean_dtype(found.dtype), heavy.dtype))
    if found.dtype is not None and found.dtype.kind in "biu":
        dtype = result_type((found.dtype, heavy.dtype, np.dtype(float)))
    if found.backend not in NUMPY_RULES and found.dtype != heavy.dtype:
        dtype = None
    options = options_of(along, keepdims)
    options["weights"] = heavy.arg
    shape = reduced(found.shape, along, keepdims)
    if returned:
        options["returned"] = True
        return parts("average", (found.arg,), options, found.backend, [(shape, dtype)] * 2)
    return make(array_function("average"), (found.arg,), options, shape, dtype, found.backend)


def _variables(shape: Shape, rowvar: bool) -> tuple[int | None, int | None]:
    """Return how many variables there are, and how often each was observed."""
    if len(shape) > 2:
        raise ValueError("m has more than 2 dimensions")
    if len(shape) < 2:
        return 1, shape[0] if shape else 1
    return (shape[0], shape[1]) if rowvar else (shape[1], shape[0])


def _covariance(name: str, m: Any, y: Any, rowvar: bool, dtype: Any, options: dict[str, Any]) -> LazyArray:
    every = [operand(m), *([] if y is None else [operand(y)])]
    tables = [_variables(one.shape, rowvar) for one in every]
    counts = [count for count, _ in tables]
    if counts[0] == 0:
        # Then numpy does not look at the others.
        variables: int | None = 0
    else:
        variables = None if None in counts else sum(count for count in counts if count is not None)
        if len({length for _, length in tables if length is not None}) > 1:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
        asked = None if dtype is None else numpy_dtype(dtype)
        if asked is not None and asked.kind in "biu":
            raise TypeError(f"cannot take the means, which are float64, from values of {asked}")
    shape: Shape = () if variables == 1 else (variables, variables)
    known = result_type([*(one.dtype for one in every), FLOAT64]) if dtype is None else numpy_dtype(dtype)
    if known is not None and known.kind in "SUV":
        raise TypeError(f"there is no covariance of elements of {known!r}")
    if common_backend(every) not in NUMPY_RULES and any(one.dtype != known for one in every):
        known = None
    elif variables == 0:
        # Of no variables numpy gives an empty array of its own.
        known = FLOAT64
    if y is not None:
        options["y"] = every[1].arg
    if not rowvar:
        options["rowvar"] = False
    if dtype is not None:
        options["dtype"] = known
    return make(array_function(name), (every[0].arg,), options or NO_KWARGS, shape, known, common_backend(every))


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> LazyArray:
    """Return the covariance of variables: the rows of `m`, or with ``rowvar=False`` its columns."""
    weights = {"fweights": fweights, "aweights": aweights}
    options: dict[str, Any] = {name: operand(value).arg for name, value in weights.items() if value is not None}
    if bias:
        options["bias"] = True
    if ddof is not None:
        if ddof != int(ddof):
            raise ValueError("ddof must be integer")
        options["ddof"] = ddof
    made = _covariance("cov", m, y, rowvar, dtype, options)
    _check_observed({name: operand(value).shape for name, value in weights.items() if value is not None}, m, y, rowvar)
    return made


def _check_observed(shapes: dict[str, Shape], m: Any, y: Any, rowvar: bool) -> None:
    """Refuse weights that are not one for each observation."""
    count, observations = _variables(operand(m).shape, rowvar)
    if y is not None and observations is None:
        observations = _variables(operand(y).shape, rowvar)[1]
    for name, shape in shapes.items():
        if count == 0:
            return
        if len(shape) > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if shape and None not in (shape[0], observations) and shape[0] != observations:
            raise RuntimeError(f"incompatible numbers of samples and {name}")


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> LazyArray:
    """Return the correlation coefficients of variables: the rows of `x`, or with ``rowvar=False`` its columns."""
    return _covariance("corrcoef", x, y, rowvar, dtype, {})
