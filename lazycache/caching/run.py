"""One cached evaluation of a graph.

It has three phases. *Plan* (see `plan`) walks down from the roots and looks up
what is there. *Settle* goes up again: a stored call that was missed gets its
call key, in which each stored call below counts as the digest of its recorded
result, and is looked up under that, so that what depends on an unchanged result
is found without loading anything (early cutoff); only then is it run, by one
process at a time. *Demand* turns nodes into values, each when it is first
needed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

# What storing needs is there before a body runs: it may leave no descriptor for an import.
import lazycache_storage.publishing
import lazycache_storage.values.pickles  # noqa: F401
from lazycache import current
from lazycache.caching import inputs, pieces
from lazycache.caching.cycles import refuse_cycle
from lazycache.caching.details import describe
from lazycache.caching.picking import PickedArray, taken_whole
from lazycache.caching.plan import PlannedEvaluation
from lazycache.evaluation import MISSING, annotate, call_operation, call_pure, gather, leaf_value
from lazycache.expressions.keys import call_key as key_of_call
from lazycache.expressions.keys import node_token
from lazycache.expressions.nodes import NO_FILES, Callee
from lazycache.expressions.tree import HashedLeaf, Node
from lazycache.files import mark_young
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache.caching.bridge import Cache
    from lazycache_storage.record import FileState, Record


class Outcome(NamedTuple):
    """What running a node gave, and which files it read on the way."""

    value: Any
    seconds: float
    nested: tuple[FileState, ...]


class CachedEvaluation(PlannedEvaluation):
    """Evaluate `roots` through `cache`.

    Parameters
    ----------
    cache : Cache
    roots : sequence of Node
    may_run : bool
        Whether missing results are computed; if not, the evaluation only finds
        out what is there.
    """

    picks = True
    """Whether of arrays in chunks only the parts are read that indices take."""

    def __init__(self, cache: Cache, roots: Sequence[Node], may_run: bool = True) -> None:
        super().__init__(cache, roots, may_run)
        self._call_keys: dict[int, Digest] = {}
        self._settled = 0
        self._taken_whole: set[int] | None = None

    def results(self) -> list[Any]:
        """Return the values of the roots."""
        for root in self._roots:
            inputs.check_leaves(root)
        self.plan()
        self.settle()
        values = [self.demand(root) for root in self._roots]
        frame = current.frame()
        if frame is not None:
            frame.files.extend(self.files_read())
        return values

    def root_record(self) -> Record | None:
        """Return the record of the one root if it is there; nothing is run."""
        (root,) = self._roots
        inputs.check_leaves(root)
        self.plan()
        self.settle()
        return self._records.get(id(root))

    # -- settle -------------------------------------------------------------

    def settle(self) -> None:
        """Find, or run, each stored call that was missed, from the leaves up."""
        while self._settled < len(self._order):
            node = self._order[self._settled]
            self._settled += 1
            identity = id(node)
            if node._function is None or identity in self._records:
                continue
            if identity not in self._special:
                if self._tokens or self._files or node._rope is not NO_FILES:
                    self._pass_through(node)
                continue
            deps = self.needs(node)
            if deps and deps[0] is self._first.get(node._key) and deps[0] is not node:
                self._take_over(node, deps[0])
            elif self.is_kept(node):
                self._settle_kept(node)
            else:
                self._pass_through(node)

    def _take_over(self, node: Node, twin: Node) -> None:
        self._files.take_over(node, twin)
        tables: tuple[dict[int, Any], ...] = (self._tokens, self._call_keys)
        for table in tables:
            if id(twin) in table:
                table[id(node)] = table[id(twin)]

    def _pass_through(self, node: Node) -> None:
        """Name a node that is not stored by what is known of the nodes below."""
        if any(id(dep) in self._tokens for dep in node._deps):
            self._tokens[id(node)] = b"K" + key_of_call(node, self._token_of)
        self._files.collect(node, ())

    def _token_of(self, node: Node) -> bytes:
        return self._tokens.get(id(node)) or node_token(node)

    def _settle_kept(self, node: Node) -> None:
        call_key, deferred = self._call_key(node)
        self._call_keys[id(node)] = call_key
        if call_key != node._key:
            record = self._cache._find_valid(call_key, node)
            if record is not None:
                self._count_hit(record)
                self._alias(node, record, deferred)
                return
        if self._may_run:
            self._produce(node, call_key, deferred)

    def _call_key(self, node: Node) -> tuple[Digest, tuple[FileState, ...]]:
        """Return the call key, and the files named by arguments that had to be evaluated."""
        function = node._function
        if function.is_pure and function.defers(node._args):
            if not self._may_run:
                return node._key, ()
            for dep in node._deps:
                self.reach(dep)
            return inputs.deferred_call_key(node, gather(node._args, self._values), self._token_of)
        if not any(id(dep) in self._tokens for dep in node._deps):
            return node._key, ()
        return key_of_call(node, self._token_of), ()

    def _alias(self, node: Node, record: Record, deferred: tuple[FileState, ...]) -> None:
        """Record, under its own key too, a result that was found under the call key."""
        nested = tuple(state for state in record.files if not state.in_key)
        self._files.collect(node, inputs.union(nested, deferred))
        files = self._files.below(node)
        if files != record.files or self._call_keys[id(node)] != node._key:
            record = self._cache._with_files(node._key, record, files)
        # Otherwise it was found under this key as it is: who waited for it has nothing to write.
        self._adopt(node, record)
        self._after_settling(node, record)

    def _after_settling(self, node: Node, record: Record | None) -> None:
        if record is not None and record.token:
            self._files.cut_off(node)
        else:
            self._tokens[id(node)] = b"K" + self._call_keys[id(node)]
        self.finish(node)

    # -- run ----------------------------------------------------------------

    def _produce(self, node: Node, call_key: Digest, deferred: tuple[FileState, ...]) -> None:
        what = self.text(node)
        refuse_cycle(call_key, what)

        def ready() -> Record | None:
            return self._cache._find_valid(call_key, node)

        flight = self._guard.computing(call_key, what, ready, self._cache._durations.expected(node))
        try:
            with flight as claim:
                record = None if claim is None else claim.record
                if record is None:
                    if not self._run_and_keep(node, call_key, deferred, what) and claim is not None:
                        claim.unstored()
                    return
        except BaseException:
            # An interrupt may have come just as the block was to end.
            flight.end()
            raise
        self._cache.counters.waited(record)
        self._alias(node, record, deferred)

    def _run_and_keep(self, node: Node, call_key: Digest, deferred: tuple[FileState, ...], what: str) -> bool:
        """Run a call and settle it; return whether its result is stored."""
        outcome = self._execute(node, call_key, deferred)
        unstored = self._files.unstored_below(self.needs(node), self.needs, self._records)
        self._files.collect(node, inputs.union(outcome.nested, deferred, inputs.lifetime(node), unstored))
        self._cache._durations.note(node, outcome.seconds)
        record = self._keep(node, call_key, outcome, what)
        self._after_settling(node, record)
        return record is not None

    def _execute(self, node: Node, call_key: Digest, deferred: tuple[FileState, ...]) -> Outcome:
        function = node._function
        with self._watching(node, deferred):
            if len(self._special) == 1:
                self.run_in_order(node)
            for dep in node._deps:
                self.reach(dep)
            started = time.perf_counter()
            try:
                args = gather(node._args, self._values)
                kwargs = dict(zip(node._kwargs, gather(node._kwargs.values(), self._values), strict=True))
                if function.is_pure:
                    args = function.resolve_arguments(node._args, args).args
                    value, nested = pieces.call(self._cache, node, args, kwargs, call_key, self.text(node))
                else:
                    value, nested = call_operation(function, args, kwargs, self._cache, call_key)
            except Exception as error:
                annotate(error, node, self.text(node))
                raise
            seconds = time.perf_counter() - started
        return Outcome(value, seconds, inputs.as_nested(nested))

    @contextlib.contextmanager
    def _watching(self, node: Node, deferred: tuple[FileState, ...] = ()) -> Iterator[None]:
        """Raise InputChangedError if a file that `node` is called with changes before the block ends."""
        name = node._function.name
        own = [leaf for leaf in node._deps if isinstance(leaf, HashedLeaf) and leaf._files]
        before = [self._files.marked(leaf) for leaf in own]
        for leaf in own:
            inputs.check_states(leaf._files, name)
        yield
        inputs.check_states(deferred, name)
        for leaf, states in zip(own, before, strict=True):
            inputs.check_states(leaf._files, name)
            if mark_young(leaf._files, in_key=True) != states:
                inputs.changed(leaf, name)

    def _keep(self, node: Node, call_key: Digest, outcome: Outcome, what: str) -> Record | None:
        """Store a result, and replace the value by what is loaded back."""
        cache, value = self._cache, outcome.value
        cache.counters.computed(outcome.seconds)
        record = None
        is_plain = len(self._special) == 1 and not node._function.is_pure
        if cache._may_store(node, is_plain):
            files = inputs.result_files(value)
            static = inputs.union(self._files.below(node), files)
            own = inputs.union(self._files.own(node), files)
            record = pieces.put_result(
                self._guard,
                node,
                (node._key,) if call_key == node._key else (call_key, node._key),
                value,
                {**describe(node, what, outcome.seconds), "call_key": bytes(call_key)},
                files,
                {node._key: static} if call_key == node._key else {call_key: own, node._key: static},
                True,
                what,
            )
        if record is not None:
            loaded = self._guard.load(record, node._key)
            if loaded is MISSING:
                record = None
            else:
                value = loaded
                cache.counters.stored(record)
                self._adopt(node, record)
                self._files.add(node, files)
        if record is None:
            value = pieces.opened(value, node)
        if self._uses[id(node)]:
            self._values[id(node)] = value
        return record

    # -- demand -------------------------------------------------------------

    def known(self, node: Node) -> Any:
        """Return the value of a leaf, of a hit, or of a node with the key of another."""
        if node._function is None:
            return leaf_value(node)
        record = self._records.get(id(node))
        if record is not None:
            return self._load(node, record)
        deps = self.needs(node)
        if len(deps) == 1 and deps[0] is not node and deps[0] is self._first.get(node._key):
            value = self.reach(deps[0])
            self.finish(node)
            return value
        return MISSING

    def _load(self, node: Node, record: Record) -> Any:
        """Return the value of a hit; of an array in chunks that is only indexed, what reads parts of it."""

        def load() -> Any:
            value = self._guard.load(record, node._key)
            return self._recompute(node) if value is MISSING else value

        if self.picks and any(ref.chunked for ref in record.objects) and self._is_only_indexed(node):
            found = self._guard.open_parts(record)
            if found is not None:
                return PickedArray(*found, load)
        return load()

    def _is_only_indexed(self, node: Node) -> bool:
        if self._taken_whole is None:
            self._taken_whole = taken_whole(self._order, self.needs)
        return id(node) not in self._taken_whole and id(node) not in self._root_ids

    def _recompute(self, node: Node) -> Any:
        """Run a call whose record was found but whose value could not be loaded."""
        self._guard.pass_over(self._records[id(node)], {node._key, self._call_keys.get(id(node), node._key)})
        return CachedEvaluation(self._cache, [node]).results()[0]

    def run_pure(self, node: Node, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run a pure call that is not stored."""
        started = time.perf_counter()
        resolved = node._function.resolve_arguments(node._args, args)
        deferred = mark_young(resolved.files, in_key=False)
        with self._watching(node, deferred):
            value, nested = call_pure(node._function, resolved.args, kwargs, self._cache, None)
        self._cache.counters.computed(time.perf_counter() - started)
        if nested or deferred:
            self._files.read_unstored(node, inputs.union(inputs.as_nested(nested), deferred))
        return value

    def run_operation(self, node: Node, function: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Call a method, or a value; what pure functions read that it calls counts for what is made of it."""
        value, nested = call_operation(function, args, kwargs, self._cache)
        if nested:
            self._files.read_unstored(node, inputs.as_nested(nested))
        return value
