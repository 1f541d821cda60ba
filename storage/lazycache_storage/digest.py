"""Digests: 32 bytes with a type of their own."""

from typing import Self


class Digest(bytes):
    """A sha256: 32 bytes that compare, sort and hash like bytes.

    Examples
    --------
    >>> d = Digest(bytes(range(32)))
    >>> d.short
    '000102'
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
