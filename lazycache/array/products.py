"""Products of arrays: matmul, tensordot, einsum and their kin."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.backends import NUMPY_RULES, numpy_dtype, passed_dtype
from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer import linalg as rules
from lazycache.array.infer import manipulation as manipulation_rules
from lazycache.array.infer.dtypes import BOOL, DType, foreign_dtype, result_type, ufunc_dtype
from lazycache.array.infer.einsum import einsum_shape, is_view, parse_interleaved
from lazycache.array.node import ArrayNode, make
from lazycache.array.operands import Operand, common_backend, operand
from lazycache.array.reductions import total_dtype
from lazycache.errors import NotComputedError
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def product_dtype(left: Operand, right: Operand, ufunc: np.ufunc = np.multiply) -> DType:
    """Return the dtype of a product of two arrays."""
    backend = common_backend((left, right))
    if backend not in NUMPY_RULES:
        return foreign_dtype(ufunc, (left.kind, right.kind))
    # Numbers become arrays, and have the dtypes of such.
    dtypes = (left.dtype, right.dtype)
    return None if backend == "dask" and BOOL in dtypes else ufunc_dtype(ufunc, dtypes)


def _product(name: str, left: Operand, right: Operand, shape: Shape, *args: Any, **kwargs: Any) -> LazyArray:
    dtype = product_dtype(left, right)
    backend = common_backend((left, right))
    return make(array_function(name), (left.arg, right.arg, *args), kwargs or NO_KWARGS, shape, dtype, backend)


_MATMUL = array_function("matmul")


def matmul(x1: Any, x2: Any, /) -> LazyArray:
    """Return the matrix product, over stacks of matrices."""
    if type(x1) is ArrayNode._concrete and type(x2) is type(x1) and x1._backend == x2._backend in NUMPY_RULES:
        shape = rules.matmul(x1._shape, x2._shape)
        dtype = ufunc_dtype(np.matmul, (x1._dtype, x2._dtype))
        deps = (x1, x2) if x1 is not x2 else (x1,)
        return make(_MATMUL, (x1, x2), NO_KWARGS, shape, dtype, x1._backend, deps)
    left, right = operand(x1), operand(x2)
    shape = rules.matmul(left.shape, right.shape)
    dtype = product_dtype(left, right, np.matmul)
    backend = common_backend((left, right))
    return make(_MATMUL, (left.arg, right.arg), NO_KWARGS, shape, dtype, backend)


def dot(x1: Any, x2: Any, /) -> LazyArray:
    """Return numpy's dot product: over the last axis of one and the last but one of the other."""
    left, right = operand(x1), operand(x2)
    return _product("dot", left, right, rules.dot(left.shape, right.shape))


def inner(x1: Any, x2: Any, /) -> LazyArray:
    """Return the product summed over the last axes."""
    left, right = operand(x1), operand(x2)
    return _product("inner", left, right, rules.inner(left.shape, right.shape))


def outer(x1: Any, x2: Any, /) -> LazyArray:
    """Return each element of one times each of the other, both flattened."""
    left, right = operand(x1), operand(x2)
    return _product("outer", left, right, (left.size, right.size))


def vdot(x1: Any, x2: Any, /) -> LazyArray:
    """Return the product of two vectors, the first conjugated."""
    left, right = operand(x1), operand(x2)
    if left.size != right.size and left.size is not None and right.size is not None:
        raise ValueError("cannot reshape array of size " + f"{right.size} into shape ({left.size},)")
    return _product("vdot", left, right, ())


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> LazyArray:
    """Return the products of vectors along an axis, the first conjugated."""
    left, right = operand(x1), operand(x2)
    shape = rules.vecdot(left.shape, right.shape, axis)
    return _product("vecdot", left, right, shape, **({} if axis == -1 else {"axis": axis}))


def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> LazyArray:
    """Return the product summed over a number of axes, or over two lists of them."""
    left, right = operand(x1), operand(x2)
    plain = _axes(axes)
    shape = rules.tensordot(left.shape, right.shape, plain)
    return _product("tensordot", left, right, shape, **({} if plain == 2 else {"axes": plain}))


def _axes(axes: Any) -> Any:
    if isinstance(axes, (tuple, list, np.ndarray)):
        return tuple(_axes(one) for one in axes)
    return operator.index(axes)


def kron(x1: Any, x2: Any, /) -> LazyArray:
    """Return the Kronecker product."""
    left, right = operand(x1), operand(x2)
    return _product("kron", left, right, rules.kron(left.shape, right.shape))


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> LazyArray:
    """Return the cross products of vectors of three."""
    left, right = operand(x1), operand(x2)
    shape = rules.cross(left.shape, right.shape, operator.index(axis))
    product = product_dtype(left, right)
    if product is not None:
        ufunc_dtype(np.subtract, (product, product))
    return _product("linalg.cross", left, right, shape, **({} if axis == -1 else {"axis": axis}))


def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> LazyArray:
    """Return the sums along the diagonals of the planes of two axes."""
    found = operand(x)
    shape = manipulation_rules.diagonal(found.shape, operator.index(offset), axis1, axis2)[:-1]
    known = total_dtype(np.add, found, dtype)
    options: dict[str, Any] = {} if dtype is None else {"dtype": passed_dtype(dtype)}
    if (offset, axis1, axis2) != (0, 0, 1):
        options = {"offset": offset, "axis1": axis1, "axis2": axis2, **options}
    return make(array_function("trace"), (found.arg,), options or NO_KWARGS, shape, known, found.backend)


def _adds_up(operands: list[Operand], backend: str | None) -> bool:
    """Say whether einsum may add integers up to wider ones."""
    integers = all(one.dtype is not None and one.dtype.kind in "biu" for one in operands)
    return integers and backend in ("dask", "torch")


def einsum(
    *operands: Any,
    optimize: Any = None,
    out: Any = None,
    dtype: Any = None,
    casting: Any = "safe",
    order: str = "K",
) -> LazyArray:
    """Return the sum of products that subscripts say, in Einstein's notation.

    Both forms are taken: ``einsum("ij,jk", a, b)``, with or without an output
    and with ellipses, and ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> a, b = lz.Variable((2, 3)), lz.Variable((3, 4))
    >>> lz.einsum("ij,jk", a, b).shape, lz.einsum(a, [0, 1], b, [1, 2], [2, 0]).shape
    ((2, 4), (4, 2))
    """
    del order
    if out is not None:
        raise TypeError("a lazy array cannot be computed into an array that is there: leave out=")
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at least one "
            "operand and its corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], list(operands[1:])
        if not arrays:
            raise ValueError("No input operands")
    else:
        subscripts, arrays = parse_interleaved(operands)
    found = [operand(x) for x in arrays]
    shape = einsum_shape(subscripts, [one.shape for one in found])
    backend = common_backend(found)
    if any(one.dtype is not None and one.dtype.kind not in "biufcO" for one in found):
        raise TypeError("invalid data type for einsum")
    if backend in NUMPY_RULES and is_view(subscripts):
        dtype = None
    known = result_type([one.dtype for one in found]) if dtype is None else numpy_dtype(dtype)
    if backend not in NUMPY_RULES and len({one.dtype for one in found}) > 1:
        known = None
    if dtype is None and _adds_up(found, backend) and not is_view(subscripts):
        known = None
    options: dict[str, Any] = {} if dtype is None else {"dtype": passed_dtype(dtype)}
    for one in found:
        if options and known is not None and one.dtype is not None and not np.can_cast(one.dtype, known, casting):
            raise TypeError(f"Cannot cast {one.dtype!r} to {known!r} according to the rule {casting!r}")
    if casting != "safe":
        options["casting"] = casting
    if optimize is not None:
        options["optimize"] = optimize
    args = (subscripts.replace(" ", ""), *(one.arg for one in found))
    return make(array_function("einsum"), args, options or NO_KWARGS, shape, known, backend)


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """Return the order of contractions that costs least, and what it costs, at once: it follows from shapes."""
    path: Any = np.einsum_path
    return path(*map(_stand_in, operands), optimize=optimize, einsum_call=einsum_call)


def _stand_in(value: Any) -> Any:
    """Return an array of the same shape that takes no memory; what is no array as it is."""
    if not isinstance(value, ArrayNode):
        return value
    if None in value._shape:
        raise NotComputedError(operation="the cost of arrays whose sizes depend on values")
    return np.broadcast_to(np.empty((), value._dtype), value._shape)  # type: ignore[arg-type]
