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
        self._source = source

    def read(self, region: tuple[Any, ...]) -> Array:
        """Return the elements of a region, read-only.

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
            return sealed(chunked.as_dtype(found, self._dtype))
        except READING_ERRORS as error:
            raise CorruptEntryError(path=self._path, reason=str(error)) from error
