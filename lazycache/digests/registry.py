"""Which encoder a type has: exact types, types by name, families of types.

Types of the standard library and of other packages are registered by name, so
that nothing is imported before a value of theirs turns up.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from lazycache.digests.names import find_global, qualified_name

T = TypeVar("T")

Leaf = Callable[[Any], bytes]
Label = Callable[[Any, Any, int], str]


# A value taken apart. A plain tuple, because one is made for every container of every key:
# (tag, children, label, ordered). The encoding is the tag, the number of children, and their
# tokens, sorted if the order does not count. ``label(value, children, index)`` says in Python's
# notation where a child sits, for messages.
Parts = tuple[bytes, Sequence[Any], Label, bool]


class Refusal(Exception):
    """A value has no stable digest; the walk turns this into an UnhashableError with a path."""

    def __init__(self, type_name: str, advice: str, path: str = "") -> None:
        super().__init__(type_name, advice)
        self.type_name = type_name
        self.advice = advice
        self.path = path


Expand = Callable[[Any], Parts | bytes]
Encode = Callable[[Any], Any]

# Encoders of natives, which hold no other value: they return the encoding.
leaves: dict[type, Leaf] = {}
# Types that are taken apart, each with its own way.
expanders: dict[type, Expand] = {}
# What was found for other types.
_resolved: WeakKeyDictionary[type, Expand] = WeakKeyDictionary()
# Types by name, with what stands for a value of theirs.
_named: dict[str, Encode] = {}
# Types by name that are refused together with their subclasses, and the advice for each.
_refused: dict[str, str] = {}
# Modules that register the types of a package: called when a type of that package turns up.
_packages: dict[str, str] = {}
# Bases whose subclasses are all handled in one way.
families: dict[type, Expand] = {}
# How to copy values whose deep copy shares parts with them, or fails.
copiers: dict[type, Callable[[Any], Any]] = {}
# Types that users registered an encoder for.
_users: set[type] = set()
# Types registered by users as immutable.
immutable_types: set[type] = set()


def no_label(_value: Any, _children: Any, _index: int) -> str:
    """Add nothing to the path: the part stands for the whole."""
    return ""


def register_type(kind: type[T], encode: Callable[[T], Any]) -> None:
    """Say how values of a type are digested.

    Parameters
    ----------
    kind : type
        The exact type; subclasses are not meant, since they may hold more.
    encode : callable
        ``encode(value)`` returns a simpler value, or a nest of them, that stands
        for the value. Everything that a function could see of it must be in there.

    Examples
    --------
    >>> from lazycache.digests import digest, register_type
    >>> class Ring:
    ...     def __init__(self, lock, members): self.lock, self.members = lock, members
    >>> register_type(Ring, lambda ring: ring.members)
    >>> digest(Ring(object(), [1, 2])) == digest(Ring(object(), [1, 2]))
    True
    """
    if not isinstance(kind, type):
        raise TypeError(f"register_type needs a type, got {kind!r}")
    expanders[kind] = standing_for(qualified_name(kind), encode)
    _users.add(kind)
    _resolved.clear()


def register_immutable(kind: type) -> None:
    """Say that values of a type never change, so that they need no copy and no protection.

    Examples
    --------
    >>> from lazycache.digests import is_immutable, register_immutable
    >>> class Point:
    ...     __slots__ = ()
    >>> is_immutable(Point())
    False
    >>> register_immutable(Point)
    >>> is_immutable(Point())
    True
    """
    if not isinstance(kind, type):
        raise TypeError(f"register_immutable needs a type, got {kind!r}")
    immutable_types.add(kind)


def register_named(encoders: dict[str, Encode]) -> None:
    """Register types by ``module.qualname``, without importing them."""
    _named.update(encoders)


def register_package(package: str, module: str) -> None:
    """Name the module to import when a type of a package turns up."""
    _packages[package] = module


def refuse_named(advices: dict[str, str]) -> None:
    """Refuse types by ``module.qualname``, and what is derived from them, with an advice for each."""
    _refused.update(advices)


def standing_for(name: str, encode: Encode) -> Expand:
    """Return the expander that tags what `encode` gives with the name of a type."""

    def expand(value: Any) -> Parts:
        return b"R", (name, encode(value)), no_label, True

    return expand


def resolve(kind: type) -> Expand | None:
    """Return how to take values of a type apart, if it is registered in any way.

    A class's own ``__lazycache_digest__`` comes before what is registered for its bases.
    """
    found = expanders.get(kind) or _resolved.get(kind)
    if found is None:
        found = _find(kind)
        if found is not None:
            _resolved[kind] = found
    return found


def has_users_encoder(kind: type) -> bool:
    """Return whether users said how values of a type are digested, so that an error in that is theirs to see."""
    return kind in _users or _has_protocol(kind)


def _has_protocol(kind: type) -> bool:
    return any("__lazycache_digest__" in base.__dict__ for base in kind.__mro__)


def _find(kind: type) -> Expand | None:
    for base in kind.__mro__:
        _load(base)
    if kind in expanders:
        return expanders[kind]
    if _has_protocol(kind):
        return _by_protocol(qualified_name(kind))
    name = qualified_name(kind)
    if name in _named and find_global(kind.__module__, kind.__qualname__) is kind:
        return standing_for(name, _named[name])
    for base in kind.__mro__:
        advice = _refused.get(f"{base.__module__}.{base.__qualname__}")
        if advice is not None:
            return _refusing(advice)
        if base in families:
            return families[base]
    return None


def _load(kind: type) -> None:
    """Import what registers the types of the package that a type comes from."""
    parts = str(kind.__module__).split(".", 2)
    for package in (parts[0], ".".join(parts[:2])):
        module = _packages.get(package)
        if module is not None:
            importlib.import_module(module).register()
            _packages.pop(package, None)


def _refusing(advice: str) -> Expand:
    def expand(value: Any) -> Parts:
        raise Refusal(type(value).__name__, advice)

    return expand


def _by_protocol(name: str) -> Expand:
    def expand(value: Any) -> Parts:
        return b"P", (name, type(value).__lazycache_digest__(value)), no_label, True

    return expand
