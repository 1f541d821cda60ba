import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from lazycache_storage import fsio
from lazycache_storage.errors import CorruptEntryError


def test_a_written_file_has_all_its_bytes_and_its_mode(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    mtime = fsio.write_file(path, [b"one", bytearray(b"two"), memoryview(b"three")])
    assert Path(path).read_bytes() == b"onetwothree"
    assert os.stat(path).st_mtime_ns == mtime
    assert stat.S_IMODE(os.stat(path).st_mode) == fsio.OBJECT_MODE


def test_a_file_that_is_there_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        fsio.write_file(str(tmp_path / "file"), [b"new"])
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize("at", ["open file", "wrote buffer", "rename file"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, at: str, monkeypatch: Any) -> None:
    def fail(name: str) -> None:
        if name == at:
            raise OSError(errno.EIO, "Input/output error")

    fsio.write_atomically(str(tmp_path / "file"), b"old")
    monkeypatch.setattr(fsio, "step", fail)
    with pytest.raises(OSError, match="Input/output"):
        fsio.write_atomically(str(tmp_path / "file"), b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_publishing_keeps_what_is_there(tmp_path: Path, kind: str) -> None:
    def make(name: str) -> str:
        path = tmp_path / name
        if kind == "folder":
            path.mkdir()
            (path / "data").write_text(name)
        else:
            path.write_text(name)
        return str(path)

    def read(path: Path) -> str:
        return (path / "data" if kind == "folder" else path).read_text()

    target = tmp_path / "objects" / "ab" / "name"
    assert fsio.publish(make("one"), str(target))
    assert not fsio.publish(make("two"), str(target))
    assert read(target) == "one"
    assert not (tmp_path / "two").exists()


def test_publishing_what_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fsio.publish(str(tmp_path / "gone"), str(tmp_path / "new" / "target"))


def test_publishing_makes_the_folder_again_when_others_remove_it(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "one").write_text("one")
    target = tmp_path / "folder" / "target"
    removals = iter(range(3))
    make = fsio.make_folder

    def make_and_lose(path: str) -> None:
        make(path)
        if next(removals, None) is not None:
            os.rmdir(path)

    monkeypatch.setattr(fsio, "make_folder", make_and_lose)
    assert fsio.publish(str(tmp_path / "one"), str(target))
    assert target.read_text() == "one"


def test_removing_takes_everything_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    fsio.remove(str(tmp_path / "tree"))
    fsio.remove(str(tmp_path / "tree"))
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    fsio.remove(str(tmp_path / "link"))
    assert os.listdir(tmp_path) == ["kept"]
    assert os.listdir(tmp_path / "kept") == ["file"]


def test_moving_what_is_gone_tells_so(tmp_path: Path) -> None:
    (tmp_path / "one").touch()
    assert fsio.move(str(tmp_path / "one"), str(tmp_path / "two"))
    assert not fsio.move(str(tmp_path / "one"), str(tmp_path / "three"))
    with pytest.raises(FileNotFoundError):
        fsio.move(str(tmp_path / "two"), str(tmp_path / "nowhere" / "two"))


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ESTALE, errno.ENOTDIR])
def test_a_stale_handle_is_a_missing_file(number: int, monkeypatch: Any) -> None:
    def stale(*arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    for name in ("stat", "open", "unlink", "listdir", "lstat"):
        monkeypatch.setattr(os, name, stale)
    assert fsio.stat("x") is None
    assert fsio.list_folder("x") == []
    fsio.unlink("x")
    fsio.remove("x")
    with pytest.raises(CorruptEntryError, match="missing"):
        fsio.read_file("x")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(100))
    assert fsio.read_file(str(tmp_path / "file"), limit=100) == bytes(100)
    with pytest.raises(CorruptEntryError, match="at most 99"):
        fsio.read_file(str(tmp_path / "file"), limit=99)


def test_names_in_a_folder_do_not_repeat() -> None:
    assert len({fsio.temporary_name("/x", ".zarr") for _ in range(1000)}) == 1000


def test_trust_is_for_folders_that_only_this_user_may_write(tmp_path: Path) -> None:
    for mode, is_trusted in ((0o700, True), (0o755, True), (0o775, False), (0o707, False)):
        tmp_path.chmod(mode)
        assert (fsio.why_untrusted(str(tmp_path)) == "") == is_trusted
    tmp_path.chmod(0o700)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a file system that takes no folder")
@pytest.mark.parametrize("private", [False, True])
def test_a_folder_where_none_can_be_is_an_error(private: bool) -> None:
    with pytest.raises(FileNotFoundError):
        fsio.make_folder("/proc/no-such-store", private=private)


@pytest.mark.parametrize("private", [False, True])
def test_parents_of_a_folder_are_made(tmp_path: Path, private: bool) -> None:
    fsio.make_folder(str(tmp_path / "a" / "b" / "c"), private=private)
    fsio.make_folder(str(tmp_path / "a" / "b" / "c"), private=private)
    assert (tmp_path / "a" / "b" / "c").is_dir()
