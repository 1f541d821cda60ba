"""Walks over graphs of nodes: iterative, each node once.

Every walk takes a node, or any nest (tuples, lists, dict values, slices) of
nodes, and works for every kind of node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lazycache.expressions.nests import find_nodes, substitute
from lazycache.expressions.nodes import Node, inner_first
from lazycache.expressions.placement import refuse_hidden

__all__ = ["ascend", "depths", "descend", "find_nodes", "find_roots", "substitute", "to_queue"]


def find_roots(nest: Any) -> list[Node]:
    """Return the nodes in a nest, as `find_nodes` does, and refuse a nest with nodes that would be passed over.

    Raises
    ------
    MisplacedNodeError
        If a node is in a container of another kind, such as an OrderedDict or a set.
    """
    if isinstance(nest, Node):
        return [nest]
    refuse_hidden(nest)
    return find_nodes(nest)


def to_queue(lz: Any) -> list[Node]:
    """Return the nodes in a nest, each once, sorted by depth.

    Parameters
    ----------
    lz : node or nest of nodes

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.graph import to_queue
    >>> x = computed(2)
    >>> y = x + 1
    >>> [node is y for node in to_queue([y, {"input": x}])]
    [False, True]
    """
    nodes = find_nodes(lz)
    depth = depths(nodes)
    return sorted(nodes, key=lambda node: depth[id(node)])


def depths(lz: Any) -> dict[int, int]:
    """Return by ``id`` of each node its greatest distance to a leaf."""
    depth: dict[int, int] = {}
    for node in inner_first(find_nodes(lz)):
        depth[id(node)] = 1 + max([depth[id(dep)] for dep in node._deps], default=-1)
    return depth


def descend(lz: Any) -> Iterator[Node]:
    """Generate each node once, from the outputs down to the leaves, depth first.

    Parameters
    ----------
    lz : node or nest of nodes

    Yields
    ------
    Node

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.graph import descend
    >>> x = computed(2)
    >>> [type(node).__name__ for node in descend((x + 1) * x)]
    ['lazy', 'lazy', 'computed']
    """
    seen: set[int] = set()
    stack = list(reversed(find_nodes(lz)))
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack.extend([dep for dep in reversed(node._deps) if id(dep) not in seen])


def ascend(lz: Any) -> Iterator[Node]:
    """Generate each node once, every node after those that it depends on, the deepest first.

    Of several arguments the one with the longest way to a leaf comes first, and
    among equals the first: so little has to be kept at the same time.

    Parameters
    ----------
    lz : node or nest of nodes

    Yields
    ------
    Node

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.graph import ascend
    >>> x = computed(2)
    >>> [type(node).__name__ for node in ascend((x + 1) * x)]
    ['computed', 'lazy', 'lazy']
    """
    roots = find_nodes(lz)
    known: dict[int, int] = {}

    def depth(node: Node) -> int:
        # Arrays know it; a walk tells that of others.
        found = 0 if node._function is None else getattr(node, "_depth", None)
        if found is None:
            if not known:
                known.update(depths(roots))
            found = known[id(node)]
        return found

    done: set[int] = set()
    stack = sorted(roots, key=depth, reverse=True)[::-1]
    while stack:
        node = stack[-1]
        missing = [dep for dep in node._deps if id(dep) not in done]
        if missing and id(node) not in done:
            stack += sorted(missing, key=depth, reverse=True)[::-1] if len(missing) > 1 else missing
            continue
        stack.pop()
        if id(node) not in done:
            done.add(id(node))
            yield node
