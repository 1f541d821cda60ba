"""Files that no record needs: orphans, unfinished writes, trash and locks of the dead."""

import errno
import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lazycache_storage import fsio, layout, machine
from lazycache_storage.gc.survey import object_number
from lazycache_storage.index.accounts import tree_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lazycache_storage.store import Store

GRACE_SECONDS = 3600.0
"""An unfinished write is left alone for so long after its last change, whoever made it."""

REMOTE_GRACE_SECONDS = 7 * 86400.0
"""The same where other machines write too, whose processes cannot be looked up."""


BROKEN_GRACE_SECONDS = 30 * 86400.0
"""A broken index that was set aside is kept for so long, for those who want to look into it."""


class Leftover(NamedTuple):
    """A file or folder that may be removed.

    Attributes
    ----------
    path : str
    nbytes : int
    what : {"orphan", "unfinished", "trash", "lock", "index"}
    """

    path: str
    nbytes: int
    what: str


def object_paths(store_path: str) -> Iterator[str]:
    """Iterate over the paths of all objects in the order of their names."""
    objects = layout.folder(store_path, layout.OBJECTS_FOLDER)
    for prefix in fsio.list_folder(objects):
        for name in fsio.list_folder(f"{objects}/{prefix}"):
            yield f"{objects}/{prefix}/{name}"


def orphan_steps(store: "Store", needed: "NDArray[Any]") -> Generator[None, None, tuple[Leftover, ...]]:
    """Look for the objects whose numbers are not among `needed`, a folder at each step."""
    known = np.unique(needed)
    orphans: list[Leftover] = []
    objects = layout.folder(store.path, layout.OBJECTS_FOLDER)
    for prefix in fsio.list_folder(objects):
        paths = [f"{objects}/{prefix}/{name}" for name in fsio.list_folder(f"{objects}/{prefix}")]
        names = [(path, parsed[0]) for path in paths if (parsed := layout.parse_object_path(path)) is not None]
        numbers = np.array([object_number(name) for _, name in names], np.int64)
        for place in np.flatnonzero(~np.isin(numbers, known)).tolist():
            path = names[place][0]
            orphans.append(Leftover(path, tree_size(path), "orphan"))
        yield
    return tuple(orphans)


def find_leftovers(store: "Store", now: float | None = None) -> tuple[Leftover, ...]:
    """Return what killed processes left behind in ``tmp``, ``trash`` and ``locks``, and broken indexes set aside.

    What a running process may still be writing is not among it, nor a lock that is held.
    """
    now = time.time() if now is None else now
    trash = layout.folder(store.path, layout.TRASH_FOLDER)
    tmp = layout.folder(store.path, layout.TMP_FOLDER)
    locks = layout.folder(store.path, layout.LOCKS_FOLDER)
    is_shared = machine.is_network(store.path)
    found = [_leftover(f"{trash}/{name}", "trash") for name in fsio.list_folder(trash)]
    found += [
        _leftover(f"{tmp}/{name}", "unfinished")
        for name in fsio.list_folder(tmp)
        if is_abandoned(f"{tmp}/{name}", now, is_shared=is_shared)
    ]
    found += [
        _leftover(f"{locks}/{name}", "lock")
        for name in fsio.list_folder(locks)
        if now - _last_change(f"{locks}/{name}") > GRACE_SECONDS and name != layout.CREATE_LOCK_FILE
        if not _is_held(f"{locks}/{name}")
    ]
    found += [
        _leftover(f"{store.path}/{name}", "index")
        for name in fsio.list_folder(store.path)
        if name.startswith(layout.INDEX_FOLDER + layout.BROKEN_SUFFIX)
        and now - _last_change(f"{store.path}/{name}") > BROKEN_GRACE_SECONDS
    ]
    return tuple(found)


def is_abandoned(path: str, now: float, *, is_shared: bool) -> bool:
    """Return whether the writer of an unfinished file is gone, and has been for a while.

    The name begins with the number of the process that writes.
    """
    idle = now - _last_change(path)
    if is_shared:
        return idle > REMOTE_GRACE_SECONDS
    writer = os.path.basename(path).partition("-")[0]
    return idle > GRACE_SECONDS and not (writer.isdecimal() and _is_alive(int(writer)))


def remove_leftover(path: str) -> bool:
    """Remove what `find_leftovers` found; return False for a lock that somebody holds."""
    if path.endswith(".lock"):
        return _remove_lock(path)
    # Two collections that remove one folder get in each other's way.
    while os.path.lexists(path):
        fsio.remove(path)
    return True


def _remove_lock(path: str) -> bool:
    with _trying(path) as descriptor:
        if descriptor is None:
            return False
        # The name may belong to a newer file by now, which somebody else holds.
        if descriptor < 0 or os.fstat(descriptor).st_nlink:
            fsio.remove(path)
        return True


def _is_held(path: str) -> bool:
    with _trying(path) as descriptor:
        return descriptor is None


@contextmanager
def _trying(path: str) -> Iterator[int | None]:
    """Hold a lock file for the block and yield its descriptor; None if somebody else holds it, -1 if it is none."""
    from filelock import lock_descriptor

    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if not fsio.is_gone(error) and error.errno not in (errno.EISDIR, errno.ELOOP, errno.ENXIO):
            raise
        yield -1
        return
    try:
        yield descriptor if lock_descriptor(descriptor, blocking=False) else None
    finally:
        os.close(descriptor)


def _leftover(path: str, what: str) -> Leftover:
    return Leftover(path, tree_size(path), what)


def _last_change(path: str) -> float:
    """Return when anything in a file or folder changed last; endless future if it is gone."""
    times = [_mtime(path)]
    times += [_mtime(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names]
    return max(times)


def _mtime(path: str) -> float:
    found = fsio.stat(path)
    return float("inf") if found is None else found.st_mtime


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
