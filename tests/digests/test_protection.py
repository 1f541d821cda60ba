import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from lazycache.digests import known_token, own, snapshot, token
from lazycache.protection import protect, writable_copy


@dataclass
class Result:
    table: dict[str, Any]
    data: Any


def sample() -> Result:
    return Result({"rows": [1, [2]], "array": np.arange(4.0)}, (np.zeros(2), {"deep": [np.ones(2)]}))


def test_what_is_handed_out_cannot_spoil_the_original() -> None:
    original = sample()
    handed = protect(original)
    handed.table["rows"][1].append(3)
    handed.table["new"] = 1
    handed.data[1]["deep"].append(4)
    for array in (handed.table["array"], handed.data[0], handed.data[1]["deep"][0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    assert token(original) == token(sample())


def test_arrays_are_views_and_immutable_values_the_same_objects() -> None:
    array = np.arange(5.0)
    assert np.shares_memory(protect(array), array)
    assert not protect(array).flags.writeable
    assert array.flags.writeable
    text, pair = "x" * 100, (1, ("a", 2.5))
    assert protect(text) is text
    assert protect(pair) is pair


def test_object_arrays_are_copied_to_the_bottom() -> None:
    array = np.array([[1], {"a": 2}], dtype=object)
    handed = protect(array)
    handed[0].append(5)
    assert array[0] == [1]
    with pytest.raises(ValueError, match="read-only"):
        handed[0] = 1


def test_self_containing_results_keep_their_shape() -> None:
    ring: list[Any] = [np.zeros(2)]
    ring.append(ring)
    handed = protect(ring)
    assert handed[1] is handed
    assert handed is not ring


def test_what_nobody_can_copy_is_handed_out_as_it_is() -> None:
    lock = threading.Lock()
    assert protect(lock) is lock
    assert protect([lock])[0] is lock
    generator = (x for x in "a")
    assert protect(generator) is generator


def test_a_view_of_a_known_array_knows_its_digest_too() -> None:
    array = np.arange(5.0)
    before = own(array)
    assert own(protect(array)) == before


def test_writable_copies_are_deep_and_writable() -> None:
    original = protect(sample())
    copied = writable_copy(original)
    copied.table["array"][0] = 9
    copied.data[1]["deep"][0][:] = 7
    assert token(original) == token(sample())
    grid = np.asfortranarray(np.ones((2, 3)))
    grid.setflags(write=False)
    assert writable_copy(grid).flags.f_contiguous
    assert writable_copy(grid).flags.writeable


def owners(array: Any) -> list[Any]:
    """Return an array and those that it is a view of."""
    found = []
    while isinstance(array, np.ndarray):
        found.append(array)
        array = array.base
    return found


ARRAYS: dict[str, Any] = {
    "plain": lambda: np.arange(6.0).reshape(2, 3),
    "fortran": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "part": lambda: np.arange(6.0)[2:5],
    "0-d": lambda: np.array(2.5),
    "empty": lambda: np.empty((0, 3)),
    "times": lambda: np.array(["2020", "NaT"], "M8[s]"),
    "records": lambda: np.zeros(3, [("a", "i1"), ("b", ">f8")]),
    "long doubles": lambda: np.arange(3, dtype="g"),
}


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("is_owned", [True, False])
def test_no_array_behind_what_is_handed_out_can_be_made_writeable(kind: str, is_owned: bool) -> None:
    original: Any = ARRAYS[kind]()
    if is_owned:
        own(original)
    view = protect(original)
    assert (view.dtype, view.shape, view.strides) == (original.dtype, original.shape, original.strides)
    assert view.tobytes() == original.tobytes()
    assert not original.size or np.shares_memory(view, original)
    for array in owners(view) if view.size else ():
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
    if is_owned:
        assert known_token(view) == known_token(original)
        # A part of it need not be copied to be hashed.
        part = view[:1] if view.ndim else view
        assert snapshot(part)[0] is part
