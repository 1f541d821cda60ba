"""Which operation a call of numpy on a node stands for.

numpy asks ``__array_ufunc__`` both when a ufunc is called by name and when an
operator has an array on its left. ``array + x`` is the operator, as ``x +
array`` is; ``np.add(array, x)`` is a node of its own, since the two differ
once they are given lists or numbers.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from lazycache.errors import NotComputedError
from lazycache.expressions.operators import BINARY_OPERATIONS, Operation, operation_of

_OPERATOR_OF_UFUNC: dict[np.ufunc, Operation] = {
    np.add: BINARY_OPERATIONS["__add__"],
    np.subtract: BINARY_OPERATIONS["__sub__"],
    np.multiply: BINARY_OPERATIONS["__mul__"],
    np.true_divide: BINARY_OPERATIONS["__truediv__"],
    np.floor_divide: BINARY_OPERATIONS["__floordiv__"],
    np.remainder: BINARY_OPERATIONS["__mod__"],
    np.matmul: BINARY_OPERATIONS["__matmul__"],
    np.power: BINARY_OPERATIONS["__pow__"],
    np.left_shift: BINARY_OPERATIONS["__lshift__"],
    np.right_shift: BINARY_OPERATIONS["__rshift__"],
    np.bitwise_and: BINARY_OPERATIONS["__and__"],
    np.bitwise_xor: BINARY_OPERATIONS["__xor__"],
    np.bitwise_or: BINARY_OPERATIONS["__or__"],
    np.divmod: BINARY_OPERATIONS["__divmod__"],
    np.less: BINARY_OPERATIONS["__lt__"],
    np.less_equal: BINARY_OPERATIONS["__le__"],
    np.greater: BINARY_OPERATIONS["__gt__"],
    np.greater_equal: BINARY_OPERATIONS["__ge__"],
}

_ARRAYS = (np.ndarray, np.generic)

NEEDS_VALUES = frozenset(
    {
        np.array2string,
        np.array_repr,
        np.array_str,
        np.copyto,
        np.fill_diagonal,
        np.may_share_memory,
        np.place,
        np.put,
        np.put_along_axis,
        np.putmask,
        np.save,
        np.savetxt,
        np.savez,
        np.savez_compressed,
        np.shares_memory,
    }
)
"""Functions that change an argument, write a file, make a text or ask where memory is, so that they cannot wait."""

_PARTS: dict[Callable[..., Any], int] = {
    np.histogram: 2,
    np.histogram2d: 3,
    np.linalg.eig: 2,
    np.linalg.eigh: 2,
    np.linalg.lstsq: 4,
    np.linalg.slogdet: 2,
}
"""Functions whose result always has so many parts, so that a call can be unpacked."""

EQUALITY_ADVICE = (
    "a lazy expression is == only to another expression (when their keys are equal): "
    "use np.equal(e, value) to compare values element by element, or e == computed(value)"
)


def operation_of_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], by_operator: bool
) -> Operation:
    """Return what ``__array_ufunc__`` was asked to build.

    Parameters
    ----------
    ufunc, method, inputs, kwargs
        As numpy gave them.
    by_operator : bool
        Whether an operator asked; see `UfuncLookup`.

    Raises
    ------
    NotComputedError
        If an array would be changed in place.
    TypeError
        For ``array == node``, or a ufunc without an identity.
    """
    if method == "at" or any(output is not None for output in kwargs.get("out", ())):
        raise NotComputedError(operation="changing an array in place")
    if method != "__call__":
        return _named_method(ufunc, method)
    if not kwargs and len(inputs) == 2 and by_operator and isinstance(inputs[0], _ARRAYS):
        if ufunc is np.equal or ufunc is np.not_equal:
            raise TypeError(EQUALITY_ADVICE)
        if ufunc in _OPERATOR_OF_UFUNC:
            return _OPERATOR_OF_UFUNC[ufunc]
    return _named_ufunc(ufunc)


class UfuncLookup:
    """``__array_ufunc__`` of a class, which knows whether an operator or a name led to it.

    An operator of an array looks it up twice from one place: first to see
    whether it should give way to the other operand, then to call it. A ufunc
    that is called by name looks it up once.

    Parameters
    ----------
    build : callable
        ``build(by_operator, node, ufunc, method, *inputs, **kwargs)``.
    """

    def __init__(self, build: Callable[..., Any]) -> None:
        def by_name(*args: Any, **kwargs: Any) -> Any:
            _seen.place = None
            return build(False, *args, **kwargs)

        def by_operator(*args: Any, **kwargs: Any) -> Any:
            _seen.place = None
            return build(True, *args, **kwargs)

        self._by_name = by_name
        self._by_operator = by_operator

    def __get__(self, instance: object, owner: type) -> Callable[..., Any] | None:
        if instance is not None:
            # Masked arrays look on the instance; None makes them leave `masked + node` to the node.
            return None
        frame = sys._getframe(1)
        place = (id(frame), frame.f_lasti)
        if place == _seen.place:
            return self._by_operator
        _seen.place = place
        return self._by_name


class _Seen(threading.local):
    """Where in the code this thread looked last, unless a call followed."""

    place: tuple[int, int] | None = None


_seen = _Seen()


def operation_of_function(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> Operation:
    """Return what ``__array_function__`` was asked to build.

    Raises
    ------
    NotComputedError
        If the function cannot wait: it changes an argument, writes a file, or makes a text.
    """
    if function in NEEDS_VALUES:
        raise NotComputedError(operation=f"{_function_name(function)}()")
    if kwargs.get("out") is not None:
        raise NotComputedError(operation="changing an array in place")
    return _named_function(function)


@lru_cache(maxsize=1024)
def _named_function(function: Callable[..., Any]) -> Operation:
    return operation_of(function, _function_name(function), _PARTS.get(function))


@lru_cache(maxsize=1024)
def _named_ufunc(ufunc: np.ufunc) -> Operation:
    return operation_of(ufunc, _ufunc_name(ufunc), ufunc.nout if ufunc.nout > 1 else None)


@lru_cache(maxsize=1024)
def _named_method(ufunc: np.ufunc, method: str) -> Operation:
    return operation_of(getattr(ufunc, method), f"{_ufunc_name(ufunc)}.{method}")


def _function_name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _ufunc_name(ufunc: np.ufunc) -> str:
    name = ufunc.__name__
    for module_name in ("numpy", "scipy.special"):
        module = sys.modules.get(module_name)
        if module is not None and getattr(module, name, None) is ufunc:
            return f"{module_name}.{name}"
    return f"{getattr(ufunc, '__module__', None) or 'numpy'}.{getattr(ufunc, '__qualname__', name)}"
