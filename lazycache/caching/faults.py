"""What may go wrong with a store, and what is behind it."""

from __future__ import annotations

import errno
import sqlite3

import msgspec

from lazycache.errors import StoreError
from lazycache_storage.errors import ReadOnlyStoreError

FAULTS = (OSError, sqlite3.Error, StoreError, msgspec.MsgspecError, MemoryError)

FULL = "ENOSPC"
"""The cause of all that goes wrong on a full disk."""

_CAUSES = {
    sqlite3.SQLITE_FULL: FULL,
    # The file beside the database that even readers need could not grow.
    sqlite3.SQLITE_IOERR_SHMSIZE: FULL,
    sqlite3.SQLITE_IOERR: "EIO",
    sqlite3.SQLITE_READONLY: "EROFS",
    sqlite3.SQLITE_PERM: "EACCES",
    sqlite3.SQLITE_CANTOPEN: "EACCES",
    sqlite3.SQLITE_BUSY: "EBUSY",
    sqlite3.SQLITE_LOCKED: "EBUSY",
}


def cause(error: BaseException) -> str:
    """Return what is wrong with the disk, which the user is told once, whatever it keeps from being done."""
    if isinstance(error, OSError) and error.errno is not None:
        return errno.errorcode.get(error.errno, "")
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0)
        return _CAUSES.get(code) or _CAUSES.get(code & 0xFF, "")
    return "EROFS" if isinstance(error, ReadOnlyStoreError) else ""
