"""Store: get, put, forget; everything about one folder of results.

The order of operations, and what it promises, is in ``FORMAT.md``.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import msgspec

from lazycache_storage import founding, layout
from lazycache_storage.arrayhash import array_digest
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError, NotStorableError, RemovedEntryError, UnsignedEntryError
from lazycache_storage.listing import Listing
from lazycache_storage.loading import Counters, Loader, is_from_another_boot
from lazycache_storage.locks import Claim
from lazycache_storage.memory import NOTHING, Memory, cannot_change
from lazycache_storage.notes import Notes
from lazycache_storage.record import FileState, ObjectRef, Record, decode_record, encode_record
from lazycache_storage.rows import Rows
from lazycache_storage.signing import Signer

if TYPE_CHECKING:
    from lazycache_storage.objects.arrays import Array
    from lazycache_storage.objects.chunked import Chunking
    from lazycache_storage.publishing import Publisher

log = logging.getLogger("lazycache")

FLUSH_USES_AT = 1000
"""Uses of so many keys are written to the index together."""


class Store(Listing, Notes):
    """A folder of results under keys, for any number of threads and processes.

    An open store survives a fork: the child opens its own connections.

    Parameters
    ----------
    path : str or path-like
    read_only : bool
        Never write. A folder that may not be written is read only by itself.
    create : bool
        Make the store if there is none.
    allow_pickle : bool
        Whether results that are pickles are written, and loaded if the folder is trusted.
    memory_bytes : int
        How much the tier in memory may take.
    shared : bool
        Let the group of the folder write to the store, if it is made.
    signer : Signer, optional
        Signs records and checks them; by default neither.

    Raises
    ------
    FileNotFoundError
        If there is no store, and it may not be made.
    UnknownFormatError
        If the folder is a store of another format.

    Examples
    --------
    >>> import tempfile
    >>> from lazycache_storage.digest import Digest
    >>> key = Digest(bytes(32))
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/store") as store:
    ...     record = store.put([key], {"a": [1, 2]}, {"function": "f"})
    ...     store.load(store.find(key), key)
    {'a': [1, 2]}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        create: bool = True,
        allow_pickle: bool = True,
        memory_bytes: int = 64 << 20,
        shared: bool = False,
        signer: Signer | None = None,
    ) -> None:
        self.path = os.path.abspath(os.fspath(path))
        opened = founding.open_folder(self.path, read_only=read_only, create=create, shared=shared)
        self.read_only = opened.read_only
        self.network = opened.network
        self.allow_pickle = allow_pickle
        self.counters = Counters()
        self._memory = Memory(memory_bytes)
        self._rows = Rows(self.path, read_only=self.read_only, network=self.network, forget=self._memory.clear)
        self.index = self._rows.index
        self.signer = Signer() if signer is None else signer
        self._loader = Loader(
            self.path, self._memory, self.counters, network=self.network, allow_pickle=allow_pickle, signer=self.signer
        )
        # Keys whose record could not be read or loaded: the next put replaces it.
        self._unreadable: set[bytes] = set()
        self._at_exit = weakref.finalize(self, self._rows.write_uses_quietly, self._memory)

    def find(self, key: Digest) -> Record | None:
        """Return the record under `key`, or None.

        Raises
        ------
        CorruptEntryError
            If there is one that cannot be read, or if the index is broken.
        """
        entry = self._memory.get(key)
        if entry is not None and not entry.is_old:
            self.counters.memory += 1
            record = entry.record
        else:
            found = self._look(key)
            if found is None:
                self.counters.misses += 1
                return None
            self.counters.disk += 1
            record = found
        if self._memory.note_use(key) >= FLUSH_USES_AT:
            self._rows.write_uses_quietly(self._memory)
        return record

    def find_again(self, key: Digest) -> Record | None:
        """Return the record under `key`, also if another process has replaced it since it was found here."""
        self._memory.drop(key)
        return self.find(key)

    def contains(self, key: Digest) -> bool:
        """Tell whether there is a record under `key`; does not count as a use."""
        return self._look(key) is not None

    def load(self, record: Record, key: Digest | None = None) -> Any:
        """Return the value of a record: read-only arrays, and fresh copies of what can be changed.

        An array is the same object each time, for as long as it is alive.

        Raises
        ------
        CorruptEntryError
            If an object is missing or damaged, or the payload cannot be decoded.
            A later `put` under `key` then replaces the record.
        UntrustedPickleError
            If it is a pickle, and the store may not be trusted with code.
        """
        entry = None if key is None else self._memory.peek(key)
        if entry is not None and entry.value is not NOTHING and entry.record is record:
            return entry.value
        # Arrays that are objects are known by these.
        alone = None if record.objects and record.kind == "plain" else key
        if alone is not None and (shared := self._memory.live_result(alone, record)) is not None:
            return shared
        try:
            value = self._loader.load(record, key)
        except CorruptEntryError as error:
            raise self._after_damage(key, record, error) from error
        if alone is not None:
            value = self._memory.keep_result(alone, record, value)
            if entry is not None and cannot_change(value):
                entry.value = value
        if key is not None and is_from_another_boot(record):
            self._mark_verified(key, record)
        return value

    def put(
        self,
        keys: Sequence[Digest],
        value: object,
        record_fields: Mapping[str, Any],
        *,
        files_for_key: Mapping[bytes, tuple[FileState, ...]] | None = None,
        replace: bool = False,
        digest: Callable[[Array], Digest] = array_digest,
        chunking: Chunking | None = None,
    ) -> Record:
        """Store a value under keys; the first one to do so wins.

        Parameters
        ----------
        keys : sequence of Digest
            All get the same record, but for its files.
        value : object
        record_fields : mapping
            Fields of `Record` beside those that say where the value is.
        files_for_key : mapping, optional
            The field ``files`` for those keys where it differs.
        replace : bool
            Write the record also where there is one.
        digest : callable, optional
            Gives the digest of an array; it may know that of some already.
        chunking : Chunking, optional
            How to cut and compress arrays.

        Returns
        -------
        Record
            The record that is now under the first key.

        Raises
        ------
        ReadOnlyStoreError
        NotStorableError
            If the value cannot be written in a form that could be read back.
        OSError, sqlite3.Error
            If it could not be written, for example because the disk is full.
        """
        self._rows.check_writable()
        replaced = {key for key in keys if replace or key in self._unreadable}
        publisher = self._publisher()
        for trust in (True, False):
            with publisher.staging(trust=trust, digest=digest, chunking=chunking) as sink:
                record = publisher.encode(value, record_fields, sink)
                with self._rows.transaction() as transaction:
                    written = publisher.publish(transaction, keys, record, files_for_key or {}, replaced)
                    transaction.touch(self._memory.take_uses())
                if written is not None:
                    break
        else:
            raise NotStorableError(type_name=type(value).__name__, reason="its objects vanish as they are written")
        publisher.empty_trash()
        self.counters.stored += 1
        self._unreadable.difference_update(keys)
        for key, (row, nbytes) in written.items():
            self._memory.put(key, row, nbytes)
        return written[keys[0]][0]

    def forget(self, key: Digest) -> bool:
        """Remove the record under `key`, and the objects that only it needed; return whether there was one."""
        self._memory.drop(key)
        from lazycache_storage import removing

        return removing.forget(self._rows, key)

    def update(self, key: Digest, record: Record) -> bool:
        """Write another record, of the same objects, under a key that has one; return whether it had."""
        self._rows.check_writable()
        record = self.signer.sign_again(key, record)
        data = encode_record(record)
        with self._rows.transaction() as transaction:
            found = transaction.replace(key, data)
        if found:
            self._memory.put(key, record, len(data))
        return found

    def link(self, key: Digest, record: Record) -> bool:
        """Write a record that was found under another key under `key` too; False if an object of it is gone."""
        self._rows.check_writable()
        publisher = self._publisher()
        with self._rows.transaction() as transaction:
            written = publisher.link(transaction, key, record)
        if written is not None:
            self._memory.put(key, *written)
        return written is not None

    def drop_from_memory(self, keys: Iterable[bytes]) -> None:
        """Forget what the tier in memory knows of keys that were removed from the index."""
        for key in keys:
            self._memory.drop(key)

    def has_in_memory(self, ref: ObjectRef) -> bool:
        """Tell whether somebody here has the array of an object, so that loading it costs nothing."""
        return self._memory.live_array(ref) is not None

    def __bool__(self) -> bool:
        """Return True: an empty store is a store."""
        return True

    def computing(
        self,
        key: Digest,
        what: str,
        ready: Callable[[], Record | None] | None = None,
        *,
        expected: float = 0.0,
        timeout: float | None = None,
    ) -> Claim[Record]:
        """Return a context manager in which this thread alone computes `key`.

        Parameters
        ----------
        key : Digest
        what : str
            A short text for those who wait.
        ready : callable, optional
            Looks for the result while waiting, and once the lock is taken; by
            default, in the index.
        expected : float
            Seconds that it took last time; 0 if unknown.
        timeout : float, optional
            Seconds to wait for others at most.

        Raises
        ------
        LockTimeoutError
            When entered, if `timeout` passed.
        """
        path = layout.lock_path(self.path, key)
        look = ready or (lambda: self._look_or_none(key))
        return Claim(path, what, look, expected=expected, timeout=timeout, is_usable=not self.read_only)

    def flush(self) -> None:
        """Write the uses that were only counted so far."""
        self._rows.write_uses(self._memory)

    def close(self) -> None:
        """Write what is pending and close the files; the next use opens them again."""
        self._rows.write_uses_quietly(self._memory)
        self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close()

    def _look(self, key: bytes) -> Record | None:
        """Return the record under `key` from memory or the index, without counting a use."""
        entry = self._memory.peek(key)
        if entry is not None and not entry.is_old:
            return entry.record
        data = self._rows.get(key)
        if data is None:
            self._memory.drop(key)
            return None
        try:
            record = decode_record(data, f"{self.index.folder}[{key[:3].hex()}]")
        except CorruptEntryError:
            self._unreadable.add(key)
            raise
        if self.signer.is_active and not self.signer.admits(key, record):
            self._unreadable.add(key)
            raise UnsignedEntryError(path=self.path)
        if entry is not None and record == entry.record:
            entry.looked = time.monotonic()
            return entry.record
        self._memory.put(key, record, len(data))
        return record

    def _look_or_none(self, key: bytes) -> Record | None:
        try:
            return self._look(key)
        except CorruptEntryError:
            # As if it were not there: what is put next replaces it.
            return None

    def _publisher(self) -> Publisher:
        # Imported by the first write: a hit is to find the library small.
        from lazycache_storage.publishing import Publisher

        return Publisher(self.path, self.index, self.signer, allow_pickle=self.allow_pickle)

    def _mark_verified(self, key: Digest, record: Record) -> None:
        """Note that the objects of a record are on disk for good, now that they were read after another boot."""
        if self.read_only:
            return
        with self._rows.transaction() as transaction:
            if transaction.get(key) == encode_record(record):
                transaction.replace(key, encode_record(msgspec.structs.replace(record, boot="")))
        self._memory.drop(key)

    def _after_damage(self, key: Digest | None, record: Record, error: CorruptEntryError) -> CorruptEntryError:
        """Return the error to raise when a record could not be loaded."""
        if key is None:
            return error
        self._memory.drop(key)
        try:
            is_there = self._look(key) == record
        except CorruptEntryError:
            is_there = True
        if not is_there:
            return RemovedEntryError(path=self.path, reason="its record is gone")
        self._memory.drop(key)
        self._unreadable.add(key)
        return error
