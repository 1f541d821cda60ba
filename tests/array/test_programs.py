"""Random programs: numpy, computing, compiling, pickling and caching agree."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazycache.array as lz
from lazycache import Cache, cache, compute, digest, draw, key

UNARY: list[Callable[[Any], Any]] = [
    np.sin,
    np.negative,
    lambda a: a + 1,
    lambda a: a * 0.5,
    lambda a: 2 - a,
    lambda a: a.T,
    lambda a: a[::-1],
    lambda a: a[:, 1:] if a.ndim == 2 and a.shape[1] > 1 else a[..., None],
    lambda a: a.sum(axis=0),
    lambda a: np.mean(a, axis=-1, keepdims=True),
    lambda a: a.reshape(-1),
    lambda a: np.cumsum(a, axis=-1),
    lambda a: np.where(a > 0, a, 0),
    lambda a: np.concatenate([a, a]),
    lambda a: a[[0, -1]],
    lambda a: a.astype("f4"),
    lambda a: np.clip(a, -1, 1),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    np.maximum,
    lambda a, b: a @ b,
    lambda a, b: np.stack([a, b]),
    lambda a, b: np.outer(a, b)[:5, :5],
]
STEPS = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=12
)


def run(steps: list[tuple[int, int, int]], inputs: list[Any]) -> list[Any]:
    """Run a program; a step that does not fit its operands is left out, on every side alike."""
    values = list(inputs)
    for choice, first, second in steps:
        a, b = values[first % len(values)], values[second % len(values)]
        count = len(UNARY) + len(BINARY)
        try:
            if choice % count < len(UNARY):
                values.append(UNARY[choice % count](a))
            else:
                values.append(BINARY[choice % count - len(UNARY)](a, b))
        except (ValueError, IndexError, TypeError):
            continue
    return values


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_all_ways_to_a_value_agree(steps: list[tuple[int, int, int]]) -> None:
    arrays = [np.arange(6.0).reshape(2, 3) - 2, np.ones((3, 3), "f4"), np.arange(3)]
    expected = run(steps, arrays)
    leaves = [lz.array(array) for array in arrays]
    built = run(steps, leaves)
    assert len(built) == len(expected)
    for node, value in zip(built, expected, strict=True):
        assert (node.shape, node.dtype) == (np.shape(value), np.asarray(value).dtype)
    keys = [key(node) for node in built]
    variables = [lz.Variable(array.shape, "numpy", array.dtype) for array in arrays]
    with lz.shared_intermediates():
        function = lz.Function(variables, run(steps, variables))
    again = pickle.loads(pickle.dumps(built[-1]))
    assert key(again) == keys[-1]
    results = [compute(built), function(arrays), lz.compute(built), pickle.loads(pickle.dumps(function))(arrays)]
    for result in results:
        for one, value in zip(result, expected, strict=True):
            np.testing.assert_array_equal(one, value)
            assert np.asarray(one).dtype == np.asarray(value).dtype
    np.testing.assert_array_equal(again.compute(), expected[-1])


def test_a_program_through_the_cache(tmp_path: Any) -> None:
    steps = [(0, 0, 0), (20, 3, 0), (8, 4, 0), (2, 5, 1)]
    arrays = [np.arange(6.0).reshape(2, 3), np.ones((3, 3)), np.arange(3.0)]
    with Cache(tmp_path) as store:
        first = cache(run(steps, [lz.array(array) for array in arrays])[-1])
        again = run(steps, [lz.array(array.copy()) for array in arrays])[-1]
        assert again in store
        np.testing.assert_array_equal(cache(again), first)
    np.testing.assert_array_equal(first, run(steps, arrays)[-1])


def compiled(node: Any) -> Any:
    """Return the function of the Variables that a node depends on."""
    nodes: Any = lz.ascend(node)
    return lz.Function([below for below in nodes if below.data is lz.PLACEHOLDER and not below.deps], node)


@pytest.mark.parametrize("step", [*UNARY, *BINARY], ids=range(len(UNARY) + len(BINARY)))
def test_a_pickled_graph_is_the_same_program(step: Any) -> None:
    variables = [lz.Variable((3, 3), "numpy", "f8"), lz.Variable((3, 3), "numpy", "f8")]
    built = step(variables[0]) if step in UNARY else step(*variables)
    back = pickle.loads(pickle.dumps(built))
    assert draw.tree_text(back) == draw.tree_text(built)
    assert digest(compiled(back)) == digest(compiled(built))
