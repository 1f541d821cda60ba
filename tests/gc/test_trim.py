"""A size limit that is set holds by itself."""

import os
from pathlib import Path

import numpy as np
import pytest

from lazycache_storage.check import check
from lazycache_storage.gc import Trimmer, collect
from lazycache_storage.store import Store
from tests.gc.stores import digest, load, numbers, object_bytes, present, put

LIMIT = 1_000_000


def test_the_limit_holds_after_every_store(store: Store) -> None:
    trimmer = Trimmer(store, LIMIT)
    for number in range(60):
        record = put(store, number, value=numbers(number, 50))
        assert trimmer.after_store(record, [digest(number)], seconds=60.0)
        assert object_bytes(store) <= LIMIT
        assert store.contains(digest(number))
    there = present(store, *((number,) for number in range(60)))
    assert 14 <= sum(there) <= 20
    assert check(store) == []


def test_nothing_goes_below_the_limit(store: Store) -> None:
    trimmer = Trimmer(store, LIMIT)
    for number in range(15):
        trimmer.after_store(put(store, number, value=numbers(number, 50)), [digest(number)])
    trimmer.finish()
    assert all(present(store, *((number,) for number in range(15))))


def test_a_result_larger_than_the_limit_costs_nothing_else(store: Store) -> None:
    trimmer = Trimmer(store, LIMIT)
    for number in range(10):
        trimmer.after_store(put(store, number, value=numbers(number, 50)), [digest(number)])
    large = put(store, "large", value=numbers(99, 2000), also_under=[digest("call")])
    assert not trimmer.after_store(large, [digest("large"), digest("call")])
    assert object_bytes(store) <= LIMIT
    assert present(store, ("large",), ("call",)) == [False, False]
    assert all(present(store, *((number,) for number in range(10))))


def test_work_is_done_in_short_steps_and_completed(store: Store) -> None:
    for number in range(200):
        put(store, number, value=numbers(number, 50))
    trimmer = Trimmer(store, LIMIT)
    calls = 0
    while object_bytes(store) > LIMIT:
        trimmer.after_store(put(store, "small", calls, value=calls), [digest("small", calls)], seconds=0.0)
        calls += 1
        assert calls < 1000
    # A call that may take no time takes one step: not all at once, and never none.
    assert calls > 2
    trimmer.finish()
    assert object_bytes(store) <= LIMIT
    assert check(store) == []


def test_what_others_stored_is_noticed(store: Store) -> None:
    trimmer = Trimmer(store, LIMIT)
    trimmer.after_store(put(store, "mine", value=numbers(1, 10)), [digest("mine")])
    with Store(store.path) as other:
        for number in range(40):
            put(other, number, value=numbers(number, 50))
    for number in range(20):
        trimmer.after_store(put(store, "mine", number, value=numbers(100 + number, 10)), [digest("mine", number)])
    trimmer.finish()
    assert object_bytes(store) <= LIMIT


def test_pinned_results_above_the_limit_do_not_make_each_store_a_collection(store: Store) -> None:
    for number in range(30):
        put(store, number, value=numbers(number, 50), pinned=True)
    trimmer = Trimmer(store, LIMIT)
    trimmer.after_store(put(store, "a", value=1), [digest("a")], seconds=60.0)
    put(store, "b", value=2)
    assert trimmer.after_store(put(store, "c", value=3), [digest("c")], seconds=60.0)
    assert all(present(store, *((number,) for number in range(30)), ("c",)))


def test_a_fork_goes_on_with_its_own_work(store: Store) -> None:
    for number in range(100):
        put(store, number, value=numbers(number, 50))
    trimmer = Trimmer(store, LIMIT)
    trimmer.after_store(put(store, "a", value=1), [digest("a")], seconds=0.0)
    child = os.fork()
    if not child:
        status = 1
        try:
            trimmer.after_store(put(store, "child", value=2), [digest("child")], seconds=60.0)
            status = 0 if object_bytes(store) <= LIMIT else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    trimmer.finish()
    assert object_bytes(store) <= LIMIT
    assert check(store) == []


@pytest.mark.parametrize("limit", [0, 300_000])
def test_collect_at_once(store: Store, limit: int) -> None:
    for number in range(20):
        put(store, number, value=numbers(number, 50), seconds=float(number))
    collect(store, limit)
    assert object_bytes(store) <= limit


def test_orphans_go_before_results(store: Store, tmp_path: Path) -> None:
    with Store(tmp_path / "store") as other:
        for number in range(15):
            record = put(other, "lost", number, value=numbers(number, 50))
            with other.index.transaction() as transaction:
                transaction.delete(digest("lost", number))
                transaction.delete(b"ref:" + record.objects[0].name + digest("lost", number))
    for number in range(10):
        put(store, number, value=numbers(100 + number, 50))
    collect(store, LIMIT)
    assert object_bytes(store) <= LIMIT
    assert all(present(store, *((number,) for number in range(10))))
    np.testing.assert_array_equal(load(store, 3), numbers(103, 50))
