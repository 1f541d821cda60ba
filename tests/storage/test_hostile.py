"""What an enemy put into a store is a miss: no crash, no hang, no huge allocation, and no code of theirs runs."""

import json
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lazycache_storage.check import check
from lazycache_storage.digest import Digest
from lazycache_storage.errors import (
    CorruptEntryError,
    NotOpenableError,
    NotStorableError,
    StoreError,
    UntrustedPickleError,
)
from lazycache_storage.handles import open_result
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.record import FileState, ObjectRef, Record, decode_record, encode_record
from lazycache_storage.store import Store
from lazycache_storage.values.plain import Tag

FAULTS = (StoreError, NotOpenableError, NotStorableError, OSError, MemoryError, msgspec.MsgspecError)
"""What the cache takes for a miss."""

MOST_BYTES = 300 << 20
KEYS = [Digest(bytes([number] * 32)) for number in range(5)]
ran: list[str] = []


def act() -> str:
    """Be what an enemy wants to run."""
    ran.append("code")
    return "code"


class Bomb:
    """Pickles as a call of `act`."""

    def __reduce__(self) -> Any:
        return act, ()


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """Make a store of one result of each kind, that others may write to."""
    folder = tempfile.mkdtemp(prefix="lazycache-hostile-")
    path = f"{folder}/store"
    with Store(path) as store:
        store.put([KEYS[0]], {"a": [1, "x", 2.5, np.arange(3)], "b": np.arange(9000)}, {"function": "f"})
        store.put([KEYS[1]], Bomb(), {"function": "f"})
        store.put([KEYS[2]], ["x" * 70_000, b"y"], {"function": "f"})
        store.put([KEYS[3]], np.arange(9000), {"function": "f"}, chunking=Chunking((3000,)))
        store.put([KEYS[4]], "small", {"function": "f"})
    os.chmod(path, 0o777)
    yield path
    shutil.rmtree(folder)


def rows(path: str) -> list[bytes]:
    """Return the encoded records."""
    with Store(path, read_only=True) as store:
        return [store.index.get(key) or b"" for key in KEYS]


def attack(path: str, data: bytes) -> None:
    """Put a row into a store, and use it in every way that looks into it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    key = Digest(b"\xee" * 32)
    with Store(path) as store:
        store.index.put(key, data)
    with Store(path) as store:
        for use in (
            lambda: store.load(store.find(key) or Record(), key),
            lambda: open_result(store, store.find(key) or Record()),
            lambda: list(store.records()),
        ):
            try:
                use()
            except FAULTS as error:
                assert str(error)
        store.put([key], 1, {"function": "f"}, replace=True)
        record = store.find(key)
        assert record is not None
        assert store.load(record, key) == 1
    assert ran == []
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < MOST_BYTES


quick = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@quick
@given(data=st.data())
def test_records_that_were_tampered_with(target: str, data: st.DataObject) -> None:
    row = bytearray(data.draw(st.sampled_from(rows(target))))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(row)))
        piece = data.draw(st.binary(max_size=6) | st.sampled_from([b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"]))
        row[place : place + data.draw(st.integers(0, 6))] = piece
    attack(target, bytes(row))


@quick
@given(st.binary(max_size=200))
@example(b"\xdd\xff\xff\xff\xff" * 100)
@example(b"\x91" * 100_000)
def test_rows_that_are_no_records(target: str, data: bytes) -> None:
    attack(target, data)


HUGE = st.sampled_from([0, 1, -1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)])
TEXTS = st.sampled_from(
    [
        *('"<f8"', '"|S4000000000"', '"|O"', '"<U999999999"', "", "[" * 5000, '{"base":"<f8","shape":[1000000000]}'),
        '{"names":["a"],"formats":["<f8"],"offsets":[-8],"itemsize":8}',
        '{"names":["a"],"formats":["|O"],"offsets":[0],"itemsize":8}',
        '{"names":["a"],"formats":["<f8"],"offsets":[9000000000],"itemsize":9000000008}',
    ]
)
REFS = st.builds(
    ObjectRef,
    st.sampled_from([bytes(32), b"", b"../../../etc/passwd", b"x" * 10_000]),
    st.sampled_from(["zarr", "blob"]),
    TEXTS,
    st.lists(HUGE, max_size=70).map(tuple),
    st.sampled_from(["C", "F"]),
    HUGE,
    HUGE,
    st.booleans(),
    st.sampled_from(["", "recarray", "os", "__class__"]),
)
FORMS: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.binary(max_size=9)
    | TEXTS
    | st.sampled_from(["1e999999999", "../../etc/passwd", "/etc/localtime", "PosixPath", "\0"]),
    lambda inner: st.builds(
        lambda tag, parts: [tag, *parts],
        st.integers(-1, max(vars(Tag).get("LARGE_BYTEARRAY", 34), 34) + 3),
        st.lists(inner, max_size=5),
    ),
    max_leaves=12,
)
BIG_NUMBER = [Tag.FRACTION, "1e999999999", 1]


@quick
@given(form=FORMS)
@example(form=BIG_NUMBER)
@example(form=[Tag.FRACTION, [Tag.DECIMAL, "1e999999999"], 1])
@example(form=[Tag.ARRAY, '"<f8"', [2**62, 0], "C", b"", ""])
@example(form=[Tag.ARRAY, '{"base":"<f8","shape":[1000000000]}', [], "C", b"", ""])
@example(form=[Tag.LIST, [Tag.OBJECT, 2**62]])
@example(form=[Tag.ZONEINFO, "../../../../etc/passwd"])
@example(form=[Tag.RANGE, 0, 2**62, 1])
def test_payloads_of_an_enemy(target: str, form: Any) -> None:
    attack(target, encode_record(Record(payload=msgspec.msgpack.encode(form))))


@quick
@given(refs=st.lists(REFS, max_size=3).map(tuple), blob=st.none() | REFS, kind=st.sampled_from(["plain", "pickle"]))
def test_references_of_an_enemy(target: str, refs: Any, blob: ObjectRef | None, kind: Any) -> None:
    payload = msgspec.msgpack.encode([Tag.LIST, [Tag.OBJECT, 0], [Tag.LARGE_STR, 1], [Tag.OBJECT, 2]])
    attack(target, encode_record(Record(kind=kind, payload=payload, objects=refs, blob=blob)))


@pytest.mark.parametrize("nbytes", [2**40, 2**62])
@pytest.mark.parametrize("kind", ["zarr", "blob"])
def test_sizes_that_only_a_sparse_file_has(target: str, nbytes: int, kind: Any) -> None:
    name = Digest(b"\x01" * 32)
    path = Path(target, "objects", "01", f"{name.hex()}.{kind}")
    path.parent.mkdir(exist_ok=True)
    if kind == "zarr":
        path.mkdir(exist_ok=True)
        path = path / "0"
    with path.open("wb") as file:
        try:
            os.truncate(file.fileno(), min(nbytes, 2**43))
        except OSError as error:
            pytest.skip(f"no sparse files here: {error}")
    ref = ObjectRef(bytes(name), kind, '"|u1"', (nbytes,), "C", nbytes, path.stat().st_mtime_ns)
    payload = msgspec.msgpack.encode([Tag.LARGE_STR if kind == "blob" else Tag.OBJECT, 0])
    blob = ref if kind == "blob" else None
    try:
        attack(target, encode_record(Record(payload=payload, objects=(ref,), blob=blob)))
    finally:
        # Whoever copies the store would fill the disk.
        path.unlink()


def test_a_pickle_of_an_enemy_does_not_run(target: str) -> None:
    with Store(target) as store:
        record = store.find(KEYS[1])
        assert record is not None
        with pytest.raises(UntrustedPickleError):
            store.load(record, KEYS[1])
    assert ran == []


@pytest.mark.parametrize(
    "change",
    [
        {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 4_000_000_000}}},
        {"data_type": "float64"},
        {"shape": [10**12]},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10**12]}}},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [-1]}}},
        {"chunk_grid": {"name": "regular", "configuration": {}}},
        {"chunk_grid": None},
        {"codecs": [{"name": "os.system", "configuration": {"id": "true"}}]},
        {"codecs": []},
        {"codecs": "bytes"},
        {"zarr_format": 2},
        {"node_type": "group"},
        {"storage_transformers": [{"name": "x"}]},
        {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/../../"}}},
    ],
)
def test_a_description_of_an_enemy(target: str, change: dict[str, Any]) -> None:
    for key in (KEYS[0], KEYS[3]):
        with Store(target) as store:
            record = store.find(key)
            assert record is not None
            ref = record.objects[0]
            (path,) = Path(target).glob(f"objects/*/{ref.name.hex()}.zarr/zarr.json")
            text = path.read_text()
            padded = json.dumps({**json.loads(text), **change})
            date = path.stat().st_mtime_ns
            path.chmod(0o600)
            path.write_text(padded)
            os.utime(path, ns=(date, date))
            try:
                size = sum(file.stat().st_size for file in path.parent.iterdir())
                forged = msgspec.structs.replace(ref, nbytes=size) if ref.chunked else ref
                attack(target, encode_record(msgspec.structs.replace(record, objects=(forged,))))
                if ref.chunked:
                    with pytest.raises(CorruptEntryError):
                        store.load(msgspec.structs.replace(record, objects=(forged,)))
            finally:
                path.write_text(text)
                path.chmod(0o444)
                os.utime(path, ns=(date, date))


@pytest.mark.parametrize("data", [b"[" * 500_000, b"{" * 10, b"\xff", b"", b"null", b"1e400", b'{"shape":' * 1000])
def test_a_description_that_is_none(target: str, data: bytes) -> None:
    with Store(target) as store:
        record = store.find(KEYS[3])
        assert record is not None
        ref = record.objects[0]
        (path,) = Path(target).glob(f"objects/*/{ref.name.hex()}.zarr/zarr.json")
        text = path.read_bytes()
        path.chmod(0o600)
        path.write_bytes(data)
        size = sum(file.stat().st_size for file in path.parent.iterdir())
        with pytest.raises(CorruptEntryError):
            store.load(msgspec.structs.replace(record, objects=(msgspec.structs.replace(ref, nbytes=size),)))
        path.write_bytes(text)
        path.chmod(0o444)


def test_pipes_in_place_of_files_make_nobody_wait(target: str, tmp_path: Path) -> None:
    copy = tmp_path / "store"
    shutil.copytree(target, copy)
    for path in copy.glob("objects/*/*"):
        for file in [path] if path.suffix == ".blob" else list(path.iterdir()):
            file.unlink()
            os.mkfifo(file)
    with Store(copy) as store:
        for key in (KEYS[0], KEYS[2], KEYS[3]):
            record = store.find(key)
            assert record is not None
            with pytest.raises(CorruptEntryError):
                store.load(record, key)
    (copy / "format.json").unlink()
    os.mkfifo(copy / "format.json")
    with pytest.raises(StoreError):
        Store(copy)


def test_verifying_a_store_of_an_enemy_ends(target: str) -> None:
    with Store(target) as store:
        store.index.put(b"ref:" + b"../" * 20, b"")
        store.index.put(b"strange", b"x" * 1000)
        store.index.put(KEYS[4], encode_record(Record(objects=(ObjectRef(b"../../etc", "blob"),))))
        assert check(store)
    with pytest.raises(CorruptEntryError, match="9 bytes"):
        decode_record(encode_record(Record(objects=(ObjectRef(b"../../etc", "blob"),))))


@pytest.mark.parametrize(
    "record",
    [
        Record(created=float("nan")),
        Record(created=float("inf")),
        Record(seconds=-1e300),
        Record(call_key=b"short"),
        Record(objects=(ObjectRef(bytes(31), "zarr"),)),
        Record(objects=(ObjectRef(bytes(32), "zarr", nbytes=-1),)),
        Record(objects=(ObjectRef(bytes(32), "zarr", shape=(-1,)),)),
        Record(objects=(ObjectRef(bytes(32), "zarr", shape=(0,) * 65),)),
        Record(blob=ObjectRef(bytes(32), "zarr")),
        Record(format=2),
    ],
)
def test_records_that_nobody_wrote(record: Record) -> None:
    with pytest.raises(CorruptEntryError):
        decode_record(encode_record(record))


def test_paths_in_a_record_are_only_compared(tmp_path: Path) -> None:
    from lazycache import Cache, pure
    from lazycache.caching import inputs

    called = []

    @pure(version=1, name="watched")
    def watched(n: int) -> int:
        called.append(n)
        return n

    precious = tmp_path / "precious"
    precious.write_text("x")
    before = precious.stat()
    node = watched(1)
    for how in ("date", "content", "stat", "directory", "directory content", "result", "link", "nonsense", ""):
        for place in (str(precious), "/dev/zero", "/proc/kmsg", "\0zz", "a\0b", "../x", "", "~", str(tmp_path)):
            for young in (False, True):
                cache = Cache(tmp_path / "store")
                cache(node)
                key = next(iter(Store(tmp_path / "store").keys()))
                with Store(tmp_path / "store") as store:
                    record = store.find(key)
                    assert record is not None
                    state = FileState(place, how, content=b"x", young=young)
                    hostile = msgspec.structs.replace(record, files=(state,))
                    assert inputs.still_valid(hostile, node)[0] in (True, False)
                cache.close()
    assert precious.stat().st_mtime_ns == before.st_mtime_ns
    assert precious.read_text() == "x"
