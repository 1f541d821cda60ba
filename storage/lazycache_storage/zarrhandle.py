"""Stored arrays as zarr-python sees them, to read parts of. Importing this imports zarr."""

import os
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore, MemoryStore

from lazycache_storage import fsio, zarrfiles
from lazycache_storage.arrayhash import array_order
from lazycache_storage.arrays import Array
from lazycache_storage.errors import CorruptEntryError, NotStorableError

READING_ERRORS = (ValueError, TypeError, LookupError, RuntimeError, MemoryError, AttributeError)
"""What zarr-python and its codecs raise over files that were changed."""


class StrictStore(LocalStore):
    """A folder in which an absent chunk is an error, and which no collection removes while this is alive.

    Attributes
    ----------
    token : bytes
        What stands for its array in keys; empty if that is not known.
    """

    def __init__(self, root: Path | str, *, read_only: bool = True, token: bytes = b"") -> None:
        super().__init__(root, read_only=read_only)
        self.token = token
        weakref.finalize(self, os.close, fsio.hold(str(root)))

    def __reduce__(self) -> Any:
        return partial(StrictStore, token=self.token), (str(self.root),)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """Return a file or part of one; an absent chunk raises CorruptEntryError."""
        found = await super().get(key, prototype, byte_range)
        if found is None and not key.endswith(zarrfiles.METADATA_FILE):
            raise CorruptEntryError(path=f"{self.root}/{key}", reason="the chunk is missing")
        return found


def open_zarr(path: str) -> "zarr.Array[Any]":
    """Open a stored array to read parts of it; works for arrays in one chunk too.

    While it is open, collections leave it alone. Reading a part whose chunk is
    absent raises CorruptEntryError.

    Raises
    ------
    CorruptEntryError
        If there is no Zarr array.
    """
    try:
        return zarr.open_array(StrictStore(path), mode="r", zarr_format=3)
    except (FileNotFoundError, NotADirectoryError, *READING_ERRORS) as error:
        raise CorruptEntryError(path=path, reason=str(error)) from error


def as_zarr(array: Array) -> "zarr.Array[Any]":
    """Return an array in memory as a read-only Zarr array in one chunk.

    Raises
    ------
    NotStorableError
        If Zarr has no such dtype.
    """
    if not zarrfiles.can_hold(array.dtype):
        raise NotStorableError(type_name=f"array of {array.dtype}", reason="Zarr has no such dtype")
    order = array_order(array)
    files = {zarrfiles.METADATA_FILE: zarrfiles.metadata(array.dtype, array.shape, order)}
    if array.size:
        files[zarrfiles.chunk_file(array.ndim)] = array.tobytes(order)
    make = default_buffer_prototype().buffer.from_bytes
    held: Any = {name: make(data) for name, data in files.items()}
    return zarr.open_array(MemoryStore(held, read_only=True), mode="r", zarr_format=3)
