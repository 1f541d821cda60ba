"""The bytes of plain constants, as they stand in a syntax tree or a code object.

Every part carries its type and its length, so that no two constants share a
byte stream, and sets are ordered by the bytes of their members.
"""

import struct
from collections.abc import Iterable


def part(tag: bytes, *payloads: bytes) -> bytes:
    """Return `payloads` as one part that says what it is and where it ends."""
    return b"%b%d:%b" % (tag, sum(map(len, payloads)), b"".join(payloads))


def text(tag: bytes, words: str) -> bytes:
    """Return a part that holds words; lone surrogates are allowed."""
    return part(tag, words.encode("utf-8", "surrogatepass"))


def encode_scalar(value: object) -> bytes | None:
    """Return the bytes of a number, a text, None or an Ellipsis; None for all else."""
    kind = type(value)
    if kind is str:
        return text(b"s", value)  # type: ignore[arg-type]
    if value is None or kind is bool or value is ...:
        return text(b"c", repr(value))
    if kind is int:
        return text(b"i", f"{value:x}")
    if kind is float:
        return part(b"f", struct.pack(">d", value))
    if kind is complex:
        return part(b"j", struct.pack(">dd", value.real, value.imag))  # type: ignore[attr-defined]
    if kind is bytes:
        return part(b"b", value)  # type: ignore[arg-type]
    return None


def encode_constant(value: object) -> bytes:
    """Return the bytes of a constant that a compiler made.

    Examples
    --------
    >>> encode_constant(1) == encode_constant(True)
    False
    >>> encode_constant(frozenset({"a", "b"})) == encode_constant(frozenset({"b", "a"}))
    True
    """
    scalar = encode_scalar(value)
    if scalar is not None:
        return scalar
    if isinstance(value, tuple):
        return part(b"t", *map(encode_constant, value))
    if isinstance(value, frozenset):
        return part(b"z", *in_order(map(encode_constant, value)))
    raise TypeError(f"a compiler makes no constant of type {type(value).__qualname__}")


def in_order(parts: Iterable[bytes]) -> list[bytes]:
    """Return the parts of something that has no order, in one that is always the same."""
    return sorted(parts)
