"""Random programs: what is printed runs again, keys survive, values are Python's."""

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lazycache import compute, computed, key
from lazycache.expressions.operators import BINARY, UNARY_OPERATORS
from lazycache.show import program

SAFE = [row for row in BINARY if row.symbol in ("+", "-", "*", "&", "^", "|", "<", "<=", ">", ">=")]
ALL = [row for row in BINARY if row.symbol != "@"]


class Number(int):
    """A leaf that is not written where it is used."""


@st.composite
def steps(draw: st.DrawFn, rows: Any) -> list[tuple[Any, int, int]]:
    """Draw a program: each step applies an operator to earlier results or to small numbers."""
    length = draw(st.integers(1, 12))
    return [
        (draw(st.sampled_from(rows)), draw(st.integers(-3, 2 + step)), draw(st.integers(-3, 2 + step)))
        for step in range(length)
    ]


def run(plan: list[tuple[Any, int, int]], inputs: list[Any]) -> Any:
    """Run a program on values or on nodes: the same code for both."""
    results = list(inputs)
    for row, left, right in plan:
        first = results[left] if left >= 0 else results[-1]
        if row in UNARY_OPERATORS:
            results.append(row.function(first))
        else:
            results.append(row.function(first, results[right] if right >= 0 else right))
    return results[-1]


def leaves() -> list[Any]:
    return [computed(Number(2)), computed(Number(3)), computed(Number(5))]


# Of Python, from 3.12 on.
@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")
@given(steps(SAFE + list(UNARY_OPERATORS)))
@settings(max_examples=150, deadline=None)
def test_values_are_those_of_plain_python(plan: list[tuple[Any, int, int]]) -> None:
    assert compute(run(plan, leaves())) == run(plan, [2, 3, 5])


@given(steps([row for row in ALL if row.symbol] + list(UNARY_OPERATORS)))
@settings(max_examples=150, deadline=None)
def test_the_printed_program_builds_the_same_tree(plan: list[tuple[Any, int, int]]) -> None:
    inputs = leaves()
    node = run(plan, inputs)
    key(node)
    lines = program(node).splitlines()
    end = lines.index("with")
    names: dict[str, Any] = {}
    for line in lines[end + 1 :]:
        name, short, _ = line.split(maxsplit=2)
        names[name.removesuffix(":")] = next(leaf for leaf in inputs if key(leaf).short == short)
    for line in lines[: end - 1]:
        name, _, text = line.partition(" = ")
        names[name] = eval(text, dict(names))
    again = eval(lines[end - 1], dict(names))
    assert key(again) == key(node)
    assert program(again).splitlines() == lines


@given(steps(ALL + list(UNARY_OPERATORS)))
@settings(max_examples=100, deadline=None)
def test_keys_survive_pickling_and_rebuilding(plan: list[tuple[Any, int, int]]) -> None:
    node = run(plan, leaves())
    assert key(pickle.loads(pickle.dumps(node))) == key(node) == key(run(plan, leaves()))
