"""Which colour a node gets, and what the colours mean.

The colours can be told apart by people who do not see all of them: the
categories are those of Okabe and Ito, and of Tol; the scale is viridis, which
also goes from dark to light.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from lazycache.draw.labels import INPUT, VARIABLE, function_of, is_array, is_input, is_variable, short_names
from lazycache.draw.optional import need
from lazycache.draw.recorded import KEYLESS, find_records
from lazycache.draw.selecting import Selection
from lazycache.expressions.nodes import Node
from lazycache.graph import find_nodes
from lazycache.valuetext import clip

ColorBy = Literal["function", "variable", "size", "seconds", "cached"]

CATEGORIES = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#332288",
    "#882255",
    "#999933",
)
SCALE = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
INPUTS = {INPUT: "#e0e0e0", VARIABLE: "#b8b8b8"}
UNKNOWN = "#d4d4d4"
OTHER = "#7f7f7f"
LINE = "#8a8f98"
BORDER = "#4d4d4d"
_SPREAD = 50
_LONG = 32
_HEX = re.compile("#[0-9a-fA-F]{6}")


class Look(NamedTuple):
    """What colours are to show.

    Attributes
    ----------
    color_by : {"function", "variable", "size", "seconds", "cached"}
    variables : nest of nodes, optional
        For ``"variable"``: the inputs that change; by default every Variable.
    cache : Cache, optional
        For ``"seconds"`` and ``"cached"``; by default the default cache.
    colors : mapping, optional
        Colours of entries, by the names that the legend shows.
    """

    color_by: ColorBy = "function"
    variables: Any = None
    cache: Any = None
    colors: Mapping[str, Any] | None = None


class Entry(NamedTuple):
    """One line of a legend."""

    label: str
    colour: str
    nodes: int

    @property
    def text(self) -> str:
        """What is written, bounded."""
        return f"{clip(self.label, _LONG)} ({self.nodes:,})"


class Scale(NamedTuple):
    """The ends of a colour bar."""

    low: float
    high: float
    log: bool

    def place(self, value: float) -> float:
        """Return where a value stands, from 0 to 1."""
        low, high, value = (
            math.log(max(part, self.low)) if self.log else part for part in (self.low, self.high, value)
        )
        return (value - low) / (high - low) if high > low else 0.5


class Paint(NamedTuple):
    """The colours of nodes, and what they mean.

    Attributes
    ----------
    fills : list of str
        For each node a colour like ``"#0072b2"``.
    title : str
    entries : list of Entry
    scale : Scale or None
        Where numbers are shown, what the ends of the colour bar stand for.
    """

    fills: list[str]
    title: str
    entries: list[Entry]
    scale: Scale | None = None


def paint(selection: Selection, look: Look) -> Paint:
    """Return the colours of nodes."""
    color_by, nodes = look.color_by, selection.nodes
    if color_by not in get_args(ColorBy):
        raise ValueError(f"color_by is {color_by!r}, expected one of {', '.join(map(repr, get_args(ColorBy)))}")
    chosen = named_colours(look.colors)
    if color_by == "function":
        return by_function([function_of(node) for node in nodes], chosen)
    if color_by == "variable":
        return _categories("variable", _dependence(nodes, look.variables), _DEPENDENCE, chosen)
    if color_by == "size":
        return _numbers("elements", [elements(node) for node in nodes], chosen)
    records = find_records(nodes, look.cache)
    if color_by == "seconds":
        seconds = [None if record in (None, KEYLESS) else record.seconds for record in records]
        return _numbers("seconds", seconds, chosen)
    states = [
        _state(node, record, place in selection.roots)
        for place, (node, record) in enumerate(zip(nodes, records, strict=True))
    ]
    return _categories("cache", states, _STATES, chosen)


def named_colours(colors: Mapping[str, Any] | None) -> dict[str, str]:
    """Return colours as ``"#rrggbb"``; matplotlib is asked for those that are given in another way."""
    return {
        name: colour if isinstance(colour, str) and _HEX.fullmatch(colour) else need("matplotlib.colors").to_hex(colour)
        for name, colour in (colors or {}).items()
    }


def elements(node: Node) -> int | None:
    """Return how many elements the array has that a node stands for, if that is known."""
    if is_array(node):
        if getattr(node._function, "n_outputs", None):
            return None
        shape = node._shape  # type: ignore[attr-defined]
        return None if None in shape else math.prod(shape)
    size = getattr(node._value, "size", None) if node._function is None else None
    return int(size) if isinstance(size, int) else None


def by_function(names: Sequence[str], colors: Mapping[str, str]) -> Paint:
    """Colour by name: the most frequent ones have a colour each, the rest share one."""
    counts = Counter(names)
    inputs = [name for name in (INPUT, VARIABLE) if name in counts]
    functions = [name for name, _ in counts.most_common() if name not in inputs]
    short = {**short_names(functions), **{name: name for name in inputs}}
    colour = dict(INPUTS)
    many = len(functions) > len(CATEGORIES)
    named = functions[: len(CATEGORIES) - 1] if many else functions
    colour.update(zip(named, CATEGORIES, strict=False))
    colour.update(dict.fromkeys(functions[len(named) :], OTHER))
    colour.update({name: colors[short[name]] for name in counts if short[name] in colors})
    entries = [Entry(short[name], colour[name], counts[name]) for name in (*named, *inputs)]
    if many:
        rest = functions[len(named) :]
        entries.append(Entry(f"{len(rest)} other functions", OTHER, sum(counts[name] for name in rest)))
    return Paint([colour[name] for name in names], "function", entries)


_DEPENDENCE = {"variable": "#d55e00", "depends on a variable": "#e69f00", "constant": "#56b4e9"}
_STATES = {
    "cached": "#009e73",
    "not cached": "#d55e00",
    "not kept by itself": UNKNOWN,
    "without a key": "#cc79a7",
    "input": "#ffffff",
}


def _dependence(nodes: Sequence[Node], variables: Any) -> list[str]:
    given = {id(node) for node in find_nodes(variables)}
    moved: set[int] = set()
    states = []
    for node in nodes:
        if id(node) in given if given else is_variable(node):
            moved.add(id(node))
            states.append("variable")
        elif any(id(dep) in moved for dep in node._deps):
            moved.add(id(node))
            states.append("depends on a variable")
        else:
            states.append("constant")
    return states


def _state(node: Node, record: Any, is_root: bool) -> str:
    if is_input(node):
        return "input"
    if record is KEYLESS:
        return "without a key"
    if record is not None:
        return "cached"
    # Of what is asked for, a cache keeps the result whatever calls it.
    kept = is_root or (node._function.is_pure and node._function.stored)
    return "not cached" if kept else "not kept by itself"


def _categories(title: str, states: list[str], table: Mapping[str, str], colors: Mapping[str, str]) -> Paint:
    colour = {**table, **{name: colors[name] for name in table if name in colors}}
    counts = Counter(states)
    entries = [Entry(name, colour[name], counts[name]) for name in table if counts[name]]
    return Paint([colour[state] for state in states], title, entries)


def _numbers(title: str, values: Sequence[float | None], colors: Mapping[str, str]) -> Paint:
    unknown = colors.get("not known", UNKNOWN)
    known = [value for value in values if value is not None]
    missing = [Entry("not known", unknown, len(values) - len(known))] if len(known) < len(values) else []
    if not known:
        return Paint([unknown] * len(values), title, missing)
    positive = [value for value in known if value > 0]
    log = bool(positive) and max(positive) > _SPREAD * min(positive)
    scale = Scale(min(positive) if log else min(known), max(known), log)
    fills = [unknown if value is None else scale_colour(scale.place(value)) for value in values]
    return Paint(fills, title, missing, scale)


def scale_colour(place: float) -> str:
    """Return the colour at a place of the scale, from 0 to 1."""
    position = min(max(place, 0.0), 1.0) * (len(SCALE) - 1)
    first = min(int(position), len(SCALE) - 2)
    share = position - first
    pairs = zip(_channels(SCALE[first]), _channels(SCALE[first + 1]), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in pairs)


def text_colour(fill: str) -> str:
    """Return black or white, whichever is read more easily on a colour.

    Examples
    --------
    >>> text_colour("#0072b2"), text_colour("#f0e442")
    ('#ffffff', '#1a1a1a')
    """
    red, green, blue = (_linear(channel / 255) for channel in _channels(fill))
    return "#ffffff" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.22 else "#1a1a1a"


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
