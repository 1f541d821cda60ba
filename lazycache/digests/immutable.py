"""Which values never change."""

from __future__ import annotations

import datetime
import enum
import re
import types
from typing import Any

import numpy as np

from lazycache.digests.names import qualified_name
from lazycache.digests.registry import immutable_types
from lazycache_storage.digest import Digest

# Exact types: a subclass may have attributes of its own.
ATOMS: frozenset[type] = frozenset(
    {
        *(int, float, complex, bool, str, bytes, range, Digest),
        *(type(None), type(...), type(NotImplemented)),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        re.Pattern,
        *(types.FunctionType, types.BuiltinFunctionType, types.UnionType, np.ufunc, type),
        *(np.finfo, np.iinfo),
        *(kind for kind in np.sctypeDict.values() if kind not in (np.object_, np.void)),
    }
)

# By name, so that importing this imports none of their modules.
_NAMED = frozenset(
    {
        *("decimal.Decimal", "fractions.Fraction", "uuid.UUID", "zoneinfo.ZoneInfo"),
        *("pathlib.PurePosixPath", "pathlib.PosixPath", "pathlib.PureWindowsPath", "pathlib.WindowsPath"),
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
        elif not isinstance(part, (type, enum.Enum, np.dtype)) and qualified_name(kind) not in _NAMED:
            return False
    return True


def _is_namedtuple(kind: type) -> bool:
    return hasattr(kind, "_fields") and kind.__mro__[1] is tuple and kind.__dict__.get("__slots__") == ()
