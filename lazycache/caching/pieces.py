"""Results that come piece by piece, and how they reach the store.

What a function returns may be too large for memory: `Blocks`, a Zarr array, a
dask array, an object of xarray over dask arrays. Its pieces are written one after the other, while the frame of the
call is still there; what is then put under a key is the array on disk. None of
the user's code runs inside the seam that catches faults of the store.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.blocks import Blocks, replace_members, size_of
from lazycache.caching import inputs
from lazycache.caching.details import describe, result_token
from lazycache.caching.labelled import is_labelled, load
from lazycache.digests import Memo, remember
from lazycache.errors import ExhaustedError, NotOpenableError, StoreError
from lazycache.evaluation import PLAIN, call_pure
from lazycache.expressions.keys import take_keys
from lazycache.files import mark_young
from lazycache.show import summary
from lazycache_storage.arrayhash import array_digest
from lazycache_storage.digest import Digest, digest_of_token

if TYPE_CHECKING:
    import zarr

    from lazycache.caching.bridge import Cache
    from lazycache.caching.guard import GuardedStore
    from lazycache.expressions.nodes import Node
    from lazycache_storage.objects.chunked import Chunking
    from lazycache_storage.objects.spooling import Spool, Spooled
    from lazycache_storage.record import FileState, Record

WHOLE_BELOW = 1 << 20
"""Smaller results are put together in memory and stored like any array."""

_MOST_BYTES = 256 << 20


def chunking_of(function: Any) -> Chunking | None:
    """Return how the options of a function say that arrays are to be cut, or None if they do not."""
    if not function.is_pure or (function.chunks is None and function.shards is None and function.compressors is None):
        return None
    from lazycache_storage.objects.chunked import Chunking

    return Chunking(
        chunks="auto" if function.chunks is None else function.chunks,
        shards=function.shards,
        compressors="auto" if function.compressors is None else function.compressors,
    )


def call(
    cache: Cache, node: Node, args: tuple[Any, ...], kwargs: Mapping[str, Any], call_key: Digest, what: str
) -> tuple[Any, list[FileState]]:
    """Run a pure call; what it returns in pieces goes to the store as it comes."""
    function = node._function
    collect = Collector(cache._guard, function, what, lambda: cache._may_store(node))
    try:
        return call_pure(function, args, kwargs, cache, call_key, collect)
    except ExhaustedError:
        # The store failed in the middle of an iterator.
        return call_pure(function, args, kwargs, cache, call_key)


class Collector:
    """Turns a result, and members of a tuple, list or dict, into arrays in memory or in the store.

    Parameters
    ----------
    guard : GuardedStore
    function : Callee
    what : str
        The call, for messages.
    may_store : callable
        Tells whether the result is to be stored.
    """

    def __init__(self, guard: GuardedStore, function: Any, what: str, may_store: Callable[[], bool]) -> None:
        self._guard = guard
        self._what = what
        self._may_store = may_store
        self._chunking = chunking_of(function)

    def __call__(self, value: Any) -> Any:
        """Return the result with what comes in pieces collected."""
        return replace_members(value, _is_piecewise, self._collect)

    def _collect(self, source: Any) -> Any:
        if is_labelled(source):
            return load(source, self._map) if self._may_store() else source
        return self._gather(source, self._chunking_for(source))

    def _map(self, source: Any) -> Any:
        """Return a dask array as one in memory, or over a file that goes when nobody uses it any more."""
        from lazycache_storage.objects.spooling import Spooled

        part = self._gather(source, None)
        if not isinstance(part, Spooled):
            return part
        array = self._guard.ask("open a result", lambda _: _open_spooled(part))
        if array is None:
            return _whole(source)
        remember(array, part.token)
        return array

    def _gather(self, source: Any, chunking: Chunking | None) -> Any:
        if not _is_known(source) or size_of(source) < WHOLE_BELOW or not self._may_store():
            return _whole(source)
        spool = self._guard.spool(source.shape, np.dtype(source.dtype), chunking, self._what)
        if spool is None:
            return _whole(source)
        try:
            _pour(source, spool)
        except BaseException as error:
            spool.discard()
            if spool.failure is None or not isinstance(error, Exception):
                raise
            self._guard.fault("store a result", spool.failure)
            return _whole(source)
        spooled = self._guard.ask("store a result", lambda _: spool.finish())
        return _whole(source) if spooled is None else spooled

    def _chunking_for(self, source: Any) -> Chunking | None:
        if self._chunking is None and isinstance(source, Blocks) and source.chunks is not None:
            from lazycache_storage.objects.chunked import Chunking

            return Chunking(chunks=source.chunks)
        return self._chunking


def put_result(
    guard: GuardedStore,
    node: Node,
    keys: Sequence[Digest],
    value: Any,
    fields: Mapping[str, Any],
    named: tuple[FileState, ...],
    files: Mapping[bytes, tuple[FileState, ...]],
    replace: bool,
    what: str,
) -> Record | None:
    """Store the result of a node, hashing each array in it once; see `GuardedStore.put`.

    Parameters
    ----------
    named : tuple of FileState
        The files that the result names.
    """
    memo = Memo()
    for part, token in _tokens(value):
        memo.add(part, token)
    fields = {**fields, "token": result_token(value, named, memo)}

    def digest(array: Any) -> Digest:
        known = memo.known.get(id(array))
        return array_digest(array) if known is None else digest_of_token(known[1])

    return guard.put(keys, value, fields, files, replace, what, digest=digest, chunking=chunking_of(node._function))


def put_by_hand(guard: GuardedStore, expression: Node, value: Any) -> Record | None:
    """Store `value` as the result of `expression`."""
    take_keys((expression,))
    root = expression._pinned()
    named = inputs.result_files(value)
    leaves = (state for leaf in root._inputs for state in mark_young(leaf._files, in_key=True))
    files = inputs.union(tuple(leaves), named)
    what = summary(root)
    value = Collector(guard, root._function, what, lambda: True)(value)
    return put_result(
        guard, root, (root._key,), value, describe(root, what, 0.0), named, {root._key: files}, True, what
    )


def open_array(cache: Cache, node: Node) -> zarr.Array[Any]:
    """Return the stored array of a node, see `Cache.open`."""
    import zarr

    from lazycache_storage.objects.zarrhandle import as_zarr

    found = _open_stored(cache, node)
    if found is not None:
        return found
    value = cache(node)
    found = _open_stored(cache, node)
    if found is not None:
        return found
    # It could not be stored, or may not be.
    if isinstance(value, zarr.Array):
        return value
    if not isinstance(value, np.ndarray):
        raise NotOpenableError(what=summary(node), reason=f"its result is of type {type(value).__name__}")
    return as_zarr(value)


def _open_stored(cache: Cache, node: Node) -> zarr.Array[Any] | None:
    from lazycache_storage.objects.zarrhandle import StrictStore

    record = cache._record_of(node)
    found = None if record is None else cache._guard.open_array(record)
    if found is not None and isinstance(found.store, StrictStore):
        found.store.token = record.token  # type: ignore[union-attr]
    return found


def opened(value: Any, node: Node) -> Any:
    """Return the result of `node`, which could not be stored, as arrays of the pieces that were written."""
    from lazycache_storage.objects.spooling import Spooled

    try:
        return replace_members(value, lambda part: isinstance(part, Spooled), _open_spooled)
    except (StoreError, OSError):
        # They went with the record that could not be read back.
        return PLAIN(node)


def _open_spooled(part: Spooled) -> Any:
    from lazycache_storage.objects.objects import open_array

    return open_array(part.written.path, part.written.ref)


def _tokens(value: Any) -> Iterator[tuple[Any, bytes]]:
    """Iterate over the parts of a result that are in the store already, and what stands for them in keys."""
    from lazycache_storage.objects.spooling import Spooled

    members = value.values() if type(value) is dict else value if type(value) in (tuple, list) else (value,)
    return ((part, part.token) for part in members if isinstance(part, Spooled))


def _is_piecewise(value: Any) -> bool:
    if isinstance(value, Blocks) or _is_of("zarr", "Array", value):
        return True
    return _is_of("dask.array", "Array", value) or is_labelled(value)


def _is_of(module: str, name: str, value: Any) -> bool:
    # What is not imported has no instances.
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def _is_known(source: Any) -> bool:
    """Tell whether the size and the kind of an array are known before it is computed."""
    if any(math.isnan(size) for size in source.shape):
        return False
    return type(getattr(source, "_meta", None)) in (type(None), np.ndarray)


def _whole(source: Any) -> Any:
    if isinstance(source, Blocks):
        return np.asarray(source)
    return source.compute() if _is_of("dask.array", "Array", source) else np.asarray(source[...])


def _pour(source: Any, spool: Spool) -> None:
    if isinstance(source, Blocks):
        for region, block in source.pieces(1 if spool.tile is None else spool.tile[0]):
            spool[region] = block
    elif _is_of("dask.array", "Array", source):
        _pour_dask(source, spool)
    else:
        for region in _regions(source.shape, _tile(source, spool)):
            spool[region] = np.asarray(source[region], dtype=source.dtype)


def _pour_dask(source: Any, spool: Spool) -> None:
    import dask.array as da

    if spool.tile is not None:
        source = source.rechunk(spool.tile)
    # In threads, whatever else is set: the spool is here. All at once, so that what blocks share is computed once.
    target: Any = spool
    da.store(source, target, lock=True, scheduler="threads")


def _tile(source: Any, spool: Spool) -> tuple[int, ...]:
    """Return the shape of the parts in which to copy a Zarr array: whole chunks of both, if memory allows."""
    chunk: tuple[int, ...] = source.shards or source.chunks
    if spool.tile is None:
        return chunk
    both = tuple([-(-max(ours, size) // ours) * ours for ours, size in zip(spool.tile, chunk, strict=True)])
    return both if math.prod(both) * source.dtype.itemsize <= _MOST_BYTES else spool.tile


def _regions(shape: tuple[int, ...], tile: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    for corner in itertools.product(*[range(0, size, step) for size, step in zip(shape, tile, strict=True)]):
        yield tuple([slice(low, min(low + step, size)) for low, step, size in zip(corner, tile, shape, strict=True)])
