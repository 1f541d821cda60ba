"""The index while one thread holds its write lock."""

import sqlite3
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from lazycache_storage import fsio
from lazycache_storage.index.accounts import Account, Filling
from lazycache_storage.index.connections import Use

SELECT = "SELECT value FROM Cache WHERE key = ? AND raw = 1"
TOUCH = "UPDATE Cache SET access_time = max(access_time, ?), access_count = access_count + ? WHERE key = ? AND raw = 1"
_KEYS = "SELECT key FROM Cache WHERE raw = 1 AND key >= :lower {} AND length(key) != 32 ORDER BY key"
_REPLACE = "UPDATE Cache SET value = ? WHERE key = ? AND raw = 1"


class Transacting:
    """The block of a transaction.

    Parameters
    ----------
    use : Use
    open_writer : callable
        Returns the diskcache.
    begin : callable
        Takes the write lock.
    """

    def __init__(self, use: Use, open_writer: Callable[[], Any], begin: Callable[[sqlite3.Connection], None]) -> None:
        self._use = use
        self._open_writer = open_writer
        self._begin = begin

    def __enter__(self) -> "Transaction":
        connection = self._use.__enter__()
        try:
            self._writer = self._open_writer()
            self._begin(connection)
            self._writer.joins(True)
            return Transaction(self._writer, connection)
        except BaseException:
            self._use.end()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._writer.joins(False)
            if kind is None:
                fsio.step("commit")
                self._use.connection.execute("COMMIT")
        finally:
            # What is not committed is undone.
            self._use.end()
        if kind is None:
            fsio.step("committed")


class Transaction:
    """The index while this thread holds its write lock."""

    def __init__(self, writer: Any, connection: sqlite3.Connection) -> None:
        self._writer = writer
        self._connection = connection

    def get(self, key: bytes) -> bytes | None:
        """Return the value under `key`, as this transaction sees it."""
        row = self._connection.execute(SELECT, (bytes(key),)).fetchone()
        return None if row is None else bytes_of(row[0])

    def put(self, key: bytes, value: bytes, entry: Account | None = None) -> None:
        """Write one row; its uses start again at none.

        Parameters
        ----------
        key, value : bytes
        entry : Account, optional
            What statistics are to count.
        """
        if entry is None:
            self._writer.set(bytes(key), Filling(value))
        else:
            self._writer.set(bytes(key), Filling(value, entry.nbytes, entry.seconds), tag=entry.tag)

    def delete(self, key: bytes) -> bool:
        """Remove one row; return whether it was there."""
        return bool(self._writer.delete(bytes(key)))

    def touch(self, uses: Iterable[tuple[bytes, float, int]]) -> None:
        """Note uses of records, as `Index.touch` does."""
        self._connection.executemany(TOUCH, ((when, count, bytes(key)) for key, when, count in uses))

    def replace(self, key: bytes, value: bytes) -> bool:
        """Write another value into a row and keep its uses; return whether the row was there."""
        return self._connection.execute(_REPLACE, (value, bytes(key))).rowcount > 0

    def keys_with_prefix(self, prefix: bytes) -> list[bytes]:
        """Return the keys that begin with `prefix` and are not those of records, as this transaction sees them."""
        upper = successor(prefix)
        query = _KEYS.format("" if upper is None else "AND key < :upper")
        return [row[0] for row in self._connection.execute(query, {"lower": prefix, "upper": upper})]


def bytes_of(value: object) -> bytes:
    """Return what a row holds; nobody of ours wrote a text or a number, and no bytes are no record."""
    return value if type(value) is bytes else b""


def successor(prefix: bytes) -> bytes | None:
    """Return the smallest bytes above everything that begins with `prefix`, or None if nothing is."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
