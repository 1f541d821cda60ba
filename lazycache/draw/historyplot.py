"""What a computation takes, step by step: plots of sizes, and of any number that a node has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lazycache.draw.canvas import count_along, explain, hide_frame, open_axes
from lazycache.draw.colours import BORDER, CATEGORIES, OTHER, SCALE, Paint, by_function, named_colours
from lazycache.draw.labels import short_names
from lazycache.draw.measuring import Measure, Measured, measure, measure_footprint
from lazycache.draw.optional import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["scatter", "lines", "image"]

_MOST_BARS = 20
_MOST_ROWS = 30
_MOST_COLUMNS = 330
_PEAK = "#d55e00"


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
    footprint, note = measure_footprint(x, include_inputs, in_bytes)
    fig, ax = open_axes(ax, figsize)
    # As floats: of tensor networks there are sizes that no integer of numpy holds.
    heights = np.array(footprint, dtype=float)
    steps = np.arange(len(footprint))
    ax.fill_between(steps, heights, step="post", color=color, alpha=0.35, linewidth=0)
    ax.step(steps, heights, where="post", color=color, linewidth=1.2)
    unit = "bytes" if in_bytes else "elements"
    _mark_peak(ax, footprint, unit)
    ax.margins(x=0.01, y=0.18)
    _finish(ax, "arrays made and let go", f"{unit} held", log, heights)
    if not log:
        ax.set_ylim(bottom=0)
    explain(ax, note, None)
    return fig, ax


def _mark_peak(ax: Axes, footprint: list[int], unit: str) -> None:
    peak = max(footprint)
    if not peak:
        return
    at = footprint.index(peak)
    first_half = at < len(footprint) / 2
    ax.plot([at], [float(peak)], "o", color=_PEAK, markersize=5, zorder=3)
    ax.annotate(
        f"peak {peak:,} {unit}" if peak < 10**15 else f"peak {peak:.3g} {unit}",
        (at, float(peak)),
        xytext=(6 if first_half else -6, 6),
        textcoords="offset points",
        ha="left" if first_half else "right",
        fontsize=8,
    )


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
    measured = measure(x, "sizeout" if fn is None else fn)
    if kind == "image":
        rows = min(len(set(measured.names)), _MOST_ROWS)
        fig, ax = open_axes(ax, figsize or (8.0, min(1.0 + max(0.22 * rows, 0.6), 7.0)))
        _draw_image(ax, measured, log)
        explain(ax, measured.note, None)
        return fig, ax
    fig, ax = open_axes(ax, figsize or (8.0, 3.0))
    painted = by_function(measured.names, named_colours(colors))
    _draw_marks(ax, measured.values, painted, kind, log)
    _finish(ax, "step", measured.label, log, measured.values)
    explain(ax, measured.note, painted if legend else None)
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
    measured = measure(x, fn)
    bars = _sum_up(measured, by_function(measured.names, named_colours(colors)))
    labels, heights, fills = zip(*bars, strict=True)
    fig, ax = open_axes(ax, figsize or (5.0, 0.7 + 0.26 * len(bars)))
    drawn = ax.barh(range(len(bars)), heights, color=fills, edgecolor=BORDER, linewidth=0.6)
    ax.bar_label(drawn, [f"{height:,.6g}" for height in heights], padding=3, fontsize=8)
    ax.set_yticks(range(len(bars)), labels, parse_math=False)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.margins(x=0.15)
    ax.set_xlabel(measured.label)
    if log:
        ax.set_xscale("log", base=_base(log))
    elif _are_whole(np.array(heights)):
        count_along(ax.xaxis, 5)
    hide_frame(ax)
    explain(ax, measured.note, None)
    return fig, ax


def _sum_up(measured: Measured, painted: Paint) -> list[tuple[str, float, str]]:
    """Return label, sum and colour for each function, the largest first; one for the rest where they are many."""
    colour = dict(zip(measured.names, painted.fills, strict=True))
    sums: dict[str, float] = dict.fromkeys(measured.names, 0.0)
    for name, value in zip(measured.names, np.nan_to_num(measured.values).tolist(), strict=True):
        sums[name] += value
    short = short_names(list(sums))
    order = sorted(sums, key=sums.__getitem__, reverse=True)
    bars = [(short[name], sums[name], colour[name]) for name in order[:_MOST_BARS]]
    if rest := order[_MOST_BARS:]:
        bars.append((f"{len(rest)} others", sum(sums[name] for name in rest), OTHER))
    return bars


def _base(log: float | bool) -> float:
    return 10.0 if log is True else float(log)


def _floor(values: np.ndarray) -> float:
    positive = values[values > 0]
    return float(positive.min()) / 2 if positive.size else 0.5


def _are_whole(values: np.ndarray) -> bool:
    return bool(np.all(np.isnan(values) | (values == np.round(values))))


def _finish(ax: Axes, xlabel: str, ylabel: str, log: float | bool | None, values: np.ndarray) -> None:
    ax.set_xlabel(xlabel)
    count_along(ax.xaxis)
    ax.set_ylabel(ylabel)
    if log:
        ax.set_yscale("log", base=_base(log), nonpositive="clip")
    elif _are_whole(values):
        count_along(ax.yaxis, 7)
    hide_frame(ax)


def _draw_marks(ax: Axes, values: np.ndarray, painted: Paint, kind: Kind, log: float | bool | None) -> None:
    count = len(values)
    steps = np.arange(count)
    # In points, so that neighbours can be told apart.
    pitch = min(max(420.0 / count, 1.2), 7.0)
    if kind == "lines":
        ax.vlines(steps, _floor(values) if log else 0, values, colors=painted.fills, linewidth=pitch)
    else:
        # A border would hide the colour of a small mark.
        look: dict[str, Any] = {"edgecolors": BORDER, "linewidths": 0.3} if pitch > 4 else {"linewidths": 0}
        ax.scatter(steps, values, c=painted.fills, s=max(pitch, 2.5) ** 2, marker="s", **look)
    ax.set_xlim(-0.012 * count - 0.5, 1.012 * count - 0.5)


def _draw_image(ax: Axes, measured: Measured, log: float | bool | None) -> None:
    """Draw a row for each function; where steps are many, a cell shows the largest of several."""
    names, values = measured.names, measured.values
    order = sorted(set(names), key=names.index)
    if len(order) > _MOST_ROWS:
        frequent = {name for name, _ in Counter(names).most_common(_MOST_ROWS - 1)}
        names = [name if name in frequent else "" for name in names]
        order = [*[name for name in order if name in frequent], ""]
    short = short_names(order)
    drawn = ax.imshow(
        _cells(names, values, order),
        cmap=need("matplotlib.colors").LinearSegmentedColormap.from_list("lazycache", SCALE),
        norm=_norm(values, log),
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, len(values) - 0.5, len(order) - 0.5, -0.5),
    )
    ax.figure.colorbar(drawn, ax=ax, pad=0.01).set_label(measured.label, fontsize=8)
    ax.set_yticks(range(len(order)), [short[name] or "others" for name in order], fontsize=8, parse_math=False)
    ax.set_facecolor("#ffffff")
    ax.set_xlabel("step")
    count_along(ax.xaxis)


def _cells(names: list[str], values: np.ndarray, order: list[str]) -> np.ma.MaskedArray[Any, Any]:
    columns = min(len(values), _MOST_COLUMNS)
    cells = np.full((len(order), columns), -math.inf)
    row = {name: position for position, name in enumerate(order)}
    places = np.arange(len(values)) * columns // len(values)
    known = ~np.isnan(values)
    np.maximum.at(cells, (np.array([row[name] for name in names])[known], places[known]), values[known])
    return np.ma.masked_where(np.isneginf(cells), cells)


def _norm(values: np.ndarray, log: float | bool | None) -> Any:
    """Return how numbers become colours."""
    colors = need("matplotlib.colors")
    wanted = values[values > 0] if log else values[~np.isnan(values)]
    if not wanted.size:
        return colors.Normalize(0, 1)
    low, high = float(wanted.min()), float(wanted.max())
    return colors.LogNorm(low, max(high, low * 1.01), clip=True) if log else colors.Normalize(low, high)
