"""Compact encodings of columns, shared by the table packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def pack_strings(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return strings and missing ones as one text, the lengths, and where something is missing.

    One long text and an array of lengths are encoded many times faster than a
    list of a million strings.
    """
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    lengths = np.fromiter((0 if value is None else len(value) for value in values), "<i8", len(values))
    return "".join(value for value in values if value is not None), lengths, missing


def without_masked(data: np.ndarray[Any, Any], missing: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the data with zeros where they are missing: what lies below is left over from computing."""
    if not missing.any():
        return data
    cleaned = data.copy()
    cleaned[missing] = np.zeros((), data.dtype)
    return cleaned
