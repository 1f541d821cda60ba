"""Stored arrays as zarr-python sees them, to read parts of. Importing this imports zarr."""

import math
import os
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import LocalStore, MemoryStore

from lazycache_storage import fsio
from lazycache_storage.arrayhash import array_order
from lazycache_storage.errors import CorruptEntryError, NotOpenableError, UntrustedArrayError
from lazycache_storage.objects import zarrfiles
from lazycache_storage.objects.arrays import Array

READING_ERRORS = (ValueError, TypeError, LookupError, RuntimeError, MemoryError, AttributeError)
"""What zarr-python and its codecs raise over files that were changed."""

_KEEPING_SIZE = frozenset({"bytes", "transpose", "crc32c"})
_FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
_HEAD_BYTES = 18


class StrictStore(LocalStore):
    """A folder in which an absent chunk is an error, and which no collection removes while this is alive.

    Attributes
    ----------
    token : bytes
        What stands for its array in keys; empty if that is not known.
    most_bytes : int or None
        What a chunk may grow to when it is read; None where any chunk is believed.
    """

    def __init__(
        self, root: Path | str, *, read_only: bool = True, token: bytes = b"", most_bytes: int | None = None
    ) -> None:
        super().__init__(root, read_only=read_only)
        self.token = token
        self.most_bytes = most_bytes
        weakref.finalize(self, os.close, fsio.hold(str(root)))

    def __reduce__(self) -> Any:
        return partial(StrictStore, token=self.token, most_bytes=self.most_bytes), (str(self.root),)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """Return a file or part of one; an absent chunk raises CorruptEntryError."""
        found = await super().get(key, prototype, byte_range)
        if found is None and not key.endswith(zarrfiles.METADATA_FILE):
            raise CorruptEntryError(path=f"{self.root}/{key}", reason="the chunk is missing")
        if found is not None and self.most_bytes is not None and not key.endswith(zarrfiles.METADATA_FILE):
            size = _frame_size(found.as_numpy_array()[:_HEAD_BYTES].tobytes())
            if size is None or size > self.most_bytes:
                reason = f"a chunk of at most {self.most_bytes} bytes that does not say so"
                raise CorruptEntryError(path=f"{self.root}/{key}", reason=reason)
        return found


def open_zarr(path: str, distrust: str = "") -> "zarr.Array[Any]":
    """Open a stored array to read parts of it; works for arrays in one chunk too.

    While it is open, collections leave it alone. Reading a part whose chunk is
    absent raises CorruptEntryError.

    Parameters
    ----------
    path : str
    distrust : str
        Why others may have made the files; then only what cannot grow beyond
        its shape when it is read is opened.

    Raises
    ------
    CorruptEntryError
        If there is no Zarr array.
    UntrustedArrayError
        If it is compressed in a way that does not tell its size.
    """
    try:
        store = StrictStore(path)
        array = zarr.open_array(store, mode="r", zarr_format=3)
    except (FileNotFoundError, NotADirectoryError, *READING_ERRORS) as error:
        raise CorruptEntryError(path=path, reason=str(error)) from error
    if distrust:
        _bound(store, array, distrust)
    return array


def _bound(store: StrictStore, array: "zarr.Array[Any]", distrust: str) -> None:
    """Let no chunk become larger than it should, or raise UntrustedArrayError."""
    *codecs, last = [_name(codec.to_dict()) for codec in array.metadata.codecs]  # type: ignore[union-attr]
    if not _KEEPING_SIZE.issuperset(codecs) or last not in (_KEEPING_SIZE | {"zstd"}):
        raise UntrustedArrayError(path=str(store.root), reason=f"{distrust}, and {last} does not tell its size")
    if last == "zstd":
        store.most_bytes = math.prod(array.chunks) * array.dtype.itemsize


def _name(codec: Any) -> str:
    """Return the name of a codec; shards whose chunks are not compressed are like bytes."""
    if codec["name"] != "sharding_indexed":
        return str(codec["name"])
    inner = [_name(part) for kind in ("codecs", "index_codecs") for part in codec["configuration"][kind]]
    return "bytes" if _KEEPING_SIZE.issuperset(inner) else "compression in shards"


def _frame_size(frame: bytes) -> int | None:
    """Return the size of what a frame of Zstandard holds, as its head says, or None if that does not."""
    if frame[:4] != _FRAME_MAGIC or len(frame) < 6:
        return None
    head = frame[4]
    is_single = head >> 5 & 1
    start = 5 + (not is_single) + (0, 1, 2, 4)[head & 3]
    length = (is_single, 2, 4, 8)[head >> 6]
    field = frame[start : start + length]
    if not length or len(field) < length:
        return None
    return int.from_bytes(field, "little") + (256 if length == 2 else 0)


def as_zarr(array: Array) -> "zarr.Array[Any]":
    """Return an array in memory as a read-only Zarr array in one chunk.

    Raises
    ------
    NotOpenableError
        If Zarr has no such dtype.
    """
    if not zarrfiles.can_hold(array.dtype):
        raise NotOpenableError(what=f"an array of {array.dtype}", reason="Zarr has no such dtype")
    order = array_order(array)
    files = {zarrfiles.METADATA_FILE: zarrfiles.metadata(array.dtype, array.shape, order)}
    if array.size:
        files[zarrfiles.chunk_file(array.ndim)] = array.tobytes(order)
    make = default_buffer_prototype().buffer.from_bytes
    held: Any = {name: make(data) for name, data in files.items()}
    return zarr.open_array(MemoryStore(held, read_only=True), mode="r", zarr_format=3)
