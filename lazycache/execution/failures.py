"""Exceptions on their way from a worker: the same class, arguments, attributes, notes and causes."""

from __future__ import annotations

import pickle
from types import FunctionType
from typing import Any, NamedTuple

from lazycache.execution.packing import pack
from lazycache.execution.reading import read

PICKLE_FAULTS = (
    pickle.PickleError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What the methods of classes raise that cannot be pickled, or not be read again."""


class WorkerFailure(Exception):
    """Carries an exception, as bytes, through an executor."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.data = data


class WorkerTraceback(Exception):
    """The traceback in the worker, as the first cause of what is raised here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Packed(NamedTuple):
    """An exception that is built again without calling ``__init__`` of its class, which may take anything."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    attributes: dict[str, Any]

    def build(self) -> BaseException:
        """Return the exception."""
        base = _builtin_base(self.kind)
        error: BaseException = base.__new__(self.kind, *self.args)
        base.__init__(error, *self.args)
        error.__dict__.update(self.attributes)
        return error


class Link(NamedTuple):
    """One exception of a chain; the others are named by their position."""

    error: BaseException | Packed
    cause: int | None
    context: int | None
    suppress: bool


def pack_error(error: BaseException) -> bytes:
    """Return an exception, with its causes, as bytes that can be read."""
    import traceback

    text = "".join(traceback.format_exception(error))
    for form in (_as_it_is, _cleaned):
        try:
            data = pack((_links(error, form), text))
            pickle.loads(data)
        except PICKLE_FAULTS:
            continue
        return data
    alike = RuntimeError(f"{type(error).__qualname__}: {error}")
    return pack(([Link(alike, None, None, False)], text))


def unpack_error(data: bytes) -> BaseException:
    """Return the exception in `data`; its first cause tells where it was raised."""
    links, text = read(data)
    errors: list[BaseException] = [
        link.error.build() if isinstance(link.error, Packed) else link.error for link in links
    ]
    for error, link in zip(errors, links, strict=True):
        error.__cause__ = None if link.cause is None else errors[link.cause]
        error.__context__ = None if link.context is None else errors[link.context]
        error.__suppress_context__ = link.suppress
    first = errors[0]
    seen = {id(first)}
    while (deeper := first.__cause__ or first.__context__) is not None and id(deeper) not in seen:
        seen.add(id(deeper))
        first = deeper
    if first.__cause__ is None:
        first.__cause__ = WorkerTraceback(text)
    return errors[0]


def _links(error: BaseException, form: Any) -> list[Link]:
    places = {id(error): 0}
    chain = [error]
    for one in chain:
        for other in (one.__cause__, one.__context__):
            if other is not None and id(other) not in places:
                places[id(other)] = len(chain)
                chain.append(other)
    return [
        Link(form(one), places.get(id(one.__cause__)), places.get(id(one.__context__)), one.__suppress_context__)
        for one in chain
    ]


def _as_it_is(error: BaseException) -> BaseException | Packed:
    kind = type(error)
    ways = (kind.__reduce__, kind.__reduce_ex__, getattr(kind, "__getstate__", None))
    if kind.__module__ == "builtins" or any(isinstance(way, FunctionType) for way in ways):
        return error
    return _packed(error)


def _packed(error: BaseException) -> Packed:
    reduced: Any = _builtin_base(type(error)).__reduce__(error)
    return Packed(type(error), reduced[1], dict(error.__dict__))


def _cleaned(error: BaseException) -> Packed:
    packed = _packed(error)
    args = tuple([_readable(arg) for arg in packed.args])
    return Packed(packed.kind, args, {name: _readable(value) for name, value in packed.attributes.items()})


def _readable(value: Any) -> Any:
    try:
        pickle.loads(pack(value))
    except PICKLE_FAULTS:
        return repr(value)
    return value


def _builtin_base(kind: type[BaseException]) -> type[BaseException]:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")
