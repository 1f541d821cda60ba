"""Results opened in place: the Zarr array of a record, for reading parts of it."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache_storage import fsio, layout, trust
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError, NotOpenableError
from lazycache_storage.loading import is_from_another_boot, why_refused
from lazycache_storage.objects import chunked, dtypes, mapping, objects, zarrfiles
from lazycache_storage.objects.parts import PartsOfArray
from lazycache_storage.record import ObjectRef, Record
from lazycache_storage.values import codec

if TYPE_CHECKING:
    import zarr

    from lazycache_storage.store import Store


class _Stored:
    """Stands for an object that is not opened."""

    def __init__(self, ref: ObjectRef) -> None:
        self.ref = ref


def open_result(store: "Store", record: Record) -> "zarr.Array[Any]":
    """Return the stored array itself, read-only; nothing is read but its description.

    While it is open, no collection removes it. A small array, which sits in
    its record, comes as a Zarr array in memory.

    Raises
    ------
    NotOpenableError
        If the result is no array, or has a dtype that Zarr has not.
    CorruptEntryError
        If the object is missing or damaged.
    UntrustedArrayError
        If it is compressed, others may have made it, and it might be larger than it says.
    """
    from lazycache_storage.objects.zarrhandle import as_zarr

    value = _decoded(record)
    if isinstance(value, _Stored):
        return _open_object(store, record, value.ref)
    if isinstance(value, np.ndarray):
        return as_zarr(value)
    raise NotOpenableError(what=f"the result of {record.function}", reason="it is none that Zarr can hold")


def open_parts(store: "Store", record: Record) -> PartsOfArray | None:
    """Return the result for reading parts of it, if it is an array of which a part costs less than the whole.

    That is one in chunks, which is not in memory, nor too large for it, and
    need not be compared with its name first.

    Raises
    ------
    CorruptEntryError
        If the object is missing or damaged.
    UntrustedArrayError
        As `open_result`.
    """
    value = _decoded(record)
    if not isinstance(value, _Stored) or not value.ref.chunked or store.has_in_memory(value.ref):
        return None
    if is_from_another_boot(record) or chunked.content_bytes(value.ref) > mapping.memory_limit():
        return None
    if store.signer.is_active and trust.why_untrusted(store.path):
        # What somebody else may write to would not stay as it was verified.
        return None
    path = layout.object_path(store.path, Digest(value.ref.name), value.ref.kind)
    return PartsOfArray(path, value.ref, _open_object(store, record, value.ref))


def _decoded(record: Record) -> Any:
    """Return the value of a record with objects that are not opened; None where it would take more than decoding."""
    if record.kind != "plain" or record.blob is not None:
        return None
    stand_in: Any = lambda position: _Stored(record.objects[position])  # noqa: E731
    return codec.decode("plain", record.payload, stand_in)


def _open_object(store: "Store", record: Record, ref: ObjectRef) -> "zarr.Array[Any]":
    from lazycache_storage.objects.zarrhandle import open_zarr

    path = layout.object_path(store.path, Digest(ref.name), ref.kind)
    fsio.refuse_links(path)
    distrust = trust.why_untrusted(store.path)
    # A signature vouches for names; see `Loader.load`.
    verify = is_from_another_boot(record) or bool(distrust and store.signer.is_active)
    if ref.chunked:
        handle: zarr.Array[Any] = chunked.open_handle(path, ref, verify=verify, distrust=distrust)
        return handle
    present = objects.refresh(path, ref)
    if verify or present is None or present.mtime_ns != ref.mtime_ns:
        objects.open_array(path, ref, verify=True)
    metadata = fsio.read_file(f"{path}/{zarrfiles.METADATA_FILE}", limit=1 << 20)
    chunked.check_metadata(path, metadata, ref)
    dtype = dtypes.parse_array_dtype(ref.dtype)
    if distrust and metadata != zarrfiles.metadata(dtype, ref.shape, ref.order):
        # No name covers it, and it could turn the content into anything.
        raise CorruptEntryError(path=path, reason="the description is not what was written")
    handle = open_zarr(path, distrust)
    if handle.shape != ref.shape:
        raise CorruptEntryError(path=path, reason=f"shape {handle.shape}, expected {ref.shape}")
    return handle


def holds(store: "Store", record: Record, key: Digest) -> bool:
    """Tell whether a store has a result under its key, or under its call key."""
    for name in (key, *([Digest(record.call_key)] if record.call_key else ())):
        found = store.find(name)
        if found is not None and (found is record or _same(found, record)):
            return True
    return False


def _same(found: Record, record: Record) -> bool:
    return (found.kind, found.payload, found.blob, found.objects) == (
        record.kind,
        record.payload,
        record.blob,
        record.objects,
    )


def why_not_loaded(store: "Store", record: Record, key: Digest) -> str:
    """Return why `Store.load` would refuse a record that was found under `key`, or nothing; no object is looked at."""
    return why_refused(store.path, store.signer, record, key, allow_pickle=store.allow_pickle)


def has_objects(store: "Store", record: Record) -> bool:
    """Tell whether the objects of a record are in a store."""
    paths = (layout.object_path(store.path, Digest(ref.name), ref.kind) for ref in record.all_objects())
    return all(os.path.lexists(path) for path in paths)
