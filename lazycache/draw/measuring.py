"""A number for each node, as plots show it: a statistic of lazy arrays, or what a function says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from lazycache.draw.labels import function_of
from lazycache.draw.selecting import roots_of
from lazycache.expressions.nodes import Node
from lazycache.graph import ascend

Measure = Callable[[Any], float | None] | Literal["count", "sizein", "sizeout", "bytesin", "bytesout"]

_LABELS = {
    "count": "calls",
    "sizein": "elements read",
    "sizeout": "elements made",
    "bytesin": "bytes read",
    "bytesout": "bytes made",
}


class Measured(NamedTuple):
    """A number for each node.

    Attributes
    ----------
    names : list of str
        What the nodes call, inputs first.
    values : ndarray
        NaN where a number is not known.
    label : str
        What the numbers are.
    note : str
        What is not known; empty if nothing is missing.
    """

    names: list[str]
    values: np.ndarray[Any, np.dtype[np.float64]]
    label: str
    note: str


def measure(x: Any, fn: Measure) -> Measured:
    """Return a number for each node.

    Parameters
    ----------
    x : node or nest of nodes
    fn : callable or str
        A function of a node, which returns None where it knows of no number, or
        the name of a statistic.
    """
    # Imported late: pictures of ordinary expressions do without the arrays.
    from lazycache.array.history import known_size, statistic

    count = statistic(fn)
    nodes = list(ascend(roots_of(x)))
    found: list[float | None] = [count(node) for node in nodes]
    note = ""
    if isinstance(fn, str) and fn != "count":
        in_bytes = fn.startswith("bytes")
        note = _note(nodes, in_bytes)
        if fn.endswith("out"):
            found = [known_size(node, in_bytes) for node in nodes]
    values = np.array([np.nan if value is None else float(value) for value in found])
    return Measured([function_of(node) for node in nodes], values, _label(fn), note)


def measure_footprint(x: Any, include_inputs: bool, in_bytes: bool) -> tuple[list[int], str]:
    """Return the combined size of what is held at each step, and what is not known of it."""
    from lazycache.array.history import footprint

    nodes = list(ascend(roots_of(x)))
    return footprint(nodes, include_inputs, in_bytes), _note(nodes, in_bytes)


def _note(nodes: list[Node], in_bytes: bool) -> str:
    from lazycache.array.history import known_size

    # What returns several arrays is left out in favour of these.
    single = [node for node in nodes if not getattr(node._function, "n_outputs", None)]
    unknown = sum(known_size(node, in_bytes) is None for node in single)
    if unknown == len(single):
        return "no size is known before it is computed"
    return f"{unknown:,} of {len(single):,} sizes are not known" if unknown else ""


def _label(fn: Measure) -> str:
    if isinstance(fn, str):
        return _LABELS[fn]
    name = str(getattr(fn, "__name__", "value"))
    return name if name.isidentifier() else "value"
