"""The operators and numpy's methods of LazyArray: the namespace's functions under the names that arrays have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array import (
    elementwise,
    indexing,
    manipulation,
    numeric,
    products,
    rearranging,
    reductions,
    searching,
    typing_functions,
)
from lazycache.array.backends import numpy_dtype
from lazycache.array.build import binary_operator, is_table, reflected_operator, unary_operator
from lazycache.array.operands import Operand, operand, try_operand
from lazycache.errors import NotComputedError
from lazycache.expressions.nodes import NO_KWARGS
from lazycache.expressions.operators import BINARY_OPERATIONS
from lazycache.expressions.tree import build

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def _matmul(self: Any, other: Any) -> Any:
    if type(other) is type(self) or _fits(other):
        return products.matmul(self, other)
    return build(BINARY_OPERATIONS["__matmul__"], (self, other), NO_KWARGS) if is_table(other) else NotImplemented


def _rmatmul(self: Any, other: Any) -> Any:
    if _fits(other):
        return products.matmul(other, self)
    return build(BINARY_OPERATIONS["__matmul__"], (other, self), NO_KWARGS) if is_table(other) else NotImplemented


def _fits(other: Any) -> bool:
    return try_operand(other) is not None


def _divmod(self: Any, other: Any) -> Any:
    if not _fits(other):
        return NotImplemented
    return elementwise.floor_divide(self, other), elementwise.remainder(self, other)


def _rdivmod(self: Any, other: Any) -> Any:
    if not _fits(other):
        return NotImplemented
    return elementwise.floor_divide(other, self), elementwise.remainder(other, self)


class Operators:
    """Python's operators, from the table of functions that work element by element."""

    __slots__ = ()

    __abs__ = unary_operator("__abs__")
    __invert__ = unary_operator("__invert__")
    __neg__ = unary_operator("__neg__")
    __pos__ = unary_operator("__pos__")

    __add__ = binary_operator("__add__")
    __and__ = binary_operator("__and__")
    __eq__ = binary_operator("__eq__")  # type: ignore[assignment]
    __floordiv__ = binary_operator("__floordiv__")
    __ge__ = binary_operator("__ge__")
    __gt__ = binary_operator("__gt__")
    __le__ = binary_operator("__le__")
    __lshift__ = binary_operator("__lshift__")
    __lt__ = binary_operator("__lt__")
    __mod__ = binary_operator("__mod__")
    __mul__ = binary_operator("__mul__")
    __ne__ = binary_operator("__ne__")  # type: ignore[assignment]
    __or__ = binary_operator("__or__")
    __pow__ = binary_operator("__pow__")
    __rshift__ = binary_operator("__rshift__")
    __sub__ = binary_operator("__sub__")
    __truediv__ = binary_operator("__truediv__")
    __xor__ = binary_operator("__xor__")

    __radd__ = reflected_operator("__add__")
    __rand__ = reflected_operator("__and__")
    __rfloordiv__ = reflected_operator("__floordiv__")
    __rlshift__ = reflected_operator("__lshift__")
    __rmod__ = reflected_operator("__mod__")
    __rmul__ = reflected_operator("__mul__")
    __ror__ = reflected_operator("__or__")
    __rpow__ = reflected_operator("__pow__")
    __rrshift__ = reflected_operator("__rshift__")
    __rsub__ = reflected_operator("__sub__")
    __rtruediv__ = reflected_operator("__truediv__")
    __rxor__ = reflected_operator("__xor__")

    __matmul__ = _matmul
    __rmatmul__ = _rmatmul
    __divmod__ = _divmod
    __rdivmod__ = _rdivmod

    # By identity: `==` is elementwise and has no truth.
    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> LazyArray:
        return indexing.getitem(self, index)

    def __len__(self) -> int:
        return _length(operand(self), "len()")

    def __iter__(self) -> Iterator[LazyArray]:
        length = _length(operand(self), "iteration")
        return iter([indexing.getitem(self, number) for number in range(length)])

    def __dir__(self) -> list[str]:
        kind = type(self)
        return [name for name in super().__dir__() if hasattr(kind, name)]


def _length(x: Operand, operation: str) -> int:
    if not x.shape:
        raise TypeError(f"{operation} of unsized object")
    if x.shape[0] is None:
        raise NotComputedError(operation=f"{operation} of an array whose length depends on values")
    return x.shape[0]


def _method_shape(args: tuple[Any, ...]) -> Any:
    """Return a shape or axes given as one tuple or as several ints."""
    return args[0] if len(args) == 1 and not isinstance(args[0], int) else args


class Methods:
    """numpy's methods."""

    __slots__ = ()

    all = reductions.all
    any = reductions.any
    argmax = reductions.argmax
    argmin = reductions.argmin
    argpartition = rearranging.argpartition
    argsort = searching.argsort
    clip = elementwise.clip
    cumprod = reductions.cumprod
    cumsum = reductions.cumsum
    diagonal = manipulation.diagonal
    dot = products.dot
    max = reductions.max
    mean = reductions.mean
    min = reductions.min
    nonzero = searching.nonzero
    prod = reductions.prod
    ptp = reductions.ptp
    repeat = manipulation.repeat
    round = elementwise.round
    squeeze = manipulation.squeeze
    std = reductions.std
    sum = reductions.sum
    swapaxes = manipulation.swapaxes
    take = indexing.take
    trace = products.trace
    var = reductions.var

    __round__ = elementwise.round

    def astype(
        self,
        dtype: Any,
        order: str = "K",  # noqa: ARG002  how elements lie in memory is no part of a lazy array
        casting: Any = "unsafe",
        subok: bool = True,  # noqa: ARG002
        copy: bool = True,
        *,
        device: Any = None,
    ) -> LazyArray:
        """Return the elements as another dtype."""
        found = operand(self).dtype
        wanted = numpy_dtype(dtype) if casting != "unsafe" else None
        if found is not None and wanted is not None and not np.can_cast(found, wanted, casting):
            raise TypeError(f"Cannot cast array data from {found!r} to {wanted!r} according to the rule {casting!r}")
        return typing_functions.astype(self, dtype, copy=copy, device=device)

    def conj(self) -> Any:
        """Return the complex conjugates; what has no imaginary part stays as it is."""
        dtype = operand(self).dtype
        return self if dtype is not None and dtype.kind in "biuf" else elementwise.conj(self)

    conjugate = conj

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> LazyArray:
        """Return where the elements of `v` belong in this sorted array."""
        return searching.searchsorted(self, v, side, sorter)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> LazyArray:
        """Return the elements in another shape, given as a tuple or as ints."""
        return manipulation.reshape(self, _method_shape(shape), order, copy=copy)

    def transpose(self, *axes: Any) -> LazyArray:
        """Return the array with its axes reversed, or in another order."""
        order = None if not axes or axes == (None,) else _method_shape(axes)
        return manipulation.transpose(self, order)

    def ravel(self, order: str = "C") -> LazyArray:
        """Return the elements in one dimension."""
        return manipulation.ravel(self, order)

    def flatten(self, order: str = "C") -> LazyArray:
        """Return the elements in one dimension."""
        return manipulation.ravel(self, order)

    def copy(self, order: str = "C") -> Any:  # noqa: ARG002
        """Return the array itself, as nothing changes it."""
        return self

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> LazyArray:
        """Return from several arrays, at each place, an element of the one that this array names."""
        return numeric.choose(self, choices, out, mode)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> LazyArray:
        """Return the slices along an axis for which a condition holds."""
        return rearranging.compress(condition, self, axis, out)

    def item(self, *place: Any) -> Any:  # noqa: ARG002
        """Refuse: a number is a value."""
        raise NotComputedError(operation="item()")

    def tolist(self) -> Any:
        """Refuse: a list is a value."""
        raise NotComputedError(operation="tolist()")

    def __dlpack_device__(self) -> tuple[int, int]:
        # The number of the CPU, as `device` has it.
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        raise NotComputedError(operation="exchange by DLPack")
