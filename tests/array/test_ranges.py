"""`arange`: numpy's length and dtype for every kind of number and of time."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import compute

# numpy may not like steps without a unit, which it still takes.
pytestmark = pytest.mark.filterwarnings("ignore:The .generic. unit:DeprecationWarning")

# Its stubs do not know of every way to call it.
numpy: Any = np
DATE: Any = np.datetime64
SPAN: Any = np.timedelta64


def check(*args: Any) -> None:
    try:
        expected = numpy.arange(*args)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        with pytest.raises(type(error)):
            lz.arange(*args)
        return
    found = lz.arange(*args)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(compute(found), expected)


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int16, np.float16, np.float32, np.bool_, int, float])
def test_numbers(kind: Any) -> None:
    others = [np.uint8, np.uint64, np.float32, int, float]
    for second, third in itertools.product(others, others):
        check(kind(0), second(5), third(1))
    check(kind(1))
    check(np.array(kind(1)))
    check(0, 5, 0)


@pytest.mark.parametrize(
    "args",
    [
        (DATE("2026-01-01"), DATE("2026-01-05")),
        (DATE("2026-01-01"), DATE("2026-01-06"), 2),
        (DATE("2026-01-01"), DATE("2026-01-02T05"), SPAN(7, "h")),
        (DATE("2026-01-01"), 5),
        (DATE("2026-01-01"), SPAN(30, "h")),
        (DATE("2026-01"), DATE("2027-01"), SPAN(1, "D")),
        (DATE("2026-01-05"), DATE("2026-01-01"), SPAN(-1, "D")),
        (DATE(0, "25s"), DATE(1000, "25s"), SPAN(10, "s")),
        (SPAN(5, "D"),),
        (0, SPAN(5, "D"), 2),
        (SPAN(1, "D"), SPAN(10, "h"), SPAN(-3, "h")),
        (DATE("2026-01-01"),),
        (DATE("NaT", "D"), DATE("2026-01-01")),
        (DATE("2026"), DATE("2027"), 0),
    ],
    ids=str,
)
def test_times(args: tuple[Any, ...]) -> None:
    check(*args)


def test_nothing_is_made_to_know_the_length() -> None:
    assert lz.arange(2**40).shape == (2**40,)
    assert lz.arange(DATE(0, "s"), DATE(2**40, "s")).shape == (2**40,)
