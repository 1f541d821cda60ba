"""Instances of classes that nothing is registered for, taken apart as pickle would, without pickling."""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Sequence
from types import BuiltinMethodType, MethodType, ModuleType, NoneType
from typing import Any
from weakref import WeakKeyDictionary

from lazycache.digests.code import class_of_instance, expand_global
from lazycache.digests.names import is_installed, qualified_name
from lazycache.digests.natives import field_label
from lazycache.digests.registry import Parts, Refusal, expanders, no_label

_PROTOCOL = 4

GENERAL_ADVICE = (
    "pass plain data instead, give the parameter a hasher, or register the type with lazycache.register_type"
)

# Attributes that only hold what was computed from the others.
_ATTRS_HASH_CACHE = "_attrs_cached_hash"
_derived_names: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()


class Attributes:
    """The attributes of an instance, by name; their order does not count."""

    __slots__ = ("values",)

    def __init__(self, values: dict[Any, Any]) -> None:
        self.values = values


def _expand_attributes(attributes: Attributes) -> Parts:
    return b"o", attributes_parts("", attributes.values), field_label, True


expanders[Attributes] = _expand_attributes


def attributes_parts(kind: Any, values: dict[Any, Any]) -> list[Any]:
    """Return what stands for a type, then names and values in turn, sorted by name."""
    parts: list[Any] = [kind]
    for key in sorted(values):
        parts += (key, values[key])
    return parts


def attributes_of(value: Any) -> Attributes:
    """Return the attributes of an instance of a class derived from a builtin or an array."""
    state: Any = object.__getstate__(value)
    if isinstance(state, tuple):
        state = {**(state[0] or {}), **state[1]}
    return Attributes(_without_derived(type(value), state or {}))


def expand_object(value: Any) -> Parts:
    """Take an instance apart by what ``__reduce_ex__`` gives."""
    kind = type(value)
    if kind is object:
        raise Refusal("object", "it has nothing but an identity, which is another one in every process")
    if hasattr(kind, "__next__") and is_installed(kind.__module__):
        raise Refusal(kind.__name__, "it is used up while it is read; pass a list or a tuple")
    reduced = _reduce(value, kind)
    if isinstance(reduced, str):
        return expand_global(value, reduced)
    name = class_of_instance(kind)
    padded: tuple[Any, ...] = (*reduced, *(None,) * (6 - len(reduced)))
    function, args, state, items, pairs, setter = padded
    if function in (copyreg.__newobj__, copyreg.__newobj_ex__) and args and args[0] is kind:  # type: ignore[attr-defined]
        args = args[1:]
    state = _normalise(kind, state)
    if not args and items is None and pairs is None and setter is None and isinstance(state, Attributes):
        return b"o", attributes_parts(name, state.values), field_label, True
    arguments = tuple(_Named(arg) if isinstance(arg, type) and arg in kind.__mro__ else arg for arg in args)
    members = None if items is None else list(items)
    entries = None if pairs is None else dict(pairs)
    parts = (name, _Named(function), arguments, state, members, entries, None if setter is None else _Named(setter))
    return b"v", parts, _reduce_label, True


def _reduce_label(_value: Any, _children: Sequence[Any], index: int) -> str:
    return ".__reduce_ex__()" if index == 2 else ""


class _Named:
    """A class or function of which the name alone counts: it only says how an instance is built."""

    __slots__ = ("target",)

    def __init__(self, target: Any) -> None:
        self.target = target


def _expand_named(named: _Named) -> Parts:
    target = named.target
    qualname = getattr(target, "__qualname__", None)
    module = getattr(target, "__module__", None)
    if not isinstance(qualname, str):
        return b"G", (target,), no_label, True
    if isinstance(target, type):
        return b"G", (qualified_name(target),), no_label, True
    if isinstance(target, (MethodType, BuiltinMethodType)) and not isinstance(target.__self__, (ModuleType, NoneType)):
        owner = target.__self__
        return b"G", (qualname, _Named(owner) if isinstance(owner, type) else owner), no_label, True
    if not isinstance(module, str) or "<" in qualname:
        raise Refusal(type(target).__name__, "an instance is rebuilt by it, but nothing can find it by its name")
    return b"G", (qualified_name(target),), no_label, True


expanders[_Named] = _expand_named


def _reduce(value: Any, kind: type) -> Any:
    """Return what pickle would be told; looked up on the type, so that no proxy answers for another."""
    registered = copyreg.dispatch_table.get(kind)
    return registered(value) if registered is not None else kind.__reduce_ex__(value, _PROTOCOL)  # type: ignore[call-arg]


def _normalise(kind: type, state: Any) -> Any:
    """Return attributes where the state is that of `object.__getstate__`, else the state as it is."""
    if (
        isinstance(state, tuple)
        and len(state) == 2
        and isinstance(state[1], dict)
        and is_inherited(kind, "__getstate__")
    ):
        state = {**(state[0] or {}), **state[1]}
    if state is None:
        return Attributes({})
    if not isinstance(state, dict) or not all(type(key) is str for key in state):
        return state
    return Attributes(_without_derived(kind, state))


def _without_derived(kind: type, state: dict[Any, Any]) -> dict[Any, Any]:
    derived = _derived(kind)
    return {key: state[key] for key in state if key not in derived} if derived else state


def is_inherited(kind: Any, name: str) -> bool:
    """Return whether a class has a method of `object` as it is."""
    return getattr(kind, name) is getattr(object, name)


def _derived(kind: type) -> frozenset[str]:
    """Return the attributes of a class that are caches: cached properties, and the hash kept by attrs."""
    found = _derived_names.get(kind)
    if found is None:
        names = {
            name
            for base in kind.__mro__
            for name, attribute in base.__dict__.items()
            if isinstance(attribute, functools.cached_property)
        }
        if any("__attrs_attrs__" in base.__dict__ for base in kind.__mro__):
            names.add(_ATTRS_HASH_CACHE)
        found = _derived_names[kind] = frozenset(names)
    return found
