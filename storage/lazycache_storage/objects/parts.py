"""Arrays in chunks that are read in parts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.objects import chunked, dtypes
from lazycache_storage.objects.arrays import Array, sealed
from lazycache_storage.record import ObjectRef

if TYPE_CHECKING:
    import zarr


class PartsOfArray:
    """An opened array in chunks; while it is open, no collection removes it.

    Parameters
    ----------
    path : str
    ref : ObjectRef
    source : zarr.Array

    Attributes
    ----------
    shape, chunks : tuple of int
    """

    def __init__(self, path: str, ref: ObjectRef, source: "zarr.Array[Any]") -> None:
        self.shape = ref.shape
        self.chunks: tuple[int, ...] = source.chunks
        self._path = path
        self._dtype = dtypes.parse_array_dtype(ref.dtype)
        self._order = ref.order
        self._source = source

    def read(self, region: tuple[Any, ...]) -> Array:
        """Return the elements of a region, read-only, in the order in memory that they have in the whole.

        They follow each other without gaps only where they do so in the whole.

        Parameters
        ----------
        region : tuple of slice and ndarray
            One for each axis: slices that go forwards, or ascending places.

        Raises
        ------
        CorruptEntryError
            If a chunk is missing or damaged.
        OSError
            If the operating system cannot read it.
        """
        from lazycache_storage.objects.zarrhandle import READING_ERRORS

        scattered = any(isinstance(places, np.ndarray) for places in region)
        try:
            found = np.asarray((self._source.oindex if scattered else self._source)[region])
            return self._laid_out(chunked.as_dtype(found, self._dtype), region)
        except READING_ERRORS as error:
            raise CorruptEntryError(path=self._path, reason=str(error)) from error

    def _laid_out(self, found: Array, region: tuple[Any, ...]) -> Array:
        # Functions see the flags of arrays, and add up in another order where there are no gaps.
        outermost = found.ndim - 1 if self._order == "F" else 0
        lengths, cuts = list(found.shape), [slice(None)] * found.ndim
        for axis, places in enumerate(region):
            count = found.shape[axis]
            if not isinstance(places, slice) or count == self.shape[axis]:
                continue
            if (places.step or 1) > 1:
                lengths[axis], cuts[axis] = 2 * count, slice(None, None, 2)
            elif axis != outermost:
                lengths[axis], cuts[axis] = count + 1, slice(count)
        if tuple(lengths) == found.shape:
            return sealed(np.asarray(found, order=self._order))
        roomy = np.empty(lengths, found.dtype, self._order)
        roomy[tuple(cuts)] = found
        return sealed(roomy)[tuple(cuts)]
