"""Plain data to bytes."""
# ruff: noqa: ARG001, ARG005
# The writers are a table, so all of them take the same arguments.

import datetime
import decimal
import fractions
import types
import uuid
import zoneinfo
from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol

import msgspec
import numpy as np

from lazycache_storage.arrayhash import array_order
from lazycache_storage.objects import dtypes, zarrfiles
from lazycache_storage.objects.arrays import SUBCLASS_NAMES, SUBCLASSES
from lazycache_storage.objects.dtypes import AnyDtype
from lazycache_storage.objects.spooling import Spooled
from lazycache_storage.values.plain import INLINE_BYTES, LARGE_BYTES, NATIVE, PATHS, Array, Form, NotPlain, Tag

MAX_DEPTH = 64
"""How deep plain data nests; deeper values go to pickle."""

MAX_REPEATED = 1000
"""How many members of tuples that occur again are written again."""

_STR = frozenset({str})
_SIZED = frozenset({str, bytes})
_NUMPY_SCALARS = (frozenset(np.sctypeDict.values()) - {np.object_, np.str_, np.bytes_}) | {np.record}

_pack = msgspec.msgpack.Encoder().encode


class ArraySink(Protocol):
    """Where the large arrays of a value go."""

    def add(self, array: Array | Spooled) -> int:
        """Keep an array and return its position."""


def encode_plain(value: Any, sink: ArraySink) -> bytes:
    """Return the bytes of plain data; its large arrays go into `sink`.

    Raises
    ------
    NotPlain
        If the value is no plain data; nothing went into `sink`.
    """
    encoder = PlainEncoder()
    try:
        form = encoder.form(value)
        data = _pack(form)
    except (OverflowError, UnicodeEncodeError):
        # An int of more than 64 bits, or half a surrogate pair.
        encoder = PlainEncoder(careful=True)
        form = encoder.form(value)
        data = _pack(form)
    if not encoder.arrays:
        return data
    for reference, array in encoder.arrays:
        reference[1] = sink.add(array)
    return _pack(form)


def encode_object(array: Array, sink: ArraySink) -> bytes:
    """Return the bytes of an array that becomes an object whatever its size."""
    return _pack([Tag.OBJECT, sink.add(array)])


class PlainEncoder:
    """Turns one value into a form.

    Parameters
    ----------
    careful : bool
        Whether to look at every int and str, of which MessagePack cannot hold
        all: slower, and needed only after it has refused one.

    Attributes
    ----------
    arrays : list of (form, array)
        What must be kept elsewhere; the position goes into ``form[1]``.
    """

    def __init__(self, *, careful: bool = False) -> None:
        self.arrays: list[tuple[Form, Array | Spooled]] = []
        self._careful = careful
        self._depth = 0
        self._repeated = 0
        self._seen: set[int] = set()
        self._array_forms: dict[int, Form] = {}

    def form(self, value: Any) -> Form:
        """Return the form of a value.

        Raises
        ------
        NotPlain
            If it is not plain data.
        """
        kind = type(value)
        if kind in NATIVE:
            return self._native(value, kind)
        write = _WRITERS.get(kind)
        if write is not None:
            return write(self, value)
        if isinstance(value, np.dtype):
            return [Tag.DTYPE, _dtype_text(value)]
        raise NotPlain(kind.__qualname__)

    def _native(self, value: Any, kind: type) -> Form:
        if kind is str:
            return self._str(value)
        if kind is bytes:
            return value if len(value) < LARGE_BYTES else self._elsewhere(Tag.LARGE_BYTES, value)
        return integer_form(value) if kind is int else value

    def _str(self, value: str) -> Form:
        if len(value) >= LARGE_BYTES // 4:
            data = value.encode("utf-8", "surrogatepass")
            if len(data) >= LARGE_BYTES:
                return self._elsewhere(Tag.LARGE_STR, data)
        if self._careful and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                return [Tag.SURROGATES, value.encode("utf-8", "surrogatepass")]
        return value

    def _elsewhere(self, tag: int, value: bytes | bytearray | Array | Spooled) -> Form:
        reference = [tag, 0]
        if not isinstance(value, np.ndarray | Spooled):
            value = np.frombuffer(value, np.uint8)
        self.arrays.append((reference, value))
        return reference

    def _members(self, values: Iterable[Any]) -> list[Form]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotPlain("nested too deeply")
        form = self.form
        forms = [form(value) for value in values]
        self._depth -= 1
        return forms

    def _is_native(self, values: Collection[Any]) -> bool:
        if self._careful:
            return False
        kinds = set(map(type, values))
        if not kinds <= NATIVE or kinds.isdisjoint(_SIZED):
            return kinds <= NATIVE
        sized = values if kinds <= _SIZED else [value for value in values if type(value) in _SIZED]
        # A string of one megabyte has at least a quarter of that many characters.
        return max(map(len, sized)) < LARGE_BYTES // 4

    def _must_be_new(self, value: Any) -> None:
        if id(value) in self._seen:
            raise NotPlain("in two places")
        self._seen.add(id(value))

    def _count_repetition(self, value: tuple[Any, ...] | frozenset[Any]) -> None:
        if id(value) in self._seen:
            self._repeated += 1 + len(value)
            if self._repeated > MAX_REPEATED:
                raise NotPlain("repeated too often")
        self._seen.add(id(value))

    def _list(self, value: list[Any]) -> Form:
        self._must_be_new(value)
        return [Tag.NATIVE_LIST, value] if self._is_native(value) else [Tag.LIST, *self._members(value)]

    def _tuple(self, value: tuple[Any, ...]) -> Form:
        self._count_repetition(value)
        return [Tag.NATIVE_TUPLE, value] if self._is_native(value) else [Tag.TUPLE, *self._members(value)]

    def _dict(self, value: dict[Any, Any]) -> Form:
        self._must_be_new(value)
        if _STR.issuperset(map(type, value)) and self._is_native(value) and self._is_native(value.values()):
            return [Tag.NATIVE_DICT, value]
        return [Tag.DICT, *self._members(part for item in value.items() for part in item)]

    def _set(self, value: set[Any]) -> Form:
        self._must_be_new(value)
        return [Tag.SET, *self._members(value)]

    def _frozenset(self, value: frozenset[Any]) -> Form:
        self._count_repetition(value)
        return [Tag.FROZENSET, *self._members(value)]

    def _bytearray(self, value: bytearray) -> Form:
        self._must_be_new(value)
        if len(value) >= LARGE_BYTES:
            return self._elsewhere(Tag.LARGE_BYTEARRAY, value)
        return [Tag.BYTEARRAY, bytes(value)]

    def _array(self, value: Array) -> Form:
        known = self._array_forms.get(id(value))
        if known is None:
            known = inline_form(value)
            if known is None:
                known = self._elsewhere(Tag.OBJECT, value)
            self._array_forms[id(value)] = known
        return known

    def _datetime(self, value: datetime.datetime) -> Form:
        date = (value.year, value.month, value.day)
        return [Tag.DATETIME, *date, *_clock(value), value.fold, self.form(value.tzinfo)]

    def _time(self, value: datetime.time) -> Form:
        return [Tag.TIME, *_clock(value), value.fold, self.form(value.tzinfo)]

    def _slice(self, value: slice) -> Form:
        return [Tag.SLICE, *self._members((value.start, value.stop, value.step))]

    def _numpy_str(self, value: np.str_) -> Form:
        # str(value) would drop null characters at the end.
        return [Tag.NUMPY_STR, self._str(str.__str__(value))]


def integer_form(value: int) -> Form:
    """Return the form of an int of any size."""
    if -(1 << 63) <= value < 1 << 64:
        return value
    return [Tag.INT, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)]


def inline_form(array: Array) -> Form | None:
    """Return the form of a small array with its bytes, or None if it must be an object.

    Raises
    ------
    NotPlain
        If it is more than its bytes.
    """
    if not dtypes.is_plain(array.dtype):
        raise NotPlain(f"an array of dtype {array.dtype}")
    if array.nbytes > INLINE_BYTES:
        if not zarrfiles.can_hold(array.dtype):
            raise NotPlain(f"an array of dtype {array.dtype}")
        return None
    order = array_order(array)
    text = _dtype_text(array.dtype)
    return [Tag.ARRAY, text, array.shape, order, array.tobytes(order), SUBCLASS_NAMES[type(array)]]


def _dtype_text(dtype: AnyDtype) -> str:
    text = dtypes.describe(dtype)
    if text is None:
        raise NotPlain(f"dtype {dtype}")
    return text


def _clock(value: datetime.datetime | datetime.time) -> tuple[int, int, int, int]:
    return value.hour, value.minute, value.second, value.microsecond


def _timezone(encoder: PlainEncoder, value: datetime.timezone) -> Form:
    # What pickle uses; utcoffset and tzname do not tell a zone without a name from one that has the usual name.
    arguments: Any = value.__getinitargs__()  # type: ignore[attr-defined]
    offset, *name = arguments
    return [Tag.TIMEZONE, offset.days, offset.seconds, offset.microseconds, *map(encoder.form, name)]


def _zoneinfo(encoder: PlainEncoder, value: zoneinfo.ZoneInfo) -> Form:
    if value.key is None or zoneinfo.ZoneInfo(value.key) is not value:
        raise NotPlain("a time zone that its name does not bring back")
    return [Tag.ZONEINFO, value.key]


def _scalar(encoder: PlainEncoder, value: np.generic) -> Form:
    if value.dtype.hasobject:
        raise NotPlain("a numpy scalar with references")
    return [Tag.SCALAR, _dtype_text(value.dtype), value.tobytes()]


_Writer = Callable[[PlainEncoder, Any], Form]

_WRITERS: dict[type, _Writer] = {
    list: PlainEncoder._list,
    tuple: PlainEncoder._tuple,
    dict: PlainEncoder._dict,
    set: PlainEncoder._set,
    frozenset: PlainEncoder._frozenset,
    bytearray: PlainEncoder._bytearray,
    complex: lambda _, value: [Tag.COMPLEX, value.real, value.imag],
    slice: PlainEncoder._slice,
    range: lambda _, value: [Tag.RANGE, *map(integer_form, (value.start, value.stop, value.step))],
    types.EllipsisType: lambda _, value: [Tag.ELLIPSIS],
    types.NotImplementedType: lambda _, value: [Tag.NOT_IMPLEMENTED],
    datetime.date: lambda _, value: [Tag.DATE, value.year, value.month, value.day],
    datetime.time: PlainEncoder._time,
    datetime.datetime: PlainEncoder._datetime,
    datetime.timedelta: lambda _, value: [Tag.TIMEDELTA, value.days, value.seconds, value.microseconds],
    datetime.timezone: _timezone,
    zoneinfo.ZoneInfo: _zoneinfo,
    decimal.Decimal: lambda _, value: [Tag.DECIMAL, str(value)],
    fractions.Fraction: lambda _, value: [
        Tag.FRACTION,
        integer_form(value.numerator),
        integer_form(value.denominator),
    ],
    uuid.UUID: lambda _, value: [Tag.UUID, value.bytes, value.is_safe.value],
    **{
        path: lambda encoder, value: [Tag.PATH, type(value).__name__, encoder._str(str(value))]
        for path in PATHS.values()
    },
    **dict.fromkeys(_NUMPY_SCALARS, _scalar),
    np.str_: PlainEncoder._numpy_str,
    np.bytes_: lambda _, value: [Tag.NUMPY_BYTES, bytes(value)],
    **dict.fromkeys(SUBCLASSES.values(), PlainEncoder._array),
    Spooled: lambda encoder, value: encoder._elsewhere(Tag.OBJECT, value),
}
