"""What becomes a lazy array, and whether it is what was said of it."""

from __future__ import annotations

import array as buffers
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import xarray as xr
import zarr

import lazycache.array as lz
from lazycache import Cache, cache, compute, computed, key, pure
from tests.array.helpers import compare

DATA = np.arange(5.0)
LOOK_ALIKES: dict[str, Callable[[], Any]] = {
    "pandas series": lambda: pd.Series(DATA),
    "pandas index": lambda: pd.Index(DATA),
    "pandas array": lambda: pd.array(DATA),
    "polars series": lambda: pl.Series(DATA),
    "xarray": lambda: xr.DataArray(DATA),
    "zarr": lambda: zarr.create_array(zarr.storage.MemoryStore(), data=DATA),
}
look_alikes = pytest.mark.parametrize("make", LOOK_ALIKES.values(), ids=LOOK_ALIKES)


def value_of(x: Any) -> Any:
    return x


@look_alikes
def test_what_other_libraries_hold_becomes_an_array_of_numpy(make: Callable[[], Any]) -> None:
    x = lz.array(make())
    assert (x.shape, x.dtype, x.backend) == ((5,), np.float64, "numpy")
    assert x.sum().compute() == 10
    assert lz.fft.rfft(x).compute().shape == (3,)


@look_alikes
def test_operators_give_arrays_with_what_other_libraries_hold(make: Callable[[], Any]) -> None:
    for other in (make(), computed(make())):
        built = lz.ones(5) * 2 + other
        assert (built.shape, built.dtype, built.backend) == ((5,), np.float64, "numpy")
        for value in (compute(built), cache(built)):
            assert type(value) is np.ndarray
            np.testing.assert_array_equal(value, DATA + 2)


@look_alikes
def test_the_value_of_an_expression_becomes_an_array(make: Callable[[], Any]) -> None:
    x = lz.asarray(pure(version=1)(value_of)(computed(make())), shape=(5,), dtype="f8")
    np.testing.assert_array_equal(compute(x * 2), DATA * 2)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_the_matrices_of_numpy_become_arrays() -> None:
    matrix = np.asmatrix(np.diag([1.0, 2.0]))
    for x in (lz.array(matrix), lz.asarray(computed(matrix)[:], shape=(2, 2))):
        product = compute(x * np.ones((2, 2)))
        assert type(product) is np.ndarray
        np.testing.assert_array_equal(product, np.diag([1.0, 2.0]))


def test_a_mask_stays_where_it_is() -> None:
    masked = np.ma.masked_array(DATA, mask=DATA > 3)
    assert compute(lz.array(masked).sum()) == 6
    assert compute(lz.asarray(computed(masked)[:], shape=(5,)).sum()) == 6


REFUSED: dict[str, Any] = {
    "sparse": scipy.sparse.csr_array(np.eye(3)),
    "texts": pd.Series(["a", "b", None]),
    "dict": {"a": 1},
    "none": None,
    "objects": np.array([1, "a", None], dtype=object),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_array_is_refused_with_advice(name: str) -> None:
    with pytest.raises(TypeError, match="computed"):
        lz.array(REFUSED[name])


def test_a_sparse_matrix_stands_among_the_other_expressions() -> None:
    hamiltonian = computed(scipy.sparse.csr_array(np.diag([1.0, 2.0, 3.0])))
    v = lz.ones(3)
    w = lz.asarray(hamiltonian @ v, shape=v.shape, dtype=v.dtype)
    np.testing.assert_array_equal(compute(w + v), [2, 3, 4])


@pytest.mark.parametrize("shape", [(2, 3), (6,), (3, None), (2, 2, None), ()])
def test_a_shape_that_was_said_wrongly_is_an_error(shape: Any) -> None:
    x = lz.asarray(computed(np.ones((2, 2)))[:], shape=shape)
    with pytest.raises(ValueError, match=r"the value of e has the shape \(2, 2\)"):
        compute(x.sum())


@pytest.mark.parametrize("shape", [(2, 2), (None, 2), [None, None]])
def test_a_shape_that_was_said_rightly_is_taken(shape: Any) -> None:
    x = lz.asarray(computed(np.ones((2, 2)))[:], shape=shape)
    assert x.shape == tuple(shape)
    assert compute(x.sum()) == 4
    assert lz.asarray(computed(np.ones(3))[:], shape=3).shape == (3,)


def test_the_value_has_the_dtype_that_was_said() -> None:
    x = lz.asarray(computed([1, 2])[:], shape=(2,), dtype="f4")
    assert x.dtype == compute(x).dtype == compute(x + 1).dtype == np.float32


def test_what_the_shape_is_not_known_of_says_what_to_do() -> None:
    with pytest.raises(TypeError, match="say shape="):
        lz.asarray(computed(DATA) * 2)
    with pytest.raises(TypeError, match=r"\(None, 3\).*zeros_like"):
        lz.ones(lz.asarray(computed(DATA) * 2, shape=(None, 3)).shape)


@pytest.mark.parametrize("dtype", ["f4", "float64", np.float32, float, np.dtype("i8")])
def test_a_dtype_in_the_place_of_the_backend_is_refused(dtype: Any) -> None:
    with pytest.raises(TypeError, match="dtype="):
        lz.Variable((3,), dtype)


@pytest.mark.parametrize("shape", [np.ones(3), "ab", 2.0, (2, 3.0)], ids=str)
def test_what_is_no_shape_is_refused(shape: Any) -> None:
    with pytest.raises(TypeError, match="expected a shape, an int or a tuple of them"):
        lz.Variable(shape)


@pytest.mark.parametrize("seed", [None, 1.5, "seed", -1, (1, -1), np.random.default_rng(1)], ids=str)
def test_what_is_no_seed_is_refused_with_what_is_one(seed: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="an int from 0 on, several, or a SeedSequence"):
        lz.random.normal(seed, size=3)


def test_an_array_on_disk_is_computed_as_an_array() -> None:
    x = lz.array(zarr.create_array(zarr.storage.MemoryStore(), data=DATA))
    assert type(x.compute()) is np.ndarray
    np.testing.assert_array_equal(x.compute(), DATA)


def test_an_opened_result_is_not_read_for_its_key(tmp_path: Any) -> None:
    @pure(version=1, chunks=(100,))
    def table(n: int) -> Any:
        return np.arange(float(n))

    store = Cache(tmp_path)
    first = key(lz.array(store.open(table(1000)))[:10])
    for chunk in (tmp_path / "objects").glob("*/*/c/*"):
        chunk.chmod(0o600)
        chunk.write_bytes(b"")
    assert key(lz.array(store.open(table(1000)))[:10]) == first


DTYPES: list[Any] = [
    *([("a", int), ("b", float)], {"names": ["a"], "formats": ["i4"]}, ("S", 12), ("V", 8), "i4,f8", (np.bytes_, 16)),
    *("U", "S", str, bytes, "U3", "M8", "m8[s]", object, complex, ">f4", np.dtype("V3")),
]


@pytest.mark.filterwarnings("ignore:The .generic. unit:DeprecationWarning")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("source", ["f8", "i2", "?", "M8[D]", "U4"])
def test_every_dtype_that_numpy_takes(dtype: Any, source: str) -> None:
    data = np.ones(3, dtype=source) if source != "M8[D]" else np.array(["2020-01-01"] * 3, source)
    zeros = lz.zeros(2, dtype=dtype)
    assert zeros.dtype == compute(zeros).dtype == np.zeros(2, dtype).dtype
    like = lz.zeros_like(lz.array(DATA), dtype=dtype)
    assert like.dtype == compute(like).dtype == np.zeros(2, dtype).dtype
    try:
        expected = data.astype(dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        with pytest.raises(type(error)):
            compute(lz.array(data).astype(dtype))
        return
    found = lz.array(data).astype(dtype)
    assert found.dtype in (expected.dtype, None)
    assert (found.dtype is None) <= (source == "U4")
    np.testing.assert_array_equal(compute(found), expected)
    assert compute(found).dtype == expected.dtype


@pytest.mark.parametrize("wrong", ["nonsense", 3, [1], (int, 2), {"names": ["a"]}])
def test_what_is_no_dtype_is_refused(wrong: Any) -> None:
    for make in (lz.array(DATA).astype, partial(lz.asarray, DATA), partial(lz.zeros, 3)):
        with pytest.raises((TypeError, ValueError)):
            make(dtype=wrong)


def test_dtypes_that_only_the_backend_has() -> None:
    torch = pytest.importorskip("torch")
    dtype = torch.bfloat16
    x = lz.array(torch.ones(3))
    for found in (
        x.astype(dtype),
        lz.asarray(torch.ones(3), dtype=dtype),
        lz.ones_like(x, dtype=dtype),
        lz.ones(3, dtype=dtype, backend="torch"),
        lz.sum(x[None], axis=0, dtype=dtype),
        lz.cumulative_sum(x[:, None], axis=1, dtype=dtype)[:, 0],
    ):
        # jax brings numpy a dtype of this name.
        assert found.dtype in (None, dtype)
        assert torch.equal(compute(found), torch.ones(3, dtype=dtype))
    assert key(x.astype(dtype)) not in (key(x), key(x.astype("f4")))


@pytest.mark.parametrize(
    "values",
    [range(3), buffers.array("d", [1, 2, 3]), memoryview(b"abc"), deque([1, 2, 3])],
    ids=lambda values: type(values).__name__,
)
def test_sequences_of_any_type_are_arrays(values: Any) -> None:
    x = np.ones(3, "f4")
    for function in (
        lambda a: a + values,
        lambda a: values - a,
        lambda a: np.maximum(a, values),
        lambda a: np.concatenate([values, a]),
        lambda a: a == values,
    ):
        compare(function(lz.array(x)), function(x))
    compare(lz.sum(values), np.sum(values))


@pytest.mark.parametrize("order", ["C", "F", "A", "K", None])
@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "full_like"])
def test_arrays_in_the_likeness_of_others_have_the_order_that_was_asked_for(name: str, order: Any) -> None:
    rest = (3,) if name == "full_like" else ()
    for data in (np.zeros((2, 3)), np.zeros((2, 3), order="F")):
        expected = getattr(np, name)(data, *rest, order=order).flags
        for made in (
            getattr(lz, name)(lz.array(data), *rest, order=order),
            getattr(np, name)(lz.array(data), *rest, order=order),
        ):
            found = compute(made).flags
            assert (found.c_contiguous, found.f_contiguous) == (expected.c_contiguous, expected.f_contiguous)
    for shape in (None, (3,)):
        with pytest.raises(ValueError, match="order must be"):
            getattr(lz, name)(lz.array(data), *rest, order="X", shape=shape)
        with pytest.raises(ValueError, match="unsupported device"):
            getattr(lz, name)(lz.array(data), *rest, device="gpu", shape=shape)
