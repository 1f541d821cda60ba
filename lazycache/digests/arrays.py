"""Encodings of numpy's values: arrays and their subclasses, scalars, dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazycache.digests.names import qualified_name
from lazycache.digests.objects import Attributes
from lazycache.digests.owned import known_token
from lazycache.digests.registry import Parts, expanders, families, leaves, no_label
from lazycache_storage.arrayhash import array_encoding, array_order, dtype_encoding

Array = np.ndarray[Any, Any]


def expand_array(value: Array) -> Parts | bytes:
    """Encode a plain array by its bytes, or by its elements where these are references."""
    if not value.dtype.hasobject:
        return known_token(value) or array_encoding(value)
    return _expand_references(value)


def _expand_references(value: Array) -> Parts:
    head = (b"%b%b" % (dtype_encoding(value.dtype), array_order(value).encode()), value.shape)
    if value.dtype.names is not None:
        fields = [np.asarray(value[name]) for name in value.dtype.names]
        return b"a", (*head, *fields), _record_label, True
    return b"a", (*head, *value.reshape(-1).tolist()), _element_label, True


def _element_label(value: Any, _children: Sequence[Any], index: int) -> str:
    where = np.unravel_index(max(index - 2, 0), value.shape)
    return f"[{', '.join(map(str, where))}]"


def _record_label(value: Any, _children: Sequence[Any], index: int) -> str:
    return f"[{value.dtype.names[index - 2]!r}]"


def _expand_subclass(value: Array) -> Parts:
    state = Attributes(dict(getattr(value, "__dict__", {})))
    return b"w", (qualified_name(type(value)), value.view(np.ndarray), state), no_label, True


def _dtype(value: np.dtype[Any]) -> bytes:
    return b"D" + dtype_encoding(value)


def _scalar(value: np.generic) -> bytes | Parts:
    return b"n" + array_encoding(np.asarray(value))


expanders[np.ndarray] = expand_array
expanders[np.memmap] = lambda value: expand_array(value.view(np.ndarray))
families[np.ndarray] = _expand_subclass
families[np.generic] = _scalar
families[np.dtype] = _dtype
leaves.update({type(np.dtype(char)): _dtype for char in "?bhilqBHILQefdgFDG"})
