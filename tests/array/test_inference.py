"""Inferring never computes and never allocates: stand-ins of 2**40 elements, and a backend that refuses to work."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache.array import backends, functions
from lazycache.array.table import TABLE

BIG = 2**40
HALF = 2**20


class Idle(types.ModuleType):
    """A backend each of whose functions raises."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def work(*args: Any, **kwargs: Any) -> Any:
            raise AssertionError(f"{name} was called on data")

        return work


@pytest.fixture(autouse=True)
def idle_backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "numpy_idle", Idle("numpy_idle"))
    monkeypatch.setattr(backends, "NUMPY_RULES", backends.NUMPY_RULES | {"numpy_idle"})
    monkeypatch.setattr(functions.ArrayFunction, "call", _refuse)
    yield


def _refuse(self: Any, args: Any, kwargs: Any) -> Any:
    raise AssertionError(f"{self.name} was called")


def big(*shape: int | None, dtype: Any = "f8") -> Any:
    return lz.Variable(shape, "numpy", dtype)


X = big(HALF, HALF)
INDEX = big(7, dtype="i8")
CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "add": (lambda: X + X, (HALF, HALF)),
    "outer": (lambda: big(BIG)[:, None] * big(BIG), (BIG, BIG)),
    "matmul": (lambda: X @ X.T, (HALF, HALF)),
    "sum": (lambda: X.sum(axis=-1, keepdims=True), (HALF, 1)),
    "std": (lambda: X.std(axis=0), (HALF,)),
    "cumsum": (lambda: lz.cumsum(X), (BIG,)),
    "slice": (lambda: X[::-3, 5:], (-(-HALF // 3), HALF - 5)),
    "index array": (lambda: X[INDEX, :, None], (7, HALF, 1)),
    "list": (lambda: X[[[1], [2]], [0, -1, 5]], (2, 3)),
    "mask": (lambda: X[X > 0], (None,)),
    "reshape": (lambda: X.reshape(2, -1, HALF), (2, HALF // 2, HALF)),
    "concat": (lambda: lz.concat([X, X]), (2 * HALF, HALF)),
    "stack": (lambda: lz.stack([X, X], axis=1), (HALF, 2, HALF)),
    "repeat": (lambda: lz.repeat(X, 3), (3 * BIG,)),
    "tile": (lambda: lz.tile(X, (2, 1, 1)), (2, HALF, HALF)),
    "pad": (lambda: lz.pad(X, 1), (HALF + 2, HALF + 2)),
    "where": (lambda: lz.where(X > 0, X, 0), (HALF, HALF)),
    "einsum": (lambda: lz.einsum("ij,jk,kl->il", X, X, X), (HALF, HALF)),
    "tensordot": (lambda: lz.tensordot(X, X, axes=0), (HALF,) * 4),
    "kron": (lambda: lz.kron(X, X), (BIG, BIG)),
    "trace": (lambda: lz.trace(X), ()),
    "svd": (lambda: lz.linalg.svd(X)[0], (HALF, HALF)),
    "solve": (lambda: lz.linalg.solve(X, X), (HALF, HALF)),
    "fft": (lambda: lz.fft.rfft(X), (HALF, HALF // 2 + 1)),
    "sort": (lambda: lz.sort(X), (HALF, HALF)),
    "argmax": (lambda: X.argmax(), ()),
    "searchsorted": (lambda: lz.searchsorted(big(BIG), X), (HALF, HALF)),
    "nonzero": (lambda: lz.nonzero(X)[0], (None,)),
    "zeros": (lambda: lz.zeros((BIG,)), (BIG,)),
    "eye": (lambda: lz.eye(HALF), (HALF, HALF)),
    "arange": (lambda: lz.arange(BIG), (BIG,)),
    "random": (lambda: lz.random.normal(1, size=BIG), (BIG,)),
    "broadcast_to": (lambda: lz.broadcast_to(big(1), (BIG,)), (BIG,)),
    "astype": (lambda: X.astype("i4"), (HALF, HALF)),
    "nanmean": (lambda: np.nanmean(X, axis=1), (HALF,)),
    "select": (lambda: np.select([X > 0], [X], 1), (HALF, HALF)),
    "interp": (lambda: np.interp(X, big(BIG), big(BIG)), (HALF, HALF)),
    "gradient": (lambda: np.gradient(X)[1], (HALF, HALF)),
    "trapezoid": (lambda: np.trapezoid(X, big(HALF), axis=0), (HALF,)),
    "convolve": (lambda: np.convolve(big(BIG), big(BIG)), (2 * BIG - 1,)),
    "cov": (lambda: np.cov(X), (HALF, HALF)),
    "histogram": (lambda: np.histogram(X, 12)[0], (12,)),
    "block": (lambda: np.block([[X, X], [X, X]]), (2 * HALF, 2 * HALF)),
    "delete": (lambda: np.delete(X, slice(3, None, 2)), (BIG - (BIG - 3 + 1) // 2,)),
    "unravel_index": (lambda: np.unravel_index(big(BIG, dtype="i8"), (HALF, HALF))[0], (BIG,)),
    "np.unique": (lambda: np.unique(X), (None,)),
    "np.sin": (lambda: np.sin(X), (HALF, HALF)),
    "np.concatenate": (lambda: np.concatenate([X, X], axis=1), (HALF, 2 * HALF)),
    "np.add.reduce": (lambda: np.add.reduce(X), (HALF,)),
    "np.frexp": (lambda: np.frexp(X)[1], (HALF, HALF)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stand_in_of_any_size(name: str) -> None:
    build, shape = CASES[name]
    built = build()
    assert built.shape == shape
    assert built.dtype is not None


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_elementwise_functions_do_not_compute(row: Any) -> None:
    x = big(BIG, dtype="M8[s]" if row.name == "isnat" else "i8")
    try:
        built = getattr(lz, row.name)(*(x,) * row.ufunc.nin)
    except TypeError:
        pytest.fail(f"{row.name} refuses what numpy takes")
    assert built.shape == (BIG,)


def test_the_idle_backend_is_asked_for_nothing() -> None:
    x = lz.Variable((BIG,), "numpy_idle", "f4")
    built = lz.linalg.norm(lz.sin(x)[::2] + 1, axis=0)
    assert (built.shape, built.backend) == ((), "numpy_idle")


def test_a_size_that_is_not_known_stays_so() -> None:
    part = X[X > 0]
    assert (part + 1).shape == (None,)
    assert part.size is None
    assert part.nbytes is None
    assert (part.reshape(-1, 2)).shape == (None, 2)
    assert lz.concat([part, part]).shape == (None,)
    assert part.sum().shape == ()
    assert (part[:, None] * big(1, 3)).shape == (None, 3)


def test_a_dtype_that_is_not_known_stays_so() -> None:
    x = lz.Variable((3,))
    assert x.dtype is None
    assert (x + 1).dtype is None
    assert (x > 1).dtype == bool
    assert x.argmax().dtype == np.intp
    assert x.astype("f4").dtype == np.float32
    assert x.to(np.sin).dtype is None
    assert big(3).to(np.sin).dtype is None
