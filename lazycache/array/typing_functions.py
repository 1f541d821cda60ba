"""Data types: their promotion, conversion and limits, and what a namespace tells of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.backends import cast_dtype, numpy_dtype, passed_dtype
from lazycache.array.functions import array_function
from lazycache.array.infer.dtypes import DType
from lazycache.array.infer.dtypes import result_type as promote
from lazycache.array.node import ArrayNode, make
from lazycache.array.operands import operand
from lazycache.errors import NotComputedError
from lazycache.expressions.nodes import Node

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> LazyArray:
    """Return the elements as another dtype."""
    del copy
    _check_device(device)
    found = operand(x)
    if isinstance(dtype, Node):
        return make(array_function("astype"), (found.arg, dtype), {}, found.shape, None, found.backend)
    wanted = passed_dtype(dtype)
    known = cast_dtype(found.dtype, wanted) if isinstance(wanted, np.dtype) else None
    return make(array_function("astype"), (found.arg, wanted), {}, found.shape, known, found.backend)


def _check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"unsupported device {device!r}")


def _dtype_of(value: Any) -> Any:
    if isinstance(value, ArrayNode):
        return value._dtype
    if isinstance(value, (bool, int, float, complex)):
        return np.dtype(bool) if isinstance(value, bool) else type(value)
    return value.dtype if isinstance(value, (np.ndarray, np.generic)) else numpy_dtype(value)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that arrays, numbers and dtypes promote to; None where one is not known."""
    if not arrays_and_dtypes:
        raise ValueError("at least one array or dtype is required")
    return promote([_dtype_of(value) for value in arrays_and_dtypes])


def common_type(*arrays: Any) -> Any:
    """Return the type of inexact numbers that is common to arrays."""
    return np.common_type(*(np.empty(0, _known_dtype(array)) for array in arrays))


def min_scalar_type(x: Any, /) -> np.dtype[Any]:
    """Return the dtype of an array; of a number the smallest that holds it, which depends on its value."""
    dtype = _known_dtype(x)
    if isinstance(x, ArrayNode) and not x._shape and dtype.kind in "biufc":
        raise NotComputedError(operation="the smallest type that holds a number")
    return dtype if isinstance(x, ArrayNode) else np.min_scalar_type(x)


def _known_dtype(x: Any) -> np.dtype[Any]:
    dtype = operand(x).dtype
    if dtype is None:
        raise NotComputedError(operation="what depends on a dtype")
    return dtype


def can_cast(from_: Any, to: Any, /, casting: Any = "safe") -> bool:
    """Say whether one dtype is cast to another without loss, or under another rule of numpy's for casting."""
    source = _dtype_of(from_)
    if source is None:
        raise TypeError("the dtype of the array is not known")
    return np.can_cast(source, to, casting)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Say whether a dtype is of a kind."""
    return np.isdtype(np.dtype(dtype), kind)


def finfo(dtype: Any, /) -> Any:
    """Return the limits of a floating-point dtype, or of an array's."""
    return np.finfo(_dtype_of(dtype))


def iinfo(dtype: Any, /) -> Any:
    """Return the limits of an integer dtype, or of an array's."""
    return np.iinfo(_dtype_of(dtype))


class ArrayNamespaceInfo:
    """What the namespace can do, as the array API standard asks."""

    def capabilities(self) -> dict[str, Any]:
        """Return what is there: boolean indexing and shapes that depend on values, as None in a shape."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Return the device of new arrays."""
        return "cpu"

    def devices(self) -> list[str]:
        """Return the devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes that are taken where none is given."""
        _check_device(device)
        names = ("real floating", "complex floating", "integral", "indexing")
        kinds = (np.float64, np.complex128, np.int64, np.intp)
        return {name: np.dtype(kind) for name, kind in zip(names, kinds, strict=True)}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of a kind, by name."""
        _check_device(device)
        names = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
        every = {name: np.dtype(name) for name in names.split()}
        return every if kind is None else {name: dtype for name, dtype in every.items() if np.isdtype(dtype, kind)}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """Return what this namespace can do."""
    return ArrayNamespaceInfo()
