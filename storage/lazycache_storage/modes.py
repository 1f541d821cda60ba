"""Modes of files and folders: private, or shared by a group, whatever the umask.

A store is shared if its folder has the set-group-id bit and its group may
write. Each folder hands that on to what is made in it, and also who may read,
so that no process needs to be told.
"""

import os
import stat

FOLDER_MODE = 0o700
OBJECT_MODE = 0o444

_SHARED = stat.S_ISGID | stat.S_IWGRP
_OTHERS = 0o005
_READERS = 0o055


def is_shared(folder: str) -> bool:
    """Tell whether a folder is one that a group writes to; one that is not there is not."""
    return _bits(folder) & _SHARED == _SHARED


def share_folder(path: str) -> None:
    """Let the group of a folder write to it, and to all that is made in it.

    Raises
    ------
    OSError
        If it belongs to somebody else.
    """
    os.chmod(path, _folder_mode(_bits(path) | _SHARED))


def make_folder_in(parent: str, path: str, temporary: str) -> None:
    """Make the folder `path` as its parent says; under the name `temporary` first, if its mode must be changed."""
    mode = _folder_mode(_bits(parent))
    if mode == FOLDER_MODE:
        os.mkdir(path, FOLDER_MODE)
        return
    os.mkdir(temporary, FOLDER_MODE)
    try:
        os.chmod(temporary, mode)
        os.rename(temporary, path)
    except BaseException:
        os.rmdir(temporary)
        raise


def mode_in(folder: str, mode: int) -> int:
    """Return the mode of a file that is complete, in `folder`, when it would be `mode` in a private one."""
    bits = _bits(folder)
    if bits & _SHARED != _SHARED:
        return mode
    return mode & (0o444 if bits & stat.S_IROTH else 0o440)


def settle(path: str) -> None:
    """Give an array in a folder, which others may have made, the modes of the store that it is in."""
    parent = os.path.dirname(path)
    mode = mode_in(parent, OBJECT_MODE)
    for name in os.listdir(path):
        os.chmod(f"{path}/{name}", mode)
    os.chmod(path, _folder_mode(_bits(parent)))


def share_file(path: str) -> None:
    """Let those who use a store read a file that was made there, and write to it if the store is shared."""
    folder = os.path.dirname(path)
    bits = _bits(folder)
    if bits & 0o077 and os.path.exists(path):
        group = 0o060 if bits & _SHARED == _SHARED else bits & stat.S_IRGRP
        os.chmod(path, 0o600 | group | (bits & stat.S_IROTH))


def open_for_all(path: str, flags: int, temporary: str) -> int:
    """Return a descriptor of a file that all who write to the store may lock; it is made if it is not there.

    `temporary` is a name for it in the same folder, under which it gets its mode.

    Raises
    ------
    OSError
        If it cannot be opened; FileNotFoundError if there is no folder for it.
    """
    # Of a folder that is not there, nothing is known: another user may make it in the next moment.
    if os.stat(os.path.dirname(path)).st_mode & _SHARED != _SHARED:
        return os.open(path, flags | os.O_CREAT, 0o600)
    while True:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            descriptor = os.open(temporary, flags | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.fchmod(descriptor, 0o660)
            os.link(temporary, path)
            return descriptor
        except FileExistsError:
            # Another process was faster.
            os.close(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        finally:
            os.unlink(temporary)


def _folder_mode(bits: int) -> int:
    """Return the mode of a folder in one with these bits."""
    if bits & _SHARED == _SHARED:
        return _SHARED | stat.S_IRWXU | stat.S_IRWXG | (bits & _OTHERS)
    return FOLDER_MODE | (bits & _READERS)


def _bits(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mode
    except FileNotFoundError:
        return 0
