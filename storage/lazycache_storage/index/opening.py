"""Opening one connection to a sqlite database, by whatever name, also where other users are opening it too."""

import os
import sqlite3
import time

from lazycache_storage import modes

BUSY_SECONDS = 60.0
"""How long a writer waits for another."""

_MODE_PATIENCE_SECONDS = 0.2


def connect_to_shared(path: str, options: str) -> sqlite3.Connection:
    """Open a database that others may be opening for the first time; for its other parameters see `connect`."""
    # What sqlite makes beside the database others may write to a moment later only. Who opens it in
    # between gets no connection, or one that never writes.
    if not modes.is_shared(os.path.dirname(path)):
        return connect(path, options)
    deadline = time.monotonic() + _MODE_PATIENCE_SECONDS
    while True:
        try:
            connection = connect(path, options)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CANTOPEN or time.monotonic() > deadline:
                raise
        else:
            if _may_write(connection) or time.monotonic() > deadline:
                return connection
            connection.close()
        time.sleep(0.001)


def connect(path: str, options: str) -> sqlite3.Connection:
    """Open a database.

    Parameters
    ----------
    path : str
    options : str
        Of a sqlite URI.

    Raises
    ------
    sqlite3.Error
        If it cannot be opened, or is none.
    """
    # By its bytes, so that any name can be said; and two slashes at its beginning are no host.
    quoted = os.fsencode(path[1:]).hex("%")
    connection = sqlite3.connect(
        f"file:///%{quoted}?{options}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        # The log is synced when it is merged; a commit then survives kill -9, and a power cut leaves the
        # database good, without the last commits.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -4096")
        # Nothing in the database is trusted to run code: no triggers or views with functions.
        connection.execute("PRAGMA trusted_schema = OFF")
        # Only a read shows whether the database can be opened at all.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except UnicodeDecodeError as error:
        # sqlite quotes what it finds in a damaged description of the tables.
        connection.close()
        damaged = sqlite3.DatabaseError(f"the description of the tables is damaged: {error}")
        damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damaged from error
    except BaseException:
        connection.close()
        raise
    return connection


def _may_write(connection: sqlite3.Connection) -> bool:
    """Tell whether a connection has opened all of its files for writing."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    return True
