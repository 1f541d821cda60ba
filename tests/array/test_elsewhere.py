"""numpy's functions on arrays of other libraries: what is known of a shape and a dtype is what the library gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache.array import backends
from tests.array.dispatch_cases import CASES
from tests.array.test_backends import chunked, strict, tensor, traced
from tests.array.test_dispatch import ARRAYS, TOLD

pytestmark = pytest.mark.filterwarnings("ignore")

LABELS = ("matrix", "integers", "square", "vector", "truths", "complex")

# dask gives numpy's edges, and guesses the shape of a grid of nothing; a list beside a tensor is numpy's.
GUESSED = {"average", "histogram", "histogram2d", "linalg.tensorinv"}

# The libraries refuse these, or have them with fewer options; each for itself, when it runs.
REFUSED = (TypeError, ValueError, IndexError, RuntimeError, NotImplementedError, AttributeError, OverflowError)


def arrays_in(made: Any) -> Iterator[lz.LazyArray]:
    if isinstance(made, (tuple, list)):
        for part in made:
            yield from arrays_in(part)
    elif isinstance(made, lz.LazyArray):
        yield made


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or None where it is refused."""
    try:
        return call()
    except REFUSED:
        return None


@pytest.mark.parametrize("name", sorted(set(CASES) - TOLD - GUESSED))
@pytest.mark.parametrize("make", [strict, chunked, tensor, traced])
def test_what_is_known_is_what_the_library_gives(make: Callable[[Any], Any], name: str) -> None:
    for case in CASES[name]:
        # dask and jax take long over each.
        for label in LABELS[:1] if make in (chunked, traced) else LABELS:
            for array in arrays_in(outcome(partial(case, lz.array(make(ARRAYS[label]))))):
                value = outcome(array.compute)
                if value is None:
                    continue
                shape = tuple(getattr(value, "shape", np.shape(value)))
                assert len(shape) == len(array.shape), label
                # dask does not know some sizes, and says NaN.
                known = zip(array.shape, shape, strict=True)
                assert all(size is None or other != other or size == other for size, other in known), label
                dtype = backends.numpy_dtype(getattr(value, "dtype", None))
                assert dtype is None or array._dtype in (None, dtype), f"{label}: {array._dtype}, and it is {dtype}"
