"""Histograms, in one and more dimensions, and the edges of their bins."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lazycache.array.functions import array_function
from lazycache.array.infer import Shape, Size
from lazycache.array.infer.dtypes import FLOAT64, INTP, DType, result_type, ufunc_dtype
from lazycache.array.manipulation import at_least, stack, transpose
from lazycache.array.node import ArrayNode, known_dtype, make
from lazycache.array.operands import Operand, common_backend, known_value, operand
from lazycache.array.searching import check_order, parts
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]

_MOST_AXES = 64
_RULES = frozenset({"auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"})


class _Bins(NamedTuple):
    """Bins as an argument, how many they are, and the dtype of their edges; None where that depends on values."""

    given: Any
    number: Size
    dtype: DType

    @property
    def edges(self) -> Shape:
        return (None if self.number is None else self.number + 1,)


def _at_edges(bins: Any, name: str, dtype: DType) -> _Bins:
    """Return bins that are given by their edges, among which elements of `dtype` are looked for."""
    places = operand(bins)
    check_order(places, Operand(None, (), dtype, None))
    if len(places.shape) != 1:
        raise ValueError(f"{name} must be 1d, when an array")
    known = known_value(places.arg)
    if known is not None and np.any(known[:-1] > known[1:]):
        raise ValueError(f"{name} must increase monotonically, when an array")
    size = places.shape[0]
    return _Bins(places.arg, None if size is None else max(size - 1, 0), places.dtype)


def _count(bins: Any, name: str) -> int:
    if not isinstance(bins, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, a string, or an array")
    if bins < 1:
        raise ValueError(f"{name} must be positive, when an integer")
    return operator.index(bins)


def _is_number(bins: Any) -> bool:
    return not isinstance(bins, (ArrayNode, list, tuple)) and np.ndim(bins) == 0


def _bounds(range_: Any) -> tuple[Operand, Operand] | None:
    """Return the operands of a range, checked where they are known."""
    if range_ is None:
        return None
    low, high = (operand(bound) for bound in range_)
    values = known_value(low.arg), known_value(high.arg)
    if values[0] is not None and values[1] is not None:
        if values[0] > values[1]:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(values[0]) and np.isfinite(values[1])):
            raise ValueError(f"supplied range of [{values[0]}, {values[1]}] is not finite")
    return low, high


def _plain_range(bounds: tuple[Operand, Operand] | None) -> Any:
    return None if bounds is None else tuple(bound.arg for bound in bounds)


def _bins(a: Operand, bins: Any, bounds: tuple[Operand, Operand] | None, weighted: bool, counted: bool = True) -> _Bins:
    """Return the bins of a histogram in one dimension."""
    if isinstance(bins, str):
        if bins not in _RULES:
            raise ValueError(f"{bins!r} is not a valid estimator for `bins`")
        if weighted:
            raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
        if a.dtype is not None and a.dtype.kind == "c":
            raise TypeError("a must be an array of real numbers")
        count = None
    elif _is_number(bins):
        bins = count = _count(bins, "`bins`")
    else:
        return _at_edges(bins, "`bins`", a.dtype if counted else None)
    if a.dtype is None:
        return _Bins(bins, count, None)
    if a.dtype.kind in "SUV":
        ufunc_dtype(np.minimum, (a.dtype, a.dtype))
    number = np.dtype(np.uint8) if a.dtype.kind == "b" else a.dtype
    dtype = result_type((number, *(() if bounds is None else (bound.kind for bound in bounds))))
    if dtype is not None and dtype.kind in "mM":
        result_type((dtype, float))
    return _Bins(bins, count, FLOAT64 if dtype is not None and dtype.kind in "iu" else dtype)


def _weights(weights: Any, shape: Shape) -> Operand | None:
    if weights is None:
        return None
    found = operand(weights)
    if found.shape != shape and None not in (*found.shape, *shape):
        raise ValueError("weights should have the same shape as a.")
    return found


def _options(bounds: Any, weights: Operand | None, density: Any) -> dict[str, Any]:
    options = {} if bounds is None else {"range": bounds}
    if weights is not None:
        options["weights"] = weights.arg
    if density:
        options["density"] = True
    return options


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """Return how many elements fall in each bin, and the edges of the bins."""
    found = operand(a)
    heavy, bounds = _weights(weights, found.shape), _bounds(range)
    known = _bins(found, bins, bounds, heavy is not None)
    counted: DType = INTP if heavy is None else heavy.dtype
    if density and counted is not None:
        counted = ufunc_dtype(np.true_divide, (counted, FLOAT64))
    options = _options(_plain_range(bounds), heavy, density)
    backend = common_backend([found, *([] if heavy is None else [heavy])])
    outputs: list[tuple[Shape, DType]] = [((known.number,), counted), (known.edges, known.dtype)]
    return parts("histogram", (found.arg, known.given), options, backend, outputs)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> LazyArray:  # noqa: A002
    """Return the edges of the bins of a histogram."""
    found = operand(a)
    heavy, bounds = _weights(weights, found.shape), _bounds(range)
    known = _bins(found, bins, bounds, heavy is not None, counted=False)
    options = _options(_plain_range(bounds), heavy, None)
    called = array_function("histogram_bin_edges")
    return make(called, (found.arg, known.given), options or NO_KWARGS, known.edges, known.dtype, found.backend)


def _each(
    sample: Operand, size: Size, bins: Any, ranges: Sequence[tuple[Operand, Operand] | None], count: int
) -> list[_Bins]:
    """Return the bins of each dimension."""
    if not _is_number(bins) and len(bins) != count:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    found = []
    for number, bounds in enumerate(ranges):
        one = bins if _is_number(bins) else bins[number]
        name = f"`bins[{number}]`"
        for bound in bounds or ():
            check_order(sample, bound)
        if _is_number(one):
            found.append(_Bins(_count(one, name), _count(one, name), _linear_dtype(sample, size, bounds)))
        else:
            found.append(_at_edges(one, name, sample.dtype))
    return found


def _linear_dtype(sample: Operand, size: Size, bounds: tuple[Operand, Operand] | None) -> DType:
    if bounds is not None:
        return result_type((bounds[0].kind, bounds[1].kind, float))
    if size == 0 or sample.dtype is None:
        # Between 0 and 1, of which the sample has no part.
        return FLOAT64 if size == 0 else None
    dtype = result_type((sample.dtype, float))
    return None if size is None and dtype != FLOAT64 else dtype


def _ranges(range_: Any, count: int) -> list[tuple[Operand, Operand] | None]:
    if range_ is None:
        return [None] * count
    if len(range_) != count:
        raise ValueError("range argument must have one entry per dimension")
    return [_bounds(one) for one in range_]


def _plain_bins(bins: Any, each: Sequence[_Bins]) -> Any:
    return each[0].given if _is_number(bins) and each else [one.given for one in each]


def _check_counted(weights: Any, size: Size) -> Operand | None:
    heavy = None if weights is None else operand(weights)
    if heavy is not None and heavy.shape != (size,) and None not in (*heavy.shape, size):
        raise ValueError("The weights and list don't have the same length.")
    if heavy is not None and heavy.dtype is not None and not np.can_cast(heavy.dtype, FLOAT64):
        raise TypeError(f"Cannot cast array data from {heavy.dtype!r} to {FLOAT64!r} according to the rule 'safe'")
    return heavy


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002
    density: Any = None,
    weights: Any = None,
) -> tuple[LazyArray, tuple[LazyArray, ...]]:
    """Return how many points fall in each box of a grid, and the edges of the boxes in each dimension.

    The points are the rows of an array, or given by one vector for each dimension.
    """
    is_sequence = isinstance(sample, (list, tuple))
    points = operand(stack(sample) if is_sequence else sample)
    if is_sequence or len(points.shape) != 2:
        points = operand(transpose(at_least(points.arg, 2)))
    size, count = points.shape
    if count == 0:
        raise ValueError("object of too small depth for desired array")
    if count is not None and count > _MOST_AXES:
        raise ValueError(f"maximum supported dimension for an ndarray is currently {_MOST_AXES}, found {count}")
    if count is None:
        raise ValueError("the number of dimensions is not known before the sample is computed")
    heavy, ranges = _check_counted(weights, size), _ranges(range, count)
    each = _each(points, size, bins, ranges, count)
    bounds = None if range is None else tuple(_plain_range(one) for one in ranges)
    options = {"bins": _plain_bins(bins, each), **_options(bounds, heavy, density)}
    whole = make(array_function("histogramdd", None, 2), (points.arg,), options, (2,), None, points.backend)
    pick = array_function("getitem")
    made = []
    # Counts, and then the edges in a sequence of their own.
    edges = make(pick, (whole, 1), NO_KWARGS, (count,), None, points.backend, (whole,))
    shape = tuple(one.number for one in each)
    for source, place, sizes, dtype in (
        (whole, 0, shape, FLOAT64),
        *((edges, number, one.edges, one.dtype) for number, one in enumerate(each)),
    ):
        known = known_dtype("histogramdd", dtype, points.backend, whole._deps)
        made.append(make(pick, (source, place), NO_KWARGS, sizes, known, points.backend, (source,)))
    return made[0], tuple(made[1:])


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002
    density: Any = None,
    weights: Any = None,
) -> tuple[LazyArray, ...]:
    """Return how many points fall in each box of a grid, and the edges of the boxes along `x` and `y`."""
    pair = operand(x), operand(y)
    for one in pair:
        if not one.shape:
            raise TypeError("len() of unsized object")
    size = pair[0].shape[0]
    if size != pair[1].shape[0] and None not in (size, pair[1].shape[0]):
        raise ValueError("x and y must have the same length.")
    if len(pair[0].shape) != 1 or len(pair[1].shape) != 1:
        raise ValueError("x and y must be vectors")
    if not _is_number(bins) and operand(bins[0] if len(bins) in (1, 2) else bins).shape and len(bins) not in (1, 2):
        bins = [bins, bins]
    heavy, ranges = _check_counted(weights, size), _ranges(range, 2)
    dtype = result_type([one.dtype for one in pair])
    each = _each(Operand(None, (size, 2), dtype, None), size, bins, ranges, 2)
    bounds = None if range is None else tuple(_plain_range(one) for one in ranges)
    options = {"bins": _plain_bins(bins, each), **_options(bounds, heavy, density)}
    shape = tuple(one.number for one in each)
    outputs = [(shape, FLOAT64), *((one.edges, one.dtype) for one in each)]
    return parts("histogram2d", (pair[0].arg, pair[1].arg), options, common_backend(pair), outputs)
