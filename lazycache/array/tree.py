"""The computation of an array as a tree of text."""

from __future__ import annotations

from typing import Any

from lazycache.array.history import function_name
from lazycache.array.node import ArrayNode
from lazycache.nests import find_nodes
from lazycache.nodes import Node
from lazycache.valuetext import clip

_WIDTH = 60


def tree(root: Node, filler: str = " ", max_lines: int | None = None, max_depth: int | None = None) -> str:
    """Return one line for each node, indented by depth; a node met again refers to its line.

    Parameters
    ----------
    root : Node
    filler : str
        What indentation is made of.
    max_lines, max_depth : int, optional
        Where to stop; ``…`` stands for the rest.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> x = lz.Variable((2, 3))
    >>> y = x + 1.0
    >>> print(tree(y * y), end="")
       0 multiply(#, #) -> (2, 3)
       1 ╰─add(#, 1.0) -> (2, 3)
       2   ╰─<- (2, 3)
    """
    lines: list[str] = []
    numbers: dict[int, int] = {}
    stack: list[tuple[Node, str, str, int]] = [(root, "", "", 0)]
    while stack:
        node, before, below, depth = stack.pop()
        if max_lines is not None and len(lines) >= max_lines:
            lines.append("   …")
            break
        number = len(lines)
        if id(node) in numbers:
            lines.append(f"{number:4d} {before}… line {numbers[id(node)]}")
            continue
        numbers[id(node)] = number
        deps = node._deps
        cut = max_depth is not None and depth >= max_depth and deps
        lines.append(f"{number:4d} {before}{_label(node)}{' …' if cut else ''}")
        if cut:
            continue
        for place, dep in reversed(list(enumerate(deps))):
            last = place == len(deps) - 1
            branch, onward = ("╰─", filler * 2) if last else ("├─", "│" + filler)
            stack.append((dep, below + branch, below + onward, depth + 1))
    return "\n".join(lines) + "\n"


def _label(node: Node) -> str:
    shape = f"{node._shape}" if isinstance(node, ArrayNode) else "?"
    if not node._deps and not node._args:
        return f"<- {shape}" if isinstance(node, ArrayNode) else f"<- {type(node).__name__}"
    texts = [_text(arg) for arg in node._args]
    texts.extend(f"{name}={_text(value)}" for name, value in node._kwargs.items())
    return f"{function_name(node)}({clip(', '.join(texts), _WIDTH)}) -> {shape}"


def _text(arg: Any) -> str:
    if isinstance(arg, Node):
        return "#"
    if isinstance(arg, (tuple, list)) and find_nodes(arg):
        inside = ", ".join(map(_text, arg[:10]))
        return f"({inside})" if isinstance(arg, tuple) else f"[{inside}]"
    return clip(repr(arg), _WIDTH) if not isinstance(arg, slice) else _slice_text(arg)


def _slice_text(part: slice) -> str:
    start, stop, step = ("" if edge is None else _text(edge) for edge in (part.start, part.stop, part.step))
    return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
