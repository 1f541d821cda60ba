"""Results that are made block by block, because the whole would not fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import Any

import numpy as np

from lazycache.errors import ExhaustedError

Array = np.ndarray[Any, Any]
Piece = tuple[tuple[slice, ...], Array]


class Blocks:
    """An array as a pure function returns it that makes it block by block.

    `lazycache.cache` writes the blocks to disk as they come, so that no more
    than a few of them are in memory, and gives the stored array back. Without
    a cache they are put together in memory.

    Parameters
    ----------
    blocks : iterable of array_like, or callable that returns one
        Parts of the array, one after the other along the first axis, each of
        any length. A generator will do.
    shape : int or tuple of int
    dtype : dtype
        To which the blocks are converted; not to another kind of number.
    chunks : int or tuple of int, optional
        Store the array in chunks of this shape, in place of one chunk; the
        option ``chunks=`` of the function goes first.

    Raises
    ------
    ValueError
        If the shape has no first axis.

    Examples
    --------
    >>> from lazycache import Blocks, compute, pure
    >>> @pure(version=1)
    ... def squares(n):
    ...     rows = (np.arange(row, row + 2) ** 2 for row in range(0, n, 2))
    ...     return Blocks(rows, shape=n, dtype=int)
    >>> compute(squares(6))
    array([ 0,  1,  4,  9, 16, 25])
    """

    def __init__(
        self,
        blocks: Iterable[Any] | Callable[[], Iterable[Any]],
        shape: int | tuple[int, ...],
        dtype: Any = float,
        chunks: int | tuple[int, ...] | None = None,
    ) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple([int(size) for size in shape])
        if not self.shape or min(self.shape) < 0:
            raise ValueError(f"blocks follow each other along the first axis, and there is none in shape {shape}")
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.chunks = chunks
        self._blocks = blocks
        self._is_used = False

    def __repr__(self) -> str:
        return f"Blocks(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("blocks cannot be an array without being put together")
        whole = np.empty(self.shape, self.dtype)
        for region, block in self.pieces():
            whole[region] = block
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def pieces(self, rows: int = 1) -> Iterator[Piece]:
        """Iterate over regions of the array and what is in them.

        Parameters
        ----------
        rows : int
            Blocks are joined until their length is a multiple of this.

        Raises
        ------
        ExhaustedError
            If the blocks came from an iterator that was used already.
        TypeError, ValueError
            If a block is of another kind or shape than was said.
        """
        start, waiting, length = 0, [], 0
        for block in self._converted():
            waiting.append(block)
            length += len(block)
            # The last chunk may be shorter.
            cut = length - (0 if start + length == self.shape[0] else length % rows)
            if cut:
                joined = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                yield self._region(start, cut), joined[:cut]
                start, length, waiting = start + cut, length - cut, [joined[cut:].copy()] if cut < length else []
        if start != self.shape[0]:
            raise ValueError(f"the blocks have {start + length} rows together, expected shape {self.shape}")

    def _region(self, start: int, length: int) -> tuple[slice, ...]:
        return slice(start, start + length), *[slice(0, size) for size in self.shape[1:]]

    def _converted(self) -> Iterator[Array]:
        source = self._blocks() if callable(self._blocks) else self._blocks
        iterator = iter(source)
        if iterator is self._blocks:
            if self._is_used:
                raise ExhaustedError(blocks=repr(self))
            self._is_used = True
        seen = 0
        for part in iterator:
            block = np.asarray(part)
            seen += len(block) if block.ndim else 1
            if block.ndim != len(self.shape) or block.shape[1:] != self.shape[1:] or seen > self.shape[0]:
                raise ValueError(f"a block of shape {block.shape} after {seen - len(block)} rows of {self.shape}")
            if not np.can_cast(block.dtype, self.dtype, "same_kind"):
                raise TypeError(f"a block of dtype {block.dtype}, expected {self.dtype}")
            if len(block):
                yield block.astype(self.dtype, copy=False)


class OnDisk:
    """An array that is read when and where it is needed; ``np.asarray`` reads the whole."""

    __slots__ = ()


def whole(value: Any) -> Any:
    """Return the value of what somebody asked for: an array on disk is read."""
    return np.asarray(value) if isinstance(value, OnDisk) else value


def size_of(value: Any) -> int:
    """Return how many bytes an array has that need not be in memory."""
    size: int = prod(value.shape) * np.dtype(value.dtype).itemsize
    return size


def replace_members(value: Any, kinds: Callable[[Any], bool], replace: Callable[[Any], Any]) -> Any:
    """Return `value`, or a tuple, list or dict of values, with those of some kinds replaced."""
    if type(value) in (tuple, list):
        return (
            type(value)([replace(part) if kinds(part) else part for part in value]) if any(map(kinds, value)) else value
        )
    if type(value) is dict:
        if not any(map(kinds, value.values())):
            return value
        return {key: replace(part) if kinds(part) else part for key, part in value.items()}
    return replace(value) if kinds(value) else value


def in_memory(value: Any) -> Any:
    """Return a result in which blocks, if there are any, are put together."""
    return replace_members(value, lambda part: isinstance(part, Blocks), np.asarray)
