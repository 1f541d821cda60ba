"""Keeping a store below a size by itself, in short steps after each store.

A survey of a large store takes seconds, so it is spread over many calls: each
works for a few milliseconds and leaves the rest to the next. No thread and no
process is left running.
"""

import os
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lazycache_storage.digest import Digest
from lazycache_storage.gc.leftovers import Leftover, orphan_steps
from lazycache_storage.gc.limits import GcLimits
from lazycache_storage.gc.plan import GcPlan, choose
from lazycache_storage.gc.run import GcResult, run_steps
from lazycache_storage.gc.survey import Survey, survey_steps
from lazycache_storage.record import Record

if TYPE_CHECKING:
    from lazycache_storage.store import Store

STEP_SECONDS = 0.02
"""How long one call may work."""

LOW_WATER = 0.9
"""Part of the limit that a collection trims to, so that not every store begins one."""

BATCH = 10
"""Records or objects in one transaction: a few milliseconds, since a store waits for it."""

_ROWS_AT_ONCE = 10_000


class Trimmer:
    """Holds one store below one size; for one thread at a time.

    What other processes store is noticed at the next survey. A process begins
    one when it has stored an eighth of the free space itself, so that eight
    writers together may pass the limit by as much as was free, for as long as
    a survey takes.

    Parameters
    ----------
    store : Store
    size_limit : int
        Bytes.

    Attributes
    ----------
    result : GcResult
        What was dropped so far.
    """

    def __init__(self, store: "Store", size_limit: int) -> None:
        self.store = store
        self.size_limit = size_limit
        self.result = GcResult()
        self._process = os.getpid()
        self._job: Generator[None, None, None] | None = None
        self._total: int | None = None
        self._stored = 0
        self._is_hopeless = False

    def after_store(self, record: Record, keys: Sequence[Digest], seconds: float = STEP_SECONDS) -> bool:
        """Take note of a result that was stored, and work for a short time if there is too much.

        Parameters
        ----------
        record : Record
            What was stored.
        keys : sequence of Digest
            The keys it was stored under.
        seconds : float
            How long to work at most, but for a single transaction.

        Returns
        -------
        bool
            False if the result alone is larger than the limit: it was
            forgotten again rather than everything else, and the user should
            be told.
        """
        if record.nbytes > self.size_limit and not record.pinned:
            for key in keys:
                self.store.forget(key)
            return False
        self._stored += record.nbytes
        if self._process != os.getpid():
            # The other half of a fork goes on with its own job.
            self._process, self._job = os.getpid(), None
        if self._is_due():
            self.begin()
        self._work(time.monotonic() + seconds)
        return True

    def begin(self) -> None:
        """Begin a collection, unless one is under way."""
        if self._job is None:
            self._job = self._steps()

    def finish(self) -> GcResult:
        """Complete the collection that is under way, if any."""
        self._work(float("inf"))
        return self.result

    def _is_due(self) -> bool:
        if self._total is None:
            return True
        patience = max((self.size_limit - self._total) // 8, self.size_limit // 100)
        is_over = self._total + self._stored > self.size_limit
        return self._stored > patience or (is_over and not self._is_hopeless)

    def _work(self, deadline: float) -> None:
        job = self._job
        if job is None:
            return
        for _ in job:
            if time.monotonic() >= deadline:
                return
        self._job = None

    def _steps(self) -> Generator[None, None, None]:
        stored_before = self._stored
        self.store.flush()
        limits = GcLimits(max_size=int(self.size_limit * LOW_WATER))
        survey = yield from survey_steps(self.store, limits)
        orphans = yield from orphan_steps(self.store, survey.refs["object"])
        plan = yield from _choose_aside(survey, limits, orphans)
        self._total = plan.total_bytes
        if plan.total_bytes + plan.orphan_bytes > self.size_limit:
            yield from run_steps(self.store, plan, self.result, BATCH)
            self._total = plan.remaining_bytes
        self._is_hopeless = self._total > self.size_limit
        self._stored -= stored_before


def collect(store: "Store", size_limit: int) -> GcResult:
    """Bring a store below a size at once, however long it takes."""
    trimmer = Trimmer(store, size_limit)
    trimmer.begin()
    return trimmer.finish()


def _choose_aside(survey: Survey, limits: GcLimits, orphans: tuple[Leftover, ...]) -> Generator[None, None, GcPlan]:
    """Choose what goes; for a large store in a thread, since sorting a million rows takes too long for one step."""
    arguments = survey, limits, time.time(), orphans, ()
    if len(survey.rows) <= _ROWS_AT_ONCE:
        return choose(*arguments)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(choose, *arguments)
        while not future.done():
            yield
    return future.result()
