"""Whatever needs a value raises, and says what to do."""

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lazycache import compute, computed, lazy
from lazycache.errors import NotComputedError
from lazycache.expressions.nodes import Node

NEEDS_A_VALUE: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "not": operator.not_,
    "int": int,
    "float": float,
    "complex": complex,
    "bytes": bytes,
    "len": len,
    "in": lambda x: 3 in x,
    "iter": iter,
    "list": list,
    "set": set,
    "reversed": reversed,
    "round": round,
    "round to digits": lambda x: round(x, 2),
    "format": lambda x: f"{x:.2f}",
    "index": operator.index,
    "index of a list": lambda x: [1, 2][x],
    "index of an array": lambda x: np.arange(3)[x],
    "range": range,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "max": lambda x: max(x, x + 1),
    "sorted": lambda x: sorted([x, x + 1]),
    "chained comparison": lambda x: 1 < x < 3,
    "array": np.array,
    "asarray": np.asarray,
    "array of objects": lambda x: np.array(x, dtype=object),
    "array of a list": lambda x: np.array([x, x]),
    "array of objects of a list": lambda x: np.array([x, 1], dtype=object),
    "full": lambda x: np.full(3, x),
    "arange": np.arange,
    "fromiter": lambda x: np.fromiter(x, float),
    "float64": np.float64,
    "vectorize": lambda x: np.vectorize(lambda value: value)(x),
    "copyto": lambda x: np.copyto(np.zeros(3), x),
    "put": lambda x: np.put(np.zeros(3), [0], x),
    "place": lambda x: np.place(np.zeros(3), [True, False, True], x),
    "putmask": lambda x: np.putmask(np.zeros(3), [True, False, True], x),
    "fill_diagonal": lambda x: np.fill_diagonal(np.zeros((3, 3)), x),
    "save": lambda x: np.save("/nowhere/at/all.npy", x),
    "array_repr": np.array_repr,
    "out=": lambda x: np.add(x, 1, out=np.zeros(3)),
    "out= of a function": lambda x: np.sum(x, out=np.zeros(())),
    "at": lambda x: np.add.at(np.zeros(3), [0], x),
    "assert_allclose": lambda x: np.testing.assert_allclose(x, [1, 2, 3]),
}


@pytest.mark.parametrize("node", [computed(np.arange(3.0)), computed(np.arange(3.0)) + 1], ids=["leaf", "call"])
@pytest.mark.parametrize("use", NEEDS_A_VALUE.values(), ids=NEEDS_A_VALUE.keys())
def test_what_needs_a_value_raises(use: Callable[[Any], Any], node: Node) -> None:
    with pytest.raises(TypeError, match=r"compute\(e\) or cache\(e\)"):
        use(node)


def test_unpacking_raises() -> None:
    with pytest.raises(NotComputedError):
        _a, _b = computed((1, 2))


def test_writing_an_element_raises() -> None:
    array = np.zeros(3)
    with pytest.raises((TypeError, ValueError)):
        array[0] = computed(1.0)
    np.testing.assert_array_equal(array, np.zeros(3))


@pytest.mark.parametrize("node", [computed([1, 2]), computed([1]) * 2], ids=["leaf", "call"])
def test_nodes_cannot_be_changed(node: Any) -> None:
    with pytest.raises(TypeError, match="build a new one"):
        node[0] = 1
    with pytest.raises(TypeError, match="build a new one"):
        del node[0]
    with pytest.raises(AttributeError):
        node.name = 1
    with pytest.raises(AttributeError):
        del node.name


@pytest.mark.parametrize("compare", [operator.eq, operator.ne])
@pytest.mark.parametrize("value", [3, None, "text", np.arange(3.0), np.float64(2), [1]], ids=lambda v: type(v).__name__)
def test_equality_with_a_value_points_to_the_right_way(compare: Callable[[Any, Any], Any], value: Any) -> None:
    node = computed(np.arange(3.0)) + 1
    for left, right in ((node, value), (value, node)):
        with pytest.raises(TypeError, match=r"np\.equal.*computed\(value\)"):
            compare(left, right)


def test_plain_texts_are_the_repr() -> None:
    node = computed(3) + 1
    assert str(node) == f"{node}" == "%s" % node == repr(node)  # noqa: UP031


def test_copies_are_the_node_itself() -> None:
    node = computed(np.zeros(3)) + 1
    assert copy.copy(node) is node
    assert copy.deepcopy({"a": [node]})["a"][0] is node


def test_lazy_and_computed_of_nodes() -> None:
    leaf = computed(3)
    node = leaf + 1
    assert computed(leaf) is leaf
    assert lazy(leaf) is leaf
    assert lazy(node) is node
    assert isinstance(lazy(3), computed)
    with pytest.raises(NotComputedError):
        computed(node)
    with pytest.raises(NotComputedError):
        computed([node])


def test_a_result_of_unknown_length_does_not_unpack_but_a_known_one_does() -> None:
    matrix = computed(np.diag([3.0, 1.0]))
    values, vectors = np.linalg.eigh(matrix)
    assert isinstance(vectors, lazy)
    np.testing.assert_array_equal(compute(values), [1.0, 3.0])
    fraction, whole = np.modf(computed(2.5))
    assert compute((fraction, whole)) == (0.5, 2.0)
    with pytest.raises(NotComputedError):
        _u, _s, _v = matrix.tolist()
