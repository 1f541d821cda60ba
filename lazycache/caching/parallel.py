"""A cached evaluation whose pure calls run in workers, which get keys and not arrays.

Looking up goes on here, from the leaves up, as far as results are known; what
is missing is sent, with stand-ins for the calls below. Operators between two
pure calls run where the upper one does. The worker takes the lock, runs,
stores, and sends the record back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lazycache import current
from lazycache.caching import inputs
from lazycache.caching.run import CachedEvaluation
from lazycache.caching.shipped import Answer, ShippedCall
from lazycache.evaluation import annotate
from lazycache.execution.parallel import evaluate as without_cache
from lazycache.execution.schedule import Schedule
from lazycache.execution.shipping import Surroundings
from lazycache.execution.stand_ins import GivenResult, StoredResult, detach
from lazycache.execution.workers import Workers, find_workers
from lazycache.expressions.keys import node_token
from lazycache.expressions.tree import Node
from lazycache.graph import find_roots, substitute
from lazycache.show import summary

if TYPE_CHECKING:
    from concurrent.futures import Future

    from lazycache.caching.bridge import Cache
    from lazycache_storage.digest import Digest
    from lazycache_storage.record import FileState, Record

Files = tuple["FileState", ...]

_TEXT_LIMIT = 160


class Gate:
    """Something that happens once a number of results have come."""

    def __init__(self, missing: int, action: Callable[[], None]) -> None:
        self._missing = missing
        self._action = action
        self.passed(0)

    def passed(self, results: int = 1) -> None:
        """Count results that have come."""
        self._missing -= results
        if not self._missing:
            self._action()


class ParallelCachedEvaluation(CachedEvaluation):
    """Evaluate `roots` through `cache`; pure calls run in `workers`."""

    # What is sent to workers are values.
    picks = False

    def __init__(self, cache: Cache, roots: Sequence[Node], workers: Workers) -> None:
        super().__init__(cache, roots)
        self._workers = workers
        self._surroundings = Surroundings(cache)
        self._schedule = Schedule(workers)
        self._rank: dict[int, int] = {}
        # By the id of a node: what waits until it is settled, and what waits for its value.
        self._until_settled: dict[int, list[Gate]] = {}
        self._until_valued: dict[int, list[Gate]] = {}
        self._open: set[int] = set()
        self._wanted: set[int] = set()

    def settle(self) -> None:
        """Find, or have run, each call that was missed, from the leaves up."""
        self._rank = {id(node): rank for rank, node in enumerate(self._order)}
        for rank, node in enumerate(self._order):
            if node._function is None or id(node) in self._records:
                continue
            pending = [dep for dep in self.needs(node) if id(dep) in self._open]
            self._open.add(id(node))
            visit = partial(self._schedule.here, rank, partial(self._visit, node))
            gate = Gate(len(pending), visit)
            for dep in pending:
                self._until_settled.setdefault(id(dep), []).append(gate)
        self._schedule.run()

    def _visit(self, node: Node) -> None:
        first = self._first[node._key]
        if first is not node:
            self._take_over(node, first)
        elif self.is_kept(node):
            function = node._function
            if function.is_pure and function.defers(node._args):
                self._with_values(node, partial(self._settle_kept, node))
            else:
                self._settle_kept(node)
            return
        else:
            self._pass_through(node)
            if id(node) in self._root_ids and node._function.is_pure:
                self._want(node)
        self._close(node)

    def _close(self, node: Node) -> None:
        self._open.discard(id(node))
        for gate in self._until_settled.pop(id(node), ()):
            gate.passed()

    def _after_settling(self, node: Node, record: Record | None) -> None:
        super()._after_settling(node, record)
        self._close(node)

    # -- values of calls that are not stored ----------------------------------

    def _with_values(self, node: Node, action: Callable[[], None]) -> None:
        """Do `action` once the calls that are not stored, and that `node` is made from, have values."""
        asked = [(node, action)]
        while asked:
            node, action = asked.pop()
            calls = list(self._unstored_below(node))
            gate = Gate(len(calls), action)
            for call in calls:
                self._until_valued.setdefault(id(call), []).append(gate)
                if id(call) not in self._wanted:
                    self._wanted.add(id(call))
                    asked.append((call, partial(self._post, call, None, ())))

    def _want(self, node: Node) -> None:
        if id(node) not in self._wanted:
            self._wanted.add(id(node))
            self._with_values(node, partial(self._post, node, None, ()))

    def _unstored_below(self, node: Node) -> Iterator[Node]:
        stack, seen = list(self.needs(node)), {id(node)}
        while stack:
            below = stack.pop()
            function = below._function
            if id(below) in seen or id(below) in self._values or id(below) in self._records or function is None:
                continue
            seen.add(id(below))
            if self._first.get(below._key, below) is below and function.is_pure and not function.stored:
                yield below
            else:
                stack.extend(self.needs(below))

    # -- sending ------------------------------------------------------------

    def _produce(self, node: Node, call_key: Digest, deferred: Files) -> None:
        """Have a missing result computed: here for an operator, by a worker for a pure call."""
        send = self._post if node._function.is_pure else self._produce_here
        self._with_values(node, partial(send, node, call_key, deferred))

    def _produce_here(self, node: Node, call_key: Digest, deferred: Files) -> None:
        here = partial(super()._produce, node, call_key, deferred)
        self._schedule.here(self._rank[id(node)], here)

    def _post(self, node: Node, call_key: Digest | None, deferred: Files) -> None:
        start = partial(self._start, node, call_key, deferred)
        then = partial(self._receive, node, call_key, deferred)
        self._schedule.away(self._rank[id(node)], start, then)

    def _start(self, node: Node, call_key: Digest | None, deferred: Files) -> Future[Any]:
        if call_key is not None:
            deferred = inputs.union(deferred, self._files.unstored_below(self.needs(node), self.needs, self._records))
        call = ShippedCall(
            detach(node, self._stand_in),
            node._function.token,
            b"" if call_key is None else bytes(call_key),
            deferred,
            [(self._files.below(dep), self._files.own(dep)) for dep in node._deps],
            self.text(node),
            not self._workers.shares_memory,
        )
        try:
            future = self._workers.submit(call, self._surroundings)
        except Exception as error:
            annotate(error, node)
            raise
        self._note_wait(call_key, begins=True)
        return future

    def _note_wait(self, call_key: Digest | None, *, begins: bool) -> None:
        """Say that the call which this is nested in waits for one that a worker has."""
        if call_key is not None and current.frame() is not None:
            self._guard.note_wait(call_key, begins=begins)

    def _stand_in(self, node: Node) -> Node | None:
        # A call may be known by its key alone: what is below a repeated key is not looked at.
        node = self._first.get(node._key, node)
        text = partial(summary, node, _TEXT_LIMIT)
        if id(node) in self._records:
            key = self._call_keys.get(id(node), node._key)
            return StoredResult(node_token(node), text(), bytes(key))
        if id(node) in self._values:
            return GivenResult(node_token(node), text(), self._values[id(node)])
        return None

    # -- receiving ----------------------------------------------------------

    def _receive(self, node: Node, call_key: Digest | None, deferred: Files, future: Future[Any]) -> None:
        try:
            answer: Answer = self._workers.result(future)
        except Exception as error:
            annotate(error, node)
            raise
        finally:
            self._note_wait(call_key, begins=False)
        self._cache.counters.add(answer.counters)
        if call_key is None:
            self._receive_value(node, answer)
        elif answer.is_refused:
            super()._produce(node, call_key, deferred)
        else:
            self._receive_record(node, call_key, answer)

    def _receive_record(self, node: Node, call_key: Digest, answer: Answer) -> None:
        self._files.give(node, answer.below, answer.own)
        record = answer.record
        if record is not None:
            self._adopt(node, record)
        elif answer.outcome is not None and not self._workers.shares_memory:
            # What pickles by name may be known by that name here only.
            record = self._keep(node, call_key, answer.outcome, self.text(node))
        elif answer.outcome is not None and self._uses[id(node)]:
            self._values[id(node)] = answer.outcome.value
        self._after_settling(node, record)

    def _receive_value(self, node: Node, answer: Answer) -> None:
        if answer.outcome is None:
            value = self.demand(node)
        else:
            value = answer.outcome.value
            if answer.outcome.nested:
                self._files.read_unstored(node, answer.outcome.nested)
        if self._uses[id(node)]:
            self._values[id(node)] = value
        self.finish(node)
        for gate in self._until_valued.pop(id(node), ()):
            gate.passed()


def evaluate_with(cache: Cache, expression: Any, n_jobs: int | None, executor: Any) -> Any:
    """Evaluate through a cache in the workers that were asked for, or here if that comes to one."""
    workers = find_workers(n_jobs, executor)
    return cache(expression) if workers is None else evaluate(cache, expression, workers)


def evaluate(cache: Cache, expression: Any, workers: Workers) -> Any:
    """Return `expression` with each node replaced by its value; pure calls that are missed run in `workers`."""
    if cache.mode == "off":
        return without_cache(expression, workers)
    roots = find_roots(expression)
    if not roots:
        return expression
    values = ParallelCachedEvaluation(cache, roots, workers).results()
    return substitute(expression, {id(root): value for root, value in zip(roots, values, strict=True)})
