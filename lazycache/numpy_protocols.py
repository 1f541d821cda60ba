"""Which operation a call of numpy on a node stands for.

numpy asks ``__array_ufunc__`` both when a ufunc is called by name and when an
operator has an array on its left. ``array + x`` is the operator, as ``x +
array`` is; ``np.add(array, x)`` is a node of its own, since the two differ
once they are given lists or numbers. The caller's instruction tells which.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lazycache.errors import NotComputedError
from lazycache.operators import BINARY_OPERATIONS, Operation, operation_of

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
    np.less: BINARY_OPERATIONS["__lt__"],
    np.less_equal: BINARY_OPERATIONS["__le__"],
    np.greater: BINARY_OPERATIONS["__gt__"],
    np.greater_equal: BINARY_OPERATIONS["__ge__"],
}

NEEDS_VALUES = frozenset(
    {
        np.array2string,
        np.array_repr,
        np.array_str,
        np.copyto,
        np.fill_diagonal,
        np.place,
        np.put,
        np.put_along_axis,
        np.putmask,
        np.save,
        np.savetxt,
        np.savez,
        np.savez_compressed,
    }
)
"""Functions that change an argument, write a file or make a text, so that they cannot wait."""

EQUALITY_ADVICE = (
    "a lazy expression is == only to another expression (when their keys are equal): "
    "use np.equal(e, value) to compare values element by element, or e == computed(value)"
)


def operation_of_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], depth: int
) -> Operation:
    """Return what ``__array_ufunc__`` was asked to build.

    Parameters
    ----------
    ufunc, method, inputs, kwargs
        As numpy gave them.
    depth : int
        How many frames above this function's caller the user's code is.

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
        return operation_of(getattr(ufunc, method), f"{_ufunc_name(ufunc)}.{method}")
    if not kwargs and len(inputs) == 2 and isinstance(inputs[0], np.ndarray | np.generic) and _by_operator(depth + 1):
        if ufunc is np.equal or ufunc is np.not_equal:
            raise TypeError(EQUALITY_ADVICE)
        if ufunc in _OPERATOR_OF_UFUNC:
            return _OPERATOR_OF_UFUNC[ufunc]
    return operation_of(ufunc, _ufunc_name(ufunc), ufunc.nout if ufunc.nout > 1 else None)


def operation_of_function(function: Callable[..., Any], kwargs: Mapping[str, Any]) -> Operation:
    """Return what ``__array_function__`` was asked to build.

    Raises
    ------
    NotComputedError
        If the function cannot wait: it changes an argument, writes a file, or makes a text.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    if function in NEEDS_VALUES:
        raise NotComputedError(operation=f"{name}()")
    if kwargs.get("out") is not None:
        raise NotComputedError(operation="changing an array in place")
    return operation_of(function, name)


def _by_operator(depth: int) -> bool:
    frame = sys._getframe(depth + 1)
    if frame.f_lasti < 0:
        return False
    return frame.f_code.co_code[frame.f_lasti] in _OPERATOR_CODES


def _operator_codes() -> frozenset[int]:
    import opcode

    return frozenset({opcode.opmap["BINARY_OP"], opcode.opmap["COMPARE_OP"]})


_OPERATOR_CODES = _operator_codes()


def _ufunc_name(ufunc: np.ufunc) -> str:
    name = ufunc.__name__
    for module_name in ("numpy", "scipy.special"):
        module = sys.modules.get(module_name)
        if module is not None and getattr(module, name, None) is ufunc:
            return f"{module_name}.{name}"
    return f"{getattr(ufunc, '__module__', None) or 'numpy'}.{getattr(ufunc, '__qualname__', name)}"
