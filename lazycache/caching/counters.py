"""What a cache did in this process."""

from __future__ import annotations

import atexit
import logging
import threading
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from lazycache.telling import period_text
from lazycache_storage import forking

if TYPE_CHECKING:
    from lazycache.caching.bridge import Cache
    from lazycache_storage.record import Record

logger = logging.getLogger("lazycache")

COUNTED = ("hits", "waits", "runs", "stores", "seconds_saved", "seconds_run", "bytes_stored")


class Counters:
    """Counts of one cache in one process; thread-safe.

    Attributes
    ----------
    hits : int
        Results that were found.
    waits : int
        Results that another process or thread computed meanwhile.
    runs : int
        Functions that ran.
    stores : int
        Results that were written.
    seconds_saved, seconds_run : float
        What the found results took when they were computed; what ran now took.
    bytes_stored : int
    """

    waits_at_fork: ClassVar[bool] = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        forking.register(self)
        self.hits = 0
        self.waits = 0
        self.runs = 0
        self.stores = 0
        self.seconds_saved = 0.0
        self.seconds_run = 0.0
        self.bytes_stored = 0
        # How many results the log has told of.
        self.told = 0

    def before_fork(self) -> None:
        """Do nothing."""

    def after_fork(self, *, in_child: bool) -> None:
        """Have a free lock in the child: another thread may have held it."""
        if in_child:
            self._lock = threading.Lock()

    def hit(self, record: Record) -> None:
        """Count a result that was found."""
        with self._lock:
            self.hits += 1
            self.seconds_saved += record.seconds

    def waited(self, record: Record) -> None:
        """Count a result that somebody else computed while this cache waited."""
        with self._lock:
            self.waits += 1
            self.seconds_saved += record.seconds

    def computed(self, seconds: float) -> None:
        """Count a function that ran."""
        with self._lock:
            self.runs += 1
            self.seconds_run += seconds

    def stored(self, record: Record) -> None:
        """Count a result that was written."""
        with self._lock:
            self.stores += 1
            self.bytes_stored += record.nbytes

    def add(self, others: Counters) -> None:
        """Add what was counted elsewhere, for instance in a worker."""
        with self._lock:
            for name in COUNTED:
                setattr(self, name, getattr(self, name) + getattr(others, name))

    def __reduce__(self) -> tuple[Any, ...]:
        return _counted, tuple([getattr(self, name) for name in COUNTED])

    def line(self) -> str:
        """Return the counts as one line for the log."""
        return (
            f"{self.hits} hits, {self.runs} computed in {period_text(self.seconds_run)}, "
            f"{self.waits} taken from other processes, {period_text(self.seconds_saved)} saved"
        )


def log_at_exit(cache: Cache) -> None:
    """Tell in the log what a cache did, when the process ends and the cache is still there."""
    _live.add(cache)


_live: WeakSet[Cache] = WeakSet()


def tell(cache: Cache) -> None:
    """Tell in the log what a cache did, if it did something since it was told last."""
    counters = cache.counters
    done = counters.hits + counters.runs
    if done > counters.told:
        counters.told = done
        logger.info("%s: %s", cache.path, counters.line())


@atexit.register
def _tell_all() -> None:
    for cache in list(_live):
        tell(cache)


def _counted(*counts: float) -> Counters:
    counters = Counters()
    for name, count in zip(COUNTED, counts, strict=True):
        setattr(counters, name, count)
    return counters
