"""What the lines of a program call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazycache import current
from lazycache.blocks import in_memory
from lazycache.expressions.nests import is_nest, transform
from lazycache.expressions.nodes import Node
from lazycache.expressions.operators import GETITEM
from lazycache.expressions.tree import build, computed

_EVALUATED = build(GETITEM, (computed(()), 0), {})
"""Stands for an argument that was a node; its value comes with the call."""


class Call:
    """A function as a program calls it; it pickles as what the function is known by.

    Parameters
    ----------
    function : Callee
    backend : str or None
        Whose function it is, if that is known.
    args : tuple
        The arguments of the node, for a pure function.
    """

    __slots__ = ("_template", "backend", "function")

    def __init__(self, function: Any, backend: str | None, args: tuple[Any, ...] = ()) -> None:
        self.function = function
        self.backend = backend
        self._template = transform(args, _without_graph) if function.is_pure else ()

    def resolve(self) -> Callable[..., Any]:
        """Return the callable."""
        function = self.function
        if function.is_pure:
            return self._run_pure
        if not function.trusted:
            return self._run_operation
        if self.backend is not None and hasattr(function, "resolve"):
            return function.resolve(self.backend)  # type: ignore[no-any-return]
        plain = getattr(function, "function", None)
        if plain is not None:
            return plain  # type: ignore[no-any-return]
        return lambda *args, **kwargs: function.call(args, kwargs)

    def _run_pure(self, *values: Any) -> Any:
        """Run a pure function as an evaluation would: in a frame of its own, its hashers applied."""
        function = self.function
        args = function.resolve_arguments(self._template, values).args
        outer = current.running.get()
        frame = current.Frame(_evaluator(), None, function.name, outer)
        try:
            current.running.set(frame)
            result = in_memory(function.call(args, {}))
            return _evaluator()(result) if isinstance(result, Node) or is_nest(result) else result
        finally:
            current.running.set(outer)
            frame.pass_on()

    def _run_operation(self, /, *args: Any, **kwargs: Any) -> Any:
        from lazycache.evaluation import call_operation

        value, nested = call_operation(self.function, args, kwargs, _evaluator())
        if (frame := current.frame()) is not None:
            frame.files.extend(nested)
        return value


def _evaluator() -> current.Evaluator:
    frame = current.frame()
    if frame is not None:
        return frame.evaluator
    from lazycache.evaluation import PLAIN

    return PLAIN


def _without_graph(member: Any) -> Any:
    return _EVALUATED if isinstance(member, Node) and member._function is not None else member
