"""Sharing of intermediates: within a context, one call on the same arguments is one node.

A shared node is found by its function, by its arguments and by the identity of
its leaves. Every entry holds the arguments that its key speaks of, so that no
identity is that of something dead; constants count by type and exact value, as
two of them may differ and be equal, or have one hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from lazycache.expressions.nodes import Node

P = ParamSpec("P")
R = TypeVar("R")

active: ContextVar[dict[Any, Any] | None] = ContextVar("lazycache_array_sharing", default=None)
"""The cache of the innermost sharing context of this thread, or None."""


@contextmanager
def shared_intermediates(cache: dict[Any, Any] | None = None) -> Iterator[dict[Any, Any]]:
    """Share intermediates: within this context equal calls give the same node.

    Parameters
    ----------
    cache : dict, optional
        Where shared nodes are kept. Give the same one again to go on sharing
        with an earlier context. The nodes in it live as long as it does.

    Yields
    ------
    dict

    Examples
    --------
    >>> import lazycache.array as lz
    >>> x = lz.Variable((3,))
    >>> with lz.shared_intermediates():
    ...     lz.sin(x) is lz.sin(x), x**-1 is x**-2
    (True, False)
    """
    shared: dict[Any, Any] = {} if cache is None else cache
    token = active.set(shared)
    try:
        yield shared
    finally:
        active.reset(token)


def currently_sharing() -> bool:
    """Say whether this thread is in a sharing context."""
    return active.get() is not None


def get_sharing_cache() -> dict[Any, Any]:
    """Return the cache of the innermost sharing context of this thread.

    Raises
    ------
    LookupError
        If there is none.
    """
    cache = active.get()
    if cache is None:
        raise LookupError("not in a shared_intermediates() context")
    return cache


def lazy_cache(fn_name: str, hasher: Callable[..., Any] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let calls of a function share their results in a sharing context.

    Parameters
    ----------
    fn_name : str
        Its name in the cache.
    hasher : callable, optional
        ``hasher(fn_name, *args, **kwargs)`` returns what a call is found by. By
        default arguments count by identity (nodes, arrays), constants by type
        and value.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> @lz.lazy_cache("gram")
    ... def gram(x):
    ...     return x.T @ x
    >>> x = lz.Variable((3, 2))
    >>> with lz.shared_intermediates():
    ...     gram(x) is gram(x)
    True
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def shared(*args: P.args, **kwargs: P.kwargs) -> R:
            cache = active.get()
            if cache is None:
                return function(*args, **kwargs)
            key = hasher(fn_name, *args, **kwargs) if hasher is not None else call_key(fn_name, args, kwargs)
            entry = cache.get(key)
            if entry is None:
                entry = cache.setdefault(key, (function(*args, **kwargs), args, kwargs))
            return entry[0]  # type: ignore[no-any-return]

        return shared

    return decorate


def call_key(function: Any, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, ...]:
    """Return what a call is found by; whoever keeps it must keep the arguments too."""
    names = tuple((name, argument_key(kwargs[name])) for name in sorted(kwargs)) if kwargs else ()
    return (function, tuple(map(argument_key, args)), names)


def argument_key(value: Any) -> Any:
    """Return what an argument is told from others by."""
    kind = type(value)
    if isinstance(value, Node):
        return id(value), "node"
    if kind in (int, str, bool, bytes) or value is None or value is Ellipsis:
        return kind, value
    if kind is float:
        return kind, value.hex() if value == value else repr(value)
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic):
        return kind, value.dtype.str, value.tobytes()
    if kind in (tuple, list):
        return kind, tuple(map(argument_key, value))
    if kind is dict:
        return kind, tuple((argument_key(name), argument_key(member)) for name, member in value.items())
    if kind is slice:
        return kind, argument_key(value.start), argument_key(value.stop), argument_key(value.step)
    if isinstance(value, np.dtype):
        return kind, repr(value)
    return id(value), "object"
