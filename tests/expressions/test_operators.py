"""Operators build what Python would have computed."""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lazycache import compute, computed, key, lazy
from lazycache.expressions.operators import BINARY, UNARY_OPERATORS, Operator

LEFT = np.arange(1, 10).reshape(3, 3)
RIGHT = np.arange(2, 11).reshape(3, 3)


@pytest.mark.parametrize("row", BINARY, ids=lambda row: row.method)
def test_binary_operators_compute_what_python_computes(row: Operator) -> None:
    expected = row.function(LEFT, RIGHT)
    node = row.function(computed(LEFT), computed(RIGHT))
    assert isinstance(node, lazy)
    np.testing.assert_array_equal(compute(node), expected)


def lefts_for(row: Operator) -> list[Any]:
    lefts: list[Any] = [LEFT]
    if row.symbol != "@":
        lefts += [5, np.int64(3)]
        if row.symbol not in ("<<", ">>", "&", "^", "|"):
            lefts.append(np.float64(2))
    return lefts


@pytest.mark.parametrize(
    ("row", "left"),
    [pytest.param(row, left, id=f"{type(left).__name__}-{row.method}") for row in BINARY for left in lefts_for(row)],
)
def test_a_real_value_on_the_left_builds_the_operator(row: Operator, left: Any) -> None:
    node = row.function(left, computed(RIGHT))
    assert isinstance(node, lazy)
    np.testing.assert_array_equal(compute(node), row.function(left, RIGHT))
    if row.reflected:
        assert key(node) == key(row.function(computed(left), computed(RIGHT)))


@pytest.mark.parametrize("row", [row for row in BINARY if not row.reflected and row.symbol], ids=lambda row: row.method)
def test_comparisons_with_an_array_on_the_left(row: Operator) -> None:
    assert key(row.function(LEFT, computed(RIGHT))) == key(row.function(computed(LEFT), computed(RIGHT)))


@pytest.mark.parametrize("row", UNARY_OPERATORS, ids=lambda row: row.method)
def test_unary_operators_compute_what_python_computes(row: Operator) -> None:
    node = row.function(computed(-LEFT))
    assert isinstance(node, lazy)
    np.testing.assert_array_equal(compute(node), row.function(-LEFT))


@pytest.mark.parametrize("row", [*BINARY, *UNARY_OPERATORS], ids=lambda row: row.method)
def test_every_row_of_the_table_is_a_method(row: Operator) -> None:
    assert callable(getattr(computed, row.method))
    assert not row.reflected or callable(getattr(lazy, row.reflected))


def test_operators_have_different_keys() -> None:
    a, b = computed(5), computed(3)
    nodes = [row.function(a, b) for row in BINARY] + [row.function(b, a) for row in BINARY]
    nodes += [row.function(a) for row in UNARY_OPERATORS]
    # a < b and b > a are different programs.
    assert len({key(node) for node in nodes}) == len(nodes)


def test_power_with_modulus() -> None:
    node = pow(computed(7), 5, 13)
    assert compute(node) == pow(7, 5, 13)
    assert key(node) != key(computed(7) ** 5)


def test_divmod_unpacks() -> None:
    quotient, remainder = divmod(computed(17), 5)
    assert compute((quotient, remainder)) == (3, 2)
    quotient, remainder = divmod(17, computed(5))
    assert compute((quotient, remainder)) == (3, 2)


def test_sum_and_reduce_build() -> None:
    nodes = [computed(number) for number in range(5)]
    assert compute(sum(nodes)) == 10
    assert compute(functools.reduce(operator.mul, nodes[1:])) == 24


def test_augmented_assignment_of_a_node_builds() -> None:
    x = start = computed(3)
    x += 1
    x **= 2
    assert compute(x) == 16
    assert compute(start) == 3


@pytest.mark.parametrize("change", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow])
def test_augmented_assignment_to_a_real_array_raises(change: Callable[[Any, Any], Any]) -> None:
    array = np.ones(3)
    with pytest.raises(TypeError, match="compute"):
        change(array, computed(2.0))
    np.testing.assert_array_equal(array, np.ones(3))


def test_strings_and_lists_operate_lazily() -> None:
    assert compute("a" + computed("b")) == "ab"
    ones = [1]
    assert compute(ones + computed([2])) == [1, 2]
    assert compute(computed([0]) * 3) == [0, 0, 0]


class Record:
    """Something with attributes, methods and items."""

    def __init__(self, values: list[int]) -> None:
        self.values = values
        self.key = "mine"

    def scaled(self, factor: int = 1, *, plus: int = 0) -> list[int]:
        return [factor * value + plus for value in self.values]

    def __getitem__(self, index: Any) -> Any:
        return index

    def __call__(self, argument: int) -> int:
        return argument + len(self.values)


def test_attributes_methods_items_and_calls() -> None:
    record = computed(Record([1, 2, 3]))
    assert compute(record.key) == "mine"
    assert compute(record.values[1]) == 2
    assert compute(record.scaled(2, plus=computed(1))) == [3, 5, 7]
    assert compute(record(10)) == 13
    assert compute(record[1, 2:, ..., None]) == (1, slice(2, None), Ellipsis, None)
    assert compute(record[computed(1) : computed(5)]) == slice(1, 5)


def test_a_method_call_is_one_node() -> None:
    x = computed(np.arange(6.0).reshape(2, 3))
    node = x.mean(axis=0)
    assert node._deps == (x,)
    np.testing.assert_array_equal(compute(node), [1.5, 2.5, 3.5])


def test_names_that_nodes_could_have_taken_are_attributes_of_the_value() -> None:
    record = computed(Record([]))
    for name in ("key", "value", "name", "args", "compute", "show", "inputs", "function", "token", "own"):
        assert isinstance(getattr(record, name), lazy), name


def test_keyword_order_does_not_count() -> None:
    x = computed(np.ones(3))
    assert key(x.sum(axis=0, keepdims=True)) == key(x.sum(keepdims=True, axis=0))
    assert key(x.sum(axis=0)) != key(x.sum(keepdims=0))


@pytest.mark.parametrize("name", ["_private", "__len2__", "_repr_png_", "_ipython_display_", "_repr_mimebundle_"])
def test_private_names_and_probes_are_not_attributes(name: str) -> None:
    for node in (computed(3), computed(3) + 1):
        assert not hasattr(node, name)


def test_nodes_in_nests_are_found() -> None:
    x, y = computed(2), computed(3)

    def total(nest: Any) -> Any:
        return nest

    from typing import NamedTuple

    class Pair(NamedTuple):
        a: Any
        b: Any

    nest = ([x, {"k": (y, [x])}], Pair(x, slice(y, None)), {1: x}, [4, [5]])
    assert compute(computed(total)(nest)) == ([2, {"k": (3, [2])}], Pair(2, slice(3, None)), {1: 2}, [4, [5]])
