"""Calls that ask for themselves."""

from __future__ import annotations

from lazycache import current
from lazycache.errors import CycleError
from lazycache_storage import layout
from lazycache_storage.digest import Digest


def running_above() -> list[tuple[str, str]]:
    """Return lock file and name of each call that what runs here is nested in, the outermost first."""
    frame, found = current.frame(), []
    while frame is not None:
        if frame.key is not None:
            found.append((layout.lock_name(Digest(frame.key)), frame.name))
        frame = frame.parent
    return found[::-1]


def refuse_cycle(call_key: Digest, what: str) -> None:
    """Raise CycleError if the call with `call_key` is running already, up the stack."""
    frame, names = current.frame(), [what]
    while frame is not None:
        names.append(frame.name)
        if frame.key == call_key:
            names.reverse()
            raise CycleError(cycle=tuple(names), chain=" -> ".join(names))
        frame = frame.parent
