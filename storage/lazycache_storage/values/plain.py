"""The form of plain data: what is written for each type, and under which tag.

MessagePack holds what it can hold faithfully: None, bool, int of 64 bits,
float, str, bytes. Everything else is an array whose first element is a tag.
Values of other types, cycles, and lists or dicts that sit in two places are
not plain, and go to pickle.
"""

import pathlib
import types
from typing import Any

from lazycache_storage.objects.arrays import Array as Array

Form = Any
"""What MessagePack can hold: the value itself if it is native, or ``[tag, …]``."""

NATIVE = frozenset({types.NoneType, bool, int, float, str, bytes})

INLINE_BYTES = 16384
"""Arrays of at most this size are kept in the payload."""

LARGE_BYTES = 1 << 20
"""Strings and bytes of at least this size are kept as objects."""

PATHS: dict[str, type[pathlib.PurePath]] = {
    path.__name__: path
    for path in (pathlib.PosixPath, pathlib.PurePosixPath, pathlib.WindowsPath, pathlib.PureWindowsPath)
}


class NotPlain(Exception):
    """The value is not plain data; no error, it sends the value to pickle."""


class Tag:
    """The first element of everything that is not native; part of the format on disk."""

    LIST = 0
    TUPLE = 1
    DICT = 2
    SET = 3
    FROZENSET = 4
    NATIVE_LIST = 5
    NATIVE_TUPLE = 6
    NATIVE_DICT = 7
    INT = 8
    SURROGATES = 9
    COMPLEX = 10
    BYTEARRAY = 11
    SLICE = 12
    RANGE = 13
    ELLIPSIS = 14
    NOT_IMPLEMENTED = 15
    DATE = 16
    TIME = 17
    DATETIME = 18
    TIMEDELTA = 19
    TIMEZONE = 20
    ZONEINFO = 21
    DECIMAL = 22
    FRACTION = 23
    UUID = 24
    PATH = 25
    SCALAR = 26
    NUMPY_STR = 27
    NUMPY_BYTES = 28
    DTYPE = 29
    ARRAY = 30
    OBJECT = 31
    LARGE_STR = 32
    LARGE_BYTES = 33
    LARGE_BYTEARRAY = 34
