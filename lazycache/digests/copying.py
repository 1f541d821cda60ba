"""Deep copies of nests, iterative, with a choice of what becomes of the arrays in them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lazycache.digests.immutable import ATOMS, is_immutable
from lazycache.digests.objects import is_inherited
from lazycache.digests.registry import copiers, immutable_types, resolve
from lazycache_storage.arrayhash import array_order

_HEAP_TYPE = 1 << 9

Array = np.ndarray[Any, Any]


_INHERITED = ("__reduce_ex__", "__reduce__", "__getstate__", "__new__")
_OWN = ("__deepcopy__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")


class SelfContaining(Exception):
    """The nest contains itself, so that no order of copying exists."""


class Uncopyable(Exception):
    """The type that is named does not let a value be copied; the cause says why."""


def copy_nest(root: Any, copy_array: Callable[[Array], Array], copy_other: Callable[[Any], Any]) -> Any:
    """Return a copy that shares nothing mutable with `root`, its inner sharing kept.

    Lists, tuples, dicts and sets, and plain instances, are copied here, without
    recursion. Arrays of plain type go to `copy_array`, those of objects once
    their members are copied. Immutable values stay; all else goes to `copy_other`.

    Raises
    ------
    SelfContaining
        If a part contains itself.
    """
    done: dict[int, tuple[Any, Any]] = {}
    opened: dict[int, tuple[list[Any], Rebuild]] = {}
    todo = [root]
    while todo:
        value = todo[-1]
        key = id(value)
        if key in opened:
            children, rebuild = opened.pop(key)
            copies = [child if _is_atom(child) else done[id(child)][1] for child in children]
            made = rebuild(value, children, copies)
            done[key] = (value, copy_array(made) if type(made) is np.ndarray else made)
        elif key not in done and not _is_atom(value):
            shape = _shape_of(value)
            if shape is not None:
                opened[key] = shape
                missing = [child for child in shape[0] if not _is_atom(child) and id(child) not in done]
                if any(id(child) in opened for child in missing):
                    raise SelfContaining
                todo += missing
                continue
            done[key] = (value, _copy_leaf(value, copy_array, copy_other))
        todo.pop()
    return root if _is_atom(root) else done[id(root)][1]


def _is_atom(value: Any) -> bool:
    kind = type(value)
    return kind in ATOMS or kind in immutable_types


Rebuild = Callable[[Any, list[Any], list[Any]], Any]


def _shape_of(value: Any) -> tuple[list[Any], Rebuild] | None:
    """Return the members of a value and how to make it of their copies, or None for a leaf."""
    kind = type(value)
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        return list(value), _rebuild_sequence
    if kind is dict:
        return [*value, *value.values()], _rebuild_dict
    if kind is np.ndarray and value.dtype.kind == "O":
        return value.reshape(-1).tolist(), _rebuild_object_array
    if isinstance(value, tuple) and hasattr(kind, "_fields") and kind.__mro__[1] is tuple:
        return list(value), _rebuild_namedtuple
    return _instance_shape(value, kind)


def _rebuild_sequence(value: Any, children: list[Any], copies: list[Any]) -> Any:
    if type(value) in (tuple, frozenset) and all(a is b for a, b in zip(children, copies, strict=True)):
        return value
    return type(value)(copies)


def _rebuild_namedtuple(value: Any, _children: list[Any], copies: list[Any]) -> Any:
    return tuple.__new__(type(value), copies)


def _rebuild_dict(_value: Any, _children: list[Any], copies: list[Any]) -> Any:
    half = len(copies) // 2
    return dict(zip(copies[:half], copies[half:], strict=True))


def _rebuild_object_array(value: Array, _children: list[Any], copies: list[Any]) -> Array:
    flat = np.fromiter(copies, object, len(copies))
    return np.array(flat.reshape(value.shape), order=array_order(value))


def _instance_shape(value: Any, kind: type) -> tuple[list[Any], Rebuild] | None:
    """Handle instances that consist of nothing but their ``__dict__`` and slots."""
    plain = all(is_inherited(kind, name) for name in _INHERITED) and not any(hasattr(kind, name) for name in _OWN)
    if not plain or not kind.__flags__ & _HEAP_TYPE or isinstance(value, type):
        return None
    try:
        attributes, slots = _state_of(value)
    except TypeError:
        # It has a part that only its C code knows.
        return None
    rebuild = partial(_rebuild_instance, list(attributes), list(slots))
    return [*attributes.values(), *slots.values()], rebuild


def _state_of(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    state: Any = object.__reduce_ex__(value, 4)[2]
    if isinstance(state, tuple):
        return state[0] or {}, state[1]
    return state or {}, {}


def _rebuild_instance(
    attributes: list[str], slots: list[str], value: Any, _children: list[Any], copies: list[Any]
) -> Any:
    made = object.__new__(type(value))
    if attributes:
        made.__dict__.update(zip(attributes, copies, strict=False))
    for name, copied in zip(slots, copies[len(attributes) :], strict=True):
        # A frozen class refuses its own __setattr__.
        object.__setattr__(made, name, copied)
    return made


def _copy_leaf(value: Any, copy_array: Callable[[Array], Array], copy_other: Callable[[Any], Any]) -> Any:
    if type(value) in (np.ndarray, np.memmap) and not value.dtype.hasobject:
        return copy_array(value)
    if is_immutable(value):
        return value
    return copy_other(value)


def deep_copy(value: Any) -> Any:
    """Return a deep copy, made by what its package registered or else by `copy.deepcopy`.

    Raises
    ------
    Uncopyable
        If its type refuses, with whatever exception.
    """
    kind = type(value)
    resolve(kind)
    try:
        for base in kind.__mro__:
            if base in copiers:
                return copiers[base](value)
        return _with_attributes(copy.deepcopy(value), value)
    except Exception as error:
        raise Uncopyable(kind.__name__) from error


def _with_attributes(copied: Any, value: Any) -> Any:
    """Add the attributes of an array subclass, of which numpy keeps the type alone."""
    if isinstance(value, np.ndarray) and hasattr(value, "__dict__"):
        for name, attribute in vars(value).items():
            if name not in vars(copied):
                setattr(copied, name, copy.deepcopy(attribute))
    return copied
