"""Registration with autoray, so that code written for it runs on lazy arrays."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NoReturn

from lazycache.array import linalg, random
from lazycache.array.lazyarray import LazyArray

NAME = "lazycache.array"
"""The backend, and the module that autoray finds its functions in."""


def register() -> bool:
    """Tell autoray of lazy arrays, if it is installed; return whether it is."""
    if importlib.util.find_spec("autoray") is None:
        return False
    import autoray

    autoray.register_backend(LazyArray, NAME)
    for name, function in _FUNCTIONS.items():
        autoray.register_function(NAME, name, function)
    for name in random.__all__:
        autoray.register_function(NAME, f"random.{name}", _refuse_random(name))
    # Of a lazy array and one of another library, the lazy one decides.
    getattr(autoray.autoray, "multi_class_priorities", {})[NAME] = 1
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


def _svd(x: Any) -> Any:
    # Under this name autoray means the thin one, on every backend.
    return linalg.svd(x, full_matrices=False)


def _refuse_random(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        del args, kwargs
        raise TypeError(
            f"random numbers without a seed have no lazy form: call lazycache.array.random.{name}(seed, …) itself"
        )

    return refuse


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linalg.svd": _svd,
    "ndim": _ndim,
    "shape": _shape,
    "size": _size,
    "to_numpy": _to_numpy,
}
