"""The program of some expressions: a line for each node, and the objects that the lines refer to."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

from lazycache.codegen.calls import Call
from lazycache.codegen.merging import merge
from lazycache.codegen.texts import naming, text_of
from lazycache.nests import find_nodes
from lazycache.nodes import Node


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
    program = Program(needed(wanted, {}, {}), wanted, {}, reuse=False)
    objects.update(program.constants)
    objects.update({name: call.resolve() for name, call in program.calls.items()})
    return "\n".join(program.lines)


class Step:
    """A node as it was when it was looked at, since another thread may compute an array meanwhile.

    Attributes
    ----------
    identity : int
        The id of the node.
    function, args, kwargs, deps, value, backend
        What the node has under these names.
    """

    __slots__ = ("args", "backend", "deps", "function", "identity", "kwargs", "value")

    def __init__(self, node: Node) -> None:
        self.identity = id(node)
        # The function last: an array that becomes a leaf loses it first.
        self.args = node._args
        self.kwargs = node._kwargs
        self.deps = node._deps
        self.function = function = node._function
        self.value = node._value if function is None else None
        self.backend = getattr(node, "_backend", None)


class Program:
    """The lines that compute some nodes, and the objects that they refer to.

    Parameters
    ----------
    order : list of Step
        What is needed, each after its dependencies.
    wanted : list of Node
    inputs : mapping
        From the ids of inputs to their names.
    reuse : bool
        Whether a variable is used again once its value is not needed.
    folded : mapping, optional
        Values that have been computed, by the ids of their nodes.
    """

    def __init__(
        self,
        order: list[Step],
        wanted: list[Node],
        inputs: Mapping[int, str],
        reuse: bool = True,
        folded: Mapping[int, Any] | None = None,
    ) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self.calls: dict[str, Call] = {}
        self._names: dict[int, str] = dict(inputs)
        self._functions: dict[tuple[int, int | str | None], str] = {}
        self._keep = naming(self.constants)
        self._free: list[str] = []
        self._variables = 0
        for identity, value in (folded or {}).items():
            self._names[identity] = self._keep(value)
        same = self._same = merge(order)
        uses = self._uses = {same.get(id(node), id(node)): 1 for node in wanted}
        for step in order:
            if step.identity not in same:
                for dep in step.deps:
                    identity = same.get(id(dep), id(dep))
                    uses[identity] = uses.get(identity, 0) + 1
        for step in order:
            if step.identity in same:
                self._names[step.identity] = self._names[same[step.identity]]
            elif step.function is None:
                self._names[step.identity] = text_of(step.value, self.name_of, self._keep)
            else:
                self._write(step, reuse)

    def name_of(self, node: Node) -> str:
        """Return what stands for a node in the source."""
        return self._names[id(node)]

    def _write(self, step: Step, reuse: bool) -> None:
        expression = self._expression(step)
        freed = self._release(step) if reuse else []
        if freed:
            target = freed.pop()
        elif self._free:
            target = self._free.pop()
        else:
            target = f"v{self._variables}"
            self._variables += 1
        self._names[step.identity] = target
        line = f"{target} = {expression}"
        if freed:
            # Otherwise these would keep their values until they are used again.
            line += "; " + " = ".join(freed) + " = None"
            self._free += freed
        self.lines.append(line)

    def _release(self, step: Step) -> list[str]:
        """Return the variables whose values nobody needs after `step`."""
        freed = []
        uses, same = self._uses, self._same
        for dep in step.deps:
            identity = same.get(id(dep), id(dep))
            left = uses[identity] - 1
            uses[identity] = left
            if not left:
                name = self._names[id(dep)]
                if name[0] == "v":
                    freed.append(name)
        return freed

    def _expression(self, step: Step) -> str:
        function = step.function
        names = self._names
        texts = [
            names[id(arg)] if isinstance(arg, Node) else text_of(arg, self.name_of, self._keep) for arg in step.args
        ]
        if not step.kwargs:
            kind = getattr(function, "kind", None)
            if kind == "infix" and len(texts) == 2:
                # A minus binds less than a power does.
                left = f"({texts[0]})" if texts[0][0] == "-" else texts[0]
                return f"{left} {function.symbol} {texts[1]}"
            if kind == "prefix":
                return f"{function.symbol}{texts[0]}"
            if kind == "index" and texts[0].isidentifier():
                return f"{texts[0]}[{texts[1]}]"
            return f"{self._function(step)}({', '.join(texts)})"
        others = {}
        for name, arg in step.kwargs.items():
            text = text_of(arg, self.name_of, self._keep)
            if name.isidentifier() and not iskeyword(name):
                texts.append(f"{name}={text}")
            else:
                others[name] = text
        if others:
            texts.append("**{" + ", ".join(f"{name!r}: {text}" for name, text in others.items()) + "}")
        return f"{self._function(step)}({', '.join(texts)})"

    def _function(self, step: Step) -> str:
        function = step.function
        # The hashers of a pure function depend on which arguments were nodes.
        key = (id(function), step.identity if function.is_pure else step.backend)
        name = self._functions.get(key)
        if name is None:
            name = self._functions[key] = f"f{len(self._functions)}"
            self.calls[name] = Call(function, step.backend, step.args)
        return name


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
    done = set(known)
    order: list[Step] = []
    stack = list(reversed(wanted))
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        step = looked.get(id(node))
        if step is None:
            step = looked[id(node)] = Step(node)
        missing = [dep for dep in step.deps if id(dep) not in done]
        if missing and step.function is not None:
            missing.reverse()
            stack += missing
            continue
        done.add(id(node))
        order.append(step)
        stack.pop()
    return order
