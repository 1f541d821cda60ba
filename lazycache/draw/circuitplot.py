"""An expression as a circuit: which values are held, step by step."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from lazycache.draw.canvas import count_along, explain, hide_frame, legend_width, open_axes, room_of
from lazycache.draw.colours import BORDER, LINE, ColorBy, Look, Paint, elements, paint
from lazycache.draw.labels import box_text, is_input
from lazycache.draw.optional import need
from lazycache.draw.selecting import MOST_NODES, Selection, select

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMED = 60
_NAME = 8.0
_SMALLEST = 2.2
"""The least side of a gate, in points."""


class Wire(NamedTuple):
    """A value that is held: in which lane, from 1 on, from the step that makes it to its last use."""

    lane: int
    start: int
    end: int


def plot_circuit(
    x: Any,
    color_by: ColorBy = "function",
    *,
    variables: Any = None,
    cache: Any = None,
    colors: Mapping[str, str] | None = None,
    max_nodes: int | None = MOST_NODES,
    legend: bool = True,
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot an expression as a circuit.

    The steps of the evaluation go from left to right. Each value is a wire
    from the step that makes it to its last use, the thicker the larger it is;
    a call is a box on the wire of its result, with a line to each wire that it
    reads. So the lowest wire at a step tells how many values are held at most.

    Parameters
    ----------
    x : node or nest of nodes
    color_by, variables, cache, colors, max_nodes, legend, figsize, ax
        As for `plot_graph`.

    Returns
    -------
    fig, ax

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.draw import plot_circuit
    >>> x = computed(3)
    >>> fig, ax = plot_circuit((x + 1) * x)
    """
    selection = select(x, max_nodes)
    painted = paint(selection, Look(color_by, variables, cache, colors))
    wires = find_wires(selection)
    steps, lanes = len(wires), max(wire.lane for wire in wires)
    wide = min(max(2.5, 0.3 * steps + 1), 12.0) + (legend_width(painted) if legend else 0.0)
    size = (wide, min(0.28 * lanes + (2.0 if steps <= _MOST_NAMED else 1.2), 10.0))
    fig, ax = open_axes(ax, figsize or size)
    ax.set_xlim(-0.7, steps + 0.2)
    ax.set_ylim(lanes + 0.6, 0.4)
    hide_frame(ax)
    ax.set_ylabel("values held")
    count_along(ax.yaxis, 6)
    if steps <= _MOST_NAMED and room_of(ax)[0] > _NAME * steps:
        names = [box_text(node, 18) for node in selection.nodes]
        ax.set_xticks(range(steps), names, rotation=90, fontsize=7, parse_math=False)
    else:
        ax.set_xlabel("step")
    explain(ax, selection.note, painted if legend else None)
    fig.draw_without_rendering()
    _draw(ax, selection, wires, painted)
    return fig, ax


def find_wires(selection: Selection) -> list[Wire]:
    """Return the wire of each node; one that ends at a step makes way for the result of that step."""
    count = len(selection.nodes)
    end = list(range(count))
    for user, deps in enumerate(selection.deps):
        for dep in deps:
            end[dep] = user
    for root in selection.roots:
        end[root] = count
    free: list[int] = []
    opened = 0
    wires: list[Wire] = []
    for step, deps in enumerate(selection.deps):
        for dep in deps:
            if end[dep] == step:
                heapq.heappush(free, wires[dep].lane)
        lane = heapq.heappop(free) if free else opened + 1
        opened = max(opened, lane)
        wires.append(Wire(lane, step, end[step]))
    return wires


def _draw(ax: Axes, selection: Selection, wires: list[Wire], painted: Paint) -> None:
    width, height = room_of(ax)
    # In points: a step, a lane, and the side of a gate.
    pace, lane = width / (len(wires) + 1), height / max(wire.lane for wire in wires)
    gate = min(0.62 * min(pace, lane), 13.0)
    _draw_wires(ax, selection, wires, gate)
    thin = min(max(gate * 0.08, 0.15), 0.8)
    _draw_reads(ax, [(wires[dep].lane, wires[user].lane, user) for dep, user in selection.edges], gate, thin)
    # Where steps are many, gates are narrow, but never too small to be seen.
    wide = gate if gate >= 3 else max(pace, _SMALLEST)
    half = wide / 2 / pace, max(gate, min(5.0, 0.8 * lane), _SMALLEST) / 2 / lane
    gates = need("matplotlib.collections").PolyCollection(
        [_gate(wire, half, 0.75 if is_input(node) else 1.0) for wire, node in zip(wires, selection.nodes, strict=True)],
        facecolors=painted.fills,
        edgecolors=BORDER if gate > 3 else "none",
        linewidths=thin,
        snap=False,
        zorder=3,
        gid="nodes",
    )
    ax.add_collection(gates, autolim=False)


def _draw_wires(ax: Axes, selection: Selection, wires: list[Wire], gate: float) -> None:
    sizes = [elements(node) for node in selection.nodes]
    largest = math.log(max([size or 0 for size in sizes]) + 2)
    shares = [0.15 if size is None else 0.08 + 0.3 * math.log(size + 1) / largest for size in sizes]
    held = need("matplotlib.collections").LineCollection(
        [[(wire.start, wire.lane), (wire.end, wire.lane)] for wire in wires],
        colors=LINE,
        linewidths=[max(gate * share, 0.3) for share in shares],
        zorder=1,
        gid="wires",
    )
    ax.add_collection(held, autolim=False)


def _draw_reads(ax: Axes, reads: list[tuple[int, int, int]], gate: float, thin: float) -> None:
    """Draw a line from each lane that is read to that of the reader, with a joint at its start."""
    lines = need("matplotlib.collections").LineCollection(
        [((step, start), (step, end)) for start, end, step in reads],
        colors=BORDER,
        linewidths=thin,
        alpha=min(1.0, 0.3 + gate / 10),
        zorder=2,
        gid="edges",
    )
    ax.add_collection(lines, autolim=False)
    ends = [(step, start) for start, end, step in reads if start != end]
    if ends:
        xs, ys = zip(*ends, strict=True)
        ax.scatter(xs, ys, s=(0.28 * gate) ** 2, color=BORDER, linewidths=0, zorder=2, gid="joints")


def _gate(wire: Wire, half: tuple[float, float], share: float) -> list[tuple[float, float]]:
    x, y, wide, high = wire.start, wire.lane, half[0] * share, half[1] * share
    return [(x - wide, y - high), (x + wide, y - high), (x + wide, y + high), (x - wide, y + high)]
