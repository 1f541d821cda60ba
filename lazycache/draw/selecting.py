"""Which part of a graph is drawn: all of it, or what is next to the results."""

from __future__ import annotations

from typing import Any, NamedTuple

from lazycache.expressions.nodes import Node
from lazycache.graph import ascend, find_nodes

MOST_NODES = 2000
"""Beyond this a picture shows what is next to the results, and says so."""


class Selection(NamedTuple):
    """The drawn part of a graph; nodes are known by their position.

    Attributes
    ----------
    nodes : list of Node
        Inputs first, in the order of evaluation.
    deps : list of list of int
        For each node the drawn nodes that it depends on.
    roots : frozenset of int
    cut : frozenset of int
        Nodes that depend on something that is not drawn.
    total : int
        How many nodes the whole graph has.
    """

    nodes: list[Node]
    deps: list[list[int]]
    roots: frozenset[int]
    cut: frozenset[int]
    total: int

    @property
    def note(self) -> str:
        """What is missing, for people; empty if nothing is."""
        if self.total == len(self.nodes):
            return ""
        shown = f"{len(self.nodes):,} nodes" if len(self.nodes) > 1 else "node"
        return f"the {shown} next to the result, of {self.total:,}"

    @property
    def edges(self) -> list[tuple[int, int]]:
        """Pairs of a node and one that uses it."""
        return [(dep, user) for user, deps in enumerate(self.deps) for dep in deps]

    def users(self) -> list[list[int]]:
        """Return for each node the drawn nodes that use it."""
        users: list[list[int]] = [[] for _ in self.nodes]
        for dep, user in self.edges:
            users[dep].append(user)
        return users


def roots_of(x: Any) -> list[Node]:
    """Return the nodes in a nest; a TypeError if there is none."""
    roots = find_nodes(x)
    if not roots:
        raise TypeError(
            f"expected a lazy expression, or tuples, lists and dicts that hold some, got {type(x).__name__}"
        )
    return roots


def select(x: Any, max_nodes: int | None = MOST_NODES) -> Selection:
    """Return what to draw of a node, or of a nest of nodes.

    Parameters
    ----------
    x : node or nest of nodes
    max_nodes : int or None
        How many nodes are drawn at most: those with the fewest steps to a result.
    """
    roots = roots_of(x)
    order = list(ascend(roots))
    total = len(order)
    if max_nodes is not None and total > max_nodes:
        near = _nearest(roots, max(max_nodes, 1))
        order = [node for node in order if id(node) in near]
    place = {id(node): position for position, node in enumerate(order)}
    deps = [[place[id(dep)] for dep in node._deps if id(dep) in place] for node in order]
    cut = frozenset(position for position, node in enumerate(order) if len(deps[position]) < len(node._deps))
    shown_roots = frozenset(place[id(root)] for root in roots if id(root) in place)
    return Selection(order, deps, shown_roots, cut, total)


def _nearest(roots: list[Node], most: int) -> set[int]:
    near = {id(root) for root in roots[:most]}
    queue = roots[:most]
    for node in queue:
        for dep in node._deps:
            if len(near) == most:
                return near
            if id(dep) not in near:
                near.add(id(dep))
                queue.append(dep)
    return near
