"""Each fault of the disk at each step: right results, at most one warning, and a store that `check` can mend.

The faults are raised by the seam in ``fsio``; `test_machine` has real ones.
"""

import errno
import itertools
import os
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from lazycache import Cache, pure
from lazycache_storage import fsio
from lazycache_storage.check import check, repair
from lazycache_storage.record import decode_record, encode_record
from lazycache_storage.store import Store
from tests.gc.stores import digest, numbers, put

FAULTS = [errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS]


@pure(version=1, name="faults.part")
def part(n: int) -> Any:
    return np.arange(20_000.0) + n


@pure(version=1, name="faults.whole")
def whole(n: int) -> Any:
    value = part(n)
    return {"sum": float(value.sum()), "array": value * 2, "text": "x" * 50_000}


def is_right(value: Any, n: int) -> bool:
    array = np.arange(20_000.0) + n
    return bool(
        value["sum"] == array.sum() and np.array_equal(value["array"], array * 2) and value["text"] == "x" * 50_000
    )


@contextmanager
def faulty(monkeypatch: pytest.MonkeyPatch, number: int, first: int, *, lasts: bool) -> Iterator[list[str]]:
    """Raise an error of this number at a step, or from there on; give the steps that were reached."""
    steps: list[str] = []

    def step(name: str) -> None:
        steps.append(name)
        # A full disk lets go of files.
        can_be = number != errno.ENOSPC or not name.startswith("remove")
        if can_be and (len(steps) == first or (lasts and len(steps) > first)):
            raise OSError(number, os.strerror(number), name)

    with monkeypatch.context() as patch:
        patch.setattr(fsio, "step", step)
        yield steps


@contextmanager
def at_most_one_warning() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert len(caught) <= 1, [str(warning.message) for warning in caught]


def kinds(path: Path) -> set[str]:
    with Store(path) as store:
        return {finding.kind for finding in check(store)}


def is_mended(path: Path) -> bool:
    """Repair a store; what is younger than an hour in tmp/ is nobody's yet, so age it."""
    for entry in [*(path / "tmp").iterdir(), *(path / "locks").iterdir()]:
        os.utime(entry, (1, 1))
    with Store(path) as store:
        return repair(store, check(store)) == [] and check(store) == []


@pytest.mark.parametrize("lasts", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("number", FAULTS, ids=[errno.errorcode[number] for number in FAULTS])
def test_a_fault_at_each_step_of_storing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, lasts: bool
) -> None:
    for first in itertools.count(1):
        path = tmp_path / str(first)
        # Made before, so that each trial is about storing.
        Store(path).close()
        cache = Cache(path)
        with at_most_one_warning(), faulty(monkeypatch, number, first, lasts=lasts) as steps:
            assert is_right(cache(whole(first)), first), first
        cache.close()
        if not lasts or number == errno.ENOSPC:
            assert not list((path / "tmp").iterdir()), (first, steps[-1])
        with at_most_one_warning():
            assert is_right(Cache(path)(whole(first)), first)
        assert kinds(path) <= {"orphan-object", "leftover"}
        assert is_mended(path)
        assert whole(first) in Cache(path)
        shutil.rmtree(path)
        if len(steps) < first:
            break
    assert first > 15, "hardly any steps: is the seam still in place?"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_fault_at_each_step_of_making_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    for first in itertools.count(1):
        path = tmp_path / str(first)
        with at_most_one_warning(), faulty(monkeypatch, number, first, lasts=True) as steps:
            assert is_right(Cache(path)(whole(1)), 1)
        assert is_right(Cache(path)(whole(1)), 1)
        assert whole(1) in Cache(path)
        if len(steps) < first:
            break


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("how", ["forget", "gc"])
def test_a_fault_at_each_step_of_removing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, how: str
) -> None:
    for first in itertools.count(1):
        path = tmp_path / str(first)
        cache = Cache(path)
        cache(whole(1)), cache(part(2))
        with at_most_one_warning(), faulty(monkeypatch, number, first, lasts=True) as steps:
            if how == "gc":
                cache.gc(functions=("faults.whole",))
            else:
                cache.forget(whole(1))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert is_right(Cache(path)(whole(1)), 1)
            assert Cache(path)(part(2))[7] == 9.0
        assert is_mended(path)
        if len(steps) < first:
            break
    assert first > 3, "hardly any steps: is the seam still in place?"


def data_files(path: Path) -> list[Path]:
    return [file for file in (path / "objects").rglob("*") if file.is_file() and file.name != "zarr.json"]


def overwrite(file: Path, data: bytes) -> None:
    file.chmod(0o600)
    file.write_bytes(data)


def in_records(path: Path, change: Callable[[bytes], bytes]) -> None:
    with Store(path) as store, store.index.transaction() as transaction:
        for row in list(store.index.items()):
            if len(row.key) == 32:
                transaction.replace(row.key, change(row.value))


def with_format(number: int) -> Callable[[bytes], bytes]:
    return lambda data: encode_record(msgspec.structs.replace(decode_record(data), format=number))


def without_refs(path: Path) -> None:
    with Store(path) as store:
        for key in list(store.index.keys_with_prefix(b"ref:")):
            store.index.delete(key)


def each_file(change: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        for file in data_files(path):
            change(file)

    return damage


def in_index(*statements: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path / "index" / "cache.db")) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return damage


def without_database(path: Path) -> None:
    for file in (path / "index").iterdir():
        file.unlink()


def folder_for_database(path: Path) -> None:
    without_database(path)
    (path / "index" / "cache.db").mkdir()


def file_for_index(path: Path) -> None:
    shutil.rmtree(path / "index")
    (path / "index").write_text("in the way")


def file_for_trash(path: Path) -> None:
    (path / "trash").rmdir()
    (path / "trash").write_text("in the way")


INDEX_DAMAGES: dict[str, Callable[[Path], Any]] = {
    "no index": lambda path: shutil.rmtree(path / "index"),
    "no database": without_database,
    "a folder in place of the database": folder_for_database,
    "a file in place of the index": file_for_index,
    "no tables": in_index("DROP TABLE Cache"),
    "other columns": in_index("ALTER TABLE Cache RENAME COLUMN value TO content"),
    "no totals": in_index("DROP TABLE Totals"),
    "no settings": in_index("DROP TABLE Settings"),
    "rows of text": in_index("UPDATE Cache SET value = 'text'"),
}


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("damage", INDEX_DAMAGES)
def test_an_index_that_is_gone_or_not_ours_is_replaced(tmp_path: Path, damage: str, is_open: bool) -> None:
    path = tmp_path / "store"
    cache = Cache(path)
    for n in range(3):
        cache(whole(n))
    if not is_open:
        cache.close()
    INDEX_DAMAGES[damage](path)
    with at_most_one_warning():
        cache = cache if is_open else Cache(path)
        for n in (0, 1, 7, 8, 9, 8):
            assert is_right(cache(whole(n)), n)
        cache.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = Cache(path)
        assert is_right(again(whole(8)), 8)
        assert is_right(again(whole(9)), 9)
        assert again.stats()["runs"] == 0
    assert is_mended(path)


@pytest.mark.parametrize("damage", sorted({*INDEX_DAMAGES, "a file in place of the trash"} - {"no settings"}))
def test_damage_to_the_index_is_found_and_mended_before_anybody_uses_it(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "store"
    with Store(path) as store:
        put(store, 1, value=numbers(1, 50))
        put(store, 2, value=2)
        (file_for_trash if "trash" in damage else INDEX_DAMAGES[damage])(path)
        store.index.close()
        findings = check(store)
        found_kinds = {finding.kind for finding in findings}
        assert found_kinds <= {"broken-index", "unreadable-record", "blocked-folder", "wrong-totals"}
        assert findings
        assert repair(store, findings) == []
        # What no record needs any more shows in a second look.
        assert repair(store, check(store)) == []
        assert check(store) == []
        put(store, 1, value=numbers(1, 50))
    with Store(path) as store:
        found = store.find(digest(1))
        assert found is not None
        np.testing.assert_array_equal(store.load(found, digest(1)), numbers(1, 50))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut objects": each_file(lambda file: overwrite(file, file.read_bytes()[:100])),
    "overwritten objects": each_file(lambda file: overwrite(file, bytes(file.stat().st_size))),
    "removed objects": each_file(Path.unlink),
    "removed folders": lambda path: shutil.rmtree(path / "objects"),
    "unreadable records": lambda path: in_records(path, lambda data: b"\xc1 nothing"),
    "cut records": lambda path: in_records(path, lambda data: data[:-9]),
    "older records": lambda path: in_records(path, with_format(0)),
    "newer records": lambda path: in_records(path, with_format(2)),
    "rows without references": without_refs,
    "unfinished writes": lambda path: (path / "tmp" / "999999-abc").write_text("half"),
    "trash": lambda path: (path / "trash" / "999999-abc").write_text("gone"),
}


@pytest.mark.parametrize("mode", ["rw", "ro"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_costs_a_recomputation_and_is_mended(tmp_path: Path, damage: str, mode: Any) -> None:
    path = tmp_path / "store"
    first = Cache(path)
    for n in range(3):
        first(whole(n))
    first.close()
    DAMAGES[damage](path)
    found = kinds(path)
    assert found or damage in ("trash", "unfinished writes")
    with at_most_one_warning():
        cache = Cache(path, mode=mode)
        for _ in range(2):
            # By operators above it, as an argument, alone and in part: each way through the bridge.
            assert all(is_right(value, n) for n, value in enumerate(cache([whole(n) for n in range(3)])))
            assert cache(whole(1)["sum"] + 1) == (np.arange(20_000.0) + 1).sum() + 1
        cache.close()
    assert is_mended(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_right(Cache(path)(whole(0)), 0)


@pytest.mark.parametrize("number", [0, 2])
def test_stores_of_other_formats_are_left_as_they_are(tmp_path: Path, number: int) -> None:
    path = tmp_path / "store"
    Cache(path)(whole(0))
    (path / "format.json").write_text(f'{{"format": {number}}}')
    before = sorted((str(file), file.stat().st_mtime_ns) for file in path.rglob("*"))
    with at_most_one_warning():
        cache = Cache(path)
        assert is_right(cache(whole(0)), 0)
        assert is_right(cache(whole(1)), 1)
    assert sorted((str(file), file.stat().st_mtime_ns) for file in path.rglob("*")) == before


def test_a_folder_that_vanishes_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "store"
    cache = Cache(path)
    cache(whole(0))
    shutil.rmtree(path)
    with at_most_one_warning():
        for n in (0, 1, 0):
            assert is_right(cache(whole(n)), n)
    assert whole(1) in Cache(path)
    assert is_mended(path)


def test_a_record_that_was_written_anew_is_not_taken_for_damaged(tmp_path: Path) -> None:
    from lazycache_storage.errors import RemovedEntryError

    with Store(tmp_path / "store") as slow, Store(tmp_path / "store") as quick:
        put(slow, 1, value=[numbers(1, 50), 1])
        record = slow.find(digest(1))
        assert record is not None
        quick.forget(digest(1))
        put(quick, 1, value=[numbers(2, 50), 2])
        with pytest.raises(RemovedEntryError):
            slow.load(record, digest(1))
        # And the next look finds what is there now.
        found = slow.find(digest(1))
        assert found is not None
        assert slow.load(found, digest(1))[1] == 2


def test_memory_learns_what_another_process_has_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import lazycache_storage.memory

    with Store(tmp_path / "store") as one, Store(tmp_path / "store") as two:
        put(one, 1, value="old")
        assert one.contains(digest(1))
        two.put([digest(1)], "new", {}, replace=True)
        monkeypatch.setattr(lazycache_storage.memory, "TRUSTED_SECONDS", 0.0)
        found = one.find(digest(1))
        assert found is not None
        assert one.load(found, digest(1)) == "new"
        two.forget(digest(1))
        assert one.find(digest(1)) is None
        assert not one.contains(digest(1))
