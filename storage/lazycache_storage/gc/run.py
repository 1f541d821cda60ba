"""Carrying a plan out, beside readers, writers and other collections.

The index forgets first: a transaction deletes about a hundred records, and
the next one moves to the trash the objects that nobody needs any more. Killed
between the two, a collection leaves orphans, never a record without its
object. An object is moved while the write lock of the index is held, as it is
published, so no writer can come to need it at that moment. Unlinking, which
takes long, happens outside.
"""

import logging
import sqlite3
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lazycache_storage import fsio, layout
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.gc.leftovers import remove_leftover
from lazycache_storage.gc.plan import GcPlan
from lazycache_storage.gc.survey import batched, result_number
from lazycache_storage.index.accounts import bytes_on_disk
from lazycache_storage.index.index import CLAIM_PREFIX, CODE_PREFIX, FILE_PREFIX, REF_PREFIX, TOOK_PREFIX
from lazycache_storage.record import Record, decode_record

if TYPE_CHECKING:
    from lazycache_storage.index.transactions import Transaction
    from lazycache_storage.store import Store

log = logging.getLogger("lazycache")

BATCH = 100
"""Records in one transaction: a writer that comes meanwhile waits a few milliseconds."""

_LEAST_WORTH_PACKING = 1 << 20
_LOOSE = 1.5


@dataclass
class GcResult:
    """What a collection did.

    Attributes
    ----------
    dropped : int
        Records deleted.
    survived : int
        Records of the plan that stayed: used, written anew or pinned meanwhile, or gone before.
    objects : int
        Objects removed.
    freed_bytes : int
        Bytes of the objects and rows removed.
    leftovers : int
        What was left behind by killed processes and is gone now.
    """

    dropped: int = 0
    survived: int = 0
    objects: int = 0
    freed_bytes: int = 0
    leftovers: int = 0


def run_gc(store: "Store", plan: GcPlan, on_step: Callable[[GcResult], None] | None = None) -> GcResult:
    """Carry out a plan.

    Entries that were written, used or pinned after the plan was made stay. It
    is no error if others remove the same things at the same time.

    Parameters
    ----------
    store : Store
    plan : GcPlan
    on_step : callable, optional
        Is told after each step what was done so far; stopped there by an
        exception, the store is good.

    Raises
    ------
    ReadOnlyStoreError
        If the store may only be read.
    """
    result = GcResult()
    for _ in run_steps(store, plan, result):
        if on_step is not None:
            on_step(result)
    _compact(store, plan.kept_index_bytes)
    return result


def run_steps(store: "Store", plan: GcPlan, result: GcResult, batch: int | None = None) -> Generator[None, None, None]:
    """Carry out a plan, a transaction of `batch` records or objects at each step, counting in `result`."""
    trash = layout.folder(store.path, layout.TRASH_FOLDER)
    fsio.make_folder(trash)
    collector = _Collector(store, plan, result)
    batch = batch or BATCH
    released: list[tuple[str, int]] = []
    for start in range(0, len(plan.rows), batch):
        released = list(collector.drop(plan.rows[start : start + batch], dict(released)).items())
        yield from collector.empty_trash()
        # One record may need thousands of objects.
        while len(released) > batch:
            collector.drop((), dict(released[-batch:]))
            del released[-batch:]
            yield from collector.empty_trash()
    released += [(orphan.path, orphan.nbytes) for orphan in plan.orphans]
    for paths in batched(released, batch):
        collector.drop((), dict(paths))
        yield from collector.empty_trash()
    if plan.limits.everything:
        yield from _forget_notes(store)
    for leftover in plan.leftovers:
        result.leftovers += remove_leftover(leftover.path)
        yield
    yield from _remove_empty_folders(store)


class _Collector:
    """Drops records and moves what they needed to the trash."""

    def __init__(self, store: "Store", plan: GcPlan, result: GcResult) -> None:
        self.store = store
        self.plan = plan
        self.result = result
        self.trash = layout.folder(store.path, layout.TRASH_FOLDER)
        self.moved: list[str] = []

    def drop(self, rows: Iterable[Any], released: dict[str, int]) -> dict[str, int]:
        """Delete records; move to the trash what earlier ones released; return what these have released."""
        dropped: list[bytes] = []
        to_release: dict[str, int] = {}
        with self.store.index.transaction() as transaction:
            for path, nbytes in released.items():
                target = self._to_trash(transaction, path)
                if target:
                    self.moved.append(target)
                    self.result.freed_bytes += nbytes
            for row in rows:
                released_by_row = self._drop_record(transaction, row)
                if released_by_row is None:
                    self.result.survived += 1
                    continue
                dropped.append(row["key"].tobytes())
                self.result.freed_bytes += int(row["bytes"])
                to_release.update(released_by_row)
        self.store.drop_from_memory(dropped)
        self.result.dropped += len(dropped)
        return to_release

    def empty_trash(self) -> Generator[None, None, None]:
        """Unlink what was moved, an object at each step."""
        yield
        for target in self.moved:
            fsio.remove(target)
            self.result.objects += 1
            yield
        self.moved.clear()

    def _drop_record(self, transaction: "Transaction", row: Any) -> dict[str, int] | None:
        """Delete a record; return the objects it needed and their sizes, or None if the record stays."""
        key = row["key"].tobytes()
        record = self._unchanged_record(key, row)
        if record is None:
            return None
        transaction.delete(key)
        released = {}
        for ref in record.all_objects():
            transaction.delete(REF_PREFIX + ref.name + key)
            if len(ref.name) == layout.KEY_BYTES:
                path = layout.object_path(self.store.path, Digest(ref.name), ref.kind)
                released[path] = bytes_on_disk(self.store.path, ref)
        return released

    def _unchanged_record(self, key: bytes, planned: Any) -> Record | None:
        """Return the record if it is as it was planned, and not used since."""
        # A read inside the transaction goes over its connection, and sees what it sees.
        found = next(self.store.index.items(key), None)
        if found is None:
            return None
        try:
            record = decode_record(found.value)
        except CorruptEntryError:
            return None
        is_same = result_number(record) == planned["result"] and not record.pinned
        is_unused = found.uses == planned["uses"] and max(found.last_used, record.created) <= planned["last_used"]
        return record if is_same and is_unused else None

    def _to_trash(self, transaction: "Transaction", path: str) -> str:
        """Move an object to the trash unless a record needs it; return where it is now."""
        parsed = layout.parse_object_path(path)
        if parsed is None or self._is_needed(transaction, parsed[0]):
            return ""
        target = fsio.temporary_name(self.trash, "-" + parsed[0].short)
        return target if fsio.move_unless_held(path, target) else ""

    def _is_needed(self, transaction: "Transaction", name: Digest) -> bool:
        """Tell whether a record needs an object; rows that say so for no record are deleted."""
        prefix = REF_PREFIX + name
        for row in self.store.index.items(prefix):
            if transaction.get(row.key[len(prefix) :]) is not None:
                return True
            transaction.delete(row.key)
        return False


def _forget_notes(store: "Store") -> Generator[None, None, None]:
    """Delete the claims of functions, what their code was, the remembered digests of files, and how long calls take."""
    for prefix in (CLAIM_PREFIX, CODE_PREFIX, FILE_PREFIX, TOOK_PREFIX):
        for keys in batched(store.index.keys_with_prefix(prefix), BATCH):
            with store.index.transaction() as transaction:
                for key in keys:
                    transaction.delete(key)
            yield


def _remove_empty_folders(store: "Store") -> Generator[None, None, None]:
    """Remove empty folders of objects; a writer that wanted one makes it again."""
    objects = layout.folder(store.path, layout.OBJECTS_FOLDER)
    for name in fsio.list_folder(objects):
        fsio.remove_empty_folder(f"{objects}/{name}")
        yield


def _compact(store: "Store", needed_bytes: int) -> None:
    """Pack the index if it takes much more than it needs; writers wait for a second or so meanwhile."""
    if store.index.file_bytes() < needed_bytes * _LOOSE + _LEAST_WORTH_PACKING:
        return
    try:
        store.index.pack()
    except sqlite3.OperationalError as error:
        # It needs the space of a second index for a moment, and nobody else's transaction.
        log.info("the index of %s was not made smaller: %s", store.path, error)
