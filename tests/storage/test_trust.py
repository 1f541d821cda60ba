"""Who may say what is loaded: owners, modes, links and signatures."""

import hashlib
import hmac
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from lazycache_storage.digest import Digest
from lazycache_storage.errors import (
    CorruptEntryError,
    StoreError,
    UnsignedEntryError,
    UntrustedPickleError,
    UntrustedStoreError,
)
from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.record import FileState, ObjectRef, Record, decode_record, encode_record
from lazycache_storage.signing import Signer
from lazycache_storage.store import Store
from tests.storage.processes import run

SECRET = b"only we know this one"
A, B = Digest(bytes(32)), Digest(bytes([1] * 32))


class Tool:
    """What only pickle can store."""

    def __init__(self, number: int, array: Any = None) -> None:
        self.number = number
        self.array = array


def signer(mode: Any = "on", secret: bytes = SECRET) -> Signer:
    return Signer(mode, secret)


def rewrite(path: str, key: Digest, **changes: Any) -> Record:
    """Change a record in the index, as somebody who may write to it but does not know the secret."""
    with Store(path) as store:
        data = store.index.get(key)
        assert data is not None
        record = msgspec.structs.replace(decode_record(data), **changes)
        store.index.put(key, encode_record(record))
        return record


def value_of(store: Store, key: Digest) -> Any:
    """Return what is stored under a key."""
    record = store.find(key)
    assert record is not None
    return store.load(record, key)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return where a store may be made."""
    return str(tmp_path / "store")


@pytest.fixture
def ours(path: str) -> str:
    """Make a signed store that others may write to."""
    with Store(path, signer=signer()) as store:
        store.put([A], Tool(1), {"function": "f"})
        store.put([B], {"plain": 1}, {"function": "f"})
    os.chmod(path, 0o777)
    return path


@pytest.mark.parametrize("mode", ["on", "strict"])
def test_a_signature_stands_for_trust_where_others_may_write(ours: str, mode: str) -> None:
    with Store(ours, signer=signer(mode)) as store:
        assert value_of(store, A).number == 1
        assert value_of(store, B) == {"plain": 1}
    with Store(ours) as store, pytest.raises(UntrustedPickleError, match="LAZYCACHE_SIGNING_KEY"):
        value_of(store, A)
    with Store(ours, signer=signer(mode), allow_pickle=False) as store, pytest.raises(UntrustedPickleError):
        value_of(store, A)


CHANGES: dict[str, dict[str, Any]] = {
    "payload": {"payload": pickle.dumps(2) + bytes(4)},
    "no signature": {"signature": b""},
    "another signature": {"signature": b"x" * 32},
    "objects": {"objects": (ObjectRef(bytes(32), "zarr", '"<i8"', (1,), nbytes=8),)},
    "blob": {"blob": ObjectRef(bytes(32), "blob", nbytes=1)},
    "token": {"token": b"another"},
    "files": {"files": (FileState("/x", "date"),)},
    "created": {"created": 1.0},
    "call key": {"call_key": bytes(32)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_changed_in_a_signed_record_makes_it_unsigned(ours: str, change: str) -> None:
    rewrite(ours, A, **CHANGES[change])
    with Store(ours, signer=signer("strict")) as store, pytest.raises(UnsignedEntryError, match="no valid signature"):
        store.find(A)
    with Store(ours, signer=signer()) as store, pytest.raises(UntrustedPickleError, match="no valid signature"):
        value_of(store, A)


@pytest.mark.parametrize("change", [{"pinned": True}, {"boot": ""}])
def test_a_pin_needs_no_signature(ours: str, change: dict[str, Any]) -> None:
    rewrite(ours, A, **change)
    with Store(ours, signer=signer("strict")) as store:
        assert value_of(store, A).number == 1


def test_a_signature_holds_for_one_key(ours: str) -> None:
    with Store(ours) as store:
        data = store.index.get(A)
        assert data is not None
        store.index.put(B, data)
    with Store(ours, signer=signer()) as store, pytest.raises(UntrustedPickleError):
        value_of(store, B)


def test_a_signature_that_was_copied_to_another_payload_is_worth_nothing(ours: str) -> None:
    with Store(ours) as store:
        signed = store.find(A)
    assert signed is not None
    with Store(ours, signer=signer()) as store:
        assert value_of(store, A).number == 1
        forged = msgspec.structs.replace(signed, payload=pickle.dumps(2) + bytes(4))
        with pytest.raises(UntrustedPickleError):
            store.load(forged, A)


@pytest.mark.parametrize("secret", [b"another secret of theirs", SECRET + b"x"])
def test_another_secret_signs_nothing_of_ours(ours: str, secret: bytes) -> None:
    with Store(ours, signer=signer("strict", secret)) as store, pytest.raises(UnsignedEntryError):
        store.find(B)
    with Store(ours, signer=signer("on", secret)) as store:
        assert value_of(store, B) == {"plain": 1}
        with pytest.raises(UntrustedPickleError):
            value_of(store, A)


def test_what_counts_for_nothing_is_replaced(ours: str) -> None:
    rewrite(ours, B, signature=b"")
    with Store(ours, signer=signer("strict")) as store:
        with pytest.raises(UnsignedEntryError):
            store.find(B)
        store.put([B], {"plain": 2}, {"function": "f"})
        assert value_of(store, B) == {"plain": 2}
    with Store(ours, signer=signer("strict")) as store:
        assert value_of(store, B) == {"plain": 2}


def test_nothing_that_others_wrote_gets_our_signature(path: str) -> None:
    with Store(path) as store:
        store.put([A], Tool(6), {"function": "theirs"})
    os.chmod(path, 0o777)
    with Store(path, signer=signer()) as store:
        record = store.find(A)
        assert record is not None
        store.update(A, msgspec.structs.replace(record, files=(FileState("/x", "date"),)))
        record = store.find(A)
        assert record is not None
        assert record.signature == b""
        with pytest.raises(UntrustedPickleError):
            store.load(record, A)
        ours = store.put([A, B], Tool(7), {"function": "f"})
        assert [value_of(store, key).number for key in (A, B)] == [7, 7]
        assert ours.signature != b""


def test_another_record_of_a_signed_result_stays_signed(ours: str) -> None:
    with Store(ours, signer=signer()) as store:
        record = store.find(A)
        assert record is not None
        store.update(A, msgspec.structs.replace(record, files=(FileState("/x", "date"),)))
    with Store(ours, signer=signer("strict")) as store:
        assert value_of(store, A).number == 1


@pytest.mark.parametrize("size", [100, 200_000])
def test_content_is_compared_where_others_may_write(path: str, size: int) -> None:
    value = Tool(1, np.arange(float(size)))
    with Store(path, signer=signer()) as store:
        store.put([A], value, {"function": "f"})
        store.put([B], np.arange(10_000.0 + size), {"function": "f"})
    os.chmod(path, 0o777)
    for file in Path(path).glob("objects/*/*.zarr/0"):
        date = file.stat().st_mtime_ns
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.chmod(0o600)
        file.write_bytes(data)
        os.utime(file, ns=(date, date))
    with Store(path, signer=signer()) as store:
        assert isinstance(value_of(store, A).array, np.ndarray) if size == 100 else True
        for key in (A, B)[size == 100 :]:
            with pytest.raises(CorruptEntryError, match="not what was written"):
                value_of(store, key)


def test_an_array_that_was_compared_cannot_be_changed_by_others(path: str) -> None:
    with Store(path, signer=signer()) as store:
        store.put([A], np.zeros(200_000), {"function": "f"})
    os.chmod(path, 0o777)
    with Store(path, signer=signer()) as store:
        array = value_of(store, A)
        (file,) = Path(path).glob("objects/*/*.zarr/0")
        file.chmod(0o600)
        with file.open("r+b") as opened:
            opened.write(b"\1" * 100)
        assert not array.any()


def test_file_digests_and_claims_that_nobody_signed_are_not_believed(ours: str) -> None:
    with Store(ours) as store:
        store.memo_put(A, B)
        store.claim_put(A, b"theirs", expected=None)
    with Store(ours, signer=signer()) as store:
        assert (store.memo_get(A), store.claim_get(A)) == (B, b"theirs")
    with Store(ours, signer=signer("strict")) as store:
        assert (store.memo_get(A), store.claim_get(A)) == (None, None)
        store.memo_put(A, A)
        assert store.claim_put(A, b"ours", expected=None)
        assert not store.claim_put(A, b"again", expected=None)
        assert (store.memo_get(A), store.claim_get(A)) == (A, b"ours")
    for mode in (Signer(), signer(), signer("strict")):
        with Store(ours, signer=mode) as store:
            assert (store.memo_get(A), store.claim_get(A)) == (A, b"ours")


@pytest.mark.parametrize("mode", ["on", "strict"])
def test_a_signed_note_counts_in_its_own_row_alone(ours: str, mode: Any) -> None:
    with Store(ours, signer=signer(mode)) as store:
        store.memo_put(A, A)
        signed = store.index.get(b"file:" + A)
        assert signed is not None
        expected = hmac.new(SECRET, b"lazycache note signature 1\0file:" + A + A, hashlib.sha256).digest()
        assert signed == b"lazycache signed\0" + expected + A
        for row in (b"file:" + B, b"claim:" + A):
            store.index.put(row, signed)
        for position in range(len(signed)):
            forged = bytearray(signed)
            forged[position] ^= 1
            store.index.put(b"file:" + A, bytes(forged))
            # With the mark gone it is a note that nobody signed.
            assert store.memo_get(A) == (bytes(forged) if mode == "on" and position < 17 else None)
        assert store.memo_get(B) is None
        assert store.claim_get(A) is None


def test_a_signature_is_an_hmac_of_the_record_under_its_key(ours: str) -> None:
    with Store(ours) as store:
        record = store.find(B)
    assert record is not None
    bare = msgspec.structs.replace(record, signature=b"", boot="", pinned=False)
    expected = hmac.new(SECRET, b"lazycache record signature 1\0" + B + msgspec.msgpack.encode(bare), hashlib.sha256)
    assert record.signature == expected.digest()


@pytest.mark.parametrize(("mode", "secret"), [("on", b""), ("strict", b"short"), ("maybe", SECRET)])
def test_a_secret_that_is_none_is_refused(mode: Any, secret: bytes) -> None:
    with pytest.raises(ValueError, match=r"signing key|signatures are"):
        Signer(mode, secret)


OTHER_USER = """
import os, pickle, diskcache, filelock, numpy
from lazycache_storage.errors import CorruptEntryError, UntrustedPickleError
from lazycache_storage.signing import Signer

class Tool:
    pass

path, mode, secret = sys.argv[1:]
A = Digest(bytes(32))
store = Store(path, signer=Signer("on", b"only we know this one")) if secret == "yes" else Store(path)
store.put([A], Tool(), {"function": "f"})
store.put([key(5)], numpy.arange(100_000.0), {"function": "f"})
store.close()
os.system(f"chmod -R go+rX {path}")
os.chmod(path, int(mode, 8))
with Store(path) as store:
    # Into a folder that is not there yet.
    store.put([key(6)], numpy.arange(90_000.0), {"function": "f"})
if os.fork() == 0:
    try:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        reader = Store(path, signer=Signer("on", b"only we know this one")) if secret == "yes" else Store(path)
        assert reader.read_only
        for number in (5, 6, 0):
            try:
                value = reader.load(reader.find(key(number)), key(number))
                say(type(value).__name__)
            except UntrustedPickleError as error:
                say("refused:", error.reason)
    except BaseException as error:
        say(type(error).__name__)
    os._exit(0)
os.wait()
"""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that other users can enter."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="lazycache-trust-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@as_root
@pytest.mark.parametrize(
    ("mode", "secret", "expected"),
    [
        ("755", "no", ["ndarray", "ndarray", "refused: the folder belongs to user 0, and this process runs as 65534"]),
        ("755", "yes", ["ndarray", "ndarray", "Tool"]),
        ("700", "yes", ["PermissionError"]),
    ],
)
def test_another_user(open_folder: Path, mode: str, secret: str, expected: list[str]) -> None:
    said = run(OTHER_USER, open_folder / "store", mode, secret).splitlines()
    assert len(said) == len(expected)
    for line, start in zip(said, expected, strict=True):
        assert line.startswith(start)


@as_root
def test_a_store_that_somebody_else_gave_us_is_not_trusted(path: str) -> None:
    with Store(path) as store:
        store.put([A], Tool(1), {"function": "f"})
    for part in ("", "/index", "/index/cache.db", "/objects"):
        with Store(path) as store:
            record = store.find(A)
            assert record is not None
            assert store.load(record, A).number == 1
        os.chown(path + part, 65534, 65534)
        with Store(path) as store, pytest.raises(UntrustedPickleError, match="belongs to user 65534"):
            value_of(store, A)
        os.chown(path + part, 0, 0)


@pytest.mark.parametrize("part", ["", "/index", "/index/cache.db", "/objects"])
def test_pickles_are_refused_if_others_may_write_to_a_part(path: str, part: str) -> None:
    with Store(path) as store:
        store.put([A], Tool(1), {"function": "f"})
    os.chmod(path + part, 0o722 if part != "/index/cache.db" else 0o622)
    with Store(path) as store, pytest.raises(UntrustedPickleError, match="others may write"):
        value_of(store, A)


# -- links ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["index", "objects", "locks", "tmp", "trash", "format.json", "index/cache.db"])
def test_a_store_with_a_link_out_of_it_is_not_used(path: str, tmp_path: Path, name: str) -> None:
    Store(path).close()
    outside = tmp_path / "outside"
    os.rename(f"{path}/{name}", outside)
    os.symlink(outside, f"{path}/{name}")
    for read_only in (True, False):
        with pytest.raises(UntrustedStoreError, match="outside"):
            Store(path, read_only=read_only)


def test_a_store_may_be_reached_by_a_link(path: str, tmp_path: Path) -> None:
    Store(path).close()
    os.symlink(path, tmp_path / "link")
    with Store(tmp_path / "link") as store:
        store.put([A], np.arange(10_000), {"function": "f"})
        assert value_of(store, A)[-1] == 9999


@pytest.mark.parametrize("level", ["prefix", "folder", "chunk"])
@pytest.mark.parametrize("chunked", [False, True])
def test_links_to_files_elsewhere_are_not_followed(path: str, tmp_path: Path, level: str, chunked: bool) -> None:
    from lazycache_storage.objects.chunked import Chunking

    array = np.arange(10_000.0)
    with Store(path) as store:
        store.put([A], array, {"function": "f"}, chunking=Chunking((5000,)) if chunked else None)
    (folder,) = Path(path).glob("objects/*/*.zarr")
    part = {"prefix": folder.parent, "folder": folder, "chunk": folder / "0"}[level]
    outside = tmp_path / "outside"
    part.rename(outside)
    part.symlink_to(outside)
    with Store(path) as store:
        with pytest.raises(CorruptEntryError):
            value_of(store, A)
        store.put([A], array, {"function": "f"}, chunking=Chunking((5000,)) if chunked else None)
        np.testing.assert_array_equal(value_of(store, A), array)
    assert outside.exists()


def test_collections_remove_nothing_outside(path: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "ab"
    victim = outside / f"{'ab' * 32}.blob"
    outside.mkdir(parents=True)
    victim.write_bytes(b"precious")
    with Store(path) as store:
        store.put([A], np.arange(10_000), {"function": "f"})
        os.symlink(outside, f"{path}/objects/ab")
        os.symlink(outside, f"{path}/trash/1-old")
        os.symlink(outside, f"{path}/tmp/1-old")
        for limits in (GcLimits(orphans=True), GcLimits(everything=True)):
            run_gc(store, plan_gc(store, limits))
    assert victim.read_bytes() == b"precious"


def test_errors_of_trust_are_faults_that_the_cache_catches() -> None:
    assert issubclass(UntrustedStoreError, StoreError)
    assert issubclass(UnsignedEntryError, CorruptEntryError)
