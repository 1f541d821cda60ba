"""Random numbers from a seed: ``lazycache.array.random``.

Every function is a pure function of its seed, which is its first argument, and of
its parameters: one seed gives the same numbers each time, in every process and on
every backend. A seed is an int from 0 on, several of them, or a SeedSequence.
Numbers that are to be independent need different seeds; `spawn` makes as many as
needed.
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
    """Return numbers from 0 to before 1; see `normal` for the parameters.

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
    """Return numbers from `low` to `high`; see `normal` for the other parameters.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> points = lz.random.uniform(1, -1.0, 1.0, size=(100_000, 2))
    >>> inside = (points**2).sum(axis=1) < 1
    >>> round(float(4 * inside.mean().compute()), 1)
    3.1
    """
    return _draw("uniform", seed, (low, high), size, dtype, FLOAT64, backend)


def normal(
    seed: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, backend: str | None = None
) -> LazyArray:
    """Return normally distributed numbers.

    Parameters
    ----------
    seed : int, tuple of int, or SeedSequence
        What the numbers follow from: there is no state, so that equal calls give
        equal numbers.
    loc, scale : float or array
        Mean and standard deviation.
    size : int or tuple of int, optional
        By default that of `loc` and `scale` together.
    dtype : dtype, optional
    backend : str, optional
        The library of the array; the numbers are the same.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> noise = lz.random.normal(7, scale=0.1, size=(2, 3))
    >>> noise
    <LazyArray(fn=random.normal, shape=(2, 3), dtype=float64, backend='numpy')>
    >>> [lz.random.normal(seed).shape for seed in lz.random.spawn(7, 3)]
    [(), (), ()]
    """
    return _draw("normal", seed, (loc, scale), size, dtype, FLOAT64, backend)


def standard_normal(seed: Any, size: Any = (), *, dtype: Any = None, backend: str | None = None) -> LazyArray:
    """Return normally distributed numbers of mean 0 and deviation 1; see `normal` for the parameters."""
    return _draw("standard_normal", seed, (), size, dtype, FLOAT64, backend)


def exponential(
    seed: Any, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, backend: str | None = None
) -> LazyArray:
    """Return exponentially distributed numbers of mean `scale`; see `normal` for the other parameters."""
    return _draw("exponential", seed, (scale,), size, dtype, FLOAT64, backend)


def poisson(seed: Any, lam: Any = 1.0, size: Any = None, *, backend: str | None = None) -> LazyArray:
    """Return Poisson-distributed numbers of mean `lam`; see `normal` for the other parameters."""
    return _draw("poisson", seed, (lam,), size, None, INT64, backend)


def binomial(seed: Any, n: Any, p: Any, size: Any = None, *, backend: str | None = None) -> LazyArray:
    """Return how many of `n` trials of probability `p` succeed; see `normal` for the other parameters."""
    return _draw("binomial", seed, (n, p), size, None, INT64, backend)


def integers(
    seed: Any, low: Any, high: Any = None, size: Any = None, *, dtype: Any = None, backend: str | None = None
) -> LazyArray:
    """Return integers from `low` to before `high`, or from 0 to before `low`.

    See `normal` for the other parameters.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> lz.random.integers(3, 10, size=4).compute()
    array([8, 0, 1, 2])
    """
    bounds = (0, low) if high is None else (low, high)
    return _draw("integers", seed, bounds, size, dtype, INT64, backend)


def permutation(seed: Any, x: Any, *, backend: str | None = None) -> LazyArray:
    """Return the rows of `x` (or of ``arange(x)``) in an order that follows from the seed.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> lz.random.permutation(3, lz.arange(5)).compute()
    array([4, 2, 1, 3, 0])
    """
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
    """Return elements of `x` (or of ``arange(x)``), drawn at random.

    Parameters
    ----------
    seed : int, tuple of int, or SeedSequence
    x : array or int
    size : int or tuple of int
    replace : bool
        Whether one may be drawn several times.
    p : array, optional
        The probability of each.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> lz.random.choice(3, lz.arange(5), size=4, replace=False).compute()
    array([4, 0, 3, 1])
    """
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


def __dir__() -> list[str]:
    return __all__
