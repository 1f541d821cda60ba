"""Looks at files: what a change is, and when a date cannot be trusted."""

import hashlib
import os
from pathlib import Path

import pytest

from lazycache import files
from lazycache.files import states
from lazycache_storage.arrayhash import bytes_digest
from lazycache_storage.digest import Digest
from lazycache_storage.record import FileState, Record, decode_record, encode_record

SECOND = 1_000_000_000
LONG_AGO = 1_424_000_000 * SECOND + 123_456_789


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = os.path.realpath(tmp_path / "foo.dat")
    Path(path).write_bytes(b"12345")
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    return path


def rewrite(path: str, content: bytes) -> None:
    """Change the bytes and keep the date."""
    status = os.stat(path)
    Path(path).write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("how", ["date", "stat", "content", "result"])
def test_an_untouched_file_is_unchanged(data: str, how: str) -> None:
    assert files.unchanged(files.look(data, how))


@pytest.mark.parametrize("how", ["date", "stat", "result"])
def test_a_hundred_nanoseconds_are_a_change(data: str, how: str) -> None:
    state = files.look(data, how)
    os.utime(data, ns=(LONG_AGO, LONG_AGO + 100))
    assert not files.unchanged(state)


def test_a_touched_file_with_equal_content_is_unchanged_by_content(data: str) -> None:
    state = files.look(data, "content")
    os.utime(data, ns=(LONG_AGO, LONG_AGO + 100))
    assert files.unchanged(state)
    Path(data).write_bytes(b"54321")
    assert not files.unchanged(state)


@pytest.mark.parametrize(("how", "seen"), [("date", False), ("stat", True), ("content", True)])
def test_what_sees_a_rewrite_that_restores_the_date(data: str, how: str, seen: bool) -> None:
    state = files.look(data, how)
    rewrite(data, b"54321")
    assert files.unchanged(state) is not seen


@pytest.mark.parametrize("how", ["date", "stat", "content", "result"])
def test_a_file_that_is_gone_or_a_folder_now_is_changed(data: str, how: str) -> None:
    state = files.look(data, how)
    os.unlink(data)
    assert not files.unchanged(state)
    os.mkdir(data)
    assert not files.unchanged(state)


def test_a_link_that_leads_elsewhere_is_changed(tmp_path: Path, data: str) -> None:
    other = tmp_path / "other.dat"
    other.write_bytes(b"x")
    link = os.path.join(os.path.realpath(tmp_path), "link.dat")
    os.symlink(data, link)
    state = files.look(link, "link")
    assert files.unchanged(state)
    os.unlink(link)
    os.symlink(other, link)
    assert not files.unchanged(state)


@pytest.mark.parametrize("tick", [SECOND // 100, SECOND, 2 * SECOND])
@pytest.mark.parametrize("written", [0, 1, SECOND // 300, SECOND // 2, SECOND - 1, SECOND + 7, 2 * SECOND - 1])
@pytest.mark.parametrize("waited", [0, 1, SECOND // 200, SECOND // 2, SECOND, 2 * SECOND, 4 * SECOND])
@pytest.mark.parametrize("lag", [0, SECOND // 100])
def test_a_state_is_young_while_a_rewrite_could_keep_its_date(tick: int, written: int, waited: int, lag: int) -> None:
    def clock(time: int) -> int:
        return (time - lag) // tick * tick

    start = 1_424_000_000 * SECOND + written
    looked = start + waited
    state = FileState("/data/foo.dat", "date", 5, clock(start))
    if clock(looked) == clock(start):
        assert files.is_young(state, looked)
    if waited >= 3 * SECOND:
        assert not files.is_young(state, looked)


def test_a_date_in_the_future_is_young(data: str) -> None:
    state = files.look(data, "date")
    assert not state.young
    assert files.is_young(state, LONG_AGO - 3600 * SECOND)


def test_a_young_file_is_confirmed_by_content_once(data: str) -> None:
    state = files.with_content(files.look(data, "date", now_ns=LONG_AGO + 1))
    assert state.young
    still_young = files.confirm(state, LONG_AGO + 2)
    assert still_young is not None
    assert still_young.young
    settled = files.confirm(state, LONG_AGO + 10 * SECOND)
    assert settled is not None
    assert not settled.young


def test_a_young_file_rewritten_within_its_date_is_not_confirmed(data: str) -> None:
    state = files.with_content(files.look(data, "date", now_ns=LONG_AGO + 1))
    rewrite(data, b"54321")
    assert files.unchanged(state), "the date alone does not show it"
    assert files.confirm(state, LONG_AGO + 10 * SECOND) is None


def test_a_young_content_is_compared_even_with_an_equal_stat(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = files.look(data, "content", now_ns=LONG_AGO + 1)
    assert state.young
    Path(data).write_bytes(b"54321")
    status = os.stat(data)
    # As if the clock had not ticked: neither the date nor the change date moved.
    seen = FileState(data, "content", 5, status.st_mtime_ns, status.st_ino, status.st_ctime_ns, state.content, True)
    assert not files.unchanged(seen)


@pytest.mark.parametrize("size", [0, 1, 65_536, (1 << 20) - 1, 1 << 20, (16 << 20), (16 << 20) + 1])
def test_the_content_digest_is_that_of_the_pieces(tmp_path: Path, size: int) -> None:
    content = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    path = tmp_path / "big"
    path.write_bytes(content)
    outer = hashlib.sha256(b"lazycache file content 1\0")
    for start in range(0, size, 16 << 20):
        outer.update(bytes_digest(content[start : start + (16 << 20)]))
    outer.update(size.to_bytes(8, "big"))
    assert files.content_digest(str(path)) == outer.digest()


def test_a_name_that_is_not_utf8_survives_a_record(tmp_path: Path) -> None:
    path = os.path.join(os.path.realpath(tmp_path), os.fsdecode(b"r\xe9sultat.dat"))
    Path(path).write_bytes(b"1")
    hashed = files.hash_by_file_date(path)
    assert hashed.value == path
    assert "r\\xe9sultat.dat" in hashed.text
    (state,) = decode_record(encode_record(Record(files=hashed.files))).files
    assert files.unchanged(state)
    os.utime(path, ns=(0, 0))
    assert not files.unchanged(state)


class DictMemo:
    def __init__(self) -> None:
        self.known: dict[bytes, bytes] = {}

    def memo_get(self, key: Digest) -> bytes | None:
        return self.known.get(key)

    def memo_put(self, key: Digest, value: bytes) -> None:
        self.known[key] = value


@pytest.fixture
def memo(monkeypatch: pytest.MonkeyPatch) -> DictMemo:
    memo = DictMemo()
    monkeypatch.setattr(states, "_content_memo", [lambda: memo])
    return memo


def test_content_is_read_once_per_stat(data: str, memo: DictMemo) -> None:
    first = files.look(data, "content")
    (key,) = memo.known
    assert memo.known[key] == first.content
    # What is remembered is believed, so a planted digest shows that the file was not read again.
    memo.known[key] = bytes(32)
    assert files.look(data, "content").content == bytes(32)
    os.utime(data, ns=(LONG_AGO, LONG_AGO + 1))
    assert files.look(data, "content").content == first.content


def test_the_content_of_a_young_file_is_not_remembered(data: str, memo: DictMemo) -> None:
    files.look(data, "content", now_ns=LONG_AGO + 1)
    assert not memo.known


@pytest.mark.parametrize("how", ["link", "date", "content", "result", "directory", "something else"])
@pytest.mark.parametrize("path", ["/dev/zero", "pipe"])
def test_what_never_ends_is_not_read_whatever_a_record_says(tmp_path: Path, path: str, how: str) -> None:
    if path == "pipe":
        path = str(tmp_path / "pipe")
        os.mkfifo(path)
    content = os.fsencode(path) if how == "link" else bytes(32)
    states.confirm(FileState(path, how, content=content, young=True))
    with pytest.raises(OSError, match="regular file"):
        files.content_digest(path)
