"""Pickling a graph as a flat program, so that no depth of it recurses.

A node is reduced to the list of the nodes below it, inner ones first, in which
a node stands as its position. `weakref`s, threads and digests play no part.
"""

from __future__ import annotations

from typing import Any

from lazycache.nests import substitute, transform
from lazycache.nodes import Node


class Place(int):
    """Where in the program a node is."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, (int(self),)


def reduce(root: Node) -> tuple[Any, ...]:
    """Return what ``__reduce__`` of a node returns."""
    places: dict[int, Place] = {}
    program = []
    for node in _inner_first(root):
        places[id(node)] = Place(len(program))
        state = node._state()
        program.append((type(node), substitute(state, places) if node._deps else state, bool(node._deps)))
    return restore, (tuple(program),)


def restore(program: tuple[tuple[type[Node], tuple[Any, ...], bool], ...]) -> Node:
    """Build the nodes of a program and return the last."""
    nodes: list[Node] = []

    def at_place(member: Any) -> Any:
        return nodes[member] if type(member) is Place else member

    for kind, state, is_call in program:
        nodes.append(kind._from_state(*(transform(state, at_place) if is_call else state)))
    return nodes[-1]


def _inner_first(root: Node) -> list[Node]:
    order: list[Node] = []
    done: set[int] = set()
    stack = [root]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        missing = [dep for dep in node._deps if id(dep) not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        done.add(id(node))
        order.append(node)
        stack.pop()
    return order
