"""Functions that numpy keeps in modules of their own: windows that slide, roots of negative numbers, texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import result_type
from lazycache.array.infer.reductions import normalize_axis
from lazycache.array.manipulation import plain_ints
from lazycache.array.node import make
from lazycache.array.operands import common_backend, operand
from lazycache.array.searching import parts
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

_WINDOWS = "lib.stride_tricks.sliding_window_view"

# How texts of one length become texts of that length.
_SAME_LENGTH = frozenset({"capitalize", "lower", "swapcase", "title", "upper"})

# These take one array, and say by their other arguments how.
_ONE_ARRAY = frozenset({"decode", "encode", "translate"})
_THREE_PARTS = frozenset({"partition", "rpartition"})


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> LazyArray:
    """Return every window of a shape, as views."""
    del subok
    if writeable:
        raise TypeError("a lazy array has no memory to write into: leave writeable=")
    found = operand(x)
    sizes = plain_ints(window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,))
    if any(size < 0 for size in sizes):
        raise ValueError("`window_shape` cannot contain negative values")
    given = plain_ints(
        range(len(found.shape)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    )
    axes = tuple(normalize_axis(one, len(found.shape)) for one in given)
    if len(sizes) != len(axes):
        raise ValueError(
            "Since axis is None, must provide window_shape for all dimensions of `x`"
            if axis is None
            else "Must provide matching length window_shape and axis"
        )
    left = list(found.shape)
    for place, window in zip(axes, sizes, strict=True):
        size = left[place]
        if size is not None and size < window:
            raise ValueError("window shape cannot be larger than input array shape")
        left[place] = None if size is None else size - window + 1
    options = {} if axis is None else {"axis": axes}
    called = array_function(_WINDOWS)
    return make(called, (found.arg, sizes), options or NO_KWARGS, (*left, *sizes), found.dtype, found.backend)


def _in_the_complex_plane(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> LazyArray:
    del kwargs
    found = [operand(one) for one in args]
    # Real numbers become complex ones where that is needed.
    dtype = result_type([one.dtype for one in found])
    known = dtype if dtype is not None and dtype.kind == "c" else None
    shape = broadcast(*(one.shape for one in found))
    called = array_function(f"emath.{name}")
    return make(called, tuple(one.arg for one in found), NO_KWARGS, shape, known, common_backend(found))


def _of_texts(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    texts = operand(args[0])
    if texts.dtype is not None and texts.dtype.kind not in "SUTO":
        raise TypeError("string operation on non-string array")
    shape, given = texts.shape, args
    if name not in _ONE_ARRAY:
        others = [operand(one) for one in args[1:]]
        shape = broadcast(texts.shape, *(one.shape for one in (*others, *map(operand, kwargs.values()))))
        given = (texts.arg, *(one.arg for one in others))
    if name in _THREE_PARTS:
        return parts(f"strings.{name}", given, kwargs, texts.backend, [(shape, None)] * 3)
    dtype = texts.dtype if name in _SAME_LENGTH else None
    return make(array_function(f"strings.{name}"), given, kwargs or NO_KWARGS, shape, dtype, texts.backend)


def _as(theirs: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that makes nodes of calls of one of numpy's, with numpy's parameters."""
    signature = inspect.signature(theirs)

    def ours(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        return rule(theirs.__name__, bound.args, bound.kwargs)

    ours.__signature__ = signature  # type: ignore[attr-defined]
    return ours


@cache
def functions() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return what calls of these functions become."""
    dispatched = type(np.sum)
    table: dict[Callable[..., Any], Callable[..., Any]] = {
        np.lib.stride_tricks.sliding_window_view: sliding_window_view
    }
    for module, rule in ((np.emath, _in_the_complex_plane), (np.strings, _of_texts)):
        for name in dir(module):
            function = getattr(module, name)
            if isinstance(function, dispatched):
                table[function] = _as(function, rule)
    return table
