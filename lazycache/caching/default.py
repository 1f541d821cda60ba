"""The default cache: that of the enclosing block, else that of the settings."""

from __future__ import annotations

import os
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

from lazycache import settings

if TYPE_CHECKING:
    from lazycache.caching.bridge import Cache
    from lazycache.caching.explanation import Explanation
    from lazycache.expressions.tree import Node

_entered: ContextVar[Cache | None] = ContextVar("lazycache_default_cache", default=None)
_by_settings: dict[tuple[Any, ...], Cache] = {}
_VARIABLES = (
    *("LAZYCACHE_DIR", "LAZYCACHE_MODE", "LAZYCACHE_UPSTREAM"),
    *("LAZYCACHE_SIGNATURES", "LAZYCACHE_SIGNING_KEY", "LAZYCACHE_SIGNING_KEY_FILE"),
)


def enter(cache: Cache) -> Token[Cache | None]:
    """Make `cache` the default in this context; give the token back to `leave`."""
    return _entered.set(cache)


def leave(token: Token[Cache | None]) -> None:
    """Return to the default before `enter`."""
    _entered.reset(token)


def default_cache() -> Cache:
    """Return the cache of the enclosing ``with Cache(...)``, else that of the settings.

    Examples
    --------
    >>> import tempfile
    >>> from lazycache import Cache, default_cache
    >>> with Cache(tempfile.mkdtemp()) as store:
    ...     default_cache() is store
    True
    """
    active = _entered.get()
    if active is not None:
        return active
    where = (*[os.environ.get(name) for name in _VARIABLES], settings.working_folder())
    found = _by_settings.get(where)
    if found is None:
        from lazycache.caching.bridge import Cache

        path, mode = settings.find_store_path()[0], settings.mode()
        named = (path, mode, settings.upstream(), settings.signatures())
        found = _by_settings.get(named) or Cache(mode=mode, size_limit=settings.limits().max_size)
        _by_settings[where] = _by_settings[named] = found
    return found


def explain(expression: Node) -> Explanation:
    """Say why an expression hits or misses in the default cache; see `Cache.explain`. Nothing is computed.

    Examples
    --------
    >>> import os, tempfile
    >>> os.environ["LAZYCACHE_DIR"] = tempfile.mkdtemp()
    >>> from lazycache import cache, explain, pure
    >>> @pure(version=1, name="halved")
    ... def halved(x):
    ...     return x / 2
    >>> cache(halved(6))
    3.0
    >>> explain(halved(6)).hit, explain(halved(8)).causes
    (True, ('argument x: was 6, is 8',))
    """
    return default_cache().explain(expression)


def cache(
    x: Any,
    *,
    copy: bool = False,
    max_age: settings.Age | None = None,
    refresh: bool = False,
    n_jobs: int | None = None,
    executor: Any = None,
) -> Any:
    """Evaluate expressions through the default cache; see `Cache.__call__`.

    Examples
    --------
    >>> import os, tempfile
    >>> os.environ["LAZYCACHE_DIR"] = tempfile.mkdtemp()
    >>> from lazycache import cache, computed
    >>> e = computed(2) ** 10
    >>> cache(e)
    1024
    """
    return default_cache()(x, copy=copy, max_age=max_age, refresh=refresh, n_jobs=n_jobs, executor=executor)
