"""scipy.sparse: by format, shape and the arrays that make it up, as they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from lazycache.digests.names import qualified_name
from lazycache.digests.registry import Parts, families, no_label

# Untyped, and not everywhere installed.
sparse: Any = import_module("scipy.sparse")

_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


def register() -> None:
    """Put the sparse matrices and arrays into the registry."""
    for name in _FORMATS:
        for suffix in ("array", "matrix"):
            families[getattr(sparse, f"{name}_{suffix}")] = _expand


def _expand(value: Any) -> Parts:
    kind = type(value)
    own = kind.__module__.partition(".")[0] == "scipy"
    name = f"scipy.sparse.{kind.__name__}" if own else qualified_name(kind)
    return b"R", (name, value.shape, value.dtype, *_arrays(value)), no_label, True


def _arrays(value: Any) -> tuple[Any, ...]:
    if value.format in ("csr", "csc", "bsr"):
        return value.data, value.indices, value.indptr
    if value.format == "dia":
        return value.data, value.offsets
    if value.format == "lil":
        return value.rows, value.data
    if value.format == "dok":
        # The order of the entries is that in which they were set.
        entries = sorted(value.items())
        return np.array([key for key, _ in entries], np.int64), np.array([item for _, item in entries], value.dtype)
    return (value.data, *(value.coords if hasattr(value, "coords") else (value.row, value.col)))
