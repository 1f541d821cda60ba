"""Encodings of Python's own values: numbers, text, bytes, and the containers."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import chain
from struct import Struct
from typing import Any

from lazycache.digests.registry import Parts, expanders, leaves, no_label
from lazycache_storage.arrayhash import BLOCK, bytes_encoding
from lazycache_storage.digest import Digest

_pack_float = Struct("<d").pack
_pack_complex = Struct("<dd").pack


# Sixty digits fit into an inline token.
DECIMAL_LIMIT = 10**60
LEAST = -DECIMAL_LIMIT


def int_encoding(value: int) -> bytes:
    """Return the encoding of an int."""
    if LEAST < value < DECIMAL_LIMIT:
        return b"i%d;" % value
    # Decimal digits of large numbers are quadratic, and Python refuses more than 4300 of them.
    size = value.bit_length() // 8 + 1
    return b"I%d:%b" % (size, value.to_bytes(size, "little", signed=True))


def _complex(value: complex) -> bytes:
    return b"c" + _pack_complex(value.real, value.imag)


def _float(value: float) -> bytes:
    return b"f" + _pack_float(value)


def str_encoding(value: str) -> bytes:
    """Return the encoding of a string; lone surrogates are kept."""
    data = value.encode("utf-8", "surrogatepass")
    return b"s%d:%b" % (len(data), data)


def _bytes(value: bytes) -> bytes:
    size = len(value)
    return b"b%d:%b" % (size, value) if size <= BLOCK else bytes_encoding(value)


def _bytearray(value: bytearray) -> bytes:
    return bytes_encoding(value, b"y")


def _range(value: range) -> bytes:
    # The parameters, not the members: a function sees start and step of an empty range.
    return b"r%b%b%b" % (int_encoding(value.start), int_encoding(value.stop), int_encoding(value.step))


leaves.update(
    {
        int: int_encoding,
        float: _float,
        complex: _complex,
        str: str_encoding,
        bytes: _bytes,
        bytearray: _bytearray,
        range: _range,
        Digest: lambda value: b"H" + value,
        bool: lambda value: b"T" if value else b"F",
        type(None): lambda _: b"N",
        type(...): lambda _: b"E",
        type(NotImplemented): lambda _: b"Z",
    }
)

# A pair of shared sub-nests doubles with every level when it is printed.
_short = reprlib.Repr()
_short.maxlevel = 2


def index_label(_value: Any, _children: Sequence[Any], index: int) -> str:
    """Name an element of a sequence."""
    return f"[{index}]"


def key_label(_value: Any, children: Sequence[Any], index: int) -> str:
    """Name a key or a value of a dict."""
    key = _short.repr(children[index - index % 2])
    return f"[{key}]" if index % 2 else f".keys()[{index // 2}]"


def member_label(_value: Any, _children: Sequence[Any], _index: int) -> str:
    """Name a member of a set, which has no position."""
    return "{…}"


def field_label(_value: Any, children: Sequence[Any], index: int) -> str:
    """Name an attribute; the type's name comes first, then names and values in turn."""
    return f".{children[index - 1]}" if index else ""


def _list(value: list[Any]) -> Parts:
    return b"l", value, index_label, True


def _tuple(value: tuple[Any, ...]) -> Parts:
    return b"t", value, index_label, True


def _dict(value: dict[Any, Any]) -> Parts:
    return b"d", list(chain.from_iterable(value.items())), key_label, True


def _set(value: set[Any]) -> Parts:
    return b"e", list(value), member_label, False


def _frozenset(value: frozenset[Any]) -> Parts:
    return b"g", list(value), member_label, False


def _slice(value: slice) -> Parts:
    return b"S", (value.start, value.stop, value.step), _slice_label, True


def _slice_label(_value: Any, _children: Sequence[Any], index: int) -> str:
    return (".start", ".stop", ".step")[index]


def _memoryview(value: memoryview) -> Parts:
    data = value if value.c_contiguous and value.nbytes else value.tobytes()
    return b"m", (value.format, value.shape, bytes_encoding(data)), no_label, True


expanders.update(
    {
        list: _list,
        tuple: _tuple,
        dict: _dict,
        set: _set,
        frozenset: _frozenset,
        slice: _slice,
        memoryview: _memoryview,
    }
)
