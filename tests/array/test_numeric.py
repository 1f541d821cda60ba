"""numpy's functions that the array API standard does not have: by the namespace, and by numpy on lazy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache.array import nans, numeric, rearranging
from tests.array.helpers import check, compare, lazy_like

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    # The covariance of one observation, and numpy's wish for other names.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

RNG = np.random.default_rng(3)
DTYPES = ["?", "i1", "u4", "i8", "f2", "f4", "f8", "F"]
A, V = RNG.normal(size=(3, 4)), RNG.normal(size=5)
CUBE = RNG.normal(size=(2, 3, 4)).astype("f4")
HOLES = np.where(A > 0.5, np.nan, A)
INTS = RNG.integers(-4, 5, (3, 4))
SORTED = np.arange(5.0)

Case = tuple[Callable[..., Any], tuple[Any, ...]]

KNOWN: dict[str, Case] = {
    "nansum": (lambda xp, a: xp.nansum(a, axis=0), (HOLES,)),
    "nanprod": (lambda xp, a: xp.nanprod(a, axis=(0, 1), keepdims=True), (HOLES,)),
    "nanmax": (lambda xp, a: xp.nanmax(a), (HOLES,)),
    "nanmin": (lambda xp, a: xp.nanmin(a, axis=-1), (HOLES,)),
    "nanmean": (lambda xp, a: xp.nanmean(a, axis=1), (HOLES,)),
    "nanmedian": (lambda xp, a: xp.nanmedian(a, axis=1), (HOLES,)),
    "nanstd": (lambda xp, a: xp.nanstd(a, axis=0, ddof=1), (HOLES,)),
    "nanvar": (lambda xp, a: xp.nanvar(a), (HOLES,)),
    "nanargmax": (lambda xp, a: xp.nanargmax(a, axis=1), (HOLES,)),
    "nanargmin": (lambda xp, a: xp.nanargmin(a), (HOLES,)),
    "nancumsum": (lambda xp, a: xp.nancumsum(a, axis=1), (HOLES,)),
    "nancumprod": (lambda xp, a: xp.nancumprod(a), (HOLES,)),
    "nanquantile": (lambda xp, a: xp.nanquantile(a, [0.2, 0.7], axis=0), (HOLES,)),
    "nanpercentile": (lambda xp, a: xp.nanpercentile(a, 20), (HOLES,)),
    "cov of nothing": (lambda xp, a: xp.cov(a), (np.zeros((0, 3), "F"),)),
    "delete nested places": (lambda xp, a: xp.delete(a, [[0, 1]]), (A,)),
    "delete fraction": (lambda xp, a: xp.delete(a, 1.0), (A,)),
    "ediff1d of another kind": (lambda xp, a: xp.ediff1d(a, to_end=1.5), (INTS,)),
    "argpartition scalar": (lambda xp, a: xp.argpartition(a, 0, axis=0), (np.array(2.0),)),
    "argpartition place": (lambda xp, a: xp.argpartition(a, 9), (A,)),
    "lexsort uneven": (lambda xp, a: xp.lexsort((a, a[0])), (A,)),
    "polyval matrix": (lambda xp, c, v: xp.polyval(c, v[:4]), (CUBE, V)),
    "polyval number": (lambda xp, v: xp.polyval(np.array(2.0), v), (V,)),
    "rollaxis from the end": (lambda xp, a: xp.rollaxis(a, 1, -1), (CUBE,)),
    "rollaxis to the end": (lambda xp, a: xp.rollaxis(a, 1, 3), (CUBE,)),
    "rollaxis too far": (lambda xp, a: xp.rollaxis(a, 1, -4), (CUBE,)),
    "vander negative": (lambda xp, v: xp.vander(v, -1), (V,)),
    "i0": (lambda xp, a: xp.i0(a), (CUBE,)),
    "select": (lambda xp, a: xp.select([a > 1, a < 0], [a, a * 2], 7), (A,)),
    "select scalars": (lambda xp, a: xp.select([a > 1, a < 0], [1, 2.5]), (CUBE,)),
    "select types": (lambda xp, a, b: xp.select([b > 0], [a], b[0]), (CUBE, INTS)),
    "select weak": (lambda xp, a: xp.select([a > 1, a < 0], [a, 2], 0.5), (CUBE,)),
    "select refused": (lambda xp, a: xp.select([a], [a]), (A,)),
    "select uneven": (lambda xp, a: xp.select([a > 0], [a, a]), (A,)),
    "choose": (lambda xp, i, a: xp.choose(i, [a, a + 1, 7]), (INTS % 3, A)),
    "choose weak": (lambda xp, i, a: xp.choose(i % 2, [a, 100]), (INTS, np.arange(6, dtype=np.uint8)[:1])),
    "choose wrap": (lambda xp, i, a: xp.choose(i, [a, 3], mode="wrap"), (INTS, INTS)),
    "interp": (lambda xp, x, s, v: xp.interp(x, s, v), (A, SORTED, V)),
    "interp edges": (lambda xp, x, s, v: xp.interp(x, s, v, left=-1, right=9.0), (CUBE, SORTED, V)),
    "interp complex": (lambda xp, x, s, v: xp.interp(x, s, v), (A, SORTED, V * 1j)),
    "interp period": (lambda xp, x, s, v: xp.interp(x, s, v, period=3), (V, SORTED, V)),
    "interp complex places": (lambda xp, x, s, v: xp.interp(x, s, v), (A * 1j, SORTED, V)),
    "interp refused": (lambda xp, x, s: xp.interp(x, s, s[:2]), (A, SORTED)),
    "diff": (lambda xp, a: xp.diff(a, n=2, axis=0), (A,)),
    "diff beside others": (lambda xp, a, v: xp.diff(a, prepend=v[:3, None], append=0), (A, V)),
    "gradient": (lambda xp, v: xp.gradient(v), (V,)),
    "gradient all": (lambda xp, a: xp.gradient(a), (A,)),
    "gradient axis": (lambda xp, a: xp.gradient(a, axis=-1), (CUBE,)),
    "gradient axes": (lambda xp, a: xp.gradient(a, 2.0, axis=(0, 1), edge_order=2), (A,)),
    "gradient spacing": (lambda xp, v, s: xp.gradient(v, s), (V, SORTED**2)),
    "gradient refused": (lambda xp, a: xp.gradient(a[:1]), (A,)),
    "gradient arguments": (lambda xp, a: xp.gradient(a, 1, 2, 3), (A,)),
    "trapezoid": (lambda xp, a: xp.trapezoid(a), (A,)),
    "trapezoid axis": (lambda xp, a: xp.trapezoid(a, dx=0.5, axis=0), (CUBE,)),
    "trapezoid x": (lambda xp, a, x: xp.trapezoid(a, x, axis=1), (CUBE, np.arange(3) ** 2)),
    "trapezoid whole x": (lambda xp, a: xp.trapezoid(a, a * 2, axis=0), (A,)),
    "trapezoid refused": (lambda xp, a, v: xp.trapezoid(a, v), (A, V)),
    "convolve": (lambda xp, v: xp.convolve(v, v[:3]), (V,)),
    "convolve same": (lambda xp, v: xp.convolve(v[:2], v, mode="same"), (INTS[0],)),
    "convolve valid": (lambda xp, v: xp.convolve(v, [1, 2], "valid"), (V,)),
    "convolve refused": (lambda xp, v: xp.convolve(v, v[:0]), (V,)),
    "convolve matrix": (lambda xp, a: xp.convolve(a, a), (A,)),
    "correlate": (lambda xp, v: xp.correlate(v, v[:2]), (V,)),
    "correlate full": (lambda xp, v: xp.correlate(v[:2], v, "full"), (V * 1j,)),
    "trapezoid deeper x": (lambda xp, v, x: xp.trapezoid(v, x), (V, A)),
    "trapezoid deeper x, axis": (
        lambda xp, v, x: xp.trapezoid(v, x, axis=0),
        (np.arange(3.0), np.arange(6.0).reshape(3, 2)),
    ),
    "trapezoid row of x": (lambda xp, v: xp.trapezoid(v, v[None]), (V,)),
    "trapezoid x of one": (lambda xp, a: xp.trapezoid(a, a[:, :1]), (A,)),
    "trapezoid number x": (lambda xp, v: xp.trapezoid(v, v[0]), (V,)),
    "trapezoid array of dx": (lambda xp, v: xp.trapezoid(v, dx=v[:2, None]), (V,)),
    "gradient step of one": (lambda xp, a, v: xp.gradient(a, v[:1]), (A, V)),
    "gradient step of a number": (lambda xp, v: xp.gradient(v[0], v), (V,)),
    "gradient table of steps": (lambda xp, a: xp.gradient(a, a, axis=0), (A,)),
    "gradient steps too few": (lambda xp, a: xp.gradient(a, a[0, 1:], axis=1), (A,)),
    "gradient steps": (lambda xp, a: xp.gradient(a, a[:, 0], 2, axis=(0, 1)), (A,)),
    "cov of nothing and some": (lambda xp, a: xp.cov(a[:0], a), (A,)),
    "cov lengths": (lambda xp, a: xp.cov(a, a[:, :2]), (A,)),
    "cov number": (lambda xp, a: xp.cov(a[0, 0], a), (A,)),
    "cov integers": (lambda xp, a: xp.cov(a, dtype="i8"), (A,)),
    "cov ddof": (lambda xp, a: xp.cov(a, ddof=1.5), (A,)),
    "cov table of weights": (lambda xp, a: xp.cov(a, aweights=a), (A,)),
    "cov weights too few": (lambda xp, a, v: xp.cov(a, fweights=v), (A, np.arange(3))),
    "cov weights of columns": (lambda xp, a, v: xp.cov(a, a, rowvar=False, aweights=v), (A, np.arange(4.0))),
    "cov weights of nothing": (lambda xp, a: xp.cov(a[:0], aweights=a), (A,)),
    "cov ddof 1.0": (lambda xp, a: xp.cov(a, ddof=1.0), (A,)),
    "corrcoef bools": (lambda xp, a: xp.corrcoef(a, dtype=bool), (A,)),
    "corrcoef columns": (lambda xp, a: xp.corrcoef(a, a[:, :1], rowvar=False), (A,)),
    "lexsort axis of a number": (lambda xp, v: xp.lexsort((v[0],), axis=3), (V,)),
    "choose mode": (lambda xp, i: xp.choose(i % 3, [i, i, i], mode="wrapped"), (INTS,)),
    "take mode": (lambda xp, v: xp.take(v, [1], mode="constant"), (V,)),
    "take by halves": (lambda xp, v: xp.take(v, v), (V,)),
    "take by uint64": (lambda xp, v: xp.take(v, xp.astype(v, np.uint64) * 0), (V,)),
    "places mode": (lambda xp, i: xp.ravel_multi_index((i % 3,), (3,), mode="any"), (INTS,)),
    "sort kind": (lambda xp, v: xp.sort(v, kind="bubble"), (V,)),
    "lexsort no axis": (lambda xp, v: xp.lexsort((v,), axis=None), (V,)),
    "cov": (lambda xp, a: xp.cov(a), (A,)),
    "cov vector": (lambda xp, v: xp.cov(v), (V,)),
    "cov columns": (lambda xp, a: xp.cov(a, rowvar=False, ddof=0), (CUBE[0],)),
    "cov two": (lambda xp, a, b: xp.cov(a, b), (A, INTS)),
    "cov weights": (lambda xp, a, w: xp.cov(a, aweights=w), (A, np.arange(1.0, 5.0))),
    "cov dtype": (lambda xp, a: xp.cov(a, dtype=np.float32), (CUBE[0],)),
    "corrcoef": (lambda xp, a: xp.corrcoef(a), (A,)),
    "corrcoef two": (lambda xp, v, w: xp.corrcoef(v, w), (V, V**2)),
    "digitize": (lambda xp, a, s: xp.digitize(a, s), (A, SORTED)),
    "digitize right": (lambda xp, a: xp.digitize(a, [0, 1], right=True), (INTS,)),
    "ediff1d": (lambda xp, a: xp.ediff1d(a), (INTS,)),
    "ediff1d ends": (lambda xp, a: xp.ediff1d(a, to_end=[1, 2], to_begin=9), (INTS,)),
    "unwrap": (lambda xp, a: xp.unwrap(a * 4), (A,)),
    "unwrap period": (lambda xp, a: xp.unwrap(a, period=3, axis=0), (INTS,)),
    "vander": (lambda xp, v: xp.vander(v), (V,)),
    "vander columns": (lambda xp, v: xp.vander(v, 3, increasing=True), (INTS[0],)),
    "polyval": (lambda xp, a: xp.polyval([1, 2.5, 0], a), (INTS,)),
    "polyval lazy": (lambda xp, p, a: xp.polyval(p, a), (V, CUBE)),
    "histogram": (lambda xp, a: xp.histogram(a, 4), (A,)),
    "histogram edges": (lambda xp, a, s: xp.histogram(a, s), (INTS, SORTED)),
    "histogram density": (lambda xp, a: xp.histogram(a, bins=3, density=True), (CUBE,)),
    "histogram weights": (lambda xp, v: xp.histogram(v, weights=v), (V,)),
    "isneginf": (lambda xp, a: xp.isneginf(a), (np.array([np.inf, -np.inf, 1]),)),
    "isposinf": (lambda xp, a: xp.isposinf(a), (np.array([np.inf, -np.inf, 1]),)),
    "isposinf complex": (lambda xp, a: xp.isposinf(a), (A * 1j,)),
    "fliplr": (lambda xp, a: xp.fliplr(a), (CUBE,)),
    "fliplr refused": (lambda xp, v: xp.fliplr(v), (V,)),
    "flipud": (lambda xp, a: xp.flipud(a), (A,)),
    "rollaxis": (lambda xp, a: xp.rollaxis(a, 2), (CUBE,)),
    "rollaxis start": (lambda xp, a: xp.rollaxis(a, 0, 3), (CUBE,)),
    "atleast_3d": (lambda xp, v: xp.atleast_3d(v), (V,)),
    "atleast_3d matrix": (lambda xp, a: xp.atleast_3d(a), (A,)),
    "atleast_3d scalar": (lambda xp, a: xp.atleast_3d(a), (np.array(3.0),)),
    "dstack": (lambda xp, a, b: xp.dstack([a, b]), (A, INTS)),
    "column_stack": (lambda xp, a, v: xp.column_stack([v[:3], a]), (A, V)),
    "append": (lambda xp, a, v: xp.append(a, v), (A, V)),
    "append axis": (lambda xp, a, b: xp.append(a, b, axis=0), (A, INTS)),
    "append refused": (lambda xp, a, v: xp.append(a, v, axis=0), (A, V)),
    "block": (lambda xp, a, v: xp.block([[a, a], [v[:4], v[:4]]]), (A, V)),
    "block row": (lambda xp, v: xp.block([v, 1, v]), (V,)),
    "block refused": (lambda xp, a: xp.block([[a], a]), (A,)),
    "vsplit": (lambda xp, a: xp.vsplit(a, 3), (A,)),
    "hsplit": (lambda xp, a: xp.hsplit(a, [1, 3]), (A,)),
    "hsplit vector": (lambda xp, v: xp.hsplit(v, 5), (V,)),
    "dsplit": (lambda xp, a: xp.dsplit(a, 2), (CUBE,)),
    "dsplit refused": (lambda xp, a: xp.dsplit(a, 2), (A,)),
    "diagflat": (lambda xp, a: xp.diagflat(a, 1), (A,)),
    "compress": (lambda xp, a: xp.compress([True, False, True], a, axis=0), (A,)),
    "compress flat": (lambda xp, a: xp.compress([0, 2.5, 0, 1], a), (A,)),
    "compress by a lazy mask": (lambda xp, a, mask: xp.compress(mask, a, axis=1), (A, np.arange(4) > 1)),
    "compress by none": (lambda xp, a: xp.compress([False], a, axis=0), (A,)),
    "extract": (lambda xp, a: xp.extract(np.arange(12).reshape(3, 4) % 3 == 0, a), (A,)),
    "delete": (lambda xp, a: xp.delete(a, 1, axis=0), (A,)),
    "delete several": (lambda xp, a: xp.delete(a, [0, -4, 2], axis=1), (A,)),
    "delete flat": (lambda xp, a: xp.delete(a, slice(1, None, 3)), (A,)),
    "delete mask": (lambda xp, a: xp.delete(a, [True, False, True], axis=0), (A,)),
    "delete refused": (lambda xp, a: xp.delete(a, 4, axis=0), (A,)),
    "argpartition": (lambda xp, a: xp.argpartition(a, 1, axis=0), (INTS[:2],)),
    "lexsort": (lambda xp, a, b: xp.lexsort((a, b)), (A, INTS)),
    "unravel_index": (lambda xp, a: xp.unravel_index(a % 6, (2, 3)), (np.abs(INTS),)),
}

OPEN: dict[str, Case] = {
    "compress by what is computed": (lambda xp, a: xp.compress(a[:, 0] > 0, a, axis=0), (A,)),
    "extract by what is computed": (lambda xp, a: xp.extract(a > 0, a), (A,)),
    "union1d": (lambda xp, a: xp.union1d(a, [1, 9]), (INTS,)),
    "union1d number": (lambda xp, a: xp.union1d(2.5, a), (CUBE,)),
    "intersect1d": (lambda xp, a: xp.intersect1d(a, [1, 2]), (INTS,)),
    "setdiff1d": (lambda xp, a: xp.setdiff1d(a, [1.5, 2]), (INTS,)),
    "setxor1d": (lambda xp, a: xp.setxor1d(a, [1, 9]), (INTS,)),
    "histogram names": (lambda xp, a: xp.histogram(a, "auto"), (A,)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_in_the_namespace(name: str) -> None:
    function, args = KNOWN[name]
    check(function, *args)


@pytest.mark.parametrize("name", OPEN)
def test_sizes_that_depend_on_values_are_open(name: str) -> None:
    function, args = OPEN[name]
    check(function, *args, exact=False)


@pytest.mark.parametrize("name", [*KNOWN, *OPEN])
def test_by_numpy_on_lazy_arrays(name: str) -> None:
    function, args = (KNOWN | OPEN)[name]
    check(lambda xp, *arrays: function(np, *arrays), *args, exact=name in KNOWN)


def test_each_of_them_is_tested() -> None:
    names = {*nans.__all__, *numeric.__all__, *rearranging.__all__} - {"fix"}
    assert names <= {name.partition(" ")[0] for name in KNOWN | OPEN}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["fix", "ediff1d", "gradient", "nanmax", "nanmean", "nanstd", "nansum", "trapezoid",
                                  "unwrap", "vander", "isposinf", "cov"])  # fmt: skip
def test_dtypes(name: str, dtype: str) -> None:
    x = np.array([1, 0, 1, 1], dtype=dtype)
    check(lambda xp, a: getattr(xp, name)(a), x, exact=not (name == "unwrap" and dtype == "?"))


@pytest.mark.parametrize("axis", [0, -1, 1, ()])
@pytest.mark.parametrize("name", [name for name in nans.__all__ if "quantile" not in name and "percentile" not in name])
def test_axes_of_scalars(name: str, axis: Any) -> None:
    check(lambda xp, a: getattr(xp, name)(a, axis=axis), np.array(2.5))
    check(lambda xp, a: xp.quantile(a, 0.5, axis=axis), np.array(2.5))


@pytest.mark.parametrize("dtype", DTYPES[:-1])
def test_dtypes_of_histograms(dtype: str) -> None:
    x = np.array([1, 0, 1, 1], dtype=dtype)
    check(lambda xp, a: xp.histogram(a, 3), x)


@pytest.mark.parametrize(
    "options", [{}, {"return_index": True}, {"return_inverse": True, "return_counts": True}, {"equal_nan": False}]
)
def test_numpys_unique_is_sorted_and_has_one_nan(options: dict[str, Any]) -> None:
    x = np.array([[3.0, np.nan, 1.0], [np.nan, 3.0, -2.0]])
    for unique in (np.unique, lz.unique):
        compare(unique(lazy_like(x), **options), np.unique(x, **options), exact=False)


def test_distinct_values_come_in_order() -> None:
    x = np.array([5, -3, 4, 5, 0, 2, 8, 9, -3])
    np.testing.assert_array_equal(lz.unique_values(x).compute(), np.unique(x))


def test_what_only_depends_on_the_dtype_is_answered_at_once() -> None:
    assert np.iscomplexobj(lz.array(A * 1j)) is True
    assert np.iscomplexobj(lz.Variable((2**40,), dtype="f4")) is False
    assert np.isrealobj(lz.array(A)) is True
    x: Any = lz.array(A)
    assert np.copy(x) is x
    compare(np.amax(lz.array(A), axis=0), np.amax(A, axis=0))
    compare(np.amin(lz.array(A), axis=0), np.amin(A, axis=0))
