"""Evaluating without a cache, with pure calls in workers: values travel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lazycache.evaluation import MISSING, PLAIN, Evaluation, annotate, call_pure, gather, tell_watcher
from lazycache.execution.schedule import Schedule
from lazycache.execution.shipping import Surroundings
from lazycache.execution.workers import Workers
from lazycache.expressions.tree import Node
from lazycache.graph import find_roots, substitute

if TYPE_CHECKING:
    from concurrent.futures import Future


def evaluate(x: Any, workers: Workers) -> Any:
    """Return `x` with each node replaced by its value; pure calls run in `workers`."""
    roots = find_roots(x)
    if not roots:
        return x
    tell_watcher(state for root in roots for leaf in root._inputs for state in leaf._files)
    return substitute(x, ParallelEvaluation(roots, workers).results())


class PlainCall(NamedTuple):
    """A pure call on values."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The function, for messages."""
        return str(self.function.name)

    def parts(self) -> Sequence[tuple[str, Any]]:
        """Return what is sent, each part with what it is called in messages."""
        named = zip(self.function.parameters, self.args, strict=False)
        arguments = [(f"argument {name!r} of {self.name}", value) for name, value in named]
        return [(f"the function {self.name}", self.function), *arguments]

    def run(self, evaluator: Any) -> tuple[Any, list[Any]]:
        """Make the call; return the result, and the files that nested calls read."""
        return call_pure(self.function, self.args, self.kwargs, evaluator, None)


class ParallelEvaluation(Evaluation):
    """One evaluation in which independent pure calls run at the same time.

    Parameters
    ----------
    roots : sequence of Node
    workers : Workers
    """

    def __init__(self, roots: Sequence[Node], workers: Workers) -> None:
        super().__init__(roots, PLAIN)
        self._workers = workers
        self._surroundings = Surroundings(PLAIN)
        self._schedule = Schedule(workers)
        self._users: dict[int, list[tuple[int, Node]]] = {}
        self._missing: dict[int, int] = {}

    def results(self) -> dict[int, Any]:
        """Return the values of the roots by their ``id``."""
        self.plan()
        values = self._values
        for rank, node in enumerate(self._order):
            value = self.known(node)
            if value is not MISSING:
                values[id(node)] = value
                continue
            pending = [dep for dep in node._deps if id(dep) not in values]
            self._missing[id(node)] = len(pending)
            for dep in pending:
                self._users.setdefault(id(dep), []).append((rank, node))
            if not pending:
                self._ready(rank, node)
        self._schedule.run()
        return {id(root): values[id(root)] for root in self._roots}

    def _ready(self, rank: int, node: Node) -> None:
        # Another thread may have computed an array in the meantime.
        function = node._function
        if function is not None and function.is_pure:
            self._schedule.away(rank, partial(self._start, node), partial(self._receive, node))
        else:
            self._schedule.here(rank, partial(self._run_here, node))

    def _run_here(self, node: Node) -> None:
        self._arrived(node, self._run(node))

    def _start(self, node: Node) -> Future[Any]:
        function = node._function
        try:
            args = gather(node._args, self._values)
            resolved = function.resolve_arguments(node._args, args)
            tell_watcher(resolved.files)
            future = self._workers.submit(PlainCall(function, resolved.args, {}), self._surroundings)
        except Exception as error:
            annotate(error, node)
            raise
        # What it needs is on its way.
        self.finish(node)
        return future

    def _receive(self, node: Node, future: Future[Any]) -> None:
        try:
            value, files = self._workers.result(future)
        except Exception as error:
            annotate(error, node)
            raise
        tell_watcher(files)
        self._arrived(node, value)

    def _arrived(self, node: Node, value: Any) -> None:
        if self._uses[id(node)]:
            self._values[id(node)] = value
        self.finish(node)
        for rank, user in self._users.pop(id(node), ()):
            self._missing[id(user)] -= 1
            if not self._missing[id(user)]:
                self._ready(rank, user)
