"""Finding calls that are the same, so that a program makes each once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazycache.nests import members
from lazycache.nodes import Node

if TYPE_CHECKING:
    from lazycache.codegen.program import Step

_EXACT = frozenset({int, bool, str, bytes, type(None), type(Ellipsis)})


def merge(order: list[Step]) -> dict[int, int]:
    """Find nodes that are the same call as an earlier one, of a function that only computes.

    Constants count by type and exact value, arrays by identity.

    Parameters
    ----------
    order : list of Step
        Each after its dependencies.

    Returns
    -------
    dict
        From the ids of such nodes to those of the first of their kind.
    """
    same: dict[int, int] = {}
    first: dict[Any, int] = {}
    for step in order:
        function = step.function
        if function is None:
            key: Any = ("leaf", id(step.value))
        elif function.is_pure or not function.trusted:
            continue
        else:
            key = (
                id(function),
                *[same.get(id(arg), id(arg)) if isinstance(arg, Node) else _part(arg, same) for arg in step.args],
            )
            if step.kwargs:
                key = (key, tuple([(name, _part(step.kwargs[name], same)) for name in sorted(step.kwargs)]))
        identity = step.identity
        found = first.setdefault(key, identity)
        if found != identity:
            same[identity] = found
    return same


def _part(arg: Any, same: dict[int, int]) -> Any:
    if isinstance(arg, Node):
        return same.get(id(arg), id(arg))
    kind = type(arg)
    if kind in _EXACT:
        return kind, arg
    if kind is float:
        # Zero and minus zero are equal, and NaN is not equal to itself.
        return kind, arg.hex()
    if kind is tuple or kind is slice:
        return kind, tuple([_part(member, same) for member in members(arg)])
    # Anything else is the same only if it is the same object.
    return "object", id(arg)
