"""Every function of numpy that dispatches to lazy arrays: shape and dtype before computing, or numpy's error.

A function that is new in numpy has to be put into `CASES`, or in one of the
lists beside it that say why it has no rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache.array.functions import ArrayFunction, UfuncMethod
from lazycache.errors import NotComputedError
from lazycache.expressions.numpy_protocols import NEEDS_VALUES
from tests.array.dispatch_cases import CASES
from tests.array.helpers import check

# Means of nothing, the covariance of one observation, fits through too few points, and numpy's wish for other names.
pytestmark = pytest.mark.filterwarnings(
    "ignore::RuntimeWarning", "ignore::DeprecationWarning", "ignore::numpy.exceptions.RankWarning"
)

RNG = np.random.default_rng(11)
ARRAYS: dict[str, Any] = {
    "matrix": RNG.normal(size=(3, 4)),
    "vector": RNG.normal(size=5),
    "square": RNG.normal(size=(3, 3)) + 4 * np.eye(3),
    "cube": RNG.normal(size=(2, 3, 4)).astype("f4"),
    "half": RNG.normal(size=4).astype("f2"),
    "integers": RNG.integers(0, 3, (3, 4)),
    "places": np.array([1, 0, 2, 1]),
    "bytes": RNG.integers(0, 3, (2, 3)).astype("u1"),
    "truths": RNG.integers(0, 2, (3, 4)).astype(bool),
    "complex": (RNG.normal(size=(2, 2)) + 1j).astype("F"),
    "no rows": np.zeros((0, 4)),
    "no columns": np.zeros((3, 0), "i4"),
    "nothing": np.zeros(0),
    "one": np.array([0.5]),
    "one by one": np.array([[2.0]]),
    "number": np.array(0.5),
    "integer": np.array(1),
    "days": np.array(["2024-02-29", "2024-03-01", "2024-03-02"], "M8[D]"),
}


def dispatched(module: Any) -> dict[str, Any]:
    found = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return {name: one for name, one in found.items() if isinstance(one, type(np.sum))}


def named(prefix: str, module: Any) -> dict[str, Any]:
    return {prefix + name: function for name, function in dispatched(module).items()}


FUNCTIONS = {**named("", np), **named("linalg.", np.linalg), **named("fft.", np.fft)}

# Functions whose results have sizes or dtypes that depend on values; what is known of them is compared all the same.
DEPEND_ON_VALUES = {
    "argwhere", "bincount", "compress", "delete", "extract", "flatnonzero", "histogram", "histogram_bin_edges",
    "insert", "intersect1d", "ix_", "linalg.eig", "linalg.eigvals", "linalg.lstsq", "nonzero", "poly", "polydiv",
    "polyfit", "polymul", "real_if_close", "repeat", "roots", "setdiff1d", "setxor1d", "trim_zeros", "union1d",
    "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "where",
}  # fmt: skip

# Functions that answer at once, from shapes and dtypes.
TOLD = {
    "can_cast", "common_type", "einsum_path", "iscomplexobj", "isrealobj", "min_scalar_type", "ndim", "result_type",
    "shape", "size",
}  # fmt: skip

# What numpy refuses because of values, takes apart before it dispatches, or gives to what is no polynomial.
BESIDE_THE_POINT = {
    ("linalg.cholesky", "complex"), ("poly", "nothing"), ("polydiv", "one by one"), ("roots", "half"),
    ("roots", "nothing"),
}  # fmt: skip


def test_every_function_of_numpy_has_a_case_or_a_reason() -> None:
    waits = {name for name, function in FUNCTIONS.items() if function in NEEDS_VALUES}
    assert set(CASES) | waits == set(FUNCTIONS)
    assert not set(CASES) & waits
    assert set(CASES) >= DEPEND_ON_VALUES | TOLD


@pytest.mark.parametrize("name", sorted(set(CASES) - TOLD))
def test_a_function_gives_what_numpy_gives(name: str) -> None:
    for case in CASES[name]:
        for label, array in ARRAYS.items():
            if (name, label) in BESIDE_THE_POINT:
                continue
            try:
                check(lambda xp, a, call=case: call(a), array, exact=name not in DEPEND_ON_VALUES)
            except Exception as error:
                error.add_note(f"{name}, case {CASES[name].index(case)}, of {label}")
                raise


@pytest.mark.parametrize("name", sorted(TOLD))
def test_what_needs_no_values_is_told(name: str) -> None:
    for case in CASES[name]:
        for array in ARRAYS.values():
            try:
                expected = case(array)
            except (ValueError, TypeError, IndexError) as error:
                with pytest.raises((type(error), IndexError)):
                    case(lz.array(array))
                continue
            if name == "min_scalar_type" and not array.shape:
                with pytest.raises(NotComputedError):
                    case(lz.array(array))
            else:
                assert case(lz.array(array)) == expected


@pytest.mark.parametrize("name", sorted(name for name, one in FUNCTIONS.items() if one in NEEDS_VALUES))
def test_what_cannot_wait_says_so(name: str) -> None:
    x = lz.array(np.arange(3.0))
    arguments: dict[str, tuple[Any, ...]] = {
        "copyto": (np.zeros(3), x),
        "fill_diagonal": (x, 1),
        "may_share_memory": (x, x),
        "place": (np.zeros(3), x, [1]),
        "put": (np.zeros(3), [0], x),
        "put_along_axis": (np.zeros(3), np.array([0]), x, 0),
        "putmask": (np.zeros(3), x, 1),
        "save": ("never-made", x),
        "savetxt": ("never-made", x),
        "savez": ("never-made", x),
        "savez_compressed": ("never-made", x),
        "shares_memory": (x, x),
    }
    with pytest.raises(NotComputedError):
        FUNCTIONS[name](*arguments.get(name, (x,)))


STAND_INS = {
    "wide": lz.Variable((3, 2**40), "numpy", "f8"),
    "long": lz.Variable((2**40,), "numpy", "f8"),
    "square": lz.Variable((2**20, 2**20), "numpy", "f4"),
    "cube": lz.Variable((2, 2, 2**40), "numpy", "f8"),
    "places": lz.Variable((3, 2**40), "numpy", "i8"),
    "long places": lz.Variable((2**40,), "numpy", "i8"),
    "bytes": lz.Variable((3, 2**40), "numpy", "u1"),
    "days": lz.Variable((2**40,), "numpy", "M8[D]"),
}

# Of these every row becomes an array before they are called.
TAKE_ROWS = {"lexsort", "piecewise", "poly", "ravel_multi_index", "roots", "unstack"}

# These are called above with arrays of sizes of their own.
NEED_SIZES = {"broadcast_to", "cross", "linalg.cross", "linalg.solve", "linalg.tensorsolve"}


@pytest.mark.parametrize("name", sorted(set(CASES) - TAKE_ROWS))
def test_stand_ins_of_any_size_are_neither_computed_nor_allocated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, args: Any, kwargs: Any) -> Any:
        raise AssertionError(f"{self.name} was called")

    monkeypatch.setattr(ArrayFunction, "call", refuse)
    monkeypatch.setattr(UfuncMethod, "call", refuse)
    built = 0
    for case in CASES[name]:
        for stand_in in STAND_INS.values():
            try:
                case(stand_in)
            except (ValueError, TypeError, IndexError, OverflowError, np.linalg.LinAlgError):
                # Of this shape or dtype numpy refuses it.
                continue
            built += 1
    assert built or name in NEED_SIZES
