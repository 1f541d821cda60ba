"""The in-process tier: records that were seen, values that cannot change, arrays that are alive.

A hit here touches no file. What it may take is bounded in bytes; arrays are
held weakly only, so that nothing here keeps a large result in memory.
"""

import threading
import time
import weakref
from collections import OrderedDict
from typing import Any, ClassVar, Final

import numpy as np

from lazycache_storage import forking
from lazycache_storage.objects import dtypes
from lazycache_storage.record import ObjectRef, Record

NOTHING: Final = object()
"""Stands for a value that is not kept."""

TRUSTED_SECONDS = 5.0
"""For so long a record is used without a look whether another process has replaced it."""

_ENTRY_OVERHEAD_BYTES = 1000
_SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
_ARRAYS = frozenset({np.ndarray, np.recarray})
_LONGEST_TUPLE = 64


class Entry:
    """A record in memory, with its value if that cannot be changed by anybody."""

    __slots__ = ("looked", "nbytes", "record", "value")

    def __init__(self, record: Record, nbytes: int) -> None:
        self.record = record
        self.value: Any = NOTHING
        self.nbytes = nbytes
        self.looked = time.monotonic()

    @property
    def is_old(self) -> bool:
        """Whether another process may have replaced or removed the record long ago."""
        return time.monotonic() - self.looked > TRUSTED_SECONDS


def cannot_change(value: object) -> bool:
    """Tell whether a value may be handed out again and again.

    Examples
    --------
    >>> cannot_change((1, "a")), cannot_change([1])
    (True, False)
    """
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is tuple:
        return len(value) <= _LONGEST_TUPLE and all(type(part) in _SCALARS for part in value)  # type: ignore[arg-type,attr-defined]
    return isinstance(value, np.generic) and not isinstance(value, (np.void, np.object_))


class LiveArrays:
    """Read-only arrays by key, for as long as they live and are as they came.

    Nobody can change their bytes, but anybody can set the shape, the strides
    or the dtype of an array in place; such an array is known no longer.
    """

    def __init__(self) -> None:
        self._entries: dict[Any, tuple[weakref.ref[np.ndarray[Any, Any]], Any]] = {}

    def get(self, key: Any) -> np.ndarray[Any, Any] | None:
        """Return the array of a key, or None."""
        entry = self._entries.get(key)
        array = None if entry is None else entry[0]()
        return array if array is not None and entry is not None and _look(array) == entry[1] else None

    def share(self, key: Any, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the array of a key if there is one, and else make it `array`."""
        present = self.get(key)
        if present is not None:
            return present

        def forget(dead: weakref.ref[np.ndarray[Any, Any]]) -> None:
            entry = self._entries.get(key)
            if entry is not None and entry[0] is dead:
                del self._entries[key]

        self._entries[key] = (weakref.ref(array, forget), _look(array))
        return array


def _look(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    # The names of a structured dtype can be set in place, too.
    names = dtypes.describe(array.dtype) if array.dtype.names else None
    return array.shape, array.strides, array.dtype, names


class Memory:
    """Records by key, the least recently used leaving first; safe among threads.

    Parameters
    ----------
    limit_bytes : int
        How much the records and values may take, about.
    """

    waits_at_fork: ClassVar[bool] = False

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._entries: OrderedDict[bytes, Entry] = OrderedDict()
        self._nbytes = 0
        self._uses: dict[bytes, tuple[int, float]] = {}
        self._arrays = LiveArrays()
        # Small arrays sit in their records and are no objects.
        self._results = LiveArrays()
        self._lock = threading.Lock()
        forking.register(self)

    def get(self, key: bytes) -> Entry | None:
        """Return the entry of a key, which is then the last to leave."""
        entry = self._entries.get(key)
        if entry is not None:
            try:
                self._entries.move_to_end(key)
            except KeyError:
                # Another thread dropped it meanwhile; what it says is still true.
                return entry
        return entry

    def peek(self, key: bytes) -> Entry | None:
        """Return the entry of a key without counting that as a use."""
        return self._entries.get(key)

    def put(self, key: bytes, record: Record, nbytes: int) -> None:
        """Keep a record whose encoded size is `nbytes`."""
        entry = Entry(record, nbytes + _ENTRY_OVERHEAD_BYTES)
        with self._lock:
            self._forget(key)
            if entry.nbytes > self.limit_bytes:
                return
            self._entries[key] = entry
            self._nbytes += entry.nbytes
            while self._nbytes > self.limit_bytes:
                self._nbytes -= self._entries.popitem(last=False)[1].nbytes

    def drop(self, key: bytes) -> None:
        """Forget a key."""
        with self._lock:
            self._forget(key)

    def clear(self) -> None:
        """Forget all records; arrays that are alive stay known."""
        with self._lock:
            self._entries.clear()
            self._nbytes = 0

    def note_use(self, key: bytes) -> int:
        """Count a use; return how many keys have uses that were not taken yet."""
        uses = self._uses
        found = uses.get(key)
        uses[key] = (1 if found is None else found[0] + 1, time.time())
        return len(uses)

    def take_uses(self) -> list[tuple[bytes, float, int]]:
        """Return and forget the uses: triples of key, time of the last, and number."""
        with self._lock:
            uses, self._uses = self._uses, {}
        return [(key, when, count) for key, (count, when) in uses.items()]

    def live_array(self, ref: ObjectRef) -> np.ndarray[Any, Any] | None:
        """Return the array that was loaded from an object, if it is alive and as it was loaded."""
        return self._arrays.get((ref.name, ref.dtype, ref.subclass))

    def keep_array(self, ref: ObjectRef, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Know an array for as long as it lives; return the one that all are to share."""
        with self._lock:
            return self._arrays.share((ref.name, ref.dtype, ref.subclass), array)

    def live_result(self, key: bytes, record: Record) -> np.ndarray[Any, Any] | None:
        """Return the array that was decoded from a record, if it is alive."""
        return self._results.get((key, record.created))

    def keep_result(self, key: bytes, record: Record, value: Any) -> Any:
        """Know a result that is an array which cannot be written to; return the one that all are to share."""
        if type(value) not in _ARRAYS or value.flags.writeable or value.dtype.hasobject:
            return value
        with self._lock:
            return self._results.share((key, record.created), value)

    def before_fork(self) -> None:
        """Let no other thread be in the middle of a change."""
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """Go on; the uses are the parent's to write."""
        if in_child:
            self._uses = {}
        self._lock.release()

    def _forget(self, key: bytes) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._nbytes -= entry.nbytes
