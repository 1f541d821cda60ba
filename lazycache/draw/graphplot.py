"""The graph of an expression as a plot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lazycache.draw.canvas import POINTS, explain, open_axes, room_of, write
from lazycache.draw.colours import BORDER, LINE, ColorBy, Look, text_colour
from lazycache.draw.optional import need
from lazycache.draw.picture import RESULT_SIZE, TITLE_SIZE, Box, Picture, Style, compose, opacity
from lazycache.draw.routing import Route, arrow_head
from lazycache.draw.selecting import MOST_NODES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_BOXES = 120
_LONGEST: dict[Style, float] = {"boxes": 2.5, "dots": 2.5}
_LARGEST = (14.0, 12.0)
_MARGIN = 8.0
_SMALLEST_TEXT = 3.0


def plot_graph(
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
    """Plot the graph of an expression: inputs first, results, with a thick border, last.

    Small graphs have a box with text for each node, larger ones a dot for each
    call and a square for each input; those of results are larger.

    Parameters
    ----------
    x : node or nest of nodes
    color_by : {"function", "variable", "size", "seconds", "cached"}
        What the colours show: the function that is called; whether a node is a
        variable, depends on one or is constant; the elements of its array; how
        long it took when its result was stored; whether its result is stored,
        where one would be kept. The last two take keys, which hashes the inputs.
    variables : nest of nodes, optional
        For ``"variable"``: the inputs that change; by default every Variable.
    cache : Cache, optional
        For ``"seconds"`` and ``"cached"``; by default the default cache.
    colors : mapping, optional
        Colours of entries of the legend, by their names; as matplotlib takes them.
    max_nodes : int or None
        Larger graphs are shortened to what is next to the result, with a note.
    legend : bool
    figsize : tuple of float, optional
        Of a new figure, in inches.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure, which pyplot does not know of.

    Returns
    -------
    fig, ax

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.draw import plot_graph
    >>> x = computed(3)
    >>> fig, ax = plot_graph((x + 1) * x)
    >>> fig.savefig("graph.png")  # doctest: +SKIP
    """
    picture = compose(x, Look(color_by, variables, cache, colors), max_nodes, _MOST_BOXES, _LONGEST)
    columns = max(1, int(_width(picture) / 1.5))
    fig, ax = open_axes(ax, figsize or (_width(picture), _height(picture) + (_room(picture, columns) if legend else 0)))
    _frame(ax, picture)
    explain(ax, picture.selection.note, picture.paint if legend else None, "below", columns)
    fig.draw_without_rendering()
    _draw(ax, picture)
    return fig, ax


def _frame(ax: Axes, picture: Picture) -> None:
    ax.set_axis_off()
    ax.set_xlim(picture.low[0] - _MARGIN, picture.high[0] + _MARGIN)
    ax.set_ylim(picture.high[1] + _MARGIN, picture.low[1] - _MARGIN)
    ax.set_aspect("equal")


def _extent(picture: Picture) -> tuple[float, float]:
    """Return width and height of a picture with its margin, in points."""
    (left, top), (right, bottom) = picture.low, picture.high
    return right - left + 2 * _MARGIN, bottom - top + 2 * _MARGIN


def _shrunk(picture: Picture) -> tuple[float, float]:
    """Return how large a picture is drawn in a figure of its own, in inches."""
    width, height = _extent(picture)
    share = min(1.0 / POINTS, _LARGEST[0] / width, _LARGEST[1] / height)
    return width * share, height * share


def _width(picture: Picture) -> float:
    return max(_shrunk(picture)[0], 3.5)


def _height(picture: Picture) -> float:
    return _shrunk(picture)[1] + 0.2


def _room(picture: Picture, columns: int) -> float:
    """Return how many inches a legend below the picture takes."""
    return 0.2 * math.ceil(len(picture.paint.entries) / columns) + 0.6 * (picture.paint.scale is not None)


def _draw(ax: Axes, picture: Picture) -> None:
    width, height = _extent(picture)
    room = room_of(ax)
    # How many points on paper one unit of the picture is.
    scale = min(room[0] / width, room[1] / height)
    _draw_edges(ax, picture, scale)
    _draw_nodes(ax, picture, scale)
    if picture.style == "boxes" and scale * TITLE_SIZE >= _SMALLEST_TEXT:
        _write_boxes(ax, picture, scale)


def _draw_edges(ax: Axes, picture: Picture, scale: float) -> None:
    collections = need("matplotlib.collections")
    boxes = picture.style == "boxes"
    width = max((1.2 if boxes else 0.9) * scale, 0.25)
    lines = collections.PathCollection(
        [_path(route) for route in picture.routes],
        facecolors="none",
        edgecolors=LINE,
        linewidths=width,
        alpha=opacity(picture, width / scale),
        zorder=1,
        gid="edges",
    )
    ax.add_collection(lines, autolim=False)
    if boxes:
        heads = [arrow_head(route, 6.0) for route in picture.routes]
        ax.add_collection(
            collections.PolyCollection(heads, facecolors=LINE, edgecolors="none", zorder=1, gid="arrows"), autolim=False
        )


def _path(route: Route) -> Any:
    path = need("matplotlib.path").Path
    points = [route.start, *[point for curve in route.curves for point in curve]]
    return path(points, [path.MOVETO, *[path.CURVE4] * (len(points) - 1)])


def _draw_nodes(ax: Axes, picture: Picture, scale: float) -> None:
    roots, cut = picture.selection.roots, picture.selection.cut
    count = len(picture.boxes)
    nodes = need("matplotlib.collections").PatchCollection(
        [_patch(box, picture.style) for box in picture.boxes],
        facecolors=picture.paint.fills,
        edgecolors=BORDER,
        linewidths=[max((2.4 if place in roots else 0.8) * scale, 0.2) for place in range(count)],
        linestyles=["--" if place in cut else "-" for place in range(count)],
        zorder=2,
        gid="nodes",
    )
    ax.add_collection(nodes, autolim=False)


def _patch(box: Box, style: Style) -> Any:
    patches = need("matplotlib.patches")
    if style == "dots":
        if box.is_input:
            return patches.Rectangle((box.x - box.width / 2, box.y - box.width / 2), box.width, box.width)
        return patches.Circle((box.x, box.y), box.width / 2)
    corner = (box.x - box.width / 2, box.y - box.height / 2)
    rounding = 3.0 if box.is_input else 8.0
    return patches.FancyBboxPatch(corner, box.width, box.height, boxstyle=f"round,pad=0,rounding_size={rounding}")


def _write_boxes(ax: Axes, picture: Picture, scale: float) -> None:
    for box, fill in zip(picture.boxes, picture.paint.fills, strict=True):
        look = {"ha": "center", "va": "center", "color": text_colour(fill), "zorder": 3, "clip_on": True}
        write(ax, box.x, box.y - (6.0 if box.result else 0.0), box.title, fontsize=TITLE_SIZE * scale, **look)
        if box.result:
            write(ax, box.x, box.y + 8.0, box.result, fontsize=RESULT_SIZE * scale, **look)
