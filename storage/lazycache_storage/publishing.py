"""Writing a result so that it is either whole or not there.

Objects are written to ``tmp/`` first. Then, while the write lock of the index
is held, they are renamed into place, and their rows and the record follow.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from lazycache_storage import fsio, layout, machine
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.index import accounts
from lazycache_storage.index.index import REF_PREFIX, Index
from lazycache_storage.index.transactions import Transaction
from lazycache_storage.objects.arrays import Array, Written
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.objects.objects import Sink, refresh, write_blob
from lazycache_storage.record import FileState, ObjectRef, Record, decode_record, encode_record
from lazycache_storage.signing import Signer
from lazycache_storage.values import codec

ROW_PAYLOAD_BYTES = 32 << 10
"""Payloads up to this size sit in the record, larger ones in a blob."""

_MOST_WITNESSES = 8


class Publisher:
    """Puts the objects and the records of one result in place.

    Parameters
    ----------
    path : str
        The store.
    index : Index
    signer : Signer
    allow_pickle : bool
        Whether results that are no plain data are written.
    """

    def __init__(self, path: str, index: Index, signer: Signer, *, allow_pickle: bool = True) -> None:
        self._signer = signer
        self._allow_pickle = allow_pickle
        self._path = path
        self._index = index
        self._tmp = layout.folder(path, layout.TMP_FOLDER)
        self._written: list[Written] = []
        self._blob: Written | None = None
        self._trash: list[str] = []

    @contextmanager
    def staging(self, *, trust: bool, digest: Callable[[Array], Digest], chunking: Chunking | None) -> Iterator[Sink]:
        """Collect the objects of a value; what is not published in the block is removed.

        Parameters
        ----------
        trust : bool
            Leave out objects that the store has already.
        digest : callable
            Gives the digest of an array.
        chunking : Chunking or None
            How to cut and compress arrays.
        """
        if not os.path.isdir(self._tmp):
            fsio.make_folder(self._tmp)
        is_stored = self._has_array if trust else None
        sink = Sink(self._tmp, is_stored=is_stored, digest=digest, chunking=chunking)
        self._written, self._blob = sink.written, None
        try:
            yield sink
        finally:
            if self._blob is not None and os.path.lexists(self._blob.path):
                fsio.remove(self._blob.path)
            sink.discard()

    def encode(self, value: object, fields: Mapping[str, Any], sink: Sink) -> Record:
        """Return the record of a value whose objects are written, with further fields that say where it came from."""
        kind, payload, refs = codec.encode(value, sink, allow_pickle=self._allow_pickle)
        nbytes = len(payload) + sum(ref.nbytes for ref in refs)
        if len(payload) > ROW_PAYLOAD_BYTES:
            self._blob, payload = write_blob(payload, self._tmp), b""
        blob = None if self._blob is None else self._blob.ref
        facts: dict[str, Any] = {"created": time.time(), "host": machine.host(), "boot": machine.boot_id()}
        return Record(**(facts | dict(fields)), kind=kind, payload=payload, blob=blob, objects=refs, nbytes=nbytes)

    def publish(
        self,
        transaction: Transaction,
        keys: Sequence[Digest],
        record: Record,
        files_for_key: Mapping[bytes, tuple[FileState, ...]],
        replaced: Collection[bytes],
    ) -> dict[bytes, tuple[Record, int]] | None:
        """Put everything in place, the records last.

        Parameters
        ----------
        transaction : Transaction
        keys : sequence of Digest
        record : Record
        files_for_key : mapping
            What differs between the records of the keys.
        replaced : collection of bytes
            The keys whose present record does not count.

        Returns
        -------
        dict or None
            By key, the record that is there now and its encoded size. None if
            an object that was there when the value was encoded is gone: then
            the value must be encoded again.
        """
        rows = {key: self._present(transaction, key) for key in keys if key not in replaced}
        first = rows.get(keys[0])
        if first is not None:
            record = first
        else:
            placed = self._place(record)
            if placed is None:
                return None
            record = placed
        result: dict[bytes, tuple[Record, int]] = {}
        for key in keys:
            row = rows.get(key)
            if row is None:
                row = msgspec.structs.replace(record, files=files_for_key[key]) if key in files_for_key else record
                row = self._signer.sign(key, row)
                result[key] = row, self._write(transaction, key, row, is_first=key == keys[0])
            else:
                result[key] = row, len(row.payload)
        return result

    def link(self, transaction: Transaction, key: Digest, record: Record) -> tuple[Record, int] | None:
        """Write a record that is here already under one more key; None if an object of it is gone."""
        if not self._is_whole(record):
            return None
        row = self._signer.sign(key, record)
        return row, self._write(transaction, key, row, is_first=False)

    def empty_trash(self) -> None:
        """Unlink the objects that were replaced, now that no lock is held."""
        for path in self._trash:
            fsio.remove(path)
        self._trash.clear()

    def _present(self, transaction: Transaction, key: bytes) -> Record | None:
        """Return the record under a key if it is whole."""
        data = transaction.get(key)
        if data is None:
            return None
        try:
            record = decode_record(data)
        except CorruptEntryError:
            return None
        if self._signer.is_active and not self._signer.verify(key, record):
            # Its content would get our signature under the other keys.
            return None
        return record if self._is_whole(record) else None

    def _is_whole(self, record: Record) -> bool:
        return all(refresh(self._object_path(ref), ref) is not None for ref in record.all_objects())

    def _write(self, transaction: Transaction, key: Digest, record: Record, *, is_first: bool) -> int:
        old = transaction.get(key)
        if old is not None:
            for ref in _refs(old):
                transaction.delete(REF_PREFIX + ref.name + key)
        data = encode_record(record)
        account = accounts.of_record(record, len(data), is_first=is_first)
        for ref in record.all_objects():
            transaction.put(REF_PREFIX + ref.name + key, b"", accounts.of_object(self._path, ref, account.tag))
        fsio.step("write record")
        transaction.put(key, data, account)
        return len(data)

    def _place(self, record: Record) -> Record | None:
        """Rename the objects into place; return the record that says how they are there."""
        if not self._written and self._blob is None:
            return record
        refs = []
        for written in self._written:
            ref = self._place_object(written)
            if ref is None:
                return None
            refs.append(ref)
        blob = None if self._blob is None else self._place_object(self._blob)
        return msgspec.structs.replace(record, objects=tuple(refs), blob=blob)

    def _place_object(self, written: Written) -> ObjectRef | None:
        target = self._object_path(written.ref)
        fsio.drop_link(os.path.dirname(target))
        if os.path.lexists(target):
            present = refresh(target, written.ref)
            if present is not None and self._is_trusted(present):
                return present
            if not written.path:
                return None
            # Nobody vouches for its content, or it is damaged; others may need it all the same.
            if fsio.replace(written.path, target):
                return written.ref
            self._move_to_trash(target)
        elif not written.path:
            return None
        fsio.publish(written.path, target)
        return written.ref

    def _move_to_trash(self, path: str) -> None:
        trash = layout.folder(self._path, layout.TRASH_FOLDER)
        if not os.path.isdir(trash):
            fsio.make_folder(trash)
        aside = fsio.temporary_name(trash)
        if fsio.move(path, aside):
            self._trash.append(aside)

    def _object_path(self, ref: ObjectRef) -> str:
        return layout.object_path(self._path, Digest(ref.name), ref.kind)

    def _has_array(self, name: Digest) -> bool:
        path = layout.object_path(self._path, name, "zarr")
        return os.path.lexists(path) and any(
            (present := refresh(path, ref)) is not None and present.mtime_ns == ref.mtime_ns
            for ref in self._witnesses(name)
        )

    def _is_trusted(self, present: ObjectRef) -> bool:
        return any(ref.mtime_ns == present.mtime_ns for ref in self._witnesses(present.name))

    def _witnesses(self, name: bytes) -> Iterator[ObjectRef]:
        """Iterate over what a few records say of an object, if it was written or verified since the machine started."""
        prefix = REF_PREFIX + name
        for number, key in enumerate(self._index.keys_with_prefix(prefix)):
            if number == _MOST_WITNESSES:
                return
            data = self._index.get(key[len(prefix) :])
            if data is not None:
                yield from (ref for ref in _refs(data, machine.boot_id()) if ref.name == name)


def _refs(data: bytes, boot: str | None = None) -> tuple[ObjectRef, ...]:
    """Return the objects of an encoded record; none if it cannot be read, or was written under another boot."""
    try:
        record = decode_record(data)
    except CorruptEntryError:
        return ()
    if boot is not None and record.boot not in ("", boot):
        return ()
    return tuple(record.all_objects())
