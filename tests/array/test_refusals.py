"""What numpy refuses at once is refused when the node is built, and what it takes is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from tests.array.helpers import check

TABLE = np.arange(12.0).reshape(3, 4)
ROW = np.arange(4)
NUMBER = np.array(3.0)
ELEMENTS = {
    "texts": np.array(["a", "b"]),
    "dates": np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
    "spans": np.array([1, 2], "m8[D]"),
    "records": np.zeros(2, [("x", float)]),
}

BY_AXIS: dict[str, Callable[..., Any]] = {
    "append": lambda xp, x, axis: xp.append(x, x, axis=axis),
    "argpartition": lambda xp, x, axis: xp.argpartition(x, 1, axis=axis),
    "argsort": lambda xp, x, axis: xp.argsort(x, axis=axis),
    "compress": lambda xp, x, axis: xp.compress([True], x, axis=axis),
    "concatenate": lambda xp, x, axis: xp.concatenate([x, x], axis=axis),
    "diff": lambda xp, x, axis: xp.diff(x, axis=axis),
    "flip": lambda xp, x, axis: xp.flip(x, axis=axis),
    "partition": lambda xp, x, axis: xp.partition(x, 1, axis=axis),
    "repeat": lambda xp, x, axis: xp.repeat(x, 2, axis=axis),
    "sort": lambda xp, x, axis: xp.sort(x, axis=axis),
    "stack": lambda xp, x, axis: xp.stack([x, x], axis=axis),
    "take": lambda xp, x, axis: xp.take(x, [0], axis=axis),
    "trapezoid": lambda xp, x, axis: xp.trapezoid(x, axis=axis),
    "unwrap": lambda xp, x, axis: xp.unwrap(x, axis=axis),
}


@pytest.mark.parametrize("axis", [True, 1.0, "0", [0], (0,)])
@pytest.mark.parametrize("name", BY_AXIS)
def test_axes_that_are_no_integers(name: str, axis: Any) -> None:
    check(lambda xp, x: BY_AXIS[name](xp, x, axis), TABLE)


OF_ELEMENTS: dict[str, Callable[..., Any]] = {
    "allclose": lambda xp, x: xp.allclose(x, x),
    "allclose to a number": lambda xp, x: xp.allclose(x, 1.0),
    "argmax": lambda xp, x: xp.argmax(x),
    "average": lambda xp, x: xp.average(x),
    "clip": lambda xp, x: xp.clip(x, x[0], x[1]),
    "convolve": lambda xp, x: xp.convolve(x, x),
    "corrcoef": lambda xp, x: xp.corrcoef(x),
    "correlate": lambda xp, x: xp.correlate(x, x),
    "cov": lambda xp, x: xp.cov(x),
    "digitize": lambda xp, x: xp.digitize(x, x),
    "histogram": lambda xp, x: xp.histogram(x),
    "histogram_bin_edges": lambda xp, x: xp.histogram_bin_edges(x),
    "isclose": lambda xp, x: xp.isclose(np.ones(2), x),
    "isposinf": lambda xp, x: xp.isposinf(x),
    "isreal": lambda xp, x: xp.isreal(x),
    "mean": lambda xp, x: xp.mean(x),
    "median": lambda xp, x: xp.median(x),
    "nanmean": lambda xp, x: xp.nanmean(x),
    "nanmedian": lambda xp, x: xp.nanmedian(x),
    "polyval": lambda xp, x: xp.polyval(x, x),
    "sinc": lambda xp, x: xp.sinc(x),
    "std": lambda xp, x: xp.std(x),
    "vander": lambda xp, x: xp.vander(x),
}


# Of numpy, from 2.5 on.
@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")
@pytest.mark.parametrize("elements", ELEMENTS)
@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_elements_that_are_no_numbers(name: str, elements: str) -> None:
    check(OF_ELEMENTS[name], ELEMENTS[elements], exact=name not in ("convolve", "correlate"))


def test_spans_are_close_within_a_span() -> None:
    spans = ELEMENTS["spans"]
    check(lambda xp, x: xp.isclose(x, x[::-1], rtol=0, atol=np.timedelta64(1, "D")), spans)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "pad a number by less than nothing": (lambda xp, x: xp.pad(x, -1), (NUMBER,)),
    "pad a number by pairs": (lambda xp, x: xp.pad(x, ((1, -1),)), (NUMBER,)),
    "sort by what there is not": (lambda xp, x: xp.sort(x, kind="x"), (TABLE,)),
    "sort by a number": (lambda xp, x: xp.sort(x, kind=3), (TABLE,)),
    "kinds of selection": (lambda xp, x: xp.partition(x, 1, kind="x"), (TABLE,)),
    "kinds of selection of places": (lambda xp, x: xp.argpartition(x, 1, kind="x"), (TABLE,)),
    "the kind of selection": (lambda xp, x: xp.partition(x, 1, -1, "introselect"), (np.array([2.0, 1.0, 3.0]),)),
    "kinds of search": (lambda xp, x: xp.isin(x, x, kind="x"), (TABLE,)),
    "a table of fractions": (lambda xp, x: xp.isin(x, x, kind="table"), (TABLE,)),
    "a table of integers": (lambda xp, x: xp.isin(x, x[:2], kind="table"), (ROW,)),
    "differences of none": (lambda xp, x: xp.diff(x, n=0, axis=7), (TABLE,)),
    "differences of a number": (lambda xp, x: xp.diff(x, n=0), (NUMBER,)),
    "more than an integer holds": (lambda xp, x: xp.dot(x, 2**70), (ROW,)),
    "more than an integer holds, inside": (lambda xp, x: xp.inner(x, 2**63), (ROW,)),
    "more than an integer holds, outside": (lambda xp, x: xp.outer(x, -(2**70)), (TABLE,)),
    "more than an integer holds, slid": (lambda xp, x: xp.convolve(x, 2**70), (ROW,)),
    "real numbers in another order of bytes": (lambda xp, x: x.conj(), (np.array([1.0, 2.0], ">f8"),)),
    "steps": (lambda xp, x: xp.linspace(x, 1, 5, retstep=True), (TABLE,)),
    "steps without the end": (lambda xp, x: xp.linspace(0, x, 4, False, True, "f4"), (ROW,)),
    "distinct rows of another axis": (lambda xp, x: xp.unique(x, axis=2), (TABLE,)),
}


@pytest.mark.parametrize("name", CASES)
def test_in_the_namespace(name: str) -> None:
    function, args = CASES[name]
    check(function, *args)


@pytest.mark.parametrize("name", CASES)
def test_by_numpy_on_lazy_arrays(name: str) -> None:
    function, args = CASES[name]
    check(lambda xp, *arrays: function(np, *arrays), *args)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_distinct_slices(axis: int) -> None:
    table = np.array([[1, 2, 1, 2], [3, 4, 3, 5], [1, 2, 1, 2]])
    found = lz.unique(lz.array(table), axis=axis)
    assert found.shape == ((None, 4) if axis == 0 else (3, None))
    check(lambda xp, x: xp.unique(x, axis=axis), table, exact=False)
    check(lambda xp, x: xp.unique(x, True, True, True, axis=axis), table, exact=False)


def test_rows_and_columns_are_named_as_numpy_names_them() -> None:
    check(lambda xp: xp.eye(N=3, M=2, k=1))
    check(lambda xp: xp.tri(N=3, M=4, k=1, dtype="i4"))


@pytest.mark.parametrize("stable", [None, True, False])
@pytest.mark.parametrize("kind", [None, "quicksort", "stable"])
@pytest.mark.parametrize("function", [np.sort, np.argsort])
def test_an_algorithm_or_what_it_should_do(function: Any, kind: str | None, stable: bool | None) -> None:
    x = np.array([2.0, 1.0, 3.0])
    check(lambda xp, x: function(x, kind=kind, stable=stable), x)


@pytest.mark.parametrize("keepdims", [None, "yes", [], 1, 0])
@pytest.mark.parametrize(
    "name", ["all", "argmax", "average", "count_nonzero", "max", "mean", "median", "nanmean", "nansum", "ptp", "std"]
)
def test_whether_axes_are_kept_is_true_or_false(name: str, keepdims: Any) -> None:
    check(lambda xp, x: getattr(xp, name)(x, axis=0, keepdims=keepdims), TABLE)
