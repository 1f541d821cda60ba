"""`compute`: expressions to values, without any cache."""

from __future__ import annotations

from typing import Any

from lazycache.evaluation import PLAIN


def compute(x: Any, n_jobs: int | None = None, executor: Any = None) -> Any:
    """Evaluate expressions, without any cache.

    Each node runs once, depth first; an intermediate is dropped after its last
    use. No keys are taken and nothing is stored.

    Parameters
    ----------
    x : node, or any nest of tuples, lists and dicts that holds nodes
        Other values pass through.
    n_jobs : int, optional
        In how many processes pure calls run; -1 for one per core. Operators
        run here. By default everything does, one after the other.
    executor : concurrent.futures.Executor, optional
        Where pure calls run instead: a pool of threads or processes, dask's
        ``client.get_executor()``, mpi4py's ``MPIPoolExecutor``, or anything
        else with that interface.

    Returns
    -------
    object
        `x` with each node replaced by its value.

    Raises
    ------
    Exception
        Whatever a function raises, unchanged, with a note that names the node.
        What has not started is cancelled.
    NotShippableError
        If a call has to go to another process and cannot be pickled.
    UnboundVariableError
        If the expression depends on a Variable without data.

    Examples
    --------
    >>> from lazycache import computed, compute
    >>> x = computed(3)
    >>> compute({"twice": 2 * x, "plain": 5})
    {'twice': 6, 'plain': 5}
    """
    if n_jobs is None and executor is None:
        return PLAIN(x)
    from lazycache.execution.parallel import evaluate
    from lazycache.execution.workers import find_workers

    workers = find_workers(n_jobs, executor)
    return PLAIN(x) if workers is None else evaluate(x, workers)
