"""The index: rows of bytes under keys of bytes, in one sqlite database.

diskcache makes the database and writes to it. A hit never opens diskcache,
which takes milliseconds and writes: reads go straight to sqlite, over the same
connection, one for each thread.

Keys are 32 bytes for records and start with one of the prefixes below for
everything else; no other row has a key of 32 bytes.
"""

import sqlite3
import stat
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lazycache_storage import fsio, modes
from lazycache_storage.errors import ReadOnlyStoreError
from lazycache_storage.index import accounts
from lazycache_storage.index.connections import Connections, is_busy
from lazycache_storage.index.transactions import SELECT, TOUCH, Transacting, bytes_of, successor

REF_PREFIX = b"ref:"
CLAIM_PREFIX = b"claim:"
CODE_PREFIX = b"code:"
FILE_PREFIX = b"file:"
TOOK_PREFIX = b"took:"

DATABASE_FILE = "cache.db"
"""The name that diskcache gives its database."""

_TOUCH_PATIENCE_SECONDS = 2.0
_PREPARE_PATIENCE_SECONDS = 0.2
_PAGE = 1000

_RANGE = (
    "SELECT key, value, access_time, access_count FROM Cache"
    " WHERE raw = 1 AND key {} :last {} ORDER BY key LIMIT :limit"
)


_BROKEN_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
# What sqlite says of a database that has other tables than ours.
_OTHER_TABLES = ("no such table", "no such column", "has no column", "values were supplied", "unsupported file format")


def has_database(folder: str) -> bool:
    """Tell whether there is a file where the database of an index should be.

    Raises
    ------
    OSError
        If that cannot be seen.
    """
    found = fsio.stat(f"{folder}/{DATABASE_FILE}")
    return found is not None and stat.S_ISREG(found.st_mode)


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
    if code & 0xFF in _BROKEN_CODES or code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return True
    # A file cut to nothing is a database without tables to sqlite.
    return any(text in str(error) for text in _OTHER_TABLES)


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
        self._connections = Connections(self.path, read_only=read_only)
        self._writer: Any = None
        # Whoever drops an index without closing it leaves its connections to this, also while another thread forks.
        weakref.finalize(self, self._connections.close)

    def create(self) -> None:
        """Make the database."""
        fsio.make_folder(self.folder)
        self._connections.open("rwc")
        with self._connections.use() as connection:
            self._writing()
            for statement in accounts.SCHEMA:
                connection.execute(statement)
            # What sqlite makes beside the database later gets the mode of the database.
            for suffix in ("", "-wal", "-shm"):
                modes.share_file(self.path + suffix)

    def get(self, key: bytes) -> bytes | None:
        """Return the value under `key`, or None."""
        row = self._connections.fetch_one(SELECT, (bytes(key),))
        return None if row is None else bytes_of(row[0])

    def put(self, key: bytes, value: bytes) -> None:
        """Write one row."""
        with self.transaction() as transaction:
            transaction.put(key, value)

    def delete(self, key: bytes) -> bool:
        """Remove one row; return whether it was there."""
        with self.transaction() as transaction:
            return transaction.delete(key)

    def transaction(self) -> "Transacting":
        """Hold the one write lock of the database; all of the block happens, or nothing.

        Raises
        ------
        ReadOnlyStoreError
            If the index may only be read.
        """
        if self.read_only:
            raise ReadOnlyStoreError(path=self.folder)
        return Transacting(self._connections.use(writing=True), self._writing, self._connections.begin)

    def let_go(self) -> None:
        """Undo what a block of this thread has left open that was interrupted as it ended."""
        self._connections.let_go()

    def keys_with_prefix(self, prefix: bytes) -> Iterator[bytes]:
        """Iterate over the keys that begin with `prefix` and are not those of records."""
        for row in self.items(prefix):
            if len(row.key) != 32:
                yield row.key

    def items(self, prefix: bytes = b"") -> Iterator[Row]:
        """Iterate over all rows in the order of their keys, a thousand at a time.

        Rows that are written meanwhile may or may not be seen; no lock is held between two rows.
        """
        last, upper = prefix, successor(prefix)
        query = _RANGE.format(">=", "" if upper is None else "AND key < :upper")
        while True:
            rows = self.fetch(query, {"last": last, "upper": upper, "limit": _PAGE})
            for key, value, last_used, uses in rows:
                yield Row(key, bytes_of(value), last_used, uses)
            if len(rows) < _PAGE:
                return
            last = rows[-1][0]
            query = _RANGE.format(">", "" if upper is None else "AND key < :upper")

    def count_records(self) -> int:
        """Return the number of records."""
        return int(self.fetch("SELECT count(*) FROM Cache WHERE raw = 1 AND length(key) = 32")[0][0])

    def check(self, *, whole: bool) -> None:
        """Raise sqlite3.DatabaseError if the database is damaged; look at all of its pages, or only at its tables."""
        self.count_records()
        if whole:
            ((found,),) = self.fetch("PRAGMA integrity_check(1)")
            if found != "ok":
                error = sqlite3.DatabaseError(found)
                error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise error

    def are_totals_right(self) -> bool:
        """Tell whether the totals are those of the rows; an index from before there were any has none."""
        parts = self.fetch(accounts.TOTALS_PARTS)[0][0]
        if parts != len(accounts.SCHEMA):
            return bool(parts == 0)
        return self.fetch(accounts.MISCOUNTED) == [(0,)]

    def recount(self) -> None:
        """Add up the totals anew."""
        with self.transaction(), self._connections.use() as connection:
            for statement in accounts.RECOUNT:
                connection.execute(statement)

    def touch(self, uses: Iterable[tuple[bytes, float, int]]) -> None:
        """Note uses of records: triples of key, time of the last use, and number of uses.

        This does not open diskcache: a process with nothing but hits never does.
        """
        if self.read_only:
            raise ReadOnlyStoreError(path=self.folder)
        with self._connections.use(writing=True) as connection:
            # Uses are worth a short wait only: they come again.
            self._connections.begin(connection, _TOUCH_PATIENCE_SECONDS)
            connection.executemany(TOUCH, ((when, count, bytes(key)) for key, when, count in uses))
            connection.execute("COMMIT")

    def prepare(self) -> None:
        """Open what the first write of a process needs, which takes tens of milliseconds, ahead of time.

        If somebody else is writing for longer than that, it is left to the first write.
        """
        if self._writer is not None or self._connections.is_stuck:
            return
        with self._connections.use(writing=True) as connection:
            try:
                self._connections.begin(connection, _PREPARE_PATIENCE_SECONDS)
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
                return
            connection.execute("ROLLBACK")
            self._writing()

    def is_current(self) -> bool:
        """Tell whether the database is there, and still the file that was opened last."""
        return self._connections.is_current()

    def seen_here(self) -> tuple[int, ...]:
        """Return device and inode of the database that this thread opened; empty if it was closed since."""
        return self._connections.seen_here()

    def close(self) -> None:
        """Close every connection; the next use opens one again."""
        self._connections.close()

    def checkpoint(self) -> None:
        """Move what the write-ahead log holds into the database, as far as readers allow."""
        self.fetch("PRAGMA wal_checkpoint(PASSIVE)")

    def file_bytes(self) -> int:
        """Return the size of the database, with what is free in it."""
        ((pages,),), ((size,),) = (self.fetch(f"PRAGMA {name}") for name in ("page_count", "page_size"))
        return int(pages * size)

    def pack(self) -> None:
        """Write the database anew without what is free in it; writers wait meanwhile.

        Raises
        ------
        sqlite3.OperationalError
            If there is no space for a second one, or somebody else is writing.
        """
        self.fetch("VACUUM")
        self.checkpoint()

    def fetch(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a query, for those who look at many rows at once."""
        with self._connections.use() as connection:
            return connection.execute(query, parameters or {}).fetchall()

    def _writing(self) -> Any:
        """Return the diskcache, which is opened by the first write of a process."""
        if self._writer is None:
            from lazycache_storage.index._diskcache import open_writer

            connection = self._connections.current()
            # diskcache waits for as long as we do, but each time.
            self._connections.begin(connection)
            connection.execute("ROLLBACK")
            self._writer = open_writer(self._connections.current, network=self.network)
        return self._writer
