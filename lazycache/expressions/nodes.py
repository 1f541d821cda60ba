"""Node: what every vertex of an expression has in common, and what it refuses.

A node stands for a value that is not there yet. Whatever needs the value (a
truth, a length, a number, an array, a loop) raises `NotComputedError`, so that
no library can mistake a node for a value, loop over it for ever, or put it
into an array of objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

from lazycache.errors import MisplacedNodeError, NotComputedError

if TYPE_CHECKING:
    from lazycache.digests import Memo

NO_KWARGS: Mapping[str, Any] = MappingProxyType({})
"""The keyword arguments of every call without any: one object, which nobody can change."""

Rope = Any
"""File inputs below a node: NO_FILES, one leaf, or a pair of ropes; see `flatten_rope`.

A tuple of all inputs in each node would take memory quadratic in their number.
"""

NO_FILES: Rope = ()


class Callee(Protocol):
    """What a call node calls.

    Attributes
    ----------
    name : str
        For people.
    token : bytes
        The identity that goes into keys.
    stored : bool
        Whether results are kept on disk.
    is_pure : bool
        Whether it is a `@pure` function.
    trusted : bool
        Whether it leaves its arguments alone, so that they need no protection.
    n_outputs : int or None
        How many parts the result unpacks into, if that is known.
    """

    name: str
    trusted: bool
    n_outputs: int | None

    @property
    def token(self) -> bytes:
        """The identity that goes into keys."""

    @property
    def stored(self) -> bool:
        """Whether results are kept on disk."""

    @property
    def is_pure(self) -> bool:
        """Whether it is a `@pure` function."""

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the value of a call."""


_texts: list[Callable[[Node], str]] = []


def register_text(program: Callable[[Node], str]) -> None:
    """Say how nodes are printed; called once, by `lazycache.show`."""
    _texts[:] = [program]


_drawings: list[Callable[[str], Callable[..., Any]]] = []


def register_drawing(find: Callable[[str], Callable[..., Any]]) -> None:
    """Say where the functions that draw nodes are found; called once, by `lazycache`."""
    _drawings[:] = [find]


def drawing(name: str) -> Callable[..., Any]:
    """Return a function of `lazycache.draw`, which is imported by then only."""
    return _drawings[0](name)


_collections: list[Callable[[], Any]] = []


def register_collection(find: Callable[[], Any]) -> None:
    """Say where it is written how nodes are dask collections; called once, by `lazycache`."""
    _collections[:] = [find]


def _run_by_dask(graph: Any, names: Any, **options: Any) -> Any:
    return _collections[0]().get(graph, names, **options)


def _as_it_is(graph: Any, names: Any, **options: Any) -> Any:  # noqa: ARG001
    return graph


def _refuse(operation: str) -> Any:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotComputedError(operation=operation)

    return refuse


class Node:
    """A vertex of an expression: a leaf or a call.

    A leaf has ``_function = None``, ``_value`` and ``_token`` (None while it
    has not been taken); a call has ``_function``, ``_args``, ``_kwargs``,
    ``_deps`` (its nodes, distinct, in order of appearance) and ``_key`` (None
    while it has not been taken). Every node has ``_rope``: the file inputs
    below it.
    """

    __slots__ = ("__weakref__",)

    _function: Any
    _args: tuple[Any, ...]
    _kwargs: Mapping[str, Any]
    _deps: tuple[Node, ...]
    _key: Any
    _value: Any
    _token: bytes | None
    _rope: Rope

    __array_priority__: ClassVar[float] = 1e6
    # pandas gives way to whoever has a higher one, so that `series + node` builds a node.
    __pandas_priority__: ClassVar[int] = 1_000_000

    __bool__ = _refuse("bool()")
    __int__ = _refuse("int()")
    __float__ = _refuse("float()")
    __complex__ = _refuse("complex()")
    __index__ = _refuse("use as an index")
    __round__ = _refuse("round()")
    __trunc__ = _refuse("math.trunc()")
    __floor__ = _refuse("math.floor()")
    __ceil__ = _refuse("math.ceil()")
    __bytes__ = _refuse("bytes()")
    __contains__ = _refuse("'in'")
    __reversed__ = _refuse("reversed()")
    __array__ = _refuse("conversion to an array")

    @property
    def _inputs(self) -> tuple[Any, ...]:
        """The hashed leaves with files below this node, each once."""
        return flatten_rope(self._rope)

    def __len__(self) -> int:
        return self._parts("len()")

    def __iter__(self) -> Iterator[Any]:
        return iter([self[part] for part in range(self._parts("iteration"))])  # type: ignore[index]

    def _parts(self, operation: str) -> int:
        parts = getattr(self._function, "n_outputs", None)
        if parts is None:
            error = NotComputedError(operation=operation)
            if operation == "iteration" and self._function is not None and self._function.is_pure:
                error.add_note("to unpack what a pure function returns, say how much it is: @pure(n_outputs=2)")
            raise error
        return int(parts)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError("a lazy expression cannot be changed: build a new one, or change the result of compute(e)")

    def __delitem__(self, index: Any) -> NoReturn:
        raise TypeError("a lazy expression cannot be changed: build a new one, or change the result of compute(e)")

    def __repr__(self) -> str:
        return _texts[0](self) if _texts else object.__repr__(self)

    def _repr_html_(self) -> str:
        return str(drawing("to_html")(self))

    def __format__(self, spec: str) -> str:
        if spec:
            raise NotComputedError(operation=f"format() with {spec!r}")
        return str(self)

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: Any) -> Node:
        return self

    __dask_scheduler__ = staticmethod(_run_by_dask)
    __dask_optimize__ = staticmethod(_as_it_is)

    def __dask_graph__(self) -> Mapping[str, Any]:
        return _collections[0]().graph(self)  # type: ignore[no-any-return]

    def __dask_keys__(self) -> list[str]:
        return _collections[0]().names(self)  # type: ignore[no-any-return]

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _collections[0]().postcompute()  # type: ignore[no-any-return]

    def __dask_postpersist__(self) -> tuple[Callable[..., Node], tuple[Any, ...]]:
        return _collections[0]().postpersist(self)  # type: ignore[no-any-return]

    def __dask_tokenize__(self) -> list[str]:
        return _collections[0]().names(self)  # type: ignore[no-any-return]

    def __lazycache_digest__(self) -> NoReturn:
        # Whoever asks found a node inside a value, where evaluation would not find it.
        raise MisplacedNodeError(path="the value", container="container or object")

    def _take_token(self, memo: Memo | None, path: str) -> bytes:
        """Return the token of a leaf, taking it if need be."""
        raise NotImplementedError

    def _pinned(self) -> Node:
        """Return an equal node that no other thread can turn into a leaf, as `LazyArray.compute` does."""
        return self

    def _state(self) -> tuple[Any, ...]:
        """Return what a pickle needs to build an equal node; nodes in it are found by `find_nodes`."""
        raise NotImplementedError

    @classmethod
    def _from_state(cls, *state: Any) -> Node:
        """Build a node from what `_state` returned."""
        raise NotImplementedError


def argument_name(function: Callee, position: int) -> str:
    """Return what messages call an argument: of a pure function by its parameter."""
    parameters = getattr(function, "parameters", None)
    if parameters is not None:
        return f"argument {parameters[position]}"
    place = position - getattr(function, "skipped", 0)
    return f"args[{place}]" if place >= 0 else "value"


def join_ropes(nodes: tuple[Node, ...]) -> Rope:
    """Return the file inputs below several nodes, sharing what is there already."""
    joined: Rope = NO_FILES
    for node in nodes:
        rope = node._rope
        if rope is NO_FILES or rope is joined:
            continue
        joined = rope if joined is NO_FILES else (joined, rope)
    return joined


def flatten_rope(rope: Rope) -> tuple[Any, ...]:
    """Return the leaves of a rope, each once, in order of appearance."""
    if rope is NO_FILES:
        return ()
    if type(rope) is not tuple:
        return (rope,)
    found: dict[int, Any] = {}
    seen: set[int] = set()
    stack = [rope]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if type(part) is tuple:
            stack.extend(reversed(part))
        else:
            found[id(part)] = part
    return tuple(found.values())


def inner_first(roots: Sequence[Node]) -> Iterator[Node]:
    """Generate the roots and every node below them once, each after those that it depends on."""
    done: set[int] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        missing = [dep for dep in node._deps if id(dep) not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        done.add(id(node))
        stack.pop()
        yield node
