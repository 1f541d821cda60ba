"""Nests: tuples, namedtuples, lists, dict values and slices that hold nodes.

These are the containers in which nodes are found. Every walk here keeps its
own stack, and visits a container that is shared once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lazycache.digests.code import has_users_code
from lazycache.expressions.nodes import Node

NATIVES: frozenset[type] = frozenset({int, float, bool, complex, str, bytes, type(None), type(Ellipsis)})
"""Types whose values stay as they are in the arguments of a call."""

_PLAIN = frozenset({tuple, list, dict, slice})


def is_nest(value: Any) -> bool:
    """Say whether nodes are looked for inside `value`."""
    kind = type(value)
    return kind in _PLAIN or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def members(nest: Any) -> Sequence[Any]:
    """Return the members of a nest in order: of a dict the values, of a slice its three parts."""
    kind = type(nest)
    if kind is dict:
        return list(nest.values())
    if kind is slice:
        return nest.start, nest.stop, nest.step
    return nest  # type: ignore[no-any-return]


def rebuild(nest: Any, new_members: Sequence[Any]) -> Any:
    """Return a nest like `nest` with other members."""
    kind = type(nest)
    if kind is dict:
        return dict(zip(nest, new_members, strict=True))
    if kind is slice:
        return slice(*new_members)
    if kind is tuple or kind is list:
        return kind(new_members)
    return kind._make(new_members)


def only_natives(values: Iterable[Any]) -> bool:
    """Say whether no value can be, or hold, a node."""
    return NATIVES.issuperset(map(type, values))


def find_nodes(nest: Any) -> list[Node]:
    """Return the nodes in a nest, each once, in order of appearance.

    Parameters
    ----------
    nest : node, or any nest of tuples, lists, dict values and slices
    """
    if isinstance(nest, Node):
        return [nest]
    if not is_nest(nest):
        return []
    found: dict[int, Node] = {}
    seen: set[int] = set()
    stack = [nest]
    while stack:
        value = stack.pop()
        if isinstance(value, Node):
            found.setdefault(id(value), value)
        elif is_nest(value) and id(value) not in seen:
            seen.add(id(value))
            inside = members(value)
            if not only_natives(inside):
                stack.extend(reversed(inside))
    return list(found.values())


def postorder(nest: Any) -> list[Any]:
    """Return each nest inside `nest` once, inner ones first; `nest` is the last.

    Raises
    ------
    ValueError
        If a container holds itself.
    """
    order: list[Any] = []
    entered: set[int] = set()
    left: set[int] = set()
    stack = [nest]
    while stack:
        value = stack[-1]
        if id(value) in left:
            stack.pop()
        elif id(value) in entered:
            stack.pop()
            left.add(id(value))
            order.append(value)
        else:
            entered.add(id(value))
            inside = members(value)
            if only_natives(inside):
                continue
            for member in reversed(inside):
                if is_nest(member) and id(member) not in left:
                    if id(member) in entered:
                        raise ValueError(f"a {type(member).__name__} that holds itself cannot be part of an expression")
                    stack.append(member)
    return order


def transform(nest: Any, change: Callable[[Any], Any]) -> Any:
    """Return `nest` with each member that is not a nest replaced by ``change(member)``.

    Nests in which nothing changes are returned as they are; nothing is changed
    in place, and what is shared stays shared.
    """
    if not is_nest(nest):
        return change(nest)
    done: dict[int, Any] = {}
    for inner in postorder(nest):
        old = members(inner)
        new = [done[id(member)] if is_nest(member) else change(member) for member in old]
        same = all(map(_is, old, new))
        done[id(inner)] = inner if same else rebuild(inner, new)
    return done[id(nest)]


def substitute(nest: Any, values: Mapping[int, Any]) -> Any:
    """Return `nest` with its nodes replaced.

    Parameters
    ----------
    nest : node, or any nest
    values : mapping
        From the ``id`` of a node to what takes its place; other nodes stay.
    """
    return transform(nest, lambda member: values.get(id(member), member) if isinstance(member, Node) else member)


def _is(left: Any, right: Any) -> bool:
    return left is right


def is_constant(nest: Any) -> bool:
    """Say whether a nest is made of tuples, slices and constants only, so that nobody can change it."""
    if type(nest) is not tuple and type(nest) is not slice:
        return False
    for inner in postorder(nest):
        if type(inner) is not tuple and type(inner) is not slice:
            return False
        for member in members(inner):
            if type(member) not in NATIVES and not is_nest(member) and not is_numpy_constant(member):
                return False
    return True


def is_numpy_constant(value: Any) -> bool:
    """Say whether a value is an installed type, a dtype, or a scalar of numpy that nobody can change."""
    if isinstance(value, type):
        # A class of the user's has code, whose digest is taken once, where the text is.
        return not has_users_code(value)
    # A structured scalar can be changed through its fields.
    return isinstance(value, np.generic | np.dtype) and not isinstance(value, np.void)


def find_deps(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Node, ...]:
    """Return the nodes in the arguments of a call, each once, in order of appearance."""
    found: dict[int, Node] = {}
    only_nodes = not kwargs
    for arg in args if not kwargs else (*args, *kwargs.values()):
        if isinstance(arg, Node):
            found[id(arg)] = arg
            continue
        only_nodes = False
        if type(arg) not in NATIVES:
            for node in find_nodes(arg):
                found[id(node)] = node
    # Where every argument is another node, one tuple serves as both.
    return args if only_nodes and len(found) == len(args) else tuple(found.values())
