"""Arrays in many chunks, compressed or not, through zarr-python.

An absent chunk means zeros to Zarr. Here every chunk is written, also an empty
one, so an absent chunk is damage, and reading it is an error.
"""

import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from lazycache_storage import fsio, modes
from lazycache_storage.arrayhash import array_digest, block_items, bytes_digest, encoding_of_parts
from lazycache_storage.digest import Digest, digest_of_encoding
from lazycache_storage.errors import CorruptEntryError, NotStorableError
from lazycache_storage.objects import dtypes, zarrfiles
from lazycache_storage.objects.arrays import Array, Written, sealed
from lazycache_storage.objects.dtypes import AnyDtype
from lazycache_storage.record import ObjectRef

_PART_BYTES = 16 << 20
_MOST_CHUNK_BYTES = 1 << 30

Region = tuple[slice, ...]


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

    def fits(self, shape: tuple[int, ...], dtype: AnyDtype) -> bool:
        """Tell whether an array can be written so; others get a single chunk."""
        wanted = [part for part in (self.chunks, self.shards) if isinstance(part, tuple | list)]
        is_cut = len(shape) > 0 and math.prod(shape) > 0 and all(len(part) == len(shape) for part in wanted)
        return is_cut and zarrfiles.can_hold(dtype) and _is_well_known(dtype)

    @property
    def is_explicit(self) -> bool:
        """Whether somebody said how to cut, so that small arrays are cut too."""
        return self.chunks != "auto" or self.shards is not None


def _is_well_known(dtype: AnyDtype) -> bool:
    # zarr-python cannot read times without a unit, and warns of types that are not in the specification yet.
    return dtype.kind in "biufc" or (dtype.kind in "mM" and np.datetime_data(dtype)[0] != "generic")


@dataclass(frozen=True, slots=True)
class Files:
    """What is in the folder of a chunked array."""

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
        create(path, array.shape, array.dtype, chunking)[...] = array.view(np.ndarray)
        return finish(path, ref, Digest(ref.name))
    except (ValueError, TypeError) as error:
        fsio.remove(path)
        raise NotStorableError(type_name=f"array of shape {array.shape}", reason=f"{chunking}: {error}") from error
    except BaseException:
        fsio.remove(path)
        raise


def create(path: str, shape: tuple[int, ...], dtype: AnyDtype, chunking: Chunking) -> Any:
    """Return a new Zarr array, to be filled."""
    import zarr

    return zarr.create_array(
        path,
        shape=shape,
        dtype=dtype,
        chunks=chunking.chunks,
        shards=chunking.shards,
        compressors=chunking.compressors,
        chunk_key_encoding={"name": "v2", "separator": "."},
        config={"write_empty_chunks": True},
    )


def finish(path: str, ref: ObjectRef, content: Digest) -> Written:
    """Close the files of an array that is complete, and name it."""
    fsio.step("wrote chunks")
    modes.settle(path)
    files = look(path)
    facts = {"nbytes": files.nbytes, "mtime_ns": files.mtime_ns, "chunked": True}
    return Written(path, msgspec.structs.replace(ref, name=_name(content, files), **facts))


def _name(content: Digest, files: Files) -> Digest:
    return bytes_digest(content + files.metadata)


def look(path: str) -> Files:
    """Return the metadata of a chunked array, the size of its files, and when one changed last.

    Raises
    ------
    CorruptEntryError
        If there is no such array.
    """
    metadata = fsio.read_file(f"{path}/{zarrfiles.METADATA_FILE}", limit=1 << 20)
    found = [entry.stat(follow_symlinks=False) for entry in os.scandir(path)]
    if not all(stat.S_ISREG(file.st_mode) for file in found):
        raise CorruptEntryError(path=path, reason="a link or a folder in place of a chunk")
    return Files(metadata, sum(file.st_size for file in found), max(file.st_mtime_ns for file in found))


def read_chunks(path: str, ref: ObjectRef, *, verify: bool, distrust: str = "") -> Array:
    """Return a whole chunked array, read-only and in memory; for `distrust` see `zarrhandle.open_zarr`.

    Raises
    ------
    CorruptEntryError
        If it is not what the reference says.
    UntrustedArrayError
        If it might be larger than it says.
    OSError
        If the operating system cannot read it.
    """
    from lazycache_storage.objects.zarrhandle import READING_ERRORS

    dtype = dtypes.parse_array_dtype(ref.dtype)
    files, source = _open(path, ref, distrust)
    try:
        array: Array = as_dtype(np.asarray(source[...], order=ref.order), dtype)
    except READING_ERRORS as error:
        raise CorruptEntryError(path=path, reason=str(error)) from error
    if (verify or files.mtime_ns != ref.mtime_ns) and _name(array_digest(array), files) != ref.name:
        raise CorruptEntryError(path=path, reason="the content is not what was written")
    return sealed(array)


def open_handle(path: str, ref: ObjectRef, *, verify: bool, distrust: str = "") -> Any:
    """Return the Zarr array itself, read-only; no more than a part of it is ever in memory.

    Raises like `read_chunks`.
    """
    files, source = _open(path, ref, distrust)
    if verify or files.mtime_ns != ref.mtime_ns:
        content = digest_of_encoding(encoding(path, source, ref))
        if _name(content, files) != ref.name:
            raise CorruptEntryError(path=path, reason="the content is not what was written")
    return source


def _open(path: str, ref: ObjectRef, distrust: str) -> tuple[Files, Any]:
    from lazycache_storage.objects.zarrhandle import open_zarr

    files = look(path)
    if files.nbytes != ref.nbytes:
        raise CorruptEntryError(path=path, reason=f"{files.nbytes} bytes, expected {ref.nbytes}")
    check_metadata(path, files.metadata, ref)
    source = open_zarr(path, distrust)
    if source.shape != ref.shape:
        raise CorruptEntryError(path=path, reason=f"shape {source.shape}, expected {ref.shape}")
    return files, source


class _Grid(msgspec.Struct):
    configuration: dict[str, Any]


class _Metadata(msgspec.Struct):
    shape: tuple[int, ...]
    data_type: Any
    chunk_grid: _Grid


def check_metadata(path: str, metadata: bytes, ref: ObjectRef) -> None:
    """Raise CorruptEntryError unless the description of an array is that of the reference; Zarr would believe it."""
    try:
        found = msgspec.json.decode(metadata, type=_Metadata)
        chunk = msgspec.convert(found.chunk_grid.configuration.get("chunk_shape"), tuple[int, ...])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CorruptEntryError(path=path, reason=f"not the description of an array: {error}") from error
    dtype = dtypes.parse_array_dtype(ref.dtype)
    named = msgspec.to_builtins(zarrfiles.data_type(dtype)[0])
    if found.shape != ref.shape or msgspec.json.encode(found.data_type) != msgspec.json.encode(named):
        raise CorruptEntryError(path=path, reason=f"describes another array than one of {dtype} and shape {ref.shape}")
    most = max(_MOST_CHUNK_BYTES, 4 * content_bytes(ref))
    if min(chunk, default=0) < 0 or math.prod(chunk) * dtype.itemsize > most:
        raise CorruptEntryError(path=path, reason=f"chunks of {chunk} are too large")


def as_dtype(native: Array, dtype: AnyDtype) -> Array:
    """Return what Zarr has read with the byte order that was stored.

    Raises
    ------
    ValueError
        If it is of another dtype.
    """
    if native.dtype.newbyteorder(">") != dtype.newbyteorder(">"):
        raise ValueError(f"dtype {native.dtype}, expected {dtype}")
    return (native if native.dtype == dtype else native.byteswap()).view(dtype)


def content_bytes(ref: ObjectRef) -> int:
    """Return the size of an array in memory.

    Raises
    ------
    CorruptEntryError
        If its dtype cannot be that of an array.
    """
    return math.prod(ref.shape) * dtypes.parse_array_dtype(ref.dtype).itemsize


def encoding(path: str, source: Any, ref: ObjectRef) -> bytes:
    """Return the encoding (see `arrayhash`) of a stored array, read part by part.

    Raises
    ------
    CorruptEntryError
        If it cannot be read.
    """
    from lazycache_storage.objects.zarrhandle import READING_ERRORS

    dtype = dtypes.parse_array_dtype(ref.dtype)
    turn = -1 if ref.order == "F" else 1
    shape, outer = ref.shape[::turn], (source.shards or source.chunks)[::turn]

    def flat() -> Iterator[Array]:
        for region in _in_order(shape, outer, _PART_BYTES // dtype.itemsize):
            part = as_dtype(np.asarray(source[region[::turn]]), dtype)
            yield part.reshape(-1, order=ref.order)

    try:
        return encoding_of_parts(dtype, ref.shape, ref.order, _batched(flat(), block_items(dtype)))
    except READING_ERRORS as error:
        raise CorruptEntryError(path=path, reason=str(error)) from error


def _in_order(shape: tuple[int, ...], outer: tuple[int, ...], most_items: int) -> Iterator[Region]:
    """Cut an array into regions that follow each other in C order, between chunks where these are small enough."""
    if not shape:
        yield ()
        return
    rows = most_items // math.prod(shape[1:])
    if not rows:
        for row in range(shape[0]):
            for rest in _in_order(shape[1:], outer[1:], most_items):
                yield slice(row, row + 1), *rest
        return
    if rows > outer[0]:
        rows -= rows % outer[0]
    for start in range(0, shape[0], rows):
        yield slice(start, min(start + rows, shape[0])), *[slice(0, size) for size in shape[1:]]


def _batched(parts: Iterator[Array], items: int) -> Iterator[Array]:
    """Join flat parts into ones with a multiple of `items` elements, but for the last."""
    rest: Array | None = None
    for part in parts:
        whole = part if rest is None else np.concatenate([rest, part])
        cut = whole.size - whole.size % items
        if cut:
            yield whole[:cut]
        rest = whole[cut:].copy() if cut < whole.size else None
    if rest is not None:
        yield rest
