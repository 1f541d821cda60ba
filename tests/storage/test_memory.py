import gc
import threading
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pytest

from lazycache_storage.memory import Memory, cannot_change
from lazycache_storage.record import ObjectRef, Record

RECORD = Record(function="f")
REF = ObjectRef(bytes(32), "zarr", "<i8", (3,))


class Point(NamedTuple):
    x: list[int]


class Color(IntEnum):
    RED = 1


class Named(str):
    """A str that can be given attributes."""


@pytest.mark.parametrize(
    "value", [None, 1, 1.5, 1j, True, "a", b"b", (), (1, "a", None), np.int64(1), np.datetime64("2020")]
)
def test_what_cannot_change_may_be_kept(value: object) -> None:
    assert cannot_change(value)


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {1},
        ([],),
        ((1,),),
        bytearray(b"a"),
        Point([1]),
        np.arange(3),
        Named("a"),
        Color.RED,
        np.zeros(1, [("a", "i8")])[0],
    ],
)
def test_what_could_change_is_not_kept(value: object) -> None:
    assert not cannot_change(value)


def test_the_least_recently_used_leaves_first() -> None:
    memory = Memory(3 * 2000)
    for name in (b"a", b"b", b"c"):
        memory.put(name, RECORD, 1000)
    memory.get(b"a")
    memory.peek(b"b")
    memory.put(b"d", RECORD, 1000)
    assert memory.get(b"b") is None
    assert all(memory.get(name) is not None for name in (b"a", b"c", b"d"))


def test_what_is_larger_than_all_of_it_is_not_kept() -> None:
    memory = Memory(5000)
    memory.put(b"a", RECORD, 1000)
    memory.put(b"b", RECORD, 10_000)
    assert memory.get(b"a") is not None
    assert memory.get(b"b") is None


def test_putting_a_key_again_does_not_count_twice() -> None:
    memory = Memory(5000)
    for _ in range(100):
        memory.put(b"a", RECORD, 1000)
    memory.put(b"b", RECORD, 1000)
    assert memory.get(b"a") is not None
    memory.drop(b"a")
    memory.drop(b"a")
    assert memory.get(b"a") is None
    memory.clear()
    assert memory.get(b"b") is None


def test_an_array_is_known_while_it_lives() -> None:
    memory = Memory(5000)

    def while_it_lives() -> list[bool]:
        array = np.arange(3)
        kept = memory.keep_array(REF, array) is array
        return [kept, memory.keep_array(REF, array.copy()) is array, memory.live_array(REF) is array]

    assert memory.live_array(REF) is None
    # In a function of its own, so that nothing of the test holds the array afterwards.
    assert while_it_lives() == [True, True, True]
    gc.collect()
    assert memory.live_array(REF) is None


def test_uses_are_added_up_and_taken_once() -> None:
    memory = Memory(5000)
    for _ in range(3):
        memory.note_use(b"a")
    assert memory.note_use(b"b") == 2
    assert {(key, count) for key, _, count in memory.take_uses()} == {(b"a", 3), (b"b", 1)}
    assert memory.take_uses() == []


def test_threads_may_use_it_at_once() -> None:
    memory = Memory(20 * 2000)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(2000):
                name = bytes([(turn * number) % 50])
                entry = memory.get(name)
                assert entry is None or entry.record is RECORD
                memory.put(name, RECORD, 1000)
                if turn % 10 == 0:
                    memory.drop(name)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sum(memory.peek(bytes([number])) is not None for number in range(50)) <= 20
