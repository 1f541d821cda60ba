"""The first phase of a cached evaluation: what is there, and what is needed.

The walk goes down from the roots and looks up what may be stored (the roots
and every pure call); below a hit it does not look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lazycache.caching import inputs
from lazycache.caching.readfiles import ReadFiles
from lazycache.evaluation import Evaluation
from lazycache.expressions.keys import take_keys
from lazycache.expressions.tree import Node

if TYPE_CHECKING:
    from lazycache.caching.bridge import Cache
    from lazycache_storage.digest import Digest
    from lazycache_storage.record import FileState, Record


class PlannedEvaluation(Evaluation):
    """What evaluating `roots` through `cache` needs.

    Parameters
    ----------
    cache : Cache
    roots : sequence of Node
    may_run : bool
        Whether missing results are computed; if not, the evaluation only finds
        out what is there.
    """

    def __init__(self, cache: Cache, roots: Sequence[Node], may_run: bool = True) -> None:
        # Taken in the nodes that the user holds, and then in their twins.
        take_keys(roots)
        super().__init__([root._pinned() for root in roots], cache)
        self._cache = cache
        self._guard = cache._guard
        self._may_run = may_run
        self._root_ids = {id(root) for root in self._roots}
        # The first node of each key: of a root's key the root, so that it is stored wherever else it occurs.
        self._first = {root._key: root for root in reversed(self._roots) if root._function is not None}
        self._needs: dict[int, Sequence[Node]] = {}
        self._records: dict[int, Record] = {}
        self._tokens: dict[int, bytes] = {}
        self._files = ReadFiles()

    def files_read(self) -> tuple[FileState, ...]:
        """Return every file that the roots depend on."""
        found: list[tuple[FileState, ...]] = []
        for root in self._roots:
            found.append(self._files.below(root))
            found.append(self._files.unstored_below((root,), self.needs, self._records))
        return inputs.union(*found)

    def missing(self) -> list[tuple[Node, bool]]:
        """Return the calls that are not stored, from the leaves up, and whether a result is needed to tell if they run.

        What is missing below a call may come out as before, and then the call is found under its call key.
        """
        found: dict[Digest, tuple[Node, bool]] = {}
        lacking: set[int] = set()
        for node in self._order:
            function = node._function
            if function is None or id(node) in self._records:
                continue
            waits = any(id(dep) in lacking for dep in self.needs(node))
            if self.is_kept(node):
                found.setdefault(node._key, (node, waits or (function.is_pure and function.defers(node._args))))
                lacking.add(id(node))
            elif waits:
                lacking.add(id(node))
        return list(found.values())

    def needs(self, node: Node) -> Sequence[Node]:
        """Return what `node` is made from: nothing for a hit, its twin for a repeated key."""
        found = self._needs.get(id(node))
        return self._look(node) if found is None else found

    def _look(self, node: Node) -> Sequence[Node]:
        identity, needed = id(node), node._deps
        function = node._function
        if function is None:
            needed = ()
        elif function.is_pure or identity in self._root_ids or self._first.setdefault(node._key, node) is not node:
            self._special.add(identity)
            needed = self._look_up(node)
        self._needs[identity] = needed
        return needed

    def _look_up(self, node: Node) -> tuple[Node, ...]:
        """Return what is needed for a node that may be stored, or has the key of another."""
        function = node._function
        first = self._first.get(node._key)
        if first is None:
            # What is stored is looked at again and again, so it stays a call to the end, as the roots do.
            first = self._first[node._key] = node._pinned() if function.is_pure else node
        if first is not node:
            return (first,)
        if self.is_kept(node):
            record = self._cache._find_valid(node._key, node)
            if record is not None:
                self._adopt(node, record)
                self._files.of_record(node, record)
                self._count_hit(record)
                return ()
        return node._deps

    def is_kept(self, node: Node) -> bool:
        """Say whether the result of `node` is stored: pure calls, and the roots."""
        if id(node) in self._root_ids:
            return not node._function.is_pure or bool(node._function.stored)
        # Another thread may have computed an array in the meantime.
        function = node._function
        return function is not None and function.is_pure and bool(function.stored)

    def _adopt(self, node: Node, record: Record) -> None:
        self._records[id(node)] = record
        if record.token:
            self._tokens[id(node)] = record.token

    def _count_hit(self, record: Record) -> None:
        if self._may_run:
            self._cache.counters.hit(record)
