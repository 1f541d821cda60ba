"""Digests: 32 bytes with a type of their own, and how an encoding becomes one.

An *encoding* is the canonical byte string of a value: it starts with a tag for
the type and says its own length. A *token* stands for a value inside the
encoding of another: the encoding itself while it is short, its digest else.
"""

from hashlib import sha256
from typing import Self

ENCODING_FORMAT = 1
"""Version of the canonical encoding; it is in every digest."""

PREFIX = b"lazycache:%d:" % ENCODING_FORMAT
"""What every preimage of a digest starts with."""

INLINE = 64
"""The longest encoding, in bytes, that is its own token."""


class Digest(bytes):
    """A sha256: 32 bytes that compare, sort and hash like bytes.

    Examples
    --------
    >>> d = Digest(bytes(range(32)))
    >>> d.short
    '000102'
    >>> print(d)
    000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
    >>> Digest.fromhex(d.hex()) == d
    True
    """

    __slots__ = ()

    def __new__(cls, data: bytes) -> Self:
        """Check the length; raises ValueError when it is not 32 bytes."""
        if len(data) != 32:
            raise ValueError(f"a digest has 32 bytes, got {len(data)}")
        return super().__new__(cls, data)

    @property
    def short(self) -> str:
        """The first six hex digits, for display only."""
        return self[:3].hex()

    def __repr__(self) -> str:
        return f"Digest({self.hex()!r})"

    def __str__(self) -> str:
        return self.hex()


_SEALED = ord("#")
# A copy of a state costs a third of a new one.
_copy = sha256(PREFIX).copy
# The length is known where these are used.
_new = bytes.__new__


def seal(encoding: bytes) -> bytes:
    """Return the token of a value whose encoding is given.

    Examples
    --------
    >>> seal(b"i1;")
    b'i1;'
    >>> len(seal(bytes(65)))
    33
    """
    if len(encoding) <= INLINE:
        return encoding
    state = _copy()
    state.update(encoding)
    return b"#" + state.digest()


def digest_of_encoding(encoding: bytes) -> Digest:
    """Return the digest of a value whose encoding is given."""
    state = _copy()
    state.update(encoding)
    return _new(Digest, state.digest())


def digest_of_token(token: bytes) -> Digest:
    """Return the digest of a value whose token is given."""
    if token[0] == _SEALED:
        return _new(Digest, token[1:])
    state = _copy()
    state.update(token)
    return _new(Digest, state.digest())
