"""Texts of expressions: `repr`, programs, and one-line summaries.

No text takes a digest of data: a key is shown if everything below it has been
hashed already. What is printed is bounded, however large the graph: the steps
next to the result are shown, and ``…`` stands for earlier ones.
"""

from __future__ import annotations

import re
from typing import Any

from lazycache.errors import LazyCacheError
from lazycache.expressions.keys import known_key
from lazycache.expressions.nests import is_nest, members, postorder
from lazycache.expressions.nodes import Node, register_text
from lazycache.expressions.operators import ATOM, COMPARISON, POWER, PRIMARY, UNARY
from lazycache.valuetext import clip, constant_text, content_text, inline_text, value_text
from lazycache_storage.digest import digest_of_token

__all__ = ["program", "short_key", "summary", "value_text"]

_MOST_STEPS = 60
_MOST_INPUTS = 20
_MOST_MEMBERS = 10
_MOST_SETTINGS = 60
_DEEPEST = 5
_LINE = 72
_MOST_UNKEYED = 10_000
_MARK = re.compile("\0([0-9]+)\0")

Text = tuple[str, int]


def repr_node(node: Node) -> str:
    """Return the ``repr`` of a node."""
    if node._function is None:
        return _leaf_repr(node)
    body = "".join(f"  {line}\n" for line in program(node).splitlines())
    return f"lazy({short_key(node)}:\n{body})"


def short_key(node: Node) -> str:
    """Return the first six hex digits of a node's key, or ``?`` if data would have to be hashed for it."""
    try:
        found = known_key(node, _MOST_UNKEYED)
    except LazyCacheError:
        # A function without an identity is reported where a key is needed; a text does not fail.
        return "?"
    return "?" if found is None else found.short


def program(node: Node) -> str:
    """Return the program of an expression: its steps, and its inputs below.

    Parameters
    ----------
    node : Node

    Examples
    --------
    >>> import numpy as np
    >>> from lazycache import computed
    >>> from lazycache.show import program
    >>> x = computed(np.zeros(3))
    >>> y = 5 * x
    >>> print(program((y + 1) ** y))
    e1 = 5 * v1
    (e1 + 1) ** e1
    with
    v1: ? ndarray(shape=(3,), dtype=float64)
    """
    if node._function is None:
        return _value_of(node)
    return _Printer(node, _MOST_STEPS, one_line=False).program()


def summary(node: Node, limit: int = 200) -> str:
    """Return one short line for a record or a message.

    Parameters
    ----------
    node : Node
    limit : int
        Most characters.

    Examples
    --------
    >>> import numpy as np
    >>> from lazycache import computed
    >>> from lazycache.show import summary
    >>> summary(computed(np.zeros(3)).sum() + 1)
    'ndarray(shape=(3,), dtype=float64).sum() + 1'
    """
    if node._function is None:
        return clip(_value_of(node), limit)
    return clip(_Printer(node, 12, one_line=True, width=limit).text(), limit)


def _leaf_repr(leaf: Node) -> str:
    style = getattr(leaf, "_style", "computed")
    text = None if hasattr(leaf, "_text") else constant_text(leaf._value)
    if style == "lazy":
        return f"<lazy {text}>" if text is not None else f"<lazy {_leaf_digest(leaf)} {_input_text(leaf)}>"
    return f"computed({text})" if text is not None else f"computed({_leaf_digest(leaf)}:{_input_text(leaf)})"


def _leaf_digest(leaf: Node) -> str:
    return "?" if leaf._token is None else digest_of_token(leaf._token).short


def _value_of(leaf: Node) -> str:
    return _input_text(leaf) if hasattr(leaf, "_text") else inline_text(leaf._value) or _input_text(leaf)


def _input_text(leaf: Node) -> str:
    text = getattr(leaf, "_text", None)
    if text is not None:
        return str(text)
    # Settings are told apart by what is in them.
    is_dataclass = hasattr(type(leaf._value), "__dataclass_fields__")
    return content_text(leaf._value, _MOST_SETTINGS) if is_dataclass else value_text(leaf._value)


class _Printer:
    """Writes the steps of one expression, inner ones first.

    Parameters
    ----------
    root : Node
        A call.
    most : int
        How many calls are shown.
    one_line : bool
        Whether inputs and shared steps are written where they are used.
    width : int
        From which length on a step gets a line of its own, or is clipped.
    """

    def __init__(self, root: Node, most: int, one_line: bool, width: int = _LINE) -> None:
        self.lines: list[str] = []
        self._root = root
        self._one_line = one_line
        self._width = width
        # Inputs are numbered when the whole text is there, in the order in which they are read.
        self._marks: dict[Any, str] = {}
        self._marked: list[Node] = []
        self._texts: dict[int, Text] = {}
        self._uses: dict[int, int] = {}
        self._shown = self._nearest(most)

    def _nearest(self, most: int) -> dict[int, Node]:
        """Return the calls next to the root, and count their uses."""
        shown = {id(self._root): self._root}
        queue = [self._root]
        for node in queue:
            self._count(node)
            for dep in node._deps:
                if dep._function is not None and id(dep) not in shown and len(shown) < most:
                    shown[id(dep)] = dep
                    queue.append(dep)
        return shown

    def _count(self, node: Node) -> None:
        """Count how often each dependency is written among the arguments."""
        for arg in (*node._args, *node._kwargs.values()):
            for nest in postorder(arg) if is_nest(arg) else ((arg,),):
                for member in members(nest):
                    if isinstance(member, Node):
                        self._uses[id(member)] = self._uses.get(id(member), 0) + 1

    def text(self) -> str:
        """Return the text of the root; the steps before it are in `lines`."""
        stack = [self._root]
        while stack:
            node = stack[-1]
            if id(node) in self._texts:
                stack.pop()
                continue
            missing = [dep for dep in node._deps if id(dep) in self._shown and id(dep) not in self._texts]
            if missing:
                stack.extend(reversed(missing))
                continue
            self._texts[id(node)] = self._named(node, self._step(node))
            stack.pop()
        return self._texts[id(self._root)][0]

    def _named(self, node: Node, step: Text) -> Text:
        text, precedence = step
        if self._one_line:
            return clip(text, self._width), precedence
        if node is self._root or (self._uses.get(id(node)) == 1 and len(text) <= self._width):
            return step
        name = f"e{len(self.lines) + 1}"
        self.lines.append(f"{name} = {text}")
        return name, ATOM

    def _step(self, node: Node) -> Text:
        # The function last: another thread that computes an array takes it away first.
        args, kwargs = node._args, node._kwargs
        function = node._function
        if function is None:
            return self._leaf(node)
        kind = getattr(function, "kind", "call")
        if kind == "infix" and len(args) == 2:
            return self._infix(function, args)
        if kind == "prefix":
            return f"{function.symbol}{self._operand(args[0], UNARY)}", UNARY
        if kind == "index":
            return f"{self._primary(args[0])}[{self._index(args[1])}]", PRIMARY
        if kind == "attribute":
            return f"{self._primary(args[0])}.{args[1]}", PRIMARY
        if kind == "method":
            return f"{self._primary(args[0])}.{args[1]}({self._arguments(args[2:], kwargs)})", PRIMARY
        if kind == "apply":
            return f"{self._primary(args[0])}({self._arguments(args[1:], kwargs)})", PRIMARY
        name = function.name
        if name.startswith("numpy."):
            name = "np." + name.removeprefix("numpy.")
        return f"{name}({self._arguments(args, kwargs)})", PRIMARY

    def _infix(self, function: Any, args: tuple[Any, ...]) -> Text:
        precedence = function.precedence
        if precedence == POWER:
            left, right = PRIMARY, UNARY
        elif precedence == COMPARISON:
            # In Python a < b < c is a chain, which is something else.
            left = right = precedence + 1
        else:
            left, right = precedence, precedence + 1
        return f"{self._operand(args[0], left)} {function.symbol} {self._operand(args[1], right)}", precedence

    def _operand(self, value: Any, least: int) -> str:
        text, precedence = self._value(value, 0)
        return f"({text})" if precedence < least else text

    def _primary(self, value: Any) -> str:
        """Return the text of what stands before a dot or a bracket, where a bare number would be misread."""
        text = self._operand(value, PRIMARY)
        return f"({text})" if text[0].isdigit() else text

    def _arguments(self, args: tuple[Any, ...], kwargs: Any) -> str:
        texts = [self._value(arg, 0)[0] for arg in args]
        texts.extend(f"{name}={self._value(arg, 0)[0]}" for name, arg in kwargs.items())
        return ", ".join(texts)

    def _index(self, index: Any) -> str:
        parts = index if type(index) is tuple and index else (index,)
        texts = [self._slice(part) if type(part) is slice else self._index_part(part) for part in parts]
        return ", ".join(texts) + ("," if type(index) is tuple and len(index) == 1 else "")

    def _index_part(self, part: Any) -> str:
        return "..." if part is Ellipsis else self._value(part, 0)[0]

    def _slice(self, part: slice) -> str:
        start, stop, step = (
            "" if edge is None else self._value(edge, 0)[0] for edge in (part.start, part.stop, part.step)
        )
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    def _value(self, value: Any, depth: int) -> Text:
        if isinstance(value, Node):
            if value._function is not None:
                return self._texts.get(id(value), ("…", ATOM))
            return self._leaf(value)
        if is_nest(value):
            return self._nest(value, depth), ATOM
        text = constant_text(value) or value_text(value)
        return text, UNARY if text.startswith("-") else ATOM

    def _leaf(self, leaf: Node) -> Text:
        text = None if hasattr(leaf, "_text") else inline_text(leaf._value)
        if text is not None:
            return text, UNARY if text.startswith("-") else ATOM
        if self._one_line:
            return _input_text(leaf), ATOM
        identity = (leaf._token, getattr(leaf, "_text", None)) if hasattr(leaf, "_text") else id(leaf._value)
        mark = self._marks.get(identity)
        if mark is None:
            mark = self._marks[identity] = f"\0{len(self._marked)}\0"
            self._marked.append(leaf)
        return mark, ATOM

    def _nest(self, nest: Any, depth: int) -> str:
        if depth == _DEEPEST:
            return "…"
        kind = type(nest)
        if kind is slice:
            parts = [self._value(edge, depth + 1)[0] for edge in (nest.start, nest.stop, nest.step)]
            return f"slice({', '.join(parts)})"
        shown = list(nest.items() if kind is dict else nest)[:_MOST_MEMBERS]
        if kind is dict:
            texts = [
                f"{constant_text(name) or value_text(name)}: {self._value(member, depth + 1)[0]}"
                for name, member in shown
            ]
        elif hasattr(kind, "_fields"):
            texts = [
                f"{name}={self._value(member, depth + 1)[0]}" for name, member in zip(kind._fields, shown, strict=False)
            ]
        else:
            texts = [self._value(member, depth + 1)[0] for member in shown]
        if len(nest) > len(shown):
            texts.append("…")
        inside = ", ".join(texts)
        if kind is dict:
            return f"{{{inside}}}"
        if kind is list:
            return f"[{inside}]"
        if kind is tuple:
            return f"({inside},)" if len(texts) == 1 else f"({inside})"
        return f"{kind.__name__}({inside})"

    def program(self) -> str:
        """Return the lines of the program, and a line for each input that they name."""
        root = self.text()
        names: dict[str, str] = {}

        def name(mark: re.Match[str]) -> str:
            return names.setdefault(mark[1], f"v{len(names) + 1}")

        lines = [_MARK.sub(name, line) for line in (*self.lines, root)]
        inputs = [(text, self._marked[int(mark)]) for mark, text in names.items()]
        texts = [f"{text}: {_leaf_digest(leaf)} {_input_text(leaf)}" for text, leaf in inputs[:_MOST_INPUTS]]
        if len(inputs) > len(texts):
            texts.append(f"… and {len(inputs) - len(texts)} more")
        return "\n".join([*lines, "with", *texts] if texts else lines)


register_text(repr_node)
