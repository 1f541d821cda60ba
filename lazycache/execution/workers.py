"""Workers: processes of joblib's loky, or whatever has the interface of `concurrent.futures`."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from lazycache import current
from lazycache.execution.shipping import Surroundings, Task, receive, send, work

IDLE_SECONDS = 300
"""How long loky's processes wait for more before they end; joblib's own choice."""


class Workers:
    """Where pure calls run.

    Parameters
    ----------
    executor : Executor
        Only `submit` is used, and of its futures `add_done_callback`,
        `result` and `cancel`.
    size : int
        How many calls run at the same time.
    stop : callable, optional
        Ends what is running, after an interrupt.
    """

    def __init__(self, executor: Executor, size: int, stop: Callable[[], None] | None = None) -> None:
        self.size = size
        self._executor = executor
        self._stop = stop
        self._shares_memory = isinstance(executor, ThreadPoolExecutor)

    def submit(self, task: Task, surroundings: Surroundings) -> Future[Any]:
        """Hand over a call.

        Raises
        ------
        NotShippableError
            If it must be sent to another process and cannot be.
        """
        if self._shares_memory:
            return self._executor.submit(current.in_context(task.run), surroundings.evaluator)
        return self._executor.submit(work, surroundings.packed(), send(task))

    def result(self, future: Future[Any]) -> Any:
        """Return what a call that is done gave, or raise what it raised."""
        return future.result() if self._shares_memory else receive(future)

    def stop(self) -> None:
        """End what is running, if these workers are ours."""
        if self._stop is not None:
            self._stop()


def find_workers(n_jobs: int | None, executor: Any) -> Workers | None:
    """Return the workers that were asked for, or None if calls run here, one after the other.

    Raises
    ------
    TypeError
        If both are given.
    ValueError
        If `n_jobs` is 0.
    """
    if executor is not None:
        if n_jobs is not None:
            raise TypeError("n_jobs= starts processes of its own: give it or executor=, not both")
        return Workers(executor, _size_of(executor))
    if n_jobs is None or n_jobs == 1:
        return None
    from joblib import effective_n_jobs

    size = int(effective_n_jobs(n_jobs))
    return None if size == 1 else _processes(size)


def _processes(size: int) -> Workers:
    from joblib.externals.loky import get_reusable_executor

    executor = get_reusable_executor(max_workers=size, timeout=IDLE_SECONDS)
    return Workers(executor, size, lambda: executor.shutdown(wait=False, kill_workers=True))


def _size_of(executor: Any) -> int:
    for name in ("_max_workers", "num_workers"):
        size = getattr(executor, name, None)
        if isinstance(size, int) and size > 0:
            return size
    # A cluster that does not tell: enough for its scheduler to choose from.
    return 16 * (os.cpu_count() or 1)
