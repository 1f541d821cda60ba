"""Objects: immutable arrays and blobs in files, named by their content.

Writing makes an object in a temporary folder, together with the reference
that goes into the record; whoever calls puts it in its place. Reading gives
read-only arrays: large ones are maps, so that opening costs the same for any size.
"""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazycache_storage import dtypes, fsio, mapping, zarrfiles
from lazycache_storage.arrayhash import array_digest, array_order, bytes_digest
from lazycache_storage.digest import Digest
from lazycache_storage.dtypes import AnyDtype
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.record import ObjectRef

Array = np.ndarray[Any, AnyDtype]

SUBCLASSES: dict[str, type[Array]] = {"": np.ndarray, "recarray": np.recarray, "matrix": np.matrix}
"""The array types that are stored by their bytes, by the name that a reference holds."""

_SUBCLASS_NAMES = {subclass: name for name, subclass in SUBCLASSES.items()}

_SLAB_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """An object that was written but is not in its place yet.

    Attributes
    ----------
    path : str
        Where it is; empty if it need not be put in place because it was there.
    ref : ObjectRef
        What the record says of it.
    """

    path: str
    ref: ObjectRef


def describe_array(array: Array, name: bytes = b"") -> ObjectRef:
    """Return what a record says of an array, without a time of change.

    Raises
    ------
    ValueError
        If arrays of this dtype or type cannot be objects.
    """
    subclass = _SUBCLASS_NAMES.get(type(array))
    descr = dtypes.describe(array.dtype)
    if subclass is None or descr is None:
        raise ValueError(f"no object can hold a {type(array).__name__} of dtype {array.dtype}")
    return ObjectRef(name, "zarr", descr, array.shape, array_order(array), array.nbytes, subclass=subclass)


def write_array(array: Array, folder: str, *, name: Digest | None = None) -> Written:
    """Write an array as a Zarr folder under a new name in `folder`.

    Parameters
    ----------
    array : ndarray
        Not changed, nor copied as a whole.
    folder : str
    name : Digest, optional
        ``array_digest(array)``, if known.

    Raises
    ------
    ValueError
        If Zarr cannot hold arrays of this dtype; nothing is written.
    OSError
        If it cannot be written; nothing is left behind.
    """
    ref = describe_array(array)
    metadata = zarrfiles.metadata(array.dtype, array.shape, ref.order)
    plain = array.view(np.ndarray)
    name = array_digest(plain) if name is None else name
    path = fsio.temporary_name(folder, ".zarr")
    fsio.make_folder(path)
    try:
        mtime = fsio.write_file(f"{path}/{zarrfiles.METADATA_FILE}", [metadata])
        if array.size:
            mtime = fsio.write_file(f"{path}/{zarrfiles.chunk_file(array.ndim)}", array_bytes(plain))
    except BaseException:
        fsio.remove(path)
        raise
    return Written(path, _with_facts(ref, name, mtime))


def _with_facts(ref: ObjectRef, name: bytes, mtime_ns: int) -> ObjectRef:
    return ObjectRef(name, ref.kind, ref.dtype, ref.shape, ref.order, ref.nbytes, mtime_ns, ref.chunked, ref.subclass)


def array_bytes(array: Array) -> Iterator[memoryview]:
    """Iterate over the bytes of an array in its stored order, a few MiB at a time if they must be copied."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        yield _as_bytes(array.reshape(-1, order="A"))
        return
    items = max(1, _SLAB_BYTES // array.itemsize)
    flags: Any = ["external_loop", "buffered", "zerosize_ok"]
    with np.nditer(array, flags=flags, order="C", buffersize=items) as slabs:
        for slab in slabs:
            yield _as_bytes(np.ascontiguousarray(slab))


def _as_bytes(array: Array) -> memoryview:
    return memoryview(array.view(np.uint8))


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


def data_file(path: str, ref: ObjectRef) -> str:
    """Return the file of an object whose time of change the reference holds."""
    if ref.kind == "blob":
        return path
    name = zarrfiles.METADATA_FILE if ref.chunked or not ref.nbytes else zarrfiles.chunk_file(len(ref.shape))
    return f"{path}/{name}"


def refresh(path: str, ref: ObjectRef) -> ObjectRef | None:
    """Return the reference with the time of change of the object at `path`; None if it is missing or of another size."""
    found = fsio.stat(data_file(path, ref))
    if found is None or (not ref.chunked and ref.nbytes and found.st_size != ref.nbytes):
        return None
    return _with_facts(ref, ref.name, found.st_mtime_ns)


def open_array(path: str, ref: ObjectRef, *, use_map: bool = True, verify: bool = False) -> Array:
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

    Raises
    ------
    CorruptEntryError
        If the object is not what the reference says.
    OSError
        If the operating system cannot read it.
    """
    dtype = dtypes.parse_array_dtype(ref.dtype)
    if min(ref.shape, default=0) < 0 or math.prod(ref.shape) * dtype.itemsize != ref.nbytes:
        raise CorruptEntryError(path=path, reason=f"shape {ref.shape} of {dtype} cannot have {ref.nbytes} bytes")
    buffer, mtime_ns = _open_data(path, ref, use_map)
    array: Array = np.ndarray(ref.shape, dtype, buffer, order=ref.order)
    if (verify or mtime_ns != ref.mtime_ns) and array_digest(array) != ref.name:
        raise CorruptEntryError(path=path, reason="the content is not what was written")
    return array.view(subclass_named(ref.subclass)) if ref.subclass else array


def _open_data(path: str, ref: ObjectRef, use_map: bool) -> tuple[Any, int]:
    if ref.nbytes:
        return mapping.open_buffer(data_file(path, ref), ref.nbytes, use_map=use_map)
    found = fsio.stat(data_file(path, ref))
    if found is None:
        raise CorruptEntryError(path=path, reason="the file is missing")
    return b"", found.st_mtime_ns


def subclass_named(name: str) -> type[Array]:
    """Return the array type that a reference names.

    Raises
    ------
    CorruptEntryError
        If there is none.
    """
    try:
        return SUBCLASSES[name]
    except KeyError as error:
        raise CorruptEntryError(path=f"array type {name[:80]}", reason="not an array type") from error


def read_blob(path: str, ref: ObjectRef, *, verify: bool = False) -> bytes:
    """Return the bytes of a blob; raises like `open_array`."""
    buffer, mtime_ns = mapping.open_buffer(path, ref.nbytes)
    data = bytes(buffer)
    if (verify or mtime_ns != ref.mtime_ns) and bytes_digest(data) != ref.name:
        raise CorruptEntryError(path=path, reason="the content is not what was written")
    return data


def verify_object(path: str, ref: ObjectRef) -> None:
    """Read a whole object and compare it with its name.

    Raises
    ------
    CorruptEntryError
        If it is not what was written.
    """
    if ref.kind == "blob":
        read_blob(path, ref, verify=True)
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
    ) -> None:
        self.folder = folder
        self.written: list[Written] = []
        self._is_stored = is_stored
        self._digest = digest
        self._positions: dict[tuple[bytes, str, str], int] = {}

    @property
    def refs(self) -> tuple[ObjectRef, ...]:
        """What the record must hold, by position."""
        return tuple(written.ref for written in self.written)

    def add(self, array: Array) -> int:
        """Write an array unless it is there; return its position.

        Raises
        ------
        ValueError
            If no object can hold it.
        OSError
            If it cannot be written.
        """
        name = self._digest(array.view(np.ndarray))
        ref = describe_array(array, name)
        place = (name, ref.dtype, ref.subclass)
        if place in self._positions:
            return self._positions[place]
        if self._is_stored is not None and self._is_stored(name):
            self.written.append(Written("", ref))
        else:
            self.written.append(write_array(array, self.folder, name=name))
        self._positions[place] = len(self.written) - 1
        return len(self.written) - 1

    def discard(self) -> None:
        """Remove what was written and is not in its place yet."""
        for written in self.written:
            if written.path and os.path.lexists(written.path):
                fsio.remove(written.path)
        self.written.clear()
        self._positions.clear()

    def __enter__(self) -> "Sink":
        return self

    def __exit__(self, error_type: object, error: object, traceback: object) -> None:
        if error_type is not None:
            self.discard()
