"""A quick way for small nests of natives: most arguments are such, and a key must cost microseconds.

It gives what the general walk gives, or None where that is needed: for other
types, for deep nests, and for large ones, where shared parts would be walked
again and again.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from lazycache.digests.natives import int_encoding
from lazycache.digests.registry import leaves
from lazycache_storage.digest import INLINE, seal

ALLOWANCE = 400
"""Where a nest stops being small: each part costs one, each level and each container `_PER_CONTAINER`."""

_PER_CONTAINER = 8
# With fewer numbers, comparing their types first costs more than it saves; more do not fit into an inline token.
_FEW = 4
_MANY = 21

# Formatted beforehand: what a container of each size starts with, and sequences of numbers.
_TAGS: dict[type, bytes] = {tuple: b"t", list: b"l", dict: b"d", set: b"e", frozenset: b"g"}
_HEADS = {kind: [b"%b%d:" % (tag, count) for count in range(2 * ALLOWANCE)] for kind, tag in _TAGS.items()}
_NUMBERS = {kind: [_HEADS[kind][size] + b"i%d;" * size for size in range(_MANY)] for kind in (tuple, list)}

_BYTE_TOKENS = [int_encoding(number) for number in range(256)]
# Lone surrogates; too many digits to print; a container that another thread changes.
_NOT_SMALL = (UnicodeEncodeError, ValueError, TypeError, IndexError)


def small_token(value: Any, kind: type, allowance: list[int] | None = None) -> bytes | None:
    """Return the token of a small container, or None; `allowance` holds what may still be spent."""
    heads = _HEADS.get(kind)
    if heads is None:
        return None
    size = len(value)
    try:
        if _FEW < size < _MANY and kind in _NUMBERS and type(value[0]) is int:
            kinds = list(map(type, value))
            if kinds.count(int) == size:
                encoding = _NUMBERS[kind][size] % (value if kind is tuple else tuple(value))
                # While the whole is short, no number in it has the digits that call for another encoding.
                if len(encoding) <= INLINE:
                    return encoding
        if allowance is None:
            allowance = [ALLOWANCE]
        allowance[0] -= size + _PER_CONTAINER
        if allowance[0] < 0:
            return None
        tokens: list[bytes] = []
        append = tokens.append
        # One function for all of it: a call for each container would be a tenth of the time.
        for part in chain.from_iterable(value.items()) if kind is dict else value:
            part_kind = type(part)
            if part_kind is str:
                data = part.encode()
                encoding = b"s%d:%b" % (len(data), data)
                append(encoding if len(encoding) <= INLINE else seal(encoding))
            elif part_kind is int and 0 <= part < 256:
                append(_BYTE_TOKENS[part])
            elif part_kind in leaves:
                encoding = leaves[part_kind](part)
                append(encoding if len(encoding) <= INLINE else seal(encoding))
            else:
                inner = small_token(part, part_kind, allowance)
                if inner is None:
                    return None
                append(inner)
        if kind is set or kind is frozenset:
            tokens.sort()
        encoding = heads[len(tokens)] + b"".join(tokens)
    except _NOT_SMALL:
        return None
    return encoding if len(encoding) <= INLINE else seal(encoding)
