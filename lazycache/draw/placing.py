"""Where the nodes of a picture stand.

Rows are stacked from the inputs down to the results. What would be a long
ribbon is folded into columns, in which the flow goes down and up by turns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from lazycache.draw.across import across
from lazycache.draw.layering import Layers, arrange

_RIBBON = 2.2
_QUIET = 4
_BEND = 6.0
_LOWEST = 0.35
_SLOPE = 0.15
_WIDEST = 6.0


class Spacing(NamedTuple):
    """The distances in a picture, in points.

    Attributes
    ----------
    across : float
        Between two nodes in a row.
    down : float
        Between two rows.
    """

    across: float
    down: float


class Placement(NamedTuple):
    """Where everything stands; y grows downwards.

    Attributes
    ----------
    x, y : list of float
        The centre of each vertex: nodes first, then bends.
    height : list of float
        Of each vertex; of a bend the height of its row.
    flow : list of int
        1 where edges go down, -1 in columns in which they go up.
    column : list of int
    layers : Layers
    """

    x: list[float]
    y: list[float]
    height: list[float]
    flow: list[int]
    column: list[int]
    layers: Layers


def place(
    deps: Sequence[Sequence[int]], widths: Sequence[float], height: float, spacing: Spacing, longest: float
) -> Placement:
    """Return where to draw the nodes of a graph.

    Parameters
    ----------
    deps : sequence of sequence of int
        For each node those that it depends on, which come before it.
    widths : sequence of float
    height : float
        Of every node.
    spacing : Spacing
    longest : float
        How many times as high as wide the picture may be where folding it
        would lead many lines around a turn.
    """
    layers = arrange(deps)
    count = len(layers.row)
    width = [*widths, *[_BEND] * (count - len(widths))]
    pitches, floors = _pitches(layers, width, height, spacing)
    step = height + spacing.down * _LOWEST
    x = across(layers, pitches, len(deps))
    rows: list[tuple[float, float]] = []
    for row, levels in zip(layers.rows, floors, strict=True):
        top = rows[-1][1] + _gap(layers, row, x, spacing.down) if rows else 0.0
        rows.append((top, top + height + (levels - 1) * step))
    y, tall = [0.0] * count, [height] * count
    for (top, bottom), row, levels in zip(rows, layers.rows, floors, strict=True):
        for position, vertex in enumerate(row):
            if vertex < len(deps):
                y[vertex] = top + height / 2 + position % levels * step
            else:
                y[vertex], tall[vertex] = (top + bottom) / 2, bottom - top
    placement = Placement(x, y, tall, [1] * count, [0] * count, layers)
    _fold(placement, width, rows, 2 * spacing.down, longest)
    return placement


def _pitches(layers: Layers, width: list[float], height: float, spacing: Spacing) -> tuple[list[float], list[int]]:
    """Return the room of each vertex, and on how many levels the nodes of each row stand.

    A row that would be far wider than the picture is high is staggered.
    """
    pitches = [part + spacing.across for part in width]
    lengths = [sum([pitches[vertex] for vertex in row]) for row in layers.rows]
    widest = max(2.0 * math.sqrt(sum(lengths) * (height + spacing.down)), 600.0)
    floors = [max(1, round(length / widest)) for length in lengths]
    for row, levels in zip(layers.rows, floors, strict=True):
        if levels > 1:
            room = max([pitches[vertex] for vertex in row]) / levels
            for vertex in row:
                pitches[vertex] = room
    return pitches, floors


def _gap(layers: Layers, row: list[int], x: list[float], down: float) -> float:
    """Return the distance of a row from the one above: more where lines lead far to the side, lest they lie flat."""
    aside = sorted([abs(x[vertex] - x[other]) for vertex in row for other in layers.above[vertex]])
    usual = aside[len(aside) // 2] if aside else 0.0
    return min(max(down, _SLOPE * usual), _WIDEST * down)


def _fold(
    placement: Placement, width: list[float], rows: list[tuple[float, float]], gap: float, longest: float
) -> None:
    """Fold a long ribbon into columns."""
    x, y, layers = placement.x, placement.y, placement.layers
    lefts = [x[vertex] - width[vertex] / 2 for vertex in range(len(x))]
    rights = [x[vertex] + width[vertex] / 2 for vertex in range(len(x))]
    starts = _column_starts(layers, rows[-1][1], max(rights) - min(lefts), gap, longest)
    edge = tallest = 0.0
    for number, (first, after) in enumerate(zip(starts, [*starts[1:], len(rows)], strict=True)):
        inside = [vertex for row in layers.rows[first:after] for vertex in row]
        shift = edge - min([lefts[vertex] for vertex in inside])
        top, bottom = rows[first][0], rows[after - 1][1]
        tallest = max(tallest, bottom - top)
        for vertex in inside:
            x[vertex] += shift
            # A column that goes up begins at the bottom, where the one before it ended.
            y[vertex] = y[vertex] - top if number % 2 == 0 else tallest - (y[vertex] - top)
            placement.flow[vertex], placement.column[vertex] = 1 - 2 * (number % 2), number
        edge = max([rights[vertex] for vertex in inside]) + shift + gap


def _column_starts(layers: Layers, total: float, width: float, gap: float, longest: float) -> list[int]:
    """Return the first row of each column: one column, unless that would be a ribbon with places to fold it."""
    if total < max(_RIBBON * width, 900.0):
        return [0]
    crossing = [sum([len(layers.below[vertex]) for vertex in row]) for row in layers.rows]
    count = len(crossing)
    columns = min(max(1, round(math.sqrt(0.75 * total / (width + gap)))), count)
    each = count / columns
    starts = [0]
    for number in range(1, columns):
        near = range(max(starts[-1] + 1, round(each * (number - 0.15))), min(count, round(each * (number + 0.15)) + 1))
        if near:
            starts.append(min((crossing[row - 1], abs(row - each * number), row) for row in near)[2])
    busiest = max([crossing[start - 1] for start in starts[1:]], default=0)
    # Many lines around a turn are worse than having to scroll.
    return starts if busiest <= _QUIET or total > longest * width else [0]
