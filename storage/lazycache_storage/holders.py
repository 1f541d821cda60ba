"""Who holds a lock file, and whom that one waits for, as written in the file."""

import os
import time
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from lazycache_storage import fsio, layout

MOST_WAITS = 16
"""So many locks that a holder waits for are written down; nobody waits for more but in many threads at once."""

_READ_LIMIT = 4096
_MOST_HOLDERS = 1000


class Holder(msgspec.Struct, omit_defaults=True):
    """Who computes a key, as written in its lock file.

    Attributes
    ----------
    pid : int
    host : str
    what : str
        A short text of what is computed.
    since : float
        Seconds since the epoch.
    expected : float
        Seconds that it took last time; 0 if unknown.
    unstored : bool
        Whether it ended, and its result will not be in the store.
    waits : tuple of str
        The names of the lock files that it has been waiting for.
    """

    pid: int = 0
    host: str = ""
    what: str = ""
    since: float = 0.0
    expected: float = 0.0
    unstored: bool = False
    waits: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.pid:
            return "an unknown process"
        since = time.strftime("%H:%M:%S", time.localtime(self.since))
        last = f", which took {self.expected:.1f} s last time" if self.expected else ""
        return f"process {self.pid} on {self.host}, computing {self.what} since {since}{last}"


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Holder)


def write_holder(descriptor: int, holder: Holder, room: int) -> int:
    """Write who holds an open lock file over the first `room` bytes; return how many bytes there are now."""
    data = _encoder.encode(holder).ljust(room)
    os.pwrite(descriptor, data, 0)
    return len(data)


def read_holder(descriptor: int) -> Holder:
    """Return what an open lock file says; an empty holder if it says nothing."""
    try:
        return _decoder.decode(os.pread(descriptor, _READ_LIMIT, 0))
    except (msgspec.DecodeError, ValueError):
        # The holder was seen between taking the lock and writing its name.
        return Holder()


class Step(NamedTuple):
    """One holder on the way from a lock to another.

    Attributes
    ----------
    name : str
        The lock file.
    pid : int
    since : float
    what : str
    """

    name: str
    pid: int
    since: float
    what: str


def find_way(path: str, targets: Collection[str]) -> tuple[tuple[Step, ...], str]:
    """Return how the holder of a lock waits for one of the locks `targets`, over other holders; nothing if it does not.

    The files are read one after the other. Whoever finds the same way twice
    knows that all of it was there at once, between the two.

    Returns
    -------
    tuple of Step
        From the holder of `path` to the one who waits for a target.
    str
        That target.
    """
    folder = os.path.dirname(path)
    stack: list[tuple[tuple[Step, ...], str]] = [((), os.path.basename(path))]
    seen: set[str] = set()
    while stack and len(seen) < _MOST_HOLDERS:
        way, name = stack.pop()
        if name in seen or not layout.is_lock_name(name):
            continue
        seen.add(name)
        holder = _holder_of(f"{folder}/{name}")
        way = (*way, Step(name, holder.pid, holder.since, holder.what))
        for waits in holder.waits:
            if waits in targets:
                return way, waits
            stack.append((way, waits))
    return (), ""


def _holder_of(path: str) -> Holder:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if fsio.is_gone(error):
            return Holder()
        raise
    try:
        return read_holder(descriptor)
    finally:
        os.close(descriptor)
