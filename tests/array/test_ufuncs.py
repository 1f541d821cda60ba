"""Every ufunc of numpy and scipy, and every method of one: shape and dtype before computing, values after."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import lazycache.array as lz
from lazycache import key
from lazycache.array.functions import UfuncMethod
from lazycache.errors import NotComputedError, UnhashableError
from tests.array.helpers import check

# Roots of negative numbers, and scipy's poles.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")


def ufuncs_of(module: Any) -> list[np.ufunc]:
    found = (getattr(module, name) for name in dir(module))
    return sorted({one for one in found if isinstance(one, np.ufunc)}, key=lambda one: one.__name__)


NUMPY = ufuncs_of(np)
# These loop for ever on some numbers.
ENDLESS = (special.obl_cv, special.obl_rad1, special.obl_rad2, special.pro_cv)
SCIPY = [one for one in ufuncs_of(special) if one not in ENDLESS]
PLAIN = [one for one in (*NUMPY, *SCIPY) if one.signature is None]
BINARY = [one for one in PLAIN if one.nin == 2 and one.nout == 1]
DTYPES = ["?", "i1", "u4", "i8", "u8", "f2", "f4", "f8", "F", "D", "M8[s]", "m8[ms]"]


def sample(dtype: str, shape: tuple[int, ...] = (2, 3), ufunc: np.ufunc | None = None) -> Any:
    if ufunc in SCIPY:
        # Some of these take long to converge elsewhere.
        return np.ones(shape, int).astype(dtype)
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


def name_of(ufunc: np.ufunc) -> str:
    return ufunc.__name__ if ufunc in NUMPY else f"special.{ufunc.__name__}"


@pytest.mark.parametrize("ufunc", PLAIN, ids=name_of)
def test_dtypes_are_those_of_the_type_resolver(ufunc: np.ufunc) -> None:
    for dtype, other in zip(DTYPES, [*DTYPES[1:], "i2"], strict=True):
        for rest in {dtype, other, "i4"}:
            arrays = [sample(dtype, ufunc=ufunc), *[sample(rest, (3,), ufunc) for _ in range(ufunc.nin - 1)]]
            check(lambda xp, *args: ufunc(*args), *arrays)


@pytest.mark.parametrize("ufunc", PLAIN, ids=name_of)
def test_shapes(ufunc: np.ufunc) -> None:
    dtype = "M8[s]" if ufunc is np.isnat else "i8" if "ll->l" in ufunc.types or "l->l" in ufunc.types else "f8"
    for shape, rest in (((), ()), ((0, 3), (1,)), ((2, 1), (3,)), ((2, 3), (4,)), ((1,), (0,))):
        arrays = [sample(dtype, shape, ufunc), *[sample(dtype, rest, ufunc) for _ in range(ufunc.nin - 1)]]
        check(lambda xp, *args: ufunc(*args), *arrays)


@pytest.mark.parametrize("ufunc", BINARY, ids=name_of)
@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
def test_what_runs_along_an_axis(method: str, ufunc: np.ufunc) -> None:
    def run(xp: Any, x: Any, **options: Any) -> Any:
        places = ([0, 1, 0],) if method == "reduceat" else ()
        return getattr(ufunc, method)(x, *places, **options)

    for dtype in DTYPES:
        x = sample(dtype, (3, 2), ufunc)
        for asked in (None, "f4", "i8", "D", "?"):
            check(lambda xp, a, to=asked: run(xp, a, dtype=to), x)
    x = sample("i8" if "ll->l" in ufunc.types else "f8", (2, 3, 2), ufunc)
    for axis in (1, -1, None, (0,), (0, 1), (), 3, (0, 0)):
        check(lambda xp, a, along=axis: run(xp, a, axis=along), x)
    for empty in (x[:0], x[:, :0], x.reshape(-1)[:1].reshape(()), x[:0, :0]):
        check(lambda xp, a: run(xp, a, axis=-1), empty)
        check(run, empty)


@pytest.mark.parametrize("ufunc", BINARY, ids=name_of)
def test_options_of_reductions(ufunc: np.ufunc) -> None:
    x = sample("i8" if "ll->l" in ufunc.types else "f8", (2, 3), ufunc)
    keep = np.array([True, False, True])
    for options in (
        {"keepdims": True},
        {"initial": 3},
        {"initial": None},
        {"where": True},
        {"axis": None, "keepdims": True},
        {"initial": 2, "keepdims": True, "axis": 1},
    ):
        check(lambda xp, a, given=options: ufunc.reduce(a, **given), x)
        check(lambda xp, a, given=options: ufunc.reduce(a, **given), x[:0])
    check(lambda xp, a, mask: ufunc.reduce(a, axis=1, where=mask), x, keep)
    check(lambda xp, a, mask: ufunc.reduce(a, axis=1, where=mask, initial=1), x, keep)
    check(lambda xp, a, mask: ufunc.reduce(a, where=mask), x, np.ones(4, bool))


@pytest.mark.parametrize("ufunc", [one for one in PLAIN if one.nin == 2], ids=name_of)
def test_outer(ufunc: np.ufunc) -> None:
    dtype = "i8" if "ll->l" in ufunc.types else "f8"
    for left, right in (((2, 3), (2,)), ((), (3,)), ((0,), (2, 1)), ((2,), ())):
        check(lambda xp, a, b: ufunc.outer(a, b), sample(dtype, left, ufunc), sample(dtype, right, ufunc))
    check(lambda xp, a: ufunc.outer(a, [1, 2]), sample("f4", (3,)))
    check(lambda xp, a: ufunc.outer(a, 2), sample("i2", (3,)))
    check(lambda xp, a: ufunc.outer(a, a, dtype="f4"), sample("f4", (3,)))


PLACES: list[Any] = [[], [0], [1, 1, 0], np.array([2]), [3], [-1], [[0]], 1, np.array([], int)]


@pytest.mark.parametrize("places", PLACES, ids=repr)
def test_places_of_reduceat(places: Any) -> None:
    for axis in (0, 1):
        check(lambda xp, a, along=axis: np.add.reduceat(a, places, axis=along), sample("i1", (3, 2)))
    check(lambda xp, a: np.maximum.reduceat(a, places), sample("f4", (0, 2)))


def test_lazy_places_of_reduceat() -> None:
    x = sample("f8", (4, 2))
    places = np.array([0, 2, 1])
    check(lambda xp, a, at: np.add.reduceat(a, at), x, places)
    check(lambda xp, a, at: np.add.reduceat(x, at, axis=0), x, places)
    built: Any = np.add.reduceat(lz.array(x), lz.array(places) * 1)
    np.testing.assert_array_equal(built.compute(), np.add.reduceat(x, places))


@pytest.mark.parametrize("ufunc", [np.sin, np.divmod, np.matmul, np.frexp], ids=name_of)
@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat", "outer"])
def test_methods_that_a_ufunc_has_not(ufunc: np.ufunc, method: str) -> None:
    def run(xp: Any, a: Any) -> Any:
        return getattr(ufunc, method)(a, *(([0],) if method == "reduceat" else (a,) if method == "outer" else ()))

    if ufunc is np.matmul and method != "outer":
        with pytest.raises(RuntimeError, match="signature"):
            run(lz, lz.array(sample("f8")))
    else:
        check(run, sample("f8"))


def test_nothing_is_changed_in_place() -> None:
    x: Any = lz.Variable((3,), dtype="f8")
    out: Any
    with pytest.raises(NotComputedError):
        np.add.at(x, [0], 1)
    with pytest.raises(NotComputedError):
        np.add.at(np.zeros(3), [0], x[0])
    for out in (np.zeros(3), x):
        with pytest.raises(TypeError, match="out="):
            np.add(x, 1, out=out)
        with pytest.raises(TypeError, match="out="):
            np.add.accumulate(x, out=out)
    assert np.add(x, 1, out=None).shape == (3,)
    assert np.add.reduce(x, out=None).shape == ()


ADD: Any = np.add
SIN: Any = np.sin

OPTIONS: dict[str, Callable[[Any], Any]] = {
    "dtype": lambda a: np.add(a, 1, dtype="f4"),
    "dtype integer": lambda a: np.add(a, a, dtype="i8", casting="unsafe"),
    "dtype refused": lambda a: np.add(a, a, dtype="i8"),
    "casting": lambda a: np.sin(a, casting="no"),
    "casting safe": lambda a: np.add(a, 1, casting="safe", dtype="f4"),
    "signature": lambda a: np.add(a, a, signature="dd->d"),
    "signature dtypes": lambda a: SIN(a, signature=(None, np.float32)),
    "no loop": lambda a: np.bitwise_and(a, a),
    "order": lambda a: np.add(a, 1, order="F"),
    "parts": lambda a: np.frexp(a, dtype="f4") if a.dtype != np.int8 else np.modf(a, dtype="f4"),
    "subok": lambda a: np.add(a, 1, subok=False),
    "unknown": lambda a: ADD(a, 1, nonsense=1),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "D"])
def test_options_of_calls(dtype: str, name: str) -> None:
    check(lambda xp, a: OPTIONS[name](a), sample(dtype))


IN_A_DTYPE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda xp, a: xp.add(a, a, dtype="f4"),
    "add numbers": lambda xp, a: xp.add(a, 2.5, dtype="i8"),
    "add lists": lambda xp, a: xp.add([1, 2], [3, 4], dtype=a.dtype),
    "sin": lambda xp, a: xp.sin(a, dtype="D"),
    "abs": lambda xp, a: xp.abs(a, dtype="f8"),
    "less": lambda xp, a: xp.less(a, 1, dtype=bool),
    "bitwise_and": lambda xp, a: xp.bitwise_and(a, 1, dtype="i8"),
}


@pytest.mark.parametrize("name", IN_A_DTYPE)
@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "D"])
def test_functions_of_the_namespace_compute_in_the_dtype_that_is_asked_for(dtype: str, name: str) -> None:
    check(IN_A_DTYPE[name], sample(dtype))


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "unsafe"])
@pytest.mark.parametrize(
    "ufunc", [np.add, np.power, np.less, np.logical_and, np.ldexp, np.divide], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("number", [2, 2.5, 2j, True, -1, 300, 2**63, 10**20, 10**400])
@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "u8", "f4", "f8", "D", "G", "m8[s]"])
def test_numbers_under_a_casting_rule(dtype: str, number: Any, ufunc: np.ufunc, casting: Any) -> None:
    # Where it refuses a number under the rule "equiv", numpy's own resolve_dtypes ends the process.
    check(lambda xp, a: ufunc(a, number, casting=casting), np.ones(2, dtype))
    check(lambda xp, a: ufunc(number, a, casting=casting), np.ones(2, dtype))


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, -(2**63) - 1, 10**400])
@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f8", "G", "m8[s]"])
def test_integers_beyond_what_they_are_compared_with(dtype: str, number: int) -> None:
    for compared in (np.less, np.equal, np.logical_or, np.maximum):
        check(lambda xp, a, compared=compared: compared(a, number), np.ones(2, dtype))


GENERAL = [one for one in NUMPY if one.signature is not None]
CORE_OPTIONS: list[dict[str, Any]] = [
    {},
    {"axis": 0},
    {"axis": -1},
    {"axis": 5},
    {"keepdims": True},
    {"axis": 0, "keepdims": True},
    {"axes": [(1, 2), 0, 1]},
    {"axes": [(-1, -2), (-2, -1), (0, 1)]},
    {"axes": [0, 1]},
    {"axes": [(0,), (0,), ()]},
    {"axes": [0, 0, 0], "keepdims": True},
    {"axes": [(0, 0), (0, 1), (0, 1)]},
    {"axes": (0, 0)},
    {"axis": 0, "axes": [0, 0]},
    {"dtype": "f4"},
]
CORE_SHAPES = [(), (3,), (2, 3), (3, 2), (4, 2, 3), (5, 1, 3), (0, 3), (3, 0), (1, 3)]


@pytest.mark.parametrize("ufunc", GENERAL, ids=name_of)
@pytest.mark.parametrize("options", CORE_OPTIONS, ids=str)
def test_generalized_ufuncs(options: dict[str, Any], ufunc: np.ufunc) -> None:
    for left, right in itertools.product(CORE_SHAPES, repeat=2):
        check(lambda xp, a, b: ufunc(a, b, **options), sample("f4", left), sample("i2", right))


def test_ufuncs_of_users() -> None:
    double: Any = np.frompyfunc(lambda value: value * 2, 1, 1)
    pair: Any = np.frompyfunc(divmod, 2, 2)
    x = lz.array(np.arange(3))
    assert (double(x).shape, double(x).dtype) == ((3,), np.dtype(object))
    assert double(x).compute().tolist() == [0, 2, 4]
    assert [part.compute().tolist() for part in pair(x, 2)] == [[0, 0, 1], [0, 1, 0]]


def test_ufuncs_of_one_name_have_keys_of_their_own() -> None:
    x = lz.array(np.arange(3.0))
    assert key(np.exp2(x, dtype="f4")) != key(special.exp2(x, dtype="f4"))
    assert key(special.exp2(x)) == key(special.exp2(x))
    assert key(np.frexp(x)[0]) != key(np.frexp.__call__(x)[1])
    for increment in (1, 2):
        with pytest.raises(UnhashableError, match="vectorized"):
            key(np.frompyfunc(lambda value, by=increment: value + by, 1, 1)(x))


def test_a_ufunc_is_asked_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, args: Any, kwargs: Any) -> Any:
        raise AssertionError(f"{self.name} was called")

    monkeypatch.setattr(UfuncMethod, "call", refuse)
    x = lz.Variable((2**20, 2**20), "numpy", "f8")
    assert np.hypot.reduceat(x, [0, 5], axis=1).shape == (2**20, 2)
    assert np.fmod.accumulate(x).shape == x.shape
    assert np.matvec(x, x).shape == (2**20, 2**20)
    assert np.subtract.outer(x, x).shape == (2**20,) * 4
    assert special.erf(x).shape == x.shape
