"""A node where evaluation would not find it is an error when the call is built."""

import collections
import dataclasses
import functools
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lazycache.array as lz
from lazycache import Cache, UnhashableError, compute, computed, key
from lazycache.errors import MisplacedNodeError


@dataclasses.dataclass
class Settings:
    value: Any


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def object_array(node: Any) -> Any:
    array = np.empty(2, dtype=object)
    array[0] = [node]
    return array


def structured(node: Any) -> Any:
    array = np.zeros(2, dtype=[("n", int), ("o", object)])
    array["o"][1] = [node]
    return array


MISPLACED: dict[str, Callable[[Any], Any]] = {
    "set": lambda node: {node},
    "frozenset": lambda node: frozenset([node]),
    "dict key": lambda node: {node: 1},
    "tuple in a dict key": lambda node: {(1, node): 1},
    "object array": object_array,
    "structured array": structured,
    "dataclass": Settings,
    "object": Plain,
    "slots": Slotted,
    "namespace": lambda node: types.SimpleNamespace(deep=[{"x": node}]),
    "deque": lambda node: collections.deque([node]),
    "OrderedDict": lambda node: collections.OrderedDict(a=node),
    "defaultdict": lambda node: collections.defaultdict(list, a=node),
    "mappingproxy": lambda node: types.MappingProxyType({"a": node}),
    "values of a dict": lambda node: {"a": node}.values(),
    "partial": lambda node: functools.partial(print, node),
    "exception": ValueError,
    "data frame": lambda node: pd.DataFrame({"a": [[node], 1]}),
    "series": lambda node: pd.Series([[node], 1], dtype=object),
    "set in proper nests": lambda node: [{"a": ({node},)}],
    "dataclass beside a node": lambda node: [node, Settings(node)],
    "dict key beside a node": lambda node: {"a": node, "b": {node: 1}},
}


@pytest.mark.parametrize("hide", MISPLACED.values(), ids=MISPLACED.keys())
def test_misplaced_nodes_are_refused_when_the_call_is_built(hide: Callable[[Any], Any]) -> None:
    node = computed(3) + 1
    function = computed(print)
    with pytest.raises(MisplacedNodeError, match=r"args\[1\]"):
        function(0, hide(node))
    with pytest.raises(MisplacedNodeError, match="option"):
        function(option=hide(node))


@pytest.mark.parametrize("name", ["set", "dataclass", "object array"])
def test_a_leaf_refuses_them_too(name: str) -> None:
    with pytest.raises(MisplacedNodeError):
        computed(MISPLACED[name](computed(3)))


@pytest.mark.parametrize(
    "name", ["set", "object array", "defaultdict", "mappingproxy", "values of a dict", "set in proper nests"]
)
def test_what_is_asked_for_hides_none(name: str, tmp_path: Path) -> None:
    node = computed(3) + 1
    for ask in (compute, Cache(tmp_path), lz.compute, lambda x: lz.Function([], [x])):
        with pytest.raises(MisplacedNodeError, match="what is asked for is a"):
            ask([node, MISPLACED[name](node)])
    assert compute([node, collections.OrderedDict(a=1), {1, 2}]) == [4, {"a": 1}, {1, 2}]


def numbers() -> Any:
    yield computed(1)


@pytest.mark.parametrize(
    "make",
    [numbers, lambda: map(str, [1]), lambda: zip([1], [2], strict=True), lambda: iter([1]), lambda: enumerate([1])],
    ids=["generator", "map", "zip", "iterator", "enumerate"],
)
def test_what_can_be_read_only_once_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(UnhashableError, match="list or a tuple"):
        computed(sum)(make())
    with pytest.raises(UnhashableError, match="list or a tuple"):
        computed([1]) + make()
    with pytest.raises(UnhashableError, match=r"args\[0\]\[1\]\['a'\] is a .* list or a tuple"):
        computed(list)([1, {"a": make()}])


class Reader:
    """An open source that counts by its name alone."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines = iter([name])

    def __lazycache_digest__(self) -> str:
        return self.name


def test_an_iterator_inside_a_value_with_a_digest_of_its_own_is_its_own_affair() -> None:
    assert key(computed(str)(Reader("a"))) == key(computed(str)(Reader("a"))) != key(computed(str)(Reader("b")))


def test_a_nest_that_holds_itself_is_refused() -> None:
    nest: list[Any] = [computed(1)]
    nest.append(nest)
    with pytest.raises(ValueError, match="holds itself"):
        computed(len)(nest)


def test_deep_and_shared_nests_do_not_recurse() -> None:
    deep: Any = [computed(1)]
    for _ in range(5000):
        deep = [deep]
    shared: Any = [computed(2)]
    for _ in range(60):
        shared = [shared, shared]
    result = compute(computed(lambda *args: args)(deep, shared))
    depth, inner = 0, result[0]
    while isinstance(inner, list):
        depth, inner = depth + 1, inner[0]
    assert (depth, inner) == (5001, 1)
    inner = result[1]
    while isinstance(inner, list):
        inner = inner[-1]
    assert inner == 2


def test_nests_are_taken_as_they_are_when_the_call_is_built() -> None:
    node = computed(1)
    options: dict[str, Any] = {"a": [node, 2], "b": [3]}
    call = computed(dict)(options)
    options["a"].append(4)
    options["c"] = [5]
    assert compute(call) == {"a": [1, 2], "b": [3]}
