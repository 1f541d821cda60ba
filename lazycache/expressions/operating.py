"""Operating on a node builds another one: operators, attributes, indices, calls, numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lazycache.expressions.nodes import NO_KWARGS, Callee, Node
from lazycache.expressions.numpy_protocols import UfuncLookup, operation_of_function, operation_of_ufunc
from lazycache.expressions.operators import APPLY, BINARY_OPERATIONS, GETATTR, GETITEM, METHOD, UNARY_OPERATIONS

Unary = Callable[["Operating"], Any]
Binary = Callable[["Operating", Any], Any]


def _binary(method: str) -> Binary:
    operation = BINARY_OPERATIONS[method]

    def build(self: Operating, other: Any) -> Any:
        return self._operate(operation, other, (self, other))

    return build


def _with_reflected(method: str) -> tuple[Binary, Binary]:
    operation = BINARY_OPERATIONS[method]

    def build_reflected(self: Operating, other: Any) -> Any:
        return self._operate(operation, other, (other, self))

    return _binary(method), build_reflected


def _unary(method: str) -> Unary:
    operation = UNARY_OPERATIONS[method]

    def build(self: Operating) -> Any:
        return self._call(operation, (self,), NO_KWARGS)

    return build


def _build_ufunc(by_operator: bool, node: Operating, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if any(isinstance(value, Node) and not isinstance(value, Operating) for value in inputs):
        return NotImplemented
    return node._call(operation_of_ufunc(ufunc, method, inputs, kwargs, by_operator), inputs, kwargs)


class Operating(Node):
    """A node on which operating builds another one.

    It has no public names of its own, so that ``df.key`` builds a node.
    """

    __slots__ = ()

    __add__, __radd__ = _with_reflected("__add__")
    __sub__, __rsub__ = _with_reflected("__sub__")
    __mul__, __rmul__ = _with_reflected("__mul__")
    __truediv__, __rtruediv__ = _with_reflected("__truediv__")
    __floordiv__, __rfloordiv__ = _with_reflected("__floordiv__")
    __mod__, __rmod__ = _with_reflected("__mod__")
    __matmul__, __rmatmul__ = _with_reflected("__matmul__")
    __lshift__, __rlshift__ = _with_reflected("__lshift__")
    __rshift__, __rrshift__ = _with_reflected("__rshift__")
    __and__, __rand__ = _with_reflected("__and__")
    __xor__, __rxor__ = _with_reflected("__xor__")
    __or__, __ror__ = _with_reflected("__or__")
    __divmod__, __rdivmod__ = _with_reflected("__divmod__")
    _power, __rpow__ = _with_reflected("__pow__")
    __lt__ = _binary("__lt__")
    __le__ = _binary("__le__")
    __gt__ = _binary("__gt__")
    __ge__ = _binary("__ge__")
    __neg__ = _unary("__neg__")
    __pos__ = _unary("__pos__")
    __invert__ = _unary("__invert__")
    __abs__ = _unary("__abs__")

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if modulo is None:
            return self._power(other)
        return self._call(BINARY_OPERATIONS["__pow__"], (self, other, modulo), NO_KWARGS)

    def __getattr__(self, name: str) -> Any:
        # dask takes what has an attribute `dask` for a collection with such a graph.
        if name.startswith("_") or name == "dask":
            raise AttributeError(f"a lazy expression has no attribute {name!r}: only public attributes are lazy")
        return self._operate(GETATTR, name, (self, name))

    def __getitem__(self, index: Any) -> Any:
        return self._operate(GETITEM, index, (self, index))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build a call: of a method, if this is an attribute, else of the value."""
        if self._function is GETATTR:
            return self._call(METHOD, (*self._args, *args), kwargs)
        return self._call(APPLY, (self, *args), kwargs)

    __array_ufunc__ = UfuncLookup(_build_ufunc)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if any(issubclass(kind, Node) and not issubclass(kind, Operating) for kind in types):
            return NotImplemented
        return self._call(operation_of_function(func, kwargs), args, kwargs)

    def _call(self, function: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the call of a function on anything."""
        raise NotImplementedError

    def _operate(self, function: Callee, other: Any, args: tuple[Any, ...]) -> Any:
        """Return the call of a function on this node and one other thing, which are `args` in some order."""
        raise NotImplementedError
