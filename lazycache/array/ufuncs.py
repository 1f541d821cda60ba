"""What numpy's ufuncs, and their methods, do when they are given lazy arrays.

A ufunc of the table becomes what it is there. Any other, those of scipy and of
users among them, becomes a node whose shape and dtype follow from the ufunc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from lazycache.array.build import check_exponent, check_scalars, check_taken, elementwise, scalar_checked_dtype
from lazycache.array.functions import array_function, ufunc_method
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import broadcast, broadcast_to
from lazycache.array.infer.dtypes import DType, accumulated_dtype, dtypes_by_rule, ufunc_dtypes
from lazycache.array.infer.gufuncs import gufunc_shapes
from lazycache.array.infer.reductions import Axis, check_identity, reduced, reduced_axes
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, known_value, operand, try_operand
from lazycache.array.reductions import plain_axis
from lazycache.array.table import BY_UFUNC
from lazycache.errors import NotComputedError
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS, Node
from lazycache.expressions.numpy_protocols import operation_of_ufunc
from lazycache.expressions.tree import build

# Reductions that the namespace has, with what they can be told.
_REDUCTIONS: dict[np.ufunc, tuple[str, frozenset[str]]] = {
    np.add: ("sum", frozenset({"axis", "dtype", "keepdims", "initial", "where"})),
    np.multiply: ("prod", frozenset({"axis", "dtype", "keepdims", "initial", "where"})),
    np.maximum: ("max", frozenset({"axis", "keepdims", "initial", "where"})),
    np.minimum: ("min", frozenset({"axis", "keepdims", "initial", "where"})),
}

# In any order, though they have no identity.
_REORDERABLE = frozenset({np.maximum, np.minimum, np.fmax, np.fmin})


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the node that a call of a ufunc, or of a method of one, stands for."""
    if method == "at":
        raise NotComputedError(operation="changing an array in place")
    given = kwargs.get("out")
    if given is not None and any(one is not None for one in (given if isinstance(given, tuple) else (given,))):
        raise TypeError("a lazy array cannot be computed into an array that is there: leave out=, or use a = a + x")
    if method == "reduceat" and isinstance(inputs[1], (list, tuple)) and not find_nodes(inputs[1]):
        inputs = (inputs[0], np.asarray(inputs[1]).astype(np.intp))
    found = [try_operand(value) for value in inputs]
    if any(one is None for one in found):
        if not any(isinstance(value, Node) for value, one in zip(inputs, found, strict=True) if one is None):
            return NotImplemented
        return build(operation_of_ufunc(ufunc, method, inputs, kwargs, by_operator=False), inputs, kwargs)
    operands = [one for one in found if one is not None]
    options = {
        name: value for name, value in kwargs.items() if name != "out" and not (name == "where" and value is True)
    }
    return _METHODS[method](ufunc, operands, options)


def _call(ufunc: np.ufunc, operands: list[Operand], options: dict[str, Any]) -> Any:
    if "where" in options:
        raise TypeError("where= without out= leaves elements undefined: use lazycache.array.where")
    if not options:
        if ufunc in BY_UFUNC:
            return elementwise(BY_UFUNC[ufunc], *(one.arg for one in operands))
        named = _namesake(ufunc)
        if named is not None:
            return named(*(one.arg for one in operands))
    if ufunc.signature is None:
        shapes: Sequence[Shape] = (broadcast(*(one.shape for one in operands)),) * ufunc.nout
    else:
        rest = {name: value for name, value in options.items() if name in ("axes", "axis", "keepdims")}
        shapes = gufunc_shapes(ufunc.__name__, ufunc.signature, [one.shape for one in operands], **rest)
    return _node(ufunc, "__call__", operands, shapes, options)


@cache
def _namesake(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return the namespace's function for a ufunc that is not in the table."""
    import lazycache.array as namespace

    if ufunc in (np.matmul, getattr(np, "vecdot", None)):
        return getattr(namespace, ufunc.__name__)  # type: ignore[no-any-return]
    return None


def _outer(ufunc: np.ufunc, operands: list[Operand], options: dict[str, Any]) -> Any:
    if ufunc.signature is not None:
        raise TypeError("method outer is not allowed in ufunc with non-trivial signature")
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    if len(operands) != 2:
        raise TypeError("exactly two arguments expected")
    shape = (*operands[0].shape, *operands[1].shape)
    # Numbers become arrays, and have the dtypes of such.
    arrays = [Operand(one.arg, one.shape, one.dtype, one.backend) for one in operands]
    return _node(ufunc, "outer", arrays, (shape,) * ufunc.nout, options)


def _node(
    ufunc: np.ufunc, method: str, operands: list[Operand], shapes: Sequence[Shape], options: dict[str, Any]
) -> Any:
    dtypes = _dtypes(ufunc, operands, options)
    args = tuple(one.arg for one in operands)
    backend = common_backend(operands)
    if ufunc.nout == 1:
        return make(ufunc_method(ufunc, method), args, options or NO_KWARGS, shapes[0], dtypes[0], backend)
    whole = make(ufunc_method(ufunc, method, ufunc.nout), args, options or NO_KWARGS, (ufunc.nout,), None, backend)
    pick = array_function("getitem")
    return tuple(
        make(pick, (whole, number), NO_KWARGS, shape, dtype, backend, (whole,))
        for number, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    )


def _dtypes(ufunc: np.ufunc, operands: list[Operand], options: dict[str, Any]) -> tuple[DType, ...]:
    kinds = tuple(one.kind for one in operands)
    if all(isinstance(kind, type) for kind in kinds):
        kinds = tuple(np.dtype(kind) for kind in kinds)
    signature = options.get("signature", options.get("sig"))
    if options.get("dtype") is not None:
        signature = (*(None,) * ufunc.nin, *(np.dtype(options["dtype"]),) * ufunc.nout)
    if any(kind is None for kind in kinds) or (signature is None and "casting" not in options):
        if ufunc.nout == 1:
            return (scalar_checked_dtype(ufunc, operands, kinds, None),)
        dtypes = ufunc_dtypes(ufunc, kinds)
        check_scalars(ufunc, operands, kinds)
        return dtypes
    rule: dict[str, Any] = {"casting": options["casting"]} if "casting" in options else {}
    if signature is not None:
        rule["signature"] = signature
    dtypes = dtypes_by_rule(ufunc, kinds, rule)
    check_taken(ufunc, operands, dtypes[: ufunc.nin])
    if ufunc is np.power:
        check_exponent(operands, dtypes[-1])
    return dtypes[ufunc.nin :]


def _check_binary(ufunc: np.ufunc, method: str) -> None:
    if ufunc.signature is not None:
        raise RuntimeError("Reduction not defined on ufunc with signature")
    if ufunc.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


def _reduced_dtype(ufunc: np.ufunc, x: Operand, asked: Any) -> DType:
    return accumulated_dtype(ufunc, x.dtype, None if asked is None else np.dtype(asked))


def _kept(options: dict[str, Any], **known: Any) -> dict[str, Any]:
    """Return the options of a method that are not its defaults."""
    kept = {name: value for name, value in options.items() if not (name == "dtype" and value is None)}
    return {**{name: value for name, value in kept.items() if name != "keepdims" or value}, **known}


def _reduce(ufunc: np.ufunc, operands: list[Operand], options: dict[str, Any]) -> Any:
    _check_binary(ufunc, "reduce")
    (x,) = operands
    axis = plain_axis(options.get("axis", 0))
    kept = _kept(options, axis=axis)
    dtype = _reduced_dtype(ufunc, x, options.get("dtype"))
    if ufunc in _REDUCTIONS and _REDUCTIONS[ufunc][1].issuperset(kept):
        import lazycache.array as namespace

        return getattr(namespace, _REDUCTIONS[ufunc][0])(x.arg, **kept)
    shape = reduced(x.shape, axis, bool(options.get("keepdims")))
    _check_order(ufunc, x.shape, axis)
    _check_start(ufunc, x.shape, axis, kept)
    if "where" in kept:
        mask = operand(kept["where"])
        broadcast_to(mask.shape, x.shape)
        kept["where"] = mask.arg
    return make(ufunc_method(ufunc, "reduce"), (x.arg,), kept, shape, dtype, x.backend)


def _check_order(ufunc: np.ufunc, shape: Shape, axis: Axis) -> None:
    if ufunc.identity is None and ufunc not in _REORDERABLE and len(reduced_axes(axis, len(shape))) > 1:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )


def _check_start(ufunc: np.ufunc, shape: Shape, axis: Axis, kept: dict[str, Any]) -> None:
    """Refuse what has no value to start from; an `initial` of None means the first element."""
    if kept.get("initial", ufunc.identity) is not None:
        return
    if "where" in kept:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to "
            "specify 'initial'"
        )
    check_identity(shape, axis, ufunc.__name__)


def _one_axis(method: str, x: Operand, axis: Any) -> int:
    if not x.shape:
        raise TypeError(f"cannot {method} on a scalar")
    axes = reduced_axes(plain_axis(axis), len(x.shape))
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return axes[0]


def _check_uniform(ufunc: np.ufunc, method: str, x: Operand, given: Any) -> DType:
    """Return the dtype of what is accumulated, whose elements go in again."""
    dtype = _reduced_dtype(ufunc, x, given)
    if ufunc is np.ldexp:
        raise TypeError(f"the resolved dtypes are not compatible with {ufunc.__name__}.{method}")
    return dtype


def _accumulate(ufunc: np.ufunc, operands: list[Operand], options: dict[str, Any]) -> Any:
    _check_binary(ufunc, "accumulate")
    (x,) = operands
    axis = _one_axis("accumulate", x, options.get("axis", 0))
    dtype = _check_uniform(ufunc, "accumulate", x, options.get("dtype"))
    kept = _kept(options, axis=axis)
    return make(ufunc_method(ufunc, "accumulate"), (x.arg,), kept, x.shape, dtype, x.backend)


def _reduceat(ufunc: np.ufunc, operands: list[Operand], options: dict[str, Any]) -> Any:
    _check_binary(ufunc, "reduceat")
    x, places = operands
    if len(places.shape) != 1:
        raise ValueError("object of too small depth for desired array")
    axis = _one_axis("reduceat", x, options.get("axis", 0))
    size = x.shape[axis]
    value = known_value(places.arg)
    if value is not None and size is not None:
        wrong = value[(value < 0) | (value >= size)]
        if wrong.size:
            raise IndexError(f"index {wrong[0]} out-of-bounds in {ufunc.__name__}.reduceat [0, {size})")
    dtype = _check_uniform(ufunc, "reduceat", x, options.get("dtype"))
    shape = (*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :])
    kept = _kept(options, axis=axis)
    return make(ufunc_method(ufunc, "reduceat"), (x.arg, places.arg), kept, shape, dtype, common_backend(operands))


_METHODS: dict[str, Callable[[np.ufunc, list[Operand], dict[str, Any]], Any]] = {
    "__call__": _call,
    "accumulate": _accumulate,
    "outer": _outer,
    "reduce": _reduce,
    "reduceat": _reduceat,
}
