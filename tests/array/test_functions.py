"""Every function against numpy: shape and dtype before computing, values after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import key
from lazycache.array.table import TABLE, Elementwise
from tests.array.helpers import check

# Means of nothing are compared too.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DTYPES = ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "F", "D"]
RNG = np.random.default_rng(7)


def sample(shape: tuple[int, ...], dtype: str = "f8") -> Any:
    numbers = RNG.integers(1, 5, shape)
    return (numbers > 2) if dtype == "?" else numbers.astype(dtype)


A, B, V = sample((2, 3)), sample((3, 4)), sample((3,))
CUBE = sample((2, 3, 4), "f4")
SQUARE = sample((3, 3)) + 5 * np.eye(3)
BATCH = sample((2, 3, 3), "f4") + 5 * np.eye(3, dtype="f4")
INTS = np.array([[3, 1, 2], [0, 5, 4]])
EMPTY = np.zeros((0, 3))
SCALAR = np.array(2.5)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(row: Elementwise, dtype: str) -> None:
    def call(xp: Any, *arrays: Any) -> Any:
        return (getattr(lz, row.name) if xp is lz else row.ufunc)(*arrays)

    x = sample((2, 3), dtype)
    if row.ufunc.nin == 1:
        check(call, x)
        check(call, x[:0])
        return
    for other in ("?", "i2", "u4", "f4", "D"):
        check(call, x, sample((3,), other))
    for scalar in (2, 2.5, 1j, True, np.float32(3), np.int64(2), 300, -1):
        check(call, x, scalar)
        check(call, scalar, x)
    check(call, x, sample((2, 1, 3), dtype))
    check(call, x, sample((4,), dtype))


@pytest.mark.parametrize("row", [row for row in TABLE if row.method], ids=lambda row: row.method)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(row: Elementwise, dtype: str) -> None:
    import operator

    method = getattr(operator, row.method)
    x = sample((2, 3), dtype)
    if row.ufunc.nin == 1:
        check(lambda xp, a: method(a), x)
        return
    for other in (sample((3,), dtype), sample((2, 1), "f4"), 2, 0.5, True, 2j, np.float32(2), np.int8(1), [1, 2, 3]):
        check(lambda xp, a, b: method(a, b), x, other)
        check(lambda xp, a, b: method(b, a), x, other)


REDUCTIONS = ["sum", "prod", "max", "min", "all", "any", "mean", "std", "var", "argmax", "argmin", "count_nonzero",
              "ptp", "median"]  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8", "f2", "f4", "f8", "F"])
def test_reductions(name: str, dtype: str) -> None:
    x = sample((2, 3, 4), dtype)
    for axis in (None, 0, -1, (0, 2), (-1, 0), (), 3, (0, 0)):
        for keepdims in (False, True):
            check(lambda xp, a, axis=axis, keep=keepdims: getattr(xp, name)(a, axis=axis, keepdims=keep), x)
    check(lambda xp, a: getattr(xp, name)(a), x[:0])
    check(lambda xp, a: getattr(xp, name)(a, axis=1), x[:0])
    check(lambda xp, a: getattr(xp, name)(a, axis=0), sample((), dtype))


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "axis as a list": (lambda xp, a: xp.sum(a, axis=[0]), (INTS,)),
    "axis as a float": (lambda xp, a: xp.sum(a, axis=1.0), (INTS,)),
    "norm axis as a list": (lambda xp, a: xp.linalg.norm(a, axis=[0]), (INTS,)),
    "sum dtype": (lambda xp, a: xp.sum(a, dtype=np.float32), (INTS,)),
    "sum initial where": (lambda xp, a: xp.sum(a, axis=0, initial=3, where=a > 1), (INTS,)),
    "max initial": (lambda xp, a: xp.max(a, axis=0, initial=7.0), (EMPTY,)),
    "mean dtype": (lambda xp, a: xp.mean(a, dtype="f4"), (INTS,)),
    "std correction": (lambda xp, a: xp.std(a, correction=1), (A,)),
    "var axis": (lambda xp, a: xp.var(a, axis=(0, 1), keepdims=True), (CUBE,)),
    "average": (lambda xp, a, v: xp.average(a, axis=1, weights=v), (A, V)),
    "average ints": (lambda xp, a: xp.average(a), (INTS,)),
    "cumsum": (lambda xp, a: xp.cumsum(a), (sample((2, 3), "i1"),)),
    "cumsum axis": (lambda xp, a: xp.cumsum(a, axis=-1), (CUBE,)),
    "cumprod": (lambda xp, a: xp.cumprod(a, axis=0), (INTS,)),
    "cumulative_sum": (lambda xp, a: xp.cumulative_sum(a, axis=1, include_initial=True), (INTS,)),
    "cumulative_sum flat": (lambda xp, a: xp.cumulative_sum(a), (INTS,)),
    "cumulative_prod": (lambda xp, a: xp.cumulative_prod(a, axis=0), (CUBE,)),
    "diff": (lambda xp, a: xp.diff(a, n=2, axis=0), (sample((4, 3)),)),
    "diff bool": (lambda xp, a: xp.diff(a), (sample((4, 3), "?"),)),
    "diff edges": (lambda xp, a: xp.diff(a, prepend=0, append=a), (INTS,)),
    "quantile": (lambda xp, a: xp.quantile(a, [0.1, 0.5], axis=0), (A,)),
    "quantile f4": (lambda xp, a: xp.quantile(a, 0.5), (CUBE,)),
    "percentile": (lambda xp, a: xp.percentile(a, 30, axis=1), (INTS,)),
    "clip": (lambda xp, a: xp.clip(a, 2, 4), (INTS,)),
    "clip float": (lambda xp, a: xp.clip(a, 1.5, None), (INTS,)),
    "clip arrays": (lambda xp, a, v: xp.clip(a, v, v + 1), (A, V)),
    "clip none": (lambda xp, a: xp.clip(a, None, None), (INTS,)),
    "clip of booleans": (lambda xp, a: xp.clip(a), (A > 2,)),
    "rfftn of complex": (lambda xp, a: xp.fft.rfftn(a), (A * 1j,)),
    "clip out of range": (lambda xp, a: xp.clip(a, 0, 300), (INTS.astype("u1"),)),
    "where": (lambda xp, a, v: xp.where(a > 2, a, v), (A, V)),
    "where scalars": (lambda xp, a: xp.where(a > 2, 1, 2.0), (A,)),
    "where f4": (lambda xp, a: xp.where(a > 2, a, 2.0), (CUBE,)),
    "where refused": (lambda xp, a, b: xp.where(a, a, b), (A, B)),
    "isclose": (lambda xp, a, b: xp.isclose(a, b, rtol=0.1), (A, A + 0.1)),
    "round": (lambda xp, a: xp.round(a, 1), (A / 3,)),
    "round bool": (lambda xp, a: xp.round(a), (A > 2,)),
    "round ints": (lambda xp, a: xp.round(a, -1), (INTS,)),
    "real": (lambda xp, a: xp.real(a), (A * 1j,)),
    "imag": (lambda xp, a: xp.imag(a), (A.astype("F") * 1j,)),
    "imag of real": (lambda xp, a: xp.imag(a), (A,)),
    "angle": (lambda xp, a: xp.angle(a), (A * 1j,)),
    "angle ints": (lambda xp, a: xp.angle(a, deg=True), (INTS,)),
    "nan_to_num": (lambda xp, a: xp.nan_to_num(a, nan=3.0), (np.array([np.nan, 1, np.inf]),)),
    "sinc": (lambda xp, a: xp.sinc(a), (INTS,)),
    "iscomplex": (lambda xp, a: xp.iscomplex(a), (A * 1j,)),
    "isreal": (lambda xp, a: xp.isreal(a), (A,)),
    "reshape": (lambda xp, a: xp.reshape(a, (3, -1)), (CUBE,)),
    "reshape int": (lambda xp, a: xp.reshape(a, 24), (CUBE,)),
    "reshape F": (lambda xp, a: xp.reshape(a, (3, 2), order="F"), (A,)),
    "reshape refused": (lambda xp, a: xp.reshape(a, (5, -1)), (CUBE,)),
    "reshape empty": (lambda xp, a: xp.reshape(a, (3, 0)), (EMPTY,)),
    "ravel": (lambda xp, a: xp.ravel(a), (CUBE,)),
    "permute_dims": (lambda xp, a: xp.permute_dims(a, (2, 0, 1)), (CUBE,)),
    "transpose": (lambda xp, a: xp.transpose(a), (CUBE,)),
    "transpose axes": (lambda xp, a: xp.transpose(a, (-1, 0, 1)), (CUBE,)),
    "transpose refused": (lambda xp, a: xp.transpose(a, (0, 0, 1)), (CUBE,)),
    "matrix_transpose": (lambda xp, a: xp.matrix_transpose(a), (CUBE,)),
    "matrix_transpose refused": (lambda xp, a: xp.matrix_transpose(a), (V,)),
    "moveaxis": (lambda xp, a: xp.moveaxis(a, 0, -1), (CUBE,)),
    "moveaxis many": (lambda xp, a: xp.moveaxis(a, (0, 1), (-1, 0)), (CUBE,)),
    "swapaxes": (lambda xp, a: xp.swapaxes(a, 0, -1), (CUBE,)),
    "expand_dims": (lambda xp, a: xp.expand_dims(a, axis=(0, -1)), (A,)),
    "expand_dims refused": (lambda xp, a: xp.expand_dims(a, axis=5), (A,)),
    "squeeze": (lambda xp, a: xp.squeeze(a), (sample((1, 3, 1)),)),
    "squeeze axis": (lambda xp, a: xp.squeeze(a, axis=-1), (sample((1, 3, 1)),)),
    "squeeze refused": (lambda xp, a: xp.squeeze(a, axis=1), (sample((1, 3, 1)),)),
    "flip": (lambda xp, a: xp.flip(a), (A,)),
    "flip axis": (lambda xp, a: xp.flip(a, axis=(0, -1)), (CUBE,)),
    "roll": (lambda xp, a: xp.roll(a, 2), (A,)),
    "roll axes": (lambda xp, a: xp.roll(a, (1, 2), axis=(0, 1)), (A,)),
    "broadcast_to": (lambda xp, a: xp.broadcast_to(a, (4, 2, 3)), (A,)),
    "broadcast_to refused": (lambda xp, a: xp.broadcast_to(a, (2, 4)), (A,)),
    "broadcast_arrays": (lambda xp, a, v: xp.broadcast_arrays(a, v), (A, V)),
    "concat": (lambda xp, a, b: xp.concat([a, b], axis=0), (A, INTS)),
    "concat flat": (lambda xp, a, b: xp.concat([a, b], axis=None), (A, B)),
    "concat types": (lambda xp, a, b: xp.concat([a, b]), (sample((2,), "f4"), sample((3,), "i8"))),
    "concat refused": (lambda xp, a, b: xp.concat([a, b]), (A, B)),
    "concatenate": (lambda xp, a: xp.concatenate([a, a], axis=-1), (CUBE,)),
    "stack": (lambda xp, a, b: xp.stack([a, b], axis=1), (A, INTS)),
    "stack refused": (lambda xp, a, b: xp.stack([a, b]), (A, B)),
    "hstack": (lambda xp, a, v: xp.hstack([v, v]), (A, V)),
    "vstack": (lambda xp, a, v: xp.vstack([v, a]), (A, V)),
    "unstack vector": (lambda xp, v: xp.unstack(v), (V,)),
    "unstack": (lambda xp, a: xp.unstack(a, axis=1), (CUBE,)),
    "split": (lambda xp, a: xp.split(a, 2, axis=-1), (CUBE,)),
    "split places": (lambda xp, a: xp.split(a, [1, 3, 9]), (sample((5, 2)),)),
    "split refused": (lambda xp, a: xp.split(a, 2), (V,)),
    "array_split": (lambda xp, a: xp.array_split(a, 4), (sample((10,)),)),
    "repeat": (lambda xp, a: xp.repeat(a, 3), (A,)),
    "repeat axis": (lambda xp, a: xp.repeat(a, [1, 2], axis=0), (A,)),
    "tile": (lambda xp, a: xp.tile(a, (2, 1, 2)), (A,)),
    "pad": (lambda xp, a: xp.pad(a, ((1, 2), (0, 1))), (A,)),
    "pad edge": (lambda xp, a: xp.pad(a, 2, mode="edge"), (A,)),
    "pad values": (lambda xp, a: xp.pad(a, (1, 2), constant_values=(7, 8)), (INTS,)),
    "pad refused": (lambda xp, a: xp.pad(a, 1, mode="edge"), (EMPTY,)),
    "diag": (lambda xp, a: xp.diag(a, k=1), (V,)),
    "diag matrix": (lambda xp, a: xp.diag(a, k=-1), (A,)),
    "diagonal": (lambda xp, a: xp.diagonal(a, 1, 0, 2), (CUBE,)),
    "tril": (lambda xp, a: xp.tril(a, k=1), (A,)),
    "triu": (lambda xp, a: xp.triu(a), (BATCH,)),
    "rot90": (lambda xp, a: xp.rot90(a), (A,)),
    "take": (lambda xp, a: xp.take(a, [[0, 1], [1, 0]], axis=1), (CUBE,)),
    "take flat": (lambda xp, a: xp.take(a, 4), (A,)),
    "take refused": (lambda xp, a: xp.take(a, 9), (A,)),
    "take array": (lambda xp, a, i: xp.take(a, i, axis=0), (A, np.array([1, 0, 1]))),
    "take_along_axis": (lambda xp, a, i: xp.take_along_axis(a, i, axis=1), (A, np.array([[0], [2]]))),
    "argsort": (lambda xp, a: xp.argsort(a, axis=0), (INTS,)),
    "sort": (lambda xp, a: xp.sort(a), (INTS,)),
    "sort flat": (lambda xp, a: xp.sort(a, axis=None), (CUBE,)),
    "partition": (lambda xp, a: xp.partition(a, 1), (INTS,)),
    "searchsorted": (lambda xp, a, b: xp.searchsorted(a, b), (np.arange(5.0), A)),
    "isin": (lambda xp, a: xp.isin(a, [1, 2]), (INTS,)),
    "matmul": (lambda xp, a, b: xp.matmul(a, b), (A, B)),
    "matmul vectors": (lambda xp, v: xp.matmul(v, v), (V,)),
    "matmul batch": (lambda xp, a, v: a @ v, (BATCH, V)),
    "matmul types": (lambda xp, a, b: a @ b, (sample((2, 2), "i2"), sample((2, 2), "u2"))),
    "matmul refused": (lambda xp, a, b: xp.matmul(b, a), (A, B)),
    "matmul scalar": (lambda xp, a: a @ 2, (A,)),
    "dot": (lambda xp, a, b: xp.dot(a, b), (CUBE, B.T)),
    "dot scalar": (lambda xp, a: xp.dot(a, 3), (A,)),
    "inner": (lambda xp, a, v: xp.inner(a, v), (A, V)),
    "outer": (lambda xp, a, v: xp.outer(a, v), (A, V)),
    "vdot": (lambda xp, a: xp.vdot(a, a), (A,)),
    "vecdot": (lambda xp, a, v: xp.vecdot(a, v), (A * 1j, V)),
    "tensordot 0": (lambda xp, a, b: xp.tensordot(a, b, axes=0), (A, B)),
    "tensordot 1": (lambda xp, a, b: xp.tensordot(a, b, axes=1), (A, B)),
    "tensordot 2": (lambda xp, a, b: xp.tensordot(a, b), (CUBE, sample((3, 4, 5)))),
    "tensordot axes": (lambda xp, a, b: xp.tensordot(a, b, axes=((1,), (-2,))), (A, B)),
    "tensordot refused": (lambda xp, a, b: xp.tensordot(a, b, axes=2), (A, B)),
    "kron": (lambda xp, a, v: xp.kron(a, v), (A, V)),
    "trace": (lambda xp, a: xp.trace(a, 1), (sample((3, 3), "i1"),)),
    "trace axes": (lambda xp, a: xp.trace(a, axis1=1, axis2=2), (CUBE,)),
    "einsum": (lambda xp, a, b: xp.einsum("ij,jk", a, b), (A, B)),
    "einsum outer": (lambda xp, a, b: xp.einsum("ij,nk->", a, b), (A, B)),
    "einsum trace": (lambda xp, a: xp.einsum("ii", a), (SQUARE,)),
    "einsum diagonal": (lambda xp, a: xp.einsum("...ii->...i", a), (BATCH,)),
    "einsum ellipsis": (lambda xp, a, v: xp.einsum("...i,i", a, v), (A, V)),
    "einsum implicit": (lambda xp, a, b: xp.einsum("ba,cb", a, b), (B, A)),
    "einsum lists": (
        lambda xp, a: xp.einsum("ij->j", [[1, 2], [3, 4]] if xp is np else lz.array([[1, 2], [3, 4]])),
        (A,),
    ),
    "einsum interleaved": (lambda xp, a, b: xp.einsum(a, [0, 1], b, [1, 2], [2, 0]), (A, B)),
    "einsum interleaved implicit": (lambda xp, a, b: xp.einsum(a, [0, ..., 1], b, [1, 2]), (A, B)),
    "einsum refused": (lambda xp, a, b: xp.einsum("ij,jk,kl", a, b), (A, B)),
    "einsum mismatch": (lambda xp, a, b: xp.einsum("ij,ik", a, b), (A, B)),
    "svd": (lambda xp, a: xp.linalg.svd(a)[1], (A,)),
    "svd thin": (lambda xp, a: tuple(xp.abs(x) for x in xp.linalg.svd(a, full_matrices=False)), (BATCH,)),
    "svd refused": (lambda xp, a: xp.linalg.svd(a), (V,)),
    "svdvals": (lambda xp, a: xp.linalg.svdvals(a), (INTS,)),
    "qr": (lambda xp, a: tuple(xp.linalg.qr(a)), (A,)),
    "qr complete": (lambda xp, a: tuple(xp.linalg.qr(a, mode="complete")), (B,)),
    "qr r": (lambda xp, a: xp.linalg.qr(a, mode="r"), (B,)),
    "eigh": (lambda xp, a: xp.linalg.eigh(a + a.T)[0], (SQUARE,)),
    "eigvalsh": (lambda xp, a: xp.linalg.eigvalsh(a), (SQUARE * (1 + 0j),)),
    "cholesky": (lambda xp, a: xp.linalg.cholesky(a @ a.mT), (BATCH,)),
    "inv": (lambda xp, a: xp.linalg.inv(a), (INTS[:, :2] + np.eye(2, dtype=int),)),
    "inv refused": (lambda xp, a: xp.linalg.inv(a), (A,)),
    "inv half": (lambda xp, a: xp.linalg.inv(a), (SQUARE.astype("f2"),)),
    "pinv": (lambda xp, a: xp.linalg.pinv(a), (A,)),
    "solve": (lambda xp, a, b: xp.linalg.solve(a, b), (SQUARE, V)),
    "solve batch": (lambda xp, a, b: xp.linalg.solve(a, b), (BATCH, B)),
    "solve refused": (lambda xp, a, b: xp.linalg.solve(a, b), (SQUARE, A)),
    "det": (lambda xp, a: xp.linalg.det(a), (BATCH,)),
    "slogdet": (lambda xp, a: tuple(xp.linalg.slogdet(a)), (SQUARE,)),
    "matrix_power": (lambda xp, a: xp.linalg.matrix_power(a, 3), (SQUARE.astype(int),)),
    "matrix_rank": (lambda xp, a: xp.linalg.matrix_rank(a), (BATCH,)),
    "norm": (lambda xp, a: xp.linalg.norm(a), (CUBE,)),
    "norm axis": (lambda xp, a: xp.linalg.norm(a, axis=1, keepdims=True), (CUBE,)),
    "norm fro": (lambda xp, a: xp.linalg.norm(a, "fro"), (INTS,)),
    "norm inf": (lambda xp, a: xp.linalg.norm(a, np.inf, axis=(0, 2)), (CUBE,)),
    "norm refused": (lambda xp, a: xp.linalg.norm(a, "fro"), (CUBE,)),
    "vector_norm": (lambda xp, a: xp.linalg.vector_norm(a, axis=(0, 1), ord=1), (CUBE,)),
    "matrix_norm": (lambda xp, a: xp.linalg.matrix_norm(a, keepdims=True), (CUBE,)),
    "cond": (lambda xp, a: xp.linalg.cond(a), (SQUARE,)),
    "multi_dot": (lambda xp, a, b: xp.linalg.multi_dot([a, b, b.T]), (A, B)),
    "cross": (lambda xp, a, v: xp.linalg.cross(a, v), (A, V)),
    "linalg.trace": (lambda xp, a: xp.linalg.trace(a, offset=1), (CUBE,)),
    "linalg.diagonal": (lambda xp, a: xp.linalg.diagonal(a), (CUBE,)),
    "fft": (lambda xp, a: xp.fft.fft(a), (A,)),
    "fft n": (lambda xp, a: xp.fft.fft(a, n=5, axis=0, norm="ortho"), (CUBE,)),
    "ifft": (lambda xp, a: xp.fft.ifft(a, n=2), (INTS,)),
    "rfft": (lambda xp, a: xp.fft.rfft(a), (CUBE,)),
    "irfft": (lambda xp, a: xp.fft.irfft(a), (A,)),
    "hfft": (lambda xp, a: xp.fft.hfft(a, n=5), (A,)),
    "ihfft": (lambda xp, a: xp.fft.ihfft(a), (A,)),
    "fftn": (lambda xp, a: xp.fft.fftn(a), (CUBE,)),
    "fftn s": (lambda xp, a: xp.fft.fftn(a, s=(2, 5), axes=(0, 1)), (CUBE,)),
    "rfftn": (lambda xp, a: xp.fft.rfftn(a, axes=(2, 0)), (CUBE,)),
    "irfftn": (lambda xp, a: xp.fft.irfftn(a), (CUBE,)),
    "rfft2": (lambda xp, a: xp.fft.rfft2(a), (CUBE,)),
    "rfft complex": (lambda xp, a: xp.fft.rfft(a), (A * 1j,)),
    "fft refused": (lambda xp, a: xp.fft.fft(a, n=0), (A,)),
    "fftshift": (lambda xp, a: xp.fft.fftshift(a), (A,)),
    "fftfreq": (lambda xp: xp.fft.fftfreq(7, 0.5), ()),
    "rfftfreq": (lambda xp: xp.fft.rfftfreq(7), ()),
    "zeros": (lambda xp: xp.zeros((2, 3)), ()),
    "zeros int": (lambda xp: xp.zeros(3, dtype="i4"), ()),
    "zeros refused": (lambda xp: xp.zeros((2, -1)), ()),
    "ones": (lambda xp: xp.ones((2, 0), dtype=complex), ()),
    "full": (lambda xp: xp.full((2, 2), 7), ()),
    "full bool": (lambda xp: xp.full(3, True), ()),
    "full dtype": (lambda xp: xp.full(3, 2, dtype="f4"), ()),
    "zeros_like": (lambda xp, a: xp.zeros_like(a), (CUBE,)),
    "ones_like": (lambda xp, a: xp.ones_like(a, dtype=int), (CUBE,)),
    "zeros of a dtype by place": (lambda xp: xp.zeros((2, 3), "i4", "F"), ()),
    "ones of a dtype by place": (lambda xp: xp.ones(3, complex), ()),
    "full of a dtype by place": (lambda xp: xp.full(3, 2, "f4"), ()),
    "eye of a dtype by place": (lambda xp: xp.eye(3, 4, 1, "i2"), ()),
    "arange of a dtype by place": (lambda xp: xp.arange(0, 6, 2, "f4"), ()),
    "arange by name": (lambda xp: xp.arange(start=1, stop=6, step=2), ()),
    "linspace by name": (lambda xp: xp.linspace(start=0, stop=1, num=5), ()),
    "asarray of a dtype by place": (lambda xp, a: xp.asarray(a, "f4"), (INTS,)),
    "ones_like of a dtype by place": (lambda xp, a: xp.ones_like(a, bool), (INTS,)),
    "full_like of a dtype by place": (lambda xp, a: xp.full_like(a, 2, "c8"), (INTS,)),
    "zeros by columns": (lambda xp: xp.zeros((2, 3), order="F"), ()),
    "ones by rows": (lambda xp: xp.ones((2, 3), order="c", dtype="i4"), ()),
    "full by columns": (lambda xp: xp.full((2, 3), 7, order="f", dtype="u1"), ()),
    "zeros in no order": (lambda xp: xp.zeros((2, 3), order="K"), ()),
    "full_like": (lambda xp, a: xp.full_like(a, 3), (CUBE,)),
    "zeros_like another shape": (lambda xp, a: xp.zeros_like(a, shape=(2, 0)), (INTS,)),
    "ones_like another shape": (lambda xp, a: xp.ones_like(a, shape=4, dtype="?"), (INTS,)),
    "full_like another shape": (lambda xp, a: xp.full_like(a, [1, 2.5], shape=(3, 2)), (INTS,)),
    "full_like a shape that does not fit": (lambda xp, a: xp.full_like(a, [1, 2], shape=3), (INTS,)),
    "array of three axes": (lambda xp, a: xp.array(a, ndmin=3, dtype="c8"), (INTS[0],)),
    "array of axes enough": (lambda xp, a: xp.array([a[0], a[1]], ndmin=2), (INTS,)),
    "array of a number": (lambda xp: xp.array(2.5, ndmin=1), ()),
    "eye": (lambda xp: xp.eye(3, 4, k=1, dtype="f4"), ()),
    "identity": (lambda xp: xp.identity(3), ()),
    "tri": (lambda xp: xp.tri(3, 4, 1), ()),
    "arange": (lambda xp: xp.arange(5), ()),
    "arange float": (lambda xp: xp.arange(1.5, 4), ()),
    "arange step": (lambda xp: xp.arange(10, 0, -3), ()),
    "arange none": (lambda xp: xp.arange(5, 0), ()),
    "arange dtype": (lambda xp: xp.arange(0, 3, 0.5, dtype="f4"), ()),
    "linspace": (lambda xp: xp.linspace(0, 1, 5), ()),
    "linspace open": (lambda xp: xp.linspace(0, 1, 5, endpoint=False, dtype="f4"), ()),
    "linspace arrays": (lambda xp, v: xp.linspace(v, 2 * v, 4, axis=-1), (V,)),
    "meshgrid": (lambda xp, v: xp.meshgrid(v, xp.arange(2)), (V,)),
    "meshgrid ij": (lambda xp, v: xp.meshgrid(v, v, xp.arange(2), indexing="ij"), (V,)),
    "astype of a scalar": (lambda xp, a: xp.sum(a).astype("f4"), (A,)),
    "dates": (
        lambda xp, a: (a - a[0], a + np.timedelta64(1, "D"), a > a[1], xp.max(a)),
        (np.array(["2020-01-01", "2020-02-01"], "M8[D]"),),
    ),
    "durations": (lambda xp, a: (a.sum(), a / np.timedelta64(1, "s"), a * 2, xp.mean(a)), (np.array([1, 2], "m8[h]"),)),
    "text": (lambda xp, a: (a == a, xp.concat([a, a]), xp.sort(a), a[::-1]), (np.array(["b", "ab"]),)),
    "half fft": (lambda xp, a: xp.fft.fft(a), (A.astype("f2"),)),
    "long double": (lambda xp, a: (a + 1, a * 1j, xp.sum(a), xp.real(a * 1j), xp.fft.fft(a)), (A.astype("g"),)),
    "half": (
        lambda xp, a: (
            xp.fft.irfft(a),
            xp.fft.irfftn(a),
            xp.fft.irfftn(a, axes=(0,)),
            xp.linspace(a[0], a[1], 3),
            xp.angle(a),
        ),
        (A.astype("f2"),),
    ),
    "big endian more": (
        lambda xp, a: (
            xp.max(a),
            xp.round(a),
            xp.tril(a),
            xp.sinc(a),
            xp.linalg.norm(a),
            xp.fft.fft(a),
            xp.std(a),
            xp.median(a),
        ),
        (A.astype(">f8"),),
    ),
    "complex quantile": (lambda xp, a: xp.quantile(a, 0.5), (A * 1j,)),
    "bool quantile": (lambda xp, a: xp.quantile(a, 0.5), (A > 2,)),
    "percentile of halves": (lambda xp, a: xp.percentile(a, [30, 40]), (A.astype("f2"),)),
    "bool angle": (lambda xp, a: xp.angle(a), (A > 2,)),
    "mean of dates": (lambda xp, a: xp.mean(a), (np.array([1, 2], "M8[s]"),)),
    "std of durations": (lambda xp, a: xp.std(a), (np.array([1, 2], "m8[s]"),)),
    "max of text": (lambda xp, a: xp.max(a), (np.array([b"a"]),)),
    "fft of dates": (lambda xp, a: xp.fft.fft(a), (np.array([1, 2], "M8[s]"),)),
    "einsum of dates": (lambda xp, a: xp.einsum("i->", a), (np.array([1, 2], "M8[s]"),)),
    "big endian": (
        lambda xp, a: (a + 1, a + a, xp.sum(a), -a, xp.sin(a), xp.mean(a), xp.real(a), xp.sort(a)),
        (A.astype(">f8"),),
    ),
    "astype": (lambda xp, a: xp.astype(a, xp.int32), (A,)),
    "ptp axis": (lambda xp, a: xp.ptp(a, axis=0), (INTS,)),
}


@pytest.mark.parametrize("name", CASES)
def test_function(name: str) -> None:
    function, args = CASES[name]
    check(function, *args)


EDGES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "norm of a matrix by name for a vector": (lambda xp, x: xp.linalg.vector_norm(x, ord="fro"), (SQUARE,)),
    "norm of a matrix by number": (lambda xp, x: xp.linalg.matrix_norm(x, ord=3), (SQUARE,)),
    "smallest of nothing": (lambda xp, x: xp.linalg.norm(x, ord=-np.inf, axis=0), (EMPTY,)),
    "smallest row of nothing": (lambda xp, x: xp.linalg.matrix_norm(x, ord=-1), (EMPTY.T,)),
    "smallest column of nothing": (lambda xp, x: xp.linalg.matrix_norm(x, ord=-1), (EMPTY,)),
    "norm by halves": (lambda xp, x: xp.linalg.matrix_norm(x, ord=2), (SQUARE.astype("f2"),)),
    "norm over no axis of a number": (lambda xp, x: xp.linalg.vector_norm(x, axis=0), (SCALAR,)),
    "condition of nothing": (lambda xp, x: xp.linalg.cond(x), (EMPTY,)),
    "condition of a stack of none": (lambda xp, x: xp.linalg.cond(x), (BATCH[:0],)),
    "condition by rows": (lambda xp, x: xp.linalg.cond(x[:2], 1), (SQUARE,)),
    "condition by another norm": (lambda xp, x: xp.linalg.cond(x, 3), (SQUARE,)),
    "inverse of nothing": (lambda xp, x: xp.linalg.pinv(x), (EMPTY.astype("i4"),)),
    "Hermitian that is not square": (lambda xp, x: xp.linalg.pinv(x[:2], hermitian=True), (SQUARE,)),
    "singular values of a Hermitian": (
        lambda xp, x: xp.linalg.svd(x, compute_uv=False, hermitian=True),
        (SQUARE,),
    ),
    "Hermitian SVD of what is not square": (lambda xp, x: xp.linalg.svd(x[:2], hermitian=True), (SQUARE,)),
    "rank of a Hermitian that is not square": (lambda xp, x: xp.linalg.matrix_rank(x[:2], hermitian=True), (SQUARE,)),
    "rank by halves": (lambda xp, x: xp.linalg.matrix_rank(x), (SQUARE.astype("f2"),)),
    "reflectors": (lambda xp, x: xp.linalg.qr(x[:2], mode="raw"), (SQUARE,)),
    "chain with a stack": (lambda xp, x: xp.linalg.multi_dot([x, x, x]), (BATCH,)),
    "chain of two stacks": (lambda xp, x: xp.linalg.multi_dot([x, x]), (BATCH,)),
    "transform of a fraction": (lambda xp, x: xp.fft.fft(x, n=1.5), (SQUARE,)),
    "transform twice": (lambda xp, x: xp.fft.fftn(x, s=(2, 5), axes=(0, 0)), (SQUARE,)),
    "half a transform twice": (lambda xp, x: xp.fft.rfftn(x, axes=(0, 1, 0)), (SQUARE,)),
    "transform back twice": (lambda xp, x: xp.fft.irfftn(x, axes=(0, 0)), (SQUARE,)),
    "transform along no axis": (lambda xp, x: xp.fft.fftn(x, axes=()), (CUBE,)),
    "half a transform along no axis": (lambda xp, x: xp.fft.rfftn(x, axes=()), (CUBE,)),
    "transform as it is": (lambda xp, x: xp.fft.irfftn(x, s=(-1, 2), axes=(0, 1)), (CUBE,)),
    "transform of more than there is": (lambda xp, x: xp.fft.fftn(x, s=(2, 2), axes=(-2, -1)), (INTS[0],)),
    "shift twice": (lambda xp, x: xp.fft.fftshift(x, axes=(0, 0)), (SQUARE,)),
    "full of too much": (lambda xp: xp.full((2,), 300, dtype="u1"), ()),
    "full of a fraction": (lambda xp: xp.full((2,), -2.5, dtype="u1"), ()),
    "full of a row": (lambda xp: xp.full((2, 3), np.arange(3.0)), ()),
    "full of another shape": (lambda xp: xp.full((2,), np.arange(3.0)), ()),
    "full of a word": (lambda xp: xp.full((2,), "a", dtype="f4"), ()),
    "full like of too much": (lambda xp, x: xp.full_like(x, -1), (INTS.astype("u1"),)),
    "full like of another shape": (lambda xp, x: xp.full_like(x, np.ones(4)), (INTS,)),
    "truth value of zeros": (lambda xp: xp.zeros(True), ()),
    "diagonal of a fraction": (lambda xp: xp.eye(3, k=1.5), ()),
    "fraction of samples": (lambda xp: xp.linspace(0, 1, 2.5), ()),
    "data that do not fit": (lambda xp: xp.asarray([300, 1], dtype="u1"), ()),
    "data that are cut": (lambda xp: xp.asarray([1.5, 2.5], dtype="i4"), ()),
    "data that are no real numbers": (lambda xp: xp.asarray(1j, dtype="f4"), ()),
    "axis is a truth value": (lambda xp, x: xp.sum(x, axis=True), (CUBE,)),
    "position's axis is a truth value": (lambda xp, x: xp.argmax(x, axis=True), (CUBE,)),
    "mask of another shape": (lambda xp, x: xp.sum(x, where=np.ones(4, bool)), (SQUARE,)),
    "mask with more axes": (lambda xp, x: xp.mean(x, where=np.ones((2, 3, 3), bool)), (SQUARE,)),
    "mask of integers": (lambda xp, x: xp.any(x, where=np.array([1, 0, 1])), (SQUARE,)),
    "mask in a list": (lambda xp, x: xp.std(x, where=[1, 0, 1]), (SQUARE,)),
    "mask that holds everywhere": (lambda xp, x: xp.max(x, where=True), (SQUARE,)),
    "maximum without a start": (lambda xp, x: xp.max(x, initial=None), (SQUARE,)),
    "sum of nothing without a start": (lambda xp, x: xp.sum(x, initial=None), (EMPTY,)),
    "sum of some without a start": (lambda xp, x: xp.sum(x, initial=None, where=x > 5), (SQUARE,)),
    "start out of range": (lambda xp, x: xp.min(x, initial=300), (INTS.astype("u1"),)),
    "start that is no number": (lambda xp, x: xp.sum(x, initial=1j), (SQUARE,)),
    "spread as complex numbers": (lambda xp, x: xp.var(x, axis=0, dtype=complex), (INTS,)),
    "deviation as integers": (lambda xp, x: xp.std(x, axis=0, dtype="i2"), (INTS,)),
    "running over no axis": (lambda xp, x: xp.cumsum(x, axis=()), (SCALAR,)),
    "reshape K": (lambda xp, x: xp.reshape(x, (9,), order="K"), (SQUARE,)),
    "ravel K": (lambda xp, x: xp.ravel(x.T, order="K"), (SQUARE,)),
    "flatten in small letters": (lambda xp, x: x.flatten("f"), (SQUARE,)),
    "reshape in small letters": (lambda xp, x: xp.reshape(x, (9,), order="f"), (SQUARE,)),
    "ravel in small letters": (lambda xp, x: xp.ravel(x.T, order="k"), (SQUARE,)),
    "flatten X": (lambda xp, x: x.flatten("X"), (SQUARE,)),
    "conj of truths": (lambda xp, x: x.conj(), (SQUARE > 3,)),
    "conjugate": (lambda xp, x: x.conjugate(), (SQUARE * 1j,)),
    "searchsorted by name": (lambda xp, x: x.searchsorted(v=x[:2], side="right"), (INTS[0],)),
    "argsort by no field": (lambda xp, x: x.argsort(-1, "stable", None), (SQUARE,)),
    "astype in numpy's places": (lambda xp, x: x.astype("f4", "K", "same_kind", True, False), (SQUARE,)),
    "astype not safe": (lambda xp, x: x.astype("i4", casting="same_kind"), (SQUARE,)),
    "reshape as a copy": (lambda xp, x: x.reshape(9, copy=True), (SQUARE,)),
    "partition flat": (lambda xp, x: xp.partition(x, 7, axis=None), (SQUARE,)),
    "partition flat place": (lambda xp, x: xp.partition(x, 9, axis=None), (SQUARE,)),
    "partition nothing": (lambda xp, x: xp.partition(x, 5, axis=0), (EMPTY,)),
    "flatten F": (lambda xp, x: x.flatten("F"), (SQUARE,)),
    "transpose of a vector": (lambda xp, x: xp.transpose(x, -1), (INTS[0],)),
    "squeeze list": (lambda xp, x: xp.squeeze(x, [0]), (SQUARE[:1],)),
    "pad scalar": (lambda xp, x: xp.pad(x, 1, mode="reflect"), (SCALAR,)),
    "tril scalar": (lambda xp, x: xp.tril(x), (SCALAR,)),
    "tril None": (lambda xp, x: xp.tril(x, None), (SQUARE,)),
    "diag fraction": (lambda xp, x: xp.diag(x, 1.5), (INTS[0],)),
    "trace fraction": (lambda xp, x: xp.trace(x, 1.5), (SQUARE,)),
    "rot90 vector": (lambda xp, x: xp.rot90(x, 2), (INTS[0],)),
    "rot90 same axes": (lambda xp, x: xp.rot90(x, 2, (0, -2)), (SQUARE,)),
    "tensordot fraction": (lambda xp, x: xp.tensordot(x, x, 1.0), (SQUARE,)),
    "take of a scalar": (lambda xp, x: xp.take(x, [0, 0], axis=-1), (SCALAR,)),
    "take nothing": (lambda xp, x: xp.take(x, [], axis=0), (SQUARE,)),
    "take truths": (lambda xp, x: xp.take(x, np.array([True]), axis=0), (SQUARE[:1],)),
    "take of nothing": (lambda xp, x: xp.take(x, [0], axis=0, mode="clip"), (EMPTY,)),
    "diff beside a table of other rows": (lambda xp, x: xp.diff(x, prepend=np.zeros((7, 2))), (SQUARE,)),
    "diff beside a vector": (lambda xp, x: xp.diff(x, append=np.zeros(3)), (SQUARE,)),
    "diff beside what is not looked at": (lambda xp, x: xp.diff(x, n=0, append=np.zeros(3)), (SQUARE,)),
    "places by a table": (lambda xp: xp.ravel_multi_index(np.array([[3, 6, 6], [4, 5, 1]]), (7, 6)), ()),
    "places by a table of one row": (lambda xp: xp.ravel_multi_index(np.array([[3, 6]]), 7), ()),
    "places by a vector": (lambda xp: xp.ravel_multi_index(np.array([3, 6]), 7), ()),
    "clip below": (lambda xp, x: xp.clip(x, -5, 4), (INTS.astype("u1"),)),
    "clip to nothing": (lambda xp, x: xp.clip(x, 0, -5), (INTS.astype("u1"),)),
    "clip above": (lambda xp, x: xp.clip(x, 300, None), (INTS.astype("u1"),)),
    "round truths": (lambda xp, x: xp.round(x, 1), (SQUARE > 5,)),
    "partition place": (lambda xp, x: xp.partition(x, 7), (SQUARE,)),
    "split into none": (lambda xp, x: xp.array_split(x, 0), (SQUARE,)),
    "split into less than none": (lambda xp, x: xp.array_split(x, -2), (SQUARE,)),
    "bincount matrix": (lambda xp, x: xp.bincount(x), (INTS,)),
    "bincount fractions": (lambda xp, x: xp.bincount(x), (np.ones(3),)),
    "bincount weights": (lambda xp, x: xp.bincount(x, np.ones(2)), (INTS[0],)),
}


@pytest.mark.parametrize("name", EDGES)
def test_what_numpy_refuses_is_refused_when_it_is_built(name: str) -> None:
    function, args = EDGES[name]
    check(function, *args)


SHARES = [0.5, 1, [0.5], np.array([0.5], "f4"), np.float16(0.5), np.array([0, 1], "i4"), np.array(True)]


@pytest.mark.parametrize("method", ["linear", "hazen", "lower", "averaged_inverted_cdf"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "u8", "f2", "f8"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile"])
def test_dtypes_of_quantiles(name: str, dtype: str, share: Any, method: str) -> None:
    check(lambda xp, a: getattr(xp, name)(a, share, method=method), np.array([100, 20, 50, 60], dtype))


def test_arrays_from_nothing_are_laid_out_as_asked() -> None:
    for built in (lz.zeros((2, 3), order="F"), lz.empty((2, 3), order="F"), lz.full((2, 3), 7, order="F")):
        assert built.compute().flags.f_contiguous
    assert key(lz.zeros((2, 3), order="F")) != key(lz.zeros((2, 3))) == key(lz.zeros((2, 3), order="C"))
    with pytest.raises(ValueError, match="order"):
        lz.zeros((2, 3), order="F", backend="torch")


def test_arrays_whose_size_depends_on_values_are_stacked() -> None:
    x = lz.array(np.arange(4.0))
    assert lz.stack([x[x > 1], np.ones(2), x[x < 2]]).shape == (3, 2)
    assert lz.stack([x[x > 1], x[x < 2]], axis=1).shape == (None, 2)
    with pytest.raises(ValueError, match="same shape"):
        lz.stack([x[x > 1], np.ones(2), np.ones(3)])


def test_descending_order_keeps_equal_elements_in_theirs() -> None:
    data = np.array([[2, 1, 2, 3, 1], [5, 5, 4, 5, 0]])
    x = lz.array(data)
    order = lz.argsort(x, descending=True)
    assert (order.shape, order.dtype) == (data.shape, np.intp)
    np.testing.assert_array_equal(order.compute(), [[3, 0, 2, 1, 4], [0, 1, 3, 2, 4]])
    np.testing.assert_array_equal(lz.sort(x, descending=True, axis=0).compute(), -np.sort(-data, axis=0))
    flat = lz.sort(x, axis=None, descending=True)
    assert flat.shape == (10,)
    np.testing.assert_array_equal(flat.compute(), np.sort(data, axis=None)[::-1])


UNKNOWN: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "nonzero": (lambda xp, a: xp.nonzero(a), (INTS,)),
    "argwhere": (lambda xp, a: xp.argwhere(a), (INTS,)),
    "flatnonzero": (lambda xp, a: xp.flatnonzero(a), (INTS,)),
    "where one": (lambda xp, a: xp.where(a > 1), (INTS,)),
    "mask": (lambda xp, a: a[a > 1], (INTS,)),
    "mask of rows": (lambda xp, a: a[a[:, 0] > 1, 1:], (INTS,)),
    "unique_values": (lambda xp, a: xp.unique_values(a) if xp is lz else np.unique(a), (np.array([1, 2, 1]),)),
    "unique_counts": (lambda xp, a: tuple(xp.unique_counts(a)), (np.array([1, 2, 1]),)),
    "unique_inverse": (lambda xp, a: tuple(xp.unique_inverse(a)), (np.array([[1, 2, 1]]),)),
    "unique_all": (lambda xp, a: tuple(xp.unique_all(a)), (np.array([[1, 2, 1]]),)),
    "bincount": (lambda xp, a: xp.bincount(a), (np.array([1, 2, 1]),)),
    "eig": (lambda xp, a: xp.linalg.eig(a)[0], (SQUARE,)),
    "eigvals": (lambda xp, a: xp.linalg.eigvals(a), (BATCH,)),
    "lstsq": (lambda xp, a, b: tuple(xp.linalg.lstsq(a, b, rcond=None))[:2], (B.T, sample((4,)))),
    "after a mask": (lambda xp, a: (a[a > 1] + 1).sum(), (INTS,)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_function_whose_shape_or_dtype_depends_on_values(name: str) -> None:
    function, args = UNKNOWN[name]
    check(function, *args, exact=False)
