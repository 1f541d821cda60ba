"""Arrays that know their digest: owned ones, and those that came out of the cache."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class _Entry:
    """What is known of one array while it lives."""

    __slots__ = ("dtype", "reference", "shape", "strides", "token")

    def __init__(self, array: Array, token: bytes) -> None:
        key = id(array)
        self.reference = weakref.ref(array, lambda dead: _forget(key, dead))
        self.token = token
        self.shape = array.shape
        self.strides = array.strides
        self.dtype = array.dtype


_entries: dict[int, _Entry] = {}


def _forget(key: int, dead: weakref.ref[Array]) -> None:
    # The identity may belong to another array by now.
    entry = _entries.get(key)
    if entry is not None and entry.reference is dead:
        del _entries[key]


def remember(array: Array, token: bytes) -> None:
    """Keep the token of a read-only array while the array lives.

    The caller vouches that nobody changes the bytes. The token is not used any
    more once the array was made writeable or was given another shape or dtype.
    """
    _entries[id(array)] = _Entry(array, token)


def mark_unchangeable(array: Array) -> None:
    """Note that nobody changes the bytes of a read-only array; views of it profit."""
    _entries[id(array)] = _Entry(array, b"")


def is_marked(array: Array) -> bool:
    """Return whether an array is owned, came out of the cache, or was marked."""
    entry = _entries.get(id(array))
    return entry is not None and entry.reference() is array and not array.flags.writeable


def known_token(array: Array) -> bytes | None:
    """Return the token of an array that is owned or came out of the cache, or None.

    Examples
    --------
    >>> from lazycache.digests import known_token, own
    >>> a = np.zeros(3)
    >>> known_token(a) is None
    True
    >>> own(a) == known_token(a)
    True
    >>> a.flags.writeable
    False
    """
    entry = _entries.get(id(array))
    if entry is None or entry.reference() is not array:
        return None
    if array.flags.writeable or array.shape != entry.shape or array.dtype is not entry.dtype:
        _entries.pop(id(array), None)
        return None
    return (entry.token or None) if array.strides == entry.strides else None
