"""What is told to people: warnings that point at their line, and lengths of time."""

from __future__ import annotations

import os
import sys
import warnings

from lazycache.errors import LazyCacheWarning

_PERIODS = ((86400.0 * 365.25, "y"), (86400.0, "d"), (3600.0, "h"), (60.0, "min"))
_OURS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, os.sep + "lazycache_storage" + os.sep)


def warn(message: str, category: type[LazyCacheWarning]) -> None:
    """Give a warning whose place is the nearest line outside lazycache.

    Parameters
    ----------
    message : str
    category : type of LazyCacheWarning
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def period_text(seconds: float) -> str:
    """Return a length of time for people.

    Examples
    --------
    >>> period_text(0.0123), period_text(75), period_text(90 * 86400)
    ('12 ms', '1.2 min', '90.0 d')
    """
    for length, unit in _PERIODS:
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.0f} ms"


def _is_ours(file: str) -> bool:
    # contextlib stands between a `with` of ours and its body.
    return file.startswith(_OURS[0]) or _OURS[1] in file or file.endswith(f"{os.sep}contextlib.py")
