"""The lock of a key, as an evaluation holds it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lazycache.caching.cycles import running_above
from lazycache.caching.faults import FAULTS
from lazycache.errors import CycleError, LockTimeoutError
from lazycache_storage.digest import Digest
from lazycache_storage.errors import WaitCycleError

if TYPE_CHECKING:
    from lazycache_storage.record import Record
    from lazycache_storage.store import Store


class Flight:
    """The lock of a key while its result is computed.

    As a context manager it gives the store's claim, or None when the key could
    not be locked: the caller then computes without a lock.

    Parameters
    ----------
    store : Store or None
    key : Digest
    what : str
        The call, for those who wait.
    ready : callable
        Looks for the result while waiting.
    expected : float
        Seconds that it took last time; 0 if unknown.
    fault : callable
        Tells the user of a fault of the store.

    Raises
    ------
    CycleError
        When entered, if the holder of the lock waits for what runs here.
    """

    def __init__(
        self,
        store: Store | None,
        key: Digest,
        what: str,
        ready: Callable[[], Record | None],
        expected: float,
        fault: Callable[[str, BaseException], None],
    ) -> None:
        self._store = store
        self._claim = None if store is None else store.computing(key, what, ready=ready, expected=expected)
        if self._claim is not None:
            self._claim.above = running_above
        self._fault = fault

    def __enter__(self) -> Any:
        store, claim = self._store, self._claim
        if store is None or claim is None:
            return None
        try:
            claim.__enter__()
            if claim.record is None and not store.read_only:
                # Others wait for what comes after the function has ended.
                store.index.prepare()
        except WaitCycleError as error:
            raise CycleError(cycle=error.cycle, chain=error.chain) from error
        except LockTimeoutError:
            raise
        except FAULTS as error:
            self._fault("lock a key", error)
        return claim

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Give the lock back, if that has not happened yet."""
        try:
            if self._claim is not None:
                self._claim.end()
        except FAULTS as error:
            self._fault("unlock a key", error)
