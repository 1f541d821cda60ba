"""What is written on a node: one call, its function, and what is known of its result."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from lazycache.expressions.nodes import Node
from lazycache.expressions.operators import ATOM
from lazycache.show import Text, _Printer, summary
from lazycache.valuetext import clip

INPUT = "input"
VARIABLE = "variable"
SLOT = "\N{WHITE SQUARE}"
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


class _OneCall(_Printer):
    """Writes one call, with a square for each node in its arguments, and little of numpy's dtypes and numbers."""

    def _value(self, value: Any, depth: int) -> Text:
        if isinstance(value, Node):
            return SLOT, ATOM
        if isinstance(value, np.dtype):
            return str(value), ATOM
        if isinstance(value, (np.floating, np.complexfloating, np.integer)):
            text = str(value) if isinstance(value, np.integer) else format(value, ".6g")
            return text if text.isalpha() or text.replace(".", "", 1).isdigit() else f"({text})", ATOM
        return super()._value(value, depth)


def visible(text: str) -> str:
    """Return `text` with control characters, and others that no picture can hold, written as escapes."""
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def is_array(node: Node) -> bool:
    """Say whether the node is a LazyArray, whose shape and dtype are known."""
    # Looked for on the class, as ordinary nodes refuse private names.
    return hasattr(type(node), "_shape")


def is_variable(node: Node) -> bool:
    """Say whether the node is a place for data that are given later."""
    if not is_array(node) or node._function is None:
        return False
    from lazycache.array.functions import Unbound

    return isinstance(node._function, Unbound)


def is_input(node: Node) -> bool:
    """Say whether nothing is called for the node's value."""
    return node._function is None or is_variable(node)


def function_of(node: Node) -> str:
    """Return the full name of what a node calls; ``"input"`` or ``"variable"`` where it calls nothing.

    Methods and attributes go by their own names.
    """
    if node._function is None:
        return INPUT
    if is_variable(node):
        return VARIABLE
    kind = getattr(node._function, "kind", "call")
    if kind in ("method", "attribute") and len(node._args) > 1:
        return visible(f".{node._args[1]}" + ("()" if kind == "method" else ""))
    return visible(str(node._function.name))


def short_names(names: list[str]) -> dict[str, str]:
    """Return for each full name of a function its last part, or itself where two have the same last part.

    Examples
    --------
    >>> short_names(["numpy.sin", "run.parse", "other.parse"])
    {'numpy.sin': 'sin', 'run.parse': 'run.parse', 'other.parse': 'other.parse'}
    """
    last = {name: name if name.startswith(".") else name.rpartition(".")[2] or name for name in names}
    shared = Counter(last.values())
    return {name: short if shared[short] == 1 else name for name, short in last.items()}


def call_text(node: Node, limit: int = 60) -> str:
    """Return one call, with a square for each node in its arguments; for an input what it is.

    Examples
    --------
    >>> from lazycache import computed
    >>> x = computed(2)
    >>> call_text((x + 1) ** 3), call_text(x)
    ('□ ** 3', '2')
    """
    if node._function is None:
        return "array" if is_array(node) else visible(summary(node, limit))
    if is_variable(node):
        return visible(str(node._function.name))
    return clip(visible(_OneCall(node, 1, one_line=True, width=limit).text()), limit)


def box_text(node: Node, limit: int = 28) -> str:
    """Return what fits on a box: like `call_text`, with the name of the function alone, and no module."""
    text = call_text(node, 10 * limit)
    if node._function is not None and getattr(node._function, "kind", "call") == "call":
        name, bracket, arguments = text.partition("(")
        text = name.rpartition(".")[2] + bracket + arguments
    return clip(text, limit)


def result_text(node: Node) -> str:
    """Return shape and dtype of a LazyArray; for other nodes nothing.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> result_text(lz.Variable((2, 3), dtype="f4"))
    '(2, 3) float32'
    """
    if not is_array(node):
        return ""
    sizes = ["?" if size is None else str(size) for size in node._shape]  # type: ignore[attr-defined]
    shape = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
    dtype = node._dtype  # type: ignore[attr-defined]
    return shape if dtype is None else f"{shape} {dtype}"


def full_text(node: Node) -> str:
    """Return one line that says what the node is and what it gives."""
    text, result = call_text(node), result_text(node)
    if not result:
        return text
    return f"{text} {result}" if is_input(node) else f"{text} \N{RIGHTWARDS ARROW} {result}"
