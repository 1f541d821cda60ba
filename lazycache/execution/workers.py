"""Workers: processes of joblib's loky, or whatever has the interface of `concurrent.futures`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazycache import current
from lazycache.execution.shipping import Surroundings, Task, receive, send, work

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

IDLE_SECONDS = 300
"""How long loky's processes wait for more before they end; joblib's own choice."""

_THREAD_COUNTS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
)


class Workers:
    """Where pure calls run.

    Parameters
    ----------
    size : int
        How many calls run at the same time.
    executor : callable
        Makes or returns the executor, when the first call is there for it.
        Only `submit` is used, and of its futures `add_done_callback`,
        `result` and `cancel`.
    shares_memory : bool
        Whether they are threads, so that nothing has to be sent.
    """

    def __init__(self, size: int, executor: Callable[[], Executor], shares_memory: bool) -> None:
        self.size = size
        self.shares_memory = shares_memory
        self._make = executor
        self._made: Executor | None = None

    def submit(self, task: Task, surroundings: Surroundings) -> Future[Any]:
        """Hand over a call.

        Raises
        ------
        NotShippableError
            If it must be sent to another process and cannot be.
        """
        if self._made is None:
            self._made = self._make()
        if self.shares_memory:
            return self._made.submit(current.in_context(task.run), surroundings.evaluator)
        return self._made.submit(work, surroundings.packed(), send(task))

    def result(self, future: Future[Any]) -> Any:
        """Return what a call that is done gave, or raise what it raised."""
        return future.result() if self.shares_memory else receive(future)

    def stop(self) -> None:
        """End what is running, after an interrupt, if these workers are ours."""


class Processes(Workers):
    """Processes of joblib's loky; they stay for the next evaluation, and share the cores among them."""

    def __init__(self, size: int) -> None:
        super().__init__(size, self._start, shares_memory=False)

    def _start(self) -> Executor:
        # joblib's own calls find the same processes, and need more of the executor than loky gives it.
        from joblib import cpu_count
        from joblib.executor import get_memmapping_executor

        threads = str(max(cpu_count() // self.size, 1))
        env = {name: os.environ.get(name, threads) for name in _THREAD_COUNTS}
        executor: Executor = get_memmapping_executor(self.size, timeout=IDLE_SECONDS, env=env)
        return executor

    def stop(self) -> None:
        """End the processes."""
        executor: Any = self._made
        if executor is not None:
            executor.shutdown(wait=False, kill_workers=True)


def find_workers(n_jobs: int | None, executor: Any) -> Workers | None:
    """Return the workers that were asked for, or None if calls run here, one after the other.

    Raises
    ------
    TypeError
        If both are given, or one is of a kind that cannot work.
    ValueError
        If `n_jobs` is 0.
    """
    if executor is not None:
        if n_jobs is not None:
            raise TypeError("n_jobs= starts processes of its own: give it or executor=, not both")
        if not callable(getattr(executor, "submit", None)):
            raise TypeError(f"executor= takes a pool with a method submit, as concurrent.futures has; got {executor!r}")
        from concurrent.futures import ThreadPoolExecutor

        return Workers(_size_of(executor), lambda: executor, isinstance(executor, ThreadPoolExecutor))
    if n_jobs is None:
        return None
    if not hasattr(n_jobs, "__index__"):
        raise TypeError(f"n_jobs= is a number of processes, or -1 for one for each core; got {n_jobs!r}")
    if n_jobs < 1:
        from joblib import effective_n_jobs

        n_jobs = int(effective_n_jobs(n_jobs))
    return None if n_jobs == 1 else Processes(n_jobs)


def _size_of(executor: Any) -> int:
    for name in ("_max_workers", "num_workers"):
        size = getattr(executor, name, None)
        if isinstance(size, int) and size > 0:
            return size
    # A cluster that does not tell: enough for its scheduler to choose from.
    return 16 * (os.cpu_count() or 1)
