"""The order of a parallel evaluation: what runs here, what runs elsewhere, and what has come back."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from lazycache.execution.workers import Workers

if TYPE_CHECKING:
    from concurrent.futures import Future

Action = Callable[[], None]
Start = Callable[[], "Future[Any]"]
Then = Callable[["Future[Any]"], None]


class Schedule:
    """Runs actions by rank, some in this thread and some in workers.

    No more calls are handed over than there are workers, so that what becomes
    ready meanwhile can go first: the order stays depth first, and few
    intermediates are alive.

    Parameters
    ----------
    workers : Workers
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._here: list[tuple[int, int, Action]] = []
        self._away: list[tuple[int, int, Start, Then]] = []
        self._running: dict[Future[Any], Then] = {}
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()
        self._count = itertools.count()

    def here(self, rank: int, action: Action) -> None:
        """Run `action` in this thread, when nothing of a lower rank can start."""
        heapq.heappush(self._here, (rank, next(self._count), action))

    def away(self, rank: int, start: Start, then: Then) -> None:
        """Call `start` when a worker is free, and `then` with its future when that is done."""
        heapq.heappush(self._away, (rank, next(self._count), start, then))

    def run(self) -> None:
        """Run everything, also what is added meanwhile.

        An exception cancels what has not started, and passes at once: it does
        not wait for the calls that are running.
        """
        try:
            while self._here or self._away or self._running:
                self._step()
        except BaseException as error:
            for future in self._running:
                future.cancel()
            if not isinstance(error, Exception):
                self._workers.stop()
            raise

    def _step(self) -> None:
        free = len(self._running) < self._workers.size
        if self._running and not self._done.empty():
            self._collect()
        elif self._here and not (free and self._away and self._away[0][:2] < self._here[0][:2]):
            heapq.heappop(self._here)[-1]()
        elif free and self._away:
            *_, start, then = heapq.heappop(self._away)
            future = start()
            self._running[future] = then
            future.add_done_callback(self._done.put)
        else:
            self._collect()

    def _collect(self) -> None:
        future = self._done.get()
        self._running.pop(future)(future)
