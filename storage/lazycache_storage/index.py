"""The index: rows of bytes under keys of bytes, in one sqlite database.

diskcache makes the database and writes to it; a hit never opens it, because
that takes milliseconds and writes. Reads go straight to sqlite, over the same
connection, one for each thread.

Keys are 32 bytes for records and start with one of the prefixes below for
everything else; no other row has a key of 32 bytes.
"""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from lazycache_storage import forking, fsio
from lazycache_storage.errors import CorruptEntryError, ReadOnlyStoreError

REF_PREFIX = b"ref:"
CLAIM_PREFIX = b"claim:"
FILE_PREFIX = b"file:"

DATABASE_FILE = "cache.db"
"""The name that diskcache gives its database."""

BUSY_SECONDS = 60.0
_FORK_PATIENCE_SECONDS = 10.0
_IMMUTABLE_SECONDS = 1.0
_PAGE = 1000

_SELECT = "SELECT value FROM Cache WHERE key = ? AND raw = 1"
_RANGE = "SELECT key, value, access_time, access_count FROM Cache WHERE raw = 1 AND key {} :last {} ORDER BY key LIMIT :limit"
_TOUCH = "UPDATE Cache SET access_time = max(access_time, ?), access_count = access_count + ? WHERE key = ? AND raw = 1"

_BROKEN_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Row(NamedTuple):
    """One row of the index.

    Attributes
    ----------
    key, value : bytes
    last_used : float
        Seconds since the epoch; the time of writing until a use was flushed.
    uses : int
        How often it was used since it was written.
    """

    key: bytes
    value: bytes
    last_used: float
    uses: int


def is_broken(error: sqlite3.Error) -> bool:
    """Tell whether an error of sqlite says that the database is damaged, and not merely busy or full."""
    code = getattr(error, "sqlite_errorcode", 0)
    # A file cut to nothing is a database without tables to sqlite.
    return code & 0xFF in _BROKEN_CODES or code == sqlite3.SQLITE_IOERR_SHORT_READ or "no such table" in str(error)


class _Handle:
    """A connection and the lock that keeps it open while it is in use."""

    __slots__ = ("__weakref__", "connection", "lock", "recheck", "seen")

    def __init__(self, connection: sqlite3.Connection, seen: tuple[int, ...], recheck: float) -> None:
        self.connection = connection
        self.lock = threading.RLock()
        self.seen = seen
        # When an immutable connection must look whether the file was changed after all; 0.0 for never.
        self.recheck = recheck

    def __del__(self) -> None:
        self.connection.close()


class Index:
    """A map from bytes to bytes on disk, for any number of threads and processes.

    Parameters
    ----------
    folder : str
        The folder with the database; `create` makes it.
    read_only : bool
        Never write; works in a folder that may not be written.
    network : bool
        Whether other machines may use the database: then sqlite's rollback
        journal is used, since its write-ahead log needs shared memory.

    Raises
    ------
    sqlite3.Error
        From every method, as sqlite says; `is_broken` tells damage from the rest.
    """

    def __init__(self, folder: str, *, read_only: bool = False, network: bool = False) -> None:
        self.folder = folder
        self.path = f"{folder}/{DATABASE_FILE}"
        self.read_only = read_only
        self.network = network
        self._local = threading.local()
        self._opening = threading.RLock()
        self._handles: weakref.WeakSet[_Handle] = weakref.WeakSet()
        # Connections that came over a fork in use: sqlite forbids even to close them.
        self._inherited: list[_Handle] = []
        self._writer: Any = None
        forking.register(self)

    def create(self) -> None:
        """Make the database if there is none; many processes may do so at once."""
        fsio.make_folder(self.folder)
        self._open_handle("rwc")
        self._writing()

    def get(self, key: bytes) -> bytes | None:
        """Return the value under `key`, or None."""
        try:
            handle: _Handle = self._local.handle
        except AttributeError:
            handle = self._open_handle()
        if handle.recheck:
            handle = self._rechecked(handle)
        try:
            with handle.lock:
                row = handle.connection.execute(_SELECT, (bytes(key),)).fetchone()
        except sqlite3.ProgrammingError:
            # A fork in another thread has closed the connection.
            handle = self._open_handle()
            row = handle.connection.execute(_SELECT, (bytes(key),)).fetchone()
        return None if row is None else _checked(row[0], self.path)

    def put(self, key: bytes, value: bytes) -> None:
        """Write one row."""
        with self.transaction() as transaction:
            transaction.put(key, value)

    def delete(self, key: bytes) -> bool:
        """Remove one row; return whether it was there."""
        with self.transaction() as transaction:
            return transaction.delete(key)

    @contextmanager
    def transaction(self) -> Iterator["Transaction"]:
        """Hold the one write lock of the database; all of the block happens, or nothing.

        Raises
        ------
        ReadOnlyStoreError
            If the index may only be read.
        """
        if self.read_only:
            raise ReadOnlyStoreError(path=self.folder)
        handle = self._locked_handle()
        try:
            yield from self._transact(handle)
        finally:
            if handle.connection.in_transaction:
                handle.connection.execute("ROLLBACK")
            handle.lock.release()

    def keys_with_prefix(self, prefix: bytes) -> Iterator[bytes]:
        """Iterate over the keys that begin with `prefix` and are not those of records."""
        for row in self.items(prefix):
            if len(row.key) != 32:
                yield row.key

    def items(self, prefix: bytes = b"") -> Iterator[Row]:
        """Iterate over all rows in the order of their keys, a thousand at a time.

        Rows that are written meanwhile may or may not be seen; no lock is held between two rows.
        """
        last, upper = prefix, _successor(prefix)
        query = _RANGE.format(">=", "" if upper is None else "AND key < :upper")
        while True:
            rows = self._fetch(query, {"last": last, "upper": upper, "limit": _PAGE})
            for key, value, last_used, uses in rows:
                yield Row(_checked(key, self.path), _checked(value, self.path), last_used, uses)
            if len(rows) < _PAGE:
                return
            last = rows[-1][0]
            query = _RANGE.format(">", "" if upper is None else "AND key < :upper")

    def count_records(self) -> int:
        """Return the number of records."""
        return int(self._fetch("SELECT count(*) FROM Cache WHERE raw = 1 AND length(key) = 32", {})[0][0])

    def touch(self, uses: Iterable[tuple[bytes, float, int]]) -> None:
        """Note uses of records: triples of key, time of the last use, and number of uses."""
        with self.transaction() as transaction:
            transaction.touch(uses)

    def is_current(self) -> bool:
        """Tell whether the database is still the file that this thread has open."""
        handle = getattr(self._local, "handle", None)
        return handle is None or handle.seen[:2] == self._look()[:2]

    def checkpoint(self) -> None:
        """Move what the write-ahead log holds into the database, as far as readers allow."""
        self._fetch("PRAGMA wal_checkpoint(PASSIVE)", {})

    def close(self) -> None:
        """Close every connection; the next use opens one again."""
        with self._opening:
            self._close_handles()
            self._local = threading.local()
            self._writer = None

    def before_fork(self) -> None:
        """Close every connection, so that the child inherits none."""
        self._opening.acquire()
        self._close_handles()
        self._local = threading.local()

    def after_fork(self, *, in_child: bool) -> None:
        """Allow connections again."""
        if in_child:
            self._opening = threading.RLock()
            self._inherited.extend(self._handles)
            self._handles = weakref.WeakSet()
            self._writer = None
        else:
            self._opening.release()

    def _close_handles(self) -> None:
        for handle in list(self._handles):
            if not handle.lock.acquire(timeout=_FORK_PATIENCE_SECONDS):
                continue
            try:
                if not handle.connection.in_transaction:
                    handle.connection.close()
                    self._handles.discard(handle)
            except sqlite3.ProgrammingError:
                self._handles.discard(handle)
            finally:
                handle.lock.release()

    def _look(self) -> tuple[int, ...]:
        found = fsio.stat(self.path)
        return (0,) if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def _open_handle(self, mode: str = "") -> _Handle:
        """Open a connection for this thread."""
        with self._opening:
            seen, recheck = self._look(), 0.0
            if self.read_only:
                try:
                    connection = self._connect("mode=ro")
                except sqlite3.OperationalError:
                    # A write-ahead log needs files beside the database, even to read it.
                    connection = self._connect("immutable=1")
                    recheck = time.monotonic() + _IMMUTABLE_SECONDS
            else:
                connection = self._connect(f"mode={mode or 'rw'}")
            handle = _Handle(connection, seen if mode != "rwc" else self._look(), recheck)
            self._handles.add(handle)
            self._local.handle = handle
            return handle

    def _connect(self, options: str) -> sqlite3.Connection:
        quoted = self.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        connection = sqlite3.connect(
            f"file:{quoted}?{options}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            # The log is synced when it is merged; a commit then survives kill -9, and a power cut leaves the
            # database good, without the last commits.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -8192")
            # Nothing in the database is trusted to run code: no triggers or views with functions.
            connection.execute("PRAGMA trusted_schema = OFF")
            # Only a read shows whether the database can be opened at all.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _rechecked(self, handle: _Handle) -> _Handle:
        now = time.monotonic()
        if now < handle.recheck:
            return handle
        if self._look() != handle.seen:
            return self._open_handle()
        handle.recheck = now + _IMMUTABLE_SECONDS
        return handle

    def _locked_handle(self) -> _Handle:
        """Return the handle of this thread with its lock held and its connection open."""
        while True:
            handle: _Handle | None = getattr(self._local, "handle", None)
            if handle is None:
                handle = self._open_handle()
            handle.lock.acquire()
            if handle is getattr(self._local, "handle", None):
                return handle
            handle.lock.release()

    def _fetch(self, query: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        handle = self._locked_handle()
        try:
            return handle.connection.execute(query, parameters).fetchall()
        finally:
            handle.lock.release()

    def _writing(self) -> Any:
        """Return the diskcache, which is opened by the first write of a process."""
        if self._writer is None:
            from lazycache_storage._diskcache import open_writer

            self._writer = open_writer(self.folder, lambda: self._local.handle.connection, network=self.network)
        return self._writer

    def _transact(self, handle: _Handle) -> Iterator["Transaction"]:
        from diskcache import Timeout  # type: ignore[import-untyped]

        writer = self._writing()
        try:
            with writer.transact():
                yield Transaction(writer, handle.connection, self.path)
                fsio.step("commit")
        except Timeout as error:
            # diskcache tells nothing of why it could not begin; sqlite did.
            raise error.__context__ or error from None
        fsio.step("committed")


class Transaction:
    """The index while this thread holds its write lock."""

    def __init__(self, writer: Any, connection: sqlite3.Connection, path: str) -> None:
        self._writer = writer
        self._connection = connection
        self._path = path

    def get(self, key: bytes) -> bytes | None:
        """Return the value under `key`, as this transaction sees it."""
        row = self._connection.execute(_SELECT, (bytes(key),)).fetchone()
        return None if row is None else _checked(row[0], self._path)

    def put(self, key: bytes, value: bytes) -> None:
        """Write one row; its uses start again at none."""
        self._writer.set(bytes(key), value)

    def delete(self, key: bytes) -> bool:
        """Remove one row; return whether it was there."""
        return bool(self._writer.delete(bytes(key)))

    def touch(self, uses: Iterable[tuple[bytes, float, int]]) -> None:
        """Note uses of records: triples of key, time of the last use, and number of uses."""
        self._connection.executemany(_TOUCH, ((when, count, bytes(key)) for key, when, count in uses))

    def keys_with_prefix(self, prefix: bytes) -> list[bytes]:
        """Return the keys that begin with `prefix` and are not those of records, as this transaction sees them."""
        query = "SELECT key FROM Cache WHERE raw = 1 AND key >= ? AND key < ? AND length(key) != 32 ORDER BY key"
        return [row[0] for row in self._connection.execute(query, (prefix, _successor(prefix)))]


def _checked(value: object, path: str) -> bytes:
    if type(value) is not bytes:
        raise CorruptEntryError(path=path, reason=f"a row holds {type(value).__name__}, expected bytes")
    return value


def _successor(prefix: bytes) -> bytes | None:
    """Return the smallest bytes above everything that begins with `prefix`, or None if nothing is."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
