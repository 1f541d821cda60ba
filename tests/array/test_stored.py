"""Arrays on disk as inputs: an index reads the chunks it needs and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import lazycache.array as lz
from lazycache import Cache, compute, key


class Counting:
    """An array that tells what was read of it."""

    __module__ = "zarr.counting"

    def __init__(self, source: Any) -> None:
        self.source = source
        self.shape = source.shape
        self.dtype = source.dtype
        self.reads: list[int] = []

    def __getitem__(self, index: Any) -> Any:
        read = self.source[index]
        self.reads.append(np.asarray(read).size)
        return read


@pytest.fixture
def on_disk(tmp_path: Path) -> tuple[np.ndarray[Any, Any], Counting]:
    data = np.arange(10_000.0).reshape(100, 100)
    array = zarr.create_array(tmp_path / "a.zarr", data=data, chunks=(10, 10))
    return data, Counting(array)


def test_an_index_reads_only_what_it_needs(on_disk: tuple[np.ndarray[Any, Any], Counting]) -> None:
    data, array = on_disk
    x = lz.array(array)
    assert (x.shape, x.dtype, x.backend) == ((100, 100), np.float64, "numpy")
    built = (x[3:7, 5] * 2).sum()
    assert array.reads == []
    assert built.compute() == (data[3:7, 5] * 2).sum()
    assert array.reads == [4]
    assert x[3, 4].compute() == data[3, 4]
    assert array.reads == [4, 1]


def spoiled(folder: Path, wanted: set[tuple[int, int]]) -> tuple[np.ndarray[Any, Any], zarr.Array[Any]]:
    """Return data, and an array on disk with these chunks of it and no others that can be read."""
    data = np.arange(10_000.0).reshape(100, 100)
    zarr.create_array(folder / "a.zarr", data=data, chunks=(10, 10))
    for path in (folder / "a.zarr" / "c").glob("*/*"):
        if (int(path.parent.name), int(path.name)) not in wanted:
            path.write_bytes(b"no chunk")
    return data, zarr.open_array(folder / "a.zarr", mode="r")


ROW_OF_TRUTHS = np.arange(100) % 45 == 3


@pytest.mark.parametrize(
    ("index", "chunks"),
    [
        (([3, 95, -97],), {(0, n) for n in range(10)} | {(9, n) for n in range(10)}),
        (([3, 95], [7, 51]), {(0, 0), (0, 5), (9, 0), (9, 5)}),
        ((slice(None, None, -1), 3), {(n, 0) for n in range(10)}),
        ((slice(25, 3, -7), slice(97, None)), {(n, 9) for n in range(3)}),
        ((None, 4, ..., None, [0, 12, 99]), {(0, 0), (0, 1), (0, 9)}),
        ((ROW_OF_TRUTHS, 5), {(0, 0), (4, 0), (9, 0)}),
        ((..., ROW_OF_TRUTHS[:, None] & ROW_OF_TRUTHS), {(a, b) for a in (0, 4, 9) for b in (0, 4, 9)}),
        (([[3], [95]], np.array([[1, 2]])), {(0, 0), (9, 0)}),
        (([], 5), set()),
    ],
    ids=range(9),
)
def test_no_other_chunks_are_read(index: Any, chunks: set[tuple[int, int]], tmp_path: Path) -> None:
    data, array = spoiled(tmp_path, chunks)
    found = lz.array(array)[index]
    assert found.shape == data[index].shape
    np.testing.assert_array_equal(found.compute(), data[index])


def test_of_what_knows_slices_only_the_part_around_the_places_is_read(
    on_disk: tuple[np.ndarray[Any, Any], Counting],
) -> None:
    data, array = on_disk
    np.testing.assert_array_equal(lz.array(array)[[7, 3, 5], ::-50].compute(), data[[7, 3, 5], ::-50])
    assert array.reads == [5 * 2]


@pytest.mark.parametrize("index", [(slice(None, None, -1), 0), ([1, 5], slice(3)), (None, 4), (..., 2)], ids=range(4))
def test_any_index_gives_what_numpy_gives(index: Any, on_disk: tuple[np.ndarray[Any, Any], Counting]) -> None:
    data, array = on_disk
    built = lz.array(array)[index]
    assert built.shape == data[index].shape
    np.testing.assert_array_equal(built.compute(), data[index])


@pytest.mark.parametrize("index", [(1, 2), (..., 1, 2), (1, ..., 2), (1, 2, ...), (np.int64(1), np.array(2), ...)])
def test_a_single_element_is_a_number_or_an_array_as_numpy_has_it(index: Any) -> None:
    data = np.arange(12.0).astype(">f8").reshape(3, 4)
    found = lz.array(zarr.create_array(zarr.storage.MemoryStore(), data=data))[index]
    value, expected = found.compute(), data[index]
    assert (type(value), value.shape) == (type(expected), expected.shape)
    assert found.dtype == value.dtype == expected.dtype
    assert value == expected


def test_anything_else_reads_the_whole(on_disk: tuple[np.ndarray[Any, Any], Counting]) -> None:
    data, array = on_disk
    x = lz.array(array)
    np.testing.assert_array_equal((x + 1).compute(), data + 1)
    np.testing.assert_array_equal((x @ x.T).compute(), data @ data.T)
    np.testing.assert_array_equal(lz.concat([x, x]).compute(), np.concatenate([data, data]))
    np.testing.assert_allclose(lz.linalg.norm(x).compute(), np.linalg.norm(data))


def test_the_key_is_that_of_the_array(on_disk: tuple[np.ndarray[Any, Any], Counting]) -> None:
    _, array = on_disk
    assert key(lz.array(array) + 1) == key(lz.array(array) + 1)
    assert key(lz.array(array) + 1) != key(lz.array(Counting(array.source[:50])) + 1)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (0, 3), (400, 300), (3, 50_000), (300_001,)], ids=str)
def test_a_key_is_taken_piece_by_piece(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.random.default_rng(1).normal(size=shape)
    array = Counting(zarr.create_array(zarr.storage.MemoryStore(), data=np.asarray(data)))
    whole = key(lz.array(array))
    monkeypatch.setattr("lazycache.array.stored._SLAB_BYTES", 100_000)
    array.reads.clear()
    assert key(lz.array(array)) == whole
    assert sum(array.reads) == data.size
    assert max(array.reads, default=0) * 8 <= max(100_000, *(8 * size for size in data.shape[1:]), 8)
    if data.size:
        changed = np.asarray(data.copy())
        changed[(-1,) * len(shape)] += 1
        assert key(lz.array(zarr.create_array(zarr.storage.MemoryStore(), data=changed))) != whole


def test_an_array_on_disk_that_is_asked_for_itself_is_read(
    on_disk: tuple[np.ndarray[Any, Any], Counting], tmp_path: Path
) -> None:
    data, array = on_disk
    store = Cache(tmp_path / "store")
    for read in (lz.compute, compute, store, lambda leaf: leaf.compute()):
        value = read(lz.array(array))
        assert type(value) is np.ndarray
        np.testing.assert_array_equal(value, data)
    assert type(lz.compute([lz.array(array)])[0]) is np.ndarray
