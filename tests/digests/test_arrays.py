import copy
import mmap
import multiprocessing
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache.digests import digest, token
from lazycache_storage.arrayhash import array_digest, array_encoding, bytes_digest

Array = np.ndarray[Any, Any]
MIB = 1 << 20


def base() -> Array:
    return np.random.default_rng(0).normal(size=(60, 50, 40))


VIEWS: dict[str, Any] = {
    "rows": np.s_[::2],
    "columns": np.s_[:, ::3],
    "reversed": np.s_[::-1],
    "last axis": np.s_[..., ::-2],
    "new axis": np.s_[..., None],
    "offset": np.s_[3:, 5:, 7:],
    "one": np.s_[1, 2, 3:4],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_count_by_what_they_show(name: str) -> None:
    view = base()[VIEWS[name]]
    assert digest(view) == digest(np.ascontiguousarray(view)) == digest(view.copy(order="C"))


@pytest.mark.parametrize("shape", [(700, 700), (3, 500_000), (500_000, 3), (90, 80, 70), (2, 3, 4, 5, 6, 700)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "S3", "c16"])
def test_strided_arrays_of_many_blocks_count_as_their_copies(shape: tuple[int, ...], dtype: str) -> None:
    # Blocks end inside rows here, and an element of three bytes does not divide a block.
    whole = np.random.default_rng(1).integers(0, 100, shape).astype(dtype)
    for view in (whole[::-1], whole[..., ::2], np.moveaxis(whole, 0, -1), whole[1:, ..., 1:]):
        if view.flags.f_contiguous:
            continue
        assert array_digest(view) == array_digest(np.ascontiguousarray(view))


def test_broadcast_arrays_count_by_their_elements() -> None:
    assert digest(np.broadcast_to(3.0, (4, 5))) == digest(np.full((4, 5), 3.0))
    assert digest(np.broadcast_to(np.arange(3), (400_000, 3))) == digest(np.tile(np.arange(3), (400_000, 1)))


def test_order_counts_where_it_can_be_seen() -> None:
    grid = np.arange(12.0).reshape(3, 4)
    assert digest(grid) != digest(np.asfortranarray(grid))
    assert digest(grid.T) == digest(np.asfortranarray(grid.T))
    row = np.arange(4.0).reshape(1, 4)
    assert digest(row) == digest(np.asfortranarray(row))


def test_large_transposed_arrays_are_hashed_as_they_lie() -> None:
    grid = np.random.default_rng(2).normal(size=(600, 700))
    assert digest(grid.T) == digest(np.asfortranarray(grid.T)) != digest(np.ascontiguousarray(grid.T))


@pytest.mark.parametrize("place", [0, MIB // 8 - 1, MIB // 8, 400_000, 599_999])
def test_every_element_counts(place: int) -> None:
    one = np.zeros(600_000)
    two = one.copy()
    two[place] = 1e-300
    assert digest(one) != digest(two)
    assert digest(one.reshape(600, 1000).T) != digest(two.reshape(600, 1000).T)
    assert digest(one[::-1]) != digest(two[::-1])


def test_blocks_may_not_change_places() -> None:
    data = np.arange(4 * MIB // 8)
    swapped = data.reshape(4, -1)[[1, 0, 2, 3]].reshape(-1)
    assert digest(data) != digest(swapped)


def test_shape_dtype_and_bytes_are_told_apart() -> None:
    data = np.zeros(24, np.uint8)
    seen: list[Array] = [
        data,
        data.reshape(4, 6),
        data.reshape(6, 4),
        data.view("i2"),
        data.view("u2"),
        data.view(">i2"),
    ]
    seen += [data.view("M8[s]"), data.view("m8[s]"), data.view("m8[ms]"), data.view("m8[2ms]"), data.view("S8")]
    seen += [data.view("U1"), data.view("V8"), data.view("c8"), data.view("f8"), data.view("?"), data.view("f8,f8,f8")]
    seen += [np.zeros((), "u1"), np.zeros(1, "u1"), np.zeros(0, "u1"), np.zeros((0, 3), "u1"), np.zeros((3, 0), "u1")]
    assert len({digest(array) for array in seen}) == len(seen)


def test_dates_without_a_time_have_digests() -> None:
    assert digest(np.array(["NaT", "2020"], "M8[ns]")) == digest(np.array(["NaT", "2020"], "M8[ns]"))
    assert digest(np.zeros(10, "m8[s]")) != digest(np.zeros(10, "m8[ms]"))


PADDED = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<f8"], "offsets": [0, 8], "itemsize": 24})
NESTED = np.dtype({"names": ["n", "s"], "formats": [PADDED, ("<i2", (3,))], "offsets": [0, 26]})


@pytest.mark.parametrize("dtype", [PADDED, NESTED, np.dtype([("a", "i1"), ("b", "f8")], align=True)])
@pytest.mark.parametrize("count", [3, 100_000])
def test_padding_does_not_count(dtype: np.dtype[Any], count: int) -> None:
    clean = np.zeros(count * dtype.itemsize, np.uint8).view(dtype)
    dirty = np.full(count * dtype.itemsize, 255, np.uint8).view(dtype)
    for name in dtype.names or ():
        dirty[name] = clean[name]
    assert clean.tobytes() != dirty.tobytes()
    assert digest(clean) == digest(dirty) == digest(dirty[::-1]) == digest(clean.reshape(-1, 1)[:, 0])
    dirty[name][-1] = 1
    assert digest(clean) != digest(dirty)


def test_padding_of_extended_floats_does_not_count() -> None:
    values = np.arange(4).astype(np.longdouble)
    used = 10 if np.finfo(np.longdouble).nmant == 63 else values.itemsize
    dirty = values.copy()
    dirty.view(np.uint8).reshape(4, -1)[:, used:] = 7
    assert digest(values) == digest(dirty)
    assert digest(values) != digest(values + 1)
    assert digest(values.astype(np.clongdouble)) == digest(dirty.astype(np.clongdouble))


def test_bits_of_fields_survive_the_removal_of_padding() -> None:
    signalling = np.zeros(2, PADDED)
    bits = signalling["b"].view("u8")
    bits[:] = 0x7FF0000000000001
    quiet = np.zeros(2, PADDED)
    quiet["b"].view("u8")[:] = 0x7FF8000000000001
    assert digest(signalling) != digest(quiet)


def test_names_offsets_titles_and_sub_arrays_count() -> None:
    overlapping = np.dtype({"names": ["x", "y"], "formats": ["i4", "i4"], "offsets": [0, 0]})
    dtypes: list[Any] = [
        [("x", "i4"), ("y", "i4")],
        [("x", "i4"), ("z", "i4")],
        [("y", "i4"), ("x", "i4")],
        overlapping,
        {"names": ["x", "y"], "formats": ["i4", "i4"], "offsets": [0, 4], "itemsize": 16},
        {"names": ["x", "y"], "formats": ["i4", "i4"], "offsets": [4, 0]},
        [(("a title", "x"), "i4"), ("y", "i4")],
        [("x", "i4", (2,))],
        [("x", "i4", (1, 2))],
        [("x", [("y", "i4", (2,))])],
        (np.record, [("x", "i4"), ("y", "i4")]),
    ]
    arrays = [np.zeros(2, dtype) for dtype in dtypes]
    assert len({digest(array) for array in arrays}) == len(arrays)
    assert len({digest(array.dtype) for array in arrays}) == len(arrays)
    assert len({digest(array[0]) for array in arrays}) == len(arrays)


def test_object_arrays_count_by_their_members() -> None:
    one = np.array([np.arange(2), "x", None], dtype=object)
    two = np.array([np.arange(2), "".join("x"), None], dtype=object)
    assert digest(one) == digest(two) != digest(one.reshape(3, 1))
    assert digest(one) != digest(list(one))
    two[0][1] = 5
    assert digest(one) != digest(two)


def test_variable_length_strings_count_by_their_text() -> None:
    kind = np.dtypes.StringDType
    assert digest(np.array(["a", "bb"], kind())) == digest(np.array(["a", "b" * 2], kind()))
    assert digest(np.array(["a"], kind())) != digest(np.array(["a"], kind(na_object=None)))
    assert digest(np.array(["a"], kind())) != digest(np.array(["a"]))


class Tagged(np.ndarray[Any, Any]):
    unit: str


def test_subclasses_count_by_type_and_attributes() -> None:
    plain = np.arange(3.0)
    tagged, other = plain.view(Tagged), plain.view(Tagged)
    tagged.unit, other.unit = "m", "s"
    views = [plain, plain.view(np.matrix), plain.view(Tagged), tagged, other, plain.view(np.recarray)]
    assert len({digest(view) for view in views}) == len(views)
    assert token(np.ascontiguousarray(tagged)) == token(plain)


@pytest.mark.parametrize(
    "dtype", ["i1", "i4", "u2", "f2", "f4", "f8", "c8", "S2", "U3", "M8[s]", "?", "O", [("a", "i4")]]
)
def test_a_masked_array_has_the_same_digest_after_pickling(dtype: Any) -> None:
    for how in ({}, {"mask": [True, False, False]}, {"mask": [True, False, False], "fill_value": 1}):
        masked = np.ma.array(np.zeros(3, dtype), **how)
        assert digest(pickle.loads(pickle.dumps(masked))) == digest(masked) == digest(copy.deepcopy(masked))


def test_masked_arrays_count_by_data_mask_and_fill_value() -> None:
    def masked(**how: Any) -> Any:
        return np.ma.array([[1.0, 2.0], [3.0, 4.0]], **how)

    distinct = [masked(), masked(mask=[[0, 1], [0, 0]]), masked(fill_value=3.0), masked(mask=True)]
    assert len({digest(value) for value in distinct}) == 4
    assert digest(masked()) == digest(masked(mask=False)) == digest(masked(mask=np.zeros((2, 2))))
    looked_at = masked()
    before = digest(looked_at)
    looked_at.fill_value  # noqa: B018  numpy sets an attribute when it is read
    assert digest(looked_at) == before
    assert digest(np.ma.masked) == digest(np.ma.masked)


def test_maps_count_as_arrays(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "data", "f8", "w+", shape=(10,))
    mapped[:] = np.arange(10)
    expected = digest(np.arange(10.0))
    assert digest(mapped) == expected
    assert digest(mapped * 1) == expected
    assert digest(mapped[::2]) == digest(np.arange(0.0, 10, 2))
    raw = mmap.mmap(-1, 80)
    view = np.frombuffer(raw, "f8")
    assert digest(view) == digest(np.zeros(10))
    del view
    raw.close()


def test_the_engine_and_the_library_name_an_array_alike() -> None:
    grid = np.arange(6.0).reshape(2, 3)
    assert array_digest(grid) == digest(grid)
    assert bytes_digest(b"abc") == bytes_digest(bytearray(b"abc")) == bytes_digest(memoryview(b"abc")) == digest(b"abc")
    large = bytes(5 * MIB)
    assert bytes_digest(memoryview(large)) == digest(large)
    with pytest.raises(TypeError, match="references"):
        array_encoding(np.array([None]))


def test_no_thread_outlives_the_call() -> None:
    before = threading.active_count()
    digest(np.zeros(20 * MIB // 8))
    assert threading.active_count() == before


@pytest.mark.parametrize("cores", [1, 2, 3, 16])
def test_the_number_of_threads_does_not_count(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(20 * MIB // 8)
    expected = digest(array)
    monkeypatch.setattr("lazycache_storage.arrayhash._cores", lambda: cores)
    assert digest(array) == expected == digest(array.reshape(2, -1).copy().reshape(-1))


def test_threads_may_hash_at_once() -> None:
    arrays = [np.full(6 * MIB // 8, float(number)) for number in range(4)]
    expected = [digest(array) for array in arrays]
    found: dict[int, list[bytes]] = {}

    def run(number: int) -> None:
        found[number] = [digest(array) for array in arrays]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 4


def test_a_forked_child_can_hash() -> None:
    array = np.arange(10 * MIB // 8)
    expected = digest(array)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(digest, (array,)) == expected


def test_the_interpreter_without_threads_left_still_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.arange(10 * MIB // 8)
    expected = digest(array)

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert digest(array) == expected


class Noted(np.ma.MaskedArray):
    """A masked array of a user's own class."""


def test_what_a_masked_array_has_beside_data_mask_and_fill_value() -> None:
    def made(kind: Any = np.ma.MaskedArray, is_hard: bool = False, **attributes: Any) -> Any:
        array: Any = np.ma.array([1, 2], mask=[True, False], hard_mask=is_hard).view(kind)
        vars(array).update(attributes)
        return array

    others = [made(), made(is_hard=True), made(unit="m"), made(unit="s"), made(Noted), made(Noted, unit="m")]
    assert len({digest(value) for value in others}) == len(others)
    assert digest(made(unit="m")) == digest(made(unit="m")) == digest(copy.deepcopy(made(unit="m")))
