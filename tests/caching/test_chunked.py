"""Arrays in chunks, arrays larger than memory, and parts of them."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, ZstdCodec

from lazycache import Blocks, Cache, compute, hash_by_file_date, pure
from lazycache.errors import CacheFaultWarning, ExhaustedError, NotOpenableError, NotStoredWarning, PurityError
from tests.conftest import Witness

# Untyped.
da: Any = import_module("dask.array")

TRUTH = np.arange(900 * 300.0).reshape(900, 300)
"""2 MB: large enough to be written piece by piece."""


def rows(step: int = 70) -> Iterator[Any]:
    """Yield the truth in blocks that fit no chunk."""
    for start in range(0, len(TRUTH), step):
        yield TRUTH[start : start + step]


SOURCES: dict[str, Any] = {
    "array": lambda: TRUTH,
    "fortran": lambda: np.asfortranarray(TRUTH),
    "blocks": lambda: Blocks(rows(), TRUTH.shape),
    "zarr": lambda: zarr.array(TRUTH, chunks=(200, 77)),
    "dask": lambda: da.from_array(TRUTH, chunks=(333, 111)) * 2 / 2,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "chunks": {"chunks": (100, 90)},
    "shards": {"chunks": (50, 45), "shards": (100, 90), "compressors": ()},
    "compressed": {"compressors": BloscCodec(cname="lz4")},
}


def object_folders(cache: Cache) -> list[Path]:
    """Return the folders of the arrays in a store."""
    return list((Path(cache.path) / "objects").glob("*/*.zarr"))


def unfinished(cache: Cache) -> list[str]:
    """Return what is left of writing."""
    return os.listdir(Path(cache.path) / "tmp")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_each_kind_of_array_is_stored_as_asked(tmp_path: Path, witness: Witness, source: str, options: str) -> None:
    @pure(version=1, name=f"{source} {options}", **OPTIONS[options])
    def make(_: int) -> Any:
        witness("make")
        return SOURCES[source]()

    for _ in range(2):
        cache = Cache(tmp_path / "store")
        result = cache(make(1))
        assert type(result) is np.ndarray
        assert result.dtype == TRUTH.dtype
        assert result.tobytes() == TRUTH.tobytes()
        with pytest.raises(ValueError, match="WRITEABLE"):
            result.setflags(write=True)
        assert unfinished(cache) == []
        cache.close()
        del result
    assert witness.ran == {"make": 1}
    (folder,) = object_folders(cache)
    stored = zarr.open_array(folder, mode="r")
    assert np.array_equal(np.asarray(stored[...]), TRUTH)
    asked = OPTIONS[options]
    assert stored.chunks == asked.get("chunks", TRUTH.shape if options == "plain" else stored.chunks)
    assert stored.shards == asked.get("shards")
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert (size < TRUTH.nbytes / 2) == (options in ("chunks", "compressed"))


@pytest.mark.parametrize("options", ["plain", "chunks"])
def test_equal_arrays_are_one_object_and_one_token_however_they_came(cache: Cache, options: str) -> None:
    tokens = set()
    for source in ("array", "blocks", "zarr", "dask"):

        @pure(version=1, name=f"make {source}", **OPTIONS[options])
        def make(_: int, source: str = source) -> Any:
            return SOURCES[source]()

        cache(make(1))
        record = cache.explain(make(1)).nearest
        assert record is not None
        tokens.add(record.token)
    assert len(tokens) == len(object_folders(cache)) == 1


def test_what_depends_on_an_array_in_pieces_is_cut_off_by_its_content(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def make(source: str) -> Any:
        return SOURCES[source]()

    @pure(version=1)
    def total(table: Any) -> float:
        witness("total")
        return float(table.sum())

    assert {cache(total(make(source))) for source in ("array", "blocks", "zarr", "dask")} == {TRUTH.sum()}
    assert witness.ran == {"total": 1}


def test_small_arrays_are_cut_where_chunks_are_given(cache: Cache) -> None:
    @pure(version=1, chunks=(2, 3))
    def small(n: int) -> Any:
        return np.full((4, 6), float(n))

    @pure(version=1, compressors=ZstdCodec())
    def inline(n: int) -> Any:
        return np.full((4, 6), float(n))

    assert cache(small(0)).tolist() == np.zeros((4, 6)).tolist()
    (folder,) = object_folders(cache)
    # Chunks of zeros, which are Zarr's fill value, are written like others.
    assert sorted(os.listdir(folder)) == ["0.0", "0.1", "1.0", "1.1", "zarr.json"]
    cache(inline(1))
    assert len(object_folders(cache)) == 1


@pytest.mark.parametrize("size", [4, 900])
def test_an_absent_chunk_is_a_miss_never_zeros(tmp_path: Path, witness: Witness, size: int) -> None:
    @pure(version=1, chunks=(size // 2, size))
    def ones(size: int) -> Any:
        witness("ones")
        return np.ones((size, size))

    cache = Cache(tmp_path / "store")
    cache(ones(size))
    (folder,) = object_folders(cache)
    cache.close()
    os.unlink(folder / "1.0")
    cache = Cache(tmp_path / "store")
    with pytest.warns(CacheFaultWarning):
        assert cache(ones(size)).min() == 1.0
    assert witness.ran == {"ones": 2}
    assert Cache(tmp_path / "store")(ones(size)).min() == 1.0
    assert witness.ran == {"ones": 2}


def test_several_results_at_once(tmp_path: Path) -> None:
    @pure(version=1, n_outputs=2)
    def both(n: int) -> Any:
        return Blocks(rows(), TRUTH.shape), {"n": n}

    @pure(version=1)
    def named(n: int) -> Any:
        return {"table": Blocks(rows(), TRUTH.shape), "rows": SOURCES["zarr"](), "n": n}

    for _ in range(2):
        cache = Cache(tmp_path / "store")
        table, facts = cache(both(3))
        assert np.array_equal(table, TRUTH)
        assert facts == {"n": 3}
        result = cache(named(3))
        assert list(result) == ["table", "rows", "n"]
        assert result["table"] is result["rows"] is table
        cache.close()
    assert len(object_folders(cache)) == 1


def test_small_blocks_are_like_any_array(cache: Cache) -> None:
    @pure(version=1)
    def squares(n: int) -> Any:
        return Blocks(([i, i * i] for i in range(n)), (2 * n,), "i4") if n else Blocks([], 0, "i4")

    assert cache(squares(3)).tolist() == compute(squares(3)).tolist() == [0, 0, 1, 1, 2, 4]
    assert cache(squares(3)).dtype == np.dtype("i4")
    assert cache(squares(0)).shape == (0,)


def test_blocks_may_say_how_to_cut_them(cache: Cache) -> None:
    @pure(version=1)
    def table(n: int) -> Any:
        return Blocks(rows(n), TRUTH.shape, chunks=(60, 300))

    assert cache.open(table(7)).chunks == (60, 300)
    assert np.array_equal(cache(table(7)), TRUTH)


def test_nested_calls_of_a_generator_are_in_the_frame_of_its_function(tmp_path: Path, witness: Witness) -> None:
    path = tmp_path / "input.txt"
    path.write_text("1")

    @pure(version=1, hashers={"name": hash_by_file_date})
    def read(name: str) -> float:
        witness("read")
        return float(Path(name).read_text())

    @pure(version=1)
    def table(n: int) -> Any:
        return Blocks((TRUTH[i : i + n] * read(str(path)) for i in range(0, 900, n)), TRUTH.shape)

    cache = Cache(tmp_path / "store")
    assert np.array_equal(cache(table(100)), TRUTH)
    assert witness.ran == {"read": 1}
    path.write_text("3")
    os.utime(path, ns=(1, 1))
    assert np.array_equal(cache(table(100)), 3 * TRUTH)


@pytest.mark.parametrize("evaluate", ["cache", "compute"])
@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (lambda: [TRUTH[:100]], ValueError),
        (lambda: [TRUTH, TRUTH[:1]], ValueError),
        (lambda: [TRUTH[:, :100]], ValueError),
        (lambda: [TRUTH * 1j], TypeError),
        (lambda: (1 / 0 for _ in range(3)), ZeroDivisionError),
        (lambda: (Path("/nowhere").read_text() for _ in range(3)), FileNotFoundError),
    ],
    ids=["few", "many", "shape", "dtype", "error", "file"],
)
def test_faults_of_blocks_are_the_users(cache: Cache, blocks: Any, expected: type, evaluate: str) -> None:
    @pure(version=1)
    def table(n: int) -> Any:
        return Blocks(blocks(), TRUTH.shape)

    with pytest.raises(expected):
        (cache if evaluate == "cache" else compute)(table(1))
    assert table(1) not in cache
    assert not object_folders(cache)


def test_faults_of_dask_are_the_users(cache: Cache) -> None:
    @pure(version=1)
    def table(n: int) -> Any:
        def fail(block: Any) -> Any:
            raise KeyError("no such column")

        return da.from_array(TRUTH, chunks=(300, 300)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))

    with pytest.raises(KeyError, match="no such column"):
        cache(table(1))
    assert not object_folders(cache)
    assert not unfinished(cache)


def test_a_store_that_fails_in_the_middle_costs_a_second_run(tmp_path: Path, witness: Witness) -> None:
    cache = Cache(tmp_path / "store")

    @pure(version=1, chunks=(100, 300))
    def table(n: int) -> Any:
        witness("table")

        def blocks() -> Iterator[Any]:
            for number, block in enumerate(rows(100)):
                if number == 4:
                    # The folder that is written vanishes, and a file comes in its place.
                    (folder,) = (Path(cache.path) / "tmp").iterdir()
                    for file in folder.iterdir():
                        file.unlink()
                    folder.rmdir()
                    folder.write_text("in the way")
                yield block

        return Blocks(blocks() if n == 1 and witness.ran["table"] == 1 else rows(), TRUTH.shape)

    with pytest.warns(CacheFaultWarning, match="store a result"):
        result = cache(table(1))
    assert np.array_equal(result, TRUTH)
    assert witness.ran == {"table": 2}
    assert np.array_equal(cache(table(1)), TRUTH)
    assert witness.ran == {"table": 2}


@pytest.mark.parametrize("mode", ["ro", "off"])
def test_where_nothing_is_stored_blocks_come_in_memory(tmp_path: Path, mode: Any) -> None:
    @pure(version=1)
    def table(n: int) -> Any:
        return Blocks(rows(), TRUTH.shape)

    Cache(tmp_path / "store")(table(0))
    cache = Cache(tmp_path / "store", mode=mode)
    result = cache(table(1))
    assert type(result) is np.ndarray
    assert np.array_equal(result, TRUTH)
    assert np.array_equal(cache.open(table(2))[3:5], TRUTH[3:5])


def test_an_iterator_can_be_used_once_and_a_function_again() -> None:
    once = Blocks(iter([[1.0], [2.0]]), 2)
    assert np.asarray(once).tolist() == [1, 2]
    with pytest.raises(ExhaustedError, match="used once"):
        np.asarray(once)
    often = Blocks(lambda: ([x] for x in (1.0, 2.0)), 2)
    assert np.asarray(often).tolist() == np.asarray(often).tolist() == [1, 2]
    with pytest.raises(ValueError, match="first axis"):
        Blocks([], ())


@pytest.mark.parametrize("option", [{"chunks": 0}, {"chunks": (2, -1)}, {"chunks": "large"}, {"shards": (1.5,)}])
def test_ways_to_cut_that_cannot_be_are_refused_at_once(option: dict[str, Any]) -> None:
    with pytest.raises(PurityError, match="positive"):
        pure(version=1, **option)(lambda x: x)


def test_ways_to_cut_that_zarr_refuses_cost_a_warning_that_names_the_call(cache: Cache) -> None:
    @pure(version=1, chunks=(7, 7), shards=(10, 10))
    def table(source: str) -> Any:
        return SOURCES[source]()

    for source in ("array", "blocks", "zarr", "dask"):
        with pytest.warns(NotStoredWarning, match=f"table.*{source}"):
            assert np.array_equal(cache(table(source)), TRUTH)
    assert not object_folders(cache)


# -- open ---------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS)
def test_open_reads_parts(cache: Cache, options: str) -> None:
    @pure(version=1, **OPTIONS[options])
    def table(n: int) -> Any:
        return TRUTH + n

    for _ in range(2):
        stored = cache.open(table(1))
        assert isinstance(stored, zarr.Array)
        assert (stored.shape, stored.dtype) == (TRUTH.shape, TRUTH.dtype)
        assert np.array_equal(np.asarray(stored[700:, 5:9]), TRUTH[700:, 5:9] + 1)
        with pytest.raises(ValueError, match="read-only"):
            stored[0, 0] = 5.0
    assert cache.stats()["runs"] == 1


@pytest.mark.parametrize(
    "array", [np.arange(6.0), np.asfortranarray(np.ones((2, 3))), np.array(7), np.zeros((0, 3))], ids=str
)
def test_open_takes_arrays_that_sit_in_their_record(cache: Cache, array: Any) -> None:
    @pure(version=1)
    def small(n: int) -> Any:
        return array

    stored = cache.open(small(1))
    assert stored.shape == array.shape
    assert np.array_equal(np.asarray(stored[...]), array)
    assert not object_folders(cache)
    if array.size:
        with pytest.raises(ValueError, match="read-only"):
            stored[...] = array


def test_open_refuses_what_is_no_array_of_zarr(cache: Cache) -> None:
    @pure(version=1)
    def other(kind: str) -> Any:
        return {"dict": {"a": 1}, "list": [1, 2], "object": np.array([{}, None])}[kind]

    for kind in ("dict", "list", "object"):
        with pytest.raises(NotOpenableError, match="cannot be opened as a Zarr array"):
            cache.open(other(kind))


def test_open_needs_only_the_chunks_it_reads(cache: Cache) -> None:
    @pure(version=1, chunks=(300, 300))
    def table(n: int) -> Any:
        return TRUTH

    stored = cache.open(table(1))
    (folder,) = object_folders(cache)
    os.unlink(folder / "1.0")
    assert np.array_equal(np.asarray(stored[:300]), TRUTH[:300])
    with pytest.raises(Exception, match="missing"):
        stored[299:301]


@pytest.mark.parametrize("options", ["plain", "chunks"])
@pytest.mark.parametrize("remove", ["forget", "clear", "gc"])
def test_what_is_open_stays_until_it_is_closed(cache: Cache, options: str, remove: str) -> None:
    @pure(version=1, **OPTIONS[options])
    def table(n: int) -> Any:
        return TRUTH

    stored = cache.open(table(1))
    if remove == "forget":
        assert cache.forget(table(1))
    elif remove == "clear":
        cache.clear()
    else:
        cache.gc(max_size=0)
    assert table(1) not in cache
    assert np.array_equal(np.asarray(stored[...]), TRUTH)
    del stored
    gc.collect()
    cache.gc(orphans=True)
    assert not object_folders(cache)


HOLDER = """
import sys, numpy as np
from lazycache import Cache, pure
@pure(version=1, chunks=(100, 100))
def table(n):
    return np.ones((n, n))
stored = Cache(sys.argv[1]).open(table(500))
print("open", flush=True)
sys.stdin.readline()
print(float(np.asarray(stored[...]).sum()))
"""


def test_what_another_process_has_open_stays(cache: Cache) -> None:
    command = [sys.executable, "-c", HOLDER, cache.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "open\n"
        cache.clear()
        assert len(object_folders(cache)) == 1
        process.stdin.write("\n")
        process.stdin.flush()
        assert float(process.stdout.readline()) == 250_000
    cache.gc(orphans=True)
    assert not object_folders(cache)


# -- larger than memory ---------------------------------------------------------

LARGE = """
import resource, sys, numpy as np
from lazycache import Blocks, Cache, pure
kind, options, N, limit = sys.argv[2], *map(eval, sys.argv[3:])
import dask.array as da, zarr, lazycache_storage.objects.zarrhandle, lazycache_storage.store
def block(i):
    out = np.zeros((64, 16384)); out[:, i] = i + 1.0
    return out
@pure(version=1, name=kind, **options)
def large(n):
    shape = (64 * n, 16384)
    if kind == "blocks":
        return Blocks((block(i) for i in range(n)), shape)
    if kind == "dask":
        parts = da.zeros(shape, chunks=(64, 16384))
        return parts.map_blocks(lambda _, block_info=None: block(block_info[0]["chunk-location"][0]), dtype=float,
                                meta=np.empty((0, 0)))
    source = zarr.create_array(sys.argv[1] + "-source", shape=shape, dtype="f8", chunks=(64, 16384))
    for i in range(n):
        source[64 * i : 64 * (i + 1)] = block(i)
    return source
cache = Cache(sys.argv[1])
node = large(N)
with open("/proc/self/status") as status:
    (used,) = [int(line.split()[1]) << 10 for line in status if line.startswith("VmData")]
resource.setrlimit(resource.RLIMIT_DATA, (used + (limit << 20),) * 2)
result = cache(node)
stored = cache.open(large(N))
value = result if isinstance(result, np.ndarray) else stored
assert all(np.asarray(value[64 * i]).sum() == i + 1 for i in range(0, N, 7))
print(type(result).__name__, cache.stats()["runs"])
"""


@pytest.mark.parametrize(
    ("kind", "options", "blocks", "limit"),
    [
        ("blocks", "{}", 32, 170),
        ("zarr", "{}", 32, 170),
        ("dask", "{}", 32, 170),
        # zarr-python starts threads, and their stacks count.
        ("blocks", "{'chunks': (64, 4096)}", 48, 250),
    ],
)
def test_results_larger_than_memory(tmp_path: Path, kind: str, options: str, blocks: int, limit: int) -> None:
    """Store blocks of 8 MB where `limit` MB more than before may be in memory."""
    expected = "Array" if "chunks" in options else "ndarray"
    for runs in (1, 0):
        command = [sys.executable, "-c", LARGE, str(tmp_path / "store"), kind, options, str(blocks), str(limit)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.stdout.split() == [expected, str(runs)], found.stderr
