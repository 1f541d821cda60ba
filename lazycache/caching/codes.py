"""What the code of functions was when their results were stored, so that an edit can be named, and gc sees it."""

from __future__ import annotations

import functools
import hashlib
import logging
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from lazycache.errors import FingerprintError
from lazycache_storage.digest import Digest
from lazycache_storage.notes import CodeNote, Sighting, decode_code_note

if TYPE_CHECKING:
    from lazycache.caching.guard import GuardedStore
    from lazycache.purity import PureFunction

_MOST_NAMED = 6
_MOST_SEEN = 32

STARTED = time.time()
"""About when this process was started."""

logger = logging.getLogger("lazycache")

Parts = Mapping[str, tuple[bytes, str]]
"""Digest and text of each part of a code, by its name."""


def code_identity(function: PureFunction) -> bytes:
    """Return the digest of the identity of a function whose code counts; nothing if name and version are all of it."""
    return b"" if function.is_name_and_version else hashlib.sha256(function.token).digest()


class Codes:
    """The notes of one store on code: a row for each function and state of its code.

    They serve explanations and collections, and no look-up. Nobody signs them, and what is no note counts as none.

    Parameters
    ----------
    guard : GuardedStore
    """

    def __init__(self, guard: GuardedStore) -> None:
        self._guard = guard
        self._noted: set[bytes] = set()

    def note(self, function: PureFunction, started: float) -> None:
        """Write down what the code of a function consists of, and that a process of that start stores its results."""
        row = Digest(hashlib.sha256(function.token).digest())
        if row in self._noted:
            return
        self._noted.add(row)
        present = decode_code_note(self._guard.ask("look up code", lambda store: store.code_get(row)))
        parts = () if present is None else present.parts
        try:
            if not parts and not function.is_name_and_version:
                parts = tuple([(part.name, part.digest, part.text) for part in function.code_parts()])
            place = _place(function)
        except FingerprintError:
            # A global became what has no digest since the key was taken; the next call says so.
            return
        except OSError as error:
            # Its text cannot be read just now, perhaps for want of a descriptor.
            logger.debug("what the code of %s consists of is not noted: %s", function.name, error)
            return
        seen = () if present is None else present.seen
        if place and (here := Sighting(place, started)) not in seen:
            seen = (*seen, here)[-_MOST_SEEN:]
        note = CodeNote(function.name, function.version if function.is_name_and_version else "", seen, parts)
        if note != present:
            data = msgspec.msgpack.encode(note)
            self._guard.write("note code", lambda store: store.code_put(row, data))

    def parts(self, identity: bytes) -> Parts:
        """Return what is noted, or nothing."""
        if not identity:
            return {}
        return decode_parts(self._guard.ask("look up code", lambda store: store.code_get(Digest(identity))))


def _place(function: PureFunction) -> str:
    """Return where the code of a function is; nothing where several functions that are all in use may be."""
    file, qualname = function.source_file, function.__qualname__
    if not file or "<" in qualname or isinstance(function.__wrapped__, functools.partial):
        return ""
    if function.variant_of is not None:
        cls = function.variant_of[1]
        return f"{file}:{qualname} of {cls.__module__}.{cls.__qualname__}"
    if "." in qualname and not (function.version or function.code_parts()):
        # A worker that got a method by value does not know for which class.
        return ""
    return f"{file}:{qualname}"


def decode_parts(data: bytes | None) -> Parts:
    """Return the parts of a code as a row of the store has them."""
    note = decode_code_note(data)
    return {} if note is None else {name: (digest, text) for name, digest, text in note.parts}


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
