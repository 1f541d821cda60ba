"""Backends: the library an array belongs to, and where it keeps a function."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from lazycache.array.stored import is_stored
from lazycache.errors import NotComputedError
from lazycache.expressions.nodes import Node

NUMPY_RULES = frozenset({None, "numpy", "dask", "cupy", "array_api_strict"})
"""Backends whose result types are numpy's."""


def index_dtype(backend: str | None) -> np.dtype[Any] | None:
    """Return the dtype of positions and of counts, or None where settings of the backend decide it (jax)."""
    return np.dtype(np.intp) if backend in NUMPY_RULES or backend == "torch" else None


_COMPAT = {
    "numpy": "numpy",
    "torch": "array_api_compat.torch",
    "cupy": "array_api_compat.cupy",
    "dask": "array_api_compat.dask.array",
    "jax": "jax.numpy",
    "array_api_strict": "array_api_strict",
    # A compiled function that is called on lazy arrays builds nodes again.
    "lazycache": "lazycache.array",
}
_PLAIN = {
    "lazycache": "lazycache.array",
    "dask": "dask.array",
    "array_api_strict": "array_api_strict",
    "jax": "jax.numpy",
}
_ROOTS = {
    "jaxlib": "jax", "array_api_strict": "array_api_strict", "builtins": "numpy", "zarr": "numpy", "h5py": "numpy",
}  # fmt: skip


def backend_of(value: Any) -> str:
    """Return the backend of a value: the root of its type's module, ``"numpy"`` for Python numbers.

    Examples
    --------
    >>> backend_of(np.ones(3)), backend_of(2.5)
    ('numpy', 'numpy')
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return "numpy"
    root = type(value).__module__.partition(".")[0]
    return getattr(value, "__lazycache_backend__", None) or _ROOTS.get(root, root)


def backend_of_call(values: Any) -> str:
    """Return the backend that a call on `values` belongs to: the first that is not numpy, else numpy."""
    for value in values:
        if isinstance(value, (tuple, list)):
            backend = backend_of_call(value)
        elif is_array(value):
            backend = backend_of(value)
        else:
            continue
        if backend != "numpy":
            return backend
    return "numpy"


def check_device(device: Any) -> None:
    """Refuse a device that numpy's arrays cannot be on."""
    if device is not None and device != "cpu":
        raise ValueError(f"unsupported device {device!r}: say backend= for arrays that are not on the CPU")


def is_array(value: Any) -> bool:
    """Say whether `value` is an array of some backend (numpy scalars included), or one on disk.

    What looks like an array and comes from a library without functions of
    arrays, as a Series of pandas does, is none; see `as_numpy`.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    if not (hasattr(value, "shape") and hasattr(value, "dtype")) or isinstance(value, type):
        return False
    return hasattr(value, "__array_namespace__") or is_stored(value) or _has_functions(backend_of(value))


def _has_functions(backend: str) -> bool:
    # The module of a value is imported, unless its type names a module that there is not.
    return backend in _COMPAT or hasattr(sys.modules.get(backend), "asarray")


def as_numpy(value: Any) -> np.ndarray[Any, Any] | None:
    """Return a value of any kind as an array of numpy; None where its elements would be objects.

    Examples
    --------
    >>> as_numpy([1, 2]), as_numpy({1, 2})
    (array([1, 2]), None)
    """
    if isinstance(value, np.matrix):
        # Its operators and shapes are others than those of arrays.
        return np.asarray(value)
    made: np.ndarray[Any, Any] = np.asanyarray(value)
    return made if made.dtype.kind != "O" else None


@lru_cache(maxsize=64)
def namespace(backend: str | None) -> types.ModuleType:
    """Return the module of a backend, as the array API standard has it."""
    name = backend or "numpy"
    return importlib.import_module(_COMPAT.get(name, name))


@lru_cache(maxsize=64)
def plain_namespace(backend: str | None) -> types.ModuleType:
    """Return the backend's own module, which may have more than the standard."""
    name = backend or "numpy"
    return importlib.import_module(_PLAIN.get(name, name))


def attribute(module: types.ModuleType, path: str) -> Callable[..., Any] | None:
    """Return ``module.a.b`` for the path ``"a.b"``, or None where there is no such thing."""
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name, None)
        if found is None:
            return None
    return found  # type: ignore[no-any-return]


def numpy_dtype(dtype: Any) -> np.dtype[Any] | None:
    """Return any backend's dtype as numpy's, or None if numpy has none like it (bfloat16)."""
    if dtype is None:
        return None
    if isinstance(dtype, Node):
        if dtype._function is not None:
            raise NotComputedError(operation="a dtype")
        return numpy_dtype(dtype._value)
    if isinstance(dtype, (np.dtype, type)) or type(dtype).__module__.partition(".")[0] in ("numpy", "builtins"):
        return _of(dtype)
    inner = getattr(dtype, "_np_dtype", None)
    if inner is not None:
        return _of(inner)
    name = getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]
    return _of(name) if name in np.sctypeDict else None


def passed_dtype(dtype: Any) -> Any:
    """Return a dtype as a call is given it: numpy's, or the backend's own where numpy has none like it."""
    known = numpy_dtype(dtype)
    return dtype if known is None else known


def _of(dtype: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype)
    if found.subdtype is not None:
        raise TypeError(f"a dtype of elements that are arrays, {found}, would change the shape: give the base dtype")
    return found


def cast_dtype(source: np.dtype[Any] | None, wanted: np.dtype[Any]) -> np.dtype[Any] | None:
    """Return the dtype that elements of `source` have after a cast; None where values decide it.

    Raises
    ------
    TypeError
        If numpy casts no values of the one to the other.

    Examples
    --------
    >>> cast_dtype(np.dtype("i8"), np.dtype("U"))
    dtype('<U21')
    """
    if source is not None and source.kind in "biufc" and wanted.kind in "biufc":
        return wanted
    is_open = not wanted.itemsize or (wanted.kind in "Mm" and np.datetime_data(wanted)[0] == "generic")
    if source is None or (is_open and (source.kind == "O" or (source.kind in "SU" and wanted.kind in "Mm"))):
        return None if is_open else wanted
    return np.empty(0, source).astype(wanted).dtype


def backend_dtype(dtype: Any, backend: str | None) -> Any:
    """Return numpy's `dtype` as the backend's own; what is the backend's own stays."""
    if not isinstance(dtype, np.dtype) or backend in (None, "numpy", "dask", "cupy", "jax", "lazycache"):
        return dtype
    return getattr(namespace(backend), dtype.name)
