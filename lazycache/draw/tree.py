"""Expressions as trees of text."""

from __future__ import annotations

import sys
from typing import Any

from lazycache.draw.labels import full_text
from lazycache.draw.selecting import roots_of
from lazycache.expressions.nodes import Node

_DEEPEST = 40
"""Levels of indentation that are written; without a bound a chain would take memory quadratic in its length."""


def show_tree(x: Any, filler: str = " ", max_lines: int | None = None, max_depth: int | None = None) -> None:
    """Print an expression as a nested directory.

    Each node has one line; where it is met again the line refers to the first.

    Parameters
    ----------
    x : node or nest of nodes
    filler : str
        What indentation is made of.
    max_lines, max_depth : int, optional
        Where to stop; ``…`` stands for the rest.

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.draw import show_tree
    >>> x = computed(3)
    >>> y = x + 1
    >>> show_tree(y * (y - x))
       0 □ * □
       1 ├─□ + 1
       2 │ ╰─← 3
       3 ╰─□ - □
       4   ├─… line 1
       5   ╰─… line 2
    """
    sys.stdout.write(tree_text(x, filler, max_lines, max_depth))


def tree_text(x: Any, filler: str = " ", max_lines: int | None = None, max_depth: int | None = None) -> str:
    """Return what `show_tree` prints."""
    lines: list[str] = []
    numbers: dict[int, int] = {}
    stack: list[tuple[Node, str, str, int]] = [(root, "", "", 0) for root in reversed(roots_of(x))]
    while stack:
        node, branch, columns, depth = stack.pop()
        if max_lines is not None and len(lines) >= max_lines:
            lines.append("     …")
            break
        number = len(lines)
        start = f"{number:4d} {_indentation(columns, depth)}{branch}"
        if id(node) in numbers:
            lines.append(f"{start}… line {numbers[id(node)]}")
            continue
        numbers[id(node)] = number
        deps = node._deps
        cut = max_depth is not None and depth >= max_depth and deps
        lines.append(f"{start}{_line(node)}{' …' if cut else ''}")
        if cut:
            continue
        onward = columns if depth == 0 else _deeper(columns, branch, filler)
        for place, dep in reversed(list(enumerate(deps))):
            stack.append((dep, "╰─" if place == len(deps) - 1 else "├─", onward, depth + 1))
    return "\n".join(lines) + "\n"


def _line(node: Node) -> str:
    return full_text(node) if node._deps or node._args else f"← {full_text(node)}"


def _deeper(columns: str, branch: str, filler: str) -> str:
    """Return the columns below a line: a bar where more siblings follow."""
    column = "│" + filler if branch == "├─" else filler * 2
    width = len(column)
    # One bar takes as much room as two fillers only if a filler is one character wide.
    if len(filler) != 1:
        return columns + column if len(columns) < _DEEPEST * 2 * width else columns
    return (columns + column)[-_DEEPEST * 2 :]


def _indentation(columns: str, depth: int) -> str:
    hidden = depth - 1 - _DEEPEST
    return f"[+{hidden}] {columns}" if hidden > 0 else columns
