import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.spatial

from tests.storage.shelf import Shelf, facts
from tests.storage.values import BIG, Pair


def test_frames_share_their_arrays_and_cannot_be_written(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"a": np.arange(BIG), "b": np.arange(BIG) / 7, "c": ["x"] * BIG, "d": pd.date_range("2020", periods=BIG)}
    )
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(frame)
    assert sum(ref.nbytes for ref in encoded[2]) >= 24 * BIG
    back = shelf.decode(encoded)
    pd.testing.assert_frame_equal(back, frame)
    assert not back["a"].to_numpy().flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        back.loc[0, "a"] = 5
    with pytest.raises(ValueError, match="read-only"):
        back["b"].to_numpy()[0] = 5
    pd.testing.assert_frame_equal(shelf.decode(encoded), frame)


def test_a_small_frame_behaves_like_a_large_one(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, -0.0]}, index=pd.Index(["x", "y"], name="i"))
    back = Shelf(tmp_path).round_trip(frame)
    pd.testing.assert_frame_equal(back, frame)
    with pytest.raises(ValueError, match="read-only"):
        back.loc["x", "a"] = 5


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_matrices_share_their_arrays_and_cannot_be_written(tmp_path: Path, kind: str) -> None:
    matrix = scipy.sparse.random_array((300, 300), density=0.5, format=kind, rng=np.random.default_rng(1))
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(matrix)
    assert encoded[2]
    back = shelf.decode(encoded)
    assert type(back) is type(matrix)
    assert (back != matrix).nnz == 0
    with pytest.raises(ValueError, match="read-only"):
        back.data[0] = 1


@pytest.mark.parametrize("size", [3, BIG])
@pytest.mark.parametrize("mask", [np.ma.nomask, True, None])
def test_masked_arrays_share_their_data(tmp_path: Path, size: int, mask: Any) -> None:
    mask = np.arange(size) % 2 == 0 if mask is None else mask
    array: Any = np.ma.MaskedArray(np.arange(size) + 0.5, mask, fill_value=7, hard_mask=True)
    shelf = Shelf(tmp_path)
    back = shelf.round_trip(array)
    assert type(back) is np.ma.MaskedArray
    assert facts(back.data) == facts(array.data)
    assert facts(back.mask) == facts(array.mask)
    assert (back.fill_value, back.hardmask) == (7, True)
    assert (len(shelf.opened) > 0) == (size == BIG)
    with pytest.raises(ValueError, match="read-only"):
        back.data[1] = 0


def test_masked_arrays_of_every_kind(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    plain: Any = np.ma.MaskedArray([1, 2], [True, False])
    back = shelf.round_trip(plain)
    assert (back._fill_value, back.fill_value) == (None, 999999)
    structured: Any = np.ma.MaskedArray([(1, 2.0)], mask=[(True, False)], dtype=[("a", "i4"), ("b", "f8")])
    assert repr(shelf.round_trip(structured)) == repr(structured)
    assert shelf.round_trip(np.ma.masked) is np.ma.masked
    of_objects: Any = np.ma.MaskedArray([None, "a"], [True, False], dtype=object)
    assert repr(shelf.round_trip(of_objects)) == repr(of_objects)


def test_a_memmap_comes_back_as_an_array(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    (tmp_path / "data").write_bytes(np.arange(BIG).tobytes())
    memmap = np.memmap(tmp_path / "data", np.int64, "r")
    for back in (shelf.round_trip(memmap), shelf.round_trip(Pair(memmap, 1)).a):
        assert type(back) is np.ndarray
        assert facts(back) == facts(np.arange(BIG))


def test_a_matrix_comes_back_as_one(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix([[1, 2], [3, 4]])
    assert facts(Shelf(tmp_path).round_trip(matrix)) == facts(matrix)


class Fussy:
    """Writes into its array while it is put together, as some compiled classes do."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.array = state["array"]
        self.array[0] = self.array[0]


@pytest.mark.parametrize("size", [3, BIG])
def test_a_type_that_writes_into_its_arrays_gets_copies(tmp_path: Path, size: int) -> None:
    back = Shelf(tmp_path).round_trip([Fussy(np.arange(size)), np.arange(size, dtype="g")])
    back[0].array[0] = 3
    assert facts(Shelf(tmp_path).round_trip(np.arange(size))) == facts(np.arange(size))


def test_a_compiled_tree_comes_back(tmp_path: Path) -> None:
    points = np.random.default_rng(0).random((BIG, 3))
    tree = scipy.spatial.cKDTree(points)
    back = Shelf(tmp_path).round_trip(tree)
    assert back.query(points[:5])[1].tolist() == [0, 1, 2, 3, 4]


def test_buffers_of_other_types_become_objects(tmp_path: Path) -> None:
    array = np.arange(BIG, dtype="g")
    shelf = Shelf(tmp_path)
    encoded = shelf.encode({"a": array, "b": Pair(array[::2].copy(), np.arange(BIG))})
    assert sorted(ref.nbytes for ref in encoded[2]) == [8 * BIG, 8 * BIG, 16 * BIG]
    assert len(encoded[1]) < 1000
    back = shelf.decode(encoded)
    np.testing.assert_array_equal(back["a"], array)
    np.testing.assert_array_equal(back["b"].a, array[::2])
    assert not back["a"].flags.writeable


class Noted(np.ndarray):
    """An array with an attribute, as numpy's manual makes one."""

    note: Any

    def __array_finalize__(self, other: Any) -> None:
        self.note = getattr(other, "note", None)


class Slotted(np.ndarray):
    __slots__ = ("note",)


class NotedMask(np.ma.MaskedArray):
    note: Any


def noted(array: Any, kind: Any = Noted) -> Any:
    made = array.view(kind)
    made.note = {"unit": ["m"]}
    return made


SUBCLASSES: dict[str, Any] = {
    "small": lambda: np.arange(6.0).reshape(2, 3),
    "large": lambda: np.arange(BIG * 1.0),
    "fortran": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": lambda: np.arange(BIG * 4)[::-2],
    "0-d": lambda: np.array(2.5, ">f4"),
    "empty": lambda: np.empty((0, 3)),
    "times": lambda: np.array(["2020", "NaT"], "M8[s]"),
    "records": lambda: np.zeros(3, [("a", "i1"), ("b", ">f8")]),
    "long doubles": lambda: np.arange(BIG, dtype="g"),
    "objects": lambda: np.array([None, "a"], object),
}


@pytest.mark.parametrize("kind", [Noted, Slotted])
@pytest.mark.parametrize("name", SUBCLASSES)
def test_arrays_of_a_users_class_keep_their_attributes(tmp_path: Path, name: str, kind: Any) -> None:
    value = noted(SUBCLASSES[name](), kind)
    shelf = Shelf(tmp_path)
    back = shelf.round_trip([value, value])
    assert back[0] is back[1]
    assert (type(back[0]), back[0].dtype, back[0].note) == (kind, value.dtype, {"unit": ["m"]})
    np.testing.assert_array_equal(back[0].view(np.ndarray), value.view(np.ndarray))
    assert back[0].flags.fnc == value.flags.fnc
    assert (len(shelf.opened) > 0) == (value.nbytes > 16384)
    assert not back[0].flags.writeable or value.dtype.hasobject or not value.size


def test_an_array_that_is_in_its_own_attribute(tmp_path: Path) -> None:
    value = noted(np.arange(3))
    value.note["self"] = value
    back = Shelf(tmp_path).round_trip(value)
    assert back.note["self"] is back


@pytest.mark.parametrize("size", [3, BIG])
@pytest.mark.parametrize("kind", [np.ma.MaskedArray, NotedMask])
def test_masked_arrays_keep_their_class_and_attributes(tmp_path: Path, kind: Any, size: int) -> None:
    masked: Any = np.ma.MaskedArray(np.arange(size), np.arange(size) % 2 == 0, fill_value=7, hard_mask=True)
    value = masked.view(kind)
    value.note = ["m"]
    back = Shelf(tmp_path).round_trip(value)
    assert (type(back), back.note, back.hardmask, back.fill_value) == (kind, ["m"], True, 7)
    assert facts(np.asarray(back.data)) == facts(np.asarray(value.data))
    assert facts(np.asarray(back.mask)) == facts(np.asarray(value.mask))
    with pytest.raises(ValueError, match="read-only"):
        back.data[1] = 0


def test_a_masked_array_over_an_array_of_a_users_class(tmp_path: Path) -> None:
    value: Any = np.ma.MaskedArray(noted(np.arange(3)), [False, True, False])
    back = Shelf(tmp_path).round_trip(value)
    assert (type(back.data), back.data.note, back.mask.tolist()) == (Noted, {"unit": ["m"]}, [False, True, False])
