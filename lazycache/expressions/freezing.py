"""Taking the digest of a leaf together with a private copy of its value."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

import numpy as np

from lazycache.digests import Memo, remember, snapshot, token
from lazycache.digests.code import has_users_code
from lazycache.errors import UnhashableError
from lazycache.expressions.nests import NATIVES, is_nest, members, only_natives

logger = logging.getLogger("lazycache")

LARGE = 256 * 2**20
"""From how many bytes on a copy is mentioned in the log."""

_publishing = threading.Lock()


def freeze(leaf: Any, memo: Memo | None, path: str) -> bytes:
    """Replace the value of a leaf by a copy that cannot change, and return the token of that copy.

    A key never outlives the bytes it describes: from here on the leaf does not
    see what happens to the object that it was made of.

    Parameters
    ----------
    leaf : computed
    memo : Memo or None
        Of one pass; an object that several leaves hold is copied once.
    path : str
        What the value is called in messages.
    """
    value = leaf._value
    frozen, token = snapshot(value, path=path, memo=memo)
    if frozen is not value:
        _mention_large_copy(value)
    # Of several threads the first one wins. The value goes first: whoever sees the token sees its value.
    with _publishing:
        if leaf._token is None:
            leaf._value = frozen
            leaf._token = token
        return bytes(leaf._token)


class InOrder:
    """An array for a pickle, from which it comes in the byte order that it has: numpy's own may swap it."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __reduce__(self) -> tuple[Any, ...]:
        return in_order, (self.array, self.array.dtype)


def in_order(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return an array in the byte order of a dtype."""
    return array.astype(dtype, copy=False)


def loses_order(value: Any) -> bool:
    """Tell whether a value is an array whose byte order a pickle may swap."""
    if not isinstance(value, np.ndarray) or value.dtype.isnative:
        return False
    # What else the instances of a class of the user's take along, `astype` may not keep.
    kind, ways = type(value), ("__reduce__", "__reduce_ex__", "__setstate__")
    return kind is np.ma.MaskedArray or all(getattr(kind, way) is getattr(np.ndarray, way) for way in ways)


def portable(value: Any) -> Any:
    """Return what is pickled in the place of the value of a leaf."""
    return InOrder(value) if loses_order(value) else value


def refreeze(value: Any, token: bytes | None) -> Any:
    """Return the value of a leaf that was unpickled, as unchangeable as it was before."""
    if type(value) is InOrder:
        # A shallow copy takes the state as it is.
        value = value.array
    if token is not None and type(value) is np.ndarray:
        value.setflags(write=False)
        remember(value, token)
    return value


def token_of_code(value: Any) -> bytes | None:
    """Return the token of a value that holds code of the user's, None of any other.

    It is taken before the value is pickled: the text that it comes from may
    not be where the value goes.
    """
    if not _holds_code(value):
        return None
    try:
        return token(value)
    except UnhashableError:
        # It may be evaluated without a key, and whoever needs one is told.
        return None


def _holds_code(value: Any) -> bool:
    seen: dict[int, Any] = {}
    stack = [value]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind in NATIVES or id(part) in seen:
            continue
        if is_nest(part) or kind in (set, frozenset):
            seen[id(part)] = part
            inside = part if kind in (set, frozenset) else members(part)
            if not only_natives(inside):
                stack.extend(inside)
        elif callable(part) or has_users_code(kind):
            return True
    return False


def _mention_large_copy(value: Any) -> None:
    nbytes = _nbytes(value)
    if nbytes > LARGE:
        logger.warning(
            "copied an input of %.0f MB to take its digest, since it could change; "
            "computed(value, own=True) promises that it will not, and copies nothing",
            nbytes / 1e6,
        )


def _nbytes(value: Any) -> int:
    """Return about how many bytes the arrays in a value have."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_nest(value):
        return sum(member.nbytes for member in members(value) if isinstance(member, np.ndarray))
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "memory_usage"):
        usage = value.memory_usage()
        return int(usage if isinstance(usage, int) else usage.sum())
    return 0


def _renew_lock() -> None:
    global _publishing
    _publishing = threading.Lock()


# Another thread may hold it at the moment of a fork.
os.register_at_fork(after_in_child=_renew_lock)
