"""A quick way for small nests of natives: most arguments are such, and a key must cost microseconds.

It gives what the general walk gives, or None where that is needed: for other
types, for deep nests, and for large ones, where shared parts would be walked
again and again.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from lazycache.digests.natives import DECIMAL_LIMIT, LEAST
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

# Lone surrogates; too many digits to print; a container that another thread changes.
_NOT_SMALL = (UnicodeEncodeError, ValueError, TypeError, IndexError)


def small_token(value: Any, kind: type, allowance: list[int]) -> bytes | None:
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
        allowance[0] -= size + _PER_CONTAINER
        if allowance[0] < 0:
            return None
        tokens = _part_tokens(chain.from_iterable(value.items()) if kind is dict else value, allowance)
        if tokens is None:
            return None
        if kind is set or kind is frozenset:
            tokens.sort()
        encoding = heads[len(tokens)] + b"".join(tokens)
    except _NOT_SMALL:
        return None
    return encoding if len(encoding) <= INLINE else seal(encoding)


def _part_tokens(parts: Iterable[Any], allowance: list[int]) -> list[bytes] | None:
    tokens: list[bytes] = []
    append = tokens.append
    for part in parts:
        kind = type(part)
        if kind is str:
            data = part.encode()
            encoding = b"s%d:%b" % (len(data), data)
            append(encoding if len(encoding) <= INLINE else seal(encoding))
        elif kind is int and LEAST < part < DECIMAL_LIMIT:
            append(b"i%d;" % part)
        elif kind in leaves:
            encoding = leaves[kind](part)
            append(encoding if len(encoding) <= INLINE else seal(encoding))
        else:
            inner = small_token(part, kind, allowance)
            if inner is None:
                return None
            append(inner)
    return tokens
