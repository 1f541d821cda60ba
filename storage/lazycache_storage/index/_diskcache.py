# ruff: noqa: ARG002  (the signatures are those of diskcache)
"""diskcache, held to bytes and to the connections of the index; imported by the first write."""

import os
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import diskcache

from lazycache_storage.index.accounts import Filling

_NO_LIMIT = 2**62


class _BytesDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys and values are bytes and stay in their rows: nothing is pickled, no file is written."""

    def put(self, key: bytes) -> tuple[bytes, bool]:
        return key, True

    def get(self, key: bytes, raw: bool) -> bytes:
        return key

    def store(self, value: Filling, read: bool, key: object = None) -> tuple[int, float, None, bytes]:
        return value.nbytes, value.seconds, None, value.value

    def fetch(self, mode: int, filename: str | None, value: bytes, read: bool) -> bytes:
        return value

    def remove(self, file_path: str) -> None:
        raise AssertionError("rows have no files")


class _Writer(diskcache.Cache):  # type: ignore[misc]
    """A diskcache that opens and closes no connection by itself.

    Its own ones cannot be closed before a fork, as they belong to threads.
    """

    def __init__(self, connection: Callable[[], sqlite3.Connection], **settings: object) -> None:
        self._connection = connection
        # It needs a folder for files and has none, and would take a dollar sign in a name for a variable.
        super().__init__(os.sep, **settings)

    @property
    def _con(self) -> sqlite3.Connection:
        return self._connection()

    def joins(self, is_begun: bool) -> None:
        """Say whether this thread has begun a transaction, which what it writes is part of."""
        self._txn_id = threading.get_ident() if is_begun else None

    def close(self) -> None:
        """Leave the connection to the index."""


def open_writer(connection: Callable[[], sqlite3.Connection], *, network: bool) -> Any:
    """Return a diskcache that never drops anything by itself; its tables are made if they are not there."""
    return _Writer(
        connection,
        disk=_BytesDisk,
        disk_min_file_size=_NO_LIMIT,
        size_limit=_NO_LIMIT,
        cull_limit=0,
        eviction_policy="none",
        statistics=0,
        tag_index=0,
        sqlite_auto_vacuum=0,
        sqlite_cache_size=8192,
        sqlite_journal_mode="delete" if network else "wal",
        # A map of a database that is cut short kills the process.
        sqlite_mmap_size=0,
        sqlite_synchronous=1,
    )
