"""Calls that ask for themselves."""

from __future__ import annotations

from lazycache import current
from lazycache.errors import CycleError
from lazycache_storage.digest import Digest


def refuse_cycle(call_key: Digest, what: str) -> None:
    """Raise CycleError if the call with `call_key` is running already, up the stack."""
    frame, names = current.frame(), [what]
    while frame is not None:
        names.append(frame.name)
        if frame.key == call_key:
            names.reverse()
            raise CycleError(cycle=tuple(names), chain=" -> ".join(names))
        frame = frame.parent
