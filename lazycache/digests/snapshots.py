"""Private copies together with their tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazycache.digests.copying import SelfContaining, Uncopyable, copy_nest, deep_copy
from lazycache.digests.immutable import is_immutable
from lazycache.digests.owned import is_marked, known_token, mark_unchangeable, remember
from lazycache.digests.walk import Memo, token
from lazycache.errors import UnhashableError
from lazycache_storage.arrayhash import copy_and_encode
from lazycache_storage.digest import seal

COPY_ADVICE = (
    "{part} cannot be copied, so nothing would keep it as it is now; pass it with own=True, "
    "or register its type with lazycache.register_immutable"
)

Array = np.ndarray[Any, Any]


def is_unchangeable_buffer(array: Array) -> bool:
    """Return whether nobody can change the bytes of an array, or has promised not to.

    That is so for arrays over ``bytes``, for owned ones and those that came out
    of the cache, and for views of these. A read-only flag alone says nothing:
    somebody may hold a writeable view, or the file below a map.
    """
    if array.flags.writeable or array.dtype.hasobject:
        return False
    part: Any = array
    while isinstance(part, np.ndarray):
        if is_marked(part):
            return True
        part = part.base
    while isinstance(part, memoryview):
        part = part.obj
    return isinstance(part, bytes)


def snapshot(value: Any, *, path: str = "value", memo: Memo | None = None) -> tuple[Any, bytes]:
    """Return a private copy of a value that nobody else can change, and its token.

    What is hashed is the copy, so the token cannot outlive the bytes it stands
    for. What cannot change is not copied. Arrays are copied and hashed block by
    block in threads, and remember their token.

    Parameters
    ----------
    value : object
    path : str
        What the value is called in messages.
    memo : Memo, optional
        Shared between the calls of one pass: an object that turns up twice is
        copied once.

    Raises
    ------
    UnhashableError
        If something in the value has no stable digest.

    Examples
    --------
    >>> a = np.zeros(3)
    >>> copy, before = snapshot(a)
    >>> a[0] = 1
    >>> copy, before == token(copy)
    (array([0., 0., 0.]), True)
    """
    if is_immutable(value):
        return value, token(value, path=path)
    if memo is None:
        memo = Memo()
    taken = memo.copies.get(id(value))
    if taken is not None:
        return taken[1], taken[2]
    copied, its_token = _take(value, path, memo)
    memo.copies[id(value)] = (value, copied, its_token)
    return copied, its_token


def _take(value: Any, path: str, memo: Memo) -> tuple[Any, bytes]:
    if type(value) in (np.ndarray, np.memmap) and not value.dtype.hasobject:
        copied = freeze_array(value)
        return copied, token(copied, path=path)

    def freeze_once(array: Array) -> Array:
        if array.dtype.hasobject:
            array.setflags(write=False)
            return array
        return snapshot(array, memo=memo)[0]  # type: ignore[no-any-return]

    try:
        copied = copy_nest(value, freeze_once, deep_copy)
    except (SelfContaining, Uncopyable, TypeError) as error:
        # As a rule this raises first, and names the part at fault, which the copier cannot.
        token(value, path=path)
        whole = type(value).__name__
        part = "it" if error.args == (whole,) or not isinstance(error, Uncopyable) else f"a {error} in it"
        raise UnhashableError(path=path, type_name=whole, advice=COPY_ADVICE.format(part=part)) from error
    return copied, token(copied, path=path, memo=memo)


def freeze_array(array: Array) -> Array:
    """Return an array of equal bytes that cannot change and knows its token."""
    if is_unchangeable_buffer(array):
        return array
    copied, encoding = copy_and_encode(array)
    remember(copied, seal(encoding))
    if copied.base is not None:
        mark_unchangeable(copied.base)
    return copied


def own(value: Any, *, path: str = "value") -> bytes:
    """Return the token of a value that its owner promises not to change.

    An array is made read-only, so that breaking the promise raises where numpy
    can see it, and its token is remembered while it lives.

    Examples
    --------
    >>> a = np.zeros(3)
    >>> own(a) == own(a)
    True
    >>> a[0] = 1
    Traceback (most recent call last):
    ...
    ValueError: assignment destination is read-only
    """
    if not isinstance(value, np.ndarray):
        return token(value, path=path)
    known = known_token(value)
    if known is None:
        value.setflags(write=False)
        known = token(value, path=path)
        remember(value, known)
    return known
