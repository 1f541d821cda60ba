"""The program of some expressions: its lines, and the objects that they refer to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lazycache.codegen.calls import Call
from lazycache.codegen.steps import Step, needed
from lazycache.codegen.templates import PLACE, Templates
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import Node
from lazycache.expressions.operators import COMPARISON, POWER, PRIMARY

# The compiler of Python recurses into what is nested.
_DEEPEST = 16


def get_source(lz: Any, params: dict[str, Any] | None = None) -> str:
    """Return source code that computes one or more expressions, one line for each node.

    Parameters
    ----------
    lz : node, or nest of nodes
    params : dict, optional
        Takes the objects that the source refers to; with it as globals the source runs.

    Returns
    -------
    str

    Examples
    --------
    >>> from lazycache import computed
    >>> x = computed(2)
    >>> params = {}
    >>> print(get_source((x + 3) * x, params))
    v0 = 2 + 3
    v1 = v0 * 2
    >>> exec(get_source((x + 3) * x, params), params)
    >>> params["v1"]
    10
    """
    objects: dict[str, Any] = {} if params is None else params
    wanted = find_nodes(lz)
    program = Program(needed(wanted, {}, {}), wanted, {}, compact=False)
    objects.update(program.constants)
    objects.update({name: call.resolve() for name, call in program.calls.items()})
    return "\n".join(program.lines)


class Program:
    """The lines that compute some nodes, and the objects that they refer to.

    Parameters
    ----------
    order : list of Step
        What is needed, each after its dependencies.
    wanted : list of Node
    inputs : mapping
        From the ids of inputs to their names.
    compact : bool
        Whether a variable is used again once its value is not needed, and whether a call that
        only the next one needs is written inside it.
    folded : mapping, optional
        Values that have been computed, by the ids of their nodes.
    """

    def __init__(
        self,
        order: list[Step],
        wanted: list[Node],
        inputs: Mapping[int, str],
        compact: bool = True,
        folded: Mapping[int, Any] | None = None,
    ) -> None:
        templates = Templates(order, inputs, folded or {})
        self.lines: list[str] = []
        self.constants: dict[str, Any] = templates.constants
        self.calls: dict[str, Call] = templates.calls
        self._fixed = templates.fixed
        self._same = same = templates.same
        self._names: dict[int, str] = {}
        self._free: list[str] = []
        self._variables = 0
        uses = self._uses = {same.get(id(node), id(node)): 1 for node in wanted}
        for step in templates.steps:
            for operand in step.operands:
                uses[operand] = uses.get(operand, 0) + 1
        if compact:
            self._write_compact(templates.steps)
        else:
            for step in templates.steps:
                self._assign(step, self._filled(step)[0], [])

    def name_of(self, node: Node) -> str:
        """Return what stands for a node in the source."""
        fixed = self._fixed.get(id(node))
        return self._names[self._same.get(id(node), id(node))] if fixed is None else fixed

    def _write_compact(self, steps: list[Step]) -> None:
        uses = self._uses
        inner: Step | None = None
        text = ""
        for step in steps:
            step.nesting = 0
            if inner is not None:
                if uses[inner.identity] == 1 and inner.identity in step.operands:
                    step.nesting = inner.nesting + 1
                    self._names[inner.identity] = _bracketed(text, inner, step)
                else:
                    self._assign(inner, text, [])
                    inner = None
            text, freed = self._filled(step, inner)
            # Where something is freed the line ends, since a variable keeps its value to the end of the line.
            if freed or step.nesting == _DEEPEST:
                self._assign(step, text, freed)
                inner = None
            else:
                inner = step
        if inner is not None:
            self._assign(inner, text, [])

    def _filled(self, step: Step, inner: Step | None = None) -> tuple[str, list[str]]:
        """Return the source of a call, and the variables whose values nobody needs after it."""
        text, freed = step.template, []
        names, uses = self._names, self._uses
        for operand in step.operands:
            name = names[operand]
            text = text.replace(PLACE, name, 1)
            left = uses[operand] - 1
            uses[operand] = left
            if not left and (inner is None or operand != inner.identity):
                freed.append(name)
        return text, freed

    def _assign(self, step: Step, text: str, freed: list[str]) -> None:
        if freed:
            target = freed.pop()
        elif self._free:
            target = self._free.pop()
        else:
            target = f"v{self._variables}"
            self._variables += 1
        self._names[step.identity] = target
        line = f"{target} = {text}"
        if freed:
            # Otherwise these would keep their values until they are used again.
            line += "; " + " = ".join(freed) + " = None"
            self._free += freed
        self.lines.append(line)


def _bracketed(text: str, inner: Step, outer: Step) -> str:
    """Return the source of a call as it is written inside another."""
    kind = getattr(outer.function, "kind", None)
    if outer.kwargs or kind not in ("infix", "prefix", "index"):
        return text
    binds = outer.function.precedence
    own = PRIMARY if inner.kwargs else getattr(inner.function, "precedence", PRIMARY)
    is_left = outer.template[0] == PLACE and outer.operands[0] == inner.identity
    chains = is_left and binds not in (COMPARISON, POWER)
    return text if own > binds or (own == binds and chains) else f"({text})"
