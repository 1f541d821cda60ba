"""Carrying a plan out beside others, and cleaning up after the dead."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from lazycache_storage import layout
from lazycache_storage.check import check
from lazycache_storage.digest import Digest
from lazycache_storage.errors import ReadOnlyStoreError
from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.store import Store
from tests.gc.stores import digest, environment, files_below, load, numbers, object_bytes, present, put

ALL = GcLimits(everything=True)
HOURS = 3600.0


def ended_process() -> int:
    """Return the number of a process that is gone."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def aged(path: Path, hours: float = 100) -> Path:
    """Make a file or folder look as if nothing had changed for long."""
    then = time.time() - hours * HOURS
    for place in [*path.rglob("*"), path]:
        os.utime(place, (then, then))
    return path


def test_what_was_used_after_planning_survives(store: Store) -> None:
    for name in ("used", "unused"):
        put(store, name, value=numbers(1, 100))
    plan = plan_gc(store, ALL)
    with Store(store.path) as other:
        other.find(digest("used"))
    result = run_gc(store, plan)
    assert (result.dropped, result.survived, result.objects) == (1, 1, 0)
    assert present(store, ("used",), ("unused",)) == [True, False]


def test_what_was_written_anew_after_planning_survives(store: Store) -> None:
    put(store, "a", value=numbers(1, 100))
    put(store, "b", value=numbers(2, 100))
    plan = plan_gc(store, ALL)
    put(store, "new", value=numbers(3, 100))
    with Store(store.path) as other:
        other.forget(digest("a"))
        put(other, "a", value=numbers(4, 100))
    run_gc(store, plan)
    assert present(store, ("a",), ("b",), ("new",)) == [True, False, True]
    with Store(store.path) as fresh:
        np.testing.assert_array_equal(load(fresh, "a"), numbers(4, 100))


def test_what_was_pinned_after_planning_survives(store: Store) -> None:
    record = put(store, "a", value=1)
    plan = plan_gc(store, ALL)
    store.update(digest("a"), msgspec.structs.replace(record, pinned=True))
    run_gc(store, plan)
    assert present(store, ("a",)) == [True]


def test_an_object_that_a_new_result_needs_stays(store: Store) -> None:
    put(store, "a", value=numbers(1, 100))
    plan = plan_gc(store, ALL)
    put(store, "b", value=numbers(1, 100))
    run_gc(store, plan)
    np.testing.assert_array_equal(load(store, "b"), numbers(1, 100))
    assert check(store) == []


def test_uses_that_this_process_counted_before_planning_do_not_protect(store: Store) -> None:
    put(store, "a", value=1)
    store.find(digest("a"))
    assert run_gc(store, plan_gc(store, ALL)).dropped == 1
    assert not store.contains(digest("a"))


def test_one_plan_carried_out_twice_is_no_error(store: Store) -> None:
    for number in range(250):
        put(store, number, value=number)
    plan = plan_gc(store, ALL)
    with Store(store.path) as other:
        assert run_gc(other, plan).dropped == 250
    assert run_gc(store, plan).dropped == 0


def test_an_open_array_stays_valid(store: Store) -> None:
    put(store, "a", value=numbers(1, 3000))
    with Store(store.path) as reader:
        array = load(reader, "a")
        run_gc(store, plan_gc(store, ALL))
        assert object_bytes(store) == 0
        np.testing.assert_array_equal(array, numbers(1, 3000))


def test_nothing_is_left_of_a_store_that_was_emptied(store: Store) -> None:
    for number in range(300):
        put(store, number, value=numbers(number, 1 + number % 30))
    store.claim_put(digest("claim"), b"x", expected=None)
    store.memo_put(digest("file"), b"x")
    run_gc(store, plan_gc(store, ALL))
    assert list(store.index.items()) == []
    folders = [path for path in Path(store.path).rglob("*") if path.is_dir()]
    names = (layout.INDEX_FOLDER, layout.OBJECTS_FOLDER, layout.LOCKS_FOLDER, layout.TMP_FOLDER, layout.TRASH_FOLDER)
    assert {path.name for path in folders} == set(names)
    assert not files_below(f"{store.path}/objects")
    put(store, "again", value=numbers(1, 100))
    assert check(store) == []


def test_the_index_gives_its_space_back(store: Store) -> None:
    for number in range(600):
        put(store, number, value="x" * 10_000 + str(number), function="lab.f" if number % 10 else "lab.g")
    before = os.path.getsize(store.index.path)
    with Store(store.path) as reader:
        reader.find(digest(0))
        run_gc(store, plan_gc(store, GcLimits(functions=("lab.f",))))
    store.close()
    assert os.path.getsize(store.index.path) < before / 5
    assert all(present(store, *((number,) for number in range(0, 600, 10))))


def test_claims_of_functions_stay_when_results_go(store: Store) -> None:
    put(store, "a", value=1)
    store.claim_put(digest("claim"), b"x", expected=None)
    run_gc(store, plan_gc(store, GcLimits(max_size=0)))
    assert store.claim_get(digest("claim")) == b"x"


def orphan(store: Store, seed: int) -> str:
    """Make an object whose record was lost, as a kill between two steps leaves it."""
    with Store(store.path) as other:
        record = put(other, "orphan", seed, value=numbers(seed, 100))
        key, name = digest("orphan", seed), record.objects[0].name
        with other.index.transaction() as transaction:
            transaction.delete(key)
            transaction.delete(b"ref:" + name + key)
    return layout.object_path(store.path, Digest(name), "zarr")


@pytest.mark.parametrize("limits", [GcLimits(orphans=True), GcLimits(max_size=10**9), ALL])
def test_orphans_go_when_asked_for(store: Store, limits: GcLimits) -> None:
    path = orphan(store, 1)
    put(store, "a", value=numbers(2, 100))
    assert plan_gc(store, GcLimits(max_age=1e9)).orphans == ()
    assert os.path.exists(path)
    plan = plan_gc(store, limits)
    assert [found.path for found in plan.orphans] == [path]
    run_gc(store, plan)
    assert not os.path.exists(path)


def test_an_orphan_that_found_a_record_after_planning_stays(store: Store) -> None:
    path = orphan(store, 1)
    plan = plan_gc(store, GcLimits(orphans=True))
    put(store, "a", value=numbers(1, 100))
    run_gc(store, plan)
    assert os.path.exists(path)
    assert check(store) == []


def test_a_ref_of_no_record_does_not_keep_an_orphan(store: Store) -> None:
    path = orphan(store, 1)
    parsed = layout.parse_object_path(path)
    assert parsed is not None
    store.index.put(b"ref:" + parsed[0] + digest("nobody"), b"")
    run_gc(store, plan_gc(store, GcLimits(orphans=True)))
    assert not os.path.exists(path)
    assert list(store.index.keys_with_prefix(b"ref:")) == []


def test_unfinished_writes_of_dead_processes_go(store: Store) -> None:
    tmp = Path(store.path, "tmp")
    dead, alive = ended_process(), os.getpid()
    for name in (f"{dead}-old.zarr", f"{alive}-old.zarr", f"{dead}-young.zarr", f"{dead}-growing.zarr"):
        (tmp / name).mkdir()
        (tmp / name / "0").write_bytes(b"x" * 100)
    (tmp / f"{dead}-old.blob").write_bytes(b"x")
    for name in (f"{dead}-old.zarr", f"{dead}-old.blob", f"{alive}-old.zarr", f"{dead}-growing.zarr"):
        aged(tmp / name)
    os.utime(tmp / f"{dead}-growing.zarr" / "0")
    plan = plan_gc(store, GcLimits(max_age=1e9))
    assert {os.path.basename(found.path) for found in plan.leftovers} == {f"{dead}-old.zarr", f"{dead}-old.blob"}
    run_gc(store, plan)
    assert {path.name for path in tmp.iterdir()} == {
        f"{alive}-old.zarr",
        f"{dead}-young.zarr",
        f"{dead}-growing.zarr",
    }


def test_the_trash_of_a_killed_collection_is_emptied(store: Store) -> None:
    trash = Path(store.path, "trash")
    (trash / "1-abc.zarr" / "c").mkdir(parents=True)
    (trash / "1-abc.zarr" / "c" / "0").write_bytes(b"x" * 1000)
    (trash / "1-def").write_bytes(b"x" * 1000)
    assert run_gc(store, plan_gc(store, GcLimits(max_age=1e9))).leftovers == 2
    assert list(trash.iterdir()) == []


HOLD = """
import sys
from lazycache_storage.store import Store
from tests.gc.stores import digest, load
store = Store(sys.argv[1])
with store.computing(digest("held"), "held"):
    print("holding", flush=True)
    sys.stdin.read()
"""


def test_locks_that_are_held_stay_and_others_go(store: Store) -> None:
    held = Path(layout.lock_path(store.path, digest("held")))
    left = Path(layout.lock_path(store.path, digest("left")))
    young = Path(layout.lock_path(store.path, digest("young")))
    for path in (left, young):
        path.write_text("{}")
    command = [sys.executable, "-c", HOLD, store.path]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "holding\n"
        aged(held)
        aged(left)
        result = run_gc(store, plan_gc(store, ALL))
        assert result.leftovers == 1
        assert held.exists()
        assert young.exists()
        assert not left.exists()
        child.communicate("")
    assert child.returncode == 0
    assert not held.exists()


def test_a_store_that_may_not_be_written_is_planned_but_not_changed(store: Store) -> None:
    put(store, "a", value=1)
    with Store(store.path, read_only=True) as reader:
        plan = plan_gc(reader, ALL)
        assert plan.results == 1
        with pytest.raises(ReadOnlyStoreError):
            run_gc(reader, plan)
    assert present(store, ("a",)) == [True]


def test_records_that_cannot_be_read_are_told_and_left(store: Store) -> None:
    put(store, "a", value=1)
    store.index.put(digest("nonsense"), b"\xc1\xff")
    plan = plan_gc(store, ALL)
    assert (plan.results, plan.unreadable) == (1, 1)
    run_gc(store, plan)
    assert store.index.get(digest("nonsense")) == b"\xc1\xff"
