"""What statistics count of a row: kept in columns, so that they need not decode a million records.

diskcache has columns for a tag, a size and a mode that nothing else here uses.
"""

import os
from typing import NamedTuple

from lazycache_storage import fsio, layout
from lazycache_storage.digest import Digest
from lazycache_storage.record import ObjectRef, Record

ROW_OVERHEAD = 140
"""Bytes that a row of the index takes beside its value: its key twice, columns, free space in pages (measured)."""

REF_OVERHEAD = 200
"""Bytes of the row that says that a record needs an object (measured)."""

ZARR_OVERHEAD = 400
"""Bytes of the metadata beside the data of an array (measured)."""

EXPRESSIONS = "(expressions)"
"""Stands for every result that no single function made."""

FIRST, ALSO = "1", "2"
"""How the tag of a row begins: the result itself, or the same result under one more key."""


class Filling(NamedTuple):
    """What a row is filled with.

    Attributes
    ----------
    value : bytes
    nbytes : int
    seconds : float
    """

    value: bytes
    nbytes: int = 0
    seconds: float = 0.0


class Account(NamedTuple):
    """What one row adds to the statistics.

    Attributes
    ----------
    tag : str
        ``FIRST`` or ``ALSO``, and what the result is counted under.
    nbytes : int
        What the row takes in the index, or the object that a ``ref:`` row is about.
    seconds : float
        What a use of it saves.
    """

    tag: str
    nbytes: int
    seconds: float


def of_record(record: Record, row_bytes: int, *, is_first: bool) -> Account:
    """Return the account of a record."""
    refs = sum(1 for _ in record.all_objects())
    tag = (FIRST if is_first else ALSO) + label(record.function, record.version, record.code)
    # Not a number would come out of every sum.
    seconds = record.seconds if 0 < record.seconds < 1e12 else 0.0
    return Account(tag, row_bytes + ROW_OVERHEAD + REF_OVERHEAD * refs, seconds)


def of_object(store_path: str, ref: ObjectRef, record_tag: str) -> Account:
    """Return the account of the row that says that a record needs an object."""
    return Account(record_tag, bytes_on_disk(store_path, ref), 0.0)


def label(function: str, version: str, code: bytes) -> str:
    """Return the name to count a result under; larger expressions share one."""
    return function if code or version else EXPRESSIONS


def bytes_on_disk(store_path: str, ref: ObjectRef) -> int:
    """Return the size of the files of an object; compressed ones are looked at."""
    if not ref.chunked:
        # No honest object is larger, and the columns hold no larger numbers.
        return min(ref.nbytes, 2**48) + (0 if ref.kind == "blob" else ZARR_OVERHEAD)
    if len(ref.name) != layout.KEY_BYTES:
        return 0
    return tree_size(layout.object_path(store_path, Digest(ref.name), ref.kind))


def tree_size(path: str) -> int:
    """Return the bytes of the files in a folder, or of one file; what vanishes meanwhile counts as nothing."""
    if not os.path.isdir(path):
        found = fsio.stat(path)
        return 0 if found is None else found.st_size
    sizes = (fsio.stat(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
    return sum(found.st_size for found in sizes if found is not None)
