"""Why a node hits or misses, from what the records tell of their keys."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazycache import files
from lazycache.caching.details import ingredients
from lazycache.caching.run import CachedEvaluation
from lazycache.expressions import Node
from lazycache.keys import key as key_of
from lazycache.show import summary

if TYPE_CHECKING:
    from lazycache.caching import Cache
    from lazycache_storage.record import Ingredient, Record


@dataclass(frozen=True)
class Explanation:
    """Why a node hits or misses.

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
    """

    hit: bool
    key: str
    text: str
    causes: tuple[str, ...]
    nearest: Record | None

    def __str__(self) -> str:
        lines = [f"{'HIT ' if self.hit else 'MISS'}  {self.text}  key {self.key[:6]}"]
        if self.nearest is not None:
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.nearest.created))
            name = "computed" if self.hit else f"nearest: {self.nearest.text}, computed"
            lines.append(f"  {name} {when} on {self.nearest.host}, took {self.nearest.seconds:.3g} s")
        lines += [f"  {cause}" for cause in self.causes]
        return "\n".join(lines)


def explain(cache: Cache, node: Node) -> Explanation:
    """Return why `node` hits or misses in `cache`; nothing is run."""
    if not isinstance(node, Node):
        raise TypeError(f"only lazy expressions can be explained, not a {type(node).__name__}: wrap it in computed()")
    key, text = key_of(node), summary(node)
    node = node._pinned()
    if node._function is None:
        return Explanation(True, key.hex(), text, ("a value, which is not looked up",), None)
    evaluation = CachedEvaluation(cache, [node], may_run=False)
    record = evaluation.root_record()
    if record is not None:
        return Explanation(True, key.hex(), text, (), record)
    causes = [
        f"needs {summary(missing)}, which is not stored" for missing in evaluation.missing() if missing._key != key
    ]
    stale = cache._guard.find(key)
    if stale is not None:
        return Explanation(False, key.hex(), text, (*_changed_files(stale), *causes), stale)
    nearest = _nearest(cache, node)
    if nearest is not None:
        causes = [*_differences(node, nearest), *causes]
    elif node._function.is_pure:
        causes.append(f"no call of {node._function.name} is stored")
    return Explanation(False, key.hex(), text, tuple(causes), nearest)


def _changed_files(record: Record) -> list[str]:
    ages = [state for state in record.files if state.how == "age" and state.mtime_ns <= time.time_ns()]
    old = [f"the result of {state.path} in it is older than its max_age" for state in ages]
    changed = [state.path for state in record.files if state.how != "age" and not files.unchanged(state)]
    return [*old, *[f"file {path} is not as it was" for path in changed]] or [
        "a file that it depends on has another content"
    ]


def _nearest(cache: Cache, node: Node) -> Record | None:
    function = node._function
    if not function.is_pure:
        return None
    now = {part.name: part.token for part in ingredients(node)}

    def distance(record: Record) -> tuple[int, float]:
        then = {part.name: part.token for part in record.ingredients}
        return sum(now.get(name) != then.get(name) for name in now | then), -record.created

    same = cache._guard.ask(
        "list results", lambda store: [row.record for row in store.records() if row.record.function == function.name]
    )
    return min(same, key=distance) if same else None


def _differences(node: Node, record: Record) -> list[str]:
    function = node._function
    found = []
    if function.version != record.version:
        found.append(f"version: was {record.version or 'none'}, is {function.version or 'none'}")
    elif not function.version and function.code_digest() != record.code:
        found.append("code: the function, or something of yours that it refers to, was edited")
    then = {part.name: part for part in record.ingredients}
    now = {part.name: part for part in ingredients(node)}
    for name in now | then:
        before, after = then.get(name), now.get(name)
        if before is None or after is None or before.token != after.token:
            found.append(f"argument {name}: {_difference(before, after)}")
    return found or ["every part of the key is as it was: the entry was dropped, or the key was made in another way"]


def _difference(before: Ingredient | None, after: Ingredient | None) -> str:
    was, now = _text(before), _text(after)
    return f"was {was}, is {now}" if was != now else f"was another {now}"


def _text(part: Ingredient | None) -> str:
    return "absent" if part is None else part.text
