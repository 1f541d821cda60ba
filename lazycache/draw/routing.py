"""The lines between the nodes of a picture."""

from __future__ import annotations

from typing import NamedTuple

from lazycache.draw.placing import Placement

Point = tuple[float, float]
Curve = tuple[Point, Point, Point]

_STRAIGHT = 0.3


class Route(NamedTuple):
    """One edge: cubic curves from a start, each with two control points and an end.

    An edge that leaves from a line which is drawn already starts there.
    """

    dep: int
    user: int
    start: Point
    curves: list[Curve]


def routes(placement: Placement, deps: list[list[int]]) -> list[Route]:
    """Return the edges of a graph as curves, users in order of their rows."""
    row, bends = placement.layers.row, placement.layers.bends
    users: list[list[int]] = [[] for _ in deps]
    for user, below in enumerate(deps):
        for dep in below:
            users[dep].append(user)
    found = []
    for dep, using in enumerate(users):
        chain = [dep, *bends[dep]]
        drawn = 0
        for user in sorted(using, key=row.__getitem__):
            # Where the node has no bends, its long edges go straight to their ends.
            reach = min(row[user] - row[dep] - 1, len(chain) - 1)
            start = min(drawn, reach)
            found.append(_route(placement, chain[start : reach + 1], user, dep))
            drawn = max(drawn, reach)
    return found


def arrow_head(route: Route, size: float) -> tuple[Point, Point, Point]:
    """Return a triangle at the end of an edge: its tip, and two corners."""
    (x, y) = route.curves[-1][2]
    (_, before) = route.curves[-1][1]
    back = size if before > y else -size
    return (x, y), (x - size * 0.45, y + back), (x + size * 0.45, y + back)


def _route(placement: Placement, chain: list[int], user: int, dep: int) -> Route:
    start = _leaving(placement, chain[0])
    curves: list[Curve] = []
    here, at = start, chain[0]
    for vertex in (*chain[1:], user):
        entry = _entering(placement, vertex)
        curves.append(_curve(placement, at, vertex, here, entry))
        here, at = entry, vertex
        if vertex != user:
            end = _leaving(placement, vertex)
            curves.append((here, end, end))
            here = end
    return Route(dep, user, start, _straightened(start, curves))


def _leaving(placement: Placement, vertex: int) -> Point:
    return placement.x[vertex], placement.y[vertex] + placement.flow[vertex] * placement.height[vertex] / 2


def _entering(placement: Placement, vertex: int) -> Point:
    return placement.x[vertex], placement.y[vertex] - placement.flow[vertex] * placement.height[vertex] / 2


def _curve(placement: Placement, upper: int, lower: int, start: Point, end: Point) -> Curve:
    if placement.column[upper] == placement.column[lower]:
        pull = abs(end[1] - start[1]) * 0.45
    else:
        # Around the turn from one column to the next, out of the way of what stands there.
        pull = max(30.0, 0.2 * abs(end[0] - start[0]))
    return (
        (start[0], start[1] + placement.flow[upper] * pull),
        (end[0], end[1] - placement.flow[lower] * pull),
        end,
    )


def _straightened(start: Point, curves: list[Curve]) -> list[Curve]:
    """Join curves that follow each other on one vertical line."""
    joined: list[Curve] = []
    upright = False
    begin = start
    for curve in curves:
        straight = max(abs(part[0] - begin[0]) for part in curve) < _STRAIGHT
        if straight and upright:
            joined[-1] = (joined[-1][0], curve[2], curve[2])
        else:
            joined.append(curve)
        upright, begin = straight, curve[2]
    return joined
