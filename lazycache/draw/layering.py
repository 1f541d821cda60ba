"""Layers of a graph: who stands in which row, and in which order.

Edges that span several rows run through *bends*: a node has at most one bend
in a row, which the edges to all its users share, so that their number stays
small however many users there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_SWEEPS = 8
_MOST_BENDS = 12
"""Bends per node on average, beyond which the longest edges go straight."""


class Layers(NamedTuple):
    """Rows of vertices; the first ones are the nodes, then come the bends.

    Attributes
    ----------
    rows : list of list of int
        Vertices of each row, from left to right.
    row : list of int
        The row of each vertex.
    above, below : list of list of int
        The neighbours of each vertex in the row before and after.
    bends : list of list of int
        The bends of each node, row by row.
    """

    rows: list[list[int]]
    row: list[int]
    above: list[list[int]]
    below: list[list[int]]
    bends: list[list[int]]


def arrange(deps: Sequence[Sequence[int]]) -> Layers:
    """Return the rows of a graph, with few crossings.

    Parameters
    ----------
    deps : sequence of sequence of int
        For each node those that it depends on, which come before it.

    Examples
    --------
    >>> arrange([[], [0], [0, 1]]).rows
    [[0], [3, 1], [2]]
    """
    layers = _with_bends(deps, _rows_of(deps))
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        _reorder(layers.rows if downwards else layers.rows[::-1], layers.above if downwards else layers.below)
    return layers


def _rows_of(deps: Sequence[Sequence[int]]) -> list[int]:
    """Return the row of each node: calls below what they need, inputs next to their first user."""
    row: list[int] = []
    for below in deps:
        row.append(1 + max([row[dep] for dep in below], default=-1))
    first = [len(deps)] * len(deps)
    for user, below in enumerate(deps):
        for dep in below:
            first[dep] = min(first[dep], row[user])
    return [first[node] - 1 if not deps[node] and first[node] < len(deps) else place for node, place in enumerate(row)]


def _with_bends(deps: Sequence[Sequence[int]], row: list[int]) -> Layers:
    last = list(row)
    for user, below in enumerate(deps):
        for dep in below:
            last[dep] = max(last[dep], row[user])
    count = max(row) + 1
    layers = Layers([[] for _ in range(count)], row, [[] for _ in deps], [[] for _ in deps], [[] for _ in deps])
    budget = _MOST_BENDS * len(deps) + 200
    bent = set()
    for node in sorted(range(len(deps)), key=lambda node: last[node] - row[node]):
        budget -= max(last[node] - row[node] - 1, 0)
        if budget < 0:
            break
        bent.add(node)
    for node in range(len(deps)):
        layers.rows[row[node]].append(node)
        if node in bent:
            _bend(layers, node, last[node])
    for user, below in enumerate(deps):
        for dep in below:
            steps = row[user] - row[dep]
            if steps == 1 or dep in bent:
                _join(layers, dep if steps == 1 else layers.bends[dep][steps - 2], user)
    return layers


def _bend(layers: Layers, node: int, last: int) -> None:
    before = node
    for place in range(layers.row[node] + 1, last):
        bend = len(layers.row)
        layers.row.append(place)
        layers.above.append([])
        layers.below.append([])
        layers.rows[place].append(bend)
        layers.bends[node].append(bend)
        _join(layers, before, bend)
        before = bend


def _join(layers: Layers, upper: int, lower: int) -> None:
    layers.below[upper].append(lower)
    layers.above[lower].append(upper)


def _reorder(rows: list[list[int]], neighbours: list[list[int]]) -> None:
    """Sort each row by where its neighbours in the row before stand on average."""
    place = {vertex: float(position) for position, vertex in enumerate(rows[0])}
    for row in rows[1:]:
        stand = {vertex: float(position) for position, vertex in enumerate(row)}
        for vertex in row:
            if near := neighbours[vertex]:
                stand[vertex] = sum([place[other] for other in near]) / len(near)
        row.sort(key=stand.__getitem__)
        place = {vertex: float(position) for position, vertex in enumerate(row)}
