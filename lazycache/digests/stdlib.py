"""Encoders of the standard library's data types, and what is refused outright."""

from __future__ import annotations

import copy
import datetime
import enum
import types
from collections.abc import Callable
from typing import Any

from lazycache.digests.code import class_of_instance
from lazycache.digests.objects import Attributes, attributes_of, expand_object
from lazycache.digests.registry import (
    Encode,
    Parts,
    Refusal,
    copiers,
    expanders,
    families,
    no_label,
    refuse_named,
    register_named,
    standing_for,
)

SEED_ADVICE = (
    "its state changes with every draw; pass a seed or a numpy.random.SeedSequence and make the generator inside"
)
FILE_ADVICE = "pass the file's name, with hash_by_file_date or hash_by_file_content as the parameter's hasher"
PROCESS_ADVICE = "it belongs to this process; make it inside the function, or leave it out with a hasher"
WEAK_ADVICE = "what it refers to may vanish; pass the object itself"
USED_UP_ADVICE = "it is used up while it is read; pass a list or a tuple"


def _datetime(value: datetime.datetime) -> Any:
    return (*value.timetuple()[:6], value.microsecond, value.fold), value.tzinfo


def _time(value: datetime.time) -> Any:
    return (value.hour, value.minute, value.second, value.microsecond, value.fold), value.tzinfo


def _timezone(value: datetime.timezone) -> Any:
    # A timezone without a name of its own makes one of its offset.
    offset = value.utcoffset(None)
    name = value.tzname(None)
    return offset, None if name == datetime.timezone(offset).tzname(None) else name


def _zone(value: Any) -> Any:
    if value.key is None:
        raise Refusal("ZoneInfo", "it was read from a file and has no key")
    return value.key


def _partial(value: Any) -> Any:
    return value.func, value.args, sorted(value.keywords.items()), Attributes(dict(vars(value)))


def _typed_array(value: Any) -> Any:
    return value.typecode, value.itemsize, value.tobytes()


_BY_NAME: dict[str, Encode] = {
    "_io.BytesIO": lambda value: (value.getvalue(), value.tell()),
    "_io.StringIO": lambda value: (value.getvalue(), value.tell()),
    "array.array": _typed_array,
    "decimal.Decimal": str,
    "fractions.Fraction": lambda value: (value.numerator, value.denominator),
    "functools.partial": _partial,
    "pathlib.PosixPath": str,
    "pathlib.PurePosixPath": str,
    "pathlib.PureWindowsPath": str,
    "pathlib.WindowsPath": str,
    "re.Pattern": lambda value: (value.pattern, value.flags),
    "types.SimpleNamespace": lambda value: Attributes(dict(vars(value))),
    "types.UnionType": lambda value: value.__args__,
    "uuid.UUID": lambda value: (value.int, value.is_safe.name),
    "zoneinfo.ZoneInfo": _zone,
}

_BY_TYPE: dict[type, tuple[str, Encode]] = {
    datetime.date: ("datetime.date", lambda value: value.timetuple()[:3]),
    datetime.datetime: ("datetime.datetime", _datetime),
    datetime.time: ("datetime.time", _time),
    datetime.timedelta: ("datetime.timedelta", lambda value: (value.days, value.seconds, value.microseconds)),
    datetime.timezone: ("datetime.timezone", _timezone),
    types.MappingProxyType: ("types.MappingProxyType", dict),
    type({}.keys()): ("dict_keys", list),
    type({}.values()): ("dict_values", list),
    type({}.items()): ("dict_items", list),
}

_REFUSED = {
    **dict.fromkeys(
        (
            "numpy.random._generator.Generator",
            "numpy.random.bit_generator.BitGenerator",
            "numpy.random.mtrand.RandomState",
            "random.Random",
            "torch._C.Generator",
        ),
        SEED_ADVICE,
    ),
    **dict.fromkeys(("_io._RawIOBase", "_io._BufferedIOBase", "_io._TextIOBase", "mmap.mmap"), FILE_ADVICE),
    **dict.fromkeys(
        (
            "_contextvars.Context",
            "_contextvars.ContextVar",
            "_socket.socket",
            "_thread.RLock",
            "_thread._local",
            "_thread.lock",
            "builtins.frame",
            "builtins.module",
            "builtins.traceback",
            "concurrent.futures._base.Executor",
            "concurrent.futures._base.Future",
            "subprocess.Popen",
            "threading.Thread",
        ),
        PROCESS_ADVICE,
    ),
    **dict.fromkeys(
        (
            "weakref.ReferenceType",
            "builtins.weakref",
            "weakref.ProxyType",
            "weakref.WeakKeyDictionary",
            "weakref.WeakValueDictionary",
            "_weakrefset.WeakSet",
        ),
        WEAK_ADVICE,
    ),
    **dict.fromkeys(("builtins.generator", "builtins.async_generator", "builtins.coroutine"), USED_UP_ADVICE),
    **dict.fromkeys(
        ("unittest.mock.NonCallableMock", "unittest.mock._Call"), "it records how it is used; pass plain data"
    ),
}


def _copy_view(value: memoryview) -> memoryview:
    flat = memoryview(value.tobytes())
    return flat.cast(value.format, value.shape) if value.nbytes else flat.cast(value.format)  # type: ignore[call-overload, no-any-return]


# What `copy.deepcopy` cannot copy.
_COPIERS: dict[type, Callable[[Any], Any]] = {
    types.MappingProxyType: lambda value: types.MappingProxyType(copy.deepcopy(dict(value))),
    memoryview: _copy_view,
    type({}.keys()): lambda value: dict.fromkeys(copy.deepcopy(list(value))).keys(),
    type({}.values()): lambda value: dict(enumerate(copy.deepcopy(list(value)))).values(),
    type({}.items()): lambda value: dict(copy.deepcopy(list(value))).items(),
}


def _expand_enum(value: enum.Enum) -> Parts:
    # The value counts too: the name alone would not notice an edited enum. Composite flags have no name
    # that is the same in every Python version.
    name = None if isinstance(value, enum.Flag) else value._name_
    return b"u", (class_of_instance(type(value)), name, value._value_), no_label, True


def _expand_tuple_subclass(value: Any) -> Parts:
    kind = type(value)
    fields = getattr(kind, "_fields", None)
    if fields is None or len(fields) != len(value) or getattr(value, "__dict__", None):
        return expand_object(value)
    return b"U", (class_of_instance(kind), *value), _named_field_label, True


def _named_field_label(value: Any, _children: Any, index: int) -> str:
    return f".{value._fields[index - 1]}"


def _expand_set_subclass(value: Any) -> Parts:
    kind = type(value)
    if "__reduce__" in kind.__dict__ or "__reduce_ex__" in kind.__dict__:
        return expand_object(value)
    members = frozenset(value) if isinstance(value, frozenset) else set(value)
    return b"w", (class_of_instance(kind), members, attributes_of(value)), no_label, True


def register() -> None:
    """Put the types of the standard library into the registry."""
    register_named(_BY_NAME)
    refuse_named(_REFUSED)
    expanders.update({kind: standing_for(name, encode) for kind, (name, encode) in _BY_TYPE.items()})
    copiers.update(_COPIERS)
    families[enum.Enum] = _expand_enum
    families[tuple] = _expand_tuple_subclass
    families[set] = families[frozenset] = _expand_set_subclass


register()
