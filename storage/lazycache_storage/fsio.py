"""The only module that touches files: publish, read, remove.

Every write goes through here, so that a test can cut the power between any
two of them: `step` is called with the name of each step and does nothing.
A missing file and a stale handle of a network disk are the same thing.
"""

import errno
import fcntl
import os
import stat as stat_bits
from collections.abc import Iterable

from lazycache_storage import modes
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.modes import OBJECT_MODE as OBJECT_MODE

Buffer = bytes | bytearray | memoryview

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})


def step(name: str) -> None:
    """Mark a point at which a crash must leave the store good; a test may put a fault here."""


def is_gone(error: OSError) -> bool:
    """Tell whether an error says that the file is not there."""
    return error.errno in _GONE


def stat(path: str, *, follow: bool = True) -> os.stat_result | None:
    """Return what ``os.stat`` does, or None if nothing is there."""
    try:
        return os.stat(path, follow_symlinks=follow)
    except OSError as error:
        if is_gone(error):
            return None
        raise


def make_folder(path: str, *, private: bool = False) -> None:
    """Make a folder and its parents, unless it is there; for those who may use the folder that it is in.

    Parameters
    ----------
    path : str
    private : bool
        Make it for this user only.
    """
    parent = os.path.dirname(path) or "."
    try:
        _make_in(parent, path, private)
    except FileNotFoundError:
        # Once more and not until it works: /proc says this of any name, whether its parent is there or not.
        os.makedirs(parent, exist_ok=True)
        _make_in(parent, path, private)


def _make_in(parent: str, path: str, private: bool) -> None:
    try:
        if private:
            os.mkdir(path, modes.FOLDER_MODE)
        else:
            modes.make_folder_in(parent, path, temporary_name(parent))
    except OSError:
        if not os.path.isdir(path):
            raise


def list_folder(path: str) -> list[str]:
    """Return the names in a folder, sorted; none if there is no such folder, or a link in its place."""
    try:
        return [] if os.path.islink(path) else sorted(os.listdir(path))
    except OSError as error:
        if is_gone(error):
            return []
        raise


def temporary_name(folder: str, suffix: str = "") -> str:
    """Return a path in `folder` that no other process or thread uses."""
    return f"{folder}/{os.getpid()}-{os.urandom(6).hex()}{suffix}"


def write_file(path: str, buffers: Iterable[Buffer], *, mode: int = OBJECT_MODE, sync: bool = False) -> int:
    """Write a new file and return its modification time in nanoseconds.

    The file is removed again if anything fails.

    Raises
    ------
    OSError
        As the operating system says, for example when the disk is full.
    """
    step("open file")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        for buffer in buffers:
            _write_all(descriptor, buffer)
            step("wrote buffer")
        os.fchmod(descriptor, modes.mode_in(os.path.dirname(path), mode))
        if sync:
            os.fsync(descriptor)
        return os.fstat(descriptor).st_mtime_ns
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, buffer: Buffer) -> None:
    view = memoryview(buffer).cast("B")
    written = os.write(descriptor, view)
    # Linux writes at most 0x7ffff000 bytes at once.
    while written < len(view):
        written += os.write(descriptor, view[written:])


def write_at(path: str, offset: int, buffer: Buffer) -> None:
    """Write into a file that is not in its place yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.lseek(descriptor, offset, os.SEEK_SET)
        _write_all(descriptor, buffer)
    finally:
        os.close(descriptor)


def write_atomically(path: str, data: bytes, *, mode: int = 0o644) -> None:
    """Put a small file in place so that readers see all of it or none, also after a power cut."""
    temporary = temporary_name(os.path.dirname(path), ".new")
    write_file(temporary, [data], mode=mode, sync=True)
    try:
        step("rename file")
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(source: str, target: str) -> bool:
    """Rename a finished file or folder to its final name.

    Returns
    -------
    bool
        False if the target was there already; then `source` is removed.
    """
    step("publish")
    # Another process may remove the folder of the target, if empty, at any moment.
    for _ in range(100):
        if os.path.lexists(target):
            remove(source)
            return False
        try:
            os.rename(source, target)
            step("published")
            return True
        except FileNotFoundError:
            if not os.path.lexists(source):
                raise
            make_folder(os.path.dirname(target))
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
    raise FileNotFoundError(errno.ENOENT, "its folder is removed again and again", target)


def replace(source: str, target: str) -> bool:
    """Put a finished file over another, or the files of a finished folder over those of another, one by one.

    At every moment each file is there, as it was or as it will be.

    Returns
    -------
    bool
        False, and nothing has happened, if they are not two files or two folders.
    """
    step("replace")
    kinds = {stat_bits.S_IFMT(os.lstat(path).st_mode) for path in (source, target)}
    if kinds == {stat_bits.S_IFREG}:
        os.replace(source, target)
    elif kinds == {stat_bits.S_IFDIR}:
        names = os.listdir(source)
        if not _replace_files(source, target, names):
            return False
        for name in set(os.listdir(target)) - set(names):
            remove(f"{target}/{name}")
        os.rmdir(source)
    else:
        return False
    step("replaced")
    return True


def _replace_files(source: str, target: str, names: list[str]) -> bool:
    present = [os.lstat(path).st_mode for name in names if os.path.lexists(path := f"{target}/{name}")]
    if any(stat_bits.S_ISDIR(mode) for mode in present) or any(os.path.isdir(f"{source}/{name}") for name in names):
        return False
    for name in names:
        os.replace(f"{source}/{name}", f"{target}/{name}")
        step("replaced file")
    return True


def move(source: str, target: str) -> bool:
    """Rename a file or folder; return False if it is gone."""
    step("move")
    try:
        os.rename(source, target)
    except OSError as error:
        if is_gone(error) and not os.path.lexists(source):
            return False
        raise
    step("moved")
    return True


def hold(path: str) -> int:
    """Return a descriptor; while it is open, `move_unless_held` leaves the folder where it is.

    Raises
    ------
    FileNotFoundError
        If the folder is gone, or goes just now.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        _lock(descriptor, fcntl.LOCK_SH)
        if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
            raise FileNotFoundError(errno.ENOENT, "the folder was moved", path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int, how: int) -> None:
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        # A file system without locks holds nothing; a chunk that is gone is an error of its own.
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EBADF, errno.EINVAL):
            raise


def move_unless_held(source: str, target: str) -> bool:
    """Rename a file or folder; return False if it is gone, or if somebody holds it."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        # No folder, none of ours, or no descriptor left: nobody can be known to hold it.
        return move(source, target)
    try:
        _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return move(source, target)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove a file or a whole folder; it is no error if it is gone, or goes meanwhile."""
    step("remove")
    try:
        if stat_bits.S_ISDIR(os.lstat(path).st_mode):
            import shutil

            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError as error:
        if not is_gone(error):
            raise
    step("removed")


def unlink(path: str) -> None:
    """Remove a file; it is no error if it is gone."""
    try:
        os.unlink(path)
    except OSError as error:
        if not is_gone(error):
            raise


def remove_empty_folder(path: str) -> bool:
    """Remove a folder if nothing is in it; return whether it was removed."""
    try:
        os.rmdir(path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) or is_gone(error):
            return False
        raise
    return True


def read_file(path: str, *, limit: int | None = None) -> bytes:
    """Return the bytes of a file.

    Parameters
    ----------
    path : str
    limit : int, optional
        The largest size that can be right.

    Raises
    ------
    CorruptEntryError
        If the file is missing or larger than `limit`.
    """
    try:
        # A named pipe in its place must not make the reader wait, nor a link lead out of the store.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if is_gone(error) or error.errno == errno.ELOOP:
            raise CorruptEntryError(path=path, reason="the file is missing") from error
        raise
    try:
        found = os.fstat(descriptor)
        size = found.st_size
        if not stat_bits.S_ISREG(found.st_mode):
            raise CorruptEntryError(path=path, reason="not a file")
        if limit is not None and size > limit:
            raise CorruptEntryError(path=path, reason=f"{size} bytes, expected at most {limit}")
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.readall()
    finally:
        os.close(descriptor)


def is_writable(path: str) -> bool:
    """Tell whether this process may make files in a folder."""
    return os.access(path, os.W_OK | os.X_OK)


def why_untrusted(path: str) -> str:
    """Return why code from a folder must not be run, or an empty text if it may be.

    It may be if the folder belongs to this user and nobody else can write to
    it. One that is not there holds no code.
    """
    found = stat(path)
    if found is None:
        return ""
    if found.st_uid != os.geteuid():
        return f"the folder belongs to user {found.st_uid}, and this process runs as {os.geteuid()}"
    if found.st_mode & 0o022:
        return f"others may write to the folder (mode {found.st_mode & 0o777:o}); run: chmod go-w {path}"
    return ""


def refuse_links(path: str, known: set[str] | None = None) -> None:
    """Raise CorruptEntryError if an object, or the folder that it is in, is a link.

    Parameters
    ----------
    path : str
    known : set of str, optional
        Folders that are known to be none; this one joins them.
    """
    folder = path[: path.rindex("/")]
    for part in (path,) if known is not None and folder in known else (folder, path):
        try:
            mode = os.lstat(part).st_mode
        except OSError as error:
            if is_gone(error):
                continue
            raise
        if stat_bits.S_ISLNK(mode):
            raise CorruptEntryError(path=part, reason="a link, which may lead anywhere, in place of an object")
    if known is not None:
        known.add(folder)


def drop_link(path: str) -> None:
    """Remove a link where a folder of ours should be."""
    if os.path.islink(path):
        unlink(path)
