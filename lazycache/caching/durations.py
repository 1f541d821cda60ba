"""How long the calls of a function take, for those who wait for one."""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache.caching.guard import GuardedStore
    from lazycache.expressions.nodes import Node

WORTH_TELLING_SECONDS = 1.0
"""Nobody waits long for a shorter call."""

_MOST_KNOWN = 10_000
_NEWS = 1.25

_seconds = struct.Struct("<d")


class Durations:
    """What the last call of each function took, as one store remembers it.

    A call that is missed has no record to look in, but its function may have
    been called with other arguments.
    """

    def __init__(self, guard: GuardedStore) -> None:
        self._guard = guard
        self._known: dict[bytes, float] = {}

    def expected(self, node: Node) -> float:
        """Return the seconds that the last call took; 0 if unknown."""
        if not node._function.is_pure:
            return 0.0
        token = node._function.token
        known = self._known.get(token)
        return self._remember(token, self._look(token)) if known is None else known

    def note(self, node: Node, seconds: float) -> None:
        """Remember what a call has taken, if it is long and news."""
        if not node._function.is_pure or seconds < WORTH_TELLING_SECONDS:
            return
        known = self.expected(node)
        self._remember(node._function.token, seconds)
        if not known / _NEWS < seconds < known * _NEWS:
            row, data = _row(node._function.token), _seconds.pack(seconds)
            self._guard.write("note a duration", lambda store: store.duration_put(row, data))

    def _look(self, token: bytes) -> float:
        data = self._guard.ask("look up a duration", lambda store: store.duration_get(_row(token)))
        return float(_seconds.unpack(data)[0]) if data is not None and len(data) == _seconds.size else 0.0

    def _remember(self, token: bytes, seconds: float) -> float:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[token] = seconds
        return seconds


def _row(token: bytes) -> Digest:
    return Digest(hashlib.sha256(token).digest())
