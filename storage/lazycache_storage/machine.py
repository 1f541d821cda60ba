"""What is known of this machine and its disks: name, boot, file systems, free space."""

import functools
import os
from typing import NamedTuple

_NETWORK_FILE_SYSTEMS = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "gfs2", "glusterfs"),
        *("gpfs", "lustre", "nfs", "nfs4", "ocfs2", "pvfs2", "smb3"),
    }
)

_LOW_BYTES = 1 << 30
_LOW_SHARE = 20


class Space(NamedTuple):
    """How full the disk of a folder is.

    Attributes
    ----------
    free : int
        Bytes that this user can still write.
    total : int
        Bytes of the whole disk.
    """

    free: int
    total: int

    @property
    def is_low(self) -> bool:
        """Whether less than a gigabyte is free, or a twentieth of a small disk.

        Examples
        --------
        >>> Space(free=2 << 30, total=100 << 30).is_low, Space(free=100 << 20, total=100 << 30).is_low
        (False, True)
        >>> Space(free=10 << 20, total=64 << 20).is_low
        False
        """
        return self.free < min(_LOW_BYTES, self.total // _LOW_SHARE)


def space(path: str) -> Space:
    """Return how full the disk of `path` is."""
    found = os.statvfs(path)
    return Space(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)


@functools.cache
def boot_id() -> str:
    """Return a text that changes when the machine starts anew; empty if unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read().decode().strip()
    except OSError:
        return ""


@functools.cache
def host() -> str:
    """Return the name of this machine."""
    return os.uname().nodename


def file_system(path: str, mounts: str = "/proc/mounts") -> str:
    """Return the type of the file system that holds `path`; empty if unknown.

    Examples
    --------
    >>> file_system("/proc/self") in ("proc", "")
    True
    """
    try:
        with open(mounts, "rb") as file:
            lines = os.fsdecode(file.read()).splitlines()
    except OSError:
        return ""
    path = os.path.realpath(path) + "/"
    best, found = -1, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        # The kernel writes a space in a mount point as \040.
        mount = fields[1].replace("\\040", " ").rstrip("/") + "/"
        if path.startswith(mount) and len(mount) >= best:
            best, found = len(mount), fields[2]
    return found


def is_network(path: str) -> bool:
    """Tell whether `path` is on a file system that other machines may change."""
    return file_system(path) in _NETWORK_FILE_SYSTEMS
