"""A class as a unit: its bases, and what stands in its namespace.

There is no code object of a class body to compare a text with, so the class is
taken as it is: methods as functions, attributes as values. What dataclasses,
attrs and enums generate counts through the fields it was generated from.
"""

import dataclasses
import enum
import functools
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, get_args, get_origin

from .natives import encode_scalar, part, text
from .owners import is_own_class, is_own_function, module_name, qualified_name
from .source import has_text
from .walk import At, Walk

_DERIVED = frozenset(
    {
        "__abstractmethods__", "__annotations__", "__annotations_cache__", "__annotate__", "__annotate_func__",
        "__attrs_own_setattr__", "__attrs_props__", "__classdictcell__", "__dataclass_fields__", "__dataclass_params__",
        "__dict__", "__doc__", "__firstlineno__", "__module__", "__orig_bases__", "__parameters__",
        "__qualname__", "__slotnames__", "__static_attributes__", "__type_params__", "__weakref__", "_abc_impl",
        "__protocol_attrs__", "__non_callable_proto_members__",
    }
)  # fmt: skip
_ENUM_DERIVED = frozenset(
    {
        "__format__", "__new__", "__new_member__", "_all_bits_", "_boundary_", "_flag_mask_", "_generate_next_value_",
        "_hashable_values_", "_inverted_", "_member_map_", "_member_names_", "_member_type_", "_new_member_",
        "_singles_mask_", "_unhashable_values_", "_unhashable_values_map_", "_use_args_", "_value2member_map_",
        "_value_repr_",
    }
)  # fmt: skip
_PLAIN_METACLASSES = frozenset({"builtins.type", "abc.ABCMeta", "enum.EnumType", "typing._ProtocolMeta"})


def encode_class(walk: Walk, cls: type, at: At) -> bytes:
    """Return the number of a class of the user's own, or the name of an installed one."""
    if is_own_class(cls):
        return walk.unit(cls, lambda: _write_class(walk, cls, at))
    return text(b"installed", qualified_name(cls))


def _write_class(walk: Walk, cls: type, at: At) -> bytes:
    walk.watch.container(cls, lambda held: [held.__bases__])
    parts = [text(b"class", f"{module_name(cls.__module__)}.{cls.__qualname__}")]
    parts += [part(b"base", walk.encode(base, at)) for base in cls.__bases__]
    meta = type(cls)
    parts.append(part(b"meta", walk.encode(meta, at)))
    if isinstance(cls, enum.EnumMeta):
        members: dict[str, Any] = dict(cls.__members__)
        parts += [
            text(b"member", name) + walk.encode(member.value, at.to(f"{cls.__qualname__}.{name}", "held"))
            for name, member in members.items()
        ]
        parts += _encode_boundary(cls)
    if "__dataclass_fields__" in vars(cls):
        parts.append(_encode_dataclass(walk, cls, at))
    if "__attrs_attrs__" in vars(cls):
        parts.append(_encode_attrs(walk, cls, at))
    if hasattr(cls, "__struct_fields__"):
        # A structure of msgspec keeps its defaults where its namespace does not show them.
        where = at.to(f"the defaults of {cls.__qualname__}", "held")
        parts += [walk.encode(getattr(cls, name), where) for name in ("__struct_fields__", "__struct_defaults__")]
    if "__pydantic_fields__" in vars(cls):
        parts.append(_encode_pydantic(walk, cls, at))
    if qualified_name(meta) not in _PLAIN_METACLASSES:
        parts.append(_encode_annotations(walk, cls, at))
    parts += _encode_namespace(walk, cls, at)
    return b"".join(parts)


def _encode_boundary(cls: enum.EnumMeta) -> list[bytes]:
    """Return what a flag does with unknown bits, where that is not what its base does."""
    boundary = getattr(cls, "_boundary_", None)
    inherited = getattr(cls.__bases__[-1], "_boundary_", None)
    return [] if boundary is inherited or boundary is None else [text(b"boundary", boundary.name)]


def _encode_namespace(walk: Walk, cls: type, at: At) -> list[bytes]:
    parts = []
    for name, value in sorted(vars(cls).items()):
        if _is_derived(cls, name, value):
            continue
        if at.ignores(f"{cls.__qualname__}.{name}"):
            continue
        walk.watch.name(vars(cls), name, value, owner=cls)
        walk.homes.update({id(function): cls for function in _functions_in(value)})
        where = f"the attribute `{name}` of {cls.__qualname__}"
        # What libraries keep under such names follows from the rest, and often has no digest.
        is_special = name.startswith("__") and name.endswith("__") and not is_own_class(type(value))
        parts.append(text(b"n", name) + walk.encode(value, at.to(where, "foreign" if is_special else "held")))
    walk.watch.container(cls, lambda held: list(vars(held)))
    return parts


def _is_derived(cls: type, name: str, value: object) -> bool:
    """Whether an entry is made by Python, or generated from what counts already."""
    if (
        name in _DERIVED
        or name.startswith("__pydantic_")
        or isinstance(value, MemberDescriptorType | GetSetDescriptorType)
    ):
        return True
    if isinstance(cls, enum.EnumMeta):
        return name in cls.__members__ or (name in _ENUM_DERIVED and not _is_written_for_enum(name, value))
    fields = getattr(cls, "_fields", ()) if issubclass(cls, tuple) else ()
    if name in fields:
        return True
    generates = bool(fields) or "__dataclass_fields__" in vars(cls) or "__attrs_attrs__" in vars(cls)
    if name == "__hash__" and value is None:
        return True
    if name == "__match_args__":
        return generates or hasattr(cls, "__struct_fields__")
    return generates and _is_generated(_unwrap(value))


def _is_written_for_enum(name: str, value: object) -> bool:
    """Whether a method that enums always have is the user's own; ``__new__`` stands under another name then."""
    function = _unwrap(value)
    return name in ("__format__", "__new_member__") and isinstance(function, FunctionType) and is_own_function(function)


def _functions_in(value: Any) -> list[FunctionType]:
    """Return the functions that a member of a class is made of, and those that they wrap."""
    held: list[Any] = [_unwrap(value)]
    if isinstance(value, property):
        held = [value.fget, value.fset, value.fdel]
    elif isinstance(value, functools.cached_property | functools.partialmethod):
        held = [value.func]
    found = []
    while held:
        function = held.pop()
        if isinstance(function, FunctionType):
            found.append(function)
            held.append(vars(function).get("__wrapped__"))
    return found


def _unwrap(value: Any) -> Any:
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def _is_generated(function: object) -> bool:
    if not isinstance(function, FunctionType):
        return False
    if not is_own_function(function):
        return True
    path = function.__code__.co_filename
    return path.startswith("<") and (path.startswith("<attrs ") or not has_text(function))


def _encode_dataclass(walk: Walk, cls: type, at: At) -> bytes:
    parameters = vars(cls)["__dataclass_params__"]
    # Later versions note more parameters; what these do shows in the fields or in the namespace.
    names = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
    parts = [text(b"p", name) + flag(getattr(parameters, name)) for name in names]
    for field in vars(cls)["__dataclass_fields__"].values():
        where = at.to(f"the field `{field.name}` of {cls.__qualname__}", "held")
        parts.append(text(b"field", field.name))
        parts += [flag(getattr(field, name)) for name in ("init", "repr", "hash", "compare", "kw_only")]
        parts.append(text(b"kind", str(field._field_type)))
        for value in (field.default, field.default_factory):
            # Not by identity: it is another object in a class that was pickled by value.
            is_missing = isinstance(value, type(dataclasses.MISSING))
            parts.append(part(b"none") if is_missing else walk.encode(value, where))
        if field.metadata:
            parts.append(part(b"metadata", walk.encode(dict(field.metadata), where._replace(policy="foreign"))))
    return part(b"dataclass", *parts)


def _encode_attrs(walk: Walk, cls: type, at: At) -> bytes:
    parts = []
    for field in vars(cls)["__attrs_attrs__"]:
        where = at.to(f"the field `{field.name}` of {cls.__qualname__}", "held")
        default = field.default
        factory = getattr(default, "factory", default)
        parts.append(text(b"field", field.name))
        parts += [flag(bool(getattr(field, name))) for name in ("init", "repr", "eq", "order", "hash", "kw_only")]
        held = (factory, field.validator, field.converter, field.on_setattr)
        parts += [walk.encode(value, where) for value in held]
        if field.metadata:
            parts.append(part(b"metadata", walk.encode(dict(field.metadata), where._replace(policy="foreign"))))
    return part(b"attrs", *parts)


def _encode_pydantic(walk: Walk, cls: type, at: At) -> bytes:
    parts = []
    for name, field in vars(cls)["__pydantic_fields__"].items():
        where = at.to(f"the field `{name}` of {cls.__qualname__}", "held")
        rules = [words for words in map(repr, field.metadata) if " at 0x" not in words]
        parts.append(text(b"field", name) + text(b"s", " ".join(rules)))
        parts += [walk.encode(field.default, where), walk.encode(field.default_factory, where)]
    return part(b"pydantic", *parts)


def flag(value: bool | None) -> bytes:
    """Return the bytes of a switch."""
    return encode_scalar(value) or b""


def _encode_annotations(walk: Walk, cls: type, at: At) -> bytes:
    """Unknown metaclasses may make anything of the annotations."""
    annotations = vars(cls).get("__annotations__")
    if not isinstance(annotations, dict):
        return b""
    return part(b"annotations", *(text(b"n", name) + _hint(walk, hint, at) for name, hint in annotations.items()))


def _hint(walk: Walk, hint: Any, at: At) -> bytes:
    scalar = encode_scalar(hint)
    if scalar is not None:
        return scalar
    origin = get_origin(hint)
    if origin is not None:
        return part(b"hint", _hint(walk, origin, at), *(_hint(walk, argument, at) for argument in get_args(hint)))
    if isinstance(hint, type):
        return walk.encode(hint, at)
    if isinstance(hint, list | tuple):
        return part(b"hints", *(_hint(walk, argument, at) for argument in hint))
    return text(b"type", qualified_name(hint))
