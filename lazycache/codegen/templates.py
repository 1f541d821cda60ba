"""Writing calls as source, with places for their operands, so that equal calls are found and made once.

Two calls are the same if they are written the same and have the same operands:
what decides is the source that would run. Constants are written exactly, and
what cannot be written is known by identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

from lazycache.codegen.calls import Call
from lazycache.codegen.steps import Step
from lazycache.codegen.texts import naming, text_of
from lazycache.expressions.nests import NATIVES
from lazycache.expressions.nodes import Node

# No source that is written here has this character in it: `repr` escapes it.
PLACE = "\0"
"""Stands for an operand."""


class Templates:
    """The calls of a program with places for their operands, and the objects that they refer to.

    Parameters
    ----------
    order : list of Step
        Each after its dependencies.
    inputs : mapping
        From the ids of inputs to their names.
    folded : mapping
        Values that have been computed, by the ids of their nodes.

    Attributes
    ----------
    steps : list of Step
        The distinct calls, each after its operands.
    same : dict
        From the ids of calls to those of the first call that is the same, where that is another.
    fixed : dict
        The source of inputs and constants, by id.
    constants : dict
        The objects that the source refers to, by name.
    calls : dict
        What it calls, by name.
    """

    def __init__(self, order: list[Step], inputs: Mapping[int, str], folded: Mapping[int, Any]) -> None:
        self.steps: list[Step] = []
        self.same: dict[int, int] = {}
        self.fixed: dict[int, str] = dict(inputs)
        self.constants: dict[str, Any] = {}
        self.calls: dict[str, Call] = {}
        self._functions: dict[tuple[int, int | str | None], str] = {}
        self._operands: list[int] = []
        self._keep = naming(self.constants)
        for identity, value in folded.items():
            self.fixed[identity] = self._keep(value)
        first: dict[tuple[Any, ...], int] = {}
        for step in order:
            function, identity = step.function, step.identity
            if function is None:
                self.fixed[identity] = text_of(step.node._value, self._text, self._keep)
                continue
            operands = self._operands = step.operands = []
            template = step.template = self._write(step)
            if function.trusted and not function.is_pure:
                found = first.setdefault((template, *operands), identity)
                if found != identity:
                    self.same[identity] = found
                    continue
            self.steps.append(step)

    def _text(self, arg: Any) -> str:
        """Return the source of an argument, with places for the calls in it; they are appended to `_operands`."""
        identity = id(arg)
        text = self.fixed.get(identity)
        if text is not None:
            return text
        if isinstance(arg, Node):
            self._operands.append(self.same.get(identity, identity))
            return PLACE
        text = text_of(arg, self._text, self._keep)
        if type(arg) in NATIVES:
            # The steps hold the arguments, so nothing else gets this id meanwhile.
            self.fixed[identity] = text
        return text

    def _write(self, step: Step) -> str:
        fixed, texts = self.fixed, []
        for arg in step.args:
            # For one or two arguments, as most calls have, a comprehension would be slower.
            texts.append(fixed.get(id(arg)) or self._text(arg))  # noqa: PERF401
        function = step.function
        if step.kwargs:
            return f"{self._function(step)}({', '.join(texts + self._named(step.kwargs))})"
        kind = getattr(function, "kind", None)
        if kind == "infix" and len(texts) == 2:
            left, right = texts
            # A minus binds less than a power does.
            return f"({left}) {function.symbol} {right}" if left[0] == "-" else f"{left} {function.symbol} {right}"
        if kind == "prefix":
            return f"{function.symbol}{texts[0]}"
        if kind == "index" and (texts[0] == PLACE or texts[0].isidentifier()):
            return f"{texts[0]}[{texts[1]}]"
        return f"{self._function(step)}({', '.join(texts)})"

    def _named(self, kwargs: Mapping[str, Any]) -> list[str]:
        written, others = [], []
        for name, arg in kwargs.items():
            if name.isidentifier() and not iskeyword(name):
                written.append(f"{name}={self._text(arg)}")
            else:
                others.append(name)
        if others:
            items = [f"{name!r}: {self._text(kwargs[name])}" for name in others]
            written.append("**{" + ", ".join(items) + "}")
        return written

    def _function(self, step: Step) -> str:
        function = step.function
        # The hashers of a pure function depend on which arguments were nodes.
        backend = getattr(step.node, "_backend", None)
        key = (id(function), step.identity if function.is_pure else backend)
        name = self._functions.get(key)
        if name is None:
            name = self._functions[key] = f"f{len(self._functions)}"
            self.calls[name] = Call(function, backend, step.args)
        return name
