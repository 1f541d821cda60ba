"""The index as a store uses it: errors of sqlite become what they mean for the store."""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from lazycache_storage import founding, layout
from lazycache_storage.errors import CorruptEntryError, ReadOnlyStoreError, StoreError
from lazycache_storage.index.index import Index, has_database, is_broken
from lazycache_storage.index.transactions import Transacting, Transaction
from lazycache_storage.memory import Memory

log = logging.getLogger("lazycache")


class Rows:
    """The rows of one store.

    Parameters
    ----------
    path : str
        The store.
    read_only, network : bool
    forget : callable
        Called when what is in memory is no longer what is on disk.
    """

    def __init__(self, path: str, *, read_only: bool, network: bool, forget: Callable[[], None]) -> None:
        self.path = path
        self.read_only = read_only
        self.index = Index(layout.folder(path, layout.INDEX_FOLDER), read_only=read_only, network=network)
        self._forget = forget

    def get(self, key: bytes) -> bytes | None:
        """Return the value under a key, or None."""
        try:
            return self.index.get(key)
        except sqlite3.Error as error:
            raise self.explained(error) from error

    def transaction(self) -> "Explained":
        """Hold the write lock of the index."""
        self.check_writable()
        if not self.index.is_current():
            # Somebody has removed or replaced the folder while it was open.
            self.index.close()
            self._forget()
            founding.open_folder(self.path, read_only=False, create=True)
        return Explained(self.index.transaction(), self.explained)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Explain the errors of sqlite in a block."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.explained(error) from error

    def write_uses(self, memory: Memory) -> None:
        """Write the uses that were only counted so far."""
        uses = memory.take_uses()
        if uses and not self.read_only:
            with self.guarded():
                self.index.touch(uses)

    def write_uses_quietly(self, memory: Memory) -> None:
        """Write the uses if that is possible: they only say what gc should keep."""
        try:
            self.write_uses(memory)
        except (OSError, sqlite3.Error, StoreError) as error:
            log.debug("uses were not noted in %s: %s", self.path, error)

    def check_writable(self) -> None:
        """Raise ReadOnlyStoreError if the store may only be read."""
        if self.read_only:
            raise ReadOnlyStoreError(path=self.path)

    def explained(self, error: sqlite3.Error) -> Exception:
        """Return the error to raise for one of sqlite; a broken index is set aside."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
            return ReadOnlyStoreError(path=self.path)
        if self.read_only or not (is_broken(error) or self._is_lost(error)):
            return error
        done = founding.set_aside_index(self.path, self.index)
        self._forget()
        return CorruptEntryError(path=self.index.folder, reason=f"{error}; {done}" if done else str(error))

    def _is_lost(self, error: sqlite3.Error) -> bool:
        code: int = getattr(error, "sqlite_errorcode", 0)
        return code & 0xFF == sqlite3.SQLITE_CANTOPEN and not has_database(self.index.folder)


class Explained:
    """The block of a transaction whose errors of sqlite are explained.

    Parameters
    ----------
    block : Transacting
    explained : callable
        Returns the error to raise for one of sqlite.
    """

    def __init__(self, block: Transacting, explained: Callable[[sqlite3.Error], Exception]) -> None:
        self._block = block
        self._explained = explained

    def __enter__(self) -> Transaction:
        try:
            return self._block.__enter__()
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._block.__exit__(kind, error, traceback)
            if isinstance(error, sqlite3.Error):
                raise error
        except sqlite3.Error as failed:
            raise self._explained(failed) from failed
