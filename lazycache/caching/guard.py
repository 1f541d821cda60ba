"""The one seam between the user's run and the faults of the store.

Each method asks the store for something. If the store fails, the user gets one
warning for each kind of fault, the answer is "nothing there", and the run goes
on. Only the errors named in `FAULTS` are caught; nothing of the user's code
runs inside the seam.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from lazycache.caching.details import know_token
from lazycache.caching.faults import FAULTS, FULL, cause
from lazycache.caching.flights import Flight
from lazycache.errors import (
    CacheFaultWarning,
    CorruptEntryError,
    NotStorableError,
    NotStoredWarning,
    UntrustedArrayError,
    UntrustedPickleError,
)
from lazycache.evaluation import MISSING
from lazycache.telling import warn
from lazycache_storage import forking, machine
from lazycache_storage.digest import Digest
from lazycache_storage.errors import RemovedEntryError
from lazycache_storage.store import Store

if TYPE_CHECKING:
    import zarr

    from lazycache.expressions.nodes import Node
    from lazycache_storage.gc import Trimmer
    from lazycache_storage.objects.parts import PartsOfArray
    from lazycache_storage.objects.spooling import Spool
    from lazycache_storage.record import FileState, Record

LOOK_AT_SPACE_BYTES = 4 << 20
"""After storing so much, it is looked how much space there is left."""

logger = logging.getLogger("lazycache")
T = TypeVar("T")


class GuardedStore:
    """A store that is opened on first use and whose faults are warnings.

    Thread-safe; after a fork the child opens the store anew.

    Parameters
    ----------
    path : str
        The folder; it is made on the first write.
    read_only : bool
    options : mapping
        Further keyword arguments of `lazycache_storage.store.Store`.
    size_limit : int, optional
        Bytes that the store is kept below.
    """

    waits_at_fork: ClassVar[bool] = False

    def __init__(self, path: str, read_only: bool, options: Mapping[str, Any], size_limit: int | None = None) -> None:
        self.path = path
        self._read_only = read_only
        self._options = dict(options)
        self._store: Store | None = None
        self._unusable = False
        self._lock = threading.Lock()
        self._told: set[str] = set()
        # When the records under these keys were made: they could not be loaded.
        self._passed_over: dict[Digest, float] = {}
        self._size_limit = size_limit
        self._trimmer: Trimmer | None = None
        self._trimming = threading.Lock()
        # Bytes that were stored since the space on the disk was looked at.
        self._unlooked = 0
        forking.register(self)

    def before_fork(self) -> None:
        """Do nothing."""

    def after_fork(self, *, in_child: bool) -> None:
        """Have free locks in the child: another thread may have been opening the store, or collecting."""
        if in_child:
            self._lock = threading.Lock()
            self._trimming = threading.Lock()
            self._trimmer = None

    @property
    def store(self) -> Store | None:
        """The open store, or None if it cannot be opened."""
        if self._store is None and not self._unusable:
            self._open()
        return self._store

    def _open(self) -> None:
        with self._lock:
            if self._store is not None or self._unusable:
                return
            if not self._read_only and not os.path.isdir(self.path):
                logger.info("results are kept in a new store, %s", self.path)
            try:
                self._store = Store(self.path, read_only=self._read_only, **self._options)
                if not self._store.read_only:
                    self._look_at_space()
            except FAULTS as error:
                self._unusable = True
                self.fault("open the store", error)

    def _look_at_space(self) -> None:
        """Tell, once, that the disk will soon be full."""
        self._unlooked = 0
        found = machine.space(self.path)
        if not found.is_low or FULL in self._told:
            return
        # What does not fit is not told again.
        self._told.add(FULL)
        warn(
            f"the disk of {self.path} has {found.free // 10**6} MB left; results that do not fit are not kept "
            "(`lazycache-gc --max-size` makes room)",
            CacheFaultWarning,
        )

    def fault(self, action: str, error: BaseException) -> None:
        """Tell the user of a fault, once for each kind."""
        kind = cause(error) or f"{action}:{type(error).__name__}"
        logger.debug("could not %s in %s: %s", action, self.path, error)
        if kind in self._told:
            return
        self._told.add(kind)
        warn(
            f"lazycache could not {action} in {self.path} ({type(error).__name__}: {error}); "
            "results are computed without it, nothing is lost",
            CacheFaultWarning,
        )

    def find(self, key: Digest) -> Record | None:
        """Return the record under `key`, or None."""
        store = self.store
        if store is None:
            return None
        try:
            record = store.find(key)
        except FAULTS as error:
            self.fault("look up a result", error)
            return None
        if record is not None and self._passed_over.get(key) == record.created:
            return None
        return record

    def pass_over(self, record: Record, keys: Iterable[Digest]) -> None:
        """Take a record that could not be loaded as not there, until there is another one under these keys."""
        self._passed_over.update(dict.fromkeys(keys, record.created))

    def find_again(self, key: Digest) -> Record | None:
        """Return the record under `key` as others have left it meanwhile, or None."""
        return self.ask("look up a result", lambda store: store.find_again(key))

    def find_anywhere(self, key: Digest) -> Record | None:
        """Return the record under `key` in this store, or in one below it."""
        return self.find(key)

    def find_upstream(self, key: Digest, node: Node, since: float) -> Record | None:  # noqa: ARG002
        """Return a record in a store below this one; there is none."""
        return None

    def all_stores(self) -> Sequence[GuardedStore]:
        """Return this store and those below it; there are none."""
        return (self,)

    def holds(self, record: Record, key: Digest) -> bool:
        """Tell whether the result of a record is in this very store."""
        from lazycache_storage.handles import holds

        return bool(self.ask("look up a result", lambda store: holds(store, record, key)))

    def has_objects(self, record: Record) -> bool:
        """Tell whether the objects of a record are in this very store."""
        from lazycache_storage.handles import has_objects

        return bool(self.ask("look up a result", lambda store: has_objects(store, record)))

    def alias(self, key: Digest, record: Record) -> None:
        """Write a record of this store under another key too."""
        self.write("store a result", lambda store: store.link(key, record))

    def layers(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return where the stores are, this one first, and how they are opened."""
        return [(self.path, self._options)]

    def load(self, record: Record, key: Digest) -> Any:
        """Return the value of a record, or MISSING."""
        store = self.store
        if store is None:
            return MISSING
        try:
            value = store.load(record, key)
        except RemovedEntryError:
            return MISSING
        except FAULTS as error:
            self.fault("load a result", error)
            return MISSING
        except BaseException:
            store.index.let_go()
            raise
        know_token(value, record)
        return value

    def open_array(self, record: Record) -> zarr.Array[Any] | None:
        """Return the stored array of a record, for reading parts of it; None if it is not there."""
        from lazycache_storage.handles import open_result

        return self.ask("open a result", lambda store: open_result(store, record))

    def open_parts(self, record: Record) -> tuple[PartsOfArray, GuardedStore] | None:
        """Return the array of a record to read parts of it, if that costs less than loading it, and who has it."""
        from lazycache_storage.handles import open_parts

        parts = self.ask_quietly("open a result", lambda store: open_parts(store, record))
        return None if parts is None else (parts, self)

    def spool(self, shape: tuple[int, ...], dtype: np.dtype[Any], chunking: Any, what: str) -> Spool | None:
        """Return what takes an array piece by piece; None, and a warning, if the store cannot have it."""
        from lazycache_storage.objects.spooling import spool_into

        try:
            return self.ask("store a result", lambda store: spool_into(store.path, shape, dtype, chunking))
        except NotStorableError as error:
            self.not_stored(what, str(error))
            return None

    def put(
        self,
        keys: Sequence[Digest],
        value: Any,
        fields: Mapping[str, Any],
        files: Mapping[bytes, tuple[FileState, ...]],
        replace: bool,
        what: str,
        **how: Any,
    ) -> Record | None:
        """Store a value under keys; None, and a warning, if it cannot be kept.

        `how` are the arguments ``digest`` and ``chunking`` of the store.
        """
        store = self.store
        if store is None:
            return None
        try:
            record = store.put(keys, value, fields, files_for_key=files, replace=replace, **how)
        except NotStorableError as error:
            self.not_stored(what, str(error))
            return None
        except FAULTS as error:
            self.fault("store a result", error)
            return None
        except BaseException:
            # Interrupted, perhaps in the middle of a transaction that others wait for.
            store.index.let_go()
            raise
        self._unlooked += record.nbytes
        if self._unlooked > LOOK_AT_SPACE_BYTES:
            # A look takes two microseconds, and such a result a thousand times that.
            self.ask("look at the disk", lambda _: self._look_at_space())
        return record if self._fits(store, record, keys, what) else None

    def _fits(self, store: Store, record: Record, keys: Sequence[Digest], what: str) -> bool:
        """Keep the store below its limit; say whether the record may stay."""
        if self._size_limit is None:
            return True
        from lazycache_storage.gc import Trimmer

        with self._trimming:
            if self._trimmer is None or self._trimmer.store is not store:
                self._trimmer = Trimmer(store, self._size_limit)
            try:
                fits = self._trimmer.after_store(record, keys)
            except FAULTS as error:
                self.fault("keep the store below its limit", error)
                return True
        if not fits:
            self.not_stored(what, f"its {record.nbytes} bytes are more than the limit of {self._size_limit}")
        return fits

    def not_stored(self, what: str, reason: str) -> None:
        """Tell the user, once for each call, that its result was not kept."""
        if (kind := f"not stored:{what}") in self._told:
            return
        self._told.add(kind)
        warn(f"the result of {what} was not stored: {reason}", NotStoredWarning)

    def hold_back(self, *calls: str) -> None:
        """Do not tell that these calls were not stored, nor that a result cannot be loaded; somebody else will."""
        self._told.update([f"not stored:{call}" for call in calls])
        kinds = (CorruptEntryError, UntrustedArrayError, UntrustedPickleError)
        self._told.update([f"load a result:{kind.__name__}" for kind in kinds])

    def ask(self, action: str, question: Callable[[Store], T]) -> T | None:
        """Ask the store something small; None if it failed."""
        return self._ask(action, question, self.fault)

    def ask_quietly(self, action: str, question: Callable[[Store], T]) -> T | None:
        """Ask for what is loaded as a whole if this fails: then it is told, unless the result was removed meanwhile."""
        return self._ask(action, question, lambda _, error: logger.debug("could not %s: %s", action, error))

    def _ask(
        self, action: str, question: Callable[[Store], T], fault: Callable[[str, BaseException], None]
    ) -> T | None:
        store = self.store
        if store is None:
            return None
        try:
            return question(store)
        except FAULTS as error:
            fault(action, error)
            return None
        except BaseException:
            store.index.let_go()
            raise

    def write(self, action: str, write: Callable[[Store], T]) -> T | None:
        """Change something small in the store; None if it failed or may not be written."""
        return None if self._read_only else self.ask(action, write)

    def computing(self, key: Digest, what: str, ready: Callable[[], Record | None], expected: float = 0.0) -> Flight:
        """Return a context manager that holds the lock of a key while its result is computed."""
        store = None if self._read_only else self.store
        return Flight(store, key, what, ready, expected, self.fault)

    def note_wait(self, key: Digest, *, begins: bool) -> None:
        """Write into the locks held here that a worker computes, or waits for, `key` on their behalf."""
        from lazycache_storage import layout, locks

        self.write("note a wait", lambda store: locks.note_wait(layout.lock_path(store.path, key), begins=begins))

    def close(self) -> None:
        """Write what is pending and close the store; it opens again when used."""
        with self._lock:
            store, self._store = self._store, None
        if store is not None:
            try:
                if self._trimmer is not None:
                    self._trimmer.finish()
                store.close()
            except FAULTS as error:
                self.fault("close the store", error)


class GuardedMemo:
    """Digests of file contents, remembered in a store whose faults are warnings."""

    def __init__(self, guard: GuardedStore) -> None:
        self._guard = guard

    def memo_get(self, key: Digest) -> bytes | None:
        """Return what is remembered under a key, or None."""
        return self._guard.ask("look up a file", lambda store: store.memo_get(key))

    def memo_put(self, key: Digest, value: bytes) -> None:
        """Remember the digest of a file's content."""
        self._guard.write("remember a file", lambda store: store.memo_put(key, value))
