"""From a record to its value: open the objects, compare what must be compared, decode."""

from typing import Any

import msgspec

from lazycache_storage import chunked, codec, fsio, layout, mapping, objects
from lazycache_storage.digest import Digest
from lazycache_storage.errors import UntrustedPickleError
from lazycache_storage.memory import Memory
from lazycache_storage.record import ObjectRef, Record


class Counters(msgspec.Struct):
    """How often each tier answered in this process.

    Attributes
    ----------
    memory, disk : int
        Records found in memory, and in the index.
    misses : int
        Keys that were not found.
    stored : int
        Results written.
    opened : int
        Objects opened.
    """

    memory: int = 0
    disk: int = 0
    misses: int = 0
    stored: int = 0
    opened: int = 0


class Loader:
    """Loads the values of one store.

    Parameters
    ----------
    path : str
        The store.
    memory : Memory
        Knows the arrays that are alive.
    counters : Counters
    network : bool
        Whether other machines may change the files, so that none is mapped.
    allow_pickle : bool
    """

    def __init__(self, path: str, memory: Memory, counters: Counters, *, network: bool, allow_pickle: bool) -> None:
        self._path = path
        self._memory = memory
        self._counters = counters
        self._network = network
        self._allow_pickle = allow_pickle
        # Objects of another boot whose content was compared in this process.
        self._verified: set[bytes] = set()

    def load(self, record: Record) -> Any:
        """Return the value of a record.

        Raises
        ------
        CorruptEntryError
            If an object is missing or damaged, or the payload cannot be decoded.
        UntrustedPickleError
            If it is a pickle, and the store may not be trusted with code.
        """
        if record.kind == "pickle":
            self._check_trust()
        payload, is_suspect, refs = record.payload, is_from_another_boot(record), record.objects
        if record.blob is not None:
            self._counters.opened += 1
            path = layout.object_path(self._path, Digest(record.blob.name), "blob")
            payload = objects.read_blob(path, record.blob, verify=is_suspect)
        return codec.decode(record.kind, payload, lambda position: self._array(refs[position], is_suspect))

    def _array(self, ref: ObjectRef, is_suspect: bool) -> Any:
        array = self._memory.live_array(ref)
        if array is None:
            self._counters.opened += 1
            path = layout.object_path(self._path, Digest(ref.name), ref.kind)
            verify = is_suspect and ref.name not in self._verified
            if ref.chunked and chunked.content_bytes(ref) > mapping.memory_limit():
                return chunked.open_handle(path, ref, verify=verify)
            array = objects.open_array(path, ref, use_map=not self._network, verify=verify)
            if verify:
                self._verified.add(ref.name)
            array = self._memory.keep_array(ref, array)
        return array

    def _check_trust(self) -> None:
        reason = (
            fsio.why_untrusted(self._path) if self._allow_pickle else "pickles are not allowed (allow_pickle=False)"
        )
        if reason:
            raise UntrustedPickleError(path=self._path, reason=reason)


def is_from_another_boot(record: Record) -> bool:
    """Tell whether a power cut may have lost what was written: nobody has read it since the machine started anew."""
    return bool(record.boot) and record.boot != fsio.boot_id()
