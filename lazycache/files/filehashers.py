"""Hashers of arguments that name files or folders."""

from __future__ import annotations

import os
import struct
import time
from typing import Any

from lazycache.digests.names import qualified_name
from lazycache.files.hashers import ArgumentHasher, HashedArgument, tagged_token
from lazycache.files.states import look, look_into
from lazycache_storage.record import FileState

_NUMBERS = struct.Struct(">Qq")
_STAT_NUMBERS = struct.Struct(">QqQq")


class FileHasher(ArgumentHasher):
    """The argument names a file or folder; the function gets its real path."""

    def __call__(self, value: Any) -> HashedArgument:
        """Return what stands for the file `value` in a key.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        TypeError
            If `value` is not a path.
        """
        if not isinstance(value, str | bytes | os.PathLike):
            raise TypeError(
                f"{self.name} takes a path (str, bytes or os.PathLike), None, or lists, tuples and dicts of these; "
                f"got {type(value).__name__}"
            )
        # fsdecode first: the real path of bytes would be bytes.
        absolute = os.path.abspath(os.fsdecode(value))
        path = os.path.realpath(absolute)
        states, token, text = self.examine(path)
        if path != absolute:
            states += (look(absolute, "link"),)
        handed = _like(value, path)
        if type(handed) is not str:
            # A function sees whether it gets a Path, bytes or a str.
            token = tagged_token(b"path as", qualified_name(type(handed)).encode() + b"\0" + token)
        return HashedArgument(handed, token, text, states, self.name)

    def examine(self, path: str) -> tuple[tuple[FileState, ...], bytes, str]:
        """Return the states, the token and the text of a real path."""
        raise NotImplementedError


def _like(value: Any, path: str) -> Any:
    if isinstance(value, str):
        return path
    if isinstance(value, bytes):
        return os.fsencode(path)
    # A DirEntry, say, cannot be made of a path.
    return type(value)(path) if hasattr(value, "joinpath") else path


class ByDate(FileHasher):
    """Hash a file by its path, size and modification date (in nanoseconds).

    The function gets ``os.path.realpath(os.path.abspath(filename))``; a Path
    stays a Path. `relative_to` makes the rule for data folders that move.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> from lazycache.files import hash_by_file_date
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run7.dat")
    ...     _ = pathlib.Path(path).write_text("1 2 3")
    ...     before = hash_by_file_date(path)
    ...     os.utime(path, ns=(0, 1))
    ...     hash_by_file_date(path).token == before.token
    False
    """

    def __init__(self, name: str, root: str | None = None) -> None:
        super().__init__(name)
        self._root = root

    def relative_to(self, root: str | os.PathLike[str]) -> ByDate:
        """Return the same rule with paths counted from the folder `root`.

        The folder may then be moved, with its dates kept, and every result is
        still found. A file outside of `root` is a ValueError at the call.
        """
        text = os.fspath(root)
        return ByDate(f"{self.name}.relative_to({text!r})", os.path.abspath(text))

    def examine(self, path: str) -> tuple[tuple[FileState, ...], bytes, str]:
        """Return the states, the token and the text of a real path."""
        state = look(path, "date")
        numbers = _NUMBERS.pack(state.size, state.mtime_ns)
        if self._root is None:
            token = tagged_token(b"date", numbers + os.fsencode(path))
        else:
            token = tagged_token(b"relative date", numbers + os.fsencode(_relative(path, self._root)))
        return (state,), token, _text(path, state.mtime_ns)


def _relative(path: str, root: str) -> str:
    relative = os.path.relpath(path, os.path.realpath(root))
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        raise ValueError(f"{path} is not below {root}")
    return relative


def _text(path: str, mtime_ns: int) -> str:
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(mtime_ns // 1_000_000_000))
    return f'<file "{_shown(path)}" modified {date}>'


def _shown(path: str) -> str:
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


class ByStat(FileHasher):
    """Hash a file by its path, size, date, inode and change date.

    This sees what a date alone does not: a file whose old date was restored
    (``cp -p``, ``rsync -t``, ``tar``), or two files that were swapped. The
    price is that a copy or a renamed and restored file is a new one.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> from lazycache.files import hash_by_file_date, hash_by_file_stat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, other = os.path.join(folder, "run7.dat"), os.path.join(folder, "other")
    ...     for name, text in ((path, "1 2 3"), (other, "4 5 6")):
    ...         _ = pathlib.Path(name).write_text(text)
    ...         os.utime(name, ns=(0, 1))
    ...     by_date, by_stat = hash_by_file_date(path).token, hash_by_file_stat(path).token
    ...     os.replace(other, path)
    ...     hash_by_file_date(path).token == by_date, hash_by_file_stat(path).token == by_stat
    (True, False)
    """

    def examine(self, path: str) -> tuple[tuple[FileState, ...], bytes, str]:
        """Return the states, the token and the text of a real path."""
        state = look(path, "stat")
        numbers = _STAT_NUMBERS.pack(state.size, state.mtime_ns, state.inode, state.ctime_ns)
        return (state,), tagged_token(b"stat", numbers + os.fsencode(path)), _text(path, state.mtime_ns)


class ByContent(FileHasher):
    """Hash a file by its bytes; neither its path nor its date counts.

    Digests of files that are not young are remembered in the store by their
    stat, so that a big file is read once.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> from lazycache.files import hash_by_file_content
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, name) for name in "ab"]
    ...     sizes = [pathlib.Path(path).write_text("same") for path in paths]
    ...     hash_by_file_content(paths[0]).token == hash_by_file_content(paths[1]).token
    True
    """

    def examine(self, path: str) -> tuple[tuple[FileState, ...], bytes, str]:
        """Return the states, the token and the text of a real path."""
        state = look(path, "content")
        text = f'<file "{_shown(path)}" with content {state.content[:3].hex()}>'
        return (state,), tagged_token(b"content", state.content), text


class ByFolder(FileHasher):
    """Hash a folder by its path and by the names, sizes and dates of all that is below it.

    Links are followed, except those that lead nowhere or back up. `by_content`
    reads the files instead, and then neither the path nor the dates count.

    Examples
    --------
    >>> import os, pathlib, tempfile
    >>> from lazycache.files import hash_directory
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     before = hash_directory(folder)
    ...     _ = pathlib.Path(os.path.join(folder, "new.dat")).write_text("1")
    ...     hash_directory(folder).token == before.token
    False
    """

    def __init__(self, name: str, how: str = "directory") -> None:
        super().__init__(name)
        self._how = how

    @property
    def by_content(self) -> ByFolder:
        """The same rule with the bytes of the files in place of path and dates."""
        return ByFolder(f"{self.name}.by_content", "directory content")

    def examine(self, path: str) -> tuple[tuple[FileState, ...], bytes, str]:
        """Return the states, the token and the text of a real path."""
        if not os.path.isdir(path):
            # Raises the error that says what is there, or that nothing is.
            look(path, self._how)
        if self._how == "directory":
            states = look_into(path)
            token = tagged_token(b"directory", states[0].content + os.fsencode(path))
        else:
            states = (look(path, self._how),)
            token = tagged_token(b"directory content", states[0].content[32:])
        return states, token, f'<folder "{_shown(path)}" with {states[0].size} entries>'
