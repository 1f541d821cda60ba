"""Stores on file systems of other machines; the type of the file system is made up, everything else is real."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache_storage import machine
from lazycache_storage.digest import Digest
from lazycache_storage.objects import mapping
from lazycache_storage.store import Store

A, B = Digest(bytes(32)), Digest(bytes([1] * 32))


@pytest.fixture(params=["nfs", "nfs4", "cifs", "smb3", "lustre", "fuse.sshfs"])
def network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Say that everything is on a file server; return where a store may be made."""
    kind = request.param
    (tmp_path / "mounts").write_text(f"/dev/sda1 /elsewhere ext4 rw 0 0\nserver:/export / {kind} rw 0 0\n")
    find = machine.file_system
    monkeypatch.setattr(machine, "file_system", lambda path: find(path, str(tmp_path / "mounts")))
    return str(tmp_path / "store")


def test_the_index_has_a_rollback_journal(network: str) -> None:
    with Store(network) as store:
        assert store.network
        store.put([A], 1, {"function": "f"})
        assert store.index.fetch("PRAGMA journal_mode") == [("delete",)]
        assert sorted(os.listdir(f"{network}/index")) == ["cache.db"]
    with Store(network, read_only=True) as store:
        assert store.find(A) is not None
    assert sorted(os.listdir(f"{network}/index")) == ["cache.db"]


def test_arrays_and_texts_are_read_and_not_mapped(network: str) -> None:
    array, text = np.arange(300_000.0), "x" * 3_000_000
    before = mapping.live_maps()
    with Store(network) as store:
        store.put([A], array, {"function": "f"})
        store.put([B], [text], {"function": "f"})
    with Store(network) as store:
        record = store.find(A)
        assert record is not None
        found = store.load(record, A)
        assert mapping.live_maps() == before
        assert not found.flags.writeable
        # What another machine does to the file does not reach what was read.
        paths = Path(network).glob("objects/*/*.zarr/0")
        (data,) = [path for path in paths if path.stat().st_size == array.nbytes]
        data.chmod(0o600)
        os.truncate(data, 0)
        np.testing.assert_array_equal(found, array)


def test_writers_and_readers_at_once(network: str) -> None:
    with Store(network) as first, Store(network) as second:
        for number in range(20):
            key = Digest(bytes([number] * 32))
            (first, second)[number % 2].put([key], number, {"function": "f"})
            record = (second, first)[number % 2].find(key)
            assert record is not None
            assert second.load(record, key) == number


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_where_locks_do_not_work_results_are_computed_without(
    network: str, code: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import filelock

    def refuse(*_: Any, **__: Any) -> bool:
        raise OSError(code, os.strerror(code))

    with Store(network) as store:
        monkeypatch.setattr(filelock, "lock_descriptor", refuse)
        with caplog.at_level("INFO", "lazycache"), store.computing(A, "it") as claim:
            assert claim.record is None
            assert not claim.holds
            store.put([A], 1, {"function": "f"})
        assert "locks do not work" in caplog.text
        record = store.find(A)
        assert record is not None
        assert store.load(record, A) == 1


def test_objects_of_another_machine_are_compared_once(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(network) as store:
        store.put([A], np.arange(9000.0), {"function": "f"})
    (data,) = Path(network).glob("objects/*/*.zarr/0")
    date = data.stat().st_mtime_ns
    data.chmod(0o600)
    data.write_bytes(bytes(72_000))
    os.utime(data, ns=(date, date))
    monkeypatch.setattr(machine, "boot_id", lambda: "another machine")
    with Store(network) as store:
        record = store.find(A)
        assert record is not None
        with pytest.raises(Exception, match="not what was written"):
            store.load(record, A)
