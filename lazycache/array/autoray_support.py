"""Registration with autoray, so that code written for it runs on lazy arrays."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NoReturn

from lazycache.array import conversion, linalg, random, reductions
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


def _to_device(x: Any, device: Any) -> Any:
    return x if device is None else x.to_device(str(device))


def _from_numpy(x: Any, dtype: Any = None, device: Any = None, backend: Any = None) -> Any:
    del backend
    return _to_device(conversion.asarray(x, dtype=dtype), device)


def _copy(x: Any) -> Any:
    return x.copy()


def _as_backend(name: str) -> Callable[..., Any]:
    spread = getattr(reductions, name)

    def measure(x: Any, *args: Any, **kwargs: Any) -> Any:
        # Under this name autoray means the backend's own, and torch divides by n - 1.
        if x.backend == "torch" and kwargs.keys().isdisjoint(("correction", "ddof")):
            kwargs["correction"] = float(kwargs.pop("unbiased", True))
        return spread(x, *args, **kwargs)

    return measure


def _refuse_random(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        del args, kwargs
        raise TypeError(
            f"random numbers without a seed have no lazy form: call lazycache.array.random.{name}(seed, …) itself"
        )

    return refuse


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "copy": _copy,
    "from_numpy": _from_numpy,
    "linalg.svd": _svd,
    "ndim": _ndim,
    "scipy.linalg.expm": linalg.expm,
    "shape": _shape,
    "size": _size,
    "std": _as_backend("std"),
    "to_device": _to_device,
    "to_numpy": _to_numpy,
    "var": _as_backend("var"),
}
