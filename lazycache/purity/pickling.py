"""Pickling pure functions: by module and name, else by value, with the identity they have.

By value the function goes through cloudpickle, into a pickle of its own. A
function that refers to itself meets itself in there; the context variable
tells which functions are being written, or read, around it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from lazycache.execution.packing import pack
from lazycache.execution.reading import read

if TYPE_CHECKING:
    from lazycache.purity.callee import PureFunction

_around: ContextVar[tuple[Any, ...]] = ContextVar("lazycache_pickled_around", default=())
_MAIN = ("__main__", "__mp_main__")


def reduce(function: PureFunction) -> tuple[Any, ...]:
    """Return what ``__reduce__`` of a pure function returns."""
    if _is_found(function):
        return find, (function.__module__, function.__qualname__)
    if function.variant_of is not None and _is_found(function.variant_of[0]):
        return find_variant, function.variant_of
    around = _around.get()
    for depth, outer in enumerate(around):
        if outer is function:
            return _from_around, (depth,)
    token = _around.set((*around, function))
    try:
        code = pack(function._function)
    finally:
        _around.reset(token)
    return rebuild, (type(function), code, *function.parts())


def _is_found(function: PureFunction) -> bool:
    # In a worker, __main__ may be another script.
    return function.__module__ not in _MAIN and _find(function.__module__, function.__qualname__) is function


def find_variant(function: PureFunction, cls: type) -> PureFunction:
    """Return a method as it is for instances of a subclass."""
    return function.for_first(cls)


def find(module: str, qualname: str) -> Any:
    """Return the pure function of this name."""
    __import__(module)
    found = _find(module, qualname)
    if found is None:
        raise AttributeError(f"module {module} has no {qualname}")
    return found


def _find(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        # Not getattr: a class would hand out its methods bound.
        found = getattr(found, "__dict__", {}).get(part)
    return found.__func__ if isinstance(found, staticmethod | classmethod) else found


def rebuild(kind: type[PureFunction], code: bytes, *parts: Any) -> PureFunction:
    """Return a pure function that was pickled by value."""
    function = kind.__new__(kind)
    token = _around.set((*_around.get(), function))
    try:
        inner: Callable[..., Any] = read(code)
    finally:
        _around.reset(token)
    function.restore(inner, *parts)
    return function


def _from_around(depth: int) -> Any:
    return _around.get()[depth]
