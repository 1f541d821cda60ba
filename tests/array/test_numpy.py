"""numpy's own functions, operators and objects on lazy arrays: lazy in each case, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special

import lazycache.array as lz
from lazycache import compute, computed, lazy
from lazycache.errors import NotComputedError
from lazycache.expressions.nodes import Node
from tests.array.helpers import check

A = np.arange(12.0).reshape(3, 4) / 7 + 0.5
I = np.arange(12).reshape(3, 4) % 5  # noqa: E741

CASES: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "add": lambda a: np.add(a, 1),
    "add array first": lambda a: np.add(np.ones(4), a),
    "logaddexp": lambda a: np.logaddexp(a, 1),
    "sin dtype": lambda a: np.sin(a, dtype="f4"),
    "erf": special.erf,
    "frexp": np.frexp,
    "modf": lambda a: np.modf(a),
    "divmod": lambda a: np.divmod(a, 0.3),
    "divmod operator": lambda a: divmod(a, 0.3),
    "reduce": lambda a: np.add.reduce(a, axis=1),
    "reduce all": lambda a: np.logical_and.reduce(a > 0, axis=None),
    "reduce hypot": lambda a: np.hypot.reduce(a),
    "accumulate": lambda a: np.multiply.accumulate(a, axis=1),
    "outer": lambda a: np.subtract.outer(a, np.arange(3)),
    "matmul": lambda a: np.matmul(a, a.T),
    "vecdot": lambda a: np.vecdot(a, a),
    "clip": lambda a: np.clip(a, 1, 2),
    "where": lambda a: np.where(a > 1, a, 0),
    "concatenate": lambda a: np.concatenate([a, np.ones((1, 4))]),
    "stack": lambda a: np.stack((a, a), axis=-1),
    "mean": lambda a: np.mean(a, axis=0),
    "std": lambda a: np.std(a, ddof=1),
    "sum by name": lambda a: np.sum(a=a, axis=0),
    "median": lambda a: np.median(a, axis=1),
    "transpose": lambda a: np.transpose(a),
    "reshape": lambda a: np.reshape(a, (4, 3)),
    "ravel": lambda a: np.ravel(a),
    "split": lambda a: np.split(a, 2, axis=1),
    "moveaxis": lambda a: np.moveaxis(a, 0, 1),
    "atleast_2d": lambda a: np.atleast_2d(a[0]),
    "tril": lambda a: np.tril(a),
    "diag": lambda a: np.diag(a),
    "trace": lambda a: np.trace(a),
    "linspace": lambda a: np.linspace(a[0], 2.0, 5),
    "zeros_like": lambda a: np.zeros_like(a),
    "full_like": lambda a: np.full_like(a, 2, dtype="i4"),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "tensordot": lambda a: np.tensordot(a, a, axes=([0], [0])),
    "dot": lambda a: np.dot(a, a.T),
    "kron": lambda a: np.kron(a, a),
    "norm": lambda a: np.linalg.norm(a, axis=1),
    "svd": lambda a: np.linalg.svd(a)[1],
    "pinv": lambda a: np.linalg.pinv(a),
    "fft": lambda a: np.fft.fft(a),
    "rfftn": lambda a: np.fft.rfftn(a),
    "fftshift": lambda a: np.fft.fftshift(a),
    "take": lambda a: np.take(a, [0, 2], axis=0),
    "sort": lambda a: np.sort(a, axis=0),
    "argmax": lambda a: np.argmax(a),
    "cumsum": lambda a: np.cumsum(a),
    "isclose": lambda a: np.isclose(a, a),
    "array_equal": lambda a: np.array_equal(a, a),
    "nan_to_num": lambda a: np.nan_to_num(a),
    "average": lambda a: np.average(a, axis=0, weights=[1, 2, 3]),
    "quantile": lambda a: np.quantile(a, 0.3),
    "round": lambda a: np.round(a, 1),
    "roll": lambda a: np.roll(a, 1, axis=0),
    "pad": lambda a: np.pad(a, 1),
    "repeat": lambda a: np.repeat(a, 2, axis=0),
    "left array": lambda a: np.ones((3, 1)) - a,
    "left scalar": lambda a: np.float64(2) * a,
    "left power": lambda a: 2**a,
    "left matrix": lambda a: np.ones((2, 3)) @ a,
    "list": lambda a: [1, 2, 3, 4] + a,
    "compare": lambda a: np.ones((3, 4)) < a,
}


@pytest.mark.parametrize("name", CASES)
def test_numpy_makes_a_lazy_array(name: str) -> None:
    function = CASES[name]
    check(lambda xp, a: function(a), A)


# Its stubs do not know of every way to call it.
numpy: Any = np

NAMED: dict[str, Callable[[Any], Any]] = {
    "argsort": lambda a: np.argsort(a, -1, "stable", None),
    "array_equal": lambda a: np.array_equal(a1=a, a2=a, equal_nan=True),
    "atleast_2d": lambda a: np.atleast_2d(a, a[0], 1.0),
    "atleast_3d": lambda a: np.atleast_3d(a, a[0]),
    "average": lambda a: numpy.average(a, 1, None, True),
    "average weights": lambda a: numpy.average(a=a, axis=[0], weights=np.arange(3.0) + 1, returned=True, keepdims=True),
    "broadcast_to": lambda a: np.broadcast_to(array=a, shape=(2, 3, 4), subok=True),
    "clip": lambda a: np.clip(a=a, a_min=1, a_max=2),
    "concatenate": lambda a: np.concatenate((a, a), axis=1, dtype="f4"),
    "concatenate cast": lambda a: np.concatenate((a, a), dtype=int),
    "cross": lambda a: np.cross(a[:, :3], a[:, 1:], axisa=0, axisb=0, axisc=0),
    "cross axis": lambda a: np.cross(a=a[:, :3], b=a[:, 1:], axis=0),
    "dot": lambda a: np.dot(a=a, b=a.T, out=None),
    "einsum": lambda a: np.einsum("ij,kj", a, a, optimize=True, order="C", dtype="f8"),
    "einsum cast": lambda a: np.einsum("ij->i", a, dtype="f4", casting="same_kind"),
    "einsum cast refused": lambda a: np.einsum("ij->i", a, dtype="f4"),
    "einsum view": lambda a: np.einsum("ij->ji", a, dtype="f4"),
    "einsum labels": lambda a: np.einsum(a, [30, np.int64(2)]),
    "full_like": lambda a: np.full_like(a=a, fill_value=2.5, dtype=int),
    "full_like shape": lambda a: np.full_like(a, 3, shape=(2,)),
    "hstack": lambda a: np.hstack(tup=(a, a), dtype="i4", casting="unsafe"),
    "isin": lambda a: np.isin(element=a, test_elements=[0.5, 2], kind="sort"),
    "linspace": lambda a: numpy.linspace(a[0], a[1], 4, False, True),
    "max": lambda a: np.amax(a=a, axis=0),
    "median": lambda a: np.median(a, 0, None, False, True),
    "median list": lambda a: np.median(a, [0, 1]),
    "meshgrid": lambda a: np.meshgrid(a[0], a[1, :2], a[2, :3], sparse=True, copy=False, indexing="ij"),
    "nan_to_num": lambda a: np.nan_to_num(a, True, 1.0, 2.0, 3.0),
    "nanquantile": lambda a: np.nanquantile(a, [0.5, 0.1], 1, None, False, "nearest"),
    "outer": lambda a: np.outer(a=a, b=a),
    "pad": lambda a: np.pad(array=a, pad_width=1, mode="edge"),
    "partition": lambda a: np.partition(a, 1, 0, "introselect", None),
    "percentile": lambda a: np.percentile(a, q=30, axis=1, overwrite_input=True),
    "quantile": lambda a: np.quantile(a, 0.5, 0, None, False, "lower", True),
    "quantile of integers": lambda a: np.quantile(np.astype(a, int), 1, 0),
    "quantile weights": lambda a: np.quantile(a, 0.3, axis=1, method="inverted_cdf", weights=np.arange(4.0) + 1),
    "quantile of nothing": lambda a: np.quantile(a[:0], 0.5, axis=0),
    "rank": lambda a: np.linalg.matrix_rank(A=a[:, :3], tol=0.1, hermitian=True),
    "searchsorted": lambda a: np.searchsorted(a=a[0], v=a[1], side="right"),
    "sort": lambda a: np.sort(a=a, axis=0, kind=None, order=None, stable=True),
    "stack": lambda a: np.stack(arrays=[a, a], axis=1, dtype="f4"),
    "tensordot": lambda a: np.tensordot(a, b=a, axes=([0], [0])),
    "tile": lambda a: np.tile(A=a, reps=2),
    "trace": lambda a: np.trace(a=a, offset=1, dtype="f4", out=None),
    "vstack": lambda a: np.vstack([a, a[0]], dtype=complex),
    "zeros_like": lambda a: np.zeros_like(a=a, dtype="f4", order="F", subok=False, shape=(2, 2)),
}


@pytest.mark.parametrize("name", NAMED)
def test_parameters_have_the_names_and_places_that_numpy_gives_them(name: str) -> None:
    function = NAMED[name]
    check(lambda xp, a: function(a), A)


BY_NAME: dict[str, dict[str, Any]] = {
    "array_split": {"indices_or_sections": 2},
    "moveaxis": {"source": 0, "destination": 1},
    "nanpercentile": {"q": [20, 30], "axis": 0},
    "nanquantile": {"q": [0.2, 0.3], "axis": 0},
    "percentile": {"q": 30},
    "quantile": {"q": 0.3},
    "repeat": {"repeats": 2, "axis": 1},
    "split": {"indices_or_sections": 2, "axis": 1},
    "swapaxes": {"axis1": 0, "axis2": 1},
    "take": {"indices": [0, 1], "axis": 1},
    "take_along_axis": {"indices": np.zeros((1, 4), int), "axis": 0},
    "tile": {"reps": (2, 1)},
}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_functions_themselves_take_numpys_names(name: str) -> None:
    check(lambda xp, a: getattr(xp, name)(a, **BY_NAME[name]), A)


def test_where_two_arrays_meet() -> None:
    values, first, second = numpy.intersect1d(lz.array(I), lz.array([1, 3, 9]), return_indices=True)
    expected = np.intersect1d(I, [1, 3, 9], return_indices=True)
    for one, other in zip((values, first, second), expected, strict=True):
        assert one.shape == (None,)
        np.testing.assert_array_equal(one.compute(), other)


def test_what_has_no_lazy_form_is_refused_by_name() -> None:
    x = lz.array(A)
    with pytest.raises(TypeError, match=r"np\.sort with order= has no lazy form"):
        np.sort(x, order="name")
    with pytest.raises(TypeError, match=r"np\.std with mean= has no lazy form"):
        np.std(x, axis=0, mean=np.zeros((1, 4)))


def test_what_needs_no_values_is_told() -> None:
    x = lz.Variable((3, 4), dtype="f4")
    assert np.shape(x) == (3, 4)
    assert np.ndim(x) == 2
    assert np.size(x) == 12
    assert np.result_type(x, np.float64) == np.float64
    assert lz.can_cast(x, "f8")


GENERAL: dict[str, Callable[[Any], Any]] = {
    "apply_along_axis": lambda a: np.apply_along_axis(lambda row: row[:2] * 2, 0, a),
    "apply_over_axes": lambda a: np.apply_over_axes(lambda x, axis: x.sum(axis=axis), a, [0]),
}


@pytest.mark.parametrize("name", GENERAL)
def test_a_function_that_nobody_knows_stays_lazy(name: str) -> None:
    built = GENERAL[name](lz.array(A))
    assert isinstance(built, Node)
    np.testing.assert_allclose(compute(built), GENERAL[name](A))
    shaped = lz.asarray(built, shape=np.shape(GENERAL[name](A)), dtype="f8")
    np.testing.assert_allclose(shaped.sum().compute(), GENERAL[name](A).sum())


def test_functions_of_one_name_are_not_taken_for_each_other() -> None:
    below = np.array([-1.0, 4.0])
    np.testing.assert_array_equal(compute(np.emath.sqrt(lz.array(below))), [1j, 2])
    words = np.array(["a-b", "c-d"])
    np.testing.assert_array_equal(compute(np.strings.count(lz.array(words), "-")), [1, 1])
    assert compute(np.strings.multiply(lz.array(words), 2)).tolist() == ["a-ba-b", "c-dc-d"]


def test_nothing_becomes_an_array_of_objects() -> None:
    x = lz.Variable((3,), dtype="f8")
    with pytest.raises(TypeError):
        np.array([x, x])
    with pytest.raises(TypeError):
        np.asarray(x)
    with pytest.raises(TypeError):
        np.vectorize(abs)(x)
    with pytest.raises(TypeError):
        lz.array([object()])


def test_other_libraries_on_the_left() -> None:
    x = lz.array(np.arange(3.0))
    built = pd.Series([1, 2, 3]) * x
    assert isinstance(built, Node)
    np.testing.assert_array_equal(np.asarray(compute(built)), [0, 2, 6])


def test_tables_on_either_side_make_expressions() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    x = lz.array(np.arange(3.0).reshape(3, 1))
    pairs: list[tuple[Any, Any]] = [
        (frame + x, frame + x.compute()),
        (x - frame, x.compute() - frame),
        (frame < x, frame < x.compute()),
        (x.T @ frame, x.compute().T @ frame),
        (x @ sparse.csr_array(np.eye(1)), x.compute()),
        (divmod(x, computed(4.0) + 1)[1], x.compute() % 5),
    ]
    for built, expected in pairs:
        assert isinstance(built, Node)
        np.testing.assert_array_equal(compute(built), expected)
    with pytest.raises(TypeError, match=r"np\.equal"):
        x == frame  # noqa: B015


UNLIKE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "None": (lambda a: a == None, A),  # noqa: E711
    "not None": (lambda a: a != None, A),  # noqa: E711
    "a word": (lambda a: a == "a", A),
    "not a word": (lambda a: a != "a", A),
    "a date": (lambda a: a == np.array(["2020"], "M8[Y]"), A),
    "of dates": (lambda a: a != 1.5, np.array(["2020", "2021"], "M8[Y]")),
    "of words": (lambda a: a == "bb", np.array(["a", "bb"])),
    "order of words": (lambda a: a < "b", np.array(["a", "bb"])),
    "words joined": (lambda a: a + "c", np.array(["a", "bb"])),
    "order of a word and numbers": (lambda a: a < "a", A),
    "by the function": (lambda a: np.equal(a, "a"), A),
    "shapes": (lambda a: a == np.ones(7), A),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_numbers_compare_with_what_is_no_number_as_in_numpy(name: str) -> None:
    function, data = UNLIKE[name]
    check(lambda xp, a: function(a), data)


def test_integers_that_do_not_fit_what_they_are_taken_as() -> None:
    with pytest.raises(OverflowError, match="int32"):
        lz.ldexp(lz.array(A), 2**40)
    with pytest.raises(OverflowError, match="uint8"):
        lz.floor_divide(lz.array(I.astype("u1")), 300)
    with pytest.raises(OverflowError, match="uint8"):
        np.divmod(lz.array(I.astype("u1")), 300)
    check(lambda xp, a: xp.nan_to_num(a, nan=-0.0, posinf=a[0, 0]), np.array([[2.0, np.nan], [np.inf, 1.0]]))


def test_masked_arrays_on_either_side() -> None:
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    x = lz.array(np.arange(3.0))
    for built in (masked + x, x + masked, np.add(masked, x)):
        assert isinstance(built, lz.LazyArray)
        value = built.compute()
        assert value.tolist() == [1.0, None, 5.0]


def test_meeting_general_expressions() -> None:
    x = lz.array(np.arange(3.0))
    e = lazy(2) + 1
    for built in (x + e, e + x, e * x, np.add(x, e), np.where(x > 1, x, e)):
        assert isinstance(built, Node)
    np.testing.assert_array_equal(compute(e * x), [0, 3, 6])
    np.testing.assert_array_equal(compute(x - e), [-3, -2, -1])
    np.testing.assert_array_equal(compute(computed(np.ones(3)) + x), [1, 2, 3])


def test_methods() -> None:
    def run(a: Any) -> list[Any]:
        return [
            a.sum(axis=0), a.mean(), a.std(axis=1), a.max(), a.argmin(axis=0), a.reshape(4, 3), a.reshape((2, -1)),
            a.transpose(), a.transpose(1, 0), a.ravel(), a.flatten(), a.astype("f4"), a.clip(1, 2), a.round(1),
            a.cumsum(axis=1), a.dot(a.T), a.diagonal(), a.trace(), a.take([0, 1], axis=1), a.swapaxes(0, 1),
            a.squeeze(), a.repeat(2), a.prod(), (a > 1).all(), (a > 1).any(axis=0), a.conj(), a.var(), abs(-a), +a,
            a.copy(), a.T, a.real, a.argsort(), a.min(axis=0, keepdims=True),
        ]  # fmt: skip

    check(lambda xp, a: run(a), A)
    check(lambda xp, a: [~a, a << 1, a & 3, a ^ 1, a // 2, a % 3, -a], I)


def test_methods_that_pick() -> None:
    check(lambda xp, a: [a.argpartition(1, axis=1), a.copy("F")], A)
    check(lambda xp, a: a.choose([a + 1, a + 2]), (I > 2).astype(int))
    x = lz.array(A)
    np.testing.assert_array_equal(x.compress([1, 0, 1], axis=0).compute(), A.compress([1, 0, 1], axis=0))
    with pytest.raises(NotComputedError):
        x.item(0)


def test_namespace() -> None:
    x = lz.Variable((3,))
    assert x.__array_namespace__() is lz
    with pytest.raises(ValueError, match="version"):
        x.__array_namespace__(api_version="1999.01")
    assert x.__array_namespace__(api_version="2025.12") is lz
    info = lz.__array_namespace_info__()
    with pytest.raises(ValueError, match="device"):
        info.default_dtypes(device="cuda")
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert lz.finfo(lz.float32).eps == np.finfo("f4").eps
    assert lz.result_type(lz.int8, lz.uint8) == np.int16
    assert lz.result_type(lz.Variable((2,), dtype="i1"), 2.5) == np.float64
    assert lz.isdtype(lz.float32, "real floating")


@pytest.mark.parametrize("name", lz.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    value = getattr(lz, name)
    assert not callable(value) or value.__doc__
