"""Arrays made from nothing, from values, or in the likeness of others."""

from __future__ import annotations

import operator
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
from lazycache.array.node import ArrayNode, as_sizes, from_data, make, make_call, refusal
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
    if device is not None and device != "cpu":
        raise ValueError(f"unsupported device {device!r}: say backend= for arrays that are not on the CPU")
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


def _like(name: str, x: Any, dtype: Any, args: tuple[Any, ...] = ()) -> LazyArray:
    found = operand(x)
    known, options = _given(dtype, found.dtype)
    return make(array_function(name), (found.arg, *args), options or NO_KWARGS, found.shape, known, found.backend)


def _dtype_like(x: Any, dtype: Any) -> Any:
    """Return the dtype of an array that has another shape than the one it is like."""
    known = operand(x).dtype if dtype is None else dtype
    if known is None:
        raise NotComputedError(operation="an array like one whose dtype is not known")
    return known


def zeros_like(x: Any, /, dtype: Any = None, *, device: Any = None, shape: Any = None) -> LazyArray:
    """Return zeros in the shape, if no other is given, and dtype of another array."""
    _backend(None, device, None)
    return _like("zeros_like", x, dtype) if shape is None else zeros(shape, dtype=_dtype_like(x, dtype), like=x)


def ones_like(x: Any, /, dtype: Any = None, *, device: Any = None, shape: Any = None) -> LazyArray:
    """Return ones in the shape, if no other is given, and dtype of another array."""
    _backend(None, device, None)
    return _like("ones_like", x, dtype) if shape is None else ones(shape, dtype=_dtype_like(x, dtype), like=x)


def empty_like(x: Any, /, dtype: Any = None, *, device: Any = None, shape: Any = None) -> LazyArray:
    """Return zeros in the shape and dtype of another array, as one expression has one value."""
    return zeros_like(x, dtype=dtype, device=device, shape=shape)


def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, device: Any = None, shape: Any = None) -> LazyArray:
    """Return one value in the shape, if no other is given, and dtype of another array."""
    _backend(None, device, None)
    if shape is not None:
        return full(shape, fill_value, dtype=_dtype_like(x, dtype), like=x)
    found, value = operand(x), operand(fill_value)
    _check_filling(value, found.shape, _given(dtype, found.dtype)[0])
    return _like("full_like", x, dtype, (value.arg,))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: Any = None,
    *,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return a matrix with ones on one diagonal."""
    sizes = new_shape((n_rows, n_rows if n_cols is None else n_cols))
    chosen = _backend(like, device, backend)
    known, options = _given(dtype, FLOAT64 if chosen in backends.NUMPY_RULES else None)
    if operator.index(k):
        options["k"] = operator.index(k)
    return make(array_function("eye", chosen), sizes, options or NO_KWARGS, sizes, known, chosen)


def identity(n: int, dtype: Any = None, *, like: Any = None) -> LazyArray:
    """Return the identity matrix."""
    return eye(n, dtype=dtype, like=like)


def tri(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: Any = float) -> LazyArray:
    """Return a matrix with ones at and below a diagonal."""
    sizes = new_shape((n_rows, n_rows if n_cols is None else n_cols))
    known = np.dtype(dtype)
    return make(array_function("tri", "numpy"), (*sizes, k), {"dtype": known}, sizes, known, "numpy")


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
    num: int = 50,
    endpoint: bool = True,
    *,
    dtype: Any = None,
    axis: int = 0,
    device: Any = None,
    like: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return `num` evenly spaced numbers from `start` to `stop`."""
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    first, last = operand(start), operand(stop)
    chosen = _backend(like, device, backend or common_backend((first, last)))
    inside = broadcast(first.shape, last.shape)
    position = normalize_axis(axis, len(inside) + 1)
    shape = (*inside[:position], count, *inside[position:])
    keeps = chosen in backends.NUMPY_RULES and chosen != "array_api_strict"
    default = result_type((first.kind, last.kind, float)) if keeps else None
    known, options = _given(dtype, default)
    options.update(
        {name: value for name, value, plain in (("endpoint", endpoint, True), ("axis", axis, 0)) if value != plain}
    )
    args = (first.arg, last.arg, count)
    return make(array_function("linspace", chosen), args, options or NO_KWARGS, shape, known, chosen)


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


def asarray(
    x: Any,
    /,
    dtype: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    shape: Any = None,
    backend: str | None = None,
) -> LazyArray:
    """Return a lazy array for data, for nested lists, or for another lazy expression.

    Parameters
    ----------
    x : array, number, nested sequence (lazy arrays may be in it), or lazy expression
    dtype : dtype, optional
    device : optional
        Only ``"cpu"``.
    copy : bool, optional
        True makes no difference, as nothing writes into a lazy array; False
        refuses a conversion.
    shape : int or tuple, optional
        Of the value of a lazy expression, which is not known otherwise. A size
        that is not known is None. A value of another shape is an error when it
        is computed.
    backend : str, optional
        Of the value of a lazy expression; found out by default.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> lz.asarray([[1, 2], [3, 4]]).sum(axis=0).compute()
    array([4, 6])

    Of a pure call, or of any other expression whose shape is known to you alone:

    >>> from lazycache import pure
    >>> @pure(version=1)
    ... def measure(run):
    ...     return [1.0 * run, 2.0, 3.0]
    >>> signal = lz.asarray(measure(3), shape=(3,), dtype="f8")
    >>> (signal - signal.mean()).shape
    (3,)
    """
    from lazycache.array.typing_functions import astype

    _backend(None, device, None)
    if isinstance(x, Node) and not isinstance(x, ArrayNode) and x._function is not None:
        if shape is None:
            raise TypeError(
                "the shape of a lazy expression is not known here: say shape= (with None for a size that you do not "
                "know either), and dtype= if it is known"
            )
        known = None if dtype is None else backends.numpy_dtype(dtype)
        promised = (as_sizes(shape),) if known is None else (as_sizes(shape), known)
        return make_call(backend, array_function("asarray"), (x, *promised), None, promised[0], None, known)
    if dtype is not None and not isinstance(x, Node) and not backends.is_array(x) and not find_nodes(x):
        wanted = backends.numpy_dtype(dtype)
        if wanted is not None:
            # Python's own data become the dtype at once: an integer that does not fit is refused.
            x = np.asarray(x, wanted)
    made = _array(x)
    if dtype is None or (made._dtype is not None and backends.numpy_dtype(dtype) == made._dtype):
        return made
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return astype(made, dtype)


def array(x: Any, /, dtype: Any = None, *, ndmin: int = 0) -> LazyArray:
    """Return a lazy array for data, numbers, or nested sequences of lazy arrays; of `ndmin` axes at least."""
    made = _array(x) if dtype is None else asarray(x, dtype=dtype)
    if len(made._shape) >= ndmin:
        return made
    from lazycache.array.manipulation import expand_dims

    return expand_dims(made, tuple(range(ndmin - len(made._shape))))


def _array(x: Any) -> LazyArray:
    if isinstance(x, ArrayNode):
        return x  # type: ignore[return-value]
    if isinstance(x, (list, tuple)) and find_nodes(x):
        from lazycache.array.manipulation import stack

        return stack([array(member) for member in x])
    if isinstance(x, Node):
        found = operand(x)
        if isinstance(found.arg, ArrayNode):
            return found.arg  # type: ignore[return-value]
        return make(array_function("asarray"), (found.arg,), NO_KWARGS, found.shape, found.dtype, found.backend)
    if isinstance(x, np.ndarray) and x.dtype.kind == "O":
        raise refusal(x)
    return from_data(x)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> LazyArray:
    """Return a lazy array for the data of any object that has ``__dlpack__``; a lazy array as it is."""
    _backend(None, device, None)
    if isinstance(x, ArrayNode):
        return asarray(x, copy=copy)
    return from_data(np.from_dlpack(x) if copy is None else np.from_dlpack(x, copy=copy))


def complex(real: Any, imag: Any, /) -> LazyArray:  # noqa: A001
    """Return complex numbers from their real and imaginary parts."""
    from lazycache.array.elementwise import add, multiply

    return add(real, multiply(1j, imag))
