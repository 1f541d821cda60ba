"""What a cache tells of its store, and how it is bounded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lazycache.caching.guard import GuardedMemo, GuardedStore

if TYPE_CHECKING:
    from lazycache.caching.counters import Counters
    from lazycache.files import ContentMemo
    from lazycache.settings import Mode


class Upkeep:
    """The part of a cache that is about its store as a whole."""

    path: str
    mode: Mode
    counters: Counters
    _guard: GuardedStore

    def stats(self) -> dict[str, Any]:
        """Return what this cache did in this process.

        Returns
        -------
        dict
            ``path``, ``mode``; ``hits`` (results found), ``memory`` and ``disk``
            (records found in either tier), ``waits`` (results that others
            computed meanwhile), ``runs`` (functions run), ``stores``,
            ``seconds_saved``, ``seconds_run``, ``bytes_stored``.
        """
        tiers = self._guard.ask("count", lambda store: (store.counters.memory, store.counters.disk)) or (0, 0)
        names = ("hits", "waits", "runs", "stores", "seconds_saved", "seconds_run", "bytes_stored")
        counts = {name: getattr(self.counters, name) for name in names}
        return {"path": self.path, "mode": self.mode, "memory": tiers[0], "disk": tiers[1], **counts}

    def _content_memo(self) -> ContentMemo | None:
        """Return where digests of file contents are remembered, or None; no store is made for it."""
        if self.mode in ("off", "ro") or not os.path.isdir(self.path):
            return None
        return GuardedMemo(self._guard)

    def layers(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return where the store and those upstream of it are, and how they are opened."""
        return self._guard.layers()

    def clear(self) -> None:
        """Drop every result in the store."""
        self.gc(everything=True)

    def gc(self, **limits: Any) -> Any:
        """Drop results by the limits of `lazycache_storage.gc.GcLimits`.

        Returns
        -------
        GcResult or None
            None if the store could not be written.
        """
        from lazycache_storage.gc import GcLimits, plan_gc, run_gc

        return self._guard.write("collect", lambda store: run_gc(store, plan_gc(store, GcLimits(**limits))))
