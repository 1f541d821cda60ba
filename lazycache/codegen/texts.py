"""The source text of arguments, exact for every value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazycache.expressions.nests import find_nodes, is_nest, members, postorder, rebuild, substitute
from lazycache.expressions.nodes import Node

_LONGEST_INT = 2**63
_LONGEST_TEXT = 200


class Slot(int):
    """Where in a nest a value belongs."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return Slot, (int(self),)

    def __lazycache_digest__(self) -> Any:
        return int(self)


def stringify(x: Any, params: dict[str, Any]) -> str:
    """Return the source text of an argument; nodes are written as their names.

    Parameters
    ----------
    x : object
        Nodes in tuples, lists, dict values and slices are found.
    params : dict
        Takes the data of leaves, and what cannot be written exactly, by the name that is written for it.

    Examples
    --------
    >>> params = {}
    >>> stringify((1, "it's", None, float("nan")), params), params
    ('(1, "it\\'s", None, c0)', {'c0': nan})
    """

    def name_of(node: Node) -> str:
        name = f"x{id(node)}"
        if node._function is None:
            params[name] = node._value
        return name

    return text_of(x, name_of, naming(params))


_MOST_CONTAINERS = 30


def is_shallow(nest: Any) -> bool:
    """Say whether a nest has few containers in it: the compiler recurses, and what is shared would be written twice."""
    if not any(map(is_nest, members(nest))):
        return True
    seen = 0
    stack = [nest]
    while stack:
        seen += 1
        if seen > _MOST_CONTAINERS:
            return False
        stack.extend(member for member in members(stack.pop()) if is_nest(member))
    return True


class Filler:
    """A nest whose nodes are replaced by values when it is called.

    Parameters
    ----------
    nest : nest
    nodes : list of Node
        The nodes in it, in the order of the values.
    """

    def __init__(self, nest: Any, nodes: list[Node]) -> None:
        self._nest = substitute(nest, {id(node): Slot(number) for number, node in enumerate(nodes)})

    def __call__(self, *values: Any) -> Any:
        """Return the nest with values in it; a fresh one each time."""
        done: dict[int, Any] = {}
        for inner in postorder(self._nest):
            filled = [
                done[id(member)] if is_nest(member) else values[member] if type(member) is Slot else member
                for member in members(inner)
            ]
            done[id(inner)] = rebuild(inner, filled)
        return done[id(self._nest)]

    def __lazycache_digest__(self) -> Any:
        return self._nest


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
    if not is_shallow(value):
        nodes = find_nodes(value)
        return f"{keep(Filler(value, nodes))}({', '.join(map(name_of, nodes))})"
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
