"""numpy's functions of polynomials that are given by their coefficients, the highest power first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.functions import array_function
from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import FLOAT64, INT64, DType, inexact_dtype, real_dtype, result_type, ufunc_dtype
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, operand
from lazycache.array.searching import parts
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "roots"]


def _at_least_1d(x: Any) -> Operand:
    found = operand(x)
    return Operand(found.arg, found.shape or (1,), found.dtype, found.backend)


def _result(ufunc: np.ufunc, *kinds: Any) -> DType:
    return None if any(kind is None for kind in kinds) else ufunc_dtype(ufunc, kinds)


def _check_vector(x: Operand, message: str) -> None:
    if len(x.shape) > 1:
        raise ValueError(message)


def poly(seq_of_zeros: Any) -> LazyArray:
    """Return the polynomial with these roots, or the characteristic polynomial of a matrix.

    Of complex roots, and of a matrix, the dtype depends on values: conjugate
    pairs make it real.
    """
    found = _at_least_1d(seq_of_zeros)
    size = found.shape[0]
    is_matrix = len(found.shape) == 2 and size != 0 and (None in found.shape or size == found.shape[1])
    if len(found.shape) != 1 and not is_matrix:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    dtype = None if found.dtype is None or is_matrix else np.dtype(np.mintypecode([found.dtype.char]))
    if size == 0:
        return _node("poly", (found,), (), FLOAT64)
    return _node("poly", (found,), (None if size is None else size + 1,), None if _is_complex(dtype) else dtype)


def _is_complex(dtype: DType) -> bool:
    return dtype is not None and dtype.kind == "c"


def roots(p: Any) -> LazyArray:
    """Return the roots; how many there are, and whether they are real, depends on values."""
    found = _at_least_1d(p)
    _check_vector(found, "Input must be a rank-1 array.")
    return _node("roots", (found,), (None,), None)


def _sum(name: str, ufunc: np.ufunc, a1: Any, a2: Any) -> LazyArray:
    left, right = _at_least_1d(a1), _at_least_1d(a2)
    first, second = left.shape[0], right.shape[0]
    if first is None or second is None:
        shape = broadcast(left.shape, right.shape)
    else:
        shape = broadcast(*(_lengthened(one.shape, max(first, second)) for one in (left, right)))
    return _node(name, (left, right), shape, _result(ufunc, left.dtype, right.dtype))


def _lengthened(shape: Shape, size: int) -> Shape:
    """Return the shape of coefficients with zeros before them."""
    if shape[0] != size and len(shape) > 1:
        raise ValueError("all the input arrays must have same number of dimensions")
    return (size, *shape[1:])


def polyadd(a1: Any, a2: Any) -> LazyArray:
    """Return the sum of two polynomials."""
    return _sum("polyadd", np.add, a1, a2)


def polysub(a1: Any, a2: Any) -> LazyArray:
    """Return the difference of two polynomials."""
    return _sum("polysub", np.subtract, a1, a2)


def polymul(a1: Any, a2: Any) -> LazyArray:
    """Return the product of two polynomials, without leading zeros, so that its length depends on values."""
    left, right = _at_least_1d(a1), _at_least_1d(a2)
    for one in (left, right):
        _check_vector(one, "Polynomial must be 1d only.")
        if one.dtype is not None and one.dtype.kind == "M":
            raise ValueError("function not available for this data type")
    return _node("polymul", (left, right), (None,), result_type((left.dtype, right.dtype)))


def polydiv(u: Any, v: Any) -> tuple[LazyArray, ...]:
    """Return the quotient and the remainder, whose length depends on values."""
    left, right = _at_least_1d(u), _at_least_1d(v)
    for one in (left, right):
        _check_vector(one, "Polynomial must be 1d only.")
        if one.shape[0] == 0:
            raise IndexError("index 0 is out of bounds for axis 0 with size 0")
    dtype = _result(np.add, _result(np.add, left.dtype, float), _result(np.add, right.dtype, float))
    sizes = (left.shape[0], right.shape[0])
    length = None if sizes[0] is None or sizes[1] is None else max(sizes[0] - sizes[1] + 1, 1)
    outputs: list[tuple[Shape, DType]] = [((length,), dtype), ((None,), dtype)]
    return parts("polydiv", (left.arg, right.arg), None, common_backend((left, right)), outputs)


def _order(m: Any, message: str) -> int:
    order = int(m)
    if order < 0:
        raise ValueError(message)
    return order


def _coefficients(p: Any) -> tuple[Operand, Size]:
    found = operand(p)
    if not found.shape:
        raise TypeError("len() of unsized object")
    return found, found.shape[0]


def polyder(p: Any, m: int = 1) -> LazyArray:
    """Return the derivative, or that of order `m`."""
    order = _order(m, "Order of derivative must be positive (see polyint)")
    found, size = _coefficients(p)
    shape, dtype = found.shape, found.dtype
    # numpy takes one derivative more than it returns, and a polynomial without coefficients stays one.
    for left in range(order if size is None else min(order, size + 1), -1, -1):
        shorter = None if shape[0] is None else max(shape[0] - 1, 0)
        following = broadcast((shorter, *shape[1:]), (shorter,)), _result(np.multiply, dtype, INT64)
        if left:
            shape, dtype = following
    return _node("polyder", (found,), shape, dtype, **({} if order == 1 else {"m": order}))


def polyint(p: Any, m: int = 1, k: Any = None) -> LazyArray:
    """Return the integral, or that of order `m`, with the constants `k`."""
    order = _order(m, "Order of integral must be positive (see polyder)")
    found, size = _coefficients(p) if order else (operand(p), None)
    constants = None if k is None else _at_least_1d(k)
    given = None if constants is None else constants.shape[0]
    if given not in (None, 1) and given < order:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    options = {**({} if order == 1 else {"m": order}), **({} if constants is None else {"k": constants.arg})}
    if not order:
        return _node("polyint", (found,), found.shape, found.dtype, **options)
    _check_vector(found, "all the input array dimensions except for the concatenation axis must match exactly")
    added = FLOAT64 if constants is None else constants.dtype
    if constants is not None and constants.shape[0] == 1 and order > 1:
        added = _result(np.multiply, added, FLOAT64)
    dtype = found.dtype
    for _ in range(min(order, 2)):
        dtype = result_type((_result(np.true_divide, dtype, INT64), added))
    return _node("polyint", (found,), (None if size is None else size + order,), dtype, **options)


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """Return the polynomial of degree `deg` that fits points best, in the sense of least squares.

    With `full` a tuple with the residuals, the rank, the singular values and
    `rcond` too; with `cov` one with the covariance.
    """
    where, values = operand(x), operand(y)
    weights = None if w is None else operand(w)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    _check_points(where, values, weights)
    count = int(deg) + 1
    abscissas = _result(np.add, where.dtype, float)
    left = None if abscissas is None else result_type((abscissas, np.dtype(int)))
    right = _result(np.add, values.dtype, float)
    if weights is not None:
        heavy = _result(np.add, weights.dtype, float)
        for number in (left, right):
            if number is not None and heavy is not None and not np.can_cast(heavy, number, "same_kind"):
                raise TypeError(f"weights of {heavy.name} do not go into points of {number.name}")
    dtype = result_type((inexact_dtype(left), inexact_dtype(right)))
    rest = values.shape[1:]
    given = {"rcond": rcond, "full": full or None, "w": None if weights is None else weights.arg, "cov": cov or None}
    options = {name: value for name, value in given.items() if value is not None}
    every = [where, values, *([] if weights is None else [weights])]
    args = (where.arg, values.arg, int(deg))
    fitted: tuple[Shape, DType] = ((count, *rest), dtype)
    if full:
        size = where.shape[0]
        smaller = None if size is None else min(size, count)
        limit = abscissas if rcond is None else np.dtype(type(rcond))
        real, rank = real_dtype(dtype), np.dtype(np.int32)
        outputs = [fitted, ((None,), real), ((), rank), ((smaller,), real), ((), limit)]
        return parts("polyfit", args, options, common_backend(every), outputs)
    if cov:
        if cov != "unscaled" and where.shape[0] is not None and where.shape[0] <= count:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        spread = inexact_dtype(left) if cov == "unscaled" else result_type((inexact_dtype(left), real_dtype(dtype)))
        planes = (1,) if rest and cov == "unscaled" else rest
        return parts("polyfit", args, options, common_backend(every), [fitted, ((count, count, *planes), spread)])
    return make(array_function("polyfit"), args, options or NO_KWARGS, fitted[0], dtype, common_backend(every))


def _check_points(x: Operand, y: Operand, w: Operand | None) -> None:
    if len(x.shape) != 1:
        raise TypeError("expected 1D vector for x")
    if x.shape[0] == 0:
        raise TypeError("expected non-empty vector for x")
    if len(y.shape) not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0] and None not in (x.shape[0], y.shape[0]):
        raise TypeError("expected x and y to have same length")
    if w is not None:
        if len(w.shape) != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0] and None not in (w.shape[0], y.shape[0]):
            raise TypeError("expected w and y to have the same length")


def _node(name: str, operands: tuple[Operand, ...], shape: Shape, dtype: DType, **kwargs: Any) -> LazyArray:
    args = tuple(one.arg for one in operands)
    return make(array_function(name), args, kwargs or NO_KWARGS, shape, dtype, common_backend(operands))
