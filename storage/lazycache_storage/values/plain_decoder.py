"""Bytes to plain data; they may have been made by an enemy, and run no code."""
# ruff: noqa: ARG001, ARG005
# The readers are a table, so all of them take the same arguments.

import datetime
import decimal
import fractions
import math
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.objects import dtypes
from lazycache_storage.objects.arrays import subclass_named
from lazycache_storage.values.plain import PATHS, Array, Form, Tag

_FEW = 10_000
_MOST_OF_ONE_HASH = 100
_QUICKLY_REDUCED = 10_000

Load = Callable[[int], Array]
"""Gives the array of a position, read-only."""


def _refuse_extension(code: int, data: memoryview) -> Any:
    raise ValueError(f"unknown extension {code}")


_unpack = msgspec.msgpack.Decoder(ext_hook=_refuse_extension).decode


def decode_plain(payload: bytes, load: Load, where: str = "payload") -> Any:
    """Return the plain data in `payload`.

    Parameters
    ----------
    payload : bytes
    load : callable
        Gives the array of a position.
    where : str
        For the message of an error.

    Raises
    ------
    CorruptEntryError
        If the bytes are not plain data.
    """
    try:
        form = _unpack(payload)
        return _value(form, load) if type(form) is list else form
    except (
        msgspec.DecodeError,
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        NotImplementedError,
        RecursionError,
        # numpy's, for text that is no Unicode.
        SystemError,
        TypeError,
        ValueError,
    ) as error:
        raise CorruptEntryError(path=where, reason=f"not plain data: {error}") from error


def _value(form: Form, load: Load) -> Any:
    return _READERS[form[0]](form, load) if type(form) is list else form


def _members(form: Form, load: Load) -> list[Any]:
    return [_READERS[part[0]](part, load) if type(part) is list else part for part in form[1:]]


def _dict(form: Form, load: Load) -> Any:
    if not len(form) % 2:
        raise ValueError("a dict with a key too many")
    members = _members(form, load)
    keys = members[::2]
    refuse_collisions(keys)
    return dict(zip(keys, members[1::2], strict=True))


def _set(kind: type) -> Callable[[Form, Load], Any]:
    def read(form: Form, load: Load) -> Any:
        members = _members(form, load)
        refuse_collisions(members)
        return kind(members)

    return read


def refuse_collisions(members: list[Any]) -> None:
    """Raise ValueError if so many hashes are equal that a set of the members would take for ever to make."""
    if len(members) > _FEW and len(set(map(hash, members))) < len(members) // _MOST_OF_ONE_HASH:
        raise ValueError(f"{len(members)} members with few hashes")


def _native(kind: type) -> Callable[[Form, Load], Any]:
    def read(form: Form, load: Load) -> Any:
        members = form[1]
        if type(members) is not kind:
            raise TypeError(f"expected a {kind.__name__}")
        return members

    return read


def _large(kind: Callable[[Any], Any]) -> Callable[[Form, Load], Any]:
    return lambda form, load: kind(_bytes_at(form, load).data)


def _bytes_at(form: Form, load: Load) -> Array:
    array = _object(form, load)
    if array.dtype != np.uint8 or array.ndim != 1:
        raise TypeError("not an array of bytes")
    return array


def _object(form: Form, load: Load) -> Array:
    position = form[1]
    if type(position) is not int or position < 0:
        raise TypeError("not a position")
    return load(position)


def read_array_form(form: Form, load: Load | None = None) -> Array:
    """Return the array of a form that holds its bytes.

    Raises
    ------
    CorruptEntryError, TypeError, ValueError
        If the form is none.
    """
    _, text, shape, order, data, subclass = form
    dtype = dtypes.parse_array_dtype(text)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"{len(data)} bytes for shape {shape} of {dtype}")
    # Whatever has no elements must not ask for memory, even if a dimension is huge.
    array: Array = np.ndarray(shape, dtype, data, order=order)
    return array.view(subclass_named(subclass)) if subclass else array


def _scalar(form: Form, load: Load) -> Any:
    _, text, data = form
    dtype = dtypes.parse(text)
    if dtype.hasobject or dtype.subdtype is not None or dtype.itemsize != len(data):
        raise ValueError(f"{len(data)} bytes for a scalar of {dtype}")
    return np.ndarray((), dtype, data)[()]


def _zone(form: Form, load: Load) -> datetime.tzinfo | None:
    zone = _value(form, load)
    if zone is not None and not isinstance(zone, datetime.tzinfo):
        raise TypeError("not a time zone")
    return zone


def _datetime(form: Form, load: Load) -> Any:
    _, year, month, day, hour, minute, second, microsecond, fold, zone = form
    return datetime.datetime(year, month, day, hour, minute, second, microsecond, _zone(zone, load), fold=fold)


def _time(form: Form, load: Load) -> Any:
    _, hour, minute, second, microsecond, fold, zone = form
    return datetime.time(hour, minute, second, microsecond, _zone(zone, load), fold=fold)


def _timezone(form: Form, load: Load) -> Any:
    _, days, seconds, microseconds, *name = form
    return datetime.timezone(datetime.timedelta(days, seconds, microseconds), *(_value(part, load) for part in name))


def _uuid(form: Form, load: Load) -> Any:
    return uuid.UUID(bytes=form[1], is_safe=uuid.SafeUUID(form[2]))


def _fraction(form: Form, load: Load) -> Any:
    numerator, denominator = _members(form, load)
    if type(numerator) is not int or type(denominator) is not int:
        # A text such as 1e999999999 would take for ever.
        raise TypeError("not two integers")
    if denominator.bit_length() <= _QUICKLY_REDUCED or denominator < 0:
        return fractions.Fraction(numerator, denominator)
    # Written by us, it is in lowest terms; to find that out takes for ever.
    made: Any = object.__new__(fractions.Fraction)
    made._numerator, made._denominator = numerator, denominator
    return made


_READERS: dict[int, Callable[[Form, Load], Any]] = {
    Tag.LIST: _members,
    Tag.TUPLE: lambda form, load: tuple(_members(form, load)),
    Tag.DICT: _dict,
    Tag.SET: _set(set),
    Tag.FROZENSET: _set(frozenset),
    Tag.NATIVE_LIST: _native(list),
    Tag.NATIVE_TUPLE: lambda form, load: tuple(_native(list)(form, load)),
    Tag.NATIVE_DICT: _native(dict),
    Tag.INT: lambda form, load: int.from_bytes(form[1], "little", signed=True),
    Tag.SURROGATES: lambda form, load: str(form[1], "utf-8", "surrogatepass"),
    Tag.COMPLEX: lambda form, load: complex(form[1], form[2]),
    Tag.BYTEARRAY: lambda form, load: bytearray(memoryview(form[1])),
    Tag.SLICE: lambda form, load: slice(*_members(form, load)),
    Tag.RANGE: lambda form, load: range(*_members(form, load)),
    Tag.ELLIPSIS: lambda form, load: ...,
    Tag.NOT_IMPLEMENTED: lambda form, load: NotImplemented,
    Tag.DATE: lambda form, load: datetime.date(*form[1:]),
    Tag.TIME: _time,
    Tag.DATETIME: _datetime,
    Tag.TIMEDELTA: lambda form, load: datetime.timedelta(*form[1:]),
    Tag.TIMEZONE: _timezone,
    Tag.ZONEINFO: lambda form, load: zoneinfo.ZoneInfo(form[1]),
    Tag.DECIMAL: lambda form, load: decimal.Decimal(form[1]),
    Tag.FRACTION: _fraction,
    Tag.UUID: _uuid,
    Tag.PATH: lambda form, load: PATHS[form[1]](_value(form[2], load)),
    Tag.SCALAR: _scalar,
    Tag.NUMPY_STR: lambda form, load: np.str_(_value(form[1], load)),
    Tag.NUMPY_BYTES: lambda form, load: np.bytes_(form[1]),
    Tag.DTYPE: lambda form, load: dtypes.parse(form[1]),
    Tag.ARRAY: read_array_form,
    Tag.OBJECT: _object,
    Tag.LARGE_STR: lambda form, load: str(_bytes_at(form, load).data, "utf-8", "surrogatepass"),
    Tag.LARGE_BYTES: _large(bytes),
    Tag.LARGE_BYTEARRAY: _large(bytearray),
}
