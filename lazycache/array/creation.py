"""Arrays made from nothing, or in the likeness of others."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array import backends
from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import broadcast, broadcast_to, size_of
from lazycache.array.infer.dtypes import FLOAT64, DType, result_type
from lazycache.array.infer.manipulation import new_shape
from lazycache.array.infer.ranges import extent
from lazycache.array.infer.reductions import normalize_axis
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, each_size, operand
from lazycache.errors import NotComputedError
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS, Node

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def _given(dtype: Any, default: DType) -> tuple[DType, dict[str, Any]]:
    if dtype is None:
        return default, {}
    given = backends.passed_dtype(dtype)
    # A text without a length gets room for one letter.
    return np.empty(0, given).dtype if isinstance(given, np.dtype) else None, {"dtype": given}


def _backend(like: Any, device: Any, backend: str | None) -> str:
    if backend is not None:
        return backend
    if like is not None:
        return operand(like).backend or "numpy"
    backends.check_device(device)
    return "numpy"


def _sizes(shape: Any) -> tuple[Any, Shape]:
    """Return a shape as the argument of a node, and as far as it is known."""
    if not find_nodes(shape):
        sizes = new_shape(shape)
        return sizes, sizes
    given = each_size(shape)
    return given, tuple(None if isinstance(size, Node) else new_shape(size)[0] for size in given)


def _laid_out(order: str | None, backend: str) -> dict[str, str]:
    """Return the order in memory as an argument, unless it is the default."""
    name = "C" if order is None else str(order).upper()
    if name not in ("C", "F") or (name == "F" and backend != "numpy"):
        raise ValueError(f"order must be 'C', or 'F' for arrays of numpy (got {order!r})")
    return {"order": name} if name == "F" else {}


def _create(
    name: str, args: tuple[Any, ...], shape: Any, dtype: Any, default: DType, backend: str, order: str | None = "C"
) -> LazyArray:
    known, options = _given(dtype, default if backend in backends.NUMPY_RULES else None)
    options = {**options, **_laid_out(order, backend)}
    return make(array_function(name, backend), args, options or NO_KWARGS, shape, known, backend, None)


def zeros(
    shape: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return an array of zeros."""
    given, sizes = _sizes(shape)
    return _create("zeros", (given,), sizes, dtype, FLOAT64, _backend(like, device, backend), order)


def ones(
    shape: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return an array of ones."""
    given, sizes = _sizes(shape)
    return _create("ones", (given,), sizes, dtype, FLOAT64, _backend(like, device, backend), order)


def empty(
    shape: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return an array to be filled. It is filled with zeros, as one expression has one value."""
    return zeros(shape, dtype=dtype, order=order, device=device, like=like, backend=backend)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str | None = "C",
    *,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return an array of one value."""
    given, sizes = _sizes(shape)
    value = operand(fill_value)
    chosen = _backend(like, device, backend)
    known, options = _given(dtype, value.dtype if chosen in backends.NUMPY_RULES else None)
    _check_filling(value, sizes, known if options else None)
    options = {**options, **_laid_out(order, chosen)}
    return make(array_function("full", chosen), (given, value.arg), options or NO_KWARGS, sizes, known, chosen)


def _check_filling(value: Operand, shape: Shape, dtype: DType) -> None:
    """Refuse what does not fit into an array, in numpy's words."""
    broadcast_to(value.shape, shape)
    if dtype is not None and not isinstance(value.arg, Node) and (size_of(shape) != 0 or value.kind is int):
        np.copyto(np.empty((), dtype), value.arg, casting="unsafe")


def _like(name: str, x: Any, dtype: Any, order: str, args: tuple[Any, ...] = ()) -> LazyArray:
    found = operand(x)
    known, options = _given(dtype, found.dtype)
    if order not in ("K", "A"):
        _laid_out(order, found.backend or "")
    if order != "K" and found.backend == "numpy":
        options = {**options, "order": order}
    return make(array_function(name), (found.arg, *args), options or NO_KWARGS, found.shape, known, found.backend)


def _dtype_like(x: Any, dtype: Any) -> Any:
    """Return the dtype of an array that has another shape than the one it is like."""
    known = operand(x).dtype if dtype is None else dtype
    if known is None:
        raise NotComputedError(operation="an array like one whose dtype is not known")
    return known


def _order_like(order: str | None, shape: Any) -> str:
    """Return the order in memory of an array like another; in a shape of its own there is none to keep."""
    name = "K" if order is None else str(order).upper()
    return "C" if shape is not None and name in ("K", "A") else name


def _filled_like(
    fill: Callable[..., LazyArray], x: Any, dtype: Any, order: str | None, device: Any, shape: Any
) -> LazyArray:
    backends.check_device(device)
    name = _order_like(order, shape)
    if shape is None:
        return _like(f"{fill.__name__}_like", x, dtype, name)
    return fill(shape, _dtype_like(x, dtype), name, like=x)


def zeros_like(
    x: Any, /, dtype: Any = None, order: str | None = "K", *, device: Any = None, shape: Any = None
) -> LazyArray:
    """Return zeros in the shape, if no other is given, and dtype of another array."""
    return _filled_like(zeros, x, dtype, order, device, shape)


def ones_like(
    x: Any, /, dtype: Any = None, order: str | None = "K", *, device: Any = None, shape: Any = None
) -> LazyArray:
    """Return ones in the shape, if no other is given, and dtype of another array."""
    return _filled_like(ones, x, dtype, order, device, shape)


def empty_like(
    x: Any, /, dtype: Any = None, order: str | None = "K", *, device: Any = None, shape: Any = None
) -> LazyArray:
    """Return zeros in the shape and dtype of another array, as one expression has one value."""
    return zeros_like(x, dtype, order, device=device, shape=shape)


def full_like(
    x: Any, /, fill_value: Any, dtype: Any = None, order: str | None = "K", *, device: Any = None, shape: Any = None
) -> LazyArray:
    """Return one value in the shape, if no other is given, and dtype of another array."""
    backends.check_device(device)
    name = _order_like(order, shape)
    if shape is not None:
        return full(shape, fill_value, _dtype_like(x, dtype), name, like=x)
    found, value = operand(x), operand(fill_value)
    _check_filling(value, found.shape, _given(dtype, found.dtype)[0])
    return _like("full_like", x, dtype, name, (value.arg,))


def eye(
    N: Any,
    M: Any = None,
    k: int = 0,
    dtype: Any = None,
    *,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return a matrix of `N` rows and `M` columns, or as many, with ones on one diagonal."""
    given, sizes = _sizes((N, N if M is None else M))
    chosen = _backend(like, device, backend)
    known, options = _given(dtype, FLOAT64 if chosen in backends.NUMPY_RULES else None)
    if operator.index(k):
        options["k"] = operator.index(k)
    return make(array_function("eye", chosen), given, options or NO_KWARGS, sizes, known, chosen)


def identity(n: int, dtype: Any = None, *, like: Any = None) -> LazyArray:
    """Return the identity matrix."""
    return eye(n, dtype=dtype, like=like)


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> LazyArray:
    """Return a matrix of `N` rows and `M` columns, or as many, with ones at and below a diagonal."""
    given, sizes = _sizes((N, N if M is None else M))
    known = np.dtype(dtype)
    return make(array_function("tri", "numpy"), (*given, k), {"dtype": known}, sizes, known, "numpy")


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return evenly spaced numbers from `start` to before `stop`."""
    first, last = (0, start) if stop is None else (start, stop)
    chosen = _backend(like, device, backend)
    if find_nodes((first, last, step)):
        args = tuple(operand(value).arg for value in (first, last, step))
        known, options = _given(dtype, None)
        return make(array_function("arange", chosen), args, options or NO_KWARGS, (None,), known, chosen)
    if stop is None and isinstance(start, np.datetime64):
        raise ValueError("arange requires both a start and a stop for NumPy datetime64 ranges")
    length, default = extent(first, last, step)
    return _create("arange", (first, last, step), (length,), dtype, default, chosen)


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`, and with `retstep` how far they are apart."""
    count = operand(num).arg if isinstance(num, Node) else operator.index(num)
    if not isinstance(count, Node) and count < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    first, last = operand(start), operand(stop)
    chosen = _backend(like, device, backend or common_backend((first, last)))
    inside = broadcast(first.shape, last.shape)
    position = normalize_axis(axis, len(inside) + 1)
    shape = (*inside[:position], None if isinstance(count, Node) else count, *inside[position:])
    keeps = chosen in backends.NUMPY_RULES and chosen != "array_api_strict"
    default = result_type((first.kind, last.kind, float)) if keeps else None
    known, options = _given(dtype, default)
    options.update(
        {name: value for name, value, plain in (("endpoint", endpoint, True), ("axis", axis, 0)) if value != plain}
    )
    args = (first.arg, last.arg, count)
    spaced = make(array_function("linspace", chosen), args, options or NO_KWARGS, shape, known, chosen)
    return (spaced, _step(first, last, count, endpoint, default)) if retstep else spaced


def _step(first: Operand, last: Operand, count: Any, endpoint: bool, dtype: DType) -> Any:
    """Return the distance between numbers that are evenly spaced."""
    from lazycache.array.typing_functions import astype

    if isinstance(count, Node):
        raise TypeError("linspace with retstep= needs a number of samples that is known")
    steps = count - 1 if endpoint else count
    if steps <= 0:
        return np.nan
    # In the dtype of the numbers if none were asked for.
    bounds = (first.arg, last.arg) if dtype is None else (astype(one.arg, dtype) for one in (first, last))
    low, high = bounds
    return (high - low) / steps


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> tuple[LazyArray, ...]:
    """Return coordinate matrices of coordinate vectors; with `sparse` what broadcasts to them."""
    from lazycache.array.manipulation import broadcast_to, reshape, swapaxes

    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    vectors = [reshape(x, (-1,)) for x in arrays]
    sizes = tuple(vector.shape[0] for vector in vectors)
    out = []
    for axis, vector in enumerate(vectors):
        spread = reshape(vector, (*(1,) * axis, -1, *(1,) * (len(sizes) - axis - 1)))
        spread = spread if sparse else broadcast_to(spread, sizes)
        out.append(swapaxes(spread, 0, 1) if indexing == "xy" and len(sizes) > 1 else spread)
    return tuple(out)
