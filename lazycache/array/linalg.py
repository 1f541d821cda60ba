"""Linear algebra: ``lazycache.array.linalg``, as in the array API standard and numpy.linalg."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from lazycache.array.backends import NUMPY_RULES
from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer import linalg as rules
from lazycache.array.infer.dtypes import INTP, DType, complex_dtype, inexact_dtype, real_dtype, result_type
from lazycache.array.infer.reductions import check_identity, normalize_axes, normalize_axis, reduced
from lazycache.array.manipulation import diagonal as _diagonal
from lazycache.array.manipulation import matrix_transpose
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, operand
from lazycache.array.products import cross, matmul, tensordot, vecdot
from lazycache.array.products import outer as _outer
from lazycache.array.products import trace as _trace
from lazycache.array.searching import parts
from lazycache.array.tensors import tensorinv, tensorsolve
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv",
    "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer",
    "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip


class EighResult(NamedTuple):
    """What `eig` and `eigh` return."""

    eigenvalues: LazyArray
    eigenvectors: LazyArray


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: LazyArray
    R: LazyArray


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: LazyArray
    logabsdet: LazyArray


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: LazyArray
    S: LazyArray
    Vh: LazyArray


def _node(name: str, x: Operand, shape: Shape, dtype: DType, *args: Any, **kwargs: Any) -> LazyArray:
    return make(array_function(f"linalg.{name}"), (x.arg, *args), kwargs or NO_KWARGS, shape, dtype, x.backend)


def cholesky(x: Any, /, *, upper: bool = False) -> LazyArray:
    """Return the triangular factor of a positive definite matrix."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    return _node("cholesky", found, found.shape, inexact_dtype(found.dtype), **({"upper": True} if upper else {}))


def inv(x: Any, /) -> LazyArray:
    """Return the inverse."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    return _node("inv", found, found.shape, inexact_dtype(found.dtype))


def pinv(x: Any, /, rcond: Any = None, *, rtol: Any = None, hermitian: bool = False) -> LazyArray:
    """Return the pseudo-inverse."""
    found = operand(x)
    rows, columns = rules.check_matrix(found.shape, square=hermitian and 0 not in found.shape[-2:])
    options = {**({} if rcond is None else {"rcond": rcond}), **({} if rtol is None else {"rtol": rtol})}
    if hermitian:
        options["hermitian"] = True
    # Of an empty one numpy gives an array like it, without a look at it.
    dtype = found.dtype if 0 in (rows, columns) and found.backend in NUMPY_RULES else inexact_dtype(found.dtype)
    return _node("pinv", found, (*found.shape[:-2], columns, rows), dtype, **options)


def det(x: Any, /) -> LazyArray:
    """Return the determinant."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    return _node("det", found, found.shape[:-2], inexact_dtype(found.dtype))


def slogdet(x: Any, /) -> SlogdetResult:
    """Return the sign of the determinant, and the logarithm of its size."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    dtype = inexact_dtype(found.dtype)
    outputs = [(found.shape[:-2], dtype), (found.shape[:-2], real_dtype(dtype))]
    return SlogdetResult(*parts("linalg.slogdet", (found.arg,), None, found.backend, outputs))


def svd(x: Any, /, full_matrices: bool = True, compute_uv: bool = True, *, hermitian: bool = False) -> Any:
    """Return the singular value decomposition ``U @ diag(S) @ Vh``, as a tuple of these names.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> U, S, Vh = lz.linalg.svd(lz.Variable((200, 5), dtype="f8"), full_matrices=False)
    >>> U.shape, S.shape, Vh.shape
    ((200, 5), (5,), (5, 5))
    """
    if not compute_uv and not hermitian:
        return svdvals(x)
    found = operand(x)
    dtype = inexact_dtype(found.dtype)
    rules.check_matrix(found.shape, square=hermitian)
    left, values, right = rules.svd(found.shape, full_matrices)
    options = {**({} if full_matrices else {"full_matrices": False}), **({"hermitian": True} if hermitian else {})}
    if not compute_uv:
        return _node("svd", found, values, real_dtype(dtype), compute_uv=False, **options)
    outputs = [(left, dtype), (values, real_dtype(dtype)), (right, dtype)]
    return SVDResult(*parts("linalg.svd", (found.arg,), options, found.backend, outputs))


def svdvals(x: Any, /) -> LazyArray:
    """Return the singular values."""
    found = operand(x)
    return _node("svdvals", found, rules.svd(found.shape, False)[1], real_dtype(inexact_dtype(found.dtype)))


def qr(x: Any, /, mode: str = "reduced") -> Any:
    """Return an orthogonal and a triangular factor, as a tuple with the names ``Q`` and ``R``.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> factors = lz.linalg.qr(lz.Variable((5, 3), dtype="f8"))
    >>> factors.Q.shape, factors.R.shape
    ((5, 3), (3, 3))
    """
    found = operand(x)
    dtype = inexact_dtype(found.dtype)
    if mode == "r":
        rows, columns = rules.check_matrix(found.shape)
        return _node("qr", found, (*found.shape[:-2], rules.smaller(rows, columns), columns), dtype, mode="r")
    if mode == "raw":
        rows, columns = rules.check_matrix(found.shape)
        shapes = (*found.shape[:-2], columns, rows), (*found.shape[:-2], rules.smaller(rows, columns))
        return parts("linalg.qr", (found.arg,), {"mode": mode}, found.backend, [(shape, dtype) for shape in shapes])
    left, right = rules.qr(found.shape, mode)
    options = {} if mode == "reduced" else {"mode": mode}
    return QRResult(*parts("linalg.qr", (found.arg,), options, found.backend, [(left, dtype), (right, dtype)]))


def eig(x: Any, /) -> EighResult:
    """Return eigenvalues and eigenvectors; numpy gives real ones where it can, so their dtype depends on values."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    dtype = _eigen_dtype(found)
    outputs = [(found.shape[:-1], dtype), (found.shape, dtype)]
    return EighResult(*parts("linalg.eig", (found.arg,), None, found.backend, outputs))


def eigvals(x: Any, /) -> LazyArray:
    """Return eigenvalues; numpy gives real ones where it can, so their dtype depends on values."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    return _node("eigvals", found, found.shape[:-1], _eigen_dtype(found))


def _eigen_dtype(x: Operand) -> DType:
    dtype = inexact_dtype(x.dtype)
    if dtype is None or dtype.kind == "c":
        return dtype
    # torch gives complex numbers always.
    return complex_dtype(dtype) if x.backend == "torch" else None


def eigh(x: Any, /, UPLO: str = "L") -> EighResult:
    """Return eigenvalues, the smallest first, and eigenvectors, as columns, of a Hermitian matrix.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> values, vectors = lz.linalg.eigh(lz.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.compute()
    array([1., 3.])
    """
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    _check_triangle(UPLO)
    dtype = inexact_dtype(found.dtype)
    outputs = [(found.shape[:-1], real_dtype(dtype)), (found.shape, dtype)]
    options = {} if UPLO == "L" else {"UPLO": UPLO}
    return EighResult(*parts("linalg.eigh", (found.arg,), options, found.backend, outputs))


def eigvalsh(x: Any, /, UPLO: str = "L") -> LazyArray:
    """Return eigenvalues of a Hermitian matrix."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    _check_triangle(UPLO)
    options = {} if UPLO == "L" else {"UPLO": UPLO}
    return _node("eigvalsh", found, found.shape[:-1], real_dtype(inexact_dtype(found.dtype)), **options)


def _check_triangle(name: str) -> None:
    if name.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")


def solve(x1: Any, x2: Any, /) -> LazyArray:
    """Return the solution of a system of linear equations."""
    left, right = operand(x1), operand(x2)
    shape = rules.solve(left.shape, right.shape)
    dtype = result_type((inexact_dtype(left.dtype), inexact_dtype(right.dtype)))
    backend = common_backend((left, right))
    if backend == "dask" and left.dtype != right.dtype:
        dtype = None
    return make(array_function("linalg.solve"), (left.arg, right.arg), NO_KWARGS, shape, dtype, backend)


def lstsq(x1: Any, x2: Any, /, rcond: Any = None) -> tuple[LazyArray, ...]:
    """Return the solution of least squares, the residuals, the rank and the singular values."""
    left, right = operand(x1), operand(x2)
    shapes = list(rules.lstsq(left.shape, right.shape))
    if common_backend((left, right)) not in (None, "numpy"):
        # Some leave the residuals and the singular values out.
        shapes[1] = shapes[3] = (None,)
    dtype = result_type((inexact_dtype(left.dtype), inexact_dtype(right.dtype)))
    dtypes: tuple[DType, ...] = (dtype, real_dtype(dtype), np.dtype(np.int32), real_dtype(dtype))
    options = {} if rcond is None else {"rcond": rcond}
    backend = common_backend((left, right))
    outputs = list(zip(shapes, dtypes, strict=True))
    return parts("linalg.lstsq", (left.arg, right.arg), options, backend, outputs)


def matrix_power(x: Any, n: int, /) -> LazyArray:
    """Return a matrix to an integer power."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    power = operator.index(n)
    return _node("matrix_power", found, found.shape, found.dtype if power >= 0 else inexact_dtype(found.dtype), power)


def matrix_rank(x: Any, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> LazyArray:
    """Return how many singular values are above a tolerance: `tol`, or `rtol` of the largest."""
    found = operand(x)
    shape = found.shape[:-2] if len(found.shape) > 1 else ()
    if len(found.shape) > 1:
        rules.check_matrix(found.shape, square=hermitian)
        inexact_dtype(found.dtype)
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    options = {name: operand(value).arg for name, value in (("tol", tol), ("rtol", rtol)) if value is not None}
    if hermitian:
        options["hermitian"] = True
    return _node("matrix_rank", found, shape, INTP, **options)


def expm(x: Any, /) -> LazyArray:
    """Return the exponential of a matrix; scipy computes it."""
    found = operand(x)
    rules.check_matrix(found.shape, square=True)
    return _node("expm", found, found.shape, inexact_dtype(found.dtype))


def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> LazyArray:  # noqa: A002
    """Return a norm of a vector or a matrix, as numpy.linalg.norm."""
    found = operand(x)
    ndim = len(found.shape)
    if axis is None and ord is not None and ndim not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    axes = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (operator.index(axis),)
    if axis is not None and len(axes) not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    plain = axis is None and ord is None
    if not plain:
        _check_order(ord, axes, found)
    shape = reduced(found.shape, tuple(axes), keepdims)
    options = {**({} if ord is None else {"ord": ord}), **({} if axis is None else {"axis": axis})}
    if keepdims:
        options["keepdims"] = True
    return _node("norm", found, shape, _norm_dtype(found), **options)


def _check_order(order: Any, axes: Any, x: Operand) -> None:
    """Refuse a norm that vectors, or matrices, along `axes` do not have."""
    if len(axes) == 1:
        _check_vector_order(order, axes, x)
        return
    first, second = (normalize_axis(axis, len(x.shape)) for axis in axes)
    if first == second:
        raise ValueError("Duplicate axes given.")
    if order not in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "f", "nuc"):
        raise ValueError("Invalid norm order for matrices.")
    rows, columns = x.shape[first], x.shape[second]
    smallest_of = {-1: columns, -2: rules.smaller(rows, columns), -np.inf: rows}
    if smallest_of.get(order) == 0:
        raise ValueError("zero-size array to reduction operation minimum which has no identity")
    if order in (2, -2, "nuc"):
        inexact_dtype(x.dtype)


def _check_vector_order(order: Any, axes: Any, x: Operand) -> None:
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order == -np.inf:
        check_identity(x.shape, axes, "minimum")


def _norm_dtype(x: Operand) -> DType:
    dtype = x.dtype
    if dtype is None or (x.backend not in (None, "numpy") and dtype.kind not in "fc"):
        return None
    return np.dtype(float) if dtype.kind not in "fc" else real_dtype(dtype.newbyteorder("="))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> LazyArray:  # noqa: A002
    """Return a norm over one axis, several, or all."""
    found = operand(x)
    if isinstance(axis, list):
        raise TypeError("'axis' must be None, an integer or a tuple of integers")
    normalize_axes(axis, len(found.shape))
    shape = reduced(found.shape, axis, keepdims)
    _check_vector_order(ord, axis, found)
    options = {**({} if axis is None else {"axis": axis}), **({"keepdims": True} if keepdims else {})}
    if ord != 2:
        options["ord"] = ord
    return _node("vector_norm", found, shape, _norm_dtype(found), **options)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> LazyArray:  # noqa: A002
    """Return a norm of matrices."""
    found = operand(x)
    rules.check_matrix(found.shape)
    _check_order(ord, (-2, -1), found)
    shape = (*found.shape[:-2], *((1, 1) if keepdims else ()))
    options = {**({"keepdims": True} if keepdims else {}), **({} if ord == "fro" else {"ord": ord})}
    return _node("matrix_norm", found, shape, _norm_dtype(found), **options)


def cond(x: Any, /, p: Any = None) -> LazyArray:
    """Return the condition number."""
    found = operand(x)
    rules.check_matrix(found.shape)
    if 0 in found.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    if p not in (None, 2, -2):
        rules.check_matrix(found.shape, square=True)
        _check_order(p, (-2, -1), found)
    dtype = real_dtype(inexact_dtype(found.dtype))
    return _node("cond", found, found.shape[:-2], dtype, **({} if p is None else {"p": p}))


def multi_dot(arrays: Any, /) -> LazyArray:
    """Return the product of a chain of matrices, in the order that costs least."""
    found = [operand(x) for x in arrays]
    shape = rules.multi_dot([one.shape for one in found])
    dtype = result_type([one.dtype for one in found])
    args = (tuple(one.arg for one in found),)
    return make(array_function("linalg.multi_dot"), args, NO_KWARGS, shape, dtype, common_backend(found))


def outer(x1: Any, x2: Any, /) -> LazyArray:
    """Return each element of one vector times each of the other."""
    for x in (x1, x2):
        if len(operand(x).shape) != 1:
            raise ValueError("Input arrays must be one-dimensional.")
    return _outer(x1, x2)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> LazyArray:
    """Return the sums along the diagonals of matrices (the last two axes)."""
    return _trace(x, offset, -2, -1, dtype=dtype)


def diagonal(x: Any, /, *, offset: int = 0) -> LazyArray:
    """Return the diagonals of matrices (the last two axes)."""
    return _diagonal(x, offset, -2, -1)


def __dir__() -> list[str]:
    return __all__
