import gc
import threading
import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache.digests import (
    Memo,
    digest,
    is_immutable,
    known_token,
    own,
    register_immutable,
    remember,
    snapshot,
    token,
)
from lazycache.errors import UnhashableError
from lazycache.protection import is_unchangeable

Array = np.ndarray[Any, Any]


@dataclass
class Job:
    data: Any
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Frozen:
    data: Any


class Slotted:
    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = data


def test_a_snapshot_does_not_follow_its_original() -> None:
    array = np.zeros(5)
    original = {"a": [array], "job": Job(array, ["x"]), "slots": Slotted(array), "frozen": Frozen([array])}
    copied, its_token = snapshot(original)
    array[0] = 1
    original["a"].append(2)  # type: ignore[attr-defined]
    original["job"].names.append("y")  # type: ignore[attr-defined]
    expected = {"a": [np.zeros(5)], "job": Job(np.zeros(5), ["x"]), "slots": Slotted(np.zeros(5))}
    expected["frozen"] = Frozen([np.zeros(5)])
    assert its_token == token(copied) == token(expected)
    assert its_token != token(original)


def test_sharing_within_a_snapshot_is_kept() -> None:
    array, names = np.zeros(5), ["n"]
    copied, _ = snapshot([array, {"again": array}, names, (names, 1)])
    assert copied[0] is copied[1]["again"]
    assert copied[2] is copied[3][0]
    assert copied[2] is not names


def test_one_pass_copies_a_shared_object_once() -> None:
    memo, array = Memo(), np.zeros(5)
    first, one = snapshot(array, memo=memo)
    second, two = snapshot([array], memo=memo)
    assert second[0] is first
    assert two == token([array])
    assert one == token(array)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [0, 3, 700])
def test_snapshots_of_arrays_are_equal_and_closed(order: Any, size: int) -> None:
    array = np.random.default_rng(0).normal(size=(size, 500)).copy(order=order)
    for view in (array, array[::2], array.T, array[:, 1:], array.astype(">f4")):
        copied, its_token = snapshot(view)
        np.testing.assert_array_equal(copied, view)
        assert its_token == token(view) == known_token(copied)
        assert (copied.dtype, copied.shape) == (view.dtype, view.shape)
        for reachable in (copied, copied.view(), copied[...]):
            assert not reachable.flags.writeable
            if size:
                with pytest.raises(ValueError, match="WRITEABLE"):
                    reachable.setflags(write=True)


def test_snapshots_keep_bits_and_padding_apart() -> None:
    dtype = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<f8"], "offsets": [0, 8], "itemsize": 24})
    array = np.full(100_000 * 24, 255, np.uint8).view(dtype)
    copied, its_token = snapshot(array)
    assert its_token == token(array)
    assert copied["a"].tobytes() == array["a"].tobytes()
    assert copied["b"].tobytes() == array["b"].tobytes()


def test_a_snapshot_of_an_object_array_is_deep() -> None:
    array = np.array([[1, [2]], [None, "x"]], dtype=object, order="F")
    copied, its_token = snapshot(array)
    array[0, 1].append(3)
    assert copied[0, 1] == [2]
    assert copied.flags.f_contiguous
    assert not copied.flags.writeable
    assert its_token == token(copied) != token(array)


class Unit(np.ndarray[Any, Any]):
    unit: str


def test_snapshots_of_array_subclasses_keep_type_and_attributes() -> None:
    array = np.arange(3.0).view(Unit)
    array.unit = "m"
    copied, its_token = snapshot(array)
    assert (type(copied), copied.unit) == (Unit, "m")
    assert its_token == token(array)
    masked = np.ma.array([1, 2], mask=[False, True])
    assert snapshot(masked)[1] == token(masked)


def test_what_cannot_change_is_not_copied() -> None:
    still = np.frombuffer(bytes(80), np.float64)
    owned = np.zeros(10)
    own(owned)
    for value in (still, still[2:], owned, owned[::2], owned.reshape(2, 5), "text", (1, "a"), 3):
        assert snapshot(value)[0] is value
        assert is_unchangeable(value)
    taken, _ = snapshot(np.zeros(10))
    view = taken[2:]
    assert snapshot(view)[0] is view


def test_a_read_only_flag_alone_is_no_promise() -> None:
    array = np.zeros(10)
    view = array.view()
    view.setflags(write=False)
    assert not is_unchangeable(view)
    copied, its_token = snapshot(view)
    array[0] = 1
    assert copied[0] == 0
    assert token(copied) == its_token != token(view)


def test_an_owned_array_is_hashed_once() -> None:
    array = np.zeros(1000)
    before = own(array)
    hidden = array.view()
    assert own(array) == known_token(array) == before
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    assert known_token(hidden) is None


def test_an_array_made_writeable_again_is_hashed_again() -> None:
    array = np.zeros(1000)
    before = own(array)
    array.setflags(write=True)
    array[0] = 1
    assert known_token(array) is None
    assert token(array) != before
    assert own(array) == token(np.array(array)) != before


def test_an_array_given_another_shape_is_hashed_again() -> None:
    array = np.zeros(6)
    before = own(array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # since numpy 2.5
        array.shape = (2, 3)
    assert token(array) == token(np.zeros((2, 3))) != before


def test_tokens_are_forgotten_with_their_arrays() -> None:
    array = np.zeros(3)
    remember(array, b"made up")
    assert known_token(array) is None  # it is writeable
    array.setflags(write=False)
    remember(array, b"made up")
    assert known_token(array) == token(array) == b"made up"
    del array
    gc.collect()
    for _ in range(1000):
        fresh = np.zeros(3)
        fresh.setflags(write=False)
        assert known_token(fresh) is None


def test_values_without_a_digest_are_refused_before_they_are_kept() -> None:
    for value in ([threading.Lock()], {"a": Job(threading.Lock())}, (x for x in "a")):
        with pytest.raises(UnhashableError):
            snapshot(value)
    with pytest.raises(UnhashableError) as caught:
        snapshot({"a": Job(threading.Lock())}, path="args[0]")
    assert caught.value.path == "args[0]['a'].data"


def test_what_cannot_be_copied_is_refused_with_advice() -> None:
    class Unique:
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError("there is only one")

    assert digest(Unique()) == digest(Unique())
    with pytest.raises(UnhashableError, match="own=True"):
        snapshot([Unique()])
    register_immutable(Unique)
    value = Unique()
    assert snapshot([value])[0][0] is value
    assert is_immutable((value, 1))


@pytest.mark.parametrize(
    "value",
    [
        1,
        2.5,
        "a",
        b"b",
        None,
        (1, ("a",)),
        frozenset({1}),
        range(3),
        slice(1, 2),
        np.float64(1),
        np.dtype("f8"),
        Path("a"),
        Fraction(1, 2),
    ],
)
def test_immutable_values(value: Any) -> None:
    assert is_immutable(value)


@pytest.mark.parametrize("value", [[], {}, set(), ([],), bytearray(), np.zeros(3), Job(1), Frozen([])])
def test_mutable_values(value: Any) -> None:
    assert not is_immutable(value)


def test_a_self_containing_tuple_of_shared_tuples_is_quick_to_judge() -> None:
    value: Any = (1,)
    for _ in range(60):
        value = (value, value)
    assert is_immutable(value)


def test_threads_may_own_and_take_snapshots_at_once() -> None:
    arrays = [np.full(50_000, float(number)) for number in range(8)]
    expected = [token(array) for array in arrays]
    found: list[list[bytes]] = []

    def run() -> None:
        found.append([snapshot(array)[1] for array in arrays])
        found.append([own(array) for array in arrays])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8
