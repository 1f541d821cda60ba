"""Refusing nodes where evaluation would not find them, and what can only be read once."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from lazycache.digests import token
from lazycache.errors import MisplacedNodeError
from lazycache.expressions.nests import is_nest, members, only_natives
from lazycache.expressions.nodes import Node

_OPAQUE = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_HOLDERS: tuple[type[Any], ...] = (
    set,
    frozenset,
    list,
    tuple,
    deque,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)


def check_placement(value: Any, path: str) -> None:
    """Refuse a value that hides a node, or that is gone once it has been read.

    Parameters
    ----------
    value : object
        Something that becomes a leaf, so that no node in it would be evaluated.
    path : str
        Where it is, for the message.

    Raises
    ------
    MisplacedNodeError
        If a node is in a set, in the keys of a dict, in an array of objects,
        in the fields of an object, or in a container of another type.
    UnhashableError
        If the value is a generator or another iterator.
    """
    kind = type(value)
    if kind is np.ndarray and not value.dtype.hasobject:
        return
    # What was seen is kept alive, so that no identity is used twice.
    seen: dict[int, Any] = {}
    stack: list[tuple[Any, str]] = [(value, kind.__name__)]
    while stack:
        part, holder = stack.pop()
        if isinstance(part, Node):
            raise MisplacedNodeError(path=path, container=holder)
        if id(part) in seen:
            continue
        seen[id(part)] = part
        name = type(part).__name__
        if hasattr(type(part), "__next__"):
            # Raises the error with the path to the iterator, if the value counts by what it gives.
            token(value, path=path)
        inside = _inside(part)
        if inside and not only_natives(inside):
            stack.extend((member, name) for member in inside)


def refuse_hidden(nest: Any) -> None:
    """Refuse nodes in containers of a nest where evaluation would pass them over, such as an OrderedDict or a set.

    Parameters
    ----------
    nest : object
        Only containers are looked into, not the fields of other objects.

    Raises
    ------
    MisplacedNodeError
    """
    seen: set[int] = set()
    stack: list[tuple[Any, str]] = [(nest, "")]
    while stack:
        part, hider = stack.pop()
        if isinstance(part, Node):
            if hider:
                raise MisplacedNodeError(path="what is asked for", container=hider)
            continue
        if id(part) in seen:
            continue
        if is_nest(part):
            inside: Iterable[Any] = members(part)
        elif isinstance(part, (dict, types.MappingProxyType, np.ndarray, *_HOLDERS)):
            inside = _inside(part)
            hider = hider or type(part).__name__
        else:
            continue
        if not only_natives(inside):
            seen.add(id(part))
            stack.extend((member, hider) for member in inside)


def check_keys(mapping: dict[Any, Any], path: str) -> None:
    """Refuse a dict with a node in its keys."""
    if not only_natives(mapping):
        for member in mapping:
            if isinstance(member, Node) or type(member) is tuple or type(member) is frozenset:
                check_placement((member,), path)


def _inside(value: Any) -> list[Any]:
    """Return what a value holds, one level down."""
    if is_nest(value):
        return [*members(value), *value] if type(value) is dict else list(members(value))
    if isinstance(value, dict):
        return [*value.keys(), *value.values(), *getattr(value, "__dict__", {}).values()]
    if isinstance(value, _HOLDERS):
        return list(value)
    if isinstance(value, types.MappingProxyType):
        return [*value.keys(), *value.values()]
    if isinstance(value, np.ndarray):
        return np.asarray(value).reshape(-1).tolist() if value.dtype.hasobject else []
    if isinstance(value, functools.partial):
        return [*value.args, *value.keywords.values()]
    if isinstance(value, BaseException):
        return list(value.args)
    if isinstance(value, _OPAQUE):
        return []
    return _fields(value)


def _fields(value: Any) -> list[Any]:
    kind = type(value)
    if kind.__module__.partition(".")[0] == "pandas":
        return _object_columns(value)
    if hasattr(kind, "__dataclass_fields__"):
        import dataclasses

        return [getattr(value, field.name, None) for field in dataclasses.fields(kind)]
    held: Iterable[Any] = getattr(value, "__dict__", {}).values()
    slots = [name for base in kind.__mro__ for name in _slots(base)]
    return [*held, *(getattr(value, name, None) for name in slots)]


def _slots(kind: type) -> tuple[str, ...]:
    names = kind.__dict__.get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(name for name in names if not name.startswith("__"))


def _object_columns(value: Any) -> list[Any]:
    columns = [value[name] for name in value.columns] if hasattr(value, "columns") else [value]
    return [np.asarray(column) for column in columns if getattr(getattr(column, "dtype", None), "kind", "") == "O"]
