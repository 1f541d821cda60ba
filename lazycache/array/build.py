"""Building nodes of functions that work element by element, and of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.backends import NUMPY_RULES
from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import (
    BOOL,
    COMPARISONS,
    INT64,
    DType,
    check_scalar,
    foreign_dtype,
    ufunc_dtype,
    ufunc_inputs,
)
from lazycache.array.node import ArrayNode, make
from lazycache.array.operands import Operand, common_backend, operand, try_operand
from lazycache.array.table import BY_METHOD, BY_NAME, Elementwise
from lazycache.expressions.nodes import NO_KWARGS, Node
from lazycache.expressions.operators import BINARY_OPERATIONS
from lazycache.expressions.tree import build

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

_SMALL = 2**31
_EQUALITY = frozenset({"__eq__", "__ne__"})


def elementwise(row: Elementwise, *values: Any) -> LazyArray:
    """Make the node of a function of the table."""
    operands = [operand(value) for value in values]
    if all(isinstance(one.kind, type) for one in operands):
        # Of numbers alone Python's operators would make a number of Python, and not one of numpy.
        operands[0] = operand(np.dtype(operands[0].kind).type(operands[0].arg))
    if row.ufunc is np.power and operands[0].kind == BOOL:
        # `a ** 2` is a square, which of booleans has another dtype than a power.
        return _elementwise(row, operands, array_function("power"))
    return _elementwise(row, operands)


def _elementwise(row: Elementwise, operands: list[Operand], called: Any = None) -> LazyArray:
    backend = common_backend(operands)
    kinds = tuple(one.kind for one in operands)
    dtype = scalar_checked_dtype(row.ufunc, operands, kinds, backend)
    shape = broadcast(*(one.shape for one in operands))
    return make(called or row.function, tuple(one.arg for one in operands), NO_KWARGS, shape, dtype, backend)


def scalar_checked_dtype(
    ufunc: np.ufunc, operands: list[Operand], kinds: tuple[Any, ...], backend: str | None
) -> DType:
    """Return the dtype of a ufunc's result, refusing scalars that its operands' dtype cannot hold."""
    if backend not in NUMPY_RULES:
        return foreign_dtype(ufunc, kinds)
    if all(isinstance(kind, type) for kind in kinds):
        kinds = tuple(np.dtype(kind) for kind in kinds)
    dtype = ufunc_dtype(ufunc, kinds)
    check_scalars(ufunc, operands, kinds)
    if ufunc is np.power:
        check_exponent(operands, dtype)
    return dtype


def check_scalars(ufunc: np.ufunc, operands: list[Operand], kinds: tuple[Any, ...]) -> None:
    """Refuse Python integers that do not fit what they are taken as."""
    if any(one.kind is int for one in operands):
        check_taken(ufunc, operands, ufunc_inputs(ufunc, kinds))


def check_taken(ufunc: np.ufunc, operands: list[Operand], dtypes: Sequence[DType]) -> None:
    """Refuse Python integers that `dtypes`, what they are taken as, cannot hold."""
    compared = ufunc.__name__ in COMPARISONS and not any(one.kind == BOOL for one in operands)
    for one, dtype in zip(operands, dtypes, strict=True):
        if one.kind is int and not (compared and dtype is not None and dtype.kind in "iu"):
            check_scalar(one.arg, INT64 if dtype == BOOL else dtype)


def check_exponent(operands: list[Operand], dtype: DType) -> None:
    """Refuse negative powers among integers."""
    if dtype is None or dtype.kind not in "iu":
        return
    exponent = operands[1].arg
    if isinstance(exponent, (int, np.integer)) and exponent < 0 and operands[0].size != 0:
        raise ValueError("Integers to negative integer powers are not allowed.")


def function(name: str) -> Callable[..., LazyArray]:
    """Return the namespace's function for a row of the table."""
    row = BY_NAME[name]
    if row.ufunc.nin == 1:

        def unary(x: Any, /, *, dtype: Any = None) -> LazyArray:
            if dtype is not None:
                return _made_as(dtype, row, x)
            if type(x) is ArrayNode._concrete and x._backend in NUMPY_RULES:
                known = ufunc_dtype(row.ufunc, (x._dtype,))
                return make(row.function, (x,), NO_KWARGS, x._shape, known, x._backend, (x,))
            return elementwise(row, x)

        return _named(unary, name, row)

    def binary(x1: Any, x2: Any, /, *, dtype: Any = None) -> LazyArray:
        return elementwise(row, x1, x2) if dtype is None else _made_as(dtype, row, x1, x2)

    return _named(binary, name, row)


def _made_as(dtype: Any, row: Elementwise, *values: Any) -> LazyArray:
    """Make the node of a function of the table that computes in a dtype, as a ufunc of numpy does."""
    from lazycache.array.ufuncs import apply_ufunc

    args = tuple(operand(value).arg for value in values)
    return apply_ufunc(row.ufunc, "__call__", args, {"dtype": dtype})  # type: ignore[no-any-return]


def _named(built: Callable[..., LazyArray], name: str, row: Elementwise) -> Callable[..., LazyArray]:
    built.__name__ = built.__qualname__ = name
    built.__module__ = "lazycache.array"
    built.__doc__ = f"Element by element, as numpy's ``{row.ufunc.__name__}``."
    return built


def unary_operator(method: str) -> Callable[[Any], LazyArray]:
    """Return the special method of a row of the table with one argument."""
    call = function(BY_METHOD[method].name)

    def operate(self: Any) -> LazyArray:
        return call(self)

    operate.__name__ = method
    return operate


def binary_operator(method: str) -> Callable[[Any, Any], LazyArray]:
    """Return the special method of a row of the table with two arguments."""
    row = BY_METHOD[method]
    called = row.function
    ufunc = row.ufunc
    is_equality = method in _EQUALITY
    dtypes: dict[tuple[Any, Any], DType] = {}

    def operate(self: Any, other: Any) -> Any:
        kind = type(other)
        backend = self._backend
        if backend not in NUMPY_RULES:
            return _general(row, self, other)
        # The common cases, in few steps: an array of the same backend, a float, or an integer that any float holds.
        if kind is type(self) and other._backend == backend:
            pair = (self._dtype, other._dtype)
            shape = self._shape
            if shape != other._shape:
                shape = broadcast(shape, other._shape)
            args: tuple[Any, ...] = (self, other)
            deps = args if other is not self else (self,)
        elif kind is float or (
            kind is int and -_SMALL < other < _SMALL and getattr(self._dtype, "char", "?") in "fdFD"
        ):
            pair = (self._dtype, kind)
            shape = self._shape
            args = (self, other)
            deps = (self,)
        else:
            return _general(row, self, other)
        dtype = dtypes.get(pair)
        if dtype is None:
            dtype = dtypes[pair] = BOOL if is_equality and not _compares(ufunc, pair) else ufunc_dtype(ufunc, pair)
        return make(called, args, NO_KWARGS, shape, dtype, backend, deps)

    operate.__name__ = method
    return operate


def reflected_operator(method: str) -> Callable[[Any, Any], LazyArray]:
    """Return the special method for an array on the right only."""
    row = BY_METHOD[method]

    def operate(self: Any, other: Any) -> Any:
        found = try_operand(other)
        if found is None:
            return build(BINARY_OPERATIONS[method], (other, self), NO_KWARGS) if is_table(other) else NotImplemented
        return _elementwise(row, [found, operand(self)])

    operate.__name__ = method.replace("__", "__r", 1)
    return operate


def _general(row: Elementwise, self: Any, other: Any) -> Any:
    found = try_operand(other)
    if found is None:
        if row.method not in _EQUALITY:
            return build(BINARY_OPERATIONS[row.method], (self, other), NO_KWARGS) if is_table(other) else NotImplemented
        return _unlike(row, self, other)
    if row.ufunc is np.power and self._dtype == BOOL and type(other) is int and other == 2:
        row = BY_NAME["square"]
        return _elementwise(row, [operand(self)])
    operands = [operand(self), found]
    if row.method in _EQUALITY and not _compares(row.ufunc, (operands[0].kind, found.kind)):
        shape = broadcast(self._shape, found.shape)
        return make(row.function, (self, found.arg), NO_KWARGS, shape, BOOL, common_backend(operands))
    return _elementwise(row, operands)


def _compares(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> bool:
    """Say whether numpy compares two dtypes; its operators say of what it does not that it is unequal."""
    try:
        ufunc_dtype(ufunc, kinds)
    except TypeError:
        return False
    return True


def _unlike(row: Elementwise, self: Any, other: Any) -> Any:
    """Compare an array with what is no array."""
    if other is None and self._backend in NUMPY_RULES:
        return make(row.function, (self, None), NO_KWARGS, self._shape, BOOL, self._backend)
    if isinstance(other, Node):
        raise TypeError("== of an array and a lazy expression: say lazycache.array.asarray(e, shape=…) first")
    if is_table(other):
        raise TypeError(f"== of a lazy array and a {type(other).__name__}: wrap it in computed() and call np.equal")
    return NotImplemented


def is_table(value: Any) -> bool:
    """Say whether `value` has a shape and is no array, as a data frame; operators with one make an expression."""
    return hasattr(type(value), "shape") and not isinstance(value, Node)
