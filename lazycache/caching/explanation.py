"""Why a node hits or misses, from what the records tell of their keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazycache.caching import comparing
from lazycache.caching.codes import Codes, code_identity
from lazycache.caching.details import describe, packages_of
from lazycache.caching.filechanges import file_change
from lazycache.caching.layers import why_refused
from lazycache.caching.run import CachedEvaluation
from lazycache.expressions.keys import key as key_of
from lazycache.expressions.tree import Node
from lazycache.show import summary
from lazycache.telling import period_text
from lazycache_storage.record import Record

if TYPE_CHECKING:
    from lazycache.caching import Cache
    from lazycache.caching.codes import Parts
    from lazycache.caching.guard import GuardedStore
    from lazycache_storage.digest import Digest

_MOST_SHOWN = 5
_NEEDS = "needs "


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a node hits or misses; print it.

    Attributes
    ----------
    hit : bool
    key : str
        The key, as hex digits.
    text : str
        The node, shortened.
    causes : tuple of str
        For a miss: what differs from the nearest earlier call of the same
        function, or what else is the matter.
    nearest : Record or None
        For a hit, its record; for a miss, that of the nearest earlier call.
    notes : tuple of str
        What is worth knowing besides, such as the store that has a result.
    below : tuple of Explanation
        For a miss: the same for each call below it that is missing while all
        that it needs is there. These are where the cause is.
    runs : int
        How many calls are missing with all that they need, and so have to run.
    may_run : int
        How many more are missing. They run unless what they need comes out as before.
    seconds : float
        What the calls that have to run took the last time, as far as that is known.
    """

    hit: bool
    key: str
    text: str
    causes: tuple[str, ...]
    nearest: Record | None
    notes: tuple[str, ...] = ()
    below: tuple[Explanation, ...] = ()
    runs: int = 0
    may_run: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        lines = [f"{'HIT ' if self.hit else 'MISS'}  {self.text}  key {self.key[:6]}", *self._reasons()]
        for one in self.below[:_MOST_SHOWN]:
            lines += [f"  {_need(one.text)}", *(f"  {reason}" for reason in one._reasons())]
        others = sum(cause.startswith(_NEEDS) for cause in self.causes) - len(self.below[:_MOST_SHOWN])
        if others > 0:
            lines.append(f"  {_NEEDS}{others} more calls that are not stored")
        if self.runs or self.may_run:
            lines.append(f"  {self._cost()}")
        return "\n".join(lines)

    __repr__ = __str__

    def _reasons(self) -> Iterator[str]:
        if self.nearest is not None:
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.nearest.created))
            name = "computed" if self.hit else f"nearest: {self.nearest.text}, computed"
            yield f"  {name} {when} on {self.nearest.host}, took {period_text(self.nearest.seconds)}"
        yield from (f"  {cause}" for cause in (*self.causes, *self.notes) if not cause.startswith(_NEEDS))

    def _cost(self) -> str:
        certain = f"{self.runs} call has to run" if self.runs == 1 else f"{self.runs} calls have to run"
        took = f", {period_text(self.seconds)} by the last times" if self.seconds >= 1 else ""
        more = f"; {self.may_run} more, unless what they need comes out as before" if self.may_run else ""
        return f"{certain}{took}{more}"


def explain(cache: Cache, node: Node) -> Explanation:
    """Return why `node` hits or misses in `cache`; nothing is run."""
    if not isinstance(node, Node):
        raise TypeError(f"only lazy expressions can be explained, not {type(node).__name__}: wrap it in computed()")
    key, text = key_of(node), summary(node)
    node = node._pinned()
    if node._function is None:
        return Explanation(True, key.hex(), text, ("a value, which is not looked up",), None)
    if cache.mode == "off":
        return Explanation(False, key.hex(), text, ("mode is off: all is computed, and nothing is kept",), None)
    return _Explaining(cache, node, key, text).result()


class _Explaining:
    """One question, and what the stores say to it."""

    def __init__(self, cache: Cache, root: Node, key: Digest, text: str) -> None:
        self._cache = cache
        self._stores = cache._guard.all_stores()
        self._root = root
        self._key = key
        self._text = text

    def result(self) -> Explanation:
        was_there = self._cache._find_valid(self._key, self._root) is not None
        evaluation = CachedEvaluation(self._cache, [self._root], may_run=False)
        record = evaluation.root_record()
        if record is None:
            missing = evaluation.missing()
            return self._miss([*((node, False) for node in self._refused_below(evaluation, missing)), *missing])
        if not any(store.has_objects(record) for store in self._stores):
            return self._explanation(["an object that its result needs is gone"], record, runs=1)
        if refused := why_refused(self._cache._guard, record, self._key):
            return self._explanation([_not_loaded(refused)], record, runs=1)
        return self._explanation([], record, hit=True, notes=tuple(self._notes(record, was_there)))

    def _explanation(self, causes: list[str], nearest: Record | None, **more: Any) -> Explanation:
        return Explanation(more.pop("hit", False), self._key.hex(), self._text, tuple(causes), nearest, **more)

    def _miss(self, missing: list[tuple[Node, bool]]) -> Explanation:
        causes, nearest, notes = self._causes(self._root)
        if self._stores[0].store is None:
            causes.insert(0, f"the store {self._stores[0].path} cannot be opened: nothing is found there, or kept")
        others = [(node, waits) for node, waits in missing if node._key != self._key]
        causes += [_need(summary(node)) for node, _ in others]
        below = [self._cause_below(node) for node, waits in others if not waits]
        runs = sum(not waits for _, waits in missing)
        known = [part.nearest for part in below] + ([nearest] if runs > len(below) else [])
        return self._explanation(
            causes or ["it was not asked for before: pure calls are kept, and what a cache is called with"],
            nearest,
            notes=tuple(notes),
            below=tuple(below),
            runs=runs,
            may_run=len(missing) - runs,
            seconds=sum(record.seconds for record in known if record is not None),
        )

    def _refused_below(self, evaluation: CachedEvaluation, missing: list[tuple[Node, bool]]) -> list[Node]:
        """Return the calls that are stored, but run nevertheless: what has to run needs them, and trust forbids it."""
        found: dict[Digest, Node] = {}
        stack, seen = [node for node, waits in missing if not waits], set[int]()
        while stack:
            for dep in evaluation.needs(stack.pop()):
                if dep._function is None or id(dep) in seen:
                    continue
                seen.add(id(dep))
                record = evaluation._records.get(id(dep))
                if record is None:
                    stack.append(dep)
                elif why_refused(self._cache._guard, record, dep._key):
                    found[dep._key] = dep
        return list(found.values())

    def _cause_below(self, node: Node) -> Explanation:
        causes, nearest, notes = self._causes(node)
        return Explanation(False, node._key.hex(), summary(node), tuple(causes), nearest, tuple(notes))

    def _causes(self, node: Node) -> tuple[list[str], Record | None, list[str]]:
        """Return why a node is missing, the record that tells so, and what is worth knowing besides."""
        function = node._function
        if function.is_pure and not function.stored:
            return ["its results are not kept (store=False)"], None, []
        for store in self._stores:
            refused = store.ask("look up a result", lambda opened: opened.find(node._key))
            if refused is not None:
                causes = list(self._why_not(store, refused, node))
                return causes or ["something that it depends on is not as it was"], refused, []
        if not function.is_pure:
            return [], None, []
        reason = function.unstorable_reason()
        causes = [] if reason is None else [f"its results are not kept: {reason}"]
        now = Record(**describe(node, "", 0.0))
        nearest = self._nearest(now)
        if nearest is None:
            return [*causes, f"no call of {function.name} is stored"], None, []
        compared = comparing.compare(nearest, now, self._parts_of(function))
        differing = [part.text for part in compared if part.counts and not part.is_same]
        if not differing and function.defers(node._args):
            differing = [
                "an argument with a hasher is an expression: what is stored counts when that has been evaluated"
            ]
        if not differing:
            differing = [
                "every part of the key is as it was: the entry was dropped, or the key was made in another way"
            ]
        return [*causes, *differing], nearest, [part.text for part in compared if not part.counts and not part.is_same]

    def _why_not(self, store: GuardedStore, record: Record, node: Node) -> Iterator[str]:
        """Generate why a record under the key of a node does not count."""
        function, cache = node._function, self._cache
        if store.find(node._key) is None:
            yield "its result could not be loaded before"
        if record.created < cache._since:
            yield "mode is refresh: what was computed before this run does not count"
        if cache._own.claims.contested(node):
            yield "another function has taken a name and version in it: give yours a name="
        if function.is_pure and function.max_age is not None and record.created < time.time() - function.max_age:
            old, limit = period_text(time.time() - record.created), period_text(function.max_age)
            yield f"it was computed {old} ago, and max_age is {limit}"
        yield from filter(None, map(file_change, record.files))
        if refused := why_refused(cache._guard, record, node._key):
            yield _not_loaded(refused)

    def _nearest(self, now: Record) -> Record | None:
        found = []
        for store in self._stores:
            best = store.ask(
                "list results",
                lambda opened: comparing.nearest(
                    [row.record for row in comparing.of_function(opened, now.function)], now
                ),
            )
            found += [] if best is None else [best]
        return comparing.nearest(found, now)

    def _parts_of(self, function: Any) -> Callable[[bytes], Parts]:
        here = code_identity(function)

        def parts_of(identity: bytes) -> Parts:
            if identity == here:
                return {part.name: (part.digest, part.text) for part in function.code_parts()}
            return next(filter(None, (Codes(store).parts(identity) for store in self._stores)), {})

        return parts_of

    def _notes(self, record: Record, was_there: bool) -> Iterator[str]:
        own, *others = self._stores
        if others and not own.holds(record, self._key):
            yield from (f"found in {store.path}" for store in others if store.holds(record, self._key))
        if not was_there:
            yield "found by what it needs, which came out as before"
        if change := comparing.package_change(record.packages, packages_of(self._root._function)):
            yield change


def _not_loaded(reason: str) -> str:
    return f"its result is a pickle that is not loaded: {reason}"


def _need(text: str) -> str:
    return f"{_NEEDS}{text}, which is not stored"
