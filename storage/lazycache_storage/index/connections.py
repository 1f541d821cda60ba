"""Connections to one sqlite database: one for each thread, none across a fork."""

import os
import sqlite3
import threading
import time
from types import TracebackType
from typing import Any, ClassVar

from lazycache_storage import forking, fsio
from lazycache_storage.index import opening

_STUCK_SECONDS = 1.0
"""How long it waits if the last wait was in vain: that one may have been stopped. From then on, ever shorter."""

_LEAST_STUCK_SECONDS = 0.01

_FORK_PATIENCE_SECONDS = 10.0
_IMMUTABLE_SECONDS = 1.0


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether an error of sqlite says that somebody else has locked the database."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class _Handle:
    """A connection and the lock that keeps it open while it is in use."""

    __slots__ = ("at_rest", "connection", "is_abandoned", "lock", "recheck", "seen")

    def __init__(
        self, connection: sqlite3.Connection, seen: tuple[int, ...], recheck: float, at_rest: bool = False
    ) -> None:
        self.connection = connection
        # Whether nobody had the database open for writing when this was opened.
        self.at_rest = at_rest
        self.lock = threading.RLock()
        # Whether its thread has ended.
        self.is_abandoned = False
        self.seen = seen
        # When an immutable connection must look whether the file was changed after all; 0.0 for never.
        self.recheck = recheck


class _Lease:
    """What a thread has of its handle: tells when the thread has ended.

    The connection is not closed then and there: that takes a while inside
    sqlite, and a process that forked meanwhile would have a poisoned child.
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: _Handle) -> None:
        self._handle = handle

    def __del__(self) -> None:
        self._handle.is_abandoned = True


class Connections:
    """The connections of this process to one database.

    Parameters
    ----------
    path : str
        The database file.
    read_only : bool
        Open it for reading, even in a folder that may not be written.

    Attributes
    ----------
    last_seen : tuple of int
        Device and inode of the database when it was last opened; empty before that.
    turn : lock
        Held by the thread that writes.
    used : thread-local
        The block in which a thread uses its connection.
    is_stuck : bool
        Whether the last wait for another writer was in vain.
    """

    waits_at_fork: ClassVar[bool] = True

    def __init__(self, path: str, *, read_only: bool) -> None:
        self.last_seen: tuple[int, ...] = ()
        self._path = path
        self._read_only = read_only
        self._local = threading.local()
        # Threads that write take turns here: sqlite lets them sleep for ever longer times instead.
        self.turn = threading.RLock()
        # Stays while connections are closed, for a thread that is in the middle of using its own.
        self.used = threading.local()
        self._opening = threading.RLock()
        # Changed with `_opening` held.
        self._handles: set[_Handle] = set()
        # Connections that came over a fork in use: sqlite forbids even to close them.
        self._inherited: list[_Handle] = []
        self.is_stuck = False
        self._stuck_seconds = _STUCK_SECONDS
        forking.register(self)

    def fetch_one(self, query: str, parameters: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the first row of a query; the fast way for look-ups."""
        try:
            handle: _Handle = self._local.handle
            if handle.recheck:
                handle = self._rechecked(handle)
            with handle.lock:
                return handle.connection.execute(query, parameters).fetchone()  # type: ignore[no-any-return]
        except (AttributeError, sqlite3.ProgrammingError):
            # None is open yet, or a fork in another thread has closed it.
            with self.use() as connection:
                return connection.execute(query, parameters).fetchone()  # type: ignore[no-any-return]

    def use(self, *, writing: bool = False) -> "Use":
        """Return a context manager that keeps the connection of this thread open; `writing` takes the turn as well."""
        return Use(self, writing)

    def begin(self, connection: sqlite3.Connection, seconds: float | None = None) -> None:
        """Begin a transaction that writes; wait long for others, but not again while they keep the lock.

        Parameters
        ----------
        connection : sqlite3.Connection
        seconds : float, optional
            Wait so long at most.

        Raises
        ------
        sqlite3.OperationalError
            If somebody else kept the lock.
        """
        patience = seconds or (self._stuck_seconds if self.is_stuck else opening.BUSY_SECONDS)
        if patience != opening.BUSY_SECONDS:
            connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
        try:
            connection.execute("BEGIN IMMEDIATE")
            self.is_stuck = False
        except sqlite3.OperationalError as error:
            if seconds is None and is_busy(error):
                shorter = max(self._stuck_seconds / 2, _LEAST_STUCK_SECONDS)
                self._stuck_seconds = shorter if self.is_stuck else _STUCK_SECONDS
                self.is_stuck = True
            raise
        finally:
            if patience != opening.BUSY_SECONDS:
                connection.execute(f"PRAGMA busy_timeout = {int(opening.BUSY_SECONDS * 1000)}")

    def let_go(self) -> None:
        """End what this thread has in use: a block that was interrupted as it ended has not done so."""
        use: Use | None = getattr(self.used, "use", None)
        if use is not None:
            use.end()

    def open(self, mode: str = "") -> _Handle:
        """Open a connection for this thread."""
        with self._opening:
            self._close_abandoned()
            seen, recheck = self._look(), 0.0
            self.last_seen = self._local.seen = seen[:2]
            at_rest = self._read_only and self._is_at_rest()
            if self._read_only:
                try:
                    # A reader of a database with a write-ahead log makes files beside it, and leaves them there.
                    connection = opening.connect(self._path, "immutable=1" if at_rest else "mode=ro")
                except sqlite3.OperationalError:
                    # It needs them even if it may not make any.
                    connection = opening.connect(self._path, "immutable=1")
                    at_rest = False
                    recheck = time.monotonic() + _IMMUTABLE_SECONDS
                if at_rest:
                    recheck = time.monotonic() + _IMMUTABLE_SECONDS
            else:
                connection = opening.connect_to_shared(self._path, f"mode={mode or 'rw'}")
            handle = _Handle(connection, seen if mode != "rwc" else self._look(), recheck, at_rest)
            self.last_seen = self._local.seen = handle.seen[:2]
            self._handles.add(handle)
            self._local.handle, self._local.lease = handle, _Lease(handle)
            return handle

    def current(self) -> sqlite3.Connection:
        """Return the connection that this thread uses, inside the block of `use`."""
        use: Use = self.used.use
        return use.connection

    def seen_here(self) -> tuple[int, ...]:
        """Return device and inode of the database that this thread opened; empty if it was closed since."""
        seen: tuple[int, ...] = getattr(self._local, "seen", ())
        return seen

    def is_current(self) -> bool:
        """Tell whether the database is there, and still the file that was opened last."""
        found = self._look()[:2]
        return found == self.last_seen if self.last_seen else len(found) > 1

    def close(self) -> None:
        """Close every connection; the next use opens one again."""
        self.let_go()
        with self._opening:
            self._close_handles()

    def before_fork(self) -> None:
        """Close every connection, so that the child inherits none."""
        self._opening.acquire()
        self._close_handles()

    def after_fork(self, *, in_child: bool) -> None:
        """Allow connections again."""
        if in_child:
            self.turn = threading.RLock()
            self.used = threading.local()
            self._opening = threading.RLock()
            self._inherited.extend(self._handles)
            self._handles = set()
        else:
            self._opening.release()

    def _close_handles(self) -> None:
        # First, so that whoever gets the lock of a closed handle can tell that it is closed.
        self._local = threading.local()
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

    def _close_abandoned(self) -> None:
        for handle in [handle for handle in self._handles if handle.is_abandoned]:
            # One that could not be closed for a fork may still be in use.
            if handle.lock.acquire(blocking=False):
                try:
                    handle.connection.close()
                    self._handles.discard(handle)
                finally:
                    handle.lock.release()

    def _look(self) -> tuple[int, ...]:
        found = fsio.stat(self._path)
        return (0,) if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def _is_at_rest(self) -> bool:
        """Tell whether the database has a write-ahead log, and nobody has it open who may write."""
        if os.path.exists(f"{self._path}-wal"):
            return False
        try:
            with open(self._path, "rb", buffering=0) as file:
                return file.read(20)[18:] == b"\2\2"
        except OSError:
            # sqlite says what is the matter with it.
            return False

    def _rechecked(self, handle: _Handle) -> _Handle:
        now = time.monotonic()
        is_written = handle.at_rest and os.path.exists(f"{self._path}-wal")
        if now < handle.recheck and not is_written:
            return handle
        if is_written or self._look() != handle.seen:
            return self.open()
        handle.recheck = now + _IMMUTABLE_SECONDS
        return handle

    def locked(self) -> _Handle:
        """Return the handle of this thread with its lock held and its connection open."""
        while True:
            found: _Handle | None = getattr(self._local, "handle", None)
            handle = self.open() if found is None else found
            handle.lock.acquire()
            still: _Handle | None = getattr(self._local, "handle", None)
            if handle is still:
                return handle
            handle.lock.release()


class Use:
    """A block in which a thread uses its connection; blocks within it share it.

    No generator stands behind it: one that is interrupted as it ends would end
    when it is collected, at any moment and in any thread.

    Attributes
    ----------
    connection : sqlite3.Connection
    """

    connection: sqlite3.Connection

    def __init__(self, connections: Connections, writing: bool) -> None:
        self._connections = connections
        self._writing = writing
        self._handle: _Handle | None = None

    def __enter__(self) -> sqlite3.Connection:
        outer: Use | None = getattr(self._connections.used, "use", None)
        if outer is not None and not self._writing:
            return outer.connection
        # Nobody writes within another block: that one was interrupted as it ended.
        self._connections.let_go()
        if self._writing:
            self._connections.turn.acquire()
        try:
            self._handle = self._connections.locked()
        except BaseException:
            self._release_turn()
            raise
        self.connection = self._handle.connection
        self._connections.used.use = self
        return self.connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Undo a transaction that is open, and let others have the connection; once."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        self._connections.used.use = None
        try:
            if handle.connection.in_transaction:
                handle.connection.execute("ROLLBACK")
        finally:
            handle.lock.release()
            self._release_turn()

    def _release_turn(self) -> None:
        if self._writing:
            self._connections.turn.release()
