"""A key never outlives the bytes that it describes."""

import logging
import threading
from typing import Any

import numpy as np
import pytest

from lazycache import compute, computed, key, lazy
from lazycache.expressions.keys import take_keys


def test_changes_before_the_key_count_and_later_ones_do_not() -> None:
    array = np.zeros(1000)
    node = computed(array) + 1
    array[:] = 5
    taken = key(node)
    assert taken == key(computed(np.full(1000, 5.0)) + 1)
    array[:] = 9
    assert key(node) == taken
    np.testing.assert_array_equal(compute(node), np.full(1000, 6.0))
    assert array.flags.writeable


@pytest.mark.parametrize(
    "value", [[1, 2], {"a": [1]}, {1, 2}, bytearray(b"ab"), [np.zeros(3)]], ids=lambda v: repr(v)[:12]
)
def test_other_mutable_values_are_kept_too(value: Any) -> None:
    leaf = computed(value)
    taken = key(leaf)
    before = repr(compute(leaf))
    if isinstance(value, dict):
        value["a"].append(2)
    elif isinstance(value, set):
        value.add(9)
    elif isinstance(value[0], np.ndarray):
        value[0][:] = 7
    else:
        value[0] = 9
    assert repr(compute(leaf)) == before
    assert key(leaf) == taken != key(computed(value))


def test_use_as_a_dict_key_takes_the_key() -> None:
    array = np.zeros(3)
    found = {computed(array): "zeros"}
    array[0] = 1
    assert found[computed(np.zeros(3))] == "zeros"
    assert computed(array) not in found


def test_views_are_copied_without_their_base() -> None:
    base = np.arange(100.0)
    leaf = computed(base[::10])
    taken = key(leaf)
    base[:] = 0
    assert key(computed(np.arange(0.0, 100.0, 10.0))) == taken
    np.testing.assert_array_equal(compute(leaf + 0), np.arange(0.0, 100.0, 10.0))


def test_an_object_that_several_leaves_hold_is_copied_once() -> None:
    array = np.zeros(1000)
    leaves = [computed(array) for _ in range(3)]
    take_keys([leaves[0] + leaves[1], leaves[2] * 2])
    assert leaves[0]._value is leaves[1]._value is leaves[2]._value
    assert leaves[0]._value is not array


def test_what_cannot_change_is_not_copied() -> None:
    fixed = np.frombuffer(bytes(800), dtype=float)
    text = "x" * 10_000
    for value in (fixed, text, (1, 2.5, "a")):
        leaf = computed(value)
        key(leaf)
        assert leaf._value is value
    owned = np.zeros(10)
    assert computed(owned, own=True)._value is owned


@pytest.mark.parametrize("make", [computed, lazy])
def test_an_owned_array_is_read_only_from_the_start(make: Any) -> None:
    array = np.zeros(3)
    leaf = make(array, own=True)
    assert "?" not in repr(leaf)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@pytest.mark.parametrize(("limit", "mentioned"), [(1000, True), (10_000, False)])
def test_a_large_copy_is_mentioned_once(
    limit: int, mentioned: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("lazycache.expressions.freezing.LARGE", limit)
    with caplog.at_level(logging.INFO, logger="lazycache"):
        node = computed(np.zeros(1000)) + 1
        key(node)
        key(node)
        key(computed(np.zeros(1000), own=True))
        key(computed(np.frombuffer(bytes(8000))))
    assert [("own=True" in record.getMessage()) for record in caplog.records] == [True] * mentioned


def test_threads_agree_on_the_frozen_value() -> None:
    for _ in range(20):
        array = np.zeros(20_000)
        leaf = computed(array)
        node = leaf + 1
        barrier = threading.Barrier(5)
        keys: list[bytes] = []

        def change(array: Any = array, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            for step in range(50):
                array[:] = step

        def take(node: Any = node, barrier: threading.Barrier = barrier, keys: list[bytes] = keys) -> None:
            barrier.wait()
            keys.append(key(node))

        threads = [threading.Thread(target=change), *(threading.Thread(target=take) for _ in range(4))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Whichever moment was caught, all agree on it, and the value kept is the one that was hashed.
        assert len(set(keys)) == 1
        assert keys[0] == key(computed(np.array(leaf._value)) + 1)
