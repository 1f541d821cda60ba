"""What a store keeps beside results: who owns a name, what code consists of, file contents, how long calls take."""

import msgspec

from lazycache_storage.digest import Digest
from lazycache_storage.index.index import CLAIM_PREFIX, CODE_PREFIX, FILE_PREFIX, TOOK_PREFIX
from lazycache_storage.rows import Rows
from lazycache_storage.signing import Signer


class Sighting(msgspec.Struct, frozen=True, array_like=True):
    """That results of a code were stored.

    Attributes
    ----------
    place : str
        Where the code is, so that other code there has replaced it.
    started : float
        When the process that stored them was started (seconds since the epoch).
    """

    place: str
    started: float


class CodeNote(msgspec.Struct, frozen=True, array_like=True):
    """What is known of one state of the code of a function.

    Attributes
    ----------
    function : str
    version : str
        The version as text if name and version are all that counts; else empty.
    seen : tuple of Sighting
        The latest ones.
    parts : tuple of (str, bytes, str)
        Name, digest and text of each function, class and global that counts.
    """

    function: str
    version: str
    seen: tuple[Sighting, ...]
    parts: tuple[tuple[str, bytes, str], ...]


def decode_code_note(data: bytes | None) -> CodeNote | None:
    """Return what a row says of a code; None if there is none, or if nobody of ours wrote it."""
    if data is None:
        return None
    try:
        return msgspec.msgpack.decode(data, type=CodeNote)
    except msgspec.MsgspecError:
        return None


class Notes:
    """The part of a store that has small rows of bytes under digests."""

    _rows: Rows
    signer: Signer

    def claim_get(self, digest: Digest) -> bytes | None:
        """Return what was claimed under a digest."""
        return self._read(CLAIM_PREFIX + digest)

    def claim_put(self, digest: Digest, data: bytes, *, expected: bytes | None) -> bool:
        """Write a claim if the present one is `expected`, None for none; return whether it was."""
        row = CLAIM_PREFIX + digest
        with self._rows.transaction() as transaction:
            if self.signer.read_note(row, transaction.get(row)) != expected:
                return False
            transaction.put(row, self.signer.sign_note(row, data))
        return True

    def code_get(self, digest: Digest) -> bytes | None:
        """Return what is noted of the code of a function."""
        return self._rows.get(CODE_PREFIX + digest)

    def code_put(self, digest: Digest, data: bytes) -> None:
        """Note what the code of a function consists of."""
        with self._rows.transaction() as transaction:
            transaction.put(CODE_PREFIX + digest, data)

    def memo_get(self, digest: Digest) -> bytes | None:
        """Return the remembered content digest of a file."""
        # A wrong one would find the result of another file.
        return self._read(FILE_PREFIX + digest)

    def memo_put(self, digest: Digest, data: bytes) -> None:
        """Remember the content digest of a file."""
        row = FILE_PREFIX + digest
        with self._rows.transaction() as transaction:
            transaction.put(row, self.signer.sign_note(row, data))

    def duration_get(self, digest: Digest) -> bytes | None:
        """Return what is noted of how long the calls of a function take."""
        return self._rows.get(TOOK_PREFIX + digest)

    def duration_put(self, digest: Digest, data: bytes) -> None:
        """Note how long the calls of a function take."""
        with self._rows.transaction() as transaction:
            transaction.put(TOOK_PREFIX + digest, data)

    def _read(self, row: bytes) -> bytes | None:
        """Return what a row says that decides which result is found."""
        return self.signer.read_note(row, self._rows.get(row))
