"""Arrays that come piece by piece, written before anybody knows their name.

A spool takes the pieces of one array in any order and writes them into the
temporary folder of the store. When all are there, the content is read once,
part by part, to name it. No more than a few pieces are ever in memory.
"""

import math
import os
import weakref
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from lazycache_storage import fsio, layout, modes
from lazycache_storage.arrayhash import block_items, encoding_of_parts
from lazycache_storage.digest import Digest, digest_of_encoding, seal
from lazycache_storage.errors import NotStorableError, SpoolError
from lazycache_storage.objects import chunked, dtypes, zarrfiles
from lazycache_storage.objects.arrays import Array, Written, reserve
from lazycache_storage.objects.chunked import Chunking, Region
from lazycache_storage.objects.dtypes import AnyDtype
from lazycache_storage.record import ObjectRef

_PART_BYTES = 16 << 20
_WRITING_ERRORS = (OSError, MemoryError, ValueError, TypeError, RuntimeError, LookupError)


class Spooled:
    """An array in the temporary folder of a store; its files go when this dies, unless they were published.

    Attributes
    ----------
    written : Written
    token : bytes
        What stands for the array in keys.
    """

    def __init__(self, written: Written, encoding: bytes) -> None:
        self.written = written
        self.token = seal(encoding)
        weakref.finalize(self, _remove_own, written.path, os.getpid())


def _remove_own(path: str, process: int) -> None:
    # A child of a fork inherits the objects, not the files.
    if os.getpid() == process:
        fsio.remove(path)


def spool_into(store_path: str, shape: tuple[int, ...], dtype: AnyDtype, chunking: Chunking | None) -> "Spool":
    """Return a spool in the temporary folder of a store; for its parameters and errors see `Spool`."""
    return Spool(layout.folder(store_path, layout.TMP_FOLDER), shape, dtype, chunking)


class Spool:
    """Takes an array piece by piece: ``spool[region] = block``, then `finish`.

    Not for several threads at once.

    Parameters
    ----------
    folder : str
        The temporary folder of the store.
    shape : tuple of int
    dtype : dtype
    chunking : Chunking, optional
        How to cut and compress the array; where that does not fit, and by
        default, it becomes one chunk.

    Attributes
    ----------
    tile : tuple of int or None
        The shape of what is written together; pieces that are made of such
        tiles are written once.
    failure : Exception or None
        Why a piece could not be written.

    Raises
    ------
    NotStorableError
        If there can be no such array.
    OSError
        If it cannot be written.
    """

    def __init__(self, folder: str, shape: tuple[int, ...], dtype: AnyDtype, chunking: Chunking | None) -> None:
        self.failure: Exception | None = None
        self._dtype = dtype
        self._missing = math.prod(shape)
        descr = dtypes.describe(dtype)
        if descr is None or not zarrfiles.can_hold(dtype) or not self._missing:
            raise NotStorableError(type_name=f"array of shape {shape} and {dtype}", reason="it has no pieces on disk")
        self._ref = ObjectRef(b"", "zarr", descr, shape, "C", self._missing * dtype.itemsize)
        fsio.make_folder(folder)
        self._path = fsio.temporary_name(folder, ".zarr")
        self._target: Any = None
        self.tile: tuple[int, ...] | None = None
        try:
            self._create(chunking if chunking is not None and chunking.fits(shape, dtype) else None)
        except (ValueError, TypeError) as error:
            self.discard()
            raise NotStorableError(type_name=f"array of shape {shape}", reason=f"{chunking}: {error}") from error
        except BaseException:
            self.discard()
            raise

    def _create(self, chunking: Chunking | None) -> None:
        ref = self._ref
        if chunking is not None:
            self._target = chunked.create(self._path, ref.shape, self._dtype, chunking)
            self.tile = self._target.shards or self._target.chunks
            return
        fsio.make_folder(self._path)
        metadata = zarrfiles.metadata(self._dtype, ref.shape, "C")
        fsio.write_file(f"{self._path}/{zarrfiles.METADATA_FILE}", [metadata])
        fsio.write_file(self._file, [], mode=0o600)
        # Without room for all of it, writing into the map would end the process.
        reserve(self._file, ref.nbytes)

    @property
    def _file(self) -> str:
        return f"{self._path}/{zarrfiles.chunk_file(len(self._ref.shape))}"

    def __setitem__(self, region: Region, block: Array) -> None:
        """Write one piece; what goes wrong is kept in `failure` and raised as SpoolError."""
        expected = tuple([part.stop - part.start for part in region])
        if block.shape != expected or block.dtype != self._dtype:
            raise ValueError(f"a piece {block.dtype}{block.shape}, expected {self._dtype}{expected}")
        try:
            self._write(region, block)
        except _WRITING_ERRORS as error:
            self.failure = error
            raise SpoolError(reason=str(error)) from error
        self._missing -= block.size

    def _write(self, region: Region, block: Array) -> None:
        if self._target is not None:
            self._target[region] = block
        elif block.shape[1:] == self._ref.shape[1:]:
            offset = region[0].start * (self._ref.nbytes // self._ref.shape[0])
            fsio.write_at(self._file, offset, np.ascontiguousarray(block).view(np.uint8).data)
        else:
            # Mapped anew for each piece, so that what was written does not count as memory of the process.
            np.memmap(self._file, self._dtype, "r+", 0, self._ref.shape)[region] = block
        fsio.step("wrote piece")

    def finish(self) -> Spooled:
        """Return the whole array.

        Raises
        ------
        NotStorableError
            If pieces are missing.
        OSError
            If it cannot be read back.
        """
        try:
            if self._missing:
                raise NotStorableError(type_name="array in pieces", reason=f"{self._missing} elements are missing")
            return self._finish_chunks() if self._target is not None else self._finish_file()
        except BaseException:
            self.discard()
            raise

    def _finish_chunks(self) -> Spooled:
        from lazycache_storage.objects.zarrhandle import open_zarr

        # Not the array that was written to: that takes an absent chunk for zeros.
        encoding = chunked.encoding(self._path, open_zarr(self._path), self._ref)
        return Spooled(chunked.finish(self._path, self._ref, Digest(digest_of_encoding(encoding))), encoding)

    def _finish_file(self) -> Spooled:
        modes.settle(self._path)
        encoding = encoding_of_parts(self._dtype, self._ref.shape, "C", self._parts())
        mtime = os.stat(self._file).st_mtime_ns
        ref = msgspec.structs.replace(self._ref, name=digest_of_encoding(encoding), mtime_ns=mtime)
        return Spooled(Written(self._path, ref), encoding)

    def _parts(self) -> Iterator[Array]:
        unit = block_items(self._dtype)
        count = unit * max(1, _PART_BYTES // (unit * self._dtype.itemsize))
        with open(self._file, "rb", buffering=0) as file:
            while (part := np.fromfile(file, self._dtype, count)).size:
                yield part

    def discard(self) -> None:
        """Remove what was written."""
        self._target = None
        fsio.remove(self._path)
