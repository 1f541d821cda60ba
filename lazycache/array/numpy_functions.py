"""What numpy's own functions do when they are given lazy arrays.

A function with a namesake in the namespace becomes that. For one that nobody
here knows, the node is one of a general lazy expression, whose shape is not
known: it stays lazy in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from lazycache.array import beyond
from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import ufunc_dtype
from lazycache.array.node import ArrayNode, make
from lazycache.array.numpy_calls import translation
from lazycache.array.operands import common_backend, operand
from lazycache.array.products import product_dtype, trace
from lazycache.errors import NotComputedError
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS
from lazycache.expressions.numpy_protocols import operation_of_function
from lazycache.expressions.tree import build


@cache
def _known(func: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the namespace's function for one of numpy's, if it has one."""
    import lazycache.array as namespace

    name = getattr(func, "__name__", "")
    for theirs, ours in ((np, namespace), (np.linalg, namespace.linalg), (np.fft, namespace.fft)):
        # By what is there under the name: elsewhere numpy has other functions of the same names, as for strings.
        if getattr(theirs, name, None) is func:
            unlike = _UNLIKE.get(name) if theirs is np else None
            found = unlike or getattr(ours, _RENAMED.get(name, name), None)
            return found if callable(found) and not isinstance(found, type) else None
    return beyond.functions().get(func)


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
        del subok
        return _make_like(name, a, (), dtype, order, shape, device)

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
    del subok
    return _make_like("full", a, (fill_value,), dtype, order, shape, device)


def _make_like(name: str, a: Any, args: tuple[Any, ...], dtype: Any, order: str, shape: Any, device: Any) -> Any:
    from lazycache.array import creation

    return getattr(creation, f"{name}_like")(a, *args, dtype, order, device=device, shape=shape)


def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    from lazycache.array.conversion import array

    del order, subok
    return array(a)


def _is_complex(x: Any) -> bool:
    dtype = x._dtype
    if dtype is None:
        raise NotComputedError(operation="what depends on a dtype")
    return bool(dtype.kind == "c")


def _is_real(x: Any) -> bool:
    return not _is_complex(x)


_TAKES_VECTORS_OF_TWO = np.lib.NumpyVersion(np.__version__) < "2.5.0"


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    import lazycache.array as namespace

    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = namespace.moveaxis(a, axisa, -1), namespace.moveaxis(b, axisb, -1)
    if _TAKES_VECTORS_OF_TWO and 2 in (left.shape[-1], right.shape[-1]):
        return _cross_in_a_plane(left, right, axisc)
    return namespace.moveaxis(namespace.linalg.cross(left, right), -1, axisc)


def _cross_in_a_plane(left: Any, right: Any, axis: int) -> Any:
    """Return the product of vectors of two, whose third component is zero."""
    from lazycache.array.manipulation import moveaxis

    sizes = {left.shape[-1], right.shape[-1]}
    if not sizes <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    shape = broadcast(left._shape[:-1], right._shape[:-1])
    dtype = product_dtype(operand(left), operand(right))
    if dtype is not None:
        ufunc_dtype(np.subtract, (dtype, dtype))
    backend = common_backend((operand(left), operand(right)))
    if backend not in (None, "numpy"):
        raise ValueError(f"arrays of {backend} have cross products of vectors of three only")
    whole = shape if sizes == {2} else (*shape, 3)
    made = make(array_function("cross"), (left, right), NO_KWARGS, whole, dtype, backend)
    return made if sizes == {2} else moveaxis(made, -1, axis)


_UNLIKE: dict[str, Callable[..., Any]] = {
    "copy": _copy,
    "cross": _cross,
    "empty_like": _in_likeness("empty"),
    "full_like": _full_like,
    "iscomplexobj": _is_complex,
    "isrealobj": _is_real,
    "ones_like": _in_likeness("ones"),
    "trace": trace,
    "zeros_like": _in_likeness("zeros"),
}

_RENAMED = {"amax": "max", "amin": "min"}
