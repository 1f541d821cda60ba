"""Pickling a graph as a flat program, so that no depth of it recurses.

A node is reduced to the list of the nodes below it, inner ones first. A step
of that program is the class of a node, its state, and the links: at which
positions of the state a node belongs, and which one.
"""

from __future__ import annotations

from typing import Any

from lazycache.expressions.nests import NATIVES, find_nodes, is_nest, substitute, transform
from lazycache.expressions.nodes import Node, inner_first

Step = tuple[type[Node], tuple[Any, ...], tuple[int, ...], tuple[int, ...]]


class Place(int):
    """Which step of the program a node inside a nest is."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, (int(self),)


def reduce_node(root: Node) -> tuple[Any, ...]:
    """Return what ``__reduce__`` of a node returns."""
    places: dict[int, int] = {}
    program = []
    for node in inner_first([root]):
        program.append(_step(node, places))
        places[id(node)] = len(places)
    return restore, (tuple(program),)


def _step(node: Node, places: dict[int, int]) -> Step:
    state = node._state()
    if not node._deps:
        return type(node), state, (), ()
    flat = list(state)
    links: tuple[int, ...] = ()
    nests: tuple[int, ...] = ()
    for position, member in enumerate(state):
        if type(member) in NATIVES:
            continue
        place = places.get(id(member))
        if place is not None:
            flat[position] = None
            links += (position, place)
        elif is_nest(member) and (inner := find_nodes(member)):
            flat[position] = substitute(member, {id(node): Place(places[id(node)]) for node in inner})
            nests += (position,)
    return type(node), tuple(flat), links, nests


def restore(program: tuple[Step, ...]) -> Node:
    """Build the nodes of a program and return the last."""
    nodes: list[Node] = []

    def at_place(member: Any) -> Any:
        return nodes[member] if type(member) is Place else member

    for kind, state, links, nests in program:
        if links or nests:
            flat = list(state)
            for link in range(0, len(links), 2):
                flat[links[link]] = nodes[links[link + 1]]
            for position in nests:
                flat[position] = transform(flat[position], at_place)
            nodes.append(kind._from_state(*flat))
        else:
            nodes.append(kind._from_state(*state))
    return nodes[-1]
