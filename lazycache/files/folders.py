"""The listing of a folder: what is in it, how large, and when it was changed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from lazycache.files.content import content_digest
from lazycache_storage.digest import Digest

_DOMAIN = b"lazycache folder listing 1\0"


class Entry(NamedTuple):
    """One file, folder or link below a folder.

    Attributes
    ----------
    name : bytes
        The path from the folder that was listed.
    kind : bytes
        b"f" file, b"d" folder, b"l" link that was not followed, b"o" other.
    size, mtime_ns : int
        Of a file; else 0.
    target : bytes
        Where a link leads that was not followed.
    inode, ctime_ns : int
        Of a file; else 0.
    """

    name: bytes
    kind: bytes
    size: int = 0
    mtime_ns: int = 0
    target: bytes = b""
    inode: int = 0
    ctime_ns: int = 0


def list_folder(root: str) -> list[Entry]:
    """Return everything below `root`, sorted by name.

    Links are followed, except those that lead nowhere or back up.

    Raises
    ------
    OSError
        If a folder cannot be read, or something vanishes meanwhile.
    """
    top = os.stat(root)
    entries: list[Entry] = []
    pending: list[tuple[bytes, bytes, frozenset[tuple[int, int]]]] = [
        (os.fsencode(root), b"", frozenset({(top.st_dev, top.st_ino)}))
    ]
    while pending:
        folder, prefix, above = pending.pop()
        with os.scandir(folder) as found:
            for item in found:
                entry, identity = _entry(item, prefix + item.name, above)
                entries.append(entry)
                if identity is not None:
                    pending.append((item.path, entry.name + b"/", above | {identity}))
    entries.sort()
    return entries


def _entry(
    item: os.DirEntry[bytes], name: bytes, above: frozenset[tuple[int, int]]
) -> tuple[Entry, tuple[int, int] | None]:
    try:
        status = item.stat()
    except OSError:
        if not item.is_symlink():
            raise
        return Entry(name, b"l", target=os.readlink(item.path)), None
    if stat.S_ISDIR(status.st_mode):
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            return Entry(name, b"l", target=os.readlink(item.path)), None
        return Entry(name, b"d"), identity
    if stat.S_ISREG(status.st_mode):
        return Entry(name, b"f", status.st_size, status.st_mtime_ns, b"", status.st_ino, status.st_ctime_ns), None
    return Entry(name, b"o"), None


def listing_digest(entries: Iterable[Entry], *, by_stat: bool = False) -> Digest:
    """Return the digest of names, sizes and dates; by stat, of inodes and change dates too."""
    hasher = hashlib.sha256(_DOMAIN + (b"stats\0" if by_stat else b"dates\0"))
    for entry in entries:
        # No name holds a NUL, so the parts of an entry cannot run into each other.
        hasher.update(b"%b\0%b\0%d\0%d\0%b\0" % entry[:5])
        if by_stat:
            hasher.update(b"%d\0%d\0" % entry[5:])
    return Digest(hasher.digest())


def content_listing_digest(root: str, entries: Iterable[Entry]) -> Digest:
    """Return the digest of names and contents; reads every file."""
    hasher = hashlib.sha256(_DOMAIN + b"contents\0")
    top = os.fsencode(root)
    for entry in entries:
        content = content_digest(os.fsdecode(os.path.join(top, entry.name))) if entry.kind == b"f" else b""
        hasher.update(b"%b\0%b\0%b\0%d\0%b" % (entry.name, entry.kind, entry.target, len(content), content))
    return Digest(hasher.digest())
