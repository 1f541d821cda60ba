"""Removing a record, and the objects that only it needed.

The record goes first, in a transaction of its own; its objects follow in the
next one. Killed between the two, a process leaves orphans, which gc removes,
but never a record without its objects.
"""

from collections.abc import Iterable

from lazycache_storage import fsio, layout
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.index.index import REF_PREFIX
from lazycache_storage.record import decode_record
from lazycache_storage.rows import Rows


def forget(rows: Rows, key: Digest) -> bool:
    """Remove a record and what only it needed; return whether there was one."""
    with rows.transaction() as transaction:
        data = transaction.get(key)
        if data is None:
            return False
        transaction.delete(key)
        names = _object_names(data)
        for name, _ in names:
            transaction.delete(REF_PREFIX + name + key)
    if names:
        remove_unneeded(rows, names)
    return True


def remove_unneeded(rows: Rows, names: Iterable[tuple[bytes, layout.ObjectKind]]) -> int:
    """Remove those objects that no record needs any more; return how many."""
    trash = layout.folder(rows.path, layout.TRASH_FOLDER)
    fsio.make_folder(trash)
    moved = []
    # Publishing happens under the same lock: nobody comes to need an object between the look and the move.
    with rows.transaction() as transaction:
        for name, kind in names:
            if transaction.keys_with_prefix(REF_PREFIX + name):
                continue
            aside = fsio.temporary_name(trash)
            if fsio.move_unless_held(layout.object_path(rows.path, Digest(name), kind), aside):
                moved.append(aside)
    for path in moved:
        fsio.remove(path)
    return len(moved)


def _object_names(data: bytes) -> list[tuple[bytes, layout.ObjectKind]]:
    try:
        return [(ref.name, ref.kind) for ref in decode_record(data).all_objects() if len(ref.name) == layout.KEY_BYTES]
    except CorruptEntryError:
        return []
