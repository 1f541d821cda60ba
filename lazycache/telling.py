"""Warnings that point at the user's line, not at ours."""

from __future__ import annotations

import os
import sys
import warnings

from lazycache.errors import LazyCacheWarning

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


def _is_ours(file: str) -> bool:
    # contextlib stands between a `with` of ours and its body.
    return file.startswith(_OURS[0]) or _OURS[1] in file or file.endswith(f"{os.sep}contextlib.py")
