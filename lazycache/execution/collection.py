"""Expressions as dask collections, so that ``dask.compute(e)`` evaluates them; dask is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from lazycache.evaluation import PLAIN, Evaluation
from lazycache.execution.stand_ins import StandIn, detach
from lazycache.expressions.keys import key, node_token
from lazycache.expressions.nodes import inner_first
from lazycache.expressions.tree import Node, computed


class Argument(StandIn):
    """A call below, whose value the scheduler brings; its content is which one of them it is."""

    __slots__ = ()


class Shell:
    """A call with places for the values of the calls below; dask does not look inside."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __call__(self, *values: Any) -> Any:
        """Return the value of the call."""
        evaluation = Evaluation([self._node], PLAIN)
        evaluation.plan()
        for dep in self._node._deps:
            if isinstance(dep, Argument):
                evaluation._values[id(dep)] = values[dep._content]
        return evaluation.demand(self._node)


def run_call(shell: Shell, *values: Any) -> Any:
    """Run one task of the graph."""
    return shell(*values)


class Graph(Mapping[str, Any]):
    """The tasks of an expression, made when somebody looks: dask asks every operand for its graph.

    Parameters
    ----------
    root : Node
    """

    def __init__(self, root: Node) -> None:
        self._root = root

    @cached_property
    def _tasks(self) -> dict[str, Any]:
        name = name_of(self._root)
        calls = [node for node in inner_first([self._root]) if node._function is not None]
        return {name_of(node): _task(node) for node in calls} or {name: (run_call, Shell(self._root))}

    def __getitem__(self, name: str) -> Any:
        return self._tasks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


def _task(node: Node) -> tuple[Any, ...]:
    places: dict[int, int] = {}
    names: list[str] = []

    def argument(dep: Node) -> Node:
        places[id(dep)] = len(names)
        names.append(name_of(dep))
        return Argument(node_token(dep), "", places[id(dep)])

    return run_call, Shell(detach(node, argument)), *names


def name_of(node: Node) -> str:
    """Return what dask calls the value of a node."""
    return f"lazycache-{key(node).hex()}"


def _first(results: Sequence[Any]) -> Any:
    return results[0]


def _persisted(values: Mapping[str, Any], node: Node, *, rename: Mapping[str, str] | None = None) -> Node:
    name = name_of(node)
    value = values[name if rename is None else rename.get(name, name)]
    if _is_task(value):
        # ``dask.optimize`` rebuilds collections of the tasks; an expression stays as it is.
        return node
    if type(value).__module__.partition(".")[0] == "distributed":
        value = value.result()
    if not hasattr(node, "_settle"):
        return computed(value)
    settled = node._from_state(*node._state())
    settled._settle(value)  # type: ignore[attr-defined]
    return settled


def _is_task(value: Any) -> bool:
    if type(value) is tuple:
        return bool(value) and value[0] is run_call
    return type(value).__module__.startswith("dask._task")


class Collection:
    """The parts of dask's protocol, for any node."""

    def graph(self, node: Node) -> Mapping[str, Any]:
        """Return the tasks."""
        return Graph(node)

    def names(self, node: Node) -> list[str]:
        """Return the tasks whose values are the result."""
        return [name_of(node)]

    def postcompute(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return what makes the result of their values."""
        return _first, ()

    def postpersist(self, node: Node) -> tuple[Callable[..., Node], tuple[Any, ...]]:
        """Return what makes an expression of their values."""
        return _persisted, (node,)

    def get(self, graph: Any, names: Any, **options: Any) -> Any:
        """Run a graph in threads."""
        from dask.threaded import get

        return get(graph, names, **options)


PROTOCOL = Collection()
"""What the dunder methods of nodes lead to."""
