import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import zarr

from lazycache_storage.arrayhash import array_digest
from lazycache_storage.errors import CorruptEntryError, NotStorableError
from lazycache_storage.objects import objects
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.objects.zarrhandle import open_zarr
from tests.storage.shelf import damages, facts


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


CHUNKED = [
    (np.zeros((10, 4)), {"chunks": (3, 2)}),
    (np.full((10, 4), -0.0), {"chunks": (3, 2), "compressors": None}),
    (np.asfortranarray(np.arange(40.0).reshape(10, 4)), {"chunks": (4, 4)}),
    (np.arange(40, dtype=">i4").reshape(10, 4), {"chunks": (2, 2), "shards": (4, 4)}),
    (np.array([5, -7], ">i8").view(">M8[2D]"), {"chunks": (1,)}),
    (np.arange(1000.0) * 1j, {}),
]


@pytest.mark.parametrize(("array", "how"), CHUNKED, ids=["zeros", "-0", "f", "shards", "time", "auto"])
def test_a_chunked_array_comes_back_as_it_was(folder: str, array: Any, how: dict[str, Any]) -> None:
    written = objects.write_array(array, folder, chunking=Chunking(**how))
    assert written.ref.chunked
    assert written.ref.name != array_digest(array)
    back = objects.open_array(written.path, written.ref, verify=True)
    assert facts(back) == facts(array)
    with pytest.raises(ValueError, match="WRITEABLE"):
        back.setflags(write=True)
    stored = zarr.open_array(written.path, mode="r")
    assert stored.chunks == how.get("chunks", stored.chunks)
    assert stored.shards == how.get("shards")


def test_the_name_of_a_chunked_array_tells_how_it_is_cut(folder: str) -> None:
    names = {
        bytes(objects.write_array(np.zeros((10, 4)), folder, chunking=Chunking(**how)).ref.name)
        for how in ({"chunks": (3, 2)}, {"chunks": (3, 2)}, {"chunks": (2, 2)}, {"chunks": (3, 2), "compressors": None})
    }
    assert len(names) == 3


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(8),
        np.array(2.0),
        np.empty((0, 2)),
        np.array(["a", "b"]),
        np.zeros((3, 2), "V3"),
        np.zeros((3, 2), "m8"),
    ],
)
def test_what_cannot_be_cut_so_is_kept_in_one_chunk(folder: str, array: Any) -> None:
    written = objects.write_array(array, folder, chunking=Chunking(chunks=(3, 2)))
    assert not written.ref.chunked
    assert facts(objects.open_array(written.path, written.ref)) == facts(array)


def test_an_absent_chunk_is_damage_never_zeros(folder: str) -> None:
    written = objects.write_array(np.zeros((10, 4)), folder, chunking=Chunking(chunks=(3, 2)))
    stored = open_zarr(written.path)
    assert stored[4, 1] == 0
    # The chunk vanishes under an array that is open already, and the size of the rest is made to fit.
    os.unlink(f"{written.path}/1.0")
    assert stored[0, 0] == 0
    with pytest.raises(CorruptEntryError, match="missing"):
        stored[4, 1]
    with pytest.raises(CorruptEntryError):
        objects.open_array(written.path, written.ref)
    rest = sum(file.stat().st_size for file in Path(written.path).iterdir())
    with pytest.raises(CorruptEntryError, match="missing"):
        objects.open_array(written.path, msgspec.structs.replace(written.ref, nbytes=rest))


@pytest.mark.parametrize("file", ["zarr.json", "0.0"])
@pytest.mark.parametrize(("name", "damage"), list(damages()))
def test_damage_to_a_chunked_array_is_an_error(folder: str, file: str, name: str, damage: Any) -> None:
    written = objects.write_array(np.arange(40.0).reshape(10, 4), folder, chunking=Chunking(chunks=(5, 4)))
    damage(f"{written.path}/{file}")
    with pytest.raises(CorruptEntryError):
        objects.open_array(written.path, written.ref, verify=True)


def test_parts_are_read_without_the_rest(folder: str) -> None:
    written = objects.write_array(np.arange(40.0).reshape(10, 4), folder, chunking=Chunking(chunks=(5, 4)))
    os.unlink(f"{written.path}/1.0")
    assert np.asarray(open_zarr(written.path)[:5]).tolist() == np.arange(20.0).reshape(5, 4).tolist()


def test_open_zarr_reads_arrays_in_one_chunk(folder: str) -> None:
    written = objects.write_array(np.asfortranarray(np.arange(6.0).reshape(2, 3)), folder)
    stored = open_zarr(written.path)
    assert np.asarray(stored[1]).tolist() == [3.0, 4.0, 5.0]
    with pytest.raises(ValueError, match="read-only"):
        stored[0] = 1.0
    with pytest.raises(CorruptEntryError):
        open_zarr(f"{folder}/nothing")


def test_a_bad_way_to_cut_leaves_nothing_behind(folder: str, tmp_path: Path) -> None:
    with pytest.raises(NotStorableError, match=r"shard|chunk"):
        objects.write_array(np.zeros((10, 4)), folder, chunking=Chunking(chunks=(3, 2), shards=(4, 4)))
    assert list(tmp_path.iterdir()) == []
