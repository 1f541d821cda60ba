"""Compiling an expression into one Python function with local variables.

A node becomes one assignment. What is not needed any more is overwritten, so an
intermediate lives as long as it must. Values that Python's source cannot write
exactly (arrays, NaN, numpy scalars, dtypes, …) are passed as objects, under
names; so are the functions, of which the program keeps what they are known by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from lazycache.digests import Memo, digest, snapshot
from lazycache.nests import find_nodes, is_nest, members, substitute
from lazycache.nodes import Node

__all__ = ["Function", "get_source", "stringify"]

_LONGEST_INT = 2**63
_LONGEST_TEXT = 200


def stringify(x: Any, params: dict[str, Any]) -> str:
    """Return the source text of an argument; nodes are written as their names.

    Parameters
    ----------
    x : object
        Nodes in tuples, lists, dict values and slices are found.
    params : dict
        Takes what cannot be written exactly, by the name that is written for it.

    Examples
    --------
    >>> params = {}
    >>> stringify((1, "it's", None, float("nan")), params), params
    ('(1, "it\\'s", None, c0)', {'c0': nan})
    """
    return _text(x, lambda node: f"x{id(node)}", _naming(params))


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
    program = _Program(_needed(wanted, {}), wanted, {}, reuse=False)
    objects.update(program.constants)
    objects.update({name: _callable(*call) for name, call in program.calls.items()})
    return "\n".join(program.lines)


class Function:
    """A compiled function of arrays, from the expressions for its inputs and outputs.

    Parameters
    ----------
    inputs : node, or nest of nodes
        What changes between calls.
    outputs : node, or nest of nodes
    fold_constants : bool
        Compute beforehand what does not depend on the inputs.

    Examples
    --------
    >>> import numpy as np
    >>> import lazycache.array as lz
    >>> x, y = lz.Variable((2,)), lz.Variable((2,))
    >>> f = lz.Function({"x": x, "y": y}, [x + y, (x * y).sum()])
    >>> f({"x": np.array([1.0, 2.0]), "y": np.array([3.0, 4.0])})
    [array([4., 6.]), np.float64(11.0)]
    """

    __slots__ = (
        "__name__",
        "__qualname__",
        "__weakref__",
        "_calls",
        "_compiled",
        "_constants",
        "_in_tree",
        "_out_tree",
        "_source",
        "_token",
    )

    def __init__(self, inputs: Any, outputs: Any, fold_constants: bool = True) -> None:
        given = find_nodes(inputs)
        wanted = find_nodes(outputs)
        names = {id(node): f"a{number}" for number, node in enumerate(given)}
        order = _needed(wanted, names)
        folded: dict[int, Any] = {}
        if fold_constants:
            folded = _fold(order, wanted, names)
            if folded:
                order = _needed(wanted, {**names, **folded})
        program = _Program(order, wanted, names, folded=folded)
        arguments = ", ".join(names.values())
        results = ", ".join(program.name_of(node) for node in wanted)
        lines = [f"def compiled({arguments}):", *program.lines, f"return [{results}]"]
        self._source = "\n ".join(lines) + "\n"
        self._calls = program.calls
        self._constants = program.constants
        self._in_tree = substitute(inputs, {id(node): _Slot(number) for number, node in enumerate(given)})
        self._out_tree = substitute(outputs, {id(node): _Slot(number) for number, node in enumerate(wanted)})
        self._token: bytes | None = None
        self._name()
        self._compile()

    def _name(self) -> None:
        self.__name__ = "Function"
        self.__qualname__ = "Function"

    def _compile(self) -> None:
        scope: dict[str, Any] = dict(self._constants)
        scope.update({name: _callable(*call) for name, call in self._calls.items()})
        exec(compile(self._source, "<lazycache function>", "exec"), scope)
        self._compiled: Callable[..., list[Any]] = scope["compiled"]

    def __call__(self, *arrays: Any) -> Any:
        """Return the outputs for arrays in the place of the inputs."""
        flat: list[Any] = []
        _match(self._in_tree, _given(self._in_tree, arrays), flat)
        results = self._compiled(*flat)
        if type(self._out_tree) is _Slot:
            return results[0]
        return _fill(self._out_tree, results)

    @property
    def source(self) -> str:
        """The source code."""
        return self._source

    @property
    def token(self) -> bytes:
        """What the function is known by: its graph, with the inputs numbered by position."""
        if self._token is None:
            self._token = self._take_token()
        return self._token

    def _take_token(self) -> bytes:
        memo = Memo()
        parts = [b"function 1", self._source.encode(), bytes(digest(_shape_of(self._out_tree)))]
        parts.append(bytes(digest(_shape_of(self._in_tree))))
        for name, (function, backend) in sorted(self._calls.items()):
            parts += [name.encode(), function.token, (backend or "").encode()]
        for name in sorted(self._constants):
            # From now on the function keeps a copy of what could change.
            frozen, token = snapshot(self._constants[name], path=name, memo=memo)
            self._constants[name] = frozen
            parts += [name.encode(), token]
        self._compile()
        return sha256(b"".join(b"%d:" % len(part) + part for part in parts)).digest()

    def __lazycache_digest__(self) -> Any:
        return self.token

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self._source, self._calls, self._constants, self._in_tree, self._out_tree, self._token)
        return _restore, state

    def __repr__(self) -> str:
        return f"<Function of {len(_slots(self._in_tree))} inputs, {len(_slots(self._out_tree))} outputs>"


def _restore(source: str, calls: Any, constants: Any, in_tree: Any, out_tree: Any, token: bytes | None) -> Function:
    function = Function.__new__(Function)
    function._source = source
    function._calls = calls
    function._constants = constants
    function._in_tree = in_tree
    function._out_tree = out_tree
    function._token = token
    function._name()
    function._compile()
    return function


class _Slot(int):
    """Where in a nest an input or an output belongs."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Slot, (int(self),)


def _given(tree: Any, arrays: tuple[Any, ...]) -> Any:
    if type(tree) is _Slot or len(arrays) != 1:
        return arrays[0] if type(tree) is _Slot and len(arrays) == 1 else arrays
    one = arrays[0]
    single = not isinstance(tree, Mapping) and len(tree) == 1 and not isinstance(one, (tuple, list))
    return (one,) if single else one


def _match(tree: Any, value: Any, flat: list[Any]) -> None:
    """Append to `flat` what stands in `value` where `tree` has slots."""
    if type(tree) is _Slot:
        if tree == len(flat):
            flat.append(value)
        return
    if isinstance(tree, Mapping):
        if set(tree) != set(value):
            raise TypeError(f"expected inputs {list(tree)}, got {list(value)}")
        for name in tree:
            _match(tree[name], value[name], flat)
        return
    if is_nest(tree):
        inside, values = members(tree), list(value) if not isinstance(value, slice) else members(value)
        if len(inside) != len(values):
            raise TypeError(f"expected {len(inside)} inputs, got {len(values)}")
        for member, one in zip(inside, values, strict=True):
            _match(member, one, flat)


def _fill(tree: Any, results: list[Any]) -> Any:
    if type(tree) is _Slot:
        return results[tree]
    if type(tree) is dict:
        return {name: _fill(member, results) for name, member in tree.items()}
    if type(tree) is list:
        return [_fill(member, results) for member in tree]
    if isinstance(tree, tuple):
        filled = [_fill(member, results) for member in tree]
        return tuple(filled) if type(tree) is tuple else type(tree)._make(filled)  # type: ignore[attr-defined]
    return tree


def _slots(tree: Any) -> list[_Slot]:
    if type(tree) is _Slot:
        return [tree]
    return [slot for member in members(tree) for slot in _slots(member)] if is_nest(tree) else []


def _shape_of(tree: Any) -> Any:
    if type(tree) is _Slot:
        return "slot", int(tree)
    if type(tree) is dict:
        return {name: _shape_of(member) for name, member in tree.items()}
    return [type(tree).__name__, *map(_shape_of, members(tree))] if is_nest(tree) else tree


def _fold(order: list[Node], wanted: list[Node], inputs: Mapping[int, str]) -> dict[int, Any]:
    """Compute what the outputs need and what depends on no input; return the values by the id of their nodes."""
    changing = set(inputs)
    frontier: dict[int, Node] = {}
    for node in order:
        constant = [dep for dep in node._deps if id(dep) not in changing]
        if len(constant) < len(node._deps):
            changing.add(id(node))
            for dep in constant:
                if dep._function is not None:
                    frontier[id(dep)] = dep
    frontier.update((id(node), node) for node in wanted if id(node) not in changing and node._function is not None)
    if not frontier:
        return {}
    constants = list(frontier.values())
    return dict(zip(frontier, Function((), constants, fold_constants=False)(), strict=True))


class _Program:
    """The lines that compute some nodes, and the objects that they refer to.

    Parameters
    ----------
    order : list of Node
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
        order: list[Node],
        wanted: list[Node],
        inputs: Mapping[int, str],
        reuse: bool = True,
        folded: Mapping[int, Any] | None = None,
    ) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self.calls: dict[str, tuple[Any, str | None]] = {}
        self._names: dict[int, str] = dict(inputs)
        self._functions: dict[tuple[int, str | None], str] = {}
        self._keep = _naming(self.constants)
        self._free: list[str] = []
        self._variables = 0
        for identity, value in (folded or {}).items():
            self._names[identity] = self._keep(value)
        uses = self._uses = dict.fromkeys(map(id, wanted), 1)
        for node in order:
            for dep in node._deps:
                identity = id(dep)
                uses[identity] = uses.get(identity, 0) + 1
        for node in order:
            if node._function is None:
                self._names[id(node)] = _text(node._value, self.name_of, self._keep)
            else:
                self._write(node, reuse)

    def name_of(self, node: Node) -> str:
        """Return what stands for a node in the source."""
        return self._names[id(node)]

    def _write(self, node: Node, reuse: bool) -> None:
        expression = self._expression(node)
        freed = self._release(node) if reuse else []
        if freed:
            target = freed.pop()
        elif self._free:
            target = self._free.pop()
        else:
            target = f"v{self._variables}"
            self._variables += 1
        self._names[id(node)] = target
        line = f"{target} = {expression}"
        if freed:
            # Otherwise these would keep their values until they are used again.
            line += "; " + " = ".join(freed) + " = None"
            self._free += freed
        self.lines.append(line)

    def _release(self, node: Node) -> list[str]:
        """Return the variables whose values nobody needs after `node`."""
        freed = []
        uses = self._uses
        for dep in node._deps:
            left = uses[id(dep)] - 1
            uses[id(dep)] = left
            if not left:
                name = self._names[id(dep)]
                if name[0] == "v":
                    freed.append(name)
        return freed

    def _expression(self, node: Node) -> str:
        function = node._function
        names = self._names
        texts = [
            names[id(arg)] if isinstance(arg, Node) else _text(arg, self.name_of, self._keep) for arg in node._args
        ]
        if not node._kwargs:
            kind = getattr(function, "kind", None)
            if kind == "infix" and len(texts) == 2:
                return f"{texts[0]} {function.symbol} {texts[1]}"
            if kind == "prefix":
                return f"{function.symbol}{texts[0]}"
            if kind == "index" and texts[0].isidentifier():
                return f"{texts[0]}[{texts[1]}]"
            return f"{self._function(node)}({', '.join(texts)})"
        texts += [f"{name}={_text(arg, self.name_of, self._keep)}" for name, arg in node._kwargs.items()]
        return f"{self._function(node)}({', '.join(texts)})"

    def _function(self, node: Node) -> str:
        backend = getattr(node, "_backend", None)
        key = (id(node._function), backend)
        name = self._functions.get(key)
        if name is None:
            name = self._functions[key] = f"f{len(self._functions)}"
            self.calls[name] = (node._function, backend)
        return name


def _needed(wanted: list[Node], known: Mapping[int, Any]) -> list[Node]:
    """Return the nodes that the outputs need, each after its dependencies, not looking below those that are known."""
    done = set(known)
    order: list[Node] = []
    stack = list(reversed(wanted))
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        missing = [dep for dep in node._deps if id(dep) not in done]
        if missing:
            missing.reverse()
            stack += missing
            continue
        done.add(id(node))
        order.append(node)
        stack.pop()
    return order


def _callable(function: Any, backend: str | None) -> Callable[..., Any]:
    """Return what a line of a program calls."""
    if backend is not None and hasattr(function, "resolve"):
        return function.resolve(backend)  # type: ignore[no-any-return]
    if function.is_pure:
        return lambda *args: function.call(args, {})
    plain = getattr(function, "function", None)
    if plain is not None and getattr(function, "trusted", False):
        return plain  # type: ignore[no-any-return]
    return lambda *args, **kwargs: function.call(args, kwargs)


def _naming(params: dict[str, Any]) -> Callable[[Any], str]:
    """Return a function that puts an object into `params` and returns its name."""
    names: dict[int, str] = {}

    def keep(value: Any) -> str:
        name = names.get(id(value))
        if name is None or params.get(name) is not value:
            name = f"c{len(params)}"
            while name in params:
                name += "_"
            names[id(value)] = name
            params[name] = value
        return name

    return keep


def _text(value: Any, name_of: Callable[[Node], str], keep: Callable[[Any], str]) -> str:
    """Return the source of a value that evaluates to exactly that value."""
    kind = type(value)
    if kind is int:
        return repr(value) if -_LONGEST_INT < value < _LONGEST_INT else keep(value)
    if kind is float:
        return repr(value) if value - value == 0 else keep(value)
    if value is None or value is Ellipsis or kind is bool:
        return "..." if value is Ellipsis else repr(value)
    if kind is str:
        return repr(value) if len(value) <= _LONGEST_TEXT else keep(value)
    if isinstance(value, Node):
        return name_of(value)
    if not is_nest(value):
        return keep(value)
    inside = [_text(member, name_of, keep) for member in members(value)]
    if kind is tuple:
        return f"({inside[0]},)" if len(inside) == 1 else f"({', '.join(inside)})"
    if kind is list:
        return f"[{', '.join(inside)}]"
    if kind is slice:
        return f"slice({', '.join(inside)})"
    if kind is dict:
        keys = [_text(key, name_of, keep) for key in value]
        return "{" + ", ".join(f"{key}: {text}" for key, text in zip(keys, inside, strict=True)) + "}"
    return f"{keep(kind)}({', '.join(inside)})"
