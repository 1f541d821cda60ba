"""Arrays made from values: data, nested sequences, other lazy expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array import backends
from lazycache.array.functions import array_function
from lazycache.array.node import ArrayNode, as_sizes, from_data, make, make_call, refusal
from lazycache.array.operands import operand
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS, Node

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


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

    backends.check_device(device)
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
    backends.check_device(device)
    if isinstance(x, ArrayNode):
        return asarray(x, copy=copy)
    return from_data(np.from_dlpack(x) if copy is None else np.from_dlpack(x, copy=copy))


def complex(real: Any, imag: Any, /) -> LazyArray:  # noqa: A001
    """Return complex numbers from their real and imaginary parts."""
    from lazycache.array.elementwise import add, multiply

    return add(real, multiply(1j, imag))
