"""What the tests of lazy arrays share: comparing with numpy, before and after computing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lazycache.array as lz


def lazy_like(value: Any) -> Any:
    """Return a nest with each numpy array replaced by a lazy one."""
    if isinstance(value, np.ndarray):
        return lz.array(value)
    if isinstance(value, (tuple, list)):
        return type(value)(map(lazy_like, value))
    return value


_REFUSALS = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError)


def check(
    function: Callable[..., Any], *args: Any, eager: Callable[..., Any] | None = None, exact: bool = True
) -> None:
    """Compare `function(lz, *lazy)` with `eager(np, *args)`: its error, or shape, dtype and values."""
    reference = eager or function
    try:
        with np.errstate(all="ignore"):
            expected = reference(np, *args)
    except (*_REFUSALS, RuntimeError, np.linalg.LinAlgError) as error:
        expected_error = error
    else:
        compare(function(lz, *map(lazy_like, args)), expected, exact)
        return
    try:
        built = function(lz, *map(lazy_like, args))
    except type(expected_error):
        return
    except _REFUSALS as error:
        # numpy itself is not of one mind which of these a wrong argument is.
        assert isinstance(expected_error, _REFUSALS), error
        return
    raise AssertionError(f"numpy raises {expected_error!r}, and this was built: {built!r}")


def compare(lazy: Any, expected: Any, exact: bool = True) -> None:
    """Compare one lazy result with numpy's."""
    if isinstance(expected, (tuple, list)):
        assert isinstance(lazy, (tuple, list))
        assert len(lazy) == len(expected)
        for one, other in zip(lazy, expected, strict=True):
            compare(one, other, exact)
        return
    assert isinstance(lazy, lz.LazyArray), lazy
    wanted = np.asarray(expected)
    assert len(lazy.shape) == wanted.ndim
    assert all(size in (None, known) for size, known in zip(lazy.shape, wanted.shape, strict=True)), (
        f"inferred {lazy.shape}, numpy has {wanted.shape}"
    )
    assert lazy.dtype is None or lazy.dtype == wanted.dtype, f"inferred {lazy.dtype}, numpy has {wanted.dtype}"
    if exact:
        assert None not in lazy.shape
        assert lazy.dtype is not None
    with np.errstate(all="ignore"):
        value = lazy.compute()
    assert type(value) is type(expected)
    assert np.asarray(value).dtype == wanted.dtype
    if wanted.dtype.kind in "biufc":
        np.testing.assert_allclose(np.asarray(value), wanted, rtol=1e-6, atol=1e-12)
    else:
        np.testing.assert_array_equal(np.asarray(value), wanted)
