"""What goes, what stays, and how much that frees."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from lazycache_storage.check import check
from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.record import FileState
from lazycache_storage.store import Store
from tests.gc.stores import DAY, digest, index_bytes, load, note_code, numbers, object_bytes, present, put


def collect(store: Store, **limits: object) -> None:
    run_gc(store, plan_gc(store, GcLimits(**limits)))  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", [GcLimits(), GcLimits(orphans=True), GcLimits(max_size=10**9, max_age=1e9)])
def test_nothing_goes_unless_asked_for(store: Store, limits: GcLimits) -> None:
    for number in range(30):
        put(store, number, value=numbers(number, 100), created=time.time() - 1000 * DAY, seconds=0.0)
    plan = plan_gc(store, limits)
    run_gc(store, plan)
    assert plan.results == plan.freed_bytes == 0
    assert present(store, *((number,) for number in range(30))) == [True] * 30


def test_a_plan_changes_nothing(store: Store) -> None:
    put(store, "a", value=numbers(1, 100))
    plan = plan_gc(store, GcLimits(everything=True))
    assert plan.results == 1
    assert present(store, ("a",)) == [True]
    np.testing.assert_array_equal(load(store, "a"), numbers(1, 100))


def test_max_size_holds_on_disk_and_the_rest_loads(store: Store) -> None:
    for number in range(40):
        put(store, number, value=numbers(number, 50), seconds=float(number))
    before = object_bytes(store)
    plan = plan_gc(store, GcLimits(max_size=1_000_000))
    run_gc(store, plan)
    assert object_bytes(store) <= 1_000_000
    assert before - object_bytes(store) == pytest.approx(plan.freed_bytes, rel=0.05)
    kept = [number for number, there in enumerate(present(store, *((n,) for n in range(40)))) if there]
    assert len(kept) == plan.kept_results > 15
    with Store(store.path) as fresh:
        for number in kept:
            np.testing.assert_array_equal(load(fresh, number), numbers(number, 50))
    assert check(store) == []


def test_the_bytes_of_a_plan_are_those_of_the_disk(store: Store) -> None:
    for number in range(300):
        put(store, number, value=["x" * number] * 10, text="lab.step(x)", seconds=1.0)
    for number in range(20):
        put(store, "array", number, value=numbers(number, 300))
    total = plan_gc(store, GcLimits()).total_bytes
    assert total == pytest.approx(object_bytes(store) + index_bytes(store), rel=0.1)


def test_what_is_cheap_to_get_back_per_byte_goes_first(store: Store) -> None:
    put(store, "dear", value=numbers(1, 100), seconds=600.0)
    put(store, "cheap", value=numbers(2, 100), seconds=0.1)
    put(store, "large", value=numbers(3, 900), seconds=600.0)
    put(store, "small", value=numbers(4, 20), seconds=0.1)
    plan = plan_gc(store, GcLimits(max_size=200_000))
    assert [drop.key for drop in plan.drops()] == [digest("cheap"), digest("small"), digest("large")]
    collect(store, max_size=200_000)
    assert present(store, ("dear",), ("cheap",), ("large",), ("small",)) == [True, False, False, False]


def test_what_is_used_often_stays(store: Store) -> None:
    for number in range(10):
        put(store, number, value=numbers(number, 100))
    for _ in range(20):
        store.find(digest(3))
        store.find(digest(7))
    collect(store, max_size=250_000)
    assert [n for n, there in enumerate(present(store, *((n,) for n in range(10)))) if there] == [3, 7]


def test_what_was_not_used_for_long_goes_before_what_was_used_once_lately(store: Store) -> None:
    now = time.time()
    put(store, "old", value=numbers(1, 100))
    put(store, "new", value=numbers(2, 100))
    store.index.touch([(digest("old"), now - 1, 3), (digest("new"), now + 300 * DAY, 1)])
    plan = plan_gc(store, GcLimits(max_size=150_000, now=now + 301 * DAY))
    assert [drop.key for drop in plan.drops()] == [digest("old")]


def test_a_shared_object_is_freed_with_the_last_that_needs_it(store: Store) -> None:
    shared = numbers(1, 1000)
    put(store, "a", value=[shared, 1], function="lab.a")
    put(store, "b", value=[shared, 2], function="lab.b")
    before = object_bytes(store)
    one = plan_gc(store, GcLimits(functions=("lab.a",)))
    both = plan_gc(store, GcLimits(functions=("lab.*",)))
    assert one.freed_bytes < 2000
    assert before < both.freed_bytes < before + 3000
    assert sum(group.nbytes for group in both.groups) == both.freed_bytes
    run_gc(store, one)
    assert object_bytes(store) == before
    value = load(store, "b")
    np.testing.assert_array_equal(value[0], shared)
    run_gc(store, both)
    assert object_bytes(store) == 0


def test_all_keys_of_one_result_go_together(store: Store) -> None:
    put(store, "small", value=numbers(1, 10), also_under=[digest("call")], seconds=1e-3)
    put(store, "dear", value=numbers(2, 10), seconds=1e3)
    plan = plan_gc(store, GcLimits(max_size=12_000))
    assert (plan.results, plan.kept_results) == (1, 1)
    run_gc(store, plan)
    assert present(store, ("small",), ("call",), ("dear",)) == [False, False, True]


def test_uses_under_either_key_count(store: Store) -> None:
    put(store, "a", value=numbers(1, 100), also_under=[digest("a as a call")])
    put(store, "b", value=numbers(2, 100))
    for _ in range(5):
        store.find(digest("a as a call"))
    collect(store, max_size=150_000)
    assert present(store, ("a",), ("a as a call",), ("b",)) == [True, True, False]


def test_ages_count_from_making_and_from_using(store: Store) -> None:
    now = time.time()
    for name, age in (("old", 100), ("oldest", 200), ("new", 1)):
        put(store, name, value=1, created=now - age * DAY)
    assert {drop.key for drop in plan_gc(store, GcLimits(max_age=50 * DAY)).drops()} == {
        digest("old"),
        digest("oldest"),
    }
    # Rows count as used when they are written, which was just now.
    assert plan_gc(store, GcLimits(unused_for=50 * DAY)).results == 0
    later = now + 60 * DAY
    store.index.touch([(digest("old"), later - DAY, 1)])
    plan = plan_gc(store, GcLimits(unused_for=50 * DAY, now=later))
    assert {drop.key for drop in plan.drops()} == {digest("oldest"), digest("new")}
    run_gc(store, plan)
    assert present(store, ("old",), ("oldest",), ("new",)) == [True, False, False]


def test_a_clock_that_went_back_drops_nothing(store: Store) -> None:
    put(store, "a", value=1, created=time.time() + 1000 * DAY)
    assert plan_gc(store, GcLimits(max_age=DAY, unused_for=DAY)).results == 0


def test_function_patterns_choose_and_narrow(store: Store) -> None:
    now = time.time()
    for name in ("ingest.parse", "ingest.read", "fit.parse"):
        for age in (1, 100):
            put(store, name, age, value=age, function=name, created=now - age * DAY)

    def dropped(**limits: object) -> set[tuple[str, str]]:
        plan = plan_gc(store, GcLimits(**limits))  # type: ignore[arg-type]
        return {(drop.function, drop.reason) for drop in plan.drops()}

    assert dropped(functions=("ingest.*",)) == {("ingest.parse", "function"), ("ingest.read", "function")}
    assert dropped(functions=("parse",)) == {("ingest.parse", "function"), ("fit.parse", "function")}
    assert dropped(functions=("fit.*",), max_age=50 * DAY) == {("fit.parse", "max-age")}
    assert dropped(functions=("*.read", "fit.p?rse"), everything=True) == {
        ("ingest.read", "all"),
        ("fit.parse", "all"),
    }
    assert dropped(functions=("ingest",)) == set()


def test_a_size_for_some_functions_counts_only_their_results(store: Store) -> None:
    for name in ("ingest.parse", "fit.parse"):
        for number in range(10):
            put(store, name, number, value=numbers(hash((name, number)) % 2**32, 100), function=name)
    plan = plan_gc(store, GcLimits(functions=("fit.*",), max_size=500_000))
    assert {drop.function for drop in plan.drops()} == {"fit.parse"}
    assert 5 <= plan.results <= 6


def test_stale_code_is_what_another_code_in_its_place_has_replaced(store: Store) -> None:
    now = time.time() - DAY
    for number, (function, version, identity, place) in enumerate(
        [
            ("lab.edited", "", "old", "lab.py"),
            ("lab.edited", "", "new", "lab.py"),
            ("lab.versioned", "1", "", "lab.py"),
            ("lab.versioned", "2", "", "lab.py"),
            ("lab.same", "", "x", "lab.py"),
            ("lab.same", "", "x", "lab.py"),
            ("lab.elsewhere", "", "one", "lab.py"),
            ("lab.elsewhere", "", "another", "branch/lab.py"),
        ]
    ):
        parts = note_code(store, function, version=version, identity=identity, place=place, started=now + number - 0.5)
        facts: dict[str, Any] = {"function": function, "version": version, "code": b"own", "ingredients": parts}
        put(store, number, value=number, created=now + number, **facts)
    put(store, "unknown", value=1, function="lab.edited", version="", code=b"older", created=now - 1)
    put(store, "expression", value=1, function="add", version="", created=now)
    _set_uses(store, now)
    plan = plan_gc(store, GcLimits(stale_code=True))
    assert {drop.key for drop in plan.drops()} == {digest(0), digest(2)}
    assert {drop.reason for drop in plan.drops()} == {"stale-code"}


def _set_uses(store: Store, when: float) -> None:
    """Say of all records that nobody has used them after `when`."""
    connection = sqlite3.connect(store.index.path)
    with connection:
        connection.execute("UPDATE Cache SET access_time = ? WHERE length(key) = 32", (when,))
    connection.close()


def test_results_of_files_that_are_gone(store: Store, tmp_path: Path) -> None:
    there, gone = tmp_path / "there", tmp_path / "gone"
    there.write_text("x")
    put(store, "there", value=1, files=(FileState(str(there), "date"),))
    put(store, "gone", value=2, files=(FileState(str(there), "date"), FileState(str(gone), "date")))
    put(store, "below a file", value=3, files=(FileState(f"{there}/x", "date"),))
    put(store, "no files", value=4)
    plan = plan_gc(store, GcLimits(missing_inputs=True))
    assert {drop.key for drop in plan.drops()} == {digest("gone"), digest("below a file")}


def test_names_of_files_that_are_no_text_are_looked_for_too(store: Store, tmp_path: Path) -> None:
    there = os.fsencode(tmp_path) + b"/\xff there"
    with open(there, "w"):
        pass
    for name, path in (("there", there), ("gone", there + b"\xff")):
        put(store, name, value=name, files=(FileState(f"\0{path.hex()}", "date"),))
    put(store, "no path", value=3, files=(FileState("\0nonsense", "date"), FileState("/a\0b", "date")))
    plan = plan_gc(store, GcLimits(missing_inputs=True))
    assert [drop.key for drop in plan.drops()] == [digest("gone")]


def test_pinned_results_stay_under_every_criterion(store: Store) -> None:
    record = put(store, "pinned", value=numbers(1, 100), also_under=[digest("call")], created=1.0, function="lab.x")
    put(store, "other", value=numbers(2, 100), created=1.0, function="lab.x")
    store.update(digest("call"), msgspec.structs.replace(record, pinned=True))
    for limits in (
        GcLimits(everything=True),
        GcLimits(max_size=0),
        GcLimits(max_age=1.0),
        GcLimits(functions=("lab.x",)),
    ):
        plan = plan_gc(store, limits)
        assert [drop.key for drop in plan.drops()] == [digest("other")]
        assert plan.pinned_results == 1
    collect(store, everything=True)
    assert present(store, ("pinned",), ("call",), ("other",)) == [True, True, False]
