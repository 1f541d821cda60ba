import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lazycache_storage.arrayhash import array_digest, array_encoding, block_items, encoding_of_parts
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError, NotStorableError, SpoolError
from lazycache_storage.objects import objects
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.objects.objects import Sink
from lazycache_storage.objects.spooling import Spool, Spooled
from lazycache_storage.store import Store
from tests.storage.shelf import Shelf, facts

TRUTH = np.arange(60 * 40, dtype=">i4").reshape(60, 40)
HOW = {"one chunk": None, "chunks": Chunking((16, 9)), "shards": Chunking((8, 9), (16, 9), ())}


def tiles(rows: int, columns: int) -> list[tuple[slice, slice]]:
    """Cut the truth into pieces, the last first."""
    return [
        (slice(i, min(i + rows, 60)), slice(j, min(j + columns, 40)))
        for i in range(0, 60, rows)
        for j in range(0, 40, columns)
    ][::-1]


def spooled(folder: Path, chunking: Chunking | None, pieces: Any) -> Spooled:
    spool = Spool(str(folder), TRUTH.shape, TRUTH.dtype, chunking)
    for region in pieces:
        spool[region] = TRUTH[region]
    return spool.finish()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("tile", [(16, 9), (60, 40), (7, 40), (60, 11)], ids=str)
def test_pieces_in_any_order_are_the_array(tmp_path: Path, how: str, tile: tuple[int, int]) -> None:
    done = spooled(tmp_path, HOW[how], tiles(*tile))
    whole = objects.write_array(TRUTH, str(tmp_path), chunking=HOW[how])
    assert done.written.ref.name == whole.ref.name
    assert done.token == array_encoding(TRUTH)
    back = objects.open_array(done.written.path, done.written.ref, verify=True)
    assert facts(back) == facts(TRUTH)
    assert np.array_equal(np.asarray(zarr.open_array(done.written.path, mode="r")[...]), TRUTH)


@pytest.mark.parametrize("how", HOW)
def test_an_array_whose_pieces_do_not_all_come_is_none(tmp_path: Path, how: str) -> None:
    with pytest.raises(NotStorableError, match="elements are missing"):
        spooled(tmp_path, HOW[how], tiles(16, 9)[1:])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", HOW)
def test_a_piece_of_another_shape_or_dtype_is_refused(tmp_path: Path, how: str) -> None:
    spool = Spool(str(tmp_path), TRUTH.shape, TRUTH.dtype, HOW[how])
    for block in (np.zeros((1, 40), ">i4"), np.zeros((2, 40), "f8"), np.zeros(40, ">i4")):
        with pytest.raises(ValueError, match="expected"):
            spool[slice(0, 2), slice(0, 40)] = block
    assert spool.failure is None
    spool.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_to_write_is_told_from_one_of_the_source(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), TRUTH.shape, TRUTH.dtype, None)
    os.unlink(f"{spool._path}/0.0")
    with pytest.raises(SpoolError):
        spool[slice(0, 2), slice(0, 40)] = TRUTH[:2]
    assert isinstance(spool.failure, FileNotFoundError)
    spool.discard()


@pytest.mark.parametrize(
    ("shape", "dtype"), [((0, 3), "f8"), ((3,), "O"), ((3,), "g"), ((3,), np.dtypes.StringDType())], ids=str
)
def test_what_zarr_cannot_hold_is_not_spooled(tmp_path: Path, shape: tuple[int, ...], dtype: Any) -> None:
    with pytest.raises(NotStorableError):
        Spool(str(tmp_path), shape, np.dtype(dtype), None)
    assert list(tmp_path.iterdir()) == []


def test_a_chunk_that_vanishes_before_the_end_is_no_zeros(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), TRUTH.shape, TRUTH.dtype, HOW["chunks"])
    for region in tiles(16, 9):
        spool[region] = TRUTH[region]
    os.unlink(f"{spool._path}/1.1")
    with pytest.raises(CorruptEntryError, match="missing"):
        spool.finish()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", HOW)
def test_files_go_with_the_spooled_array_unless_they_were_put_in_place(tmp_path: Path, how: str) -> None:
    done = spooled(tmp_path, HOW[how], tiles(16, 9))
    with Sink(str(tmp_path)) as sink:
        assert sink.add(done) == sink.add(done) == 0
        sink.discard()
    assert os.path.exists(done.written.path)
    os.rename(done.written.path, tmp_path / "in place")
    del done
    assert [path.name for path in tmp_path.iterdir()] == ["in place"]
    del sink
    spooled(tmp_path, HOW[how], tiles(16, 9))
    assert [path.name for path in tmp_path.iterdir()] == ["in place"]


def test_a_spooled_array_is_part_of_any_value(tmp_path: Path) -> None:
    done = spooled(tmp_path, None, tiles(16, 9))
    shelf = Shelf(tmp_path)
    for value in ([done, {"a": done}], {"set": {1}, "error": KeyError(done)}):
        encoded = shelf.encode(value)
        assert len(encoded[2]) == 1
        found = shelf.decode(encoded)
        inner = found[1]["a"] if isinstance(found, list) else found["error"].args[0]
        assert facts(inner) == facts(TRUTH)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_change_in_a_chunk_is_found_part_by_part(tmp_path: Path, order: Any) -> None:
    array = np.array(TRUTH, order=order)
    written = objects.write_array(array, str(tmp_path), chunking=Chunking((16, 9), compressors=()))
    objects.verify_object(written.path, written.ref)
    chunk = Path(written.path) / "1.2"
    data = bytearray(chunk.read_bytes())
    data[5] ^= 1
    chunk.chmod(0o600)
    chunk.write_bytes(data)
    with pytest.raises(CorruptEntryError, match="not what was written"):
        objects.verify_object(written.path, written.ref)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 40), st.sampled_from(["u1", ">f4", "c16", "S3", "V5"]), st.integers(0, 3_000_000))
def test_the_encoding_does_not_depend_on_the_parts(blocks: int, dtype: str, nbytes: int) -> None:
    array = np.resize(np.arange(251, dtype=np.uint8), nbytes - nbytes % np.dtype(dtype).itemsize).view(dtype)
    step = blocks * block_items(array.dtype)
    parts = [array[start : start + step] for start in range(0, len(array), step)]
    assert encoding_of_parts(array.dtype, array.shape, "C", parts) == array_encoding(array)


def test_who_gives_digests_sees_the_arrays_themselves(tmp_path: Path) -> None:
    large, seen = np.arange(5000.0), []

    def digest(array: Any) -> Any:
        seen.append(array)
        return array_digest(array)

    with Store(tmp_path / "store") as store:
        record = store.put([Digest(bytes(32))], {"a": large, "set": {1}}, {"function": "f"}, digest=digest)
    assert [id(array) for array in seen] == [id(large)]
    assert record.objects[0].name == array_digest(large)
