"""Stores that are looked in one after the other: one's own, then those of others.

Only the first is ever written, unless results are pulled into it. What is
found in another store counts under the same rules: its files are looked at,
the names of its functions must not be taken by others there, and its pickles
need trust.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lazycache import settings
from lazycache.caching import inputs
from lazycache.caching.claims import Claims
from lazycache.caching.guard import GuardedStore
from lazycache.evaluation import MISSING
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    import zarr

    from lazycache.expressions.tree import Node
    from lazycache_storage.objects.parts import PartsOfArray
    from lazycache_storage.record import Record

_ABOUT_THE_PLACE = frozenset(("format", "kind", "payload", "blob", "objects", "nbytes", "files", "signature"))


_MOST_CLOCKS_DIFFER = 60.0
"""Seconds between the clocks of machines that share a store."""


class Layer:
    """One store, and what its records count for.

    Parameters
    ----------
    guard : GuardedStore
    """

    def __init__(self, guard: GuardedStore) -> None:
        self.guard = guard
        self.claims = Claims(guard)

    def find_valid(self, key: Digest, node: Node, since: float) -> Record | None:
        """Return the record under `key` if what it depends on is as it was, and it was made after `since`."""
        record = self.guard.find(key)
        if record is None or self.claims.contested(node):
            return None
        valid = self._if_valid(record, key, node, since)
        if valid is None:
            # Another process may have put a newer one in its place since it was read here.
            newer = self.guard.find_again(key)
            if newer is not None and newer != record:
                valid = self._if_valid(newer, key, node, since)
        return valid

    def _if_valid(self, record: Record, key: Digest, node: Node, since: float) -> Record | None:
        if not _was_made_since(record, since):
            return None
        function = node._function
        # An array may have been computed by another thread in the meantime.
        pure = function is not None and function.is_pure
        if pure and function.max_age is not None and record.created < time.time() - function.max_age:
            return None
        if not record.files:
            return record
        valid, cleared = inputs.still_valid(record, node)
        if cleared is not None:
            self.guard.write("clear a mark", lambda store: store.update(key, cleared))
        return (cleared or record) if valid else None


def _was_made_since(record: Record, since: float) -> bool:
    """Say whether a record is as young as was asked for; one from the future, before a clock was set, tells nothing."""
    if since == -math.inf:
        return True
    return since <= record.created <= time.time() + _MOST_CLOCKS_DIFFER


class UpstreamStore(GuardedStore):
    """A store that is only read; it may be missing or broken, which costs one warning in all."""

    def __init__(self, path: str, options: Mapping[str, Any]) -> None:
        super().__init__(path, True, options)

    def fault(self, action: str, error: BaseException) -> None:
        """Tell the user of the first fault."""
        if not self._told:
            super().fault(action, error)


class LayeredStore(GuardedStore):
    """One's own store, with others below it.

    Parameters
    ----------
    path, read_only, options, size_limit
        See `GuardedStore`.
    upstream : sequence of GuardedStore
    pull : bool
        Whether what is loaded from another store is copied into this one.
    """

    def __init__(
        self,
        path: str,
        read_only: bool,
        options: Mapping[str, Any],
        size_limit: int | None,
        upstream: Sequence[GuardedStore],
        pull: bool,
    ) -> None:
        super().__init__(path, read_only, options, size_limit)
        self._layers = [Layer(guard) for guard in upstream]
        self._pulls = pull and not read_only

    def find_upstream(self, key: Digest, node: Node, since: float) -> Record | None:
        """Return the first valid record in another store."""
        for layer in self._layers:
            record = layer.find_valid(key, node, since)
            if record is not None:
                return record
        return None

    def find_anywhere(self, key: Digest) -> Record | None:
        """Return the first record under `key`, of whatever store."""
        found = (guard.find(key) for guard in self.all_stores())
        return next((record for record in found if record is not None), None)

    def load(self, record: Record, key: Digest) -> Any:
        """Return the value of a record from the store that has it, under the rules of that store; or MISSING."""
        if self.holds(record, key):
            return super().load(record, key)
        for layer in self._layers:
            if layer.guard.holds(record, key):
                value = layer.guard.load(record, key)
                if value is not MISSING:
                    self._pull(record, key, value)
                    return value
        return MISSING

    def open_array(self, record: Record) -> zarr.Array[Any] | None:
        """Return the stored array of a record, from the first store that has it."""
        for guard in self.all_stores():
            if guard.has_objects(record):
                found = super().open_array(record) if guard is self else guard.open_array(record)
                if found is not None:
                    return found
        return None

    def open_parts(self, record: Record) -> tuple[PartsOfArray, GuardedStore] | None:
        """Return the array of a record to read parts of it, from the first store that has it, and that store."""
        for guard in self.all_stores():
            if guard.has_objects(record):
                return super().open_parts(record) if guard is self else guard.open_parts(record)
        return None

    def layers(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return where the stores are, this one first, and how they are opened."""
        return super().layers() + [place for layer in self._layers for place in layer.guard.layers()]

    def pass_over(self, record: Record, keys: Iterable[Digest]) -> None:
        """Take a record that could not be loaded as not there, in whatever store it is."""
        keys = list(keys)
        super().pass_over(record, keys)
        for layer in self._layers:
            layer.guard.pass_over(record, keys)

    def close(self) -> None:
        """Close all stores; they open again when used."""
        for layer in self._layers:
            layer.guard.close()
        super().close()

    def alias(self, key: Digest, record: Record) -> None:
        """Write a record under another key too, if its objects are here."""
        if self.holds(record, key):
            super().alias(key, record)

    def all_stores(self) -> Sequence[GuardedStore]:
        """Return this store and those below it."""
        return (self, *[layer.guard for layer in self._layers])

    def _pull(self, record: Record, key: Digest, value: Any) -> None:
        # How chunked arrays are cut and compressed is known to the store that has them.
        if not self._pulls or any(ref.chunked for ref in record.objects):
            return
        facts = {name: part for name, part in msgspec.structs.asdict(record).items() if name not in _ABOUT_THE_PLACE}
        self.put((key,), value, facts, {key: record.files}, False, record.text or record.function)


def why_refused(guard: GuardedStore, record: Record, key: Digest) -> str:
    """Return why a record that was found under `key` would not be loaded, for want of trust; or nothing."""
    if record.kind != "pickle":
        return ""
    from lazycache_storage.handles import why_not_loaded

    reasons: list[str] = []
    for store in guard.all_stores():
        if not store.holds(record, key):
            continue
        reason = store.ask("look up a result", lambda opened: why_not_loaded(opened, record, key))
        # What is in one's own store is loaded from there only.
        if not reason or store is guard:
            return reason or ""
        reasons.append(reason)
    return reasons[0] if reasons else ""


def open_store(
    path: str,
    mode: settings.Mode,
    options: Mapping[str, Any],
    size_limit: int | None,
    upstream: Iterable[Any],
    pull: bool,
) -> GuardedStore:
    """Return the store of a cache, with the stores upstream of it, if there are any."""
    own = os.path.realpath(path)
    places: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for store in upstream:
        for place, how in store._places() if hasattr(store, "_places") else [(_absolute(store), options)]:
            places.setdefault(os.path.realpath(place), (place, how))
    below = [UpstreamStore(place, how) for real, (place, how) in places.items() if real != own]
    if not below:
        return GuardedStore(path, mode == "ro", options, size_limit)
    return LayeredStore(path, mode == "ro", options, size_limit, below, pull)


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(os.path.expanduser(os.fspath(path)))
