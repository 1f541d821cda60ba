"""Which values never change."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import pathlib
import re
import types
from typing import Any

import numpy as np

from lazycache.digests.registry import immutable_types
from lazycache_storage.digest import Digest

# Exact types: a subclass may have attributes of its own.
ATOMS: frozenset[type] = frozenset(
    {
        *(int, float, complex, bool, str, bytes, range, Digest),
        *(type(None), type(...), type(NotImplemented)),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        *(decimal.Decimal, fractions.Fraction, re.Pattern),
        *(pathlib.PurePosixPath, pathlib.PosixPath, pathlib.PureWindowsPath, pathlib.WindowsPath),
        *(types.FunctionType, types.BuiltinFunctionType, types.UnionType, np.ufunc, type),
        *(np.finfo, np.iinfo),
        *(kind for kind in np.sctypeDict.values() if kind not in (np.object_, np.void)),
    }
)


def is_immutable(value: Any) -> bool:
    """Return whether neither a value nor anything in it can change.

    Examples
    --------
    >>> is_immutable((1, "a", frozenset({2.5}))), is_immutable((1, []))
    (True, False)
    """
    if type(value) in ATOMS:
        return True
    todo = [value]
    seen: set[int] = set()
    while todo:
        part = todo.pop()
        kind = type(part)
        if kind in ATOMS or kind in immutable_types:
            continue
        if kind is tuple or kind is frozenset or (isinstance(part, tuple) and _is_namedtuple(kind)):
            if id(part) not in seen:
                seen.add(id(part))
                todo.extend(part)
        elif kind is slice:
            todo += (part.start, part.stop, part.step)
        elif not isinstance(part, (type, enum.Enum, np.dtype)):
            return False
    return True


def _is_namedtuple(kind: type) -> bool:
    return hasattr(kind, "_fields") and kind.__mro__[1] is tuple and kind.__dict__.get("__slots__") == ()
