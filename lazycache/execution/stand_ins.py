"""Leaves that stand for calls whose results are known, in an expression on its way to a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from lazycache.expressions import pickling
from lazycache.expressions.nests import is_nest, substitute
from lazycache.expressions.nodes import NO_FILES, NO_KWARGS
from lazycache.expressions.tree import Node
from lazycache_storage.digest import Digest


class StandIn(Node):
    """A leaf with the token of the call that it stands for, so that the keys above stay.

    Parameters
    ----------
    token : bytes
        ``K`` and the key of the call.
    text : str
        How the call is shown.
    content : object
        What tells the result.
    """

    __slots__ = ("_content", "_text", "_token")

    _text: str
    _function = None
    _args = ()
    _kwargs = NO_KWARGS
    _deps = ()
    _key = None
    _rope = NO_FILES

    def __init__(self, token: bytes, text: str, content: Any) -> None:
        self._token = token
        self._text = text
        self._content = content

    def _state(self) -> tuple[Any, ...]:
        return self._token, self._text, self._content

    @classmethod
    def _from_state(cls, *state: Any) -> Self:
        return cls(*state)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickling.reduce_node(self)


class StoredResult(StandIn):
    """A call whose result is in the store: its key is sent, and the worker loads it."""

    __slots__ = ()

    @property
    def key(self) -> Digest:
        """The key that the record is under."""
        return Digest(self._content)


class GivenResult(StandIn):
    """A call whose result is not stored: the value itself is sent."""

    __slots__ = ()

    @property
    def _value(self) -> Any:
        return self._content


def detach(root: Node, stand_in: Callable[[Node], Node | None]) -> Node:
    """Return a call like `root`, with the same key, above stand-ins.

    Parameters
    ----------
    root : Node
    stand_in : callable
        Returns what takes the place of a call below, or None for what is
        built again, above other nodes.
    """
    made: dict[int, Node] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if id(node) in made:
            stack.pop()
            continue
        if node is not root:
            other = node if node._function is None else stand_in(node)
            if other is not None:
                made[id(node)] = other
                stack.pop()
                continue
        missing = [dep for dep in node._deps if id(dep) not in made]
        if missing:
            stack.extend(reversed(missing))
            continue
        made[id(node)] = _above(node, made)
        stack.pop()
    return made[id(root)]


def _above(node: Node, made: dict[int, Node]) -> Node:
    if all(made[id(dep)] is dep for dep in node._deps):
        return node
    state = [
        made.get(id(member), member)
        if isinstance(member, Node)
        else substitute(member, made)
        if is_nest(member)
        else member
        for member in node._state()
    ]
    return node._from_state(*state)
