"""Random numbers from a seed: ``lazycache.array.random``.

Every function is a pure function of its seed and its parameters: one seed gives
the same numbers each time, in every process and on every backend. Numbers that
are to be independent need different seeds; `spawn` makes as many as needed.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array import backends
from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.dtypes import FLOAT64, INT64, DType
from lazycache.array.infer.manipulation import new_shape
from lazycache.array.node import make
from lazycache.array.operands import operand

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = [
    "binomial", "choice", "exponential", "integers", "normal", "permutation", "poisson", "random", "spawn",
    "standard_normal", "uniform",
]  # fmt: skip

Seed = int | tuple[int, ...]

_NEEDED = "random numbers need a seed as their first argument: an int from 0 on, several, or a SeedSequence; got "


def _checked(seed: Any) -> Seed:
    """Return a seed as ints; what has a state of its own is refused."""
    if isinstance(seed, np.random.SeedSequence):
        entropy = seed.entropy
        whole = (entropy,) if isinstance(entropy, int) else tuple(entropy or ())
        return tuple(int(part) for part in (*whole, *seed.spawn_key))
    parts = seed if isinstance(seed, (tuple, list)) else (seed,)
    try:
        whole = tuple(operator.index(part) for part in parts)
    except TypeError as error:
        raise TypeError(f"{_NEEDED}{seed!r}") from error
    if min(whole, default=0) < 0:
        raise ValueError(f"{_NEEDED}{seed!r}")
    return whole if isinstance(seed, (tuple, list)) else whole[0]


def spawn(seed: Any, n: int) -> list[tuple[int, ...]]:
    """Return `n` seeds, from which independent numbers come.

    Examples
    --------
    >>> spawn(7, 2)
    [(7, 0), (7, 1)]
    """
    whole = _checked(seed)
    first = whole if isinstance(whole, tuple) else (whole,)
    return [(*first, number) for number in range(n)]


def _draw(
    name: str, seed: Any, parameters: tuple[Any, ...], size: Any, dtype: Any, default: DType, backend: str | None
) -> LazyArray:
    found = [operand(parameter) for parameter in parameters]
    shape: Shape = broadcast(*(one.shape for one in found)) if size is None else new_shape(size)
    args = (_checked(seed), *(one.arg for one in found))
    known = default if dtype is None else backends.numpy_dtype(dtype)
    options: dict[str, Any] = {} if size is None else {"size": shape}
    if dtype is not None:
        options["dtype"] = known
    chosen = backend or "numpy"
    return make(array_function(f"random.{name}", chosen), args, options, shape, known, chosen)


def random(seed: Any, size: Any = (), *, dtype: Any = None, backend: str | None = None) -> LazyArray:
    """Return numbers from 0 to 1.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> (lz.random.random(1, 3) == lz.random.random(1, 3)).all().compute()
    np.True_
    """
    return _draw("random", seed, (), size, dtype, FLOAT64, backend)


def uniform(
    seed: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None, *, dtype: Any = None, backend: str | None = None
) -> LazyArray:
    """Return numbers from `low` to `high`."""
    return _draw("uniform", seed, (low, high), size, dtype, FLOAT64, backend)


def normal(
    seed: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, backend: str | None = None
) -> LazyArray:
    """Return normally distributed numbers."""
    return _draw("normal", seed, (loc, scale), size, dtype, FLOAT64, backend)


def standard_normal(seed: Any, size: Any = (), *, dtype: Any = None, backend: str | None = None) -> LazyArray:
    """Return normally distributed numbers of mean 0 and deviation 1."""
    return _draw("standard_normal", seed, (), size, dtype, FLOAT64, backend)


def exponential(
    seed: Any, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, backend: str | None = None
) -> LazyArray:
    """Return exponentially distributed numbers."""
    return _draw("exponential", seed, (scale,), size, dtype, FLOAT64, backend)


def poisson(seed: Any, lam: Any = 1.0, size: Any = None, *, backend: str | None = None) -> LazyArray:
    """Return Poisson-distributed numbers."""
    return _draw("poisson", seed, (lam,), size, None, INT64, backend)


def binomial(seed: Any, n: Any, p: Any, size: Any = None, *, backend: str | None = None) -> LazyArray:
    """Return binomially distributed numbers."""
    return _draw("binomial", seed, (n, p), size, None, INT64, backend)


def integers(
    seed: Any, low: Any, high: Any = None, size: Any = None, *, dtype: Any = None, backend: str | None = None
) -> LazyArray:
    """Return integers from `low` to before `high`, or from 0 to before `low`."""
    bounds = (0, low) if high is None else (low, high)
    return _draw("integers", seed, bounds, size, dtype, INT64, backend)


def permutation(seed: Any, x: Any, *, backend: str | None = None) -> LazyArray:
    """Return the rows of `x` (or of ``arange(x)``) in random order."""
    found = operand(x)
    whole = not found.shape and isinstance(x, (int, np.integer))
    if not found.shape and not whole:
        raise IndexError("x must be an integer or at least 1-dimensional")
    shape = (int(x),) if whole else found.shape
    chosen = backend or "numpy"
    called = array_function("random.permutation", chosen)
    return make(called, (_checked(seed), found.arg), {}, shape, INT64 if whole else found.dtype, chosen)


def choice(
    seed: Any, x: Any, size: Any = (), *, replace: bool = True, p: Any = None, backend: str | None = None
) -> LazyArray:
    """Return elements of `x` (or of ``arange(x)``), drawn at random."""
    found = operand(x)
    whole = not found.shape
    shape = (*new_shape(size), *found.shape[1:])
    options: dict[str, Any] = {"size": new_shape(size)}
    if not replace:
        options["replace"] = False
    if p is not None:
        options["p"] = operand(p).arg
    chosen = backend or "numpy"
    called = array_function("random.choice", chosen)
    return make(called, (_checked(seed), found.arg), options, shape, INT64 if whole else found.dtype, chosen)
