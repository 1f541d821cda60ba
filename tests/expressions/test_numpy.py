"""numpy's functions on nodes: lazy, or refused, and never an array of objects."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from lazycache import compute, computed, key, lazy
from lazycache.errors import NotComputedError

A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0], [2.0, 0.5, 1.0]])
B = A.T + 1

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda a, _b: np.sin(a),
    "add": np.add,
    "divmod": np.divmod,
    "where=": lambda a, b: np.multiply(a, b, where=True),
    "dtype=": lambda a, b: np.add(a, b, dtype=np.float32),
    "reduce": lambda a, _b: np.add.reduce(a, axis=1, keepdims=True),
    "accumulate": lambda a, _b: np.multiply.accumulate(a),
    "outer": lambda a, b: np.subtract.outer(a, b),
    "reduceat": lambda a, _b: np.add.reduceat(a, [0, 1]),
    "gamma": lambda a, _b: scipy.special.gamma(a),
    "sum": lambda a, _b: np.sum(a, axis=0),
    "concatenate": lambda a, b: np.concatenate([a, b, A], axis=1),
    "stack": lambda a, b: np.stack((a, b)),
    "block": lambda a, b: np.block([[a, b], [A, A]]),
    "where": lambda a, b: np.where(a > b, a, b),
    "select": lambda a, b: np.select([a > 2, b > 2], [a, b], 0),
    "clip": lambda a, _b: np.clip(a, 1, 2),
    "norm": lambda a, _b: np.linalg.norm(a, axis=0),
    "inv": lambda a, _b: np.linalg.inv(a),
    "fft": lambda a, _b: np.fft.fft(a),
    "einsum": lambda a, b: np.einsum("ij,jk->ik", a, b),
    "tensordot": lambda a, b: np.tensordot(a, b, axes=([0], [1])),
    "median": lambda a, _b: np.median(a, axis=-1),
    "interp": lambda a, _b: np.interp(a, [0, 10], [0.0, 1.0]),
    "linspace": lambda a, b: np.linspace(a, b, 4),
    "full_like": lambda a, _b: np.full_like(a, 3),
    "apply_along_axis": lambda a, _b: np.apply_along_axis(np.sort, 0, a),
    "dot": np.dot,
    "shape": lambda a, _b: np.shape(a),
    "allclose": np.allclose,
    "take_along_axis": lambda a, _b: np.take_along_axis(a, np.argsort(A), axis=-1),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_functions_stay_lazy_and_compute_what_numpy_computes(function: Callable[[Any, Any], Any]) -> None:
    expected = function(A, B)
    for a, b in ((computed(A), computed(B)), (computed(A), B), (computed(A) + 0, computed(B) + 0)):
        node = function(a, b)
        assert isinstance(node, lazy)
        result = compute(node)
        assert type(result) is type(expected)
        np.testing.assert_array_equal(result, expected)


def test_keys_of_functions_differ() -> None:
    a, b = computed(A), computed(B)
    nodes = [function(a, b) for function in FUNCTIONS.values()]
    assert len({key(node) for node in nodes}) == len(nodes)


OPERATOR_OF_UFUNC = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.matmul: operator.matmul,
    np.power: operator.pow,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


@pytest.mark.parametrize("ufunc", OPERATOR_OF_UFUNC, ids=lambda ufunc: ufunc.__name__)
def test_a_ufunc_by_name_is_its_own_node(ufunc: np.ufunc) -> None:
    apply = OPERATOR_OF_UFUNC[ufunc]
    x = computed(B, own=True)
    for left in (A, computed(A), x):
        by_name, by_operator = ufunc(left, x), apply(left, x)
        assert key(by_name) != key(by_operator)
        # The same again, at the same place in the code, is the same again.
        assert {key(ufunc(left, x)) for _ in range(3)} == {key(by_name)}
        assert {key(apply(left, x)) for _ in range(3)} == {key(by_operator)}
        np.testing.assert_array_equal(compute(by_name), compute(by_operator))


def test_infix_with_an_array_on_the_left_is_the_operator() -> None:
    x = computed(B, own=True)
    array = A.copy()
    assert key(array + x) == key(computed(array) + x)
    assert key(array @ x) == key(computed(array) @ x)
    assert key(array < x) == key(computed(array) < x)
    assert key(np.float64(2) * x) == key(computed(np.float64(2)) * x)
    assert key(array + x) != key(np.add(array, x))


def test_add_by_name_does_what_its_name_says() -> None:
    left, right = computed([1, 2]), [3, 4]
    assert compute(np.add(left, right)).tolist() == [4, 6]
    assert compute(left + right) == [1, 2, 3, 4]


def test_equal_by_name_builds() -> None:
    node = np.equal(np.array([1, 2]), computed(np.array([1, 3])))
    assert compute(node).tolist() == [True, False]


def test_a_ufunc_without_an_identity_is_refused() -> None:
    halve = np.frompyfunc(lambda value: value / 2, 1, 1)
    with pytest.raises(TypeError, match="@pure"):
        halve(computed(A))


def test_functions_that_change_an_argument_are_refused() -> None:
    array = np.zeros((3, 3))
    x = computed(A)
    changes: list[Callable[[], Any]] = [
        lambda: np.copyto(array, x),
        lambda: np.put_along_axis(array, np.zeros((3, 3), int), x, 0),
        lambda: np.add(x, x, out=array),
        lambda: np.add(array, x, out=array),
        lambda: np.cumsum(x, out=array),
    ]
    for change in changes:
        with pytest.raises(NotComputedError):
            change()
    np.testing.assert_array_equal(array, 0)


def test_lists_and_numpy_scalars_among_the_arguments() -> None:
    x = computed(A)
    assert compute(x[[0, 2]]).tolist() == A[[0, 2]].tolist()
    assert compute(x[np.int64(1), [True, False, True]]).tolist() == A[1, [True, False, True]].tolist()
    assert key(x[1]) != key(x[np.int64(1)])
    assert key(x[[0, 2]]) != key(x[(0, 2)])
    assert key(x[0, 2]) == key(x[(0, 2)])
