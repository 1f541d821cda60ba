"""Finding what is wrong with a store, and mending it.

Both may run beside readers, writers and collections: what vanishes while it is
looked at is no fault, and every repair looks again under the write lock.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lazycache_storage import founding, fsio, layout, modes, trust
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError, UntrustedArrayError
from lazycache_storage.gc.leftovers import find_leftovers, object_paths, remove_leftover
from lazycache_storage.gc.survey import object_number
from lazycache_storage.index import accounts
from lazycache_storage.index.accounts import tree_size
from lazycache_storage.index.index import REF_PREFIX, Row, has_database, is_broken
from lazycache_storage.layout import KEY_BYTES
from lazycache_storage.objects.objects import verify_object
from lazycache_storage.record import ObjectRef, Record, decode_record

if TYPE_CHECKING:
    from lazycache_storage.index.transactions import Transaction
    from lazycache_storage.store import Store

FindingKind = Literal[
    "broken-index",
    "wrong-totals",
    "blocked-folder",
    "unreadable-record",
    "missing-object",
    "damaged-object",
    "missing-ref",
    "dangling-ref",
    "orphan-object",
    "strange-file",
    "leftover",
    "wrong-permissions",
]

_ENTRY_KINDS = frozenset({"unreadable-record", "missing-object", "damaged-object"})
_PRIVATE_MODE = 0o700


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is not as it should be.

    Attributes
    ----------
    kind : str
        What is wrong: "broken-index", "wrong-totals", "blocked-folder",
        "unreadable-record", "missing-object", "damaged-object", "missing-ref",
        "dangling-ref", "orphan-object", "strange-file", "leftover" or
        "wrong-permissions".
    path : str
        The file, or the row of the index, at fault.
    reason : str
        What was expected and found, or what is lost.
    key : bytes
        The key of the row; empty if it is not about one.
    nbytes : int
        Size of the file.
    """

    kind: FindingKind
    path: str
    reason: str
    key: bytes = b""
    nbytes: int = 0

    @property
    def costs_an_entry(self) -> bool:
        """Whether mending it drops an entry, which must then be computed again."""
        return self.kind in _ENTRY_KINDS


def check(store: "Store", *, content: bool = True, on_step: Callable[[int, int], None] | None = None) -> list[Finding]:
    """Look at everything in a store and return what is wrong; nothing is changed.

    Parameters
    ----------
    store : Store
    content : bool
        Read every object and compare it with its name; otherwise only look
        whether it is there.
    on_step : callable, optional
        Called with how many records were looked at, and how many there are.
    """
    try:
        store.index.check(whole=content)
        findings, needed = _check_records(store, content, on_step)
        findings += _check_refs(store)
    except sqlite3.DatabaseError as error:
        if has_database(store.index.folder) and not is_broken(error):
            # Busy or out of reach: that says nothing about what is in it.
            raise
        return [Finding(kind="broken-index", path=store.index.path, reason=str(error))]
    findings += _check_totals(store)
    findings += _check_folders(store)
    findings += _check_objects(store, needed)
    findings += (
        Finding(kind="leftover", path=left.path, reason=f"{left.what} of a killed process", nbytes=left.nbytes)
        for left in find_leftovers(store)
        if left.what != "trash" or left.nbytes
    )
    findings += _check_permissions(store)
    return findings


def _check_records(
    store: "Store", content: bool, on_step: Callable[[int, int], None] | None
) -> tuple[list[Finding], set[int]]:
    """Return what is wrong with records and with the objects they need, and the numbers of these."""
    total = store.index.count_records()
    looked_at = 0
    findings: list[Finding] = []
    verdicts: dict[int, tuple[FindingKind, str] | None] = {}
    for row in store.index.items():
        if len(row.key) != KEY_BYTES:
            continue
        looked_at += 1
        if on_step is not None:
            on_step(looked_at, total)
        try:
            record = decode_record(row.value, where=_row_name(store, row.key))
        except CorruptEntryError as error:
            findings.append(_unreadable(error, row.key))
            continue
        findings += _check_record(store, row, record, verdicts, content)
    return findings, set(verdicts)


def _check_record(
    store: "Store",
    row: Row,
    record: Record,
    verdicts: dict[int, tuple[FindingKind, str] | None],
    content: bool,
) -> Iterator[Finding]:
    for ref in record.all_objects():
        if len(ref.name) != KEY_BYTES:
            yield Finding(
                kind="unreadable-record",
                path=_row_name(store, row.key),
                reason=f"it names an object by {len(ref.name)} bytes",
                key=row.key,
            )
            continue
        path = layout.object_path(store.path, Digest(ref.name), ref.kind)
        number = object_number(ref.name)
        if number not in verdicts:
            verdicts[number] = _judge(path, ref, content, trust.why_untrusted(store.path))
        verdict = verdicts[number]
        if store.index.get(row.key) != row.value:
            return
        if verdict is not None:
            kind, reason = verdict
            yield Finding(kind=kind, path=path, reason=f"{reason} (needed by {record.function})", key=row.key)
        elif store.index.get(REF_PREFIX + ref.name + row.key) is None:
            reason = f"the index does not say that {row.key.hex()[:12]} needs it"
            yield Finding(kind="missing-ref", path=path, reason=reason, key=row.key)


def _judge(path: str, ref: ObjectRef, content: bool, distrust: str) -> tuple[FindingKind, str] | None:
    """Return what is wrong with an object, or None; also for one that others may have made, and that nobody loads."""
    if os.path.islink(path):
        return "damaged-object", "a symbolic link, expected what was written"
    if not os.path.lexists(path):
        return "missing-object", "the object is missing"
    try:
        if content:
            verify_object(path, ref, distrust)
    except UntrustedArrayError:
        return None
    except CorruptEntryError as error:
        kind: FindingKind = "damaged-object" if os.path.lexists(path) else "missing-object"
        return kind, vars(error)["reason"]
    except OSError as error:
        return "damaged-object", f"it cannot be read: {error.strerror}"
    return None


def _check_refs(store: "Store") -> Iterator[Finding]:
    for key in store.index.keys_with_prefix(REF_PREFIX):
        record_key = key[-KEY_BYTES:]
        if store.index.get(record_key) is None and store.index.get(key) is not None:
            reason = "it says that a record needs an object, and there is no such record"
            yield Finding(kind="dangling-ref", path=_row_name(store, key), reason=reason, key=key)


def _check_totals(store: "Store") -> Iterator[Finding]:
    if not store.index.are_totals_right():
        yield Finding(kind="wrong-totals", path=store.index.path, reason="the totals are not those of the rows")


def _check_folders(store: "Store") -> Iterator[Finding]:
    objects = layout.folder(store.path, layout.OBJECTS_FOLDER)
    folders = [layout.folder(store.path, name) for name in layout.FOLDERS]
    folders += [f"{objects}/{name}" for name in fsio.list_folder(objects) if layout.is_object_folder(name)]
    for path in folders:
        if os.path.lexists(path) and not os.path.isdir(path):
            yield Finding(kind="blocked-folder", path=path, reason="a file, expected a folder")


def _check_objects(store: "Store", needed: set[int]) -> Iterator[Finding]:
    for path in object_paths(store.path):
        name = layout.parse_object_path(path)
        if name is None:
            yield Finding(kind="strange-file", path=path, reason="this is no object", nbytes=tree_size(path))
        elif object_number(name[0]) not in needed:
            if next(store.index.items(REF_PREFIX + name[0]), None) is None:
                yield Finding(
                    kind="orphan-object", path=path, reason="no entry needs this object", nbytes=tree_size(path)
                )
        elif not os.path.islink(path):
            yield from _check_modes(path)


def _check_modes(path: str) -> Iterator[Finding]:
    files = [path]
    if os.path.isdir(path):
        files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    for file in files:
        found = fsio.stat(file)
        expected = modes.mode_in(os.path.dirname(file), fsio.OBJECT_MODE)
        if found is not None and (found.st_mode & 0o222 or expected & ~found.st_mode):
            reason = f"mode {found.st_mode & 0o777:o}, expected {expected:o}"
            yield Finding(kind="wrong-permissions", path=file, reason=reason)


def _check_permissions(store: "Store") -> Iterator[Finding]:
    reason = fsio.why_untrusted(store.path)
    # A group may write to a store that was made for it.
    if reason and not modes.is_shared(store.path):
        yield Finding(kind="wrong-permissions", path=store.path, reason=reason)


def repair(store: "Store", findings: Iterable[Finding]) -> list[Finding]:
    """Mend what `check` found, and return what could not be mended.

    An entry that is lost is dropped, so that it is computed again when asked for.
    """
    findings = list(findings)
    unmended = [finding for finding in findings if not _mend(store, finding)]
    if any(finding.costs_an_entry for finding in findings):
        # Only now that the entries are gone can be seen what nobody else needs.
        for kind in ("dangling-ref", "orphan-object"):
            follow = [finding for finding in check(store, content=False) if finding.kind == kind]
            unmended += [finding for finding in follow if not _mend(store, finding)]
    return unmended


def _mend(store: "Store", finding: Finding) -> bool:
    if finding.kind == "leftover":
        return remove_leftover(finding.path)
    if finding.kind == "wrong-permissions":
        return _mend_mode(store, finding)
    if finding.kind == "strange-file":
        return False
    if finding.kind == "broken-index":
        founding.set_aside_index(store.path, store.index)
        return True
    if finding.kind == "wrong-totals":
        store.index.recount()
        return True
    if finding.kind == "blocked-folder":
        founding.move_aside(finding.path)
        return True
    with store.index.transaction() as transaction:
        doomed = _mend_row(store, transaction, finding)
    if doomed:
        fsio.remove(doomed)
    return True


def _mend_mode(store: "Store", finding: Finding) -> bool:
    try:
        is_store = finding.path == store.path
        mode = _PRIVATE_MODE if is_store else modes.mode_in(os.path.dirname(finding.path), fsio.OBJECT_MODE)
        os.chmod(finding.path, mode)
    except PermissionError:
        return False
    except FileNotFoundError:
        return True
    return True


def _mend_row(store: "Store", transaction: "Transaction", finding: Finding) -> str:
    """Put the index right; return a path in the trash that is to be removed."""
    if finding.kind == "dangling-ref":
        if transaction.get(finding.key[-KEY_BYTES:]) is None:
            transaction.delete(finding.key)
        return ""
    if finding.kind == "unreadable-record":
        transaction.delete(finding.key)
        return ""
    parsed = layout.parse_object_path(finding.path)
    if parsed is None:
        return ""
    prefix = REF_PREFIX + parsed[0]
    if finding.kind == "missing-ref":
        _write_ref(store, transaction, prefix, finding.key)
        return ""
    if finding.kind == "orphan-object":
        return "" if transaction.keys_with_prefix(prefix) else _to_trash(store, finding.path)
    if finding.kind == "missing-object" and os.path.lexists(finding.path):
        return ""
    for key in {finding.key, *(key[-KEY_BYTES:] for key in transaction.keys_with_prefix(prefix))}:
        _drop_record(transaction, key)
    return _to_trash(store, finding.path)


def _write_ref(store: "Store", transaction: "Transaction", prefix: bytes, key: bytes) -> None:
    value = transaction.get(key)
    if value is None:
        return
    record = decode_record(value)
    account = accounts.of_record(record, len(value), is_first=True)
    for ref in record.all_objects():
        if REF_PREFIX + ref.name == prefix:
            transaction.put(prefix + key, b"", accounts.of_object(store.path, ref, account.tag))


def _drop_record(transaction: "Transaction", key: bytes) -> None:
    value = transaction.get(key)
    if value is None:
        return
    transaction.delete(key)
    try:
        refs = list(decode_record(value).all_objects())
    except CorruptEntryError:
        return
    for ref in refs:
        transaction.delete(REF_PREFIX + ref.name + key)


def _to_trash(store: "Store", path: str) -> str:
    trash = layout.folder(store.path, layout.TRASH_FOLDER)
    fsio.make_folder(trash)
    target = fsio.temporary_name(trash)
    return target if fsio.move(path, target) else ""


def _unreadable(error: CorruptEntryError, key: bytes) -> Finding:
    return Finding(kind="unreadable-record", path=vars(error)["path"], reason=vars(error)["reason"], key=key)


def _row_name(store: "Store", key: bytes) -> str:
    return f"{store.index.path}, row {key.hex()[:12]}"
