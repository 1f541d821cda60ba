"""Evaluating expressions: order, dropping of intermediates, nested pure calls.

Nothing here takes keys or knows a store. The walk in `Evaluation` also serves
the cached evaluation, which overrides what is known beforehand and how a pure
call is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lazycache import current
from lazycache.blocks import in_memory, whole
from lazycache.expressions.nests import NATIVES
from lazycache.expressions.nodes import Callee
from lazycache.expressions.operators import Operation
from lazycache.expressions.tree import HashedLeaf, Node
from lazycache.files import mark_young
from lazycache.graph import find_roots, substitute
from lazycache.protection import protect
from lazycache.show import summary
from lazycache_storage.record import FileState

MISSING: Any = object()
"""Stands for a value that is not there; None is a value."""

_CONTAINERS = (tuple, list, dict, slice)

_RETURN = Operation("return", lambda value: value)


class PlainEvaluator:
    """Evaluates nested pure calls without a cache."""

    def __call__(self, expression: Any, /) -> Any:
        """Return `expression` with each node replaced by its value."""
        roots = find_roots(expression)
        if not roots:
            return expression
        tell_watcher(state for root in roots for leaf in root._inputs for state in leaf._files)
        evaluation = Evaluation(roots, self)
        evaluation.plan()
        evaluation.run_in_order()
        values = {id(root): evaluation.demand(root) for root in roots}
        return substitute(expression, values)

    def __reduce__(self) -> str:
        # There is one in each process.
        return "PLAIN"


PLAIN = PlainEvaluator()


class Evaluation:
    """One evaluation of a graph: values on demand, each dropped after its last use.

    Parameters
    ----------
    roots : sequence of Node
        What is asked for; their values are kept to the end.
    evaluator : Evaluator
        What nested pure calls are evaluated with.
    """

    def __init__(self, roots: Sequence[Node], evaluator: current.Evaluator) -> None:
        self._roots = roots
        self._evaluator = evaluator
        self._values: dict[int, Any] = {}
        self._uses: dict[int, int] = {}
        self._finished: set[int] = set()
        self._order: list[Node] = []
        # The ids of calls that may be known without being run: stored ones, and those with the key of another.
        self._special: set[int] = set()

    def plan(self) -> None:
        """Walk down from the roots and count who uses what."""
        uses, order, look = self._uses, self._order, self._look
        entered: set[int] = set()
        stack: list[Node | None] = []
        for root in reversed(self._roots):
            uses[id(root)] = uses.get(id(root), 0) + 1
            stack.append(root)
        while stack:
            node = stack.pop()
            if node is None:
                # What it needs has been met.
                order.append(stack.pop())  # type: ignore[arg-type]
                continue
            if id(node) in entered:
                continue
            entered.add(id(node))
            stack += (node, None)
            for dep in reversed(look(node)):
                below = id(dep)
                uses[below] = uses.get(below, 0) + 1
                if below not in entered:
                    stack.append(dep)

    def needs(self, node: Node) -> Sequence[Node]:
        """Return the nodes whose values `node` is made from."""
        return node._deps

    def _look(self, node: Node) -> Sequence[Node]:
        """Do what `needs` does, the first time that `node` is met."""
        return node._deps

    def known(self, node: Node) -> Any:
        """Return the value of a node that needs no others, or MISSING."""
        return leaf_value(node) if node._function is None else MISSING

    def demand(self, root: Node) -> Any:
        """Return the value of `root`, running what it needs."""
        return whole(self.reach(root))

    def reach(self, root: Node) -> Any:
        """Do what `demand` does, but leave an array on disk where it is."""
        values, special = self._values, self._special
        stack: list[Node | None] = [root]
        while stack:
            node = stack.pop()
            if node is None:
                # What it needs has a value.
                node = stack.pop()
                if node is not None and id(node) not in values:
                    values[id(node)] = self._run(node)
                    self.finish(node)
                continue
            if id(node) in values:
                continue
            if node._function is None or id(node) in special:
                value = self.known(node)
                if value is not MISSING:
                    values[id(node)] = value
                    continue
            stack += (node, None)
            stack += [dep for dep in reversed(node._deps) if id(dep) not in values]
        return values[id(root)]

    def run_in_order(self, last: Node | None = None) -> None:
        """Run all nodes in the order of the plan, up to `last`, where none but leaves is known beforehand.

        It does what `demand` does in fewer steps.
        """
        values, uses, finished = self._values, self._uses, self._finished
        for node in self._order:
            if node is last:
                break
            identity = id(node)
            if identity in values:
                continue
            deps = node._deps
            if node._function is None:
                values[identity] = self.known(node)
                continue
            values[identity] = self._run(node)
            finished.add(identity)
            for dep in deps:
                below = id(dep)
                left = uses[below] - 1
                uses[below] = left
                if not left:
                    values.pop(below, None)

    def finish(self, node: Node) -> None:
        """Say that `node` needs its dependencies no longer."""
        stack = [node]
        while stack:
            node = stack.pop()
            if id(node) in self._finished:
                continue
            self._finished.add(id(node))
            for dep in self.needs(node):
                left = self._uses[id(dep)] - 1
                self._uses[id(dep)] = left
                if left == 0:
                    self._values.pop(id(dep), None)
                    stack.append(dep)

    def _run(self, node: Node) -> Any:
        # The function last: another thread that computes an array takes it away first.
        given, named = node._args, node._kwargs
        function = node._function
        if function is None:
            return leaf_value(node)
        try:
            args = gather(given, self._values)
            kwargs = {name: gather_one(value, self._values) for name, value in named.items()} if named else {}
            if function.is_pure:
                return self.run_pure(node, args, kwargs)
            if not function.trusted:
                return self.run_operation(node, function, args, kwargs)
            value = function.call(args, kwargs)
            return self.run_operation(node, _RETURN, (value,), {}) if isinstance(value, Node) else value
        except Exception as error:
            annotate(error, node)
            raise

    def text(self, node: Node) -> str:
        """Return what messages and records call `node`."""
        return summary(node)

    def run_pure(self, node: Node, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run a pure call on the values of its arguments."""
        resolved = node._function.resolve_arguments(node._args, args)
        tell_watcher(resolved.files)
        value, nested = call_pure(node._function, resolved.args, kwargs, self._evaluator, None)
        tell_watcher(nested)
        return value

    def run_operation(self, node: Node, function: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ARG002
        """Call a method, or a value, on the values of its arguments."""
        value, nested = call_operation(function, args, kwargs, self._evaluator)
        tell_watcher(nested)
        return value


def tell_watcher(states: Iterable[FileState]) -> None:
    """Tell the pure call that is running, if its result may be stored, what is read on its behalf."""
    frame = inner = current.frame()
    while frame is not None and frame.evaluator is PLAIN:
        frame = frame.parent
    if frame is not None and inner is not None:
        inner.files.extend(mark_young(states, in_key=False))


def leaf_value(leaf: Node) -> Any:
    """Return the value of a leaf; where its key was taken, in a form that cannot be used to change it."""
    if leaf._token is None or isinstance(leaf, HashedLeaf):
        return leaf._value
    return protect(leaf._value)


def call_pure(
    function: Callee,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    evaluator: current.Evaluator,
    key: bytes | None,
    collect: Callable[[Any], Any] = in_memory,
) -> tuple[Any, list[Any]]:
    """Run the body of a pure call in a frame of its own.

    Returns
    -------
    result : object
        What the body returned; an expression in it has been evaluated, and
        `collect` has been called with it.
    files : list of FileState
        What nested pure calls read.
    """
    outer = current.running.get()
    frame = current.Frame(evaluator, key, function.name, outer)
    try:
        current.running.set(frame)
        result = function.call(args, kwargs)
        if isinstance(result, Node) or type(result) in _CONTAINERS:
            result = evaluator(result)
        return collect(result), frame.files
    finally:
        current.running.set(outer)


def call_operation(
    function: Callee,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    evaluator: current.Evaluator,
    key: bytes | None = None,
) -> tuple[Any, list[Any]]:
    """Call what is not a pure function.

    Unless it is trusted, it may be code of the user's: it cannot spoil its
    arguments, and pure functions that it calls give values, as in a pure body.

    Returns
    -------
    result : object
        An expression, if that is what it returned, has been evaluated.
    files : list of FileState
        What nested pure calls read.
    """
    if function.trusted:
        result = function.call(args, kwargs)
        if not isinstance(result, Node):
            return result, []
        # A property or an operator of a class of the user's has called a pure function.
        return _in_frame(lambda: result, function.name, evaluator, key)
    args = tuple([protect(arg) for arg in args])
    kwargs = {name: protect(value) for name, value in kwargs.items()}
    return _in_frame(lambda: function.call(args, kwargs), function.name, evaluator, key)


def _in_frame(
    work: Callable[[], Any], name: str, evaluator: current.Evaluator, key: bytes | None
) -> tuple[Any, list[Any]]:
    """Return what `work` returns, an expression evaluated, and what nested pure calls read."""
    outer = current.running.get()
    frame = current.Frame(evaluator, key, name, outer)
    try:
        current.running.set(frame)
        result = work()
        return evaluator(result) if isinstance(result, Node) else result, frame.files
    finally:
        current.running.set(outer)


def gather(args: Iterable[Any], values: Mapping[int, Any]) -> tuple[Any, ...]:
    """Return arguments with each node replaced by its value."""
    return tuple(
        [
            values[id(arg)] if isinstance(arg, Node) else arg if type(arg) in NATIVES else gather_one(arg, values)
            for arg in args
        ]
    )


def gather_one(arg: Any, values: Mapping[int, Any]) -> Any:
    """Return one argument with each node in it replaced by its value."""
    if isinstance(arg, Node):
        return values[id(arg)]
    if isinstance(arg, _CONTAINERS):
        return substitute(arg, values)
    return arg


def annotate(error: BaseException, node: Node, text: str = "") -> None:
    """Add a note that names the node; once per node and exception."""
    note = f"while computing {text or summary(node)}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
