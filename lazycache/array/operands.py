"""What functions need to know of their arguments, whatever these are: lazy arrays, data, numbers, nested lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazycache.array import backends
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import size_of
from lazycache.array.infer.dtypes import BOOL, DType
from lazycache.array.node import ArrayNode, from_data
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import Node


class Operand:
    """What a function needs to know of one argument.

    Attributes
    ----------
    arg : object
        As it goes into the node.
    shape : tuple
    kind : numpy.dtype, type or None
        Its dtype; ``int``, ``float`` or ``complex`` for a Python scalar.
    backend : str or None
        None if it fits any.
    """

    __slots__ = ("arg", "backend", "kind", "shape")

    def __init__(self, arg: Any, shape: Shape, kind: Any, backend: str | None) -> None:
        self.arg = arg
        self.shape = shape
        self.kind = kind
        self.backend = backend

    @property
    def dtype(self) -> DType:
        """Its dtype as that of an array: a Python scalar has its default, or what holds it."""
        if self.kind is int:
            return np.asarray(self.arg).dtype
        return np.dtype(self.kind) if isinstance(self.kind, type) else self.kind

    @property
    def size(self) -> int | None:
        """Its number of elements, if known."""
        return size_of(self.shape)


_WEAK = frozenset({int, float, complex})


def operand(value: Any) -> Operand:
    """Return what a function needs to know of `value`; a TypeError if it is no array, nor can be one."""
    found = try_operand(value)
    if found is None:
        if isinstance(value, Node):
            raise TypeError(
                "the shape of a lazy expression is not known here: say lazycache.array.asarray(e, shape=…, dtype=…)"
            )
        raise TypeError(f"expected an array, got {type(value).__name__}")
    return found


def try_operand(value: Any) -> Operand | None:
    """Return what a function needs to know of `value`, or None if it is no array, nor can be one."""
    kind = type(value)
    if isinstance(value, ArrayNode):
        return Operand(value, value._shape, value._dtype, value._backend)
    if kind in _WEAK:
        return Operand(value, (), kind, None)
    if kind is bool:
        return Operand(value, (), BOOL, None)
    if isinstance(value, np.generic):
        return Operand(value, (), value.dtype, None)
    if kind is str or kind is bytes:
        return Operand(value, (), np.asarray(value).dtype, None)
    if isinstance(value, Node):
        return None if value._function is not None else _leaf_operand(value)
    if backends.is_array(value):
        leaf = from_data(value)
        return Operand(leaf, leaf._shape, leaf._dtype, leaf._backend)
    if isinstance(value, (list, tuple)):
        return _nested_operand(value)
    if hasattr(value, "dtype") and hasattr(value, "__array__"):
        # Of a library without functions of arrays, as a Series of pandas.
        data = backends.as_numpy(value)
        return None if data is None else try_operand(data)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        # Ranges, buffers and queues are arrays to numpy.
        return _nested_operand(value)
    return None


def _leaf_operand(leaf: Node) -> Operand | None:
    inside = try_operand(leaf._value)
    if inside is None or (isinstance(inside.arg, ArrayNode) and inside.arg._value is not leaf._value):
        # What functions need an array for: a Series, a list, an array on disk.
        return inside
    return Operand(leaf, inside.shape, inside.kind, inside.backend)


def _nested_operand(value: Any) -> Operand | None:
    if not find_nodes(value):
        data = backends.as_numpy(value)
        if data is None:
            return None
        leaf = from_data(data)
        return Operand(leaf, leaf._shape, leaf._dtype, leaf._backend)
    from lazycache.array.conversion import array

    nested = array(value)
    return Operand(nested, nested._shape, nested._dtype, nested._backend)


def each_size(shape: Any) -> tuple[Any, ...]:
    """Return the sizes of a shape in which there are lazy ones: one, several, or a vector of them."""
    if isinstance(shape, (tuple, list)):
        return tuple(shape)
    return tuple(shape) if isinstance(shape, ArrayNode) and len(shape._shape) == 1 else (shape,)


def common_backend(operands: Any) -> str | None:
    """Return the backend of a result: that of the first operand that is not numpy's, else numpy's or None."""
    found = None
    for one in operands:
        if one.backend is not None and (found is None or found == "numpy"):
            found = one.backend
    return found


def known_value(arg: Any) -> np.ndarray[Any, Any] | None:
    """Return what is known of an argument before anything is computed, or None."""
    value = arg._value if isinstance(arg, Node) and arg._function is None else arg
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic, int, float)) else None
