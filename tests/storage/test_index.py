import os
import pickle
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from lazycache_storage.errors import ReadOnlyStoreError
from lazycache_storage.index.index import DATABASE_FILE, Index, is_broken
from tests.storage.processes import run


@pytest.fixture
def index(tmp_path: Path) -> Index:
    made = Index(str(tmp_path / "index"))
    made.create()
    return made


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_a_row_comes_back_as_its_bytes(index: Index) -> None:
    for number, value in enumerate([b"", b"\x00", b"text", bytes(100_000)]):
        index.put(key(number), value)
        assert index.get(key(number)) == value
    assert index.get(key(99)) is None


def test_a_row_is_seen_by_another_process(index: Index) -> None:
    index.put(key(1), b"value")
    assert run("say(Index(sys.argv[1]).get(key(1)))", index.folder).strip() == "b'value'"


def test_deleting_tells_whether_the_row_was_there(index: Index) -> None:
    index.put(key(1), b"value")
    assert index.delete(key(1))
    assert not index.delete(key(1))
    assert index.get(key(1)) is None


def test_a_transaction_that_raises_leaves_nothing(index: Index) -> None:
    index.put(key(1), b"old")
    with pytest.raises(ZeroDivisionError), index.transaction() as transaction:
        transaction.put(key(1), b"new")
        transaction.put(key(2), b"new")
        assert transaction.get(key(2)) == b"new"
        raise ZeroDivisionError
    assert index.get(key(1)) == b"old"
    assert index.get(key(2)) is None
    index.put(key(3), b"the index still works")


def test_what_a_transaction_did_is_not_seen_before_its_end(index: Index) -> None:
    seen = []

    def look() -> None:
        seen.append(index.get(key(1)))

    with index.transaction() as transaction:
        transaction.put(key(1), b"new")
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [None]
    assert index.get(key(1)) == b"new"


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 2500])
def test_all_rows_are_listed_once_in_order(index: Index, count: int) -> None:
    rows = {os.urandom(32): os.urandom(5) for _ in range(count)}
    with index.transaction() as transaction:
        for name, value in rows.items():
            transaction.put(name, value)
    listed = list(index.items())
    assert [row.key for row in listed] == sorted(rows)
    assert {row.key: row.value for row in listed} == rows


@pytest.mark.parametrize("prefix", [b"ref:", b"ref:" + b"\xff" * 32, b"\xff\xff\xff", b"claim:"])
def test_keys_with_a_prefix_are_those_and_no_others(index: Index, prefix: bytes) -> None:
    wanted = [prefix + end for end in (b"", b"\x00", b"\xff", b"\xff\xff", b"abc")]
    others = [prefix[:-1], prefix[:-1] + bytes([(prefix[-1] + 1) % 256]), b"zzz" + prefix]
    with index.transaction() as transaction:
        for name in wanted + others:
            transaction.put(name, b"")
        assert transaction.keys_with_prefix(prefix) == sorted(wanted)
    assert list(index.keys_with_prefix(prefix)) == sorted(wanted)


def test_a_record_whose_key_looks_like_a_prefix_is_no_other_row(index: Index) -> None:
    record = b"ref:" + bytes(28)
    index.put(record, b"record")
    index.put(b"ref:" + bytes(64), b"")
    assert list(index.keys_with_prefix(b"ref:")) == [b"ref:" + bytes(64)]
    assert index.count_records() == 1


def test_uses_are_added_and_the_latest_time_kept(index: Index) -> None:
    index.put(key(1), b"value")
    written = next(index.items()).last_used
    index.touch([(key(1), written + 10, 3), (key(2), written, 1)])
    index.touch([(key(1), written + 5, 2)])
    (row,) = index.items()
    assert (row.last_used, row.uses) == (written + 10, 5)


def test_another_value_keeps_the_uses(index: Index) -> None:
    index.put(key(1), b"old")
    index.touch([(key(1), time.time() + 10, 3)])
    with index.transaction() as transaction:
        assert transaction.replace(key(1), b"new")
        assert not transaction.replace(key(2), b"new")
    (row,) = index.items()
    assert (row.value, row.uses) == (b"new", 3)


def test_nothing_is_dropped_by_itself(index: Index) -> None:
    index.put(key(1), b"value")
    with closing(sqlite3.connect(index.path)) as connection:
        settings = dict(connection.execute("SELECT key, value FROM Settings"))
    assert settings["eviction_policy"] == "none"
    assert settings["cull_limit"] == 0
    assert settings["size_limit"] >= 2**60
    assert settings["disk_min_file_size"] >= 2**60
    assert settings["statistics"] == 0


def test_values_stay_in_their_rows(index: Index) -> None:
    index.put(key(1), os.urandom(5_000_000))
    assert {path.name for path in Path(index.folder).iterdir()} <= {DATABASE_FILE, "cache.db-wal", "cache.db-shm"}


def test_nothing_in_the_index_is_unpickled(index: Index, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "exploded",)

    data = pickle.dumps(Bomb())
    index.put(key(1), data)
    with closing(sqlite3.connect(index.path)) as connection:
        # The mode of diskcache for a pickled value, and its mark for a pickled key.
        connection.execute("UPDATE Cache SET mode = 4")
        connection.execute("INSERT INTO Cache (key, raw, mode, value) VALUES (?, 0, 4, ?)", (data, data))
        connection.commit()
    assert index.get(key(1)) == data
    assert [row.value for row in index.items()] == [data]
    with index.transaction() as transaction:
        assert transaction.get(key(1)) == data
        transaction.put(key(1), b"new")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("value", [5, "text", 2.5, None])
def test_a_row_of_another_type_is_one_without_bytes(index: Index, value: object) -> None:
    index.put(key(1), b"value")
    with closing(sqlite3.connect(index.path)) as connection:
        connection.execute("UPDATE Cache SET value = ?", (value,))
        connection.commit()
    assert index.get(key(1)) == b""
    assert [row.value for row in index.items()] == [b""]
    with index.transaction() as transaction:
        assert transaction.get(key(1)) == b""
        transaction.put(key(1), b"value")
    assert index.get(key(1)) == b"value"


def test_read_only_reads_and_does_not_write(index: Index) -> None:
    index.put(key(1), b"value")
    reader = Index(index.folder, read_only=True)
    assert reader.get(key(1)) == b"value"
    with pytest.raises(ReadOnlyStoreError):
        reader.put(key(2), b"value")
    with pytest.raises(ReadOnlyStoreError):
        reader.touch([(key(1), 0.0, 1)])


IMMUTABLE = """
os.setuid(65534) if os.getuid() == 0 else None
index = Index(sys.argv[1], read_only=True)
say(index.get(key(1)))
hear()
deadline = time.monotonic() + 30
while index.get(key(2)) is None and time.monotonic() < deadline:
    time.sleep(0.05)
say(index.get(key(2)))
"""


def test_a_folder_that_may_not_be_written_is_read_and_its_changes_are_seen(tmp_path: Path) -> None:
    from tests.storage.processes import finish, listen, start, tell

    # A folder that another user may reach.
    folder = Path(os.path.realpath("/tmp")) / f"lazycache-test-{os.getpid()}-{tmp_path.name}"
    folder.mkdir()
    try:
        index = Index(str(folder / "index"))
        index.create()
        index.put(key(1), b"value")
        index.close()
        for path in (folder, folder / "index"):
            path.chmod(0o555)
        (folder / "index" / DATABASE_FILE).chmod(0o444)
        reader = start(IMMUTABLE, index.folder)
        assert listen(reader) == "b'value'"
        (folder / "index").chmod(0o755)
        (folder / "index" / DATABASE_FILE).chmod(0o644)
        index.put(key(2), b"later")
        index.close()
        tell(reader)
        assert finish(reader).strip() == "b'later'"
    finally:
        folder.chmod(0o755)
        (folder / "index").chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty"])
def test_damage_is_told_from_other_errors(index: Index, damage: str) -> None:
    with index.transaction() as transaction:
        for number in range(2000):
            transaction.put(key(number), bytes(100))
    index.close()
    path = Path(index.path)
    data = path.read_bytes()
    path.write_bytes({"garbage": os.urandom(len(data)), "cut": data[: len(data) // 2], "empty": b""}[damage])
    with pytest.raises(sqlite3.Error) as caught:
        for number in range(2000):
            index.get(key(number))
    assert is_broken(caught.value)


def test_a_busy_or_missing_database_is_not_damage(index: Index, tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError) as caught:
        Index(str(tmp_path / "nowhere")).get(key(1))
    assert not is_broken(caught.value)
    with closing(sqlite3.connect(index.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with (
            closing(sqlite3.connect(index.path, timeout=0)) as late,
            pytest.raises(sqlite3.OperationalError, match="locked") as caught,
        ):
            late.execute("BEGIN IMMEDIATE")
    assert not is_broken(caught.value)


FORK = """
index = Index(sys.argv[1])
index.create()
index.put(key(0), b"parent")
def work(number):
    assert index.get(key(0)) == b"parent"
    for turn in range(20):
        index.put(key(1000 + number * 100 + turn), b"child")
statuses = in_children(4, work)
index.put(key(1), b"parent again")
say(statuses, index.count_records())
"""


def test_parent_and_children_use_an_index_that_was_open_at_the_fork(tmp_path: Path) -> None:
    assert run(FORK, tmp_path / "index").strip() == "[0, 0, 0, 0] 82"
    with closing(sqlite3.connect(tmp_path / "index" / DATABASE_FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


FORK_UNDER_LOAD = """
import threading
index = Index(sys.argv[1])
index.create()
done = threading.Event()
def load(number):
    turn = 0
    while not done.is_set():
        index.put(key(10**6 * (number + 1) + turn), b"thread")
        assert index.get(key(10**6 * (number + 1) + turn)) == b"thread"
        turn += 1
threads = [threading.Thread(target=load, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
statuses = []
for turn in range(20):
    child = os.fork()
    if child == 0:
        index.put(key(turn), b"child")
        os._exit(0 if index.get(key(turn)) == b"child" else 1)
    statuses.append(os.waitpid(child, 0)[1])
done.set()
for thread in threads:
    thread.join()
say(sum(statuses), all(index.get(key(turn)) == b"child" for turn in range(20)))
"""


def test_forks_beside_threads_that_read_and_write(tmp_path: Path) -> None:
    # From 3.12 on, Python warns of any fork beside threads.
    code = "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n" + FORK_UNDER_LOAD
    assert run(code, tmp_path / "index").strip() == "0 True"


def test_threads_write_at_once_and_nothing_is_lost(index: Index) -> None:
    def work(number: int) -> None:
        for turn in range(100):
            index.put(key(number * 1000 + turn), b"value")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.count_records() == 800


def test_a_network_index_has_no_files_that_need_shared_memory(tmp_path: Path) -> None:
    index = Index(str(tmp_path / "index"), network=True)
    index.create()
    index.put(key(1), b"value")
    assert index.get(key(1)) == b"value"
    assert not list(Path(index.folder).glob("*-shm"))
    assert not list(Path(index.folder).glob("*-wal"))
