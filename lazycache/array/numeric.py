"""Functions of numpy that the array API standard does not have: differences, integrals, choices, histograms."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import BOOL, FLOAT64, INTP, DType, result_type, ufunc_dtype
from lazycache.array.infer.indexing import check_mode
from lazycache.array.infer.manipulation import concatenated
from lazycache.array.infer.reductions import normalize_axes, normalize_axis, reduced, whole_axis
from lazycache.array.manipulation import plain_ints
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, operand
from lazycache.array.searching import check_order, parts
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = [
    "choose", "convolve", "correlate", "diff", "digitize", "ediff1d", "fix", "gradient", "i0",
    "interp", "isneginf", "isposinf", "polyval", "select", "trapezoid", "unwrap", "vander",
]  # fmt: skip


def _node(name: str, operands: Sequence[Operand], shape: Shape, dtype: DType, **kwargs: Any) -> LazyArray:
    args = tuple(one.arg for one in operands)
    return make(array_function(name), args, kwargs or NO_KWARGS, shape, dtype, common_backend(operands))


def _float_dtype(dtype: DType) -> DType:
    """Return the dtype of numbers that are divided."""
    return None if dtype is None else ufunc_dtype(np.true_divide, (dtype, float))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> LazyArray:
    """Return, for each place, the element of the first choice whose condition holds, else `default`."""
    tests, choices = [operand(x) for x in condlist], [operand(x) for x in choicelist]
    if len(tests) != len(choices):
        raise ValueError("list of cases must be same length as list of conditions")
    if not tests:
        raise ValueError("select with an empty condition list is not possible")
    other = operand(default)
    for number, test in enumerate(tests):
        if test.dtype is not None and test.dtype != BOOL:
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    every = [*tests, *choices, other]
    shape = broadcast(*(one.shape for one in every))
    dtype = result_type([one.kind for one in (*choices, other)])
    for one in choices:
        # numpy copies a number as the array that it has made of it.
        if one.dtype is not None and dtype is not None and not np.can_cast(one.dtype, dtype, "same_kind"):
            raise TypeError(f"Cannot cast array data from {one.dtype!r} to {dtype!r} according to the rule 'same_kind'")
    args = (tuple(one.arg for one in tests), tuple(one.arg for one in choices), other.arg)
    return make(array_function("select"), args, NO_KWARGS, shape, dtype, common_backend(every))


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> LazyArray:
    """Return, for each place, the element of the choice that `a` names there."""
    if out is not None:
        raise TypeError("a lazy array cannot be computed into an array that is there: leave out=")
    check_mode(mode)
    which, given = operand(a), [operand(x) for x in choices]
    if which.dtype is not None and not np.can_cast(which.dtype, INTP):
        raise TypeError(f"Cannot cast array data from {which.dtype!r} to {INTP!r} according to the rule 'safe'")
    shape = broadcast(which.shape, *(one.shape for one in given))
    dtype = result_type([one.kind for one in given])
    options = {} if mode == "raise" else {"mode": mode}
    args = (which.arg, tuple(one.arg for one in given))
    return make(array_function("choose"), args, options or NO_KWARGS, shape, dtype, common_backend([which, *given]))


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> LazyArray:
    """Return the piecewise linear function through points, evaluated at `x`."""
    where, points, values = operand(x), operand(xp), operand(fp)
    if len(points.shape) != 1 or len(values.shape) != 1:
        raise ValueError("object too deep for desired array")
    if None not in (points.shape[0], values.shape[0]) and points.shape != values.shape:
        raise ValueError("fp and xp are not of the same length.")
    if points.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    for one in (where, points):
        if one.dtype is not None and not np.can_cast(one.dtype, FLOAT64):
            raise TypeError(f"Cannot cast array data from {one.dtype!r} to {FLOAT64!r} according to the rule 'safe'")
    given = {"left": left, "right": right, "period": period}
    options = {name: operand(value).arg for name, value in given.items() if value is not None}
    kind = None if values.dtype is None else values.dtype.kind
    dtype = None if kind is None else np.dtype(complex) if kind == "c" else FLOAT64
    return _node("interp", (where, points, values), where.shape, dtype, **options)


def _check_steps(shape: Shape, axes: tuple[int, ...], steps: list[Operand]) -> None:
    """Refuse distances between elements that are neither one number nor one number or vector for each axis."""
    if not steps or (len(steps) == 1 and not steps[0].shape):
        return
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    for axis, step in zip(axes, steps, strict=True):
        if len(step.shape) > 1:
            raise ValueError("distances must be either scalars or 1d")
        if step.shape and None not in (step.shape[0], shape[axis]) and step.shape[0] != shape[axis]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return the gradient by central differences: one array, or a tuple of one for each axis."""
    found = operand(f)
    axes = normalize_axes(plain_ints(axis), len(found.shape))
    steps = [operand(step) for step in varargs]
    _check_steps(found.shape, axes, steps)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    for one in axes:
        size = found.shape[one]
        if size is not None and size < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
                "required."
            )
    dtype = None if found.dtype is None else ufunc_dtype(np.subtract, (found.dtype, found.dtype))
    if dtype is not None and dtype.kind in "iu":
        dtype = FLOAT64
    options: dict[str, Any] = {} if axis is None else {"axis": plain_ints(axis)}
    if edge_order != 1:
        options["edge_order"] = edge_order
    if len(axes) == 1:
        return _node("gradient", (found, *steps), found.shape, dtype, **options)
    args = tuple(one.arg for one in (found, *steps))
    return parts("gradient", args, options, found.backend, [(found.shape, dtype)] * len(axes))


def _difference(dtype: np.dtype[Any]) -> DType:
    """Return the dtype of numpy's ``diff``."""
    return ufunc_dtype(np.not_equal if dtype.kind == "b" else np.subtract, (dtype, dtype))


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> LazyArray:
    """Return the `n`-th difference along an axis."""
    found = operand(x)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if n == 0:
        # As it is, along whatever axis.
        return make(array_function("diff"), (found.arg,), {"n": 0}, found.shape, found.dtype, found.backend)
    if not found.shape:
        raise ValueError("diff requires input that is at least one dimensional")
    position = normalize_axis(axis, len(found.shape))
    dtype, whole = found.dtype, found.shape
    edges: dict[str, Any] = {}
    for name, edge in (("prepend", prepend), ("append", append)):
        if edge is None:
            continue
        beside = operand(edge)
        edges[name] = beside.arg
        dtype = result_type((dtype, beside.dtype))
        whole = concatenated([beside.shape or (*whole[:position], 1, *whole[position + 1 :]), whole], position)
    if dtype is not None:
        dtype = _difference(dtype)
    size = whole[position]
    left = None if size is None else size - n
    shape = (*whole[:position], left if left is None or left > 0 else 0, *whole[position + 1 :])
    options = {**({} if n == 1 else {"n": n}), **({} if axis == -1 else {"axis": axis}), **edges}
    return make(array_function("diff"), (found.arg,), options or NO_KWARGS, shape, dtype, found.backend)


def _between(shape: Shape, axis: int) -> Shape:
    """Return the shape of what lies between the elements along an axis."""
    size = shape[axis]
    return (*shape[:axis], None if size is None else max(size - 1, 0), *shape[axis + 1 :])


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> LazyArray:
    """Return the integral along an axis by the trapezoidal rule."""
    found = operand(y)
    position = whole_axis(axis, len(found.shape))
    step = operand(dx) if x is None else operand(x)
    widths = step.shape
    if x is not None:
        if not widths:
            raise ValueError("diff requires input that is at least one dimensional")
        widths = _between(widths, normalize_axis(axis, len(widths)) if len(widths) > 1 else 0)
        if len(widths) == 1:
            widths = (*widths, *(1,) * (len(found.shape) - position - 1))
    inner = broadcast(_between(found.shape, position), widths)
    if found.dtype is None or step.kind is None:
        dtype = None
    else:
        width = step.kind if x is None or step.dtype is None else _difference(step.dtype)
        heights = ufunc_dtype(np.add, (found.dtype, found.dtype))
        dtype = _float_dtype(ufunc_dtype(np.multiply, (width, heights)))
    options = {**({} if axis == -1 else {"axis": axis}), **({"x": step.arg} if x is not None else {"dx": step.arg})}
    return _node("trapezoid", (found,), reduced(inner, normalize_axis(axis, len(inner))), dtype, **options)


def _slide(name: str, left: Any, right: Any, mode: str) -> LazyArray:
    first, second = operand(left), operand(right)
    sizes = []
    for one in (first, second):
        if len(one.shape) > 1:
            raise ValueError("object too deep for desired array")
        if not one.shape and name == "correlate":
            raise ValueError("object of too small depth for desired array")
        if one.dtype is not None and one.dtype.kind in "MSUV":
            raise ValueError("function not available for this data type")
        sizes.append(one.shape[0] if one.shape else 1)
    if 0 in sizes:
        raise ValueError(f"{'a' if sizes[0] == 0 else 'v'} cannot be empty")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')")
    if sizes[0] is None or sizes[1] is None:
        length = None
    else:
        small, large = sorted((sizes[0], sizes[1]))
        length = {"full": large + small - 1, "same": large, "valid": large - small + 1}[mode]
    dtype = result_type((first.dtype, second.dtype))
    if dtype is not None and dtype.kind == "m":
        # In which unit, numpy does not say.
        dtype = None
    return _node(name, (first, second), (length,), dtype, mode=mode)


def convolve(a: Any, v: Any, mode: str = "full") -> LazyArray:
    """Return the convolution of two vectors."""
    return _slide("convolve", a, v, mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> LazyArray:
    """Return the cross-correlation of two vectors."""
    return _slide("correlate", a, v, mode)


def digitize(x: Any, bins: Any, right: bool = False) -> LazyArray:
    """Return in which bin each element falls."""
    found, edges = operand(x), operand(bins)
    if len(edges.shape) != 1:
        raise ValueError("object of too small depth for desired array")
    if found.dtype is not None and found.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if edges.dtype is not None and not np.can_cast(edges.dtype, FLOAT64):
        raise TypeError(f"Cannot cast array data from {edges.dtype!r} to {FLOAT64!r} according to the rule 'safe'")
    check_order(found, edges)
    return _node("digitize", (found, edges), found.shape, INTP, **({"right": True} if right else {}))


def _casts(source: Any, target: DType) -> bool:
    return target is None or np.can_cast(source, target, casting="same_kind")


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> LazyArray:
    """Return the differences of neighbours in the flattened array."""
    found = operand(ary)
    size = None if found.size is None else max(found.size - 1, 0)
    options: dict[str, Any] = {}
    for name, edge in (("to_end", to_end), ("to_begin", to_begin)):
        if edge is not None:
            beside = operand(edge)
            if beside.dtype is not None and not _casts(beside.dtype, found.dtype):
                raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
            options[name] = beside.arg
            size = None if size is None or beside.size is None else size + beside.size
    dtype = None if found.dtype is None else ufunc_dtype(np.subtract, (found.dtype, found.dtype))
    return _node("ediff1d", (found,), (size,), dtype, **options)


def fix(x: Any, /) -> LazyArray:
    """Return the elements rounded towards zero."""
    found = operand(x)
    dtype = None if found.dtype is None else ufunc_dtype(np.trunc, (found.dtype,))
    return _node("fix", (found,), found.shape, dtype)


def _infinite(name: str, x: Any) -> LazyArray:
    found = operand(x)
    if found.dtype is not None and found.dtype.kind in "cmM":
        raise TypeError(f"This operation is not supported for {found.dtype} values because it would be ambiguous.")
    if found.dtype is not None:
        ufunc_dtype(np.isinf, (found.dtype,))
    return _node(name, (found,), found.shape, BOOL)


def isneginf(x: Any, /) -> LazyArray:
    """Say where the elements are minus infinity."""
    return _infinite("isneginf", x)


def isposinf(x: Any, /) -> LazyArray:
    """Say where the elements are plus infinity."""
    return _infinite("isposinf", x)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 6.283185307179586) -> LazyArray:
    """Return the phases with jumps of more than half a period taken out."""
    found, cycle = operand(p), operand(period)
    whole_axis(axis, len(found.shape))
    if found.dtype is not None and found.dtype.kind == "c":
        raise TypeError("ufunc 'remainder' not supported for the input types")
    dtype = None
    if found.dtype is not None:
        step = _difference(found.dtype)
        dtype = result_type((step, cycle.kind))
        ufunc_dtype(np.remainder, (step, cycle.kind))
    if dtype is not None and dtype.kind == "u" and cycle.kind is int:
        raise OverflowError(f"Python integer -{cycle.arg // 2} out of bounds for {dtype.name}")
    options = {**({} if discont is None else {"discont": discont}), **({} if axis == -1 else {"axis": axis})}
    if period != 6.283185307179586:
        options["period"] = cycle.arg
    return _node("unwrap", (found,), found.shape, dtype, **options)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> LazyArray:
    """Return the powers of a vector, as the columns of a matrix."""
    found = operand(x)
    if len(found.shape) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = found.shape[0] if N is None else operator.index(N)
    if columns is not None and columns < 0:
        raise ValueError("negative dimensions are not allowed")
    options = {**({} if N is None else {"N": columns}), **({"increasing": True} if increasing else {})}
    dtype = None if found.dtype is None else result_type((found.dtype, np.dtype(int)))
    if dtype is not None and dtype.kind in "SUVm" and (columns is None or columns > 1):
        ufunc_dtype(np.multiply, (dtype, dtype))
    return _node("vander", (found,), (found.shape[0], columns), dtype, **options)


def polyval(p: Any, x: Any) -> LazyArray:
    """Return the polynomial with the coefficients `p`, highest first, evaluated at `x`."""
    coefficients, where = operand(p), operand(x)
    if not coefficients.shape:
        raise TypeError("iteration over a 0-d array")
    dtype, shape = where.dtype, where.shape
    if coefficients.shape[0] != 0:
        dtype = result_type((coefficients.dtype, dtype))
        shape = broadcast(shape, coefficients.shape[1:])
        if where.dtype is not None and where.dtype.kind in "mMSUV":
            ufunc_dtype(np.multiply, (where.dtype, where.dtype))
    return _node("polyval", (coefficients, where), shape, dtype)


def i0(x: Any) -> LazyArray:
    """Return the modified Bessel function of the first kind and order zero."""
    found = operand(x)
    if found.dtype is not None and found.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    dtype = found.dtype if found.dtype is None or found.dtype.kind == "f" else FLOAT64
    return _node("i0", (found,), found.shape, dtype)
