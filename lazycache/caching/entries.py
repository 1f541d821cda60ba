"""What a cache has of one expression: its stored result, read, written and dropped by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazycache.caching import inputs
from lazycache.caching.layers import why_refused
from lazycache.evaluation import MISSING
from lazycache.expressions.keys import key as key_of
from lazycache.expressions.tree import Node
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache.caching.guard import GuardedStore
    from lazycache.caching.run import CachedEvaluation
    from lazycache.settings import Mode
    from lazycache_storage.record import Record


class Entries:
    """The part of a cache that is about single results."""

    mode: Mode
    _guard: GuardedStore

    def __contains__(self, expression: Any) -> bool:
        """Say whether the result of a node is stored and may be loaded, without computing anything."""
        record = self._record_of(expression)
        return record is not None and not why_refused(self._guard, record, key_of(expression))

    def get(self, expression: Node, default: Any = None) -> Any:
        """Return the stored result of a node, or `default`; nothing is computed.

        Parameters
        ----------
        expression : Node
        default : object
            What is returned if nothing is stored, or if it cannot be loaded.

        Raises
        ------
        TypeError
            If `expression` is no lazy expression.

        Examples
        --------
        >>> import tempfile
        >>> from lazycache import Cache, pure
        >>> @pure(version=1)
        ... def double(x):
        ...     return 2 * x
        >>> cache = Cache(tempfile.mkdtemp())
        >>> cache.get(double(21), "not there")
        'not there'
        >>> cache(double(21)), cache.get(double(21))
        (42, 42)
        """
        record = self._record_of(expression)
        if record is None:
            return default
        value = self._guard.load(record, key_of(expression))
        if value is MISSING:
            return default
        inputs.join_frame(record)
        return value

    def put(self, expression: Node, value: Any) -> None:
        """Store `value` as the result of a node, replacing what is there.

        A value that cannot be written is not kept, and a `NotStoredWarning` says so.

        Parameters
        ----------
        expression : Node
            A call; whatever is made with it uses the new result from then on.
        value : object

        Raises
        ------
        TypeError
            If `expression` is no call, so that it has no result.

        Examples
        --------
        >>> import tempfile
        >>> from lazycache import Cache, pure
        >>> @pure(version=1)
        ... def measured(sample):
        ...     raise OSError("the instrument is not connected")
        >>> cache = Cache(tempfile.mkdtemp())
        >>> cache.put(measured("a"), 1.25)
        >>> cache(measured("a") * 2)
        2.5
        """
        if not isinstance(expression, Node) or expression._function is None:
            raise TypeError(f"only a call has a result to put, not {expression!r}")
        from lazycache.caching import pieces

        pieces.put_by_hand(self._guard, expression, value)

    def forget(self, expression: Node) -> bool:
        """Drop the result of a node, so that it is computed again when it is asked for.

        Its array stays on disk until the next gc, since others may be reading it.

        Returns
        -------
        bool
            Whether there was one.

        Examples
        --------
        >>> import tempfile
        >>> from lazycache import Cache, pure
        >>> @pure(version=1)
        ... def double(x):
        ...     return 2 * x
        >>> cache = Cache(tempfile.mkdtemp())
        >>> cache(double(21)), cache.forget(double(21)), double(21) in cache
        (42, True, False)
        """
        if self.mode == "off":
            return False
        key = key_of(expression)
        record = self._guard.find(key)
        if record is None:
            return False
        keys = {key, Digest(record.call_key or key)}
        return bool(self._guard.write("forget a result", lambda store: [store.forget(each) for each in keys]))

    def _record_of(self, expression: Any) -> Record | None:
        if not isinstance(expression, Node):
            raise TypeError(
                f"a cache holds results of lazy expressions, not of {type(expression).__name__}: wrap it in computed()"
            )
        if self.mode == "off" or expression._function is None:
            return None
        return self._evaluation([expression], may_run=False).root_record()

    def _evaluation(self, roots: list[Node], may_run: bool = True) -> CachedEvaluation:
        """Return an evaluation through this cache."""
        raise NotImplementedError
