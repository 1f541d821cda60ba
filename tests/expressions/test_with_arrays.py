"""Expressions and lazy arrays in one program."""

from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import compute, computed, lazy
from lazycache.expressions.operators import BINARY, Operator

LEFT = np.array([[1, 2], [3, 5]])
RIGHT = np.array([[2, 1], [1, 3]])


# The array API has no divmod.
SHARED = [row for row in BINARY if row.function is not divmod]


@pytest.mark.parametrize("row", SHARED, ids=lambda row: row.method)
def test_operators_between_the_two(row: Operator) -> None:
    array = lz.LazyArray.from_data(RIGHT)
    for left, right in ((computed(LEFT), array), (lz.LazyArray.from_data(LEFT), computed(RIGHT))):
        node: Any = row.function(left, right)
        assert isinstance(node, lz.LazyArray)
        np.testing.assert_array_equal(compute(node), row.function(LEFT, RIGHT))


def test_each_as_an_index_or_argument_of_the_other() -> None:
    array = lz.LazyArray.from_data(np.array([1, 0]))
    np.testing.assert_array_equal(compute(computed(LEFT)[array]), LEFT[[1, 0]])
    assert compute(computed(LEFT).take(array)).tolist() == [2, 1]
    np.testing.assert_array_equal(
        compute(np.concatenate([computed(LEFT), lz.LazyArray.from_data(RIGHT)])), [*LEFT, *RIGHT]
    )


def test_what_has_no_known_shape_builds_an_expression() -> None:
    array = lz.LazyArray.from_data(RIGHT)
    for call in (computed(LEFT) * 1, computed(LEFT)[:]):
        for node in (call + array, array + call, call < array):
            assert isinstance(node, lazy)
        np.testing.assert_array_equal(compute(array - call), RIGHT - LEFT)
        np.testing.assert_array_equal(compute(call - array), LEFT - RIGHT)
