"""The source text of arguments, exact for every value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazycache.nests import is_nest, members
from lazycache.nodes import Node

_LONGEST_INT = 2**63
_LONGEST_TEXT = 200


def stringify(x: Any, params: dict[str, Any]) -> str:
    """Return the source text of an argument; nodes are written as their names.

    Parameters
    ----------
    x : object
        Nodes in tuples, lists, dict values and slices are found.
    params : dict
        Takes what cannot be written exactly, by the name that is written for it.

    Examples
    --------
    >>> params = {}
    >>> stringify((1, "it's", None, float("nan")), params), params
    ('(1, "it\\'s", None, c0)', {'c0': nan})
    """
    return text_of(x, lambda node: f"x{id(node)}", naming(params))


def naming(params: dict[str, Any]) -> Callable[[Any], str]:
    """Return a function that puts an object into `params` and returns its name."""
    names: dict[int, str] = {}

    def keep(value: Any) -> str:
        name = names.get(id(value))
        if name is None or params.get(name) is not value:
            name = f"c{len(params)}"
            while name in params:
                name += "_"
            names[id(value)] = name
            params[name] = value
        return name

    return keep


def text_of(value: Any, name_of: Callable[[Node], str], keep: Callable[[Any], str]) -> str:
    """Return the source of a value that evaluates to exactly that value."""
    kind = type(value)
    if kind is int:
        return repr(value) if -_LONGEST_INT < value < _LONGEST_INT else keep(value)
    if kind is float:
        return repr(value) if value - value == 0 else keep(value)
    if value is None or value is Ellipsis or kind is bool:
        return "..." if value is Ellipsis else repr(value)
    if kind is str:
        return repr(value) if len(value) <= _LONGEST_TEXT else keep(value)
    if isinstance(value, Node):
        return name_of(value)
    if not is_nest(value):
        return keep(value)
    inside = [text_of(member, name_of, keep) for member in members(value)]
    if kind is tuple:
        return f"({inside[0]},)" if len(inside) == 1 else f"({', '.join(inside)})"
    if kind is list:
        return f"[{', '.join(inside)}]"
    if kind is slice:
        return f"slice({', '.join(inside)})"
    if kind is dict:
        keys = [text_of(key, name_of, keep) for key in value]
        return "{" + ", ".join(f"{key}: {text}" for key, text in zip(keys, inside, strict=True)) + "}"
    return f"{keep(kind)}({', '.join(inside)})"
