"""Objects: immutable arrays and blobs in files, named by their content.

Writing makes an object in a temporary folder, together with the reference
that goes into the record; whoever calls puts it in its place. Reading gives
read-only arrays: large ones are maps, so that opening costs the same for any size.
"""

import stat
from collections.abc import Callable
from typing import Self

import msgspec
import numpy as np

from lazycache_storage import fsio
from lazycache_storage.arrayhash import array_digest, bytes_digest
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.objects import arrays, chunked, mapping
from lazycache_storage.objects.arrays import Array, Written, describe_array, subclass_named
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.objects.spooling import Spooled
from lazycache_storage.record import ObjectRef


def write_array(array: Array, folder: str, *, name: Digest | None = None, chunking: Chunking | None = None) -> Written:
    """Write an array as a Zarr folder under a new name in `folder`.

    Parameters
    ----------
    array : ndarray
        Not changed, nor copied as a whole.
    folder : str
    name : Digest, optional
        ``array_digest(array)``, if known.
    chunking : Chunking, optional
        How to cut and compress it; ignored where Zarr cannot.

    Raises
    ------
    ValueError
        If Zarr cannot hold arrays of this dtype; nothing is written.
    OSError
        If it cannot be written; nothing is left behind.
    """
    ref = describe_array(array)
    ref = msgspec.structs.replace(ref, name=array_digest(array) if name is None else name)
    if chunking is not None and chunking.fits(array.shape, array.dtype):
        return chunked.write_chunks(array, folder, ref, chunking)
    return arrays.write_folder(array, folder, ref)


def write_blob(data: bytes, folder: str) -> Written:
    """Write bytes as a blob under a new name in `folder`.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind.
    """
    name = bytes_digest(data)
    path = fsio.temporary_name(folder, ".blob")
    mtime = fsio.write_file(path, [data])
    return Written(path, ObjectRef(name, "blob", nbytes=len(data), mtime_ns=mtime))


def refresh(path: str, ref: ObjectRef) -> ObjectRef | None:
    """Return the reference with the time of change of the object at `path`, or None if that is missing or not right."""
    try:
        fsio.refuse_links(path)
        files = chunked.look(path) if ref.chunked else None
    except CorruptEntryError:
        return None
    if files is not None:
        return msgspec.structs.replace(ref, mtime_ns=files.mtime_ns) if files.nbytes == ref.nbytes else None
    found = fsio.stat(path if ref.kind == "blob" else arrays.data_file(path, ref), follow=False)
    if (
        found is None
        or not stat.S_ISREG(found.st_mode)
        or (found.st_size != ref.nbytes and (ref.nbytes or ref.kind == "blob"))
    ):
        return None
    return msgspec.structs.replace(ref, mtime_ns=found.st_mtime_ns)


def open_array(path: str, ref: ObjectRef, *, use_map: bool = True, verify: bool = False, distrust: str = "") -> Array:
    """Return a stored array, read-only.

    Parameters
    ----------
    path : str
        The Zarr folder.
    ref : ObjectRef
    use_map : bool
        False where other machines may change files: then the array is read.
    verify : bool
        Compare the content with the name, which reads all of it. This is done
        in any case when the file changed after it was published.
    distrust : str
        Why others may have made the files, if they may.

    Raises
    ------
    CorruptEntryError
        If the object is not what the reference says.
    UntrustedArrayError
        If it is compressed, others may have made it, and it might be larger than it says.
    OSError
        If the operating system cannot read it.
    """
    if ref.chunked:
        array = chunked.read_chunks(path, ref, verify=verify, distrust=distrust)
    else:
        array = arrays.open_folder(path, ref, use_map=use_map, verify=verify)
    return array.view(subclass_named(ref.subclass)) if ref.subclass else array


def read_blob(path: str, ref: ObjectRef, *, use_map: bool = True, verify: bool = False) -> bytes:
    """Return the bytes of a blob; raises like `open_array`."""
    if ref.nbytes > mapping.memory_limit():
        raise CorruptEntryError(path=path, reason=f"{ref.nbytes} bytes are more than memory holds")
    buffer, mtime_ns = mapping.open_buffer(path, ref.nbytes, use_map=use_map)
    data = bytes(buffer)
    if (verify or mtime_ns != ref.mtime_ns) and bytes_digest(data) != ref.name:
        raise CorruptEntryError(path=path, reason="the content is not what was written")
    return data


def verify_object(path: str, ref: ObjectRef, distrust: str = "") -> None:
    """Read a whole object and compare it with its name; raises like `open_array`."""
    if ref.kind == "blob":
        read_blob(path, ref, verify=True)
    elif ref.chunked:
        chunked.open_handle(path, ref, verify=True, distrust=distrust)
    else:
        open_array(path, ref, verify=True)


class Sink:
    """Where a codec puts the arrays of one result: it writes them and numbers them.

    Not for several threads at once. Use it in a ``with`` block: on an error,
    what was written is removed.

    Parameters
    ----------
    folder : str
        The temporary folder of the store.
    is_stored : callable, optional
        Tells whether the store has an object of a name already, so that it
        need not be written.
    digest : callable, optional
        Gives the name of an array.
    chunking : Chunking, optional
        How to cut and compress arrays.

    Attributes
    ----------
    written : list of Written
        By position; equal arrays share one.
    """

    def __init__(
        self,
        folder: str,
        *,
        is_stored: Callable[[Digest], bool] | None = None,
        digest: Callable[[Array], Digest] = array_digest,
        chunking: Chunking | None = None,
    ) -> None:
        self.folder = folder
        self.chunking = chunking
        self.written: list[Written] = []
        self._is_stored = is_stored
        self._digest = digest
        self._positions: dict[tuple[bytes, str, str], int] = {}
        # Files of spooled arrays, which remove themselves.
        self._lent: set[str] = set()

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        """What the record must hold, by position."""
        return tuple(written.ref for written in self.written)

    def cuts(self, array: Array) -> bool:
        """Tell whether somebody said how to cut arrays like this one, be it ever so small."""
        chunking = self.chunking
        return chunking is not None and chunking.is_explicit and chunking.fits(array.shape, array.dtype)

    def add(self, array: Array | Spooled) -> int:
        """Write an array unless it is there; return its position.

        Raises
        ------
        ValueError
            If no object can hold it.
        OSError
            If it cannot be written.
        """
        if isinstance(array, Spooled):
            ref = array.written.ref
        else:
            ref = describe_array(array)
            # The array itself: whoever gives digests may know it by identity.
            plain = array if type(array) is np.ndarray else array.view(np.ndarray)
            ref = msgspec.structs.replace(ref, name=self._digest(plain))
        place = (ref.name, ref.dtype, ref.subclass)
        if place not in self._positions:
            self.written.append(array.written if isinstance(array, Spooled) else self._write(array, ref))
            self._positions[place] = len(self.written) - 1
            if isinstance(array, Spooled):
                self._lent.add(array.written.path)
        return self._positions[place]

    def _write(self, array: Array, ref: ObjectRef) -> Written:
        if self.chunking is not None and self.chunking.fits(array.shape, array.dtype):
            # The name follows from what zarr-python writes.
            return chunked.write_chunks(array, self.folder, ref, self.chunking)
        if self._is_stored is not None and self._is_stored(Digest(ref.name)):
            return Written("", ref)
        return arrays.write_folder(array, self.folder, ref)

    def discard(self) -> None:
        """Remove what was written and is not in its place yet."""
        for written in self.written:
            if written.path and written.path not in self._lent:
                fsio.remove(written.path)
        self.written.clear()
        self._positions.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: object, error: object, traceback: object) -> None:
        if error_type is not None:
            self.discard()
