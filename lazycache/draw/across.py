"""Where the vertices of each row stand from left to right."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from lazycache.draw.layering import Layers

_ONE_SIDED, _BOTH_SIDED, _STRAIGHTENING = 8, 6, 4
_FEW_ROWS = 60
"""In deeper graphs small pulls to one side would add up, row by row, to a slant."""
_STIFF = 8.0
"""How much more a bend wants to be in line with a bend than a node with its neighbours."""


def across(layers: Layers, pitches: Sequence[float], nodes: int) -> list[float]:
    """Return the x of every vertex: near its neighbours, in the order of its row, and apart from the next.

    Parameters
    ----------
    layers : Layers
    pitches : sequence of float
        How much room each vertex needs.
    nodes : int
        How many vertices are nodes; the rest are bends.
    """
    x = _centred(layers, pitches)
    up, down = layers.rows[::-1], layers.rows
    both = [[*above, *below] for above, below in zip(layers.above, layers.below, strict=True)]
    if len(layers.rows) <= _FEW_ROWS:
        for sweep in range(_ONE_SIDED):
            rows, near = (down, layers.above) if sweep % 2 == 0 else (up, layers.below)
            one = [others or both[vertex] for vertex, others in enumerate(near)]
            _sweep(rows, one, x, pitches, nodes)
    for sweep in range(_BOTH_SIDED):
        _sweep(down if sweep % 2 == 0 else up, both, x, pitches, nodes)
    straight = [
        above if vertex >= nodes and above[0] >= nodes else both[vertex] for vertex, above in enumerate(layers.above)
    ]
    for _ in range(_STRAIGHTENING):
        _sweep(down, straight, x, pitches, nodes)
    return x


def _centred(layers: Layers, pitches: Sequence[float]) -> list[float]:
    x = [0.0] * len(pitches)
    for row in layers.rows:
        position = -sum([pitches[vertex] for vertex in row]) / 2
        for vertex in row:
            x[vertex] = position + pitches[vertex] / 2
            position += pitches[vertex]
    return x


def _sweep(
    rows: list[list[int]], near: Sequence[Sequence[int]], x: list[float], pitches: Sequence[float], nodes: int
) -> None:
    """Move the vertices of each row to the mean of their neighbours, as far as there is room."""
    for row in rows:
        wishes, weights = [], []
        for vertex in row:
            pulls = [_STIFF if vertex >= nodes and other >= nodes else 1.0 for other in near[vertex]]
            total = sum(pulls)
            pull = sum([weight * x[other] for weight, other in zip(pulls, near[vertex], strict=True)])
            wishes.append(pull / total if total else x[vertex])
            weights.append(total or 0.1)
        for vertex, found in zip(row, spread(wishes, weights, [pitches[v] for v in row]), strict=True):
            x[vertex] = found


def spread(wishes: Sequence[float], weights: Sequence[float], pitches: Sequence[float]) -> list[float]:
    """Return the places closest to `wishes`, by weighted squares, that keep the order and the distances.

    With the distances subtracted, places must not decrease: the best ones are
    found by merging neighbours that are in each other's way.

    Examples
    --------
    >>> spread([0.0, 1.0, 50.0], [1.0, 1.0, 1.0], [10.0, 10.0, 10.0])
    [-4.5, 5.5, 50.0]
    """
    offsets = [0.0]
    for left, right in itertools.pairwise(pitches):
        offsets.append(offsets[-1] + (left + right) / 2)
    blocks: list[tuple[float, float, int]] = []
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        mean, total, count = wish - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, heavy, many = blocks.pop()
            mean = (before * heavy + mean * total) / (heavy + total)
            total, count = total + heavy, count + many
        blocks.append((mean, total, count))
    places = [mean for mean, _, count in blocks for _ in range(count)]
    return [found + offset for found, offset in zip(places, offsets, strict=True)]
