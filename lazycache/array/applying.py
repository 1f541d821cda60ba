"""Functions of numpy that call other functions: on slices, over axes, where conditions hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer.reductions import normalize_axis
from lazycache.array.manipulation import expand_dims
from lazycache.array.node import ArrayNode, from_shape, make
from lazycache.array.operands import common_backend, operand
from lazycache.expressions.numpy_protocols import operation_of_function
from lazycache.expressions.tree import build

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise"]

_DISPATCHED = type(np.sum)


def _is_numpys(function: Any) -> bool:
    """Say whether a function is one of numpy's, which may be called to build nodes; a user's waits for values."""
    return isinstance(function, (np.ufunc, _DISPATCHED))


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Return `func1d` of each slice along an axis.

    The shape is known for functions of numpy; what one of a user's returns is
    known when it has run, so that the result is a lazy expression without a
    shape.
    """
    found = operand(arr)
    position = normalize_axis(axis, len(found.shape))
    rest = (*found.shape[:position], *found.shape[position + 1 :])
    if 0 in rest:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    known = None
    if _is_numpys(func1d) and found.backend in (None, "numpy"):
        known = func1d(from_shape((found.shape[position],), found.backend, found.dtype), *args, **kwargs)
    if not isinstance(known, ArrayNode):
        return build(operation_of_function(np.apply_along_axis, {}), (func1d, axis, found.arg, *args), kwargs)
    shape = (*rest[:position], *known._shape, *rest[position:])
    called = array_function("apply_along_axis")
    return make(called, (func1d, position, found.arg, *args), kwargs, shape, known._dtype, found.backend)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """Return what is left when a function that takes an axis away is called for one axis after another."""
    found = operand(a)
    every = [int(axis) for axis in np.atleast_1d(axes)]
    if not _is_numpys(func):
        return build(operation_of_function(np.apply_over_axes, {}), (func, found.arg, axes), {})
    value = found.arg
    for axis in every:
        place = axis + len(found.shape) if axis < 0 else axis
        taken = func(value, place)
        if len(operand(taken).shape) != len(found.shape):
            taken = expand_dims(taken, place)
        if len(operand(taken).shape) != len(found.shape):
            raise ValueError("function is not returning an array of the correct shape")
        value = taken
    return value


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> LazyArray:
    """Return for each element what the function, or the number, of the condition that holds there gives."""
    found = operand(x)
    functions = tuple(funclist)
    conditions = _conditions(condlist, found.shape)
    shape = conditions._shape if isinstance(conditions, ArrayNode) else (len(conditions),)
    if shape[0] is not None and len(functions) not in (shape[0], shape[0] + 1):
        raise ValueError(f"with {shape[0]} condition(s), either {shape[0]} or {shape[0] + 1} functions are expected")
    every = [operand(one) for one in conditions]
    for one in every:
        ndim = len(one.shape)
        if any(None not in pair and pair[0] != pair[1] for pair in zip(one.shape, found.shape[:ndim], strict=False)):
            raise IndexError(f"boolean index did not match indexed array: {one.shape} in {found.shape}")
    values = tuple(one if callable(one) and not isinstance(one, ArrayNode) else operand(one).arg for one in functions)
    called = array_function("piecewise")
    args = (found.arg, [one.arg for one in every], values, *args)
    return make(called, args, kw, found.shape, found.dtype, common_backend([found, *every]))


def _conditions(condlist: Any, shape: Shape) -> Any:
    """Return conditions as a sequence; numpy takes a single one as it is, too."""
    if isinstance(condlist, (list, tuple)):
        first = condlist[0]
        nested = isinstance(first, (list, np.ndarray)) or (isinstance(first, ArrayNode) and bool(first._shape))
        return [condlist] if not nested and shape else condlist
    found = operand(condlist)
    if found.shape and found.shape[0] == 0:
        raise IndexError("index 0 is out of bounds for axis 0 with size 0")
    return [condlist] if not found.shape or (len(found.shape) == 1 and shape) else condlist
