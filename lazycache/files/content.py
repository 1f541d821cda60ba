"""The digest of a file's bytes, read in pieces of constant size."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from io import FileIO

from lazycache_storage.arrayhash import bytes_digest
from lazycache_storage.digest import Digest

_DOMAIN = b"lazycache file content 1\0"
_PIECE = 16 << 20
_SMALL = 1 << 20


def content_digest(path: str) -> Digest:
    """Return the digest of the bytes in the file `path`.

    The file is read and not mapped, since a map of a file that somebody cuts
    short kills the process. Threads hash each piece; none outlives the call.

    Raises
    ------
    OSError
        If it cannot be read, or is no regular file.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, name) for name in "ab"]
    ...     sizes = [pathlib.Path(path).write_text("hello") for path in paths]
    ...     content_digest(paths[0]) == content_digest(paths[1])
    True
    """
    outer = hashlib.sha256(_DOMAIN)
    size = 0
    with FileIO(path, opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            # Devices and pipes never end.
            raise OSError(errno.EINVAL, "a regular file was expected, this is a device, pipe or socket", path)
        for piece in _pieces(file):
            outer.update(bytes_digest(piece))
            size += len(piece)
    outer.update(size.to_bytes(8, "big"))
    return Digest(outer.digest())


def _open_at_once(path: str, flags: int) -> int:
    # Some files of the kernel would keep a reader waiting.
    return os.open(path, flags | os.O_NONBLOCK)


def _pieces(file: FileIO) -> Iterator[memoryview]:
    if os.fstat(file.fileno()).st_size < _SMALL:
        # A buffer of one piece would cost more than reading a small file.
        whole = file.readall()
        if whole is None:
            raise BlockingIOError(errno.EAGAIN, "there is nothing to read now", file.name)
        data = memoryview(whole)
        for start in range(0, len(data), _PIECE):
            yield data[start : start + _PIECE]
        return
    view = memoryview(bytearray(_PIECE))
    while filled := _fill(file, view):
        yield view[:filled]


def _fill(file: FileIO, view: memoryview) -> int:
    filled = 0
    while filled < len(view) and (count := file.readinto(view[filled:])):
        filled += count
    return filled
