"""What a cache tells of its store, and how it is bounded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lazycache import settings
from lazycache.caching.guard import GuardedMemo, GuardedStore

if TYPE_CHECKING:
    from lazycache.caching.counters import Counters
    from lazycache.files import ContentMemo
    from lazycache.settings import Mode
    from lazycache_storage.gc import GcResult


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

        Notes
        -----
        Each cache counts by itself, also where two of them open one store: ask
        the one that was used. For `lazycache.cache` that is
        ``lazycache.default_cache()``.

        Examples
        --------
        >>> import tempfile
        >>> from lazycache import Cache, pure
        >>> @pure(version=1)
        ... def double(x):
        ...     return 2 * x
        >>> cache = Cache(tempfile.mkdtemp())
        >>> cache(double(21)), cache(double(21))
        (42, 42)
        >>> [cache.stats()[name] for name in ("runs", "hits")]
        [1, 1]
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

    def _places(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return where the store and those upstream of it are, and how they are opened."""
        return self._guard.layers()

    def clear(self) -> None:
        """Drop every result in the store."""
        self.gc(everything=True)

    def gc(
        self,
        *,
        max_size: int | str | None = None,
        max_age: settings.Age | None = None,
        unused_for: settings.Age | None = None,
        functions: Sequence[str] = (),
        stale_code: bool = False,
        missing_inputs: bool = False,
        orphans: bool = False,
        everything: bool = False,
    ) -> GcResult | None:
        """Drop the results that are asked for; without arguments, none. Pinned results stay.

        Parameters
        ----------
        max_size : int or str, optional
            Bytes that may remain ("50GB" works too). What is cheapest to get back
            per byte and least used goes first.
        max_age, unused_for : float, str or timedelta, optional
            Seconds ("90d" works too) since a result was made, or last used.
        functions : sequence of str
            Patterns of function names, such as ``"ingest.*"``. Alone they drop
            all results of these functions, else they narrow what goes.
        stale_code : bool
            Drop results of functions that have been edited since, whose helpers
            have been, or that have another version now.
        missing_inputs : bool
            Drop results that depend on a file which no longer exists.
        orphans : bool
            Remove objects that no result needs.
        everything : bool
            Drop all results.

        Returns
        -------
        GcResult or None
            What was dropped; None if the store could not be written.

        Raises
        ------
        SettingError
            If a size or an age is written in a way that means nothing.
        """
        from lazycache_storage.gc import GcLimits, plan_gc, run_gc

        limits = GcLimits(
            max_size=None if max_size is None else settings.size(max_size, "max_size"),
            max_age=None if max_age is None else settings.age(max_age, "max_age"),
            unused_for=None if unused_for is None else settings.age(unused_for, "unused_for"),
            functions=tuple(functions),
            stale_code=stale_code,
            missing_inputs=missing_inputs,
            orphans=orphans,
            everything=everything,
        )
        return self._guard.write("collect", lambda store: run_gc(store, plan_gc(store, limits)))
