"""The bridge: expressions over a store."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lazycache import protection, settings
from lazycache.caching import default, inputs
from lazycache.caching.codes import STARTED, Codes
from lazycache.caching.counters import Counters, log_at_exit, tell
from lazycache.caching.durations import Durations
from lazycache.caching.entries import Entries
from lazycache.caching.layers import Layer, open_store
from lazycache.caching.upkeep import Upkeep
from lazycache.evaluation import MISSING, PLAIN
from lazycache.expressions.keys import key as key_of
from lazycache.expressions.tree import Node
from lazycache.graph import find_roots, substitute
from lazycache_storage.digest import Digest
from lazycache_storage.signing import Signer

if TYPE_CHECKING:
    import zarr

    from lazycache.caching.explanation import Explanation
    from lazycache.caching.run import CachedEvaluation
    from lazycache_storage.record import FileState, Record


class Cache(Entries, Upkeep):
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
        Bytes ("50GB" works too). Beyond that, the results that cost least to
        compute again are dropped. By default nothing is ever dropped.
    allow_pickle : bool
        Whether results that need pickle are loaded and stored.
    signatures : {"off", "on", "strict"}, optional
        Whether records are signed; with ``strict`` only signed ones count. By
        default ``LAZYCACHE_SIGNATURES``, else ``on`` if there is a
        ``LAZYCACHE_SIGNING_KEY``.
    upstream : str, os.PathLike or Cache, or sequence of these, optional
        Stores that are looked in after this one, and never written. By default
        ``LAZYCACHE_UPSTREAM``.
    pull : bool
        Whether results that are loaded from upstream are copied into this store.
    shared : bool
        If the store is made here, let the group of its folder write to it.

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
        signatures: settings.Signatures | None = None,
        upstream: str | os.PathLike[str] | Cache | Sequence[str | os.PathLike[str] | Cache] | None = None,
        pull: bool = False,
        shared: bool = False,
    ) -> None:
        self.mode = settings.mode() if mode is None else settings.check_mode(mode)
        found = settings.find_store_path()[0] if path is None else os.path.abspath(os.path.expanduser(os.fspath(path)))
        self.path = found
        self.size_limit = None if size_limit is None else settings.size(size_limit, "size_limit")
        self.counters = Counters()
        signing = settings.signatures(signatures)
        upstream = settings.upstream() if upstream is None else upstream
        upstream = [upstream] if isinstance(upstream, str | os.PathLike | Cache) else upstream
        trust = {"allow_pickle": allow_pickle, "signer": Signer(*signing)}
        self._guard = open_store(found, self.mode, {**trust, "shared": shared}, self.size_limit, upstream, pull)
        self._own = Layer(self._guard)
        self._durations = Durations(self._guard)
        self._codes = Codes(self._guard)
        # A worker takes over that of the process that it works for.
        self._started = STARTED
        # Records that were made before count as misses.
        self._since = time.time() if self.mode == "refresh" else -math.inf
        self._arguments = {
            "size_limit": size_limit,
            "allow_pickle": allow_pickle,
            "signatures": signing[0],
            "upstream": tuple(upstream),
            "pull": pull,
            "shared": shared,
        }
        self._entered: list[Token[Any]] = []
        log_at_exit(self)

    def __repr__(self) -> str:
        return f"Cache({self.path!r}, mode={self.mode!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = {**self._arguments, "path": self.path, "mode": self.mode}
        return _rebuild, (type(self), arguments), {"_since": self._since, "_started": self._started}

    # -- evaluation ---------------------------------------------------------

    def __call__(
        self,
        x: Any,
        *,
        copy: bool = False,
        max_age: settings.Age | None = None,
        refresh: bool = False,
        n_jobs: int | None = None,
        executor: Any = None,
    ) -> Any:
        """Evaluate expressions through the store.

        Parameters
        ----------
        x : node, or any nest of tuples, lists and dicts that holds nodes
        copy : bool
            Return a writable copy instead of the read-only result.
        max_age : float, str or timedelta, optional
            Seconds, or a text such as "7d"; older results, of `x` and of what
            it is made of, count as misses and are replaced.
        refresh : bool
            Compute everything once more, and replace what is stored.
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
        cache = self._limited(max_age, refresh)
        if n_jobs is None and executor is None:
            value = cache._evaluate(x)
        else:
            from lazycache.caching.parallel import evaluate_with

            value = evaluate_with(cache, x, n_jobs, executor)
        return protection.writable_copy(value) if copy else value

    def _evaluate(self, expression: Any) -> Any:
        """Return `expression` with each node replaced by its value."""
        if self.mode == "off":
            return PLAIN(expression)
        if isinstance(expression, Node):
            value = self._find_value(expression)
            return self._run([expression])[0] if value is MISSING else value
        roots = find_roots(expression)
        if not roots:
            return expression
        values = self._run(roots)
        return substitute(expression, {id(root): value for root, value in zip(roots, values, strict=True)})

    def _evaluation(self, roots: list[Node], may_run: bool = True) -> CachedEvaluation:
        # Imported by the first miss: a hit needs none of it.
        from lazycache.caching.run import CachedEvaluation

        return CachedEvaluation(self, roots, may_run)

    def _run(self, roots: list[Node]) -> list[Any]:
        return self._evaluation(roots).results()

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
        """Return the record under `key`, here or upstream, if what it depends on is as it was."""
        record = self._own.find_valid(key, node, self._since)
        return self._guard.find_upstream(key, node, self._since) if record is None else record

    def _limited(self, max_age: settings.Age | None, refresh: bool) -> Self:
        """Return this cache with records older than that counting as misses."""
        if max_age is None and not refresh:
            return self
        since = time.time() - (0.0 if refresh else settings.age(max_age))
        return self._view(_since=max(since, self._since))

    def _may_store(self, node: Node, is_plain: bool = False) -> bool:
        """Say whether the result of `node`, which is plain if no pure call is below it, may be kept; warn if not."""
        if self.mode == "ro":
            return False
        function = node._function
        reason = function.unstorable_reason() if function.is_pure else None
        if reason is not None:
            self._guard.not_stored(function.name, reason)
            return False
        is_ours = self._own.claims.take(node, is_plain)
        if is_ours and function.is_pure:
            self._codes.note(function, self._started)
        return is_ours

    def _counting_in(self, counters: Counters) -> Self:
        """Return this cache with other counters."""
        return self._view(counters=counters)

    def _view(self, **changes: Any) -> Self:
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__, **changes)
        return view

    def _with_files(self, key: Digest, record: Record, files: tuple[FileState, ...]) -> Record:
        """Write a record that was found under a call key under another key too."""
        import msgspec

        record = msgspec.structs.replace(record, files=files)
        self._guard.alias(key, record)
        return record

    # -- one result ---------------------------------------------------------

    def open(self, expression: Node) -> zarr.Array[Any]:
        """Return the stored array of a node, for reading parts of it; computed first if need be.

        Slices read only the chunks that they touch. What is opened is
        read-only, and stays while the handle is alive: gc and `forget` drop
        the result, but leave the array for the next gc. A small result, or one
        that could not be stored, comes as a Zarr array in memory.

        Parameters
        ----------
        expression : Node
            Its result is an array.

        Raises
        ------
        NotOpenableError
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
        from lazycache.caching import pieces

        return pieces.open_array(self, expression)

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

    # -- opening and closing -----------------------------------------------------

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
        tell(self)


def _rebuild(cache_type: type[Cache], arguments: dict[str, Any]) -> Cache:
    return cache_type(**arguments)
