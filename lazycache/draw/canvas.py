"""What the plots share: axes, legends, colour bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from lazycache.draw.colours import BORDER, SCALE, Paint
from lazycache.draw.optional import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 72.0
"""In an inch."""


def open_axes(ax: Axes | None, figsize: tuple[float, float]) -> tuple[Figure, Axes]:
    """Return the figure and the axes to draw in: those given, or new ones.

    A new figure is not one of pyplot's, so nothing stays open that the caller does not hold.
    """
    if ax is not None:
        # Of axes in a subfigure, the figure that holds it.
        return ax.figure.figure, ax
    figure = need("matplotlib.figure").Figure(figsize=figsize, layout="constrained")
    return figure, figure.subplots()


def explain(
    ax: Axes, note: str, paint: Paint | None, where: Literal["below", "right"] = "right", columns: int = 1
) -> None:
    """Say what is missing, if anything is, and what the colours mean, if that is wanted."""
    if note:
        ax.set_title(note, fontsize=9, style="italic")
    if paint is not None:
        _draw_legend(ax, paint, where, columns)


def _draw_legend(ax: Axes, paint: Paint, where: Literal["below", "right"], columns: int) -> None:
    """Draw a legend for names, a colour bar for numbers."""
    if paint.scale is not None:
        colors = need("matplotlib.colors")
        colours = colors.LinearSegmentedColormap.from_list("lazycache", SCALE)
        low, high = paint.scale.low, paint.scale.high
        if low == high:
            low, high = low - 0.5, high + 0.5
        norm = colors.LogNorm(low, high) if paint.scale.log else colors.Normalize(low, high)
        numbers = need("matplotlib.cm").ScalarMappable(norm, colours)
        if where == "below":
            bar = ax.figure.colorbar(numbers, ax=ax, location="bottom", shrink=0.5, pad=0.01, aspect=25)
        else:
            bar = ax.figure.colorbar(numbers, ax=ax, location="right", shrink=0.9, pad=0.01, aspect=20)
        bar.set_label(paint.title, fontsize=8)
        bar.ax.tick_params(labelsize=8)
    if paint.entries:
        patches = need("matplotlib.patches")
        handles = [patches.Patch(facecolor=entry.colour, edgecolor=BORDER, linewidth=0.6) for entry in paint.entries]
        labels = [entry.text for entry in paint.entries]
        corner = (0.0, -0.01) if where == "below" else (1.0, 1.0)
        _write_legend(ax, handles, labels, ncols=columns, loc="upper left", bbox_to_anchor=corner)


def legend_width(paint: Paint) -> float:
    """Return about how many inches a legend beside the axes takes."""
    longest = max([len(entry.text) for entry in paint.entries], default=0)
    return (0.5 + 0.065 * longest if longest else 0.0) + (0.9 if paint.scale is not None else 0.0)


def _write_legend(ax: Axes, handles: list[Any], labels: list[str], **options: Any) -> None:
    """Add a legend whose labels are taken as they are."""
    legend = ax.legend(
        handles,
        [str(place) for place in range(len(labels))],
        frameon=False,
        fontsize=8,
        handlelength=1.1,
        handleheight=1.1,
        **options,
    )
    # Set afterwards: matplotlib drops labels that begin with an underscore, as names of functions do.
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def write(ax: Axes, x: float, y: float, text: str, **options: Any) -> None:
    """Write a text that is taken as it is: a dollar sign begins no formula."""
    ax.text(x, y, text, parse_math=False, **options)


def count_along(axis: Any, most: int = 10) -> None:
    """Have whole numbers at the ticks of an axis that counts something."""
    axis.set_major_locator(need("matplotlib.ticker").MaxNLocator(nbins=most, integer=True, min_n_ticks=1))


def room_of(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of the axes on paper, in points."""
    extent = ax.get_window_extent()
    return extent.width * POINTS / ax.figure.dpi, extent.height * POINTS / ax.figure.dpi


def hide_frame(ax: Axes) -> None:
    """Leave the left and the lower side of the frame only."""
    ax.spines[["top", "right"]].set_visible(False)
