"""Which files the results of one evaluation depend on.

A record under a node's own key must watch every file below the node. One under
its call key watches less: what stored calls below it read does not count, as
the call key holds the digests of their results.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

from lazycache.caching import inputs
from lazycache.expressions.tree import HashedLeaf, Node
from lazycache.files import mark_young

if TYPE_CHECKING:
    from lazycache_storage.record import FileState, Record

Files = tuple["FileState", ...]


class ReadFiles:
    """The files below the nodes of one evaluation, by the identity of the node."""

    def __init__(self) -> None:
        self._below: dict[int, Files] = {}
        self._own: dict[int, Files] = {}
        self._unstored: dict[int, Files] = {}
        self._marked: dict[int, Files] = {}

    def __bool__(self) -> bool:
        return bool(self._below or self._own)

    def marked(self, leaf: HashedLeaf) -> Files:
        """Return the files of a leaf with the contents that young ones had when first asked, before anything ran."""
        states = self._marked.get(id(leaf))
        if states is None:
            states = self._marked[id(leaf)] = mark_young(leaf._files, in_key=True)
        return states

    def below(self, node: Node) -> Files:
        """Return every file below `node`."""
        return self._below.get(id(node), ())

    def own(self, node: Node) -> Files:
        """Return the files below `node` that no stored call stands between."""
        return self._own.get(id(node), ())

    def of_record(self, node: Node, record: Record) -> None:
        """Take the files of a record as those of `node`."""
        if record.files:
            self._below[id(node)] = record.files
            if not record.token:
                self._own[id(node)] = record.files

    def collect(self, node: Node, nested: Files) -> None:
        """Put together the files of `node` from its dependencies and from nested calls in its body."""
        below: list[Files] = [nested]
        own: list[Files] = [nested]
        for dep in node._deps:
            if isinstance(dep, HashedLeaf):
                if dep._files:
                    states = self.marked(dep)
                    below.append(states)
                    own.append(states)
                continue
            if states := self.below(dep):
                below.append(states)
            if states := self.own(dep):
                own.append(states)
        if len(below) > 1 or nested:
            self._below[id(node)] = inputs.union(*below)
        if len(own) > 1 or nested:
            self._own[id(node)] = inputs.union(*own)

    def add(self, node: Node, files: Files) -> None:
        """Add files to those of `node`."""
        if files:
            self.give(node, inputs.union(self.below(node), files), inputs.union(self.own(node), files))

    def give(self, node: Node, below: Files, own: Files) -> None:
        """Say what the files of `node` are."""
        self._below[id(node)] = below
        self._own[id(node)] = own

    def cut_off(self, node: Node) -> None:
        """Say that the digest of the result of `node` stands for what it read."""
        self._own.pop(id(node), None)

    def take_over(self, node: Node, twin: Node) -> None:
        """Give `node` the files of another node with the same key."""
        for table in (self._below, self._own):
            if id(twin) in table:
                table[id(node)] = table[id(twin)]

    def read_unstored(self, node: Node, nested: Files) -> None:
        """Note what the body of a call that is not stored read, when it ran at last."""
        self._unstored[id(node)] = nested

    def unstored(self, node: Node) -> Files:
        """Return what the body of a call that is not stored read."""
        return self._unstored.get(id(node), ())

    def unstored_below(
        self, nodes: Sequence[Node], needs: Callable[[Node], Sequence[Node]], stored: Container[int]
    ) -> Files:
        """Return what calls that are not stored read, at and below `nodes` down to the next stored ones."""
        if not self._unstored:
            return ()
        found: list[Files] = []
        stack, seen = list(nodes), set()
        while stack:
            below = stack.pop()
            if id(below) in seen or id(below) in stored:
                continue
            seen.add(id(below))
            found.append(self._unstored.get(id(below), ()))
            stack.extend(needs(below))
        return inputs.union(*found)
