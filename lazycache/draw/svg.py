"""Expressions as pictures in SVG: text that needs no font, script or file from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from lazycache.draw.colours import BORDER, LINE, SCALE, ColorBy, Look, Paint, text_colour
from lazycache.draw.labels import full_text
from lazycache.draw.picture import RESULT_SIZE, TITLE_SIZE, Box, Picture, Style, compose, opacity, text_width
from lazycache.draw.routing import Route, arrow_head
from lazycache.draw.selecting import MOST_NODES

_FONT = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif"
_MOST_BOXES = 200
_LONGEST: dict[Style, float] = {"boxes": 8.0, "dots": 3.0}
"""Text that is read may need scrolling; dots are looked at as a whole."""
_MARGIN = 10.0
_LEGEND = 20.0
_LEGEND_SIZE = 10.5


def to_svg(
    x: Any,
    color_by: ColorBy = "function",
    *,
    variables: Any = None,
    cache: Any = None,
    colors: Mapping[str, str] | None = None,
    max_nodes: int | None = MOST_NODES,
) -> str:
    """Return a picture of an expression as SVG.

    Inputs are at the top and results, with a thick border, at the bottom. Each
    node is one element of class ``node``, and tells what it is when pointed at.

    Parameters
    ----------
    x : node or nest of nodes
    color_by : {"function", "variable", "size", "seconds", "cached"}
        See `plot_graph`.
    variables : nest of nodes, optional
    cache : Cache, optional
    colors : mapping, optional
        Colours of entries of the legend, by their names, as ``"#rrggbb"``; matplotlib is asked for others.
    max_nodes : int or None
        Larger graphs are shortened to what is next to the result, with a note.

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.draw import to_svg
    >>> x = computed(3)
    >>> picture = to_svg((x + 1) * x)
    >>> picture.startswith("<svg"), picture.count('class="node"'), picture.count('class="edge"')
    (True, 3, 3)
    """
    picture = compose(x, Look(color_by, variables, cache, colors), max_nodes, _MOST_BOXES, _LONGEST)
    left, top = picture.low[0] - _MARGIN, picture.low[1] - _MARGIN
    width = max(picture.high[0] - left + _MARGIN, 240.0)
    legend, legend_height = _legend(picture, width)
    height = picture.high[1] - top + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height + legend_height)}" '
        f'width="{_n(width)}" height="{_n(height + legend_height)}" font-family="{_FONT}" '
        'style="max-width:100%;height:auto">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<g transform="translate({_n(-left)} {_n(-top)})">',
        *_edges(picture),
        *_nodes(picture),
        "</g>",
        f'<g transform="translate(0 {_n(height)})">',
        *legend,
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts)


def to_html(x: Any) -> str:
    """Return a picture of an expression as a piece of HTML that scrolls; what notebooks show.

    Parameters
    ----------
    x : node or nest of nodes
    """
    return f'<div style="max-height:40em;overflow:auto">\n{to_svg(x)}\n</div>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) and value < 1e7 else f"{value:.3g}"


def _text(text: str) -> str:
    return html.escape(text)


def _edges(picture: Picture) -> list[str]:
    boxes = picture.style == "boxes"
    width = 1.2 if boxes else 0.9
    shade = f"{opacity(picture, width):.2g}"
    lines = [f'<g fill="none" stroke="{LINE}" stroke-width="{width}" stroke-opacity="{shade}">']
    lines.extend(f'<path class="edge" d="{_path(route)}"/>' for route in picture.routes)
    lines.append("</g>")
    if boxes and picture.routes:
        heads = "".join(
            "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in arrow_head(route, 6.0)) + "Z" for route in picture.routes
        )
        lines.append(f'<path fill="{LINE}" d="{heads}"/>')
    return lines


def _path(route: Route) -> str:
    pieces = [f"M{_n(route.start[0])} {_n(route.start[1])}"]
    for first, second, end in route.curves:
        if abs(first[0] - end[0]) < 0.5:
            pieces.append(f"L{_n(end[0])} {_n(end[1])}")
        else:
            pieces.append("C" + " ".join(f"{_n(x)} {_n(y)}" for x, y in (first, second, end)))
    return "".join(pieces)


def _nodes(picture: Picture) -> list[str]:
    draw = _box if picture.style == "boxes" else _dot
    lines = [f'<g text-anchor="middle" stroke="{BORDER}" stroke-width="0.8">']
    for position, box in enumerate(picture.boxes):
        about = _text(full_text(picture.selection.nodes[position]))
        thick = ' stroke-width="2.4"' if position in picture.selection.roots else ""
        dashed = ' stroke-dasharray="4 2"' if position in picture.selection.cut else ""
        shape = draw(box, picture.paint.fills[position], thick + dashed)
        lines.append(f'<g class="node"><title>{about}</title>{shape}</g>')
    lines.append("</g>")
    return lines


def _dot(box: Box, fill: str, look: str) -> str:
    if box.is_input:
        side = box.width * 0.9
        return (
            f'<rect x="{_n(box.x - side / 2)}" y="{_n(box.y - side / 2)}" width="{_n(side)}" height="{_n(side)}" '
            f'fill="{_text(fill)}"{look}/>'
        )
    return f'<circle cx="{_n(box.x)}" cy="{_n(box.y)}" r="{_n(box.width / 2)}" fill="{_text(fill)}"{look}/>'


def _box(box: Box, fill: str, look: str) -> str:
    corner = 3.0 if box.is_input else 8.0
    ink = text_colour(fill)
    written = [
        f'<rect x="{_n(box.x - box.width / 2)}" y="{_n(box.y - box.height / 2)}" width="{_n(box.width)}" '
        f'height="{_n(box.height)}" rx="{corner}" fill="{_text(fill)}"{look}/>',
        f'<text x="{_n(box.x)}" y="{_n(box.y + (-1.5 if box.result else TITLE_SIZE * 0.36))}" stroke="none" '
        f'font-size="{TITLE_SIZE}" fill="{ink}">{_text(box.title)}</text>',
    ]
    if box.result:
        written.append(
            f'<text x="{_n(box.x)}" y="{_n(box.y + 11)}" stroke="none" font-size="{RESULT_SIZE}" '
            f'fill="{ink}">{_text(box.result)}</text>'
        )
    return "".join(written)


def _legend(picture: Picture, width: float) -> tuple[list[str], float]:
    """Return the legend, in as many lines as it needs, and its height."""
    x, y = _MARGIN, _LEGEND / 2
    lines = [f'<g font-size="{_LEGEND_SIZE}" fill="#1a1a1a">']
    if picture.paint.scale is not None:
        lines.append(_bar(picture.paint, x, y))
        y += _LEGEND * 2
    for entry in picture.paint.entries:
        room = 18 + text_width(entry.text, _LEGEND_SIZE) + 14
        if x + room > width and x > _MARGIN:
            x, y = _MARGIN, y + _LEGEND
        lines.append(
            f'<rect x="{_n(x)}" y="{_n(y - 6)}" width="12" height="12" rx="2" fill="{_text(entry.colour)}" '
            f'stroke="{BORDER}" stroke-width="0.8"/>'
            f'<text x="{_n(x + 18)}" y="{_n(y + 4)}">{_text(entry.text)}</text>'
        )
        x += room
    if picture.paint.entries:
        y += _LEGEND
    if picture.selection.note:
        lines.append(
            f'<text x="{_n(_MARGIN)}" y="{_n(y + 4)}" font-style="italic">{_text(picture.selection.note)}</text>'
        )
        y += _LEGEND
    lines.append("</g>")
    return lines, y


def _bar(paint: Paint, x: float, y: float) -> str:
    """Return a colour bar, of many pieces so that it needs no gradient with a name."""
    assert paint.scale is not None
    length, pieces = 180.0, len(SCALE)
    cells = "".join(
        f'<rect x="{_n(x + length * place / pieces)}" y="{_n(y - 6)}" width="{_n(length / pieces)}" height="12" '
        f'fill="{colour}"/>'
        for place, colour in enumerate(SCALE)
    )
    kind = f"{paint.title} (logarithmic)" if paint.scale.log else paint.title
    return (
        f'{cells}<text x="{_n(x)}" y="{_n(y + 19)}">{_number(paint.scale.low)}</text>'
        f'<text x="{_n(x + length)}" y="{_n(y + 19)}" text-anchor="end">{_number(paint.scale.high)}</text>'
        f'<text x="{_n(x + length + 10)}" y="{_n(y + 4)}">{_text(kind)}</text>'
    )
