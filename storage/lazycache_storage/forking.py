"""What an open store does when the process forks.

A connection to sqlite that exists while the process forks poisons the child:
sqlite keeps the locks of a file per process, in memory that the child
inherits, so the child believes it holds locks that only its parent has.
Whoever keeps connections or locks registers here, and is asked to put them
away before every fork.

Python's lock of a module that another thread is importing stays locked in the
child for ever. Much is imported only when it is needed first, so a fork waits
until no thread is in the middle of that.
"""

import importlib._bootstrap
import os
import threading
import time
import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Protocol

_IMPORTED_LATE = frozenset(
    ("lazycache", "lazycache_storage", "cloudpickle", "concurrent", "diskcache", "filelock", "hmac")
    + ("joblib", "msgspec", "numpy", "platformdirs", "zarr")
)
_IMPORT_PATIENCE_SECONDS = 10.0
_IMPORT_PAUSE_SECONDS = 0.0005


class ForkAware(Protocol):
    """Something that must be put away before a fork.

    Attributes
    ----------
    waits_at_fork : bool
        Whether `before_fork` may wait for other threads, which may need what
        the others put away: such members are asked first.
    """

    waits_at_fork: ClassVar[bool]

    def before_fork(self) -> None:
        """Close and lock what a child must not inherit; runs in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Undo `before_fork`; runs in both processes, or in the child alone."""


class _Registry:
    """Who is asked at a fork; nobody joins in the middle of one."""

    def __init__(self) -> None:
        self._members: weakref.WeakSet[ForkAware] = weakref.WeakSet()
        # Asked before the fork that is going on; strong, so that each is asked after it too.
        self._prepared: list[ForkAware] = []
        # Also makes forks of several threads take turns.
        self._turn = threading.RLock()

    def add(self, member: ForkAware) -> None:
        with self._turn:
            self._members.add(member)

    def before(self) -> None:
        self._turn.acquire()
        for member in sorted(self._members, key=lambda member: not member.waits_at_fork):
            member.before_fork()
            self._prepared.append(member)
        # Last of all, so that nobody begins another one; what is imported there needs nothing of what is put away.
        _await_imports()

    def after(self, *, in_child: bool) -> None:
        prepared, self._prepared = self._prepared, []
        if in_child:
            # The lock of the parent counts threads that are not here.
            self._turn = threading.RLock()
        try:
            for member in prepared:
                member.after_fork(in_child=in_child)
        finally:
            if not in_child:
                self._turn.release()


def _await_imports() -> None:
    until = time.monotonic() + _IMPORT_PATIENCE_SECONDS
    while _is_importing_elsewhere() and time.monotonic() < until:
        time.sleep(_IMPORT_PAUSE_SECONDS)


def _is_importing_elsewhere() -> bool:
    """Tell whether another thread is in the middle of importing what a call may need to import."""
    locks: Mapping[str, weakref.ref[Any]] = getattr(importlib._bootstrap, "_module_locks", {})
    here = (None, threading.get_ident())
    names = [name for name in list(locks) if name.partition(".")[0] in _IMPORTED_LATE]
    found = [known() for known in map(locks.get, names) if known is not None]
    return any(getattr(lock, "owner", None) not in here for lock in found)


_registry = _Registry()


def register(member: ForkAware) -> None:
    """Ask `member` at every later fork, for as long as it lives."""
    _registry.add(member)


os.register_at_fork(
    before=_registry.before,
    after_in_parent=partial(_registry.after, in_child=False),
    after_in_child=partial(_registry.after, in_child=True),
)
