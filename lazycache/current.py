"""The frame of the call that is running, and the default cache.

Lower rooms reach the active evaluator through this module, so that none of
them imports an upper one. Everything here is a context variable, except the
provider of the default cache, which `lazycache.caching` registers.

Threads that a body starts have a context of their own; `in_context` carries
the present one into a thread.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from lazycache_storage.record import FileState

P = ParamSpec("P")
T = TypeVar("T")


class Evaluator(Protocol):
    """Whatever turns the nodes of a nested call into values."""

    def __call__(self, expression: Any, /) -> Any:
        """Return the value of a node, or of a nest that holds nodes."""


class Frame:
    """One call that is running: of a pure function, or of code of the user's that an expression calls.

    Attributes
    ----------
    evaluator : Evaluator
        What nested pure calls are evaluated with.
    key : bytes or None
        The call key, if one was taken.
    name : str
        The function, for messages.
    parent : Frame or None
        The call that this one is nested in.
    files : list of FileState
        What the nested calls read, which the outer record must also watch.
    """

    __slots__ = ("evaluator", "files", "key", "name", "parent")

    def __init__(self, evaluator: Evaluator, key: bytes | None, name: str, parent: Frame | None) -> None:
        self.evaluator = evaluator
        self.key = key
        self.name = name
        self.parent = parent
        self.files: list[FileState] = []

    def pass_on(self) -> None:
        """Tell the frame above what was read meanwhile."""
        if self.parent is not None:
            self.parent.files.extend(self.files)


running: ContextVar[Frame | None] = ContextVar("lazycache_frame", default=None)
"""The innermost call that is running in this context.

Who enters one sets it back with ``running.set(outer)`` in a ``finally``. No function of ours does that: an interrupt
comes where one begins, and the frame would stay for good.
"""

_default_cache: list[Callable[..., Any]] = []


def frame() -> Frame | None:
    """Return the innermost call that is running in this context."""
    return running.get()


def enter(evaluator: Evaluator, key: bytes | None, name: str) -> None:
    """Make a frame the innermost one for the rest of this context."""
    running.set(Frame(evaluator, key, name, running.get()))


def in_context(function: Callable[P, T]) -> Callable[P, T]:
    """Return `function` bound to the present context, for use in a thread.

    Inside a pure body, nested pure calls give values. A thread that the body
    starts does not know of that, unless its target is wrapped here. What is
    returned may run in any number of threads at once.

    Examples
    --------
    >>> from threading import Thread
    >>> from lazycache import in_context
    >>> thread = Thread(target=in_context(print), args=("in the context of the caller",))
    >>> thread.start(); thread.join()
    in the context of the caller
    """
    context = contextvars.copy_context()

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return context.copy().run(function, *args, **kwargs)

    return run


def register_default_cache(provider: Callable[[], Any], enter: Callable[[Any], Any]) -> None:
    """Say how the default cache is found, and made another one; called once, by `lazycache.caching`."""
    _default_cache[:] = [provider, enter]


def default_cache() -> Any:
    """Return the cache that `lazycache.cache` uses in this context."""
    return _default_cache[0]()


def enter_default(cache: Any) -> None:
    """Make `cache` the default one for the rest of this context."""
    _default_cache[1](cache)
