"""What became of a file that a result depends on, in words."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from lazycache import files

if TYPE_CHECKING:
    from lazycache_storage.record import FileState


def file_change(state: FileState) -> str:
    """Return how a file differs from what it was when a result was made of it; nothing if it does not.

    A young file is compared by content, as a look-up would.
    """
    path = shown_path(state.path)
    if state.how == "age":
        until = _date(state.mtime_ns)
        return (
            f"the result of {path} in it is older than its max_age: it counted until {until}" if _is_over(state) else ""
        )
    try:
        if files.confirm(state) is not None:
            return ""
        now = files.look(files.text_to_path(state.path), state.how)
    except FileNotFoundError:
        return f"file {path} is gone"
    except OSError as error:
        return f"file {path} cannot be looked at: {error.strerror}"
    except ValueError:
        # Somebody else may have written this record.
        return f"{path} is no path"
    if state.how == "link":
        return f"the link {path} leads elsewhere"
    if state.how.startswith("directory"):
        return f"what is in the folder {path} is not as it was (entries: {state.size} then, {now.size} now)"
    if (state.size, state.mtime_ns) == (now.size, now.mtime_ns):
        return f"file {path} has another content or place on disk, with the same size and date"
    was, looks = (f"{seen.size} bytes of {_date(seen.mtime_ns)}" for seen in (state, now))
    if was == looks:
        was, looks = (
            f"{seen.size} bytes of {_date(seen.mtime_ns)}.{seen.mtime_ns % 10**9:09}" for seen in (state, now)
        )
    return f"file {path} was {was}, is {looks}"


def shown_path(path: str) -> str:
    """Return a path as a record keeps it in a form that can be printed."""
    try:
        return os.fsencode(files.text_to_path(path)).decode("utf-8", "backslashreplace")
    except ValueError:
        return ascii(path)


def _is_over(state: FileState) -> bool:
    return state.mtime_ns <= time.time_ns()


def _date(nanoseconds: int) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(nanoseconds / 1e9))
    except (OverflowError, ValueError, OSError):
        # Dates from somebody else may be beyond all years.
        return "?"
