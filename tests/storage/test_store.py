import errno
import os
import pickle
import shutil
import sqlite3
import stat
import subprocess
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from lazycache_storage import fsio, layout, machine
from lazycache_storage.digest import Digest
from lazycache_storage.errors import (
    CorruptEntryError,
    NotStorableError,
    ReadOnlyStoreError,
    RemovedEntryError,
    UnknownFormatError,
    UntrustedPickleError,
)
from lazycache_storage.index.index import REF_PREFIX
from lazycache_storage.record import FileState, Record
from lazycache_storage.store import Store
from tests.storage.processes import run

FIELDS = {"function": "module.f", "seconds": 1.5, "text": "f(3)"}


def key(number: int) -> Digest:
    return Digest(number.to_bytes(32, "big"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as made:
        yield made


def again(store: Store, **options: Any) -> Store:
    """Open a store anew, with an empty memory."""
    store.close()
    return Store(store.path, **options)


def get(store: Store, number: int) -> Any:
    record = store.find(key(number))
    assert record is not None
    return store.load(record, key(number))


def put(store: Store, number: int, value: object, **options: Any) -> Record:
    return store.put([key(number)], value, FIELDS, **options)


def data_file(store: Store, record: Record) -> Path:
    (ref,) = record.all_objects()
    path = Path(layout.object_path(store.path, Digest(ref.name), ref.kind))
    return path if path.is_file() else next(file for file in path.iterdir() if file.name != "zarr.json")


def overwrite(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


VALUES: list[object] = [
    None,
    0,
    "",
    [],
    False,
    5,
    "text",
    b"bytes",
    (1, "a"),
    {"a": [1, 2]},
    2**100,
    1.5j,
    NotImplemented,
    {1, 2},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_from_memory_and_from_disk(store: Store, value: object) -> None:
    put(store, 1, value)
    for found in (get(store, 1), get(again(store), 1)):
        assert type(found) is type(value)
        assert found == value


def test_a_value_is_seen_by_another_process(store: Store) -> None:
    put(store, 1, {"array": np.arange(1000.0), "text": "x"})
    code = "s = Store(sys.argv[1]); v = s.load(s.find(key(1)), key(1)); say(v['array'].sum(), v['text'])"
    assert run(code, store.path).split() == ["499500.0", "x"]


def test_what_can_be_changed_is_new_each_time_and_arrays_are_shared(store: Store) -> None:
    put(store, 1, {"list": [1], "array": np.arange(10_000)})
    one, two = get(store, 1), get(store, 1)
    one["list"].append(2)
    assert two["list"] == [1]
    assert one["array"] is two["array"]
    with pytest.raises(ValueError, match="read-only"):
        one["array"][0] = 1


@pytest.mark.parametrize("size", [3, 1_000_000])
def test_an_array_is_the_same_object_while_it_lives_and_is_not_kept_alive(store: Store, size: int) -> None:
    put(store, 1, np.arange(size))
    array = get(store, 1)
    assert get(store, 1) is array
    gone = weakref.ref(array)
    del array
    assert gone() is None


def test_a_replaced_array_is_not_the_old_one(store: Store) -> None:
    put(store, 1, np.arange(3))
    old = get(store, 1)
    put(store, 1, np.arange(4), replace=True)
    assert get(store, 1).tolist() == [0, 1, 2, 3]
    assert old.tolist() == [0, 1, 2]


def test_an_array_of_objects_is_new_each_time(store: Store) -> None:
    put(store, 1, np.array([[1], None], dtype=object))
    one = get(store, 1)
    one[0].append(2)
    assert get(store, 1)[0] == [1]


def test_tiers_are_counted(store: Store) -> None:
    put(store, 1, 5)
    fresh = again(store)
    assert fresh.find(key(2)) is None
    get(fresh, 1)
    get(fresh, 1)
    counters = fresh.counters
    assert (counters.misses, counters.disk, counters.memory) == (1, 1, 1)


def test_memory_is_bounded(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", memory_bytes=100_000)
    for number in range(200):
        put(store, number, "x" * 5000)
    for number in range(200):
        assert get(store, number) == "x" * 5000
    assert store.counters.disk > 150
    assert get(store, 199) == "x" * 5000
    assert store.counters.memory >= 1


def test_equal_results_are_kept_once(store: Store) -> None:
    array = np.random.default_rng(1).random(10_000)
    put(store, 1, array)
    put(store, 2, {"again": array.copy()})
    assert len(list(Path(store.path, "objects").glob("*/*.zarr"))) == 1
    assert get(again(store), 2)["again"].tobytes() == array.tobytes()


def test_the_first_record_wins_unless_replaced(store: Store) -> None:
    other = Store(store.path)
    put(store, 1, "first")
    assert other.load(put(other, 1, "second"), key(1)) == "first"
    assert get(again(store), 1) == "first"
    put(other, 1, "third", replace=True)
    assert get(again(store), 1) == "third"


def test_all_keys_get_the_record_and_their_own_files(store: Store) -> None:
    files = (FileState("/data/a", "date", 1, 2),)
    store.put([key(1), key(2)], 5, FIELDS, files_for_key={key(2): files})
    fresh = again(store)
    one, two = fresh.find(key(1)), fresh.find(key(2))
    assert one is not None
    assert two is not None
    assert (one.files, two.files) == ((), files)
    assert msgspec.structs.replace(two, files=()) == one


def test_a_second_key_joins_the_record_of_the_first(store: Store) -> None:
    put(store, 1, "first")
    store.put([key(1), key(2)], "second", FIELDS)
    assert get(again(store), 2) == "first"


def test_records_tell_what_was_given_and_measured(store: Store) -> None:
    record = put(store, 1, np.arange(10_000.0))
    assert (record.function, record.seconds, record.text) == ("module.f", 1.5, "f(3)")
    assert record.nbytes >= 80_000
    assert record.host == os.uname().nodename
    assert record.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert again(store).find(key(1)) == record


def test_every_listed_key_is_found_and_can_be_forgotten(store: Store) -> None:
    for number in range(50):
        put(store, number, np.full(5000, number))
    store.claim_put(key(1), b"claim", expected=None)
    assert len(store) == 50
    assert {entry.key for entry in store.records()} == set(store.keys()) == {key(number) for number in range(50)}
    for listed in list(store.keys()):
        assert store.contains(listed)
        assert store.forget(listed)
        assert not store.contains(listed)
        assert not store.forget(listed)
    assert len(store) == 0
    assert not list(Path(store.path, "objects").glob("*/*.*"))
    assert not list(store.index.keys_with_prefix(REF_PREFIX))
    assert store.claim_get(key(1)) == b"claim"


def test_forgetting_keeps_what_others_need(store: Store) -> None:
    array = np.arange(10_000)
    for number in (1, 2):
        put(store, number, array)
    store.forget(key(1))
    assert get(again(store), 2).tobytes() == array.tobytes()


def test_uses_are_written_in_batches_and_at_the_end(store: Store) -> None:
    put(store, 1, 5)
    fresh = again(store)
    before = next(iter(fresh.records()))
    for _ in range(5):
        fresh.find(key(1))
    assert next(iter(fresh.records())).uses == 0
    fresh.flush()
    after = next(iter(fresh.records()))
    assert after.uses == 5
    assert after.last_used >= before.last_used
    run("s = Store(sys.argv[1]); [s.find(key(1)) for _ in range(3)]", store.path)
    assert next(iter(fresh.records())).uses == 8


def test_an_update_is_seen_and_keeps_the_uses(store: Store) -> None:
    record = put(store, 1, 5)
    get(store, 1)
    store.flush()
    assert store.update(key(1), msgspec.structs.replace(record, pinned=True))
    assert not store.update(key(2), record)
    (entry,) = again(store).records()
    assert entry.record.pinned
    assert entry.uses == 1


def test_claims_and_memos(store: Store) -> None:
    assert store.claim_get(key(1)) is None
    store.claim_put(key(1), b"claim", expected=None)
    store.memo_put(key(1), b"memo")
    assert again(store).claim_get(key(1)) == b"claim"
    assert store.memo_get(key(1)) == b"memo"
    assert len(store) == 0


# Damage


def damaged(store: Store, number: int) -> CorruptEntryError:
    with pytest.raises(CorruptEntryError) as caught:
        get(store, number)
    return caught.value


@pytest.mark.parametrize("size", [1000, 1_000_000])
@pytest.mark.parametrize("damage", ["missing", "cut", "grown", "changed"])
def test_a_damaged_object_is_found_and_mended_by_the_next_put(store: Store, damage: str, size: int) -> None:
    array = np.random.default_rng(1).random(5 * size)
    path = data_file(store, put(store, 1, array))
    data = path.read_bytes()
    if damage == "missing":
        shutil.rmtree(path.parent)
    else:
        overwrite(path, {"cut": data[:-8], "grown": data + b"x", "changed": data[:-8] + b"someth1n"}[damage])
    fresh = again(store)
    damaged(fresh, 1)
    put(fresh, 1, array)
    assert get(again(fresh), 1).tobytes() == array.tobytes()
    assert not os.listdir(Path(store.path, "tmp"))
    assert not os.listdir(Path(store.path, "trash"))


def test_a_damaged_blob_is_found_and_mended_by_the_next_put(store: Store) -> None:
    value = [f"{number}" for number in range(50_000)]
    path = data_file(store, put(store, 1, value))
    overwrite(path, bytes(path.stat().st_size))
    fresh = again(store)
    damaged(fresh, 1)
    put(fresh, 1, value)
    assert get(again(fresh), 1) == value


def test_a_new_result_is_never_joined_to_a_damaged_object(store: Store) -> None:
    array = np.random.default_rng(1).random(10_000)
    path = data_file(store, put(store, 1, array))
    overwrite(path, bytes(path.stat().st_size))
    put(store, 2, array)
    assert get(again(store), 2).tobytes() == array.tobytes()
    # Mended for the first one, too.
    assert get(again(store), 1).tobytes() == array.tobytes()


def test_an_orphan_of_the_right_name_is_not_trusted(store: Store) -> None:
    array = np.random.default_rng(1).random(10_000)
    record = put(store, 1, array)
    path = data_file(store, record)
    with store.index.transaction() as transaction:
        transaction.delete(key(1))
        transaction.delete(REF_PREFIX + record.objects[0].name + key(1))
    content = path.stat()
    overwrite(path, bytes(content.st_size))
    os.utime(path, ns=(content.st_atime_ns, content.st_mtime_ns))
    fresh = again(store)
    put(fresh, 2, array)
    assert get(again(fresh), 2).tobytes() == array.tobytes()


def test_a_touched_object_is_verified_and_good(store: Store) -> None:
    array = np.arange(300_000)
    path = data_file(store, put(store, 1, array))
    os.utime(path, ns=(1, 1))
    assert get(again(store), 1).tobytes() == array.tobytes()


def test_after_another_boot_the_content_is_compared_once(store: Store, monkeypatch: Any) -> None:
    array = np.random.default_rng(1).random(300_000)
    paths = [data_file(store, put(store, number, array + number)) for number in (1, 2)]
    # As after a power cut: size and time are right, the content is not.
    content = paths[1].stat()
    overwrite(paths[1], bytes(content.st_size))
    os.utime(paths[1], ns=(content.st_atime_ns, content.st_mtime_ns))
    monkeypatch.setattr(machine, "boot_id", lambda: "another boot")
    fresh = again(store)
    assert get(fresh, 1).tobytes() == (array + 1).tobytes()
    damaged(fresh, 2)
    put(fresh, 2, array + 2)
    assert get(again(fresh), 2).tobytes() == (array + 2).tobytes()
    record = again(fresh).find(key(1))
    assert record is not None
    assert record.boot == "", "known to be on disk, from now on"


def test_an_entry_that_another_process_removed_is_told_from_damage(store: Store) -> None:
    put(store, 1, np.arange(10_000))
    fresh = again(store)
    record = fresh.find(key(1))
    assert record is not None
    run("Store(sys.argv[1]).forget(key(1))", store.path)
    with pytest.raises(RemovedEntryError):
        fresh.load(record, key(1))
    assert fresh.find(key(1)) is None


@pytest.mark.parametrize("data", [b"", b"\x00", os.urandom(500), msgspec.msgpack.encode(["x"] * 20)])
def test_a_record_that_cannot_be_read_is_replaced_by_the_next_put(store: Store, data: bytes) -> None:
    store.index.put(key(1), data)
    with pytest.raises(CorruptEntryError):
        store.find(key(1))
    assert list(store.records()) == []
    put(store, 1, 5)
    assert get(again(store), 1) == 5


def test_a_record_of_another_format_is_a_miss(store: Store) -> None:
    record = msgspec.structs.replace(put(store, 1, 5), format=99)
    store.update(key(1), record)
    with pytest.raises(CorruptEntryError, match="99"):
        again(store).find(key(1))


class Vanishing:
    def __reduce__(self) -> tuple[object, ...]:
        return __import__, ("a_module_that_is_gone",)


def test_a_pickle_that_cannot_be_loaded_here_is_a_miss(store: Store) -> None:
    put(store, 1, Vanishing())
    damaged(store, 1)
    put(store, 1, "new")
    assert get(again(store), 1) == "new"


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "no text"])
def test_a_broken_index_is_set_aside(store: Store, damage: str) -> None:
    array = np.arange(10_000)
    for number in range(300):
        put(store, number, array + number)
    store.close()
    path = Path(store.index.path)
    data = path.read_bytes()
    damages = {
        "garbage": os.urandom(len(data)),
        "cut": data[: len(data) // 2],
        "empty": b"",
        # sqlite quotes the description of the tables in its error.
        "no text": data.replace(b"CREATE TABLE", b"CREATE \xc3\x28BLE"),
    }
    overwrite(path, damages[damage])
    fresh = Store(store.path)
    with pytest.raises(CorruptEntryError, match="renamed to"):
        for number in range(300):
            fresh.find(key(number))
    assert len(list(Path(store.path).glob("index.broken-*"))) == 1
    assert fresh.find(key(1)) is None
    put(fresh, 1, array)
    assert get(again(fresh), 1).tobytes() == array.tobytes()


def test_a_store_that_was_removed_while_open_is_made_again(store: Store) -> None:
    put(store, 1, 5)
    shutil.rmtree(store.path)
    put(store, 2, np.arange(10_000))
    fresh = Store(store.path)
    assert fresh.find(key(1)) is None
    assert get(fresh, 2).sum() == 49_995_000


@pytest.mark.parametrize("folder", ["objects", "tmp", "trash", "locks"])
def test_a_folder_that_was_removed_is_made_again(store: Store, folder: str) -> None:
    shutil.rmtree(Path(store.path, folder))
    with store.computing(key(1), "f(3)") as claim:
        assert claim.holds
        put(store, 1, np.arange(10_000))
    store.forget(key(1))


# Opening


def test_a_new_store_is_private_and_marked(tmp_path: Path) -> None:
    with Store(tmp_path / "deep" / "store") as store:
        path = Path(store.path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert (path / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
        assert msgspec.json.decode((path / "format.json").read_bytes())["format"] == layout.STORE_FORMAT
        assert os.listdir(path / "locks") == os.listdir(path / "tmp") == []


def test_a_folder_with_other_files_stays_in_the_backups(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with Store(tmp_path) as store:
        put(store, 1, 5)
    assert not (tmp_path / "CACHEDIR.TAG").exists()
    assert not (tmp_path / ".gitignore").exists()
    assert get(Store(tmp_path), 1) == 5


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "run7.dat").write_text("numbers")
    with pytest.raises(NotADirectoryError, match="a store is a folder, and this is a file"):
        Store(tmp_path / "run7.dat")
    assert (tmp_path / "run7.dat").read_text() == "numbers"


def test_git_does_not_see_a_store_in_a_project(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with Store(tmp_path / "results") as store:
        put(store, 1, np.arange(10_000))
    seen = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=tmp_path, capture_output=True, check=True)
    assert seen.stdout == b""


def test_a_gitignore_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("!keep\n")
    with Store(tmp_path) as store:
        put(store, 1, 5)
    assert (tmp_path / ".gitignore").read_text() == "!keep\n"
    assert (tmp_path / "CACHEDIR.TAG").exists()


@pytest.mark.parametrize("text", ['{"format": 99}', '{"format": "1"}', "{}", "", "[]", "\x00", '{"format": true}'])
def test_another_format_is_neither_read_nor_written(store: Store, text: str) -> None:
    store.close()
    Path(store.path, "format.json").write_text(text)
    before = sorted(path.name for path in Path(store.path).iterdir())
    with pytest.raises(UnknownFormatError):
        Store(store.path)
    assert sorted(path.name for path in Path(store.path).iterdir()) == before


def test_a_store_is_not_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Store(tmp_path / "store", create=False)
    with pytest.raises(FileNotFoundError):
        Store(tmp_path / "store", read_only=True)
    assert not (tmp_path / "store").exists()


OPEN_AT_ONCE = """
def work(number):
    store = Store(sys.argv[1])
    store.put([key(number)], number, {})
    assert store.load(store.find(key(number))) == number
statuses = in_children(32, work)
store = Store(sys.argv[1])
say(set(statuses), len(store))
"""


def test_many_processes_open_a_store_that_does_not_exist(tmp_path: Path) -> None:
    assert run(OPEN_AT_ONCE, tmp_path / "store").strip() == "{0} 32"
    assert not os.listdir(tmp_path / "store" / "locks")
    assert not list((tmp_path / "store").glob("index.broken*"))


ONE_RUNS = """
def work(number):
    store = Store(sys.argv[1])
    with store.computing(key(1), "f(3)") as claim:
        if claim.record is None:
            with open(sys.argv[2], "a") as witness:
                witness.write("x")
            time.sleep(0.05)
            store.put([key(1)], list(range(1000)), {})
    assert store.load(store.find(key(1))) == list(range(1000))
say(set(in_children(16, work)))
"""


def test_one_of_many_processes_computes(tmp_path: Path) -> None:
    assert run(ONE_RUNS, tmp_path / "store", tmp_path / "witness").strip() == "{0}"
    assert (tmp_path / "witness").read_text() == "x"
    assert not os.listdir(tmp_path / "store" / "locks")


FORK = """
import numpy as np
store = Store(sys.argv[1])
store.put([key(0)], np.arange(10000), {})
def work(number):
    assert store.load(store.find(key(0)), key(0)).sum() == 49995000
    store.put([key(number + 1)], np.arange(10000) + number, {})
statuses = in_children(4, work)
store.put([key(9)], 9, {})
say(set(statuses), len(store))
"""


def test_an_open_store_survives_a_fork(tmp_path: Path) -> None:
    assert run(FORK, tmp_path / "store").strip() == "{0} 6"


def test_threads_share_a_store(store: Store) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(20):
                put(store, number * 100 + turn, np.full(3000, turn))
                assert get(store, number * 100 + turn)[0] == turn
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(store) == 120
    assert len(list(Path(store.path, "objects").glob("*/*.zarr"))) == 20


# Permissions and trust


def test_read_only_reads_everything_and_writes_nothing(store: Store) -> None:
    put(store, 1, {"array": np.arange(10_000)})
    reader = again(store, read_only=True)
    assert get(reader, 1)["array"].sum() == 49_995_000
    for write in (
        lambda: put(reader, 2, 5),
        lambda: reader.forget(key(1)),
        lambda: reader.update(key(1), Record()),
        lambda: reader.claim_put(key(1), b"", expected=None),
        lambda: reader.memo_put(key(1), b""),
    ):
        with pytest.raises(ReadOnlyStoreError):
            write()
    reader.close()
    assert next(iter(Store(store.path).records())).uses == 0


OTHER_USER = """
# The other user may not read where Python is.
import diskcache, filelock
import lazycache_storage.objects.chunked, lazycache_storage.values.pickles
import lazycache_storage.publishing, lazycache_storage.removing
os.setuid(65534)
store = Store(sys.argv[1])
say(store.read_only, store.load(store.find(key(1)), key(1)).sum())
try:
    store.put([key(3)], 5, {})
except Exception as error:
    say(type(error).__name__)
try:
    store.load(store.find(key(2)), key(2))
except Exception as error:
    say(type(error).__name__)
with store.computing(key(9), "f") as claim:
    say(claim.holds)
store.close()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_the_store_of_another_user_is_read_and_its_pickles_are_not(tmp_path: Path) -> None:
    folder = Path(os.path.realpath("/tmp")) / f"lazycache-test-{os.getpid()}"
    store = Store(folder)
    try:
        put(store, 1, np.arange(10_000))
        put(store, 2, Vanishing())
        store.close()
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        said = run(OTHER_USER, folder).split()
        assert said == ["True", "49995000", "ReadOnlyStoreError", "UntrustedPickleError", "False"]
    finally:
        shutil.rmtree(folder)


def test_pickles_are_refused_where_others_may_write(store: Store) -> None:
    put(store, 1, Vanishing())
    put(store, 2, [1, 2])
    Path(store.path).chmod(0o770)
    with pytest.raises(UntrustedPickleError, match="chmod go-w"):
        get(again(store), 1)
    assert get(store, 2) == [1, 2]


def test_pickles_are_refused_if_asked(store: Store) -> None:
    put(store, 1, Vanishing())
    with pytest.raises(UntrustedPickleError, match="allow_pickle"):
        get(again(store, allow_pickle=False), 1)


def test_what_cannot_be_stored_leaves_nothing(store: Store) -> None:
    for value in ((number for number in range(3)), threading.Lock(), [np.arange(100_000), lambda: 5]):
        with pytest.raises(NotStorableError):
            put(store, 1, value)
    assert store.find(key(1)) is None
    assert not os.listdir(Path(store.path, "tmp"))
    assert not list(Path(store.path, "objects").glob("*/*"))


@pytest.mark.parametrize("at", ["open file", "wrote buffer", "publish", "published", "write record", "commit"])
def test_a_full_disk_leaves_nothing_and_the_next_put_works(store: Store, at: str, monkeypatch: Any) -> None:
    def full(name: str) -> None:
        if name == at:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(fsio, "step", full)
    value = [np.arange(10_000), np.arange(20_000)]
    with pytest.raises(OSError, match="No space"):
        put(store, 1, value)
    monkeypatch.undo()
    assert store.find(key(1)) is None
    assert not os.listdir(Path(store.path, "tmp"))
    put(store, 1, value)
    assert get(again(store), 1)[1].sum() == value[1].sum()


def test_a_network_store_maps_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(machine, "is_network", lambda path: True)
    with Store(tmp_path / "store") as store:
        put(store, 1, np.arange(1_000_000))
        found = get(store, 1)
        assert found.sum() == 499_999_500_000
        assert not found.flags.writeable
        assert "objects" not in Path("/proc/self/maps").read_text()
        with closing(sqlite3.connect(store.index.path)) as connection:
            journal = connection.execute("PRAGMA journal_mode").fetchone()
    assert journal == ("delete",)


def test_objects_may_not_be_written(store: Store) -> None:
    path = data_file(store, put(store, 1, np.arange(10_000)))
    assert stat.S_IMODE(path.stat().st_mode) == 0o444


def test_a_hostile_record_does_not_lead_out_of_the_store(store: Store, tmp_path: Path) -> None:
    record = put(store, 1, np.arange(10_000))
    (ref,) = record.objects
    for name in (b"", b"../../../etc/passwd", bytes(31), bytes(33)):
        hostile = msgspec.structs.replace(record, objects=(msgspec.structs.replace(ref, name=name),))
        store.update(key(1), hostile)
        damaged(again(store), 1)


def test_errors_of_the_store_survive_a_pickle(store: Store) -> None:
    error = RemovedEntryError(path="x", reason="y")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_read_only_store_makes_no_lock(store: Store) -> None:
    put(store, 1, 5)
    reader = again(store, read_only=True)
    with reader.computing(key(1), "f(3)") as one, reader.computing(key(2), "f(4)") as two:
        assert one.record is not None
        assert (two.record, two.holds) == (None, False)
        assert not os.listdir(Path(store.path, "locks"))


def test_a_record_that_cannot_be_read_is_computed_under_the_lock(store: Store) -> None:
    store.index.put(key(1), b"\x00")
    with store.computing(key(1), "f(3)") as claim:
        assert claim.holds
        put(store, 1, 5)
    assert get(again(store), 1) == 5


def test_a_claim_is_replaced_only_where_it_is_what_was_expected(store: Store) -> None:
    assert store.claim_put(key(1), b"first", expected=None)
    assert not store.claim_put(key(1), b"second", expected=None)
    assert not store.claim_put(key(1), b"second", expected=b"other")
    assert store.claim_get(key(1)) == b"first"
    assert store.claim_put(key(1), b"second", expected=b"first")
    assert again(store).claim_get(key(1)) == b"second"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "with space",
            "100%",
            "a#b",
            "q?mode=memory",
            "&vfs=none",
            "$HOME",
            "~",
            "new\nline",
            "%2e%2e",
            "quote'\"",
            "back\\slash",
        ),
        *("ünï-日本", "\udcff\udcfe", "x" * 250, "-"),
    ],
    ids=ascii,
)
def test_a_path_may_have_any_name(tmp_path: Path, name: str) -> None:
    path = os.path.join(tmp_path, "around", name)
    with Store(path) as store:
        with store.computing(key(1), "f(3)") as claim:
            assert claim.holds
            put(store, 1, np.arange(10_000))
        put(store, 2, "x" * 100_000)
        store.forget(key(2))
    with Store(path, read_only=True) as store:
        assert get(store, 1).sum() == 49_995_000
    # sqlite and diskcache made what they make nowhere else.
    assert os.listdir(tmp_path) == ["around"]
    assert os.listdir(tmp_path / "around") == [name]


def test_two_slashes_at_the_beginning_of_a_path_are_one(tmp_path: Path) -> None:
    with Store(f"/{tmp_path}/store") as store:
        put(store, 1, 5)
    assert get(Store(tmp_path / "store"), 1) == 5


def test_a_path_that_is_too_long_is_told_as_that(tmp_path: Path) -> None:
    longest = 511 - len("/tmp/4194304-0123456789ab/cache.db-journal")
    folder = tmp_path.joinpath("x" * 200)
    name = "y" * (longest - len(str(folder)) - 1)
    with pytest.raises(OSError, match="no path of more than") as caught:
        Store(folder / (name + "y"))
    assert caught.value.errno == errno.ENAMETOOLONG
    with Store(folder / name) as store:
        put(store, 1, 5)
    assert get(Store(folder / name), 1) == 5
