"""Compressed arrays that others may have written: none grows beyond its shape, whatever its chunks say."""

import gzip
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import zarr.codecs

from lazycache_storage.check import check
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError, UntrustedArrayError
from lazycache_storage.handles import open_result
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.record import Record, encode_record
from lazycache_storage.signing import Signer
from lazycache_storage.store import Store

KEY = Digest(bytes(32))
TRUTH = np.arange(9000.0)
MOST = 4 << 30
GZIP = zarr.codecs.GzipCodec()
CHUNKINGS: dict[str, Chunking] = {
    "default": Chunking((3000,)),
    "none": Chunking((3000,), compressors=None),
    "gzip": Chunking((3000,), compressors=GZIP),
    "blosc": Chunking((3000,), compressors=zarr.codecs.BloscCodec()),
    "shards": Chunking((1000,), (3000,)),
    "plain shards": Chunking((1000,), (3000,), None),
}
MAY_BE_LOADED = {"default", "none", "plain shards"}


def stored(path: str, chunking: Chunking, signer: Signer | None = None) -> Record:
    """Make a store, of which others may write to what is in it."""
    with Store(path, signer=signer) as store:
        store.put([KEY], TRUTH, {"function": "f"}, chunking=chunking)
        record = store.find(KEY)
    assert record is not None
    os.chmod(path, 0o777)
    return record


def load(path: str, signer: Signer | None = None) -> Any:
    with Store(path, signer=signer) as store:
        record = store.find(KEY)
        assert record is not None
        return store.load(record, KEY)


def open_in_place(path: str, signer: Signer | None = None) -> Any:
    with Store(path, signer=signer) as store:
        record = store.find(KEY)
        assert record is not None
        return open_result(store, record)[...]


@pytest.mark.parametrize("name", CHUNKINGS)
def test_what_tells_its_size_is_loaded(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "store")
    stored(path, CHUNKINGS[name])
    for read in (load, open_in_place):
        if name in MAY_BE_LOADED:
            assert np.array_equal(read(path), TRUTH)
        else:
            with pytest.raises(UntrustedArrayError, match="others may write"):
                read(path)
    os.chmod(path, 0o700)
    assert np.array_equal(load(path), TRUTH)
    assert np.array_equal(open_in_place(path), TRUTH)


def zstd_head(size: int, field: int) -> bytes:
    """Return the head of a frame of Zstandard that says how much is in it, or does not if `field` is 0."""
    magic = struct.pack("<I", 0xFD2FB528)
    if not field:
        return magic + bytes([0, 10 << 3])
    return magic + bytes([{4: 0xA0, 8: 0xE0}[field]]) + size.to_bytes(field, "little")


def zstd_bomb(size: int, field: int) -> bytes:
    """Return a frame of runs of zeros, four bytes for each 128 KiB."""
    block = (1 << 17 << 3) | 2
    runs = size >> 17
    return (
        zstd_head(size, field)
        + (struct.pack("<I", block)[:3] + b"\0") * (runs - 1)
        + (struct.pack("<I", block | 1)[:3] + b"\0")
    )


BOMBS: dict[str, bytes] = {
    "of no size": zstd_bomb(MOST, 0),
    "of its size": zstd_bomb(MOST - (1 << 17), 4),
    "of its large size": zstd_bomb(MOST, 8),
    "of a size that is too large": zstd_head(1 << 62, 8),
    "two frames": zstd_bomb(1 << 17, 0) + zstd_bomb(MOST, 0),
    "a frame to skip": struct.pack("<II", 0x184D2A50, 0) + zstd_bomb(MOST, 0),
    "nothing": b"",
    "a magic number": zstd_head(0, 0)[:4],
    "a head that ends": zstd_head(0, 8)[:7],
}

READ = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from tests.storage import test_bombs
from lazycache_storage.errors import StoreError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for read in (test_bombs.load, test_bombs.open_in_place, test_bombs.checked):
    try:
        read(sys.argv[1])
    except StoreError as error:
        print(type(error).__name__)
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10
"""


def checked(path: str) -> None:
    with Store(path) as store:
        raise CorruptEntryError(path=path, reason=str(list(check(store, content=True))))


@pytest.mark.parametrize("name", BOMBS)
def test_a_chunk_that_grows_without_an_end_is_damage(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "store")
    record = stored(path, CHUNKINGS["default"])
    explode(path, record, BOMBS[name])
    command = [sys.executable, "-c", READ, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["CorruptEntryError"] * 3


def test_gzip_is_not_asked_how_large_it_becomes(tmp_path: Path) -> None:
    path = str(tmp_path / "store")
    record = stored(path, CHUNKINGS["gzip"])
    explode(path, record, gzip.compress(bytes(400 << 20)))
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["UntrustedArrayError", "UntrustedArrayError", "CorruptEntryError"]


def explode(path: str, record: Record, chunk: bytes) -> None:
    """Put another chunk into an array, and a record that fits it."""
    (folder,) = Path(path).glob("objects/*/*.zarr")
    (folder / "1").unlink()
    (folder / "1").write_bytes(chunk)
    files = [file.stat() for file in folder.iterdir()]
    facts = {"nbytes": sum(file.st_size for file in files), "mtime_ns": max(file.st_mtime_ns for file in files)}
    refs = (msgspec.structs.replace(record.objects[0], **facts),)
    with Store(path) as store:
        store.index.put(KEY, encode_record(msgspec.structs.replace(record, objects=refs)))


@pytest.mark.parametrize("chunking", [None, Chunking((3000,))])
def test_an_array_that_is_read_in_place_is_compared_under_a_signature(tmp_path: Path, chunking: Any) -> None:
    path, signer = str(tmp_path / "store"), Signer("on", b"sixteen bytes or more")
    with Store(path, signer=signer) as store:
        store.put([KEY], TRUTH, {"function": "f"}, chunking=chunking)
    os.chmod(path, 0o777)
    assert np.array_equal(open_in_place(path, signer), TRUTH)
    (folder,) = Path(path).glob("objects/*/*.zarr")
    file = folder / "0"
    date = file.stat().st_mtime_ns
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.chmod(0o600)
    file.write_bytes(data)
    os.utime(file, ns=(date, date))
    with pytest.raises(CorruptEntryError):
        open_in_place(path, signer)


@pytest.mark.parametrize(("old", "new"), [(b'"little"', b'"big"'), (b'"v2"', b'"default"'), (b"[9000]", b"[9000 ]")])
def test_a_description_that_others_changed_is_damage(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = str(tmp_path / "store")
    with Store(path) as store:
        store.put([KEY], TRUTH, {"function": "f"})
    os.chmod(path, 0o777)
    (file,) = Path(path).glob("objects/*/*.zarr/zarr.json")
    text = file.read_bytes()
    assert text.count(old) > 0
    file.chmod(0o600)
    file.write_bytes(text.replace(old, new))
    with pytest.raises(CorruptEntryError):
        open_in_place(path)
    assert np.array_equal(load(path), TRUTH)
