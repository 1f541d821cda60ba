"""Arrays in many chunks, compressed or not, through zarr-python.

An absent chunk means zeros to Zarr. Here every chunk is written, also an empty
one, so an absent chunk is damage, and reading it is an error.
"""

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from lazycache_storage import dtypes, fsio, zarrfiles
from lazycache_storage.arrayhash import array_digest, bytes_digest
from lazycache_storage.arrays import Array, Written, sealed
from lazycache_storage.digest import Digest
from lazycache_storage.dtypes import AnyDtype
from lazycache_storage.errors import CorruptEntryError, NotStorableError
from lazycache_storage.record import ObjectRef

if TYPE_CHECKING:
    import zarr

_READING_ERRORS = (ValueError, TypeError, LookupError, RuntimeError, MemoryError, AttributeError)
"""What zarr-python and its codecs raise over files that were changed."""


@dataclass(frozen=True, slots=True)
class Chunking:
    """How to cut and compress arrays; the names and values are those of ``zarr.create_array``.

    Attributes
    ----------
    chunks : sequence of int, or "auto"
        Applies to arrays of as many dimensions; others are not cut.
    shards : sequence of int, "auto" or None
    compressors : object
        "auto", None, or what zarr-python takes.
    """

    chunks: Any = "auto"
    shards: Any = None
    compressors: Any = "auto"

    def fits(self, array: Array) -> bool:
        """Tell whether an array can be written so; others get a single chunk."""
        wanted = [part for part in (self.chunks, self.shards) if isinstance(part, tuple | list)]
        is_cut = array.size > 0 and array.ndim > 0 and all(len(part) == array.ndim for part in wanted)
        return is_cut and zarrfiles.can_hold(array.dtype) and _is_well_known(array.dtype)


def _is_well_known(dtype: AnyDtype) -> bool:
    # zarr-python cannot read times without a unit, and warns of types that are not in the specification yet.
    return dtype.kind in "biufc" or (dtype.kind in "mM" and np.datetime_data(dtype)[0] != "generic")


@dataclass(frozen=True, slots=True)
class _Files:
    metadata: bytes
    nbytes: int
    mtime_ns: int


def write_chunks(array: Array, folder: str, ref: ObjectRef, chunking: Chunking) -> Written:
    """Write an array in chunks under a new name in `folder`.

    Parameters
    ----------
    array : ndarray
    folder : str
    ref : ObjectRef
        Of the array in one piece; the name of the chunked one follows from it.
    chunking : Chunking

    Raises
    ------
    NotStorableError
        If zarr-python cannot cut or compress it so.
    OSError
        If it cannot be written. On any error, nothing is left behind.
    """
    path = fsio.temporary_name(folder, ".zarr")
    try:
        _write(array, path, chunking)
        files = look(path)
    except (ValueError, TypeError) as error:
        fsio.remove(path)
        raise NotStorableError(type_name=f"array of shape {array.shape}", reason=f"{chunking}: {error}") from error
    except BaseException:
        fsio.remove(path)
        raise
    facts = {"nbytes": files.nbytes, "mtime_ns": files.mtime_ns, "chunked": True}
    return Written(path, msgspec.structs.replace(ref, name=_name(Digest(ref.name), files), **facts))


def _write(array: Array, path: str, chunking: Chunking) -> None:
    import zarr

    target = zarr.create_array(
        path,
        shape=array.shape,
        dtype=array.dtype,
        chunks=chunking.chunks,
        shards=chunking.shards,
        compressors=chunking.compressors,
        chunk_key_encoding={"name": "v2", "separator": "."},
        config={"write_empty_chunks": True},
    )
    target[...] = array.view(np.ndarray)
    fsio.step("wrote chunks")
    for name in os.listdir(path):
        os.chmod(f"{path}/{name}", fsio.OBJECT_MODE)


def _name(content: Digest, files: _Files) -> Digest:
    return bytes_digest(content + files.metadata)


def look(path: str) -> _Files:
    """Return the metadata of a chunked array, the size of its files, and when one changed last.

    Raises
    ------
    CorruptEntryError
        If there is no such array.
    """
    metadata = fsio.read_file(f"{path}/{zarrfiles.METADATA_FILE}", limit=1 << 20)
    found = [entry.stat(follow_symlinks=False) for entry in os.scandir(path)]
    return _Files(metadata, sum(file.st_size for file in found), max(file.st_mtime_ns for file in found))


def read_chunks(path: str, ref: ObjectRef, *, verify: bool) -> Array:
    """Return a whole chunked array, read-only and in memory.

    Raises
    ------
    CorruptEntryError
        If it is not what the reference says.
    OSError
        If the operating system cannot read it.
    """
    dtype = dtypes.parse_array_dtype(ref.dtype)
    files = look(path)
    if files.nbytes != ref.nbytes:
        raise CorruptEntryError(path=path, reason=f"{files.nbytes} bytes, expected {ref.nbytes}")
    source = open_zarr(path)
    if source.shape != ref.shape:
        raise CorruptEntryError(path=path, reason=f"shape {source.shape}, expected {ref.shape}")
    try:
        native: Array = np.asarray(source[...], order=ref.order)
        if native.dtype.newbyteorder(">") != dtype.newbyteorder(">"):
            raise ValueError(f"dtype {native.dtype}, expected {dtype}")
        array: Array = (native if native.dtype == dtype else native.byteswap()).view(dtype)
    except _READING_ERRORS as error:
        raise CorruptEntryError(path=path, reason=str(error)) from error
    if (verify or files.mtime_ns != ref.mtime_ns) and _name(array_digest(array), files) != ref.name:
        raise CorruptEntryError(path=path, reason="the content is not what was written")
    return sealed(array)


def open_zarr(path: str) -> "zarr.Array[Any]":
    """Open a stored array to read parts of it; works for arrays in one chunk too.

    Reading a part whose chunk is absent raises CorruptEntryError.

    Raises
    ------
    CorruptEntryError
        If there is no Zarr array.
    """
    import zarr

    try:
        return zarr.open_array(_strict_store()(path, read_only=True), mode="r", zarr_format=3)
    except (FileNotFoundError, *_READING_ERRORS) as error:
        raise CorruptEntryError(path=path, reason=str(error)) from error


@functools.cache
def _strict_store() -> Any:
    from zarr.storage import LocalStore

    class StrictStore(LocalStore):
        """A folder in which an absent chunk is an error."""

        async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
            found = await super().get(key, prototype, byte_range)
            if found is None and not key.endswith(zarrfiles.METADATA_FILE):
                raise CorruptEntryError(path=f"{self.root}/{key}", reason="the chunk is missing")
            return found

    return StrictStore
