"""Registration with autoray, so that code written for it runs on lazy arrays."""

from __future__ import annotations

import importlib.util
from typing import Any

from lazycache.array.lazyarray import LazyArray

NAME = "lazycache.array"
"""The backend, and the module that autoray finds its functions in."""


def register() -> bool:
    """Tell autoray of lazy arrays, if it is installed; return whether it is."""
    if importlib.util.find_spec("autoray") is None:
        return False
    import autoray

    autoray.register_backend(LazyArray, NAME)
    for name, function in (("to_numpy", _to_numpy), ("shape", _shape), ("size", _size), ("ndim", _ndim)):
        autoray.register_function(NAME, name, function)
    return True


def _to_numpy(x: Any) -> Any:
    import numpy as np

    return np.asarray(x.compute())


def _shape(x: Any) -> Any:
    return x.shape


def _size(x: Any) -> Any:
    return x.size


def _ndim(x: Any) -> Any:
    return x.ndim
