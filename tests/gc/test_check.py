"""Every kind of damage is found, named and mended, and nothing else is touched."""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import lazycache_storage.index.opening
from lazycache_storage.check import check, repair
from lazycache_storage.digest import Digest
from lazycache_storage.layout import object_path
from lazycache_storage.record import ObjectRef, Record, encode_record
from lazycache_storage.store import Store
from tests.gc.stores import digest, numbers, put

TEXT = "x" * 100_000


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with an array, one that two results share, a blob and a small result."""
    put(store, "array", value=numbers(1, 100))
    put(store, "shares 1", value=[numbers(2, 100), 1])
    put(store, "shares 2", value=[numbers(2, 100), 2])
    put(store, "blob", value=[TEXT, 1])
    put(store, "small", value=7)
    assert check(store) == []
    return store


def data_of(store: Store, *name: object) -> Path:
    """Return the file with the bytes of a result."""
    record = store.find(digest(*name))
    assert record is not None
    ref = next(iter(record.all_objects()))
    path = Path(object_path(store.path, Digest(ref.name), ref.kind))
    return path if path.is_file() else path / "0"


def writable(path: Path) -> Path:
    path.chmod(0o644)
    return path


def mended(store: Store, *kinds: str, lost: tuple[str, ...] = ()) -> None:
    """Check that these are found and mended, and that only `lost` is gone afterwards."""
    findings = check(store)
    assert sorted(finding.kind for finding in findings) == sorted(kinds)
    assert repair(store, findings) == []
    assert check(store) == []
    with Store(store.path) as fresh:
        for name in ("array", "shares 1", "shares 2", "blob", "small"):
            record = fresh.find(digest(name))
            assert (record is None) == (name in lost)
            if record is not None:
                fresh.load(record, digest(name))


def test_changed_bytes(filled: Store) -> None:
    path = data_of(filled, "array")
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    found = path.stat()
    writable(path).write_bytes(data)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    path.chmod(0o444)
    mended(filled, "damaged-object", lost=("array",))


def test_a_shared_object_that_is_damaged_costs_all_that_need_it(filled: Store) -> None:
    path = writable(data_of(filled, "shares 1"))
    path.write_bytes(path.read_bytes()[:-1])
    path.chmod(0o444)
    mended(filled, "damaged-object", "damaged-object", lost=("shares 1", "shares 2"))


def test_missing_objects(filled: Store) -> None:
    shutil.rmtree(data_of(filled, "array").parent)
    data_of(filled, "blob").unlink()
    mended(filled, "missing-object", "missing-object", lost=("array", "blob"))


def test_a_missing_chunk_file_is_damage(filled: Store) -> None:
    data_of(filled, "array").unlink()
    mended(filled, "damaged-object", lost=("array",))


def test_links_out_of_the_store_are_not_followed(filled: Store, tmp_path: Path) -> None:
    folder = data_of(filled, "array").parent
    outside = shutil.copytree(folder, tmp_path / "outside")
    shutil.rmtree(folder)
    folder.symlink_to(outside)
    mended(filled, "damaged-object", lost=("array",))
    assert (outside / "0").stat().st_size == 100_000


def test_a_quick_check_finds_what_is_missing_and_reads_nothing(filled: Store) -> None:
    path = writable(data_of(filled, "array"))
    path.write_bytes(bytes(path.stat().st_size))
    path.chmod(0o444)
    data_of(filled, "blob").unlink()
    assert [finding.kind for finding in check(filled, content=False)] == ["missing-object"]


def test_records_that_are_none(filled: Store) -> None:
    filled.index.put(digest("nonsense"), b"\xc1")
    filled.index.put(digest("other format"), encode_record(Record(format=99)))
    filled.index.put(digest("bad name"), encode_record(Record(objects=(ObjectRef(b"../../etc", "blob"),))))
    mended(filled, "unreadable-record", "unreadable-record", "unreadable-record")


def test_refs_without_record_and_records_without_ref(filled: Store) -> None:
    name = next(iter(filled.find(digest("array")).all_objects())).name  # type: ignore[union-attr]
    filled.index.put(b"ref:" + name + digest("nobody"), b"")
    filled.index.delete(b"ref:" + name + digest("array"))
    mended(filled, "dangling-ref", "missing-ref")
    assert list(filled.index.keys_with_prefix(b"ref:" + name)) == [b"ref:" + name + digest("array")]


def test_orphans_and_leftovers(filled: Store) -> None:
    blob = Path(object_path(filled.path, digest("orphan"), "blob"))
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(b"x")
    old = time.time() - 1e6
    for place in ("tmp/999999999-x.blob", "trash/1-x.blob", f"locks/{digest('dead').hex()}.lock"):
        path = Path(filled.path, place)
        path.write_bytes(b"x")
        os.utime(path, (old, old))
    mended(filled, "orphan-object", "leftover", "leftover", "leftover")


def test_permissions(filled: Store) -> None:
    writable(data_of(filled, "array"))
    os.chmod(filled.path, 0o777)
    mended(filled, "wrong-permissions", "wrong-permissions")
    assert os.stat(filled.path).st_mode & 0o777 == 0o700


def test_files_of_others_are_told_and_left(filled: Store) -> None:
    path = Path(filled.path, "objects", "notes.txt")
    (path.parent / "ab").mkdir(exist_ok=True)
    path = path.parent / "ab" / "notes.txt"
    path.write_text("mine")
    findings = check(filled)
    assert [(finding.kind, finding.path) for finding in findings] == [("strange-file", str(path))]
    assert repair(filled, findings) == findings
    assert path.read_text() == "mine"


def test_permissions_of_a_shared_store(tmp_path: Path) -> None:
    with Store(tmp_path / "store", shared=True) as store:
        put(store, "array", value=numbers(1, 100))
        path = data_of(store, "array")
        expected = path.stat().st_mode
        for mode in (0o640, 0o400):
            path.chmod(mode)
            findings = check(store)
            assert [(finding.kind, finding.path) for finding in findings] == [("wrong-permissions", str(path))]
            assert repair(store, findings) == []
            assert path.stat().st_mode == expected
            assert check(store) == []


def test_a_lock_that_is_held_for_long_is_no_leftover(store: Store) -> None:
    with store.computing(digest("long"), "f(3)"):
        (lock,) = Path(store.path, "locks").iterdir()
        os.utime(lock, (1, 1))
        assert check(store) == []
        assert lock.exists()


def test_what_is_no_lock_file_is_a_leftover(store: Store) -> None:
    path = Path(store.path, "locks", f"{digest('folder').hex()}.lock")
    path.mkdir()
    os.utime(path, (1, 1))
    assert [finding.kind for finding in check(store)] == ["leftover"]
    assert repair(store, check(store)) == []
    assert check(store) == []


def test_a_broken_index_is_kept_for_a_month(store: Store) -> None:
    path = Path(store.path, "index.broken-20260101T000000-1-ab")
    path.mkdir()
    assert check(store) == []
    os.utime(path, (1, 1))
    assert [finding.kind for finding in check(store)] == ["leftover"]
    assert repair(store, check(store)) == []
    assert not path.exists()


def test_an_index_that_is_busy_is_not_taken_for_broken(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "a", value=1)
    monkeypatch.setattr(lazycache_storage.index.opening, "BUSY_SECONDS", 0.01)
    with Store(store.path) as late, closing(sqlite3.connect(store.index.path, isolation_level=None)) as other:
        store.close()
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            check(late)


def test_a_page_that_was_overwritten_is_found(store: Store) -> None:
    for number in range(500):
        put(store, number, value="x" * 1000)
    store.close()
    path = Path(store.index.path)
    pages = bytearray(path.read_bytes())
    # The pages of the index over keys and not those of the rows: each row can still be read.
    number = next(n for n in range(2, len(pages) // 4096) if pages[4096 * n] == 10)
    pages[4096 * number + 8 : 4096 * (number + 1)] = bytes(4088)
    path.write_bytes(pages)
    with Store(store.path) as broken:
        findings = check(broken)
        assert [finding.kind for finding in findings] == ["broken-index"]
        assert repair(broken, findings) == []
        assert check(broken) == []


def test_a_broken_index_is_a_finding(store: Store) -> None:
    put(store, "a", value=1)
    store.close()
    path = Path(store.index.path)
    for name in ("-wal", "-shm"):
        Path(f"{path}{name}").unlink(missing_ok=True)
    path.write_bytes(b"SQLite format 3\x00" + os.urandom(8192))
    with Store(store.path, read_only=True) as broken:
        assert [finding.kind for finding in check(broken)] == ["broken-index"]


def test_what_is_mended_is_computed_and_stored_again(filled: Store) -> None:
    data_of(filled, "array").unlink()
    repair(filled, check(filled))
    put(filled, "array", value=numbers(1, 100))
    with Store(filled.path) as fresh:
        record = fresh.find(digest("array"))
        assert record is not None
        np.testing.assert_array_equal(fresh.load(record), numbers(1, 100))
    assert check(filled) == []


def test_a_repair_looks_again(filled: Store) -> None:
    path = data_of(filled, "array").parent
    aside = path.with_name("aside")
    path.rename(aside)
    findings = check(filled)
    assert {finding.kind for finding in findings} == {"missing-object", "strange-file"}
    aside.rename(path)
    repair(filled, [finding for finding in findings if finding.kind == "missing-object"])
    assert filled.contains(digest("array"))
    assert check(filled) == []
