"""Keys: equal for the same functions on equal inputs, and for nothing else."""

import collections
import copy
import linecache
import pickle
import subprocess
import sys
from typing import Any

import cloudpickle
import numpy as np
import pytest

import lazycache.array as lz
from lazycache import UnhashableError, compute, computed, digest, key, lazy
from lazycache.expressions.keys import call_key, node_token, take_keys


def test_expressions_are_keys_of_a_dict() -> None:
    zeros, ones = np.zeros(100_000), np.ones(100_000)
    e = computed(zeros, own=True) + 4 - computed(ones) * 4
    mine: dict[Any, Any] = {}
    assert e not in mine
    mine[e] = compute(e)
    assert (np.zeros(100_000) + computed(4) - computed(np.ones(100_000)) * 4) in mine
    assert (computed(zeros) + 5 - computed(ones) * 4) not in mine
    assert e in {e} and e in [e + 1, e]


def test_equality_between_nodes_goes_by_key() -> None:
    assert computed(3) == computed(3)
    assert computed(3) != computed(3.0)
    assert computed(3) + 1 == computed(3) + computed(1)
    assert computed(3) + 1 != computed(3) + True
    assert computed(3) != computed(3) + 0
    assert hash(computed("a") * 2) == hash(lazy("a") * 2)


def test_the_key_of_a_leaf_is_the_digest_of_its_value() -> None:
    for value in (3, "text", "long" * 100, np.arange(5), [1, {"a": 2}], None):
        assert key(computed(value)) == digest(value) == key(lazy(value))


def test_a_nest_of_nodes_has_the_key_of_the_nest_of_values() -> None:
    f = computed(len)
    array = np.arange(3)
    pair = collections.namedtuple("pair", "a b")
    for with_node, without in [
        ([computed(1), 2], [1, 2]),
        ((computed(array), 2), (array, 2)),
        ({"a": computed(array), "b": (computed(2),)}, {"a": array, "b": (2,)}),
        ([computed("x" * 1000)], ["x" * 1000]),
        (slice(computed(1), None), slice(1, None)),
        (pair(computed(1), [2]), pair(1, [2])),
    ]:
        assert key(f(with_node)) == key(f(without))
    assert key(f([computed(1)])) != key(f((computed(1),)))
    assert key(f([computed(1), computed(2)])) != key(f([computed(2), computed(1)]))


def test_where_an_argument_stands_counts() -> None:
    x, y = computed(1), computed(2)
    f = computed(max)
    calls = [
        f(x),
        f(x, y),
        f(y, x),
        f([x, y]),
        f([x], y),
        f(x, key=y),
        f(x, default=y),
        f(key=x),
        f((x, y)),
        f({"key": x}),
    ]
    assert len({key(call) for call in calls}) == len(calls)


def test_a_call_is_not_confused_with_a_value() -> None:
    inner = computed(1) + 1
    f = computed(repr)
    assert key(f(inner)) != key(f(b"K" + key(inner))) != key(f(key(inner)))
    assert key(f(inner)) != key(f(2))


def test_the_tree_mirrors_how_it_was_built() -> None:
    x = computed(np.ones(3))
    e = 5 * x
    assert key(e + e) == key(5 * x + 5 * x)
    assert key((x + 1) + 2) != key(x + (computed(1) + 2))


def test_resolved_keys_replace_the_tokens_of_direct_dependencies() -> None:
    x = computed(10)
    inner = x * 2
    outer = inner + [inner, 1] + x
    call = computed(sorted)(inner, [inner, 3], reverse=x)
    take_keys([outer, call])
    assert call_key(call, node_token) == key(call)
    stands_for = {id(inner): node_token(computed(20))}
    resolved = call_key(call, lambda node: stands_for.get(id(node)) or node_token(node))
    assert resolved == key(computed(sorted)(20, [20, 3], reverse=x)) != key(call)


def test_an_unhashable_argument_is_named() -> None:
    call = computed(print)(1, {"cfg": {"log": object()}}, file=[computed(1), object()])
    with pytest.raises(UnhashableError, match=r"args\[1\]\['cfg'\]\['log'\]"):
        key(call)
    call = computed(print)(file=[computed(1), object()])
    with pytest.raises(UnhashableError, match=r"file"):
        key(call)
    with pytest.raises(UnhashableError):
        computed(object(), own=True)


def test_key_takes_expressions_only() -> None:
    with pytest.raises(TypeError, match="computed"):
        key(3)


def test_golden_keys() -> None:
    """A change here is a change of the format of keys: every stored result becomes a miss."""
    x = computed(np.arange(4, dtype="<i8"))
    assert key(computed(3)).hex() == GOLDEN["leaf"]
    assert key(x + 4).hex() == GOLDEN["operator"]
    assert key(np.add(x, 4)).hex() == GOLDEN["ufunc"]
    assert key(x.mean(axis=0)).hex() == GOLDEN["method"]
    assert key(np.concatenate([x, x[1:]])).hex() == GOLDEN["function"]


GOLDEN = {
    "leaf": "b494c18c9a3fd68d40cdd36e01a90e630aebace9deec32cb866375160b72f967",
    "operator": "32d352af99787c884dfbcb74e0cf99c97782769fd121bd39bfd2c4023c5a8c07",
    "ufunc": "404b9ca219eeb0621e72b2f778e1d8a73ba35eaffdb0d424aba12b42e045e2ab",
    "method": "fc5389535c3f5f59336f590db433da2241be4fa09e70c23cbce4eb47fd8d430b",
    "function": "8049dd8dcfea260a77a1569bb62f566eb4014f4ef109bf02c17a58975cf041a8",
}

PROGRAM = """
import pickle, sys
from lazycache import key
node = pickle.loads(sys.stdin.buffer.read())
print(key(node).hex())
"""


def test_another_process_takes_the_same_key() -> None:
    x = computed(np.arange(6.0))
    node = np.linalg.norm(x.reshape(2, 3)[:, 1:] ** 2, axis=computed(0)).sum(initial={"a": [x]})
    result = subprocess.run([sys.executable, "-c", PROGRAM], input=pickle.dumps(node), capture_output=True, check=True)
    assert result.stdout.decode().strip() == key(node).hex()


CELL = """
import dataclasses, functools
rate = 3
def f(x):
    return x * rate  # a comment
class Model:
    def __init__(self, a):
        self.a = a
    def run(self):
        return self.helper() + rate
    def helper(self):
        return self.a
@dataclasses.dataclass
class Settings:
    a: int
    def twice(self):
        return 2 * self.a
"""


@pytest.mark.parametrize(
    "value", ["f", "Model(3)", "Model", "[1, {'a': Settings(2)}]", "functools.partial(f, 2)", "Model(3).run"]
)
def test_what_holds_code_travels_with_its_token(value: str) -> None:
    # As in a notebook: the text is in the process that sends, and nowhere else.
    linecache.cache["<cell 1>"] = (len(CELL), None, CELL.splitlines(keepends=True), "<cell 1>")
    namespace: dict[str, Any] = {"__name__": "cells"}
    exec(compile(CELL, "<cell 1>", "exec"), namespace)
    node = computed(id)(eval(value, namespace))
    sent = cloudpickle.dumps(node)
    result = subprocess.run([sys.executable, "-c", PROGRAM], input=sent, capture_output=True, check=True)
    assert result.stdout.decode().strip() == key(node).hex()


def test_a_function_without_a_token_travels_too() -> None:
    seen: list[int] = []

    def remember(x: int) -> int:
        seen.append(x)
        return len(seen)

    arrived = pickle.loads(cloudpickle.dumps(computed(remember)(1)))
    assert (compute(arrived), seen) == (1, [])
    with pytest.raises(UnhashableError, match="seen"):
        key(arrived)


@pytest.mark.parametrize("make", [computed, lz.array])
@pytest.mark.parametrize("dtype", [">i4", "<f8", ">M8[D]", ">U2", [("a", ">i4"), ("b", "<f8")]])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_byte_order_survives_pickling(make: Any, dtype: Any, protocol: int) -> None:
    # Below protocol 5 numpy pickles arrays in the order of the machine, and dates at every one.
    data = np.zeros((4, 2), dtype)
    for array in (data, data.T, data[::2]):
        untaken, taken = make(array), make(array)
        key(taken)
        for node in (untaken, taken):
            for arrived in (pickle.loads(pickle.dumps(node, protocol)), copy.copy(node), copy.deepcopy(node)):
                assert compute(arrived).dtype == array.dtype
                assert key(arrived) == key(make(array))
