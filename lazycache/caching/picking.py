"""Hits in chunks of which an expression takes elements: only the chunks are read that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.blocks import OnDisk
from lazycache.expressions.operators import GETITEM
from lazycache.expressions.tree import Node
from lazycache.regions import count_chunks, plan

if TYPE_CHECKING:
    from lazycache.caching.guard import GuardedStore
    from lazycache_storage.objects.parts import PartsOfArray


def taken_whole(order: Iterable[Node], needs: Callable[[Node], Sequence[Node]]) -> set[int]:
    """Return the ids of the nodes whose whole value another one needs, which does more than index it.

    Parameters
    ----------
    order : iterable of Node
    needs : callable
        Returns what a node is made from: nothing for a hit, its twin for a repeated key.
    """
    found: set[int] = set()
    twins: list[tuple[Node, Node]] = []
    for node in order:
        needed = needs(node)
        if len(needed) == 1 and needed[0]._key == node._key:
            twins.append((node, needed[0]))
        elif node._function is GETITEM:
            found.update([id(dep) for dep in needed if dep is not node._args[0]])
        else:
            found.update(map(id, needed))
    found.update([id(first) for twin, first in twins if id(twin) in found])
    return found


class PickedArray(OnDisk):
    """A stored array of which elements are picked; as soon as that costs as much, it is read as a whole.

    Parameters
    ----------
    parts : PartsOfArray
    guard : GuardedStore
        The store that has it.
    load : callable
        Returns the whole array, read-only.
    """

    __slots__ = ("_chunks_left", "_guard", "_load", "_parts", "_whole")

    def __init__(self, parts: PartsOfArray, guard: GuardedStore, load: Callable[[], Any]) -> None:
        self._parts = parts
        self._guard = guard
        self._load = load
        self._whole: Any = None
        self._chunks_left = self._cost((slice(None),) * len(parts.shape))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._whole is None:
            self._whole = self._load()
        return np.array(self._whole, dtype, copy=copy)

    def __getitem__(self, index: Any) -> Any:
        if self._whole is None:
            # An index that is wrong is refused as numpy does it.
            np.broadcast_to(np.False_, self._parts.shape)[index]
            wanted, within = plan(index if isinstance(index, tuple) else (index,), self._parts.shape, scattered=True)
            self._chunks_left -= self._cost(wanted)
            if self._chunks_left > 0:
                found = self._guard.ask_quietly("read a result", lambda _: self._parts.read(wanted))
                if found is not None:
                    return found[within]
        return np.asarray(self)[index]

    def _cost(self, wanted: tuple[Any, ...]) -> int:
        return count_chunks(wanted, self._parts.shape, self._parts.chunks)
