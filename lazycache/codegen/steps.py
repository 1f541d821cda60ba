"""The calls and leaves that some expressions need, in an order in which they can be computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lazycache.expressions.nodes import Node


class Step:
    """A node as it was when it was looked at, since another thread may compute an array meanwhile.

    Attributes
    ----------
    identity : int
        The id of the node.
    node : Node
    function, args, kwargs, deps
        What the node has under these names.
    template : str
        The source of the call, with ``%s`` for each operand; see `lazycache.codegen.templates`.
    operands : list of int
        The identities of the calls whose values it takes.
    nesting : int
        How many calls are written inside this one.
    """

    __slots__ = ("args", "deps", "function", "identity", "kwargs", "nesting", "node", "operands", "template")

    template: str
    operands: list[int]
    nesting: int

    def __init__(self, node: Node) -> None:
        self.identity = id(node)
        self.node = node
        # The function last: an array that becomes a leaf loses it first.
        self.args = node._args
        self.kwargs = node._kwargs
        self.deps = node._deps
        self.function = node._function


def needed(wanted: list[Node], known: Mapping[int, Any], looked: dict[int, Step]) -> list[Step]:
    """Return the nodes that the outputs need, each after its dependencies, not looking below those that are known.

    Parameters
    ----------
    wanted : list of Node
    known : mapping
        By the ids of nodes.
    looked : dict
        Nodes that have been looked at, by id; takes those that are now.
    """
    met = set(known)
    order: list[Step] = []
    stack: list[Any] = list(reversed(wanted))
    while stack:
        item = stack.pop()
        if item.__class__ is Step:
            order.append(item)
            continue
        identity = id(item)
        if identity in met:
            continue
        met.add(identity)
        step = looked.get(identity)
        if step is None:
            step = looked[identity] = Step(item)
        if step.function is None:
            order.append(step)
            continue
        # It is taken up again when all below it is done.
        stack.append(step)
        # A comprehension would cost more than it saves: most nodes have one or two dependencies.
        for dep in reversed(step.deps):
            if id(dep) not in met:
                stack.append(dep)  # noqa: PERF401
    return order
