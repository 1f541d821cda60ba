"""What a file looks like, and whether it still does.

A `FileState` is what one look at a file saw. Dates are integer nanoseconds:
floats would merge dates that differ.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec.structs import replace

from lazycache.files import folders
from lazycache.files.content import content_digest
from lazycache_storage.digest import Digest
from lazycache_storage.record import FileState

_SECOND = 1_000_000_000
_SLACK_NS = _SECOND // 2
"""Covers the kernel's clock tick (1 to 10 ms) and a file server whose clock is a little behind ours."""

_MEMO_DOMAIN = b"lazycache content memo 1\0"
_NUMBERS = struct.Struct(">QqQq")


class ContentMemo(Protocol):
    """Where content digests are remembered; a `Store` is one."""

    def memo_get(self, key: Digest) -> bytes | None:
        """Return what was put under `key`, or None."""

    def memo_put(self, key: Digest, value: bytes) -> None:
        """Remember `value` under `key`."""


_content_memo: list[Callable[[], ContentMemo | None]] = []


def register_content_memo(provider: Callable[[], ContentMemo | None]) -> None:
    """Say where content digests are remembered; called once, by `lazycache.caching`.

    `provider` is asked at every use, so that it can follow the default cache;
    None from it means that nothing is remembered.
    """
    _content_memo[:] = [provider]


def look(path: str, how: str = "date", *, now_ns: int | None = None) -> FileState:
    """Return what `path` looks like now.

    Parameters
    ----------
    path : str
        An absolute path without links, as `os.path.realpath` gives it.
    how : {"date", "stat", "content", "directory", "directory content", "link", "result"}
        What will be compared: size and date; these, inode and change date;
        the bytes; the listing of a folder, with dates or with bytes; where a
        link leads; or, for a path that a function returned, size and date of
        a file and the listing of a folder.
    now_ns : int, optional
        The time of the look, in nanoseconds since the epoch.

    Raises
    ------
    FileNotFoundError
        If there is nothing at `path`.
    IsADirectoryError
        If there is a folder, and `how` is for files.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(os.path.realpath(folder), "a.txt")
    ...     _ = pathlib.Path(path).write_text("hello")
    ...     state = look(path, "date")
    ...     print(state.size, unchanged(state))
    ...     os.utime(path, ns=(0, 0))
    ...     print(unchanged(state))
    5 True
    False
    """
    if how == "link":
        return FileState(path_to_text(path), how, content=os.fsencode(os.path.realpath(path)))
    if now_ns is None:
        now_ns = time.time_ns()
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        if how.startswith("directory") or (how == "result" and stat.S_ISDIR(status.st_mode)):
            return _look_at_folder(path, how, now_ns)
        raise _not_a_file(path, status.st_mode)
    if how.startswith("directory"):
        raise NotADirectoryError(errno.ENOTDIR, "a folder was expected, this is a file", path)
    return _state_of_file(path, how, status, now_ns)


def _state_of_file(path: str, how: str, status: os.stat_result, now_ns: int) -> FileState:
    text = path if path.isascii() else path_to_text(path)
    size, mtime_ns = status.st_size, status.st_mtime_ns
    young = _is_young(mtime_ns, now_ns)
    if how == "date" or how == "result":
        return FileState(text, how, size, mtime_ns, young=young)
    state = FileState(text, how, size, mtime_ns, status.st_ino, status.st_ctime_ns, young=young)
    return with_content(state) if how == "content" else state


def _look_at_folder(path: str, how: str, now_ns: int) -> FileState:
    entries = folders.list_folder(path)
    how = "directory" if how == "result" else how
    by_content = how == "directory content"
    content: bytes = folders.listing_digest(entries, by_stat=by_content)
    young = False
    if by_content:
        content += folders.content_listing_digest(path, entries)
        young = any(_is_young(entry.mtime_ns, now_ns) for entry in entries)
    return FileState(path_to_text(path), how, len(entries), content=content, young=young)


def look_into(path: str) -> tuple[FileState, ...]:
    """Return the state of a folder by its dates, and that of each young file in it.

    The listing shows whatever comes, goes, or changes its date; the young
    files are those that could change without.
    """
    now_ns = time.time_ns()
    entries = folders.list_folder(path)
    listing = FileState(path_to_text(path), "directory", len(entries), content=folders.listing_digest(entries))
    young = [entry.name for entry in entries if entry.kind == b"f" and _is_young(entry.mtime_ns, now_ns)]
    return listing, *[look(os.path.join(path, os.fsdecode(name)), "date", now_ns=now_ns) for name in young]


def unchanged(state: FileState) -> bool:
    """Return whether the file still looks as it did.

    This is one ``os.stat`` for a date; contents are read only when the date, or
    the youth of the state, leaves doubt. A young state of a date is taken at
    its word here: use `confirm` for it.
    """
    path = text_to_path(state.path)
    how = state.how
    try:
        if how == "link":
            return os.fsencode(os.path.realpath(path)) == state.content
        if how.startswith("directory"):
            return _folder_unchanged(state, path)
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return False
        same_date = status.st_size == state.size and status.st_mtime_ns == state.mtime_ns
        if how == "date" or how == "result":
            return same_date
        same_stat = same_date and status.st_ino == state.inode and status.st_ctime_ns == state.ctime_ns
        if how == "stat" or (same_stat and not state.young):
            return same_stat
        return status.st_size == state.size and content_digest(path) == state.content
    except OSError:
        # What cannot be looked at any more is not as it was.
        return False


def _folder_unchanged(state: FileState, path: str) -> bool:
    entries = folders.list_folder(path)
    if len(entries) != state.size:
        return False
    by_content = state.how == "directory content"
    same_listing = folders.listing_digest(entries, by_stat=by_content) == state.content[:32]
    if not by_content or (same_listing and not state.young):
        return same_listing
    return folders.content_listing_digest(path, entries) == state.content[32:]


def is_young(state: FileState, now_ns: int) -> bool:
    """Return whether a rewrite at `now_ns` could leave the date as it is.

    The coarsest clock that the date allows is assumed: 2 s for an even second
    (FAT), 1 s for a whole one (ext3, HFS+, old NFS). Dates in the future,
    from a file server with a clock ahead of ours, count as young.

    Examples
    --------
    >>> state = FileState("/data/run7.dat", "date", 100, 1_000_000_000)
    >>> is_young(state, 2_200_000_000), is_young(state, 2_600_000_000)
    (True, False)
    """
    return _is_young(state.mtime_ns, now_ns)


def _is_young(mtime_ns: int, now_ns: int) -> bool:
    tick = 0 if mtime_ns % _SECOND else _SECOND if mtime_ns % (2 * _SECOND) else 2 * _SECOND
    return mtime_ns > now_ns - tick - _SLACK_NS


def with_content(state: FileState) -> FileState:
    """Return `state` with the digest of the content, read now.

    The digest of a file that is not young is remembered by its stat. Take it
    before the function reads the file: then a rewrite in between makes the
    next look-up a miss, and never a stale hit.
    """
    if state.content:
        return state
    return replace(state, content=_remembered_content(state))


def mark_young(states: Iterable[FileState], in_key: bool) -> tuple[FileState, ...]:
    """Return states as a record keeps them: young ones with their content digest.

    Parameters
    ----------
    states : iterable of FileState
    in_key : bool
        Whether size and date are part of the key of the record.
    """
    now = time.time_ns()
    marked = []
    for state in states:
        if state.how == "age":
            marked.append(replace(state, in_key=in_key))
            continue
        young = state.young or is_young(state, now)
        if young:
            state = with_content(state)
        marked.append(replace(state, young=young, content=bytes(state.content), in_key=in_key))
    return tuple(marked)


def confirm(state: FileState, now_ns: int | None = None) -> FileState | None:
    """Compare the content of a young file with what it was.

    Returns
    -------
    FileState or None
        None if the file changed. Otherwise the state, without the mark of
        youth as soon as a later rewrite would show in the date.
    """
    if not state.young or state.how == "link":
        return state if unchanged(state) else None
    if now_ns is None:
        now_ns = time.time_ns()
    if not unchanged(state):
        return None
    if state.how not in ("content", "directory content") and content_digest(text_to_path(state.path)) != state.content:
        return None
    if state.how == "directory content":
        return _look_at_folder(text_to_path(state.path), state.how, now_ns)
    if is_young(state, now_ns):
        return state
    return replace(state, young=False)


def _remembered_content(state: FileState) -> Digest:
    path = text_to_path(state.path)
    memo = _content_memo[0]() if _content_memo else None
    if memo is None or state.young or not state.inode:
        return content_digest(path)
    numbers = _NUMBERS.pack(state.size, state.mtime_ns, state.inode, state.ctime_ns)
    key = Digest(hashlib.sha256(_MEMO_DOMAIN + numbers + os.fsencode(path)).digest())
    known = memo.memo_get(key)
    if known is not None and len(known) == 32:
        return Digest(known)
    digest = content_digest(path)
    if unchanged(replace(state, content=digest)):
        memo.memo_put(key, digest)
    return digest


def _not_a_file(path: str, mode: int) -> OSError:
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, "a file was expected, this is a folder (see hash_directory)", path)
    return OSError(errno.EINVAL, "a regular file was expected, this is a device, pipe or socket", path)


def path_to_text(path: str) -> str:
    """Return `path` in a form that UTF-8 can hold; `text_to_path` goes back."""
    try:
        path.encode()
    except UnicodeEncodeError:
        # No path holds a NUL, so this form is never taken for another path.
        return "\0" + os.fsencode(path).hex()
    return path


def text_to_path(text: str) -> str:
    """Return the path that `path_to_text` made `text` of."""
    return os.fsdecode(bytes.fromhex(text[1:])) if text.startswith("\0") else text
