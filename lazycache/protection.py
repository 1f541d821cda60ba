"""Values handed to users' code so that it cannot spoil the originals."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from lazycache.digests.copying import SelfContaining, Uncopyable, copy_nest, deep_copy
from lazycache.digests.immutable import ATOMS, is_immutable
from lazycache.digests.owned import is_marked, known_token, mark_unchangeable, remember
from lazycache.digests.snapshots import is_unchangeable_buffer

Array = np.ndarray[Any, Any]


def protect(value: Any) -> Any:
    """Return `value` in a form that cannot be used to change it.

    Immutable values are returned as they are, arrays as read-only views,
    containers and other objects as fresh copies whose members are protected.

    Examples
    --------
    >>> cfg = {"n": [1, 2]}
    >>> protect(cfg)["n"].append(3)
    >>> cfg
    {'n': [1, 2]}
    """
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is np.ndarray and not value.dtype.hasobject:
        return _read_only(value)
    return _copy(value, _read_only)


def writable_copy(value: Any) -> Any:
    """Return a deep copy whose arrays may be written to.

    Examples
    --------
    >>> a = np.zeros(2)
    >>> a.setflags(write=False)
    >>> b = writable_copy({"a": a})["a"]
    >>> b[0] = 1
    >>> a
    array([0., 0.])
    """
    return _copy(value, np.copy)


def is_unchangeable(value: Any) -> bool:
    """Return whether nobody can change a value: it is immutable, or an array over bytes that stay.

    Examples
    --------
    >>> is_unchangeable(np.frombuffer(b"abcd", np.uint8)), is_unchangeable(np.zeros(3))
    (True, False)
    """
    if isinstance(value, np.ndarray):
        return is_unchangeable_buffer(value)
    return is_immutable(value)


def _read_only(array: Array) -> Array:
    # A hit of a number finds the library small.
    from lazycache_storage.objects.arrays import sealed

    dtype = array.dtype
    if dtype.names is not None:
        # The names of a structured dtype can be set in place, so a view gets a dtype of its own.
        dtype = copy.deepcopy(dtype)
    view = sealed(array, dtype) if _owns_memory(array) else array.view(dtype)
    view.setflags(write=False)
    if view.base is not None and view.base is not array.base and is_marked(array):
        mark_unchangeable(view.base)
    token = known_token(array)
    if token is not None:
        remember(view, token)
    return view


def _owns_memory(array: Array) -> bool:
    """Return whether an array that anybody can make writeable again is behind this one, at one stretch."""
    if not array.nbytes or not array.flags.forc or array.dtype.hasobject:
        return False
    part: Any = array
    while isinstance(part.base, np.ndarray):
        part = part.base
    return part.base is None


def _copy(value: Any, copy_array: Callable[[Array], Array]) -> Any:
    try:
        return copy_nest(value, copy_array, _copy_or_keep)
    except SelfContaining:
        return _copy_or_keep(value)


def _copy_or_keep(value: Any) -> Any:
    try:
        return deep_copy(value)
    except Uncopyable:
        # A lock, a file or a generator: nobody can copy it, and to refuse it is not for us.
        return value
