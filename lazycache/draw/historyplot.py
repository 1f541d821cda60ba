"""What a computation takes, step by step: plots of sizes, and of any number that a node has."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lazycache.draw.canvas import draw_legend, hide_frame, open_axes
from lazycache.draw.colours import BORDER, CATEGORIES, OTHER, SCALE, by_function
from lazycache.draw.labels import function_of, short_names
from lazycache.draw.optional import need
from lazycache.draw.selecting import roots_of
from lazycache.graph import ascend
from lazycache.nodes import Node

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Measure = Callable[[Any], float] | Literal["count", "sizein", "sizeout", "bytesin", "bytesout"]
Kind = Literal["scatter", "lines", "image"]

_MOST_BARS = 20
_MOST_COLUMNS = 500
_LABELS = {
    "count": "calls",
    "sizein": "elements read",
    "sizeout": "elements made",
    "bytesin": "bytes read",
    "bytesout": "bytes made",
}


def plot_history_size_footprint(
    x: Any,
    log: float | bool | None = None,
    include_inputs: bool = True,
    *,
    in_bytes: bool = False,
    color: str = CATEGORIES[0],
    figsize: tuple[float, float] = (8.0, 2.4),
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot the combined size of what is held at each step of the computation.

    Sizes are those of lazy arrays; see `LazyArray.history_size_footprint`.

    Parameters
    ----------
    x : node or nest of nodes
    log : float, optional
        The base of a logarithmic axis; True is 10.
    include_inputs : bool
        Count the inputs too: all are there at the beginning, and each is let go after its last use.
    in_bytes : bool
        Bytes instead of elements.
    color : colour
    figsize : tuple of float
        Of a new figure, in inches.
    ax : matplotlib Axes, optional

    Returns
    -------
    fig, ax

    Examples
    --------
    >>> import lazycache.array as lz
    >>> from lazycache.draw import plot_history_size_footprint
    >>> a = lz.Variable((30, 20))
    >>> fig, ax = plot_history_size_footprint((a @ a.T).sum(), log=2)
    """
    footprint = _graph_type()(_nodes(x)).history_size_footprint(include_inputs, in_bytes)
    fig, ax = open_axes(ax, figsize)
    steps = np.arange(len(footprint))
    ax.fill_between(steps, footprint, step="post", color=color, alpha=0.35, linewidth=0)
    ax.step(steps, footprint, where="post", color=color, linewidth=1.2)
    peak = max(footprint)
    at = footprint.index(peak)
    unit = "bytes" if in_bytes else "elements"
    ax.plot([at], [peak], "o", color="#d55e00", markersize=5, zorder=3)
    ax.annotate(
        f"peak {peak:,} {unit}",
        (at, peak),
        xytext=(6 if at < len(footprint) / 2 else -6, 6),
        textcoords="offset points",
        ha="left" if at < len(footprint) / 2 else "right",
        fontsize=8,
    )
    ax.margins(x=0.01, y=0.18)
    _finish(ax, "arrays made and let go", f"{unit} held", log)
    if not log:
        ax.set_ylim(bottom=0)
    return fig, ax


def plot_history_functions(
    x: Any,
    fn: Measure | None = None,
    log: float | bool | None = None,
    *,
    kind: Kind = "scatter",
    image: bool = False,
    colors: Mapping[str, str] | None = None,
    legend: bool = True,
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot a number for each step of the computation, by function.

    Parameters
    ----------
    x : node or nest of nodes
    fn : callable or str, optional
        A function of a node, or one of the names that `LazyArray.history_stats`
        knows; by default the elements of its array.
    log : float, optional
        The base of a logarithmic axis, or colour scale; True is 10.
    kind : {"scatter", "lines", "image"}
        Points, upright lines, or a row of colours for each function.
    image : bool
        The same as ``kind="image"``.
    colors : mapping, optional
        Colours of functions, by the names that the legend shows.
    legend : bool
    figsize : tuple of float, optional
        Of a new figure, in inches.
    ax : matplotlib Axes, optional

    Returns
    -------
    fig, ax

    Examples
    --------
    >>> import lazycache.array as lz
    >>> from lazycache.draw import plot_history_functions
    >>> a = lz.Variable((30, 20))
    >>> fig, ax = plot_history_functions((a @ a.T).sum(), kind="lines", log=10)
    """
    kind = "image" if image else kind
    if kind not in ("scatter", "lines", "image"):
        raise ValueError(f"kind is {kind!r}, expected 'scatter', 'lines' or 'image'")
    measure: Measure = "sizeout" if fn is None else fn
    label = _label(measure)
    nodes = _nodes(x)
    names = [function_of(node) for node in nodes]
    values = np.array([_value(node, measure) for node in nodes], dtype=float)
    if kind == "image":
        rows = len(set(names))
        fig, ax = open_axes(ax, figsize or (8.0, min(0.9 + 0.22 * min(rows, 31), 7.0)))
        _draw_image(ax, names, values, label, log)
        return fig, ax
    fig, ax = open_axes(ax, figsize or (8.0, 3.0))
    painted = by_function(names, {} if colors is None else colors)
    steps = np.arange(len(nodes))
    if kind == "lines":
        ax.vlines(steps, 0 if not log else _floor(values), values, colors=painted.fills, linewidth=_pitch(len(nodes)))
    else:
        ax.scatter(
            steps, values, c=painted.fills, s=_pitch(len(nodes)) ** 2, marker="s", edgecolors=BORDER, linewidths=0.3
        )
    ax.margins(x=0.01)
    _finish(ax, "step", label, log)
    if legend:
        draw_legend(ax, painted, "right")
    return fig, ax


def plot_history_stats(
    x: Any,
    fn: Measure = "count",
    *,
    colors: Mapping[str, str] | None = None,
    log: float | bool | None = None,
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Plot a sum over the nodes of each function as bars, the largest first.

    Parameters
    ----------
    x : node or nest of nodes
    fn : callable or str
        What is summed: a function of a node, or ``"count"``, ``"sizein"``,
        ``"sizeout"``, ``"bytesin"``, ``"bytesout"``.
    colors : mapping, optional
        Colours of functions, by the names that are shown.
    log : float, optional
        The base of a logarithmic axis; True is 10.
    figsize : tuple of float, optional
        Of a new figure, in inches.
    ax : matplotlib Axes, optional

    Returns
    -------
    fig, ax

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.draw import plot_history_stats
    >>> x = computed(3)
    >>> fig, ax = plot_history_stats((x + 1) * (x + 2))
    """
    label = _label(fn)
    nodes = _nodes(x)
    names = [function_of(node) for node in nodes]
    painted = by_function(names, {} if colors is None else colors)
    colour = dict(zip(names, painted.fills, strict=True))
    sums: dict[str, float] = {}
    for name, node in zip(names, nodes, strict=True):
        sums[name] = sums.get(name, 0) + _value(node, fn)
    bars = sorted(sums, key=sums.__getitem__, reverse=True)
    shown, rest = bars[:_MOST_BARS], bars[_MOST_BARS:]
    short = short_names(bars)
    labels = [short[name] for name in shown]
    heights = [sums[name] for name in shown]
    fills = [colour[name] for name in shown]
    if rest:
        labels.append(f"{len(rest)} others")
        heights.append(sum(sums[name] for name in rest))
        fills.append(OTHER)
    fig, ax = open_axes(ax, figsize or (5.0, 0.7 + 0.26 * len(labels)))
    drawn = ax.barh(range(len(labels)), heights, color=fills, edgecolor=BORDER, linewidth=0.6)
    ax.bar_label(drawn, [f"{height:,.6g}" for height in heights], padding=3, fontsize=8)
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set_xlabel(label)
    if log:
        ax.set_xscale("log", base=_base(log))
    hide_frame(ax)
    return fig, ax


def _nodes(x: Any) -> list[Node]:
    return list(ascend(roots_of(x)))


@functools.cache
def _graph_type() -> Any:
    """Return the class that knows the sizes of a whole graph, of arrays and other nodes."""
    # Imported late: pictures of ordinary expressions do without the arrays.
    from lazycache.array.history import History

    class Graph(History):
        __slots__ = ("nodes",)

        def __init__(self, nodes: list[Node]) -> None:
            self.nodes = nodes

        def _history(self) -> list[Node]:
            return self.nodes

    return Graph


def _value(node: Node, fn: Measure) -> float:
    if callable(fn):
        return float(fn(node))
    (value,) = _graph_type()([node]).history_stats(fn).values()
    return float(value)


def _label(fn: Measure) -> str:
    if isinstance(fn, str):
        if fn not in _LABELS:
            raise ValueError(f"fn is {fn!r}, expected a function or one of {', '.join(map(repr, _LABELS))}")
        return _LABELS[fn]
    name = str(getattr(fn, "__name__", "value"))
    return name if name.isidentifier() else "value"


def _base(log: float | bool) -> float:
    return 10.0 if log is True else float(log)


def _floor(values: np.ndarray) -> float:
    positive = values[values > 0]
    return float(positive.min()) / 2 if positive.size else 0.5


def _pitch(count: int) -> float:
    """Return how wide a mark is, in points, so that neighbours can be told apart."""
    return min(max(420.0 / count, 1.2), 7.0)


def _finish(ax: Axes, xlabel: str, ylabel: str, log: float | bool | None) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if log:
        ax.set_yscale("log", base=_base(log), nonpositive="clip")
    hide_frame(ax)


def _draw_image(ax: Axes, names: list[str], values: np.ndarray, label: str, log: float | bool | None) -> None:
    """Draw a row for each function; where steps are many, a cell shows the largest of several."""
    order = sorted(set(names), key=names.index)
    if len(order) > _MOST_BARS + 10:
        frequent = {name for name, _ in Counter(names).most_common(_MOST_BARS + 9)}
        names = [name if name in frequent else "" for name in names]
        order = [*[name for name in order if name in frequent], ""]
    short = short_names(order)
    columns = min(len(values), _MOST_COLUMNS)
    cells = np.full((len(order), columns), -math.inf)
    row = {name: position for position, name in enumerate(order)}
    places = np.arange(len(values)) * columns // len(values)
    np.maximum.at(cells, (np.array([row[name] for name in names]), places), values)
    matplotlib = need("matplotlib.colors")
    shades = matplotlib.LinearSegmentedColormap.from_list("lazycache", SCALE).with_extremes(bad="#ffffff")
    positive = values[values > 0]
    norm = None
    if log and positive.size:
        norm = matplotlib.LogNorm(positive.min(), max(positive.max(), positive.min() * 1.01), clip=True)
    drawn = ax.imshow(
        np.ma.masked_where(np.isneginf(cells), cells),
        cmap=shades,
        norm=norm,
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, len(values) - 0.5, len(order) - 0.5, -0.5),
    )
    ax.figure.colorbar(drawn, ax=ax, pad=0.01).set_label(label)
    ax.set_yticks(range(len(order)), [short[name] or "others" for name in order], fontsize=8, parse_math=False)
    ax.set_facecolor("#ffffff")
    ax.set_xlabel("step")
