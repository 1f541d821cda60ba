"""A picture of a graph before it is drawn: boxes, lines, colours; in points, y downwards."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from lazycache.draw.colours import Look, Paint, paint
from lazycache.draw.labels import box_text, is_input, result_text
from lazycache.draw.placing import Spacing, place
from lazycache.draw.routing import Point, Route, routes
from lazycache.draw.selecting import Selection, select

Style = Literal["boxes", "dots"]

TITLE_SIZE = 11.0
RESULT_SIZE = 8.5
_DOT = 11.0
_NARROW, _WIDE = (
    frozenset("ijltfrI|.,:;'`!()[]{} "),
    frozenset("mwMW@%\N{HORIZONTAL ELLIPSIS}\N{RIGHTWARDS ARROW}\N{WHITE SQUARE}"),
)


class Box(NamedTuple):
    """One node: its centre, its size, its lines of text."""

    x: float
    y: float
    width: float
    height: float
    title: str
    result: str
    is_input: bool


class Picture(NamedTuple):
    """Everything that is to be drawn.

    Attributes
    ----------
    selection : Selection
    boxes : list of Box
    routes : list of Route
    paint : Paint
    style : {"boxes", "dots"}
    low, high : pair of float
        Two corners of what is drawn.
    """

    selection: Selection
    boxes: list[Box]
    routes: list[Route]
    paint: Paint
    style: Style
    low: Point
    high: Point


def opacity(picture: Picture, width: float) -> float:
    """Return how opaque lines of a width are: the fainter, the more of the picture they would cover."""
    if picture.style == "boxes":
        return 1.0
    (left, top), (right, bottom) = picture.low, picture.high
    length = sum(math.dist(route.start, route.curves[-1][-1]) for route in picture.routes)
    covered = length * width / max((right - left) * (bottom - top), 1.0)
    return min(0.7, 0.3 / covered) if covered else 0.7


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is, in a sans-serif font."""
    width = 0.0
    for letter in text:
        if letter in _NARROW:
            width += 0.36
        elif letter in _WIDE:
            width += 0.95
        elif letter.isascii():
            width += 0.69 if letter.isupper() or letter in "+=<>#" else 0.6
        else:
            width += 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.65
    return width * size


def compose(
    x: Any,
    look: Look,
    max_nodes: int | None,
    most_boxes: int,
    longest: Mapping[Style, float],
) -> Picture:
    """Return the picture of a graph.

    Parameters
    ----------
    x : node or nest of nodes
    look : Look
    max_nodes : int or None
    most_boxes : int
        Up to how many nodes are boxes with text; beyond that they are dots.
    longest : mapping
        For either style how long a ribbon may be; see `lazycache.draw.placing.place`.
    """
    selection = select(x, max_nodes)
    painted = paint(selection, look)
    style: Style = "boxes" if len(selection.nodes) <= most_boxes else "dots"
    if style == "dots":
        boxes = [_dot(selection, position) for position in range(len(selection.nodes))]
        spacing = Spacing(7.0, 17.0)
    else:
        boxes = [_box(selection, position) for position in range(len(selection.nodes))]
        spacing = Spacing(16.0, 30.0)
    height = max(box.height for box in boxes)
    placement = place(selection.deps, [box.width for box in boxes], height, spacing, longest[style])
    boxes = [
        box._replace(x=placement.x[position], y=placement.y[position], height=height)
        for position, box in enumerate(boxes)
    ]
    lines = routes(placement, selection.deps)
    low, high = _corners(boxes, lines)
    return Picture(selection, boxes, lines, painted, style, low, high)


def _dot(selection: Selection, position: int) -> Box:
    # Results are larger, to be found among thousands.
    width = _DOT * 1.6 if position in selection.roots else _DOT
    return Box(0, 0, width, _DOT, "", "", is_input(selection.nodes[position]))


def _box(selection: Selection, position: int) -> Box:
    node = selection.nodes[position]
    title, result = box_text(node), result_text(node)
    if position in selection.cut:
        result = f"{result} \N{HORIZONTAL ELLIPSIS}".strip()
    width = max(text_width(title, TITLE_SIZE), text_width(result, RESULT_SIZE)) + 16
    return Box(0, 0, max(width, 34.0), 36.0 if result else 25.0, title, result, is_input(node))


def _corners(boxes: list[Box], lines: list[Route]) -> tuple[Point, Point]:
    xs = [edge for box in boxes for edge in (box.x - box.width / 2, box.x + box.width / 2)]
    ys = [edge for box in boxes for edge in (box.y - box.height / 2, box.y + box.height / 2)]
    for line in lines:
        here = line.start
        for first, second, end in line.curves:
            # A curve reaches at most three quarters of the way to its control points.
            xs.append(end[0])
            ys.extend((here[1] + 0.75 * (first[1] - here[1]), end[1] + 0.75 * (second[1] - end[1])))
            here = end
    return (min(xs), min(ys)), (max(xs), max(ys))
