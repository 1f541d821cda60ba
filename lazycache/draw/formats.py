"""Expressions as graphs of other tools: networkx, Graphviz, Mermaid."""

from __future__ import annotations

import re
from typing import Any

from lazycache.draw.labels import call_text, function_of, is_input, result_text
from lazycache.draw.optional import need
from lazycache.draw.selecting import Selection, select

# Beyond what would end a label, Mermaid takes some for Markdown: emphasis, and "1." as a list.
_MERMAID_SPECIAL = re.compile(r"[^A-Za-z0-9 .,:=/()']|[.](?= )")


def to_networkx(x: Any) -> Any:
    """Return an expression as a directed graph, from the inputs to the results.

    Nodes are numbers, in the order of evaluation. Their attributes are
    ``label``, ``function`` (``"input"`` or ``"variable"`` where nothing is
    called), ``result`` (shape and dtype, where known) and ``node``, the
    expression itself.

    Parameters
    ----------
    x : node or nest of nodes

    Returns
    -------
    networkx.DiGraph

    Raises
    ------
    ImportError
        If networkx is not installed.

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.draw import to_networkx
    >>> x = computed(3)
    >>> graph = to_networkx((x + 1) * x)
    >>> list(graph.edges), graph.nodes[1]["label"]
    ([(0, 1), (0, 2), (1, 2)], '□ + 1')
    """
    graph = need("networkx").DiGraph()
    selection = select(x, None)
    for position, node in enumerate(selection.nodes):
        graph.add_node(position, label=call_text(node), function=function_of(node), result=result_text(node), node=node)
    graph.add_edges_from(selection.edges)
    return graph


def to_dot(x: Any, max_nodes: int | None = None) -> str:
    """Return an expression in the language of Graphviz.

    Parameters
    ----------
    x : node or nest of nodes
    max_nodes : int, optional
        Shorten to those next to the result.

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.draw import to_dot
    >>> print(to_dot(computed("a") + "b"))
    digraph {
      node [shape=box style="rounded,filled" fillcolor="#ffffff" fontname="sans-serif" fontsize=10];
      n0 [label="'a'" fillcolor="#ececec"];
      n1 [label="□ + 'b'" penwidth=2];
      n0 -> n1;
    }
    """
    selection = select(x, max_nodes)
    lines = [
        "digraph {",
        '  node [shape=box style="rounded,filled" fillcolor="#ffffff" fontname="sans-serif" fontsize=10];',
    ]
    if selection.note:
        lines.append(f'  label="{_dot(selection.note)}";')
    for position, node in enumerate(selection.nodes):
        look = ' fillcolor="#ececec"' if is_input(node) else ""
        look += " penwidth=2" if position in selection.roots else ""
        text = r"\n".join(map(_dot, _texts(selection, position)))
        lines.append(f'  n{position} [label="{text}"{look}];')
    lines.extend(f"  n{dep} -> n{user};" for dep, user in selection.edges)
    return "\n".join([*lines, "}"])


def to_mermaid(x: Any, max_nodes: int | None = 250) -> str:
    """Return an expression as a flow chart of Mermaid, as Markdown pages show it.

    Parameters
    ----------
    x : node or nest of nodes
    max_nodes : int, optional
        Shorten to those next to the result: Mermaid refuses more than 500 edges by default.

    Examples
    --------
    >>> from lazycache import computed
    >>> from lazycache.draw import to_mermaid
    >>> print(to_mermaid(computed("a") + "b"))
    flowchart TB
      n0("'a'"):::input
      n1["#9633; #43; 'b'"]:::result
      n0 --> n1
      classDef input fill:#ececec,stroke:#888,color:#222
      classDef result stroke-width:3px
    """
    selection = select(x, max_nodes)
    lines = ["flowchart TB"]
    if selection.note:
        lines.append(f'  note["{_mermaid(selection.note)}"]:::input')
    for position, node in enumerate(selection.nodes):
        text = "<br/>".join(map(_mermaid, _texts(selection, position)))
        box = f'("{text}"):::input' if is_input(node) else f'["{text}"]'
        if position in selection.roots and not is_input(node):
            box += ":::result"
        lines.append(f"  n{position}{box}")
    lines.extend(f"  n{dep} --> n{user}" for dep, user in selection.edges)
    lines.append("  classDef input fill:#ececec,stroke:#888,color:#222")
    lines.append("  classDef result stroke-width:3px")
    return "\n".join(lines)


def _texts(selection: Selection, position: int) -> list[str]:
    """Return the lines of a label."""
    node = selection.nodes[position]
    lines = [call_text(node)]
    if result := result_text(node):
        lines.append(result)
    if position in selection.cut:
        lines.append("(of more)")
    return lines


def _dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _mermaid(text: str) -> str:
    return _MERMAID_SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)
