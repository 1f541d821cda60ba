"""Functions that other backends have with fewer parameters, or with other ones, than numpy.

Each takes the namespace of the backend first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def own(module: Any, name: str, wanted: str) -> Callable[..., Any]:
    """Return a backend's function; a TypeError says that what is wanted needs one that it has not."""
    found: Callable[..., Any] | None = getattr(module, name, None)
    if found is None:
        raise TypeError(f"the backend {module.__name__!r} has no function {wanted!r}")
    return found


def _joining(name: str) -> Callable[..., Any]:
    def join(xp: Any, arrays: Sequence[Any], axis: int | None = 0, dtype: Any = None, casting: Any = None) -> Any:
        # What may be cast has been decided when the node was built.
        del casting
        joined = getattr(xp, name)(list(arrays), axis=axis)
        return joined if dtype is None else xp.astype(joined, getattr(xp, dtype.name))

    return join


def _diff(xp: Any, x: Any, n: int = 1, axis: int = -1, **edges: Any) -> Any:
    if xp.__name__.endswith("torch"):
        shape = list(x.shape)
        shape[axis] = 1
        for name, edge in edges.items():
            if not getattr(edge, "ndim", 0):
                edges[name] = xp.zeros(tuple(shape), dtype=x.dtype) + edge
    return own(xp, "diff", "diff")(x, n=n, axis=axis, **edges)


def isclose(xp: Any, left: Any, right: Any, **options: Any) -> Any:
    """Say where two arrays, or an array and a number, are equal within a tolerance."""
    if xp.__name__.endswith("torch"):
        # It compares tensors, and those of one dtype only; a number does not widen the other.
        first, second = (xp.asarray(x, dtype=xp.float64 if isinstance(x, float) else None) for x in (left, right))
        left, right = first + xp.zeros_like(second), second + xp.zeros_like(first)
    return own(xp, "isclose", "isclose")(left, right, **options)


def _gradient(xp: Any, x: Any, *steps: Any, axis: Any = None, edge_order: int = 1) -> Any:
    options: dict[str, Any] = {} if edge_order == 1 else {"edge_order": edge_order}
    function = own(xp, "gradient", "gradient")
    if xp.__name__.endswith("torch"):
        if steps:
            options["spacing"] = steps[0] if len(steps) == 1 else list(steps)
        found = function(x, **({} if axis is None else {"dim": axis}), **options)
    else:
        found = function(x, *steps, axis=axis, **options)
    one = x.ndim == 1 or isinstance(axis, int)
    return found[0] if one and isinstance(found, (tuple, list)) else found


def _linspace(xp: Any, start: Any, stop: Any, num: int, endpoint: bool = True, axis: int = 0, dtype: Any = None) -> Any:
    options: dict[str, Any] = {} if dtype is None else {"dtype": getattr(xp, dtype.name)}
    if not getattr(start, "ndim", 0) and not getattr(stop, "ndim", 0):
        return xp.linspace(start, stop, num, endpoint=endpoint, **options)
    # The standard has it for numbers only.
    way = xp.asarray(stop) - xp.asarray(start)
    places = xp.reshape(xp.linspace(0.0, 1.0, num, endpoint=endpoint), (num, *(1,) * way.ndim))
    if xp.isdtype(way.dtype, ("real floating", "complex floating")):
        places = xp.astype(places, way.dtype)
    spaced = xp.asarray(start) + xp.expand_dims(way, axis=0) * places
    moved = xp.moveaxis(spaced, 0, axis)
    return xp.astype(moved, options["dtype"]) if options else moved


def _qr(xp: Any, x: Any, mode: str = "reduced") -> Any:
    function = own(xp.linalg, "qr", "linalg.qr")
    # The standard has no way to ask for one factor.
    return function(x, mode="reduced")[1] if mode == "r" else function(x, mode=mode)


def _along(name: str, default: int | None) -> Callable[..., Any]:
    """Return a function along an axis that takes no axis too, and then the flattened array."""

    def along(xp: Any, x: Any, *args: Any, axis: int | None = default, kind: Any = None, **options: Any) -> Any:
        # By which algorithm, is the backend's own matter.
        del kind
        function = own(xp, name, name)
        if isinstance(options.get("dtype"), np.dtype):
            options["dtype"] = getattr(xp, options["dtype"].name)
        array = xp.reshape(x, (-1,)) if axis is None else x
        return function(array, *args, axis=-1 if axis is None else axis, **options)

    return along


def _angle(xp: Any, x: Any, deg: bool = False) -> Any:
    turned = own(xp, "angle", "angle")(x)
    return turned * (180 / math.pi) if deg else turned


def _delete(xp: Any, x: Any, places: Any, axis: int | None = None) -> Any:
    given = np.asarray(places, np.intp) if isinstance(places, tuple) else places
    return own(xp, "delete", "delete")(x, given, axis=axis)


def _permute_dims(xp: Any, x: Any, axes: Sequence[int]) -> Any:
    # Some count from the front only.
    return xp.permute_dims(x, tuple(axis % x.ndim for axis in axes))


def _reshape(xp: Any, x: Any, shape: Any, order: str = "C", **options: Any) -> Any:
    if order != "F":
        return xp.reshape(x, shape, **options)
    # The standard has one order: the other is that of the array with its axes reversed.
    turned = xp.reshape(xp.permute_dims(x, tuple(range(x.ndim))[::-1]), shape[::-1], **options)
    return xp.permute_dims(turned, tuple(range(turned.ndim))[::-1])


def _spread(name: str) -> Callable[..., Any]:
    def spread(xp: Any, x: Any, correction: float = 0, **options: Any) -> Any:
        return own(xp, name, name)(x, ddof=correction, **options)

    return spread


ADAPTED: dict[str, Callable[..., Any]] = {
    "angle": _angle,
    "argpartition": _along("argpartition", -1),
    "argsort": _along("argsort", -1),
    "concat": _joining("concat"),
    "cumprod": _along("cumprod", None),
    "cumsum": _along("cumsum", None),
    "delete": _delete,
    "diff": _diff,
    "gradient": _gradient,
    "isclose": isclose,
    "linalg.qr": _qr,
    "linspace": _linspace,
    "nanstd": _spread("nanstd"),
    "nanvar": _spread("nanvar"),
    "partition": _along("partition", -1),
    "permute_dims": _permute_dims,
    "reshape": _reshape,
    "sort": _along("sort", -1),
    "stack": _joining("stack"),
}
