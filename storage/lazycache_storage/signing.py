"""Signatures of records and notes: which of them were written by somebody who knows the secret.

A signature covers everything in a record that decides what is loaded, and the
key that the record is under; the objects count by their names, which are
digests of their content. It is checked before anything is decoded.
"""

from hashlib import sha256
from typing import Literal

import msgspec

from lazycache_storage.record import Record, encode_record

Signatures = Literal["off", "on", "strict"]

SHORTEST_SECRET = 16
"""Bytes; a shorter secret could be guessed."""

_DOMAIN = b"lazycache record signature 1\0"
_NOTE_DOMAIN = b"lazycache note signature 1\0"
_SIGNED_NOTE = b"lazycache signed\0"
_MOST_VOUCHED = 100_000


class Signer:
    """Signs and checks the records of one store.

    Thread-safe.

    Parameters
    ----------
    mode : {"off", "on", "strict"}
        ``off`` neither signs nor checks. ``on`` signs what is written, and a
        signature stands for trust where the folder gives none. ``strict``
        takes only records with a valid signature.
    secret : bytes

    Raises
    ------
    ValueError
        If the secret is too short for a mode that needs one.

    Examples
    --------
    >>> from lazycache_storage.digest import Digest
    >>> signer = Signer("on", b"sixteen bytes or more")
    >>> key = Digest(bytes(32))
    >>> signed = signer.sign(key, Record(payload=b"1"))
    >>> signer.verify(key, signed), signer.verify(Digest(bytes([1] * 32)), signed)
    (True, False)
    """

    def __init__(self, mode: Signatures = "off", secret: bytes = b"") -> None:
        if mode not in ("off", "on", "strict"):
            raise ValueError(f"signatures are off, on or strict, not {mode!r}")
        if mode != "off" and len(secret) < SHORTEST_SECRET:
            raise ValueError(f"a signing key has at least {SHORTEST_SECRET} bytes, this one has {len(secret)}")
        self.is_active = mode != "off"
        self.is_strict = mode == "strict"
        self._secret = secret
        # What records with a valid signature hold, also under keys that these were copied to.
        self._vouched: set[bytes] = set()

    def sign(self, key: bytes, record: Record) -> Record:
        """Return the record as it is to be written under `key`."""
        if not self.is_active:
            return msgspec.structs.replace(record, signature=b"") if record.signature else record
        self._vouch(record)
        return msgspec.structs.replace(record, signature=self._signature(key, record))

    def sign_again(self, key: bytes, record: Record) -> Record:
        """Return a record that was read, with a signature for `key` if it came with a valid one."""
        if not self.is_active:
            # Whoever wrote the signature covered all but a pin with it; a wrong one is told by those who check.
            return record
        return self.sign(key, record) if self.vouches(record) else msgspec.structs.replace(record, signature=b"")

    def verify(self, key: bytes, record: Record) -> bool:
        """Tell whether a record was signed, for this key, by somebody who knows the secret."""
        import hmac

        if not record.signature or not hmac.compare_digest(record.signature, self._signature(key, record)):
            return False
        self._vouch(record)
        return True

    def admits(self, key: bytes, record: Record) -> bool:
        """Tell whether a record that was found under `key` counts."""
        return not self.is_active or self.verify(key, record) or not self.is_strict

    def vouches(self, record: Record) -> bool:
        """Tell whether the content of a record was under a valid signature when it was read or written here."""
        return self.is_active and _content(record) in self._vouched

    def sign_note(self, row: bytes, data: bytes) -> bytes:
        """Return what is to be written in a row that is no record."""
        return _SIGNED_NOTE + self._note_signature(row, data) + data if self.is_active else data

    def read_note(self, row: bytes, written: bytes | None) -> bytes | None:
        """Return what a row says; None if it is not there, or does not count."""
        if written is None or not written.startswith(_SIGNED_NOTE):
            return None if self.is_strict else written
        import hmac

        start = len(_SIGNED_NOTE) + sha256().digest_size
        signature, data = written[len(_SIGNED_NOTE) : start], written[start:]
        is_valid = not self.is_active or hmac.compare_digest(signature, self._note_signature(row, data))
        return data if is_valid else None

    def _note_signature(self, row: bytes, data: bytes) -> bytes:
        import hmac

        return hmac.digest(self._secret, _NOTE_DOMAIN + row + data, "sha256")

    def _vouch(self, record: Record) -> None:
        if len(self._vouched) >= _MOST_VOUCHED:
            self._vouched.clear()
        self._vouched.add(_content(record))

    def _signature(self, key: bytes, record: Record) -> bytes:
        # A pin changes nothing of what is loaded, and the boot only whether it is compared once more.
        signed = encode_record(msgspec.structs.replace(record, signature=b"", boot="", pinned=False))
        import hmac

        return hmac.digest(self._secret, _DOMAIN + key + signed, "sha256")


def _content(record: Record) -> bytes:
    held = Record(
        kind=record.kind, payload=record.payload, blob=record.blob, objects=record.objects, token=record.token
    )
    return sha256(encode_record(held)).digest()
