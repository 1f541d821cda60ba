"""What numpy's own functions do when they are given lazy arrays.

A ufunc of the table, or a function with a namesake in the namespace, becomes
that. Any other ufunc becomes a node whose shape and dtype follow from it. For a
function that nobody here knows, the node is one of a general lazy expression,
whose shape is not known: it stays lazy in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from lazycache.array.build import elementwise, scalar_checked_dtype
from lazycache.array.functions import UfuncMethod
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import DType, accumulated_dtype, ufunc_dtypes
from lazycache.array.infer.reductions import accumulated, check_identity, reduced
from lazycache.array.node import ArrayNode, make
from lazycache.array.numpy_calls import translation
from lazycache.array.operands import Operand, common_backend, operand, try_operand
from lazycache.array.products import trace
from lazycache.array.reductions import NO_VALUE, plain_axis
from lazycache.array.table import BY_UFUNC
from lazycache.errors import NotComputedError
from lazycache.expressions import build
from lazycache.nests import find_nodes
from lazycache.nodes import NO_KWARGS, Node
from lazycache.numpy_protocols import operation_of_function, operation_of_ufunc

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the node that a call of a ufunc stands for."""
    if kwargs.get("out") is not None:
        raise TypeError("a lazy array cannot be computed into an array that is there: leave out=, or use a = a + x")
    found = [try_operand(value) for value in inputs]
    if any(one is None for one in found):
        if not any(isinstance(value, Node) for value, one in zip(inputs, found, strict=True) if one is None):
            return NotImplemented
        return build(operation_of_ufunc(ufunc, method, inputs, kwargs, by_operator=False), inputs, kwargs)
    operands = [one for one in found if one is not None]
    options = {
        name: value for name, value in kwargs.items() if name != "out" and not (name == "where" and value is True)
    }
    if method == "__call__":
        return _call(ufunc, operands, options)
    if method in ("reduce", "accumulate"):
        return _reduce(ufunc, method, operands, options)
    if method == "outer":
        shape = (*operands[0].shape, *operands[1].shape)
        return _node(ufunc, method, operands, shape, options)
    raise TypeError(f"np.{ufunc.__name__}.{method} has no meaning for a lazy array")


def _call(ufunc: np.ufunc, operands: list[Operand], options: dict[str, Any]) -> Any:
    if "where" in options:
        raise TypeError("where= without out= leaves elements undefined: use lazycache.array.where")
    if not options:
        if ufunc in BY_UFUNC:
            return elementwise(BY_UFUNC[ufunc], *(one.arg for one in operands))
        named = _generalized(ufunc)
        if named is not None:
            return named(*(one.arg for one in operands))
    if ufunc.signature is not None:
        return _namesake(ufunc)(*(one.arg for one in operands), **options)
    return _node(ufunc, "__call__", operands, broadcast(*(one.shape for one in operands)), options)


@cache
def _generalized(ufunc: np.ufunc) -> Callable[..., Any] | None:
    import lazycache.array as namespace

    if ufunc in (np.matmul, getattr(np, "vecdot", None)):
        return getattr(namespace, ufunc.__name__)  # type: ignore[no-any-return]
    return None


def _namesake(ufunc: np.ufunc) -> Callable[..., Any]:
    named = _generalized(ufunc)
    if named is None:
        raise TypeError(f"the shape of np.{ufunc.__name__} of lazy arrays is not known")
    return named


def _node(ufunc: np.ufunc, method: str, operands: list[Operand], shape: Shape, options: dict[str, Any]) -> Any:
    dtypes = _dtypes(ufunc, operands, options)
    args = tuple(one.arg for one in operands)
    backend = common_backend(operands)
    if ufunc.nout == 1:
        return make(UfuncMethod(ufunc, method), args, options or NO_KWARGS, shape, dtypes[0], backend)
    whole = make(UfuncMethod(ufunc, method, ufunc.nout), args, options or NO_KWARGS, (ufunc.nout,), None, backend)
    from lazycache.array.functions import array_function

    pick = array_function("getitem")
    return tuple(
        make(pick, (whole, number), NO_KWARGS, shape, dtype, backend, (whole,)) for number, dtype in enumerate(dtypes)
    )


def _dtypes(ufunc: np.ufunc, operands: list[Operand], options: dict[str, Any]) -> tuple[DType, ...]:
    kinds = tuple(one.kind for one in operands)
    if all(isinstance(kind, type) for kind in kinds):
        kinds = tuple(np.dtype(kind) for kind in kinds)
    if any(kind is None for kind in kinds) or not options:
        return ufunc_dtypes(ufunc, kinds) if ufunc.nout > 1 else (scalar_checked_dtype(ufunc, operands, kinds, None),)
    signature = options.get("signature", options.get("sig"))
    if "dtype" in options and options["dtype"] is not None:
        signature = (*(None,) * ufunc.nin, *(np.dtype(options["dtype"]),) * ufunc.nout)
    rule = {"casting": options["casting"]} if "casting" in options else {}
    found = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), signature=signature, **rule)
    return tuple(found[ufunc.nin :])


def _reduce(ufunc: np.ufunc, method: str, operands: list[Operand], options: dict[str, Any]) -> Any:
    x = operands[0]
    axis = plain_axis(options.get("axis", 0))
    dtype = np.dtype(options["dtype"]) if options.get("dtype") is not None else accumulated_dtype(ufunc, x.dtype)
    if method == "accumulate":
        if not x.shape:
            raise TypeError("cannot accumulate on a scalar")
        shape = accumulated(x.shape, axis)  # type: ignore[arg-type]
        return make(UfuncMethod(ufunc, method), (x.arg,), {"axis": axis}, shape, dtype, x.backend)
    name = _REDUCTIONS.get(ufunc.__name__)
    if name is not None:
        import lazycache.array as namespace

        given = {key: value for key, value in options.items() if value is not NO_VALUE and not _is_default(key, value)}
        return getattr(namespace, name)(x.arg, **{**given, "axis": axis})
    shape = reduced(x.shape, axis, bool(options.get("keepdims")))
    if ufunc.identity is None and options.get("initial") is None:
        check_identity(x.shape, axis, ufunc.__name__)
    kept = {key: value for key, value in options.items() if not _is_default(key, value)}
    return make(UfuncMethod(ufunc, method), (x.arg,), {**kept, "axis": axis}, shape, dtype, x.backend)


def _is_default(name: str, value: Any) -> bool:
    return (name in ("dtype", "out") and value is None) or (name == "keepdims" and not value)


@cache
def _known(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the namespace's function for one of numpy's, found by module and name."""
    import lazycache.array as namespace

    module = getattr(func, "__module__", "") or ""
    name = getattr(func, "__name__", "")
    inside: Any = namespace
    if module in ("numpy.linalg", "numpy.linalg._linalg"):
        inside = namespace.linalg
    elif module.startswith("numpy.fft"):
        inside = namespace.fft
    elif not module.startswith("numpy"):
        return None
    unlike = _UNLIKE.get(name) if inside is namespace else None
    found: Any = unlike or getattr(inside, _RENAMED.get(name, name), None)
    return found if callable(found) and not isinstance(found, type) else None


def _meets_general(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether a lazy expression without a shape is among the arguments."""
    nodes = find_nodes((args, kwargs))
    return any(node._function is not None and not isinstance(node, ArrayNode) for node in nodes)


def apply_function(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the node that a call of a function of numpy stands for."""
    known = _known(func)
    given = {name: value for name, value in kwargs.items() if value is not np._NoValue}
    if known is not None and not _meets_general(args, given):
        return translation(func, known)(args, given)
    return build(operation_of_function(func, given), args, given)


def _in_likeness(name: str) -> Callable[..., Any]:
    def like(
        a: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        del order, subok
        return _make_like(name, a, (), dtype, shape, device)

    return like


def _full_like(
    a: Any,
    fill_value: Any,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    del order, subok
    return _make_like("full", a, (fill_value,), dtype, shape, device)


def _make_like(name: str, a: Any, args: tuple[Any, ...], dtype: Any, shape: Any, device: Any) -> Any:
    import lazycache.array as namespace

    if shape is None:
        return getattr(namespace, f"{name}_like")(a, *args, dtype=dtype, device=device)
    found = operand(a)
    if dtype is None and found.dtype is None:
        raise NotComputedError(operation="an array like one whose dtype is not known")
    return getattr(namespace, name)(shape, *args, dtype=dtype or found.dtype, device=device, like=a)


def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    from lazycache.array.creation import array

    del order, subok
    return array(a)


def _is_complex(x: Any) -> bool:
    dtype = x._dtype
    if dtype is None:
        raise NotComputedError(operation="what depends on a dtype")
    return bool(dtype.kind == "c")


def _is_real(x: Any) -> bool:
    return not _is_complex(x)


def _linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    from lazycache.array.creation import linspace

    spaced = linspace(start, stop, num, endpoint, dtype=dtype, axis=axis, device=device)
    if not retstep:
        return spaced
    import lazycache.array as namespace

    steps = num - 1 if endpoint else num
    first, last = namespace.asarray(start), namespace.asarray(stop)
    return spaced, (last * 1.0 - first * 1.0) / steps if steps > 0 else np.nan


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    import lazycache.array as namespace

    if axis is not None:
        axisa = axisb = axisc = axis
    made = namespace.linalg.cross(namespace.moveaxis(a, axisa, -1), namespace.moveaxis(b, axisb, -1))
    return namespace.moveaxis(made, -1, axisc)


_UNLIKE: dict[str, Callable[..., Any]] = {
    "copy": _copy,
    "cross": _cross,
    "empty_like": _in_likeness("empty"),
    "full_like": _full_like,
    "iscomplexobj": _is_complex,
    "isrealobj": _is_real,
    "linspace": _linspace,
    "ones_like": _in_likeness("ones"),
    "trace": trace,
    "zeros_like": _in_likeness("zeros"),
}

_RENAMED = {"amax": "max", "amin": "min"}
