"""Function: expressions compiled into one function of their inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from lazycache.codegen.program import Program
from lazycache.codegen.steps import Step, needed
from lazycache.codegen.texts import Slot
from lazycache.digests import Memo, digest, snapshot
from lazycache.expressions.freezing import portable, refreeze
from lazycache.expressions.nests import is_nest, members, substitute
from lazycache.expressions.nodes import Node
from lazycache.graph import find_roots


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
        given = find_roots(inputs)
        wanted = find_roots(outputs)
        names = {id(node): f"a{number}" for number, node in enumerate(given)}
        looked: dict[int, Step] = {}
        order = needed(wanted, names, looked)
        arguments = ", ".join(names.values())
        copies = _copies(given, order)
        if copies:
            names.update({identity: names[original] for identity, original in copies.items()})
            order = needed(wanted, names, looked)
        folded: dict[int, Any] = {}
        if fold_constants:
            folded = _fold(order, wanted, names)
            if folded:
                order = needed(wanted, {**names, **folded}, looked)
        program = Program(order, wanted, names, folded=folded)
        results = ", ".join(program.name_of(node) for node in wanted)
        lines = [f"def compiled({arguments}):", *program.lines, f"return [{results}]"]
        self._source = "\n ".join(lines) + "\n"
        self._calls = program.calls
        self._constants = program.constants
        self._in_tree = substitute(inputs, {id(node): Slot(number) for number, node in enumerate(given)})
        self._out_tree = substitute(outputs, {id(node): Slot(number) for number, node in enumerate(wanted)})
        self._token: bytes | None = None
        self._name()
        self._compile()

    def _name(self) -> None:
        self.__name__ = "Function"
        self.__qualname__ = "Function"

    def _compile(self) -> None:
        scope: dict[str, Any] = dict(self._constants)
        scope.update({name: call.resolve() for name, call in self._calls.items()})
        exec(compile(self._source, "<lazycache function>", "exec"), scope)
        self._compiled: Callable[..., list[Any]] = scope["compiled"]

    def __call__(self, *arrays: Any) -> Any:
        """Return the outputs for arrays in the place of the inputs."""
        flat: list[Any] = []
        _match(self._in_tree, _given(self._in_tree, arrays), flat)
        results = self._compiled(*flat)
        if type(self._out_tree) is Slot:
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
        for name, call in sorted(self._calls.items()):
            parts += [name.encode(), call.function.token, (call.backend or "").encode()]
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
        constants = {name: portable(value) for name, value in self._constants.items()}
        state = (self._source, self._calls, constants, self._in_tree, self._out_tree, self._token)
        return _restore, state

    def __repr__(self) -> str:
        inputs, outputs = len(_slots(self._in_tree)), len(_slots(self._out_tree))
        return f"<Function of {inputs} input{'s' * (inputs != 1)}, {outputs} output{'s' * (outputs != 1)}>"


def _restore(source: str, calls: Any, constants: Any, in_tree: Any, out_tree: Any, token: bytes | None) -> Function:
    function = Function.__new__(Function)
    function._source = source
    function._calls = calls
    function._constants = {name: refreeze(value, None) for name, value in constants.items()}
    function._in_tree = in_tree
    function._out_tree = out_tree
    function._token = token
    function._name()
    function._compile()
    return function


def _given(tree: Any, arrays: tuple[Any, ...]) -> Any:
    if type(tree) is Slot:
        if len(arrays) != 1:
            raise TypeError(f"expected 1 input, got {len(arrays)}")
        return arrays[0]
    if len(arrays) != 1:
        return arrays
    one = arrays[0]
    if isinstance(tree, Mapping) or isinstance(one, (tuple, list, slice)):
        return one
    if len(members(tree)) == 1:
        return (one,)
    raise TypeError(f"expected {len(members(tree))} inputs, got one {type(one).__name__}")


def _match(tree: Any, value: Any, flat: list[Any]) -> None:
    """Append to `flat` what stands in `value` where `tree` has slots."""
    if type(tree) is Slot:
        if tree == len(flat):
            flat.append(value)
        elif _differ(value, flat[tree]):
            raise ValueError(f"two arrays are given for input {int(tree)}, which is among the inputs twice")
        return
    if isinstance(tree, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a dict of inputs {list(tree)}, got {type(value).__name__}")
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


def _differ(value: Any, first: Any) -> bool:
    """Say whether two arrays are given for one input, as far as that can be seen at once."""
    if value is first or not (isinstance(value, np.ndarray) and isinstance(first, np.ndarray)):
        return False
    return not np.array_equal(value, first, equal_nan=value.dtype.kind in "fc" and first.dtype.kind in "fc")


def _fill(tree: Any, results: list[Any]) -> Any:
    if type(tree) is Slot:
        return results[tree]
    if type(tree) is dict:
        return {name: _fill(member, results) for name, member in tree.items()}
    if type(tree) is list:
        return [_fill(member, results) for member in tree]
    if type(tree) is slice:
        return slice(*[_fill(member, results) for member in members(tree)])
    if isinstance(tree, tuple):
        filled = [_fill(member, results) for member in tree]
        return tuple(filled) if type(tree) is tuple else type(tree)._make(filled)  # type: ignore[attr-defined]
    return tree


def _slots(tree: Any) -> list[Slot]:
    if type(tree) is Slot:
        return [tree]
    return [slot for member in members(tree) for slot in _slots(member)] if is_nest(tree) else []


def _shape_of(tree: Any) -> Any:
    if type(tree) is Slot:
        return "slot", int(tree)
    if type(tree) is dict:
        return {name: _shape_of(member) for name, member in tree.items()}
    return [type(tree).__name__, *map(_shape_of, members(tree))] if is_nest(tree) else tree


def _copies(given: list[Node], order: list[Step]) -> dict[int, int]:
    """Find copies of the inputs, which unpickling makes; return the ids of the inputs by those of the copies."""
    originals = {node._function.token: id(node) for node in given if getattr(node._function, "is_unbound", False)}
    unbound = [step for step in order if getattr(step.function, "is_unbound", False)] if originals else []
    return {step.identity: originals[step.function.token] for step in unbound if step.function.token in originals}


def _fold(order: list[Step], wanted: list[Node], inputs: Mapping[int, str]) -> dict[int, Any]:
    """Compute what the outputs need and what depends on no input; return the values by the id of their nodes."""
    changing = set(inputs)
    constants: dict[int, Step] = {}
    for step in order:
        for dep in step.deps:
            if id(dep) in changing:
                changing.add(step.identity)
                break
        else:
            if step.function is not None:
                constants[step.identity] = step
    if not constants:
        return {}
    frontier = {id(node): node for node in wanted if id(node) in constants}
    for step in order:
        if step.identity in changing:
            frontier.update((id(dep), dep) for dep in step.deps if id(dep) in constants)
    values = Function((), list(frontier.values()), fold_constants=False)()
    return dict(zip(frontier, values, strict=True))
