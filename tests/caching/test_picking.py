"""Indices of stored arrays in chunks: the other chunks are not read, and whatever happens the elements are numpy's."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays

from lazycache import Cache, pure
from lazycache.errors import CacheFaultWarning
from tests.conftest import Witness

TABLE = np.arange(100 * 60, dtype=">i4").reshape(100, 60)


@pytest.fixture
def table(cache: Cache, witness: Witness) -> Callable[[], Any]:
    """Return a pure function that gives TABLE, and is stored in 10 x 3 chunks; nobody has it in memory."""

    @pure(version=1, chunks=(10, 20), compressors="auto")
    def table() -> np.ndarray:
        witness("table")
        return TABLE.copy()

    cache(table())
    assert witness.news() == {"table": 1}
    return table


def spoil_chunks(cache: Cache, *, all_but: set[str]) -> None:
    """Write nonsense over chunks in a way that only reading them shows."""
    (folder,) = [path for path in Path(cache.path, "objects").glob("*/*.zarr") if len(list(path.iterdir())) == 31]
    for file in folder.iterdir():
        if file.name != "zarr.json" and file.name not in all_but:
            found = file.stat()
            file.chmod(0o600)
            file.write_bytes(bytes(found.st_size))
            os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))


PICKS: list[tuple[Any, set[str]]] = [
    (5, {"0.0", "0.1", "0.2"}),
    ((-1, -1), {"9.2"}),
    ((slice(3, 12), slice(20, 40)), {"0.1", "1.1"}),
    ((slice(95, 80, -7), 0), {"9.0", "8.0"}),
    ((..., slice(None, None, 59)), {f"{row}.{column}" for row in range(10) for column in (0, 2)}),
    ((None, 4, None, slice(0, 3)), {"0.0"}),
    (([1, 99, 1], [0, 59, 19]), {"0.0", "0.2", "9.0", "9.2"}),
    (slice(7, 7), set()),
    ((np.arange(100) == 42, 3), {"4.0"}),
]


@pytest.mark.parametrize(("index", "chunks"), PICKS, ids=range(len(PICKS)))
def test_only_the_chunks_that_are_needed_are_read(
    cache: Cache, table: Callable[[], Any], witness: Witness, index: Any, chunks: set[str]
) -> None:
    spoil_chunks(cache, all_but=chunks)
    found = cache(table()[index])
    expected = TABLE[index]
    assert np.array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert type(found) is type(expected)
    assert witness.ran == {}


def test_several_indices_of_equal_calls_share_what_is_open(
    cache: Cache, table: Callable[[], Any], witness: Witness
) -> None:
    spoil_chunks(cache, all_but={"0.0", "3.2"})
    assert cache(table()[0, 0] + table()[1, 1] * table()[35, 50]) == TABLE[0, 0] + TABLE[1, 1] * TABLE[35, 50]
    assert witness.ran == {}


def test_what_is_needed_as_a_whole_is_read_as_a_whole(cache: Cache, table: Callable[[], Any], witness: Witness) -> None:
    whole = table()
    assert cache(whole[3, 3] + whole.sum()) == TABLE[3, 3] + TABLE.sum()
    assert cache((whole[4, 4], table()))[1].sum() == TABLE.sum()
    assert witness.ran == {}


def test_many_indices_do_not_read_chunks_again_and_again(
    cache: Cache, table: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from zarr.storage import LocalStore

    read = []
    get = LocalStore.get

    async def counted(self: LocalStore, key: str, *args: Any, **kwargs: Any) -> Any:
        read.append(key)
        return await get(self, key, *args, **kwargs)

    monkeypatch.setattr(LocalStore, "get", counted)
    whole = table()
    rows = [whole[row] for row in range(100)]
    assert np.array_equal(cache(rows), TABLE)
    assert len([key for key in read if not key.endswith("zarr.json")]) <= 2 * 30


@given(index=arrays.basic_indices(TABLE.shape, allow_newaxis=True))
@settings(max_examples=60, deadline=None)
def test_any_index_is_that_of_numpy(tmp_path_factory: pytest.TempPathFactory, index: Any) -> None:
    cache = opened(tmp_path_factory)
    found, expected = cache(stored_table()[index]), TABLE[index]
    assert np.array_equal(found, expected)
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == expected.dtype


@pure(version=1, name="tests.picking.stored_table", chunks=(7, 11))
def stored_table() -> np.ndarray:
    """Return what the property test indexes."""
    return TABLE.copy()


def opened(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """Return the cache of the property test, with nothing in memory."""
    cache = Cache(tmp_path_factory.getbasetemp() / "picking")
    cache(stored_table())
    return cache


def test_a_wrong_index_is_refused_as_numpy_refuses_it(cache: Cache, table: Callable[[], Any]) -> None:
    with pytest.raises(IndexError) as expected:
        TABLE[3, 60]
    with pytest.raises(IndexError) as found:
        cache(table()[3, 60])
    assert str(found.value) == str(expected.value)


def test_what_was_picked_cannot_be_written_to(cache: Cache, table: Callable[[], Any], witness: Witness) -> None:
    def spoil(part: np.ndarray) -> int:
        part[...] = 0
        return 1

    with pytest.raises(ValueError, match="read-only"):
        cache(pure(spoil)(table()[:2]))


LAYOUTS = [
    (slice(None), slice(2, 5)),
    slice(2, 5),
    slice(40, 10, -3),
    (slice(3, 40, 2), slice(None, 7)),
    (None, slice(2, 5), slice(1, 2)),
    (slice(1, 4), [1, 40, 3]),
    (slice(None), 7),
]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("index", LAYOUTS, ids=range(len(LAYOUTS)))
def test_functions_see_elements_in_the_order_in_memory_that_they_have_in_the_whole(
    cache: Cache, witness: Witness, index: Any, order: Any
) -> None:
    whole = np.asarray(np.random.default_rng(1).random((100, 60)), order=order)

    @pure(version=1, chunks=(10, 20))
    def table() -> np.ndarray:
        witness("table")
        return whole

    @pure(version=1)
    def look(part: np.ndarray) -> Any:
        flat = [part.ravel(order).tolist() for order in ("A", "K")]
        return part.flags.c_contiguous, part.flags.f_contiguous, flat, part.sum()

    cache(table())
    assert cache(look(table()[index])) == look.raw(whole[index])
    assert witness.ran == {"table": 1}


def test_a_damaged_chunk_costs_one_warning_and_is_computed_again(
    cache: Cache, table: Callable[[], Any], witness: Witness
) -> None:
    spoil_chunks(cache, all_but={"0.0"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cache(table()[50, 0]) == TABLE[50, 0]
    assert [warning.category for warning in caught] == [CacheFaultWarning]
    assert witness.news() == {"table": 1}


def test_workers_get_the_same_elements(cache: Cache, table: Callable[[], Any], witness: Witness) -> None:
    double = pure(version=1, name="tests.picking.double")(abs)
    assert cache([double(table()[3, 4]), double(table()[99])[0]], n_jobs=2) == [TABLE[3, 4], TABLE[99, 0]]
    assert witness.ran == {}


def test_a_result_that_is_removed_after_it_was_found_is_computed_again_without_a_warning(
    cache: Cache, table: Callable[[], Any], witness: Witness
) -> None:
    @pure(version=1)
    def removing() -> int:
        Cache(cache.path).clear()
        return 1

    assert cache([removing(), table()[50, 0]]) == [1, TABLE[50, 0]]
    assert witness.news() == {"table": 1}
