"""From a record to its value: open the objects, compare what must be compared, decode."""

from typing import Any

import msgspec

from lazycache_storage import fsio, layout, machine, trust
from lazycache_storage.digest import Digest
from lazycache_storage.errors import UntrustedPickleError
from lazycache_storage.memory import Memory
from lazycache_storage.record import ObjectRef, Record
from lazycache_storage.signing import Signer
from lazycache_storage.values import codec


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
    signer : Signer
    """

    def __init__(
        self, path: str, memory: Memory, counters: Counters, *, network: bool, allow_pickle: bool, signer: Signer
    ) -> None:
        self._path = path
        self._memory = memory
        self._counters = counters
        self._network = network
        self._allow_pickle = allow_pickle
        self._signer = signer
        # Objects of another boot whose content was compared in this process.
        self._verified: set[bytes] = set()
        # Folders of objects that were looked at: nobody but the owner of the store can turn them into links.
        self._real_folders: set[str] = set()

    def load(self, record: Record, key: bytes | None = None) -> Any:
        """Return the value of a record, which was found under `key`.

        Raises
        ------
        CorruptEntryError
            If an object is missing or damaged, or the payload cannot be decoded.
        UntrustedPickleError
            If it is a pickle, and the store may not be trusted with code.
        """
        self._check_pickle(record, key)
        payload, is_suspect, refs = record.payload, is_from_another_boot(record), record.objects
        # A signature vouches for the names of objects, and only their content for what they are named.
        is_watched = bool(self._signer.is_active and (record.blob or refs) and trust.why_untrusted(self._path))
        if record.blob is not None:
            from lazycache_storage.objects import objects

            self._counters.opened += 1
            path = self._object_path(record.blob)
            payload = objects.read_blob(path, record.blob, use_map=not self._network, verify=is_suspect or is_watched)
        return codec.decode(record.kind, payload, lambda position: self._array(refs[position], is_suspect, is_watched))

    def _array(self, ref: ObjectRef, is_suspect: bool, is_watched: bool) -> Any:
        array = self._memory.live_array(ref)
        if array is None:
            from lazycache_storage.objects import objects

            self._counters.opened += 1
            path = self._object_path(ref)
            verify = is_watched or (is_suspect and ref.name not in self._verified)
            distrust = ""
            if ref.chunked:
                from lazycache_storage.objects import chunked, mapping

                distrust = trust.why_untrusted(self._path)
                if chunked.content_bytes(ref) > mapping.memory_limit():
                    return chunked.open_handle(path, ref, verify=verify, distrust=distrust)
            # What somebody else may write to would not stay as it was verified.
            use_map = not (self._network or is_watched)
            array = objects.open_array(path, ref, use_map=use_map, verify=verify, distrust=distrust)
            if verify:
                self._verified.add(ref.name)
            array = self._memory.keep_array(ref, array)
        return array

    def _object_path(self, ref: ObjectRef) -> str:
        path = layout.object_path(self._path, Digest(ref.name), ref.kind)
        fsio.refuse_links(path, self._real_folders)
        return path

    def _check_pickle(self, record: Record, key: bytes | None) -> None:
        """Raise UntrustedPickleError unless code from here may be run."""
        reason = why_refused(self._path, self._signer, record, key, allow_pickle=self._allow_pickle)
        if reason:
            raise UntrustedPickleError(path=self._path, reason=reason)


def why_refused(path: str, signer: Signer, record: Record, key: bytes | None, *, allow_pickle: bool) -> str:
    """Return why a record of the store at `path`, found under `key`, must not be loaded; nothing if it is no pickle."""
    if record.kind != "pickle":
        return ""
    if not allow_pickle:
        return "pickles are not allowed (allow_pickle=False)"
    reason = trust.why_untrusted(path)
    if not reason or signer.vouches(record):
        return ""
    if not signer.is_active:
        return f"{reason}; or sign results (LAZYCACHE_SIGNING_KEY)"
    keys = {key or b"", record.call_key}
    return "" if any(signer.verify(each, record) for each in keys) else f"{reason}, and it has no valid signature"


def is_from_another_boot(record: Record) -> bool:
    """Tell whether a power cut may have lost what was written: nobody has read it since the machine started anew."""
    return bool(record.boot) and record.boot != machine.boot_id()
