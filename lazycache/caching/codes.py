"""What the code of functions consisted of when their results were stored, so that an edit can be named later."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from lazycache.errors import FingerprintError
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache.caching.guard import GuardedStore
    from lazycache.purity import PureFunction

_MOST_NAMED = 6

Parts = Mapping[str, tuple[bytes, str]]
"""Digest and text of each part of a code, by its name."""


def code_identity(function: PureFunction) -> bytes:
    """Return the digest of the identity of a function whose code counts; nothing if name and version are all of it."""
    return b"" if function.is_name_and_version else hashlib.sha256(function.token).digest()


class Codes:
    """The notes of one store on code: a row for each function and state of its code.

    They serve explanations only. Nobody signs them, and what is no note counts as none.

    Parameters
    ----------
    guard : GuardedStore
    """

    def __init__(self, guard: GuardedStore) -> None:
        self._guard = guard
        self._noted: set[bytes] = set()

    def note(self, function: PureFunction) -> None:
        """Write down what the code of a function consists of, if nobody has."""
        identity = code_identity(function)
        if not identity or identity in self._noted:
            return
        self._noted.add(identity)
        row = Digest(identity)
        if self._guard.ask("look up code", lambda store: store.code_get(row)) is not None:
            return
        try:
            parts = function.code_parts()
        except FingerprintError:
            # A global became what has no digest since the key was taken; the next call says so.
            return
        if parts:
            data = msgspec.msgpack.encode([tuple(part) for part in parts])
            self._guard.write("note code", lambda store: store.code_put(row, data))

    def parts(self, identity: bytes) -> Parts:
        """Return what is noted, or nothing."""
        if not identity:
            return {}
        return decode_parts(self._guard.ask("look up code", lambda store: store.code_get(Digest(identity))))


def decode_parts(data: bytes | None) -> Parts:
    """Return the parts of a code as a row of the store has them."""
    if data is None:
        return {}
    try:
        rows = msgspec.msgpack.decode(data, type=list[tuple[str, bytes, str]])
    except msgspec.MsgspecError:
        return {}
    return {name: (digest, text) for name, digest, text in rows}


def name_changes(then: Parts, now: Parts) -> str:
    """Return in words what differs between two codes; nothing if one of them is unknown.

    Examples
    --------
    >>> name_changes({"lab.fit": (b"1", ""), "the global `N` of lab": (b"2", "8")},
    ...              {"lab.fit": (b"3", ""), "the global `N` of lab": (b"4", "9")})
    'lab.fit was edited, the global `N` of lab was 8, is 9'
    """
    if not then or not now:
        return ""
    changes = list(_changes(then, now))
    more = f" and {len(changes) - _MOST_NAMED} more changes" if len(changes) > _MOST_NAMED else ""
    return ", ".join(changes[:_MOST_NAMED]) + more


def _changes(then: Parts, now: Parts) -> Iterator[str]:
    for name, (digest, text) in now.items():
        if name not in then or then[name][0] == digest:
            continue
        was = then[name][1]
        if was != text:
            yield f"{name} was {was or 'something else'}, is {text or 'something else'}"
        else:
            yield f"{name} has another value" if name.startswith("the global") else f"{name} was edited"
    yield from (f"{name} is new" for name in now if name not in then)
    yield from (f"{name} is no longer used" for name in then if name not in now)
