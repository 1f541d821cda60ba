"""The walk over a value that makes its token: iterative, each shared part once.

Encodings (format 1) start with a tag and say their own length. The tags:

====================  =========================================================
``N T F E Z``         None, True, False, Ellipsis, NotImplemented
``i I f c``           int (up to 60 digits; beyond, as bytes), float, complex
``s b y m H``         str, bytes, bytearray, memoryview, Digest
``l t d e g``         list, tuple, dict, set, frozenset
``S r``               slice, range
``D n A``             dtype, numpy scalar, array
``a w``               object array, array subclass
``G F``               a class, function or constant, by module and name; by its code
``u U``               enum member, namedtuple
``o v``               an instance by its attributes, or by what ``__reduce_ex__`` gives
``R P``               by a registered encoder, by ``__lazycache_digest__``
``#``                 not an encoding: the token of one that is too long to be inline
====================  =========================================================

A container is its tag, the number of its parts, a colon, and their tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lazycache.digests.natives import DECIMAL_LIMIT, LEAST
from lazycache.digests.objects import GENERAL_ADVICE, expand_object
from lazycache.digests.registry import Parts, Refusal, expanders, has_users_encoder, leaves, no_label, resolve
from lazycache.digests.small import small_token
from lazycache.errors import UnhashableError
from lazycache_storage.digest import INLINE, Digest, digest_of_encoding, digest_of_token, seal

MAX_DEPTH = 2_000_000
"""Where a structure that makes new parts for ever is given up."""


class Memo:
    """The tokens of the objects met so far in one pass, by identity.

    It keeps the objects alive, so that no identity is used twice. A memo must
    not outlive the pass: what it knows is wrong once an object changes.
    """

    __slots__ = ("copies", "known")

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, bytes]] = {}
        self.copies: dict[int, tuple[Any, Any, bytes]] = {}

    def add(self, value: Any, token: bytes) -> None:
        """Remember the token of an object."""
        self.known[id(value)] = (value, token)


def token(value: Any, *, path: str = "value", memo: Memo | None = None) -> bytes:
    """Return what stands for a value in a key: its encoding if short, else its digest.

    Parameters
    ----------
    value : object
    path : str
        What the value is called in messages.
    memo : Memo, optional
        Shared between the calls of one pass, so that shared objects are walked once.

    Raises
    ------
    UnhashableError
        If something in the value has no stable digest; it says what and where.

    Examples
    --------
    >>> token(1), token(True), token((1, 2))
    (b'i1;', b'T', b't2:i1;i2;')
    >>> token({"log": print, "lock": object()}, path="cfg")
    Traceback (most recent call last):
    ...
    lazycache.errors.UnhashableError: cfg['lock'] is a object, which has no stable digest: ...
    """
    kind = type(value)
    leaf = leaves.get(kind)
    if leaf is not None:
        return seal(leaf(value))
    quick = small_token(value, kind)
    return quick if quick is not None else _walk(value, path, memo if memo is not None else Memo())


def digest(value: Any, *, path: str = "value") -> Digest:
    """Return the sha256 of a value's canonical encoding.

    Parameters
    ----------
    value : object
    path : str
        What messages call the value.

    Raises
    ------
    UnhashableError
        If the value, or a part of it, has no digest that would be the same tomorrow.

    Examples
    --------
    >>> digest([1, 2]) == digest([1, 1 + 1])
    True
    >>> digest(1) == digest(1.0)
    False
    """
    kind = type(value)
    if kind is int and LEAST < value < DECIMAL_LIMIT:
        return digest_of_encoding(b"i%d;" % value)
    leaf = leaves.get(kind)
    if leaf is not None:
        return digest_of_encoding(leaf(value))
    quick = small_token(value, kind)
    return digest_of_token(quick if quick is not None else _walk(value, path, Memo()))


def container_token(tag: bytes, tokens: Sequence[bytes]) -> bytes:
    """Return the token of a container from those of its parts.

    Parameters
    ----------
    tag : bytes
        ``b"l"`` list, ``b"t"`` tuple, ``b"d"`` dict (keys and values in turn),
        ``b"S"`` slice, ``b"U"`` namedtuple (the token of its type's name first).
    tokens : sequence of bytes

    Examples
    --------
    >>> container_token(b"t", [token(1), token(2)]) == token((1, 2))
    True
    """
    return seal(b"%b%d:%b" % (tag, len(tokens), b"".join(tokens)))


def _expand(value: Any, kind: type) -> Parts | bytes:
    try:
        return (expanders.get(kind) or resolve(kind) or expand_object)(value)
    except Refusal:
        raise
    except Exception as error:
        if has_users_encoder(kind):
            raise
        # What is made for pickle, and libraries, may raise an exception of any class.
        advice = f"{GENERAL_ADVICE} (to take it apart raised {type(error).__name__}: {error})"
        raise Refusal(kind.__name__, advice) from error


def _walk(root: Any, path: str, memo: Memo) -> bytes:
    known = memo.known
    # One level: what is left of the children, their tokens so far, the value, how it was taken apart.
    value: Any = None
    parts: Parts = (b"", (root,), no_label, True)
    iterator = iter(parts[1])
    tokens: list[bytes] = []
    stack: list[tuple[Iterator[Any], list[bytes], Any, Parts]] = []
    open_ids: set[int] = set()
    try:
        while True:
            append = tokens.append
            for child in iterator:
                kind = type(child)
                leaf = leaves.get(kind)
                if leaf is not None:
                    encoding = leaf(child)
                    append(encoding if len(encoding) <= INLINE else seal(encoding))
                    continue
                seen = known.get(id(child))
                if seen is not None:
                    append(seen[1])
                    continue
                if id(child) in open_ids:
                    raise Refusal(kind.__name__, "it contains itself")
                expanded = _expand(child, kind)
                if isinstance(expanded, bytes):
                    encoding = seal(expanded)
                    known[id(child)] = (child, encoding)
                    append(encoding)
                    continue
                if len(stack) >= MAX_DEPTH:
                    raise Refusal(kind.__name__, "it is nested without an end")
                open_ids.add(id(child))
                stack.append((iterator, tokens, value, parts))
                value, parts, iterator, tokens = child, expanded, iter(expanded[1]), []
                break
            else:
                if not stack:
                    return tokens[0]
                if not parts[3]:
                    tokens.sort()
                sealed = container_token(parts[0], tokens)
                known[id(value)] = (value, sealed)
                open_ids.discard(id(value))
                iterator, tokens, value, parts = stack.pop()
                tokens.append(sealed)
    except Refusal as refusal:
        levels = [(done, holder, taken) for _, done, holder, taken in stack]
        where = "".join(
            taken[2](holder, taken[1], len(done)) for done, holder, taken in (*levels, (tokens, value, parts))
        )
        raise UnhashableError(
            path=path + where + refusal.path, type_name=refusal.type_name, advice=refusal.advice
        ) from refusal.__cause__
