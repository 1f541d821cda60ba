"""Other backends through array-api-compat, and code that is written for autoray."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache.array import backends

DATA = np.arange(6.0).reshape(2, 3) + 1


def strict(data: Any) -> Any:
    return pytest.importorskip("array_api_strict").asarray(data)


def chunked(data: Any) -> Any:
    return pytest.importorskip("dask.array").from_array(data, chunks=2)


def tensor(data: Any) -> Any:
    return pytest.importorskip("torch").asarray(data)


def traced(data: Any) -> Any:
    return pytest.importorskip("jax.numpy").asarray(data)


MAKERS = [strict, chunked, tensor, traced]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "build",
    [
        lambda xp, a: a + 1.0,
        lambda xp, a: (a * a - a) / 2.0,
        lambda xp, a: xp.sum(a, axis=0),
        lambda xp, a: xp.mean(a, axis=1, keepdims=True),
        lambda xp, a: xp.exp(a) @ xp.permute_dims(a, (1, 0)),
        lambda xp, a: xp.concat([a, a], axis=1),
        lambda xp, a: xp.stack([a, a]),
        lambda xp, a: xp.where(a > 2.0, a, xp.zeros_like(a)),
        lambda xp, a: a[:, 1:],
        lambda xp, a: a[None, ..., 0],
        lambda xp, a: xp.reshape(a, (-1,)),
        lambda xp, a: xp.broadcast_to(a, (4, 2, 3)),
        lambda xp, a: xp.max(a),
        lambda xp, a: xp.astype(a, np.float32 if xp is lz or xp is np else xp.float32),
        lambda xp, a: xp.tensordot(a, a, axes=((0,), (0,))),
        lambda xp, a: xp.argmax(a, axis=1),
        lambda xp, a: a > 3.0,
    ],
    ids=range(17),
)
def test_values_and_dtypes_are_the_backends(make: Any, build: Any) -> None:
    data = make(DATA)
    x = lz.array(data)
    built = build(lz, x)
    assert built.backend == backends.backend_of(data)
    expected = build(np, DATA)
    assert built.shape == expected.shape
    value = built.compute()
    assert type(value) is type(data)
    assert built.dtype is None or built.dtype == value.dtype
    np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-6)


@pytest.mark.parametrize("make", MAKERS)
def test_options_that_backends_lack(make: Any) -> None:
    x = lz.array(make(DATA))
    for built, expected in (
        (np.concatenate([x, x], dtype="f4"), np.concatenate([DATA, DATA], dtype="f4")),
        (np.stack([x, x], axis=1, dtype="f4"), np.stack([DATA, DATA], axis=1, dtype="f4")),
        (np.linspace(x, 2.0, 3, axis=-1), np.linspace(DATA, 2.0, 3, axis=-1)),
        (lz.dot(2.0, x), np.dot(2.0, DATA)),
        (lz.abs(lz.linalg.qr(x, mode="r")), abs(np.asarray(np.linalg.qr(DATA, mode="r")))),
    ):
        assert isinstance(built, lz.LazyArray)
        assert built.shape == expected.shape
        np.testing.assert_allclose(np.asarray(built.compute()), expected, rtol=1e-6)


def whole_chunk(data: Any) -> Any:
    return chunked(data).rechunk(-1)


@pytest.mark.parametrize("make", [whole_chunk, tensor, traced])
def test_a_gradient_of_a_vector_is_an_array(make: Any) -> None:
    squares = np.arange(5.0) ** 2
    x = lz.array(make(squares))
    np.testing.assert_allclose(np.asarray(lz.gradient(x).compute()), np.gradient(squares))
    np.testing.assert_allclose(np.asarray(lz.gradient(x, 2.0).compute()), np.gradient(squares, 2.0))
    whole = lz.gradient(lz.array(make(DATA)), axis=0)
    np.testing.assert_allclose(np.asarray(whole.compute()), np.gradient(DATA, axis=0))


@pytest.mark.parametrize("make", MAKERS)
def test_functions_beyond_the_standard(make: Any) -> None:
    x = lz.array(make(DATA))
    for built, expected in (
        (lz.kron(x, x), np.kron(DATA, DATA)),
        (lz.dot(x, x.T), np.dot(DATA, DATA.T)),
        (lz.swapaxes(x, 0, 1), DATA.T),
        (lz.diagonal(x, 1), np.diagonal(DATA, 1)),
        (lz.trace(x), np.trace(DATA)),
        (lz.outer(x, x[0, :]), np.outer(DATA, DATA[0])),
        (lz.unstack(x)[1], DATA[1]),
    ):
        assert built.shape == expected.shape
        np.testing.assert_allclose(np.asarray(built.compute()), expected)


def test_what_only_the_backend_can_know_is_left_open() -> None:
    torch = pytest.importorskip("torch")
    ints = lz.array(torch.arange(3))
    assert (ints + 1).dtype == torch.int64
    for built in (ints / 2, ints + 0.5, lz.fft.fft(ints), lz.sign(ints > 1)):
        assert built.dtype is None
        built.compute()
    # A tensor without axes does not decide the dtype.
    mixed = lz.array(torch.ones(3)) * lz.array(torch.tensor(2.0, dtype=torch.float64))
    assert mixed.dtype is None
    assert mixed.compute().dtype == torch.float32


def test_creation_names_its_backend() -> None:
    pytest.importorskip("array_api_strict")
    made = lz.zeros((2, 3), dtype="f4", backend="array_api_strict")
    assert type(made.compute()).__module__.startswith("array_api_strict")
    like = lz.ones((2,), like=lz.array(strict(DATA)))
    assert like.backend == "array_api_strict"
    drawn = lz.random.normal(1, size=3, backend="array_api_strict").compute()
    np.testing.assert_array_equal(np.asarray(drawn), lz.random.normal(1, size=3).compute())


def test_functions_run_on_arrays_of_any_backend() -> None:
    x = lz.Variable((2, 3))
    function = lz.Function([x], lz.sum(lz.sin(x) * 2.0, axis=0))
    expected = (np.sin(DATA) * 2).sum(axis=0)
    np.testing.assert_allclose(function([DATA]), expected)
    np.testing.assert_allclose(np.asarray(function([strict(DATA)])), expected)
    np.testing.assert_allclose(np.asarray(function([chunked(DATA)])), expected)


def test_a_function_that_a_backend_lacks_is_named() -> None:
    x = lz.array(strict(DATA))
    with pytest.raises(TypeError, match=r"'array_api_strict' has no function 'median'"):
        lz.median(x).compute()


def test_chunks_of_unknown_size() -> None:
    x = chunked(np.arange(6.0))
    masked = x[x > 2]
    assert lz.array(masked).shape == (None,)
    assert (lz.array(masked) + 1).sum().shape == ()


def test_code_written_for_autoray() -> None:
    autoray = pytest.importorskip("autoray")
    x = lz.array(DATA)
    assert autoray.infer_backend(x) == "lazycache.array"
    assert autoray.shape(x) == (2, 3)
    assert isinstance(autoray.do("tensordot", x, x, axes=((0,), (0,))), lz.LazyArray)
    np.testing.assert_allclose(autoray.to_numpy(autoray.do("linalg.svd", x)[1]), np.linalg.svd(DATA)[1])
    namespace = autoray.get_namespace(x)
    np.testing.assert_allclose(namespace.linalg.norm(namespace.cos(x)).compute(), np.linalg.norm(np.cos(DATA)))
    assert autoray.get_dtype_name(x) == "float64"
    np.testing.assert_array_equal(autoray.do("zeros", (2,), like=x).compute(), [0, 0])


def test_autorays_names_mean_what_they_mean_elsewhere() -> None:
    autoray = pytest.importorskip("autoray")
    x = lz.array(DATA)
    left, values, right = autoray.do("linalg.svd", x)
    assert (left.shape, values.shape, right.shape) == ((2, 2), (2,), (2, 3))
    np.testing.assert_allclose((left * values @ right).compute(), DATA)
    with pytest.raises(TypeError, match=r"lazycache\.array\.random\.normal"):
        autoray.do("random.normal", 0, 1, (3, 3), like=x)
    torch = pytest.importorskip("torch")
    assert autoray.infer_backend_multi(torch.ones(2), x) == "lazycache.array"
    # autoray's own tracer hands over axes as a range.
    traced = autoray.autojit(lambda a: autoray.do("tanh", a) @ autoray.do("transpose", a))
    np.testing.assert_allclose(traced(x).compute(), np.tanh(DATA) @ DATA.T)


def test_autoray_moves_and_makes_lazy_arrays() -> None:
    autoray = pytest.importorskip("autoray")
    x = lz.array(DATA)
    assert autoray.to_device(x, None) is x
    assert autoray.to_device(x, "cpu") is x
    with pytest.raises(ValueError, match="device"):
        autoray.to_device(x, "cuda:0")
    for like in (x, "lazycache.array"):
        made = autoray.do("from_numpy", DATA[0], like=like)
        assert isinstance(made, lz.LazyArray)
        np.testing.assert_array_equal(made.compute(), DATA[0])
        assert autoray.do("from_numpy", DATA, dtype="float32", like=like).compute().dtype == np.float32
    np.testing.assert_array_equal(autoray.do("copy", x).compute(), DATA)
    square = autoray.do("scipy.linalg.expm", x[:, :2] * 0)
    np.testing.assert_array_equal(square.compute(), np.eye(2))


@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"correction": 0}, {"unbiased": False}])
def test_autorays_deviation_is_that_of_torch(name: str, options: dict[str, Any]) -> None:
    autoray, torch = pytest.importorskip("autoray"), pytest.importorskip("torch")
    data = torch.from_numpy(DATA.copy())
    found = autoray.do(name, lz.array(data), **options).compute()
    np.testing.assert_allclose(found, getattr(torch, name)(data, **options))
    np.testing.assert_allclose(autoray.do(name, lz.array(DATA)).compute(), getattr(np, name)(DATA))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("make", MAKERS)
def test_the_triangle_of_a_cholesky_factor(make: Any, upper: bool) -> None:
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    value = lz.linalg.cholesky(lz.array(make(matrix)), upper=upper).compute()
    np.testing.assert_allclose(np.asarray(value), np.linalg.cholesky(matrix, upper=upper))


@pytest.mark.parametrize("make", [chunked, tensor])
def test_functions_that_backends_have_under_other_rules(make: Any) -> None:
    x = lz.array(make(DATA))
    cases: list[tuple[Any, Any]] = [
        (lz.take(x, [0, 4]), np.take(DATA, [0, 4])),
        (lz.take(x, [[0, 1], [2, -1]], axis=1), np.take(DATA, [[0, 1], [2, -1]], axis=1)),
        (lz.select([x > 4, x < 2], [x, -x], 7.0), np.select([DATA > 4, DATA < 2], [DATA, -DATA], 7.0)),
        (np.nansum(x), np.nansum(DATA)),
        (lz.median(x, axis=0), np.median(DATA, axis=0)),
        (lz.ptp(x, axis=1), np.ptp(DATA, axis=1)),
        (lz.pad(x, ((1, 0), (0, 2)), constant_values=3.0), np.pad(DATA, ((1, 0), (0, 2)), constant_values=3.0)),
    ]
    for built, expected in cases:
        assert built.shape == np.shape(expected)
        np.testing.assert_array_equal(np.asarray(built.compute()), expected)


def test_dtypes_that_torch_makes_otherwise_are_not_promised() -> None:
    small = lz.array(tensor(np.array([1, 2, 3], "u1")))
    truth = lz.array(tensor(np.array([True, False])))
    builds: list[tuple[Any, Any]] = [
        (small, lz.cumulative_sum), (small, lz.sum), (small, lz.reciprocal), (truth, lz.sum),
        (small[:2].reshape(1, 2), lz.trace), (small, lz.angle), (small, lz.sinc),
        (small, lambda x: lz.einsum("i->", x)), (small, lambda x: lz.concat([x, x.astype("f4")])),
        (small, lambda x: lz.append(x.astype("c8"), x)), (small, lambda x: lz.cov(x.astype("f4"))),
    ]  # fmt: skip
    for x, function in builds:
        built = function(x)
        assert built.dtype in (None, built.compute().dtype), function
    square = lz.array(tensor(np.diag([0.0, 1.0])))
    np.testing.assert_allclose(np.asarray(lz.linalg.expm(square).compute()), np.diag(np.exp([0.0, 1.0])))
    assert lz.array_equal(square, square).compute()
    assert not lz.array_equal(square, square[:1]).compute()
    scalar = lz.array(tensor(np.array(2.0)))
    assert lz.cumulative_sum(scalar).shape == tuple(lz.cumulative_sum(scalar).compute().shape)
    assert lz.mean(scalar, axis=0).compute() == 2.0
    assert lz.argsort(scalar).shape == tuple(lz.argsort(scalar).compute().shape)
    np.testing.assert_array_equal(np.asarray((truth ** small[:2]).compute()), [1, 0])


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
def test_numbers_that_jax_has_by_a_setting_only() -> None:
    jnp = pytest.importorskip("jax.numpy")
    x = lz.array(jnp.arange(3, dtype="float32"))
    for built in (
        lz.astype(x, "f8"),
        x.sum(dtype="f8"),
        lz.zeros((2,), dtype="i8", backend="jax"),
        lz.cumprod(x, dtype="f8"),
    ):
        assert built.dtype is None
        built.compute()
    assert (x + 1).dtype == np.float32


def test_what_settings_of_a_backend_decide_is_left_open() -> None:
    x = lz.Variable((2, 3), "jax", "f4")
    for built in (lz.argmax(x), lz.argsort(x), lz.count_nonzero(x), lz.nonzero(x)[0], lz.unique_counts(x).counts):
        assert built.dtype is None
    assert (x + 1).dtype == np.float32
    assert lz.argmax(lz.Variable((2, 3), "dask", "f4")).dtype == np.intp


def test_autoray_may_be_imported_later() -> None:
    pytest.importorskip("autoray")
    script = (
        "import lazycache.array as lz, autoray\nassert autoray.infer_backend(lz.Variable((2,))) == 'lazycache.array'\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


def test_a_tensor_network_is_contracted_lazily() -> None:
    cotengra = pytest.importorskip("cotengra")
    rng = np.random.default_rng(5)
    arrays = [rng.random(shape) for shape in ((4, 5), (5, 6, 3), (3, 4, 6))]
    inputs = [("a", "b"), ("b", "c", "d"), ("d", "a", "c")]
    variables = [lz.Variable(array.shape, "numpy", array.dtype) for array in arrays]
    result = cotengra.array_contract(variables, inputs, ())
    assert result.shape == ()
    assert result.history_num_nodes() > 3
    np.testing.assert_allclose(result.get_function(variables)(arrays), np.einsum("ab,bcd,dac->", *arrays))


ALIKE: dict[str, Any] = {
    "angle in degrees": lambda xp, a: xp.angle(a - 3, deg=True),
    "close to a number": lambda xp, a: xp.isclose(a, 2.0, rtol=0),
    "close to constants": lambda xp, a: xp.isclose(a, np.ones(3)),
    "all close to a number": lambda xp, a: xp.allclose(a, 1.5),
    "differences from a number": lambda xp, a: xp.diff(a, axis=0, prepend=0, append=1.5),
    "constants beside it": lambda xp, a: xp.where(a > 2, a, np.zeros(3)),
    "constants joined": lambda xp, a: xp.concatenate([a, np.ones((1, 3))[::-1]]),
    "constants looked for": lambda xp, a: xp.isin(a, [1.0, 2.0]),
    "places flat": lambda xp, a: xp.argsort(a, axis=None),
    "places by an algorithm": lambda xp, a: xp.argsort(a, kind="stable"),
    "running sum": lambda xp, a: xp.cumsum(a),
    "running sum as another dtype": lambda xp, a: xp.cumsum(a, axis=1, dtype=np.dtype("f4")),
    "several quantiles": lambda xp, a: xp.quantile(a, [0.2, 0.5], axis=0),
    "sorted flat": lambda xp, a: xp.sort(a, axis=None),
    "take from a number": lambda xp, a: xp.take(a[0, 0], [0, 0], axis=-1),
    "transform along no axis": lambda xp, a: xp.fft.fftn(a, axes=()),
    "transposed from the end": lambda xp, a: xp.transpose(a[None], (-1, 0, 1)),
    "in columns": lambda xp, a: xp.reshape(a, (3, 2), order="F"),
    "flat in columns": lambda xp, a: a.flatten("F"),
}


@pytest.mark.parametrize("make", [tensor, traced])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
@pytest.mark.parametrize("name", ALIKE)
def test_what_numpy_takes_other_libraries_are_told_in_their_way(name: str, dtype: str, make: Any) -> None:
    data = DATA[:, ::-1].astype(dtype)
    x = lz.array(make(data.copy()))
    if name == "several quantiles" and dtype == "i4":
        pytest.skip("torch has quantiles of floating-point numbers only")
    built, expected = ALIKE[name](lz, x), ALIKE[name](np, data)
    assert built.shape == np.shape(expected)
    for value in (built.compute(), lz.Function([x], [built])([x.compute()])[0]):
        assert type(value) is type(x.compute())
        assert built.dtype in (None, value.dtype)
        np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-5)


@pytest.mark.parametrize("make", [tensor, traced])
def test_dtypes_that_a_library_chooses_are_open(make: Any) -> None:
    half, ints = lz.array(make(DATA.astype("f2"))), lz.array(make(DATA.astype("i4")))
    for built in (
        lz.fft.irfft(half),
        lz.quantile(lz.array(make(DATA.astype("f4"))), [0.5]),
        lz.fft.fftn(ints, axes=()),
    ):
        assert built.dtype is None
    summed = lz.einsum("ij,kl->", ints, ints)
    assert summed.dtype in (None, summed.compute().dtype)
    assert int(summed.compute()) == int(DATA.sum() ** 2)


def test_places_that_are_taken_out_are_told_to_jax_in_an_array() -> None:
    built = lz.delete(lz.array(traced(DATA)), [0, 1], axis=1)
    np.testing.assert_allclose(np.asarray(built.compute()), DATA[:, 2:])
