"""The bridge: expressions over a store."""

from __future__ import annotations

import atexit
import logging
import math
import os
import time
import weakref
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lazycache import protection, settings
from lazycache.caching import default, inputs, pieces
from lazycache.caching.claims import Claims
from lazycache.caching.counters import Counters
from lazycache.caching.guard import GuardedMemo, GuardedStore
from lazycache.caching.parallel import evaluate as evaluate_in
from lazycache.caching.run import CachedEvaluation
from lazycache.evaluation import MISSING, PLAIN
from lazycache.execution.workers import find_workers
from lazycache.expressions import Node
from lazycache.graph import find_nodes, substitute
from lazycache.keys import key as key_of
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    import zarr

    from lazycache.caching.explanation import Explanation
    from lazycache.files import ContentMemo
    from lazycache_storage.record import FileState, Record

logger = logging.getLogger("lazycache")


class Cache:
    """A store of results, and the evaluation of expressions through it.

    ``cache(e)`` evaluates like `lazycache.compute`, but finds what it can in
    the store and keeps what it computes: the result of `e`, and of every pure
    call on the way.

    Parameters
    ----------
    path : str or os.PathLike, optional
        The folder of the store; by default that of the settings
        (``LAZYCACHE_DIR``, ``[tool.lazycache]``, the user's cache folder).
    mode : {"rw", "ro", "refresh", "off"}, optional
        ``ro`` looks up and never writes; ``refresh`` computes each key once
        more and replaces what is stored; ``off`` computes everything and keeps
        nothing. By default ``LAZYCACHE_MODE``, else ``rw``.
    size_limit : int or str, optional
        Bytes ("50GB" works too) beyond which the cheapest results to get back
        are dropped after a store. By default nothing is ever dropped.
    allow_pickle : bool
        Whether results that need pickle are loaded and stored.

    Notes
    -----
    Thread-safe, and safe among processes: each missing result is computed by
    one of them while the others wait for it. A cache can be pickled; it opens
    the same store elsewhere. It may be used across a fork.

    A fault of the store (disk full, damaged entry, no permission) costs a
    recomputation and one `CacheFaultWarning`, never the run.

    Examples
    --------
    >>> import tempfile
    >>> from lazycache import Cache, computed
    >>> folder = tempfile.mkdtemp()
    >>> cache = Cache(folder)
    >>> e = computed(3) * 14
    >>> e in cache
    False
    >>> cache(e), e in cache
    (42, True)
    >>> cache.stats()["stores"]
    1
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        mode: settings.Mode | None = None,
        size_limit: int | str | None = None,
        allow_pickle: bool = True,
    ) -> None:
        self._arguments = {"path": path, "mode": mode, "size_limit": size_limit, "allow_pickle": allow_pickle}
        self.mode = settings.mode() if mode is None else settings.check_mode(mode)
        found = settings.find_store_path()[0] if path is None else os.path.abspath(os.path.expanduser(os.fspath(path)))
        self.path = found
        self.size_limit = settings.parse_size(size_limit) if isinstance(size_limit, str) else size_limit
        self.counters = Counters()
        self._guard = GuardedStore(found, self.mode == "ro", {"allow_pickle": allow_pickle}, self.size_limit)
        self._claims = Claims(self._guard)
        self._refreshed: set[Digest] = set()
        self._refreshed_since = math.inf
        self._entered: list[Token[Any]] = []
        _log_at_exit(self)

    def __repr__(self) -> str:
        return f"Cache({self.path!r}, mode={self.mode!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = {**self._arguments, "path": self.path, "mode": self.mode}
        return _rebuild, (type(self), arguments), {"_refreshed_since": self._refreshed_since}

    # -- evaluation ---------------------------------------------------------

    def __call__(self, x: Any, *, copy: bool = False, n_jobs: int | None = None, executor: Any = None) -> Any:
        """Evaluate expressions through the store.

        Parameters
        ----------
        x : node, or any nest of tuples, lists and dicts that holds nodes
        copy : bool
            Return a writable copy instead of the read-only result.
        n_jobs, executor
            Where pure calls that are missed run, see `lazycache.compute`. The
            workers read and write the store themselves: keys are sent, not arrays.

        Returns
        -------
        object
            `x` with each node replaced by its value: read-only at every depth,
            or a fresh copy each time.

        Raises
        ------
        UnhashableError
            If a value in the expression has no stable digest.
        InputChangedError
            If a file changed after the expression was built.
        CycleError
            If a pure function asks for the result that it is computing.
        Exception
            Whatever a function raises, unchanged.
        """
        workers = None if n_jobs is None and executor is None else find_workers(n_jobs, executor)
        value = self.evaluate(x) if workers is None else evaluate_in(self, x, workers)
        return protection.writable_copy(value) if copy else value

    def evaluate(self, expression: Any) -> Any:
        """Return `expression` with each node replaced by its value."""
        if self.mode == "off":
            return PLAIN.evaluate(expression)
        if isinstance(expression, Node):
            value = self._find_value(expression)
            return self._run([expression])[0] if value is MISSING else value
        roots = find_nodes(expression)
        if not roots:
            return expression
        values = self._run(roots)
        return substitute(expression, {id(root): value for root, value in zip(roots, values, strict=True)})

    def _run(self, roots: list[Node]) -> list[Any]:
        return CachedEvaluation(self, roots).results()

    def _find_value(self, node: Node) -> Any:
        """Return the value of a node that is stored under its key, or MISSING."""
        function = node._function
        if function is None or (function.is_pure and not function.stored):
            return MISSING
        key = key_of(node)
        if node._inputs:
            inputs.check_leaves(node)
        record = self._find_valid(key, node)
        if record is None:
            return MISSING
        value = self._guard.load(record, key)
        if value is not MISSING:
            self.counters.hit(record)
            inputs.join_frame(record)
        return value

    def _find_valid(self, key: Digest, node: Node) -> Record | None:
        """Return the record under `key` if what it depends on is as it was."""
        if self.mode == "refresh" and key not in self._refreshed:
            record = self._guard.find_again(key) if self._refreshed_since < math.inf else None
            if record is None or record.created < self._refreshed_since:
                return None
        else:
            record = self._guard.find(key)
        if record is None or self._claims.contested(node):
            return None
        if not record.files:
            return record
        valid, cleared = inputs.still_valid(record, node)
        if cleared is not None:
            self._guard.write("clear a mark", lambda store: store.update(key, cleared))
        return (cleared or record) if valid else None

    def _may_store(self, node: Node) -> bool:
        """Say whether the result of `node` may be kept; warn if not."""
        if self.mode == "ro":
            return False
        function = node._function
        reason = function.unstorable_reason() if function.is_pure else None
        if reason is not None:
            self._guard.not_stored(function.name, reason)
            return False
        return self._claims.take(node)

    def _replaces(self, key: Digest) -> bool:
        """Say whether a result that was just computed replaces what is stored."""
        if self.mode == "refresh":
            self._refreshed.add(key)
        return True

    def note_refreshed(self, *keys: Digest) -> None:
        """Say that a worker has computed these keys once more."""
        if self.mode == "refresh":
            self._refreshed.update(keys)

    def share_refreshing(self) -> None:
        """Take what workers compute from now on, also on their own, as computed once more."""
        self._refreshed_since = min(self._refreshed_since, time.time())

    def counting_in(self, counters: Counters) -> Self:
        """Return this cache with other counters."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__, counters=counters)
        return view

    def _with_files(self, key: Digest, record: Record, files: tuple[FileState, ...]) -> Record:
        """Write a record that was found under a call key under another key too."""
        import msgspec

        record = msgspec.structs.replace(record, files=files)
        if self.mode != "ro":
            self._guard.write("store a result", lambda store: store.update(key, record))
        if self.mode == "refresh":
            self._refreshed.add(key)
        return record

    def _drop(self, keys: set[Digest]) -> bool:
        return bool(self._guard.write("forget a result", lambda store: [store.forget(key) for key in keys]))

    # -- one result ---------------------------------------------------------

    def __contains__(self, expression: Any) -> bool:
        """Say whether the result of a node is stored, without computing anything."""
        return self._record_of(expression) is not None

    def get(self, expression: Node, default: Any = None) -> Any:
        """Return the stored result of a node, or `default`; nothing is computed."""
        record = self._record_of(expression)
        if record is None:
            return default
        value = self._guard.load(record, key_of(expression))
        if value is MISSING:
            return default
        inputs.join_frame(record)
        return value

    def open(self, expression: Node) -> zarr.Array[Any]:
        """Return the stored array of a node, for reading parts of it; computed first if need be.

        Slices read only the chunks that they touch. What is opened is
        read-only, and stays while the handle is alive: gc and `forget` drop
        the result, but leave the array for the next gc. A small result, or one
        that could not be stored, comes as a Zarr array in memory.

        Raises
        ------
        NotStorableError
            If the result is not an array, or of a dtype that Zarr has not.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from lazycache import Cache, pure
        >>> @pure(version=1, chunks=(100, 100))
        ... def table(n):
        ...     return np.arange(n * 300.0).reshape(n, 300)
        >>> stored = Cache(tempfile.mkdtemp()).open(table(400))
        >>> stored.shape, stored.chunks, float(stored[399, 299])
        ((400, 300), (100, 100), 119999.0)
        """
        return pieces.open_array(self, expression)

    def put(self, expression: Node, value: Any) -> None:
        """Store `value` as the result of a node, replacing what is there.

        Raises
        ------
        NotStorableError
            If the value cannot be written.
        """
        CachedEvaluation(self, [expression]).put_by_hand(value)

    def forget(self, expression: Node) -> bool:
        """Drop the result of a node; return whether there was one."""
        if self.mode == "off":
            return False
        key = key_of(expression)
        record = self._guard.find(key)
        if record is None:
            return False
        return self._drop({key, Digest(record.call_key or key)})

    def _record_of(self, expression: Any) -> Record | None:
        if not isinstance(expression, Node):
            raise TypeError(
                f"a cache holds results of lazy expressions, not of {type(expression).__name__}: wrap it in computed()"
            )
        if self.mode == "off" or expression._function is None:
            return None
        return CachedEvaluation(self, [expression], may_run=False).root_record()

    def explain(self, expression: Node) -> Explanation:
        """Say why a node hits or misses; nothing is computed.

        Examples
        --------
        >>> import tempfile
        >>> from lazycache import Cache, pure
        >>> @pure(version=1, name="scaled")
        ... def scaled(x, factor):
        ...     return x * factor
        >>> cache = Cache(tempfile.mkdtemp())
        >>> cache(scaled(2, factor=10))
        20
        >>> print(cache.explain(scaled(2, factor=11)).causes)
        ('argument factor: was 10, is 11',)
        """
        from lazycache.caching.explanation import explain

        return explain(self, expression)

    # -- the store ----------------------------------------------------------

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

    def content_memo(self) -> ContentMemo | None:
        """Return where digests of file contents are remembered, or None; no store is made for it."""
        if self.mode in ("off", "ro") or not os.path.isdir(self.path):
            return None
        return GuardedMemo(self._guard)

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

    def close(self) -> None:
        """Write what is pending and close the store; it opens again when used."""
        self._guard.close()

    def __enter__(self) -> Self:
        self._entered.append(default.enter(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        default.leave(self._entered.pop())
        self.close()


def _rebuild(cache_type: type[Cache], arguments: dict[str, Any]) -> Cache:
    return cache_type(**arguments)


def _log_at_exit(cache: Cache) -> None:
    reference = weakref.ref(cache)

    def tell() -> None:
        live = reference()
        if live is not None and (live.counters.hits or live.counters.runs):
            logger.info("%s: %s", live.path, live.counters.line())

    atexit.register(tell)
