"""Arrays on disk as inputs: an index reads only what it needs, anything else reads the whole.

Nothing is rewritten for that. The leaf holds a `Stored`, which numpy takes for
an array, and whose indexing is that of the array on disk.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from lazycache.blocks import OnDisk
from lazycache.regions import plan
from lazycache_storage.arrayhash import block_items, encoding_of_parts
from lazycache_storage.digest import seal

_SLAB_BYTES = 32 << 20


class Stored(OnDisk, NDArrayOperatorsMixin):
    """An array on disk (zarr, h5py, …), read when and where it is needed.

    Parameters
    ----------
    source : object
        With ``shape``, ``dtype`` and indexing by ints and slices.
    """

    __slots__ = ("source",)
    __lazycache_backend__ = "numpy"

    def __init__(self, source: Any) -> None:
        self.source = source

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return tuple(self.source.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        found: np.dtype[Any] = np.dtype(self.source.dtype)
        return found

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.source.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an array on disk cannot be had without reading it")
        return np.asarray(self.source[...], dtype=dtype)

    def __getitem__(self, index: Any) -> Any:
        wanted, within = plan(
            index if isinstance(index, tuple) else (index,), self.shape, hasattr(self.source, "oindex")
        )
        source = self.source.oindex if any(isinstance(part, np.ndarray) for part in wanted) else self.source
        read: Any = np.asarray(source[wanted], dtype=self.dtype)[within]
        return read

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(_read, inputs), **kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        del types
        return func(*_read_all(args), **{name: _read(value) for name, value in kwargs.items()})

    def __len__(self) -> int:
        return operator.index(self.source.shape[0])

    def __lazycache_digest__(self) -> bytes:
        # What a store opened is named by its content; of others no more than a slab is in memory at once.
        known: bytes | None = getattr(getattr(self.source, "store", None), "token", None)
        return known or seal(encoding_of_parts(self.dtype, self.shape, "C", _blocks(self)))

    def __deepcopy__(self, memo: Any) -> Stored:
        # Another handle would not keep what is on disk as it is.
        return self

    def __repr__(self) -> str:
        return f"<array on disk, shape={self.shape}, dtype={self.dtype}>"


def is_stored(value: Any) -> bool:
    """Say whether `value` is an array on disk."""
    return type(value).__module__.partition(".")[0] in ("zarr", "h5py") and hasattr(value, "shape")


def _read(value: Any) -> Any:
    if isinstance(value, Stored):
        return np.asarray(value)
    return _read_all(value) if isinstance(value, (tuple, list)) else value


def _read_all(values: Iterable[Any]) -> Any:
    kind = list if isinstance(values, list) else tuple
    return kind(map(_read, values))


def _blocks(array: Stored) -> Iterator[np.ndarray[Any, Any]]:
    """Generate the elements of an array in C order, flat, in pieces of as many as are hashed together."""
    rows, pending = array.shape[0] if array.ndim else 1, np.empty(0, array.dtype)
    row_bytes = max(1, array.dtype.itemsize * math.prod(array.shape[1:]))
    chunk = (getattr(array.source, "chunks", None) or (1,))[0]
    # Whole chunks, so that none is read twice.
    step = max(1, _SLAB_BYTES // (row_bytes * chunk)) * chunk
    items = block_items(array.dtype)
    for start in range(0, rows, step):
        slab = np.asarray(array[start : start + step] if array.ndim else array[()])
        pending = np.concatenate([pending, np.ascontiguousarray(slab).reshape(-1)])
        whole = len(pending) // items * items
        if whole:
            yield pending[:whole]
            pending = pending[whole:]
    if len(pending) or not math.prod(array.shape):
        yield pending
