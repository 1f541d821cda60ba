"""A pure function with its first argument."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lazycache.purity.callee import PureFunction

_BOUND_TOO = frozenset({"raw", "is_cached", "explain", "forget"})


class BoundPure:
    """A pure function with its first argument: a method of an instance, or of a class."""

    __slots__ = ("__func__", "__self__")

    def __init__(self, function: PureFunction, instance: Any) -> None:
        self.__func__ = function
        self.__self__ = instance

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function; see `PureFunction`."""
        return self.__func__.for_first(self.__self__).call_unbound((self.__self__, *args), kwargs)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.__func__.for_first(self.__self__), name)
        return functools.partial(attribute, self.__self__) if name in _BOUND_TOO else attribute

    def __repr__(self) -> str:
        return f"<bound {self.__func__!r} of a {type(self.__self__).__name__}>"

    def __lazycache_digest__(self) -> tuple[bytes, Any]:
        return self.__func__.for_first(self.__self__).token, self.__self__

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundPure, (self.__func__, self.__self__)
