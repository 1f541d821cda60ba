"""What an instance holds: its attributes, its slots, and what it is made of when its class derives from a builtin."""

import collections
import dataclasses
import enum
import functools
from collections.abc import Callable, Iterator
from types import MemberDescriptorType
from typing import Any
from weakref import WeakKeyDictionary

from .natives import part, text
from .walk import At, Walk

_CONTAINERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (collections.OrderedDict, lambda held: collections.OrderedDict(collections.OrderedDict.items(held))),
    (collections.defaultdict, lambda held: collections.defaultdict(held.default_factory, dict.items(held))),
    (dict, lambda held: dict(dict.items(held))),
    (list, lambda held: list(list.__iter__(held))),
    (tuple, lambda held: tuple(tuple.__iter__(held))),
    (set, lambda held: set(set.__iter__(held))),
    (frozenset, lambda held: frozenset(frozenset.__iter__(held))),
    (collections.deque, lambda held: collections.deque(collections.deque.__iter__(held), held.maxlen)),
)
_SCALARS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__index__),
    (float, float.__float__),
    (complex, complex.__pos__),
    (str, str.__str__),
    (bytes, lambda held: bytes.__getitem__(held, slice(None))),
)
# Of what else holds more than attributes, arrays are what users derive from.
_ARRAY = "numpy.ndarray"
_known_slots: WeakKeyDictionary[type, tuple[tuple[str, MemberDescriptorType], ...]] = WeakKeyDictionary()


def encode_state(walk: Walk, value: Any, at: At, held: At) -> bytes:
    """Return the bytes of an instance as a unit: its class and all that it holds."""
    watch_instance(walk, value)
    attributes = _attributes(value)
    parts = [part(b"class", walk.encode(type(value), at))]
    parts += _encode_attributes(walk, attributes, sorted(attributes), at, held)
    return b"".join([*parts, *_content(walk, value, held)])


def encode_member(walk: Walk, value: Any, at: At) -> bytes | None:
    """Enum members, and frozen instances: as constant as what is in them."""
    kind = type(value)
    if isinstance(value, enum.Enum):
        return part(b"member", walk.encode(kind, at), text(b"s", str(value.name)))
    names = _frozen_fields(kind)
    if names is None:
        return None
    watch_instance(walk, value)
    members = [text(b"s", name) + walk.encode(getattr(value, name), at.to(f"{at.where}.{name}")) for name in names]
    parts = [part(b"frozen", walk.encode(kind, at), *members), *_content(walk, value, at)]
    return b"".join([*parts, *encode_beyond(walk, value, names, at)])


def watch_instance(walk: Walk, value: Any) -> None:
    """Watch the class of an instance and all that it holds."""
    walk.watch.container(value, _watched)


def encode_beyond(walk: Walk, value: Any, known: list[str], at: At) -> list[bytes]:
    """Return the bytes of what an instance holds beside the attributes that count already."""
    attributes = _attributes(value)
    names = sorted(name for name in attributes.keys() - set(known) if not _is_derived(type(value), name))
    parts = _encode_attributes(walk, attributes, names, at, at)
    return [part(b"beyond", *parts)] if parts else []


def _encode_attributes(walk: Walk, values: dict[str, Any], names: list[str], at: At, held: At) -> list[bytes]:
    places = [held.to(f"the attribute `{name}` of {at.where}") for name in names]
    return [text(b"n", name) + walk.encode(values[name], place) for name, place in zip(names, places, strict=True)]


def _content(walk: Walk, value: Any, at: At) -> list[bytes]:
    """Return what the builtin holds that a class derives from."""
    for base, plain in (*_CONTAINERS, *_SCALARS):
        if issubclass(type(value), base):
            return [part(b"content", walk.encode(plain(value), at))]
    if any(f"{base.__module__}.{base.__qualname__}" == _ARRAY for base in type(value).__mro__):
        import numpy as np

        return [part(b"content", walk.encode(np.asarray(value), at))]
    return []


def _attributes(value: Any) -> dict[str, Any]:
    """Return what an instance holds by name, in its slots too, whatever name these have in its class."""
    found = dict(getattr(value, "__dict__", {}))
    for name, slot in _slots(type(value)):
        try:
            found[name] = slot.__get__(value)
        except AttributeError:
            continue
    return found


def _slots(kind: type) -> tuple[tuple[str, MemberDescriptorType], ...]:
    found = _known_slots.get(kind)
    if found is None:
        found = _known_slots[kind] = tuple(
            (name, member)
            for cls in reversed(kind.__mro__)
            for name, member in vars(cls).items()
            if isinstance(member, MemberDescriptorType) and not name.endswith("__")
        )
    return found


def _watched(value: Any) -> Iterator[Any]:
    """Give what is compared by identity to see whether an instance is as it was."""
    yield type(value)
    for name, held in _attributes(value).items():
        yield name
        yield held
    yield getattr(value, "default_factory", None)
    for base, plain in _CONTAINERS:
        if issubclass(type(value), base):
            content = plain(value)
            yield from content
            yield from content.values() if isinstance(content, dict) else ()
            return


def _is_derived(kind: type, name: str) -> bool:
    """Whether an attribute only keeps what was computed from the others."""
    found = next((vars(cls)[name] for cls in kind.__mro__ if name in vars(cls)), None)
    return isinstance(found, functools.cached_property) or name == "_attrs_cached_hash"


def _frozen_fields(kind: type) -> list[str] | None:
    parameters = getattr(kind, "__dataclass_params__", None)
    if parameters is not None and parameters.frozen:
        return [field.name for field in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__") and kind.__setattr__.__name__ == "_frozen_setattrs":
        return [field.name for field in kind.__attrs_attrs__]
    return None
