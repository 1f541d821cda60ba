"""Files as read-only memory: mapped when large, read when small.

A map keeps a file descriptor (up to Python 3.12), so the live ones are
counted, and beyond a share of what the process may open, files are read.
"""

import errno
import mmap
import os
import resource
import stat
import weakref

import numpy as np
from numpy.typing import NDArray

from lazycache_storage import fsio
from lazycache_storage.errors import CorruptEntryError

MAP_ABOVE = 1 << 20
"""Files of more bytes are mapped."""

_MOST_MAPS = 32768
"""Half of what Linux lets a process map (vm.max_map_count)."""

_READ_AT_ONCE = 1 << 30

_live: set[weakref.ref[mmap.mmap]] = set()


def live_maps() -> int:
    """Return how many maps of this process are in use."""
    return len(_live)


def map_limit() -> int:
    """Return how many maps may be in use: half of the file descriptors."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_MAPS if soft == resource.RLIM_INFINITY else min(soft // 2, _MOST_MAPS)


_FEW_MAPS = 8
"""So many maps are within any limit, which then need not be asked for."""


def memory_limit() -> int:
    """Return the size of the largest array to have in memory: half of what this process may take."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += [resource.getrlimit(what)[0] for what in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min(limit for limit in limits if limit != resource.RLIM_INFINITY) // 2


def open_buffer(path: str, nbytes: int, *, use_map: bool = True) -> tuple[bytes | NDArray[np.uint8] | mmap.mmap, int]:
    """Return the content of a file as a read-only buffer, and the time of its last change.

    Parameters
    ----------
    path : str
    nbytes : int
        The size that the file must have.
    use_map : bool
        False where other machines may change the file: then it is read.

    Raises
    ------
    CorruptEntryError
        If the file is missing, no file, or of another size.
    OSError
        If the operating system cannot read it.
    """
    try:
        # A named pipe in its place must not make the reader wait, nor a link lead out of the store.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if fsio.is_gone(error) or error.errno == errno.ELOOP:
            raise CorruptEntryError(path=path, reason=f"the file is missing ({error.strerror})") from error
        raise
    try:
        found = os.fstat(descriptor)
        if found.st_size != nbytes or not stat.S_ISREG(found.st_mode):
            raise CorruptEntryError(path=path, reason=f"{found.st_size} bytes, expected {nbytes}")
        if nbytes <= MAP_ABOVE:
            data = os.read(descriptor, nbytes)
            if len(data) == nbytes:
                return data, found.st_mtime_ns
            os.lseek(descriptor, 0, os.SEEK_SET)
        elif use_map and (len(_live) < _FEW_MAPS or len(_live) < map_limit()):
            mapped = _map(descriptor, nbytes)
            if mapped is not None:
                return mapped, found.st_mtime_ns
        return _read(descriptor, nbytes, path), found.st_mtime_ns
    finally:
        os.close(descriptor)


def _map(descriptor: int, nbytes: int) -> mmap.mmap | None:
    try:
        mapped = mmap.mmap(descriptor, nbytes, access=mmap.ACCESS_READ)
    except OSError as error:
        # No descriptor or no map left, or a file system without maps: read instead.
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENODEV):
            return None
        raise
    _live.add(weakref.ref(mapped, _live.discard))
    return mapped


def _read(descriptor: int, nbytes: int, path: str) -> NDArray[np.uint8]:
    # Not a bytearray: that would be filled with zeros first.
    view = np.empty(nbytes, np.uint8).data
    position = 0
    while position < nbytes:
        count = os.readv(descriptor, [view[position : position + _READ_AT_ONCE]])
        if not count:
            raise CorruptEntryError(path=path, reason=f"ends after {position} bytes, expected {nbytes}")
        position += count
    # Over a read-only view, since the owner of the memory could make it writable.
    return np.frombuffer(view.toreadonly(), np.uint8)
