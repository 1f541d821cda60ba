"""Walks, pickles and sizes: nothing recurses, and shared nodes are visited once."""

import gc
import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import compute, computed, key
from lazycache.expressions.keys import take_keys
from lazycache.expressions.tree import HashedLeaf
from lazycache.graph import ascend, depths, descend, find_nodes, substitute, to_queue
from lazycache_storage.record import FileState


def chain(length: int, start: Any = None) -> Any:
    e = computed(np.zeros(3)) if start is None else start
    for _ in range(length):
        e = e + 1
    return e


def ladder(length: int) -> Any:
    e = computed(np.ones(3))
    for _ in range(length):
        e = e + e
    return e


def test_walks_visit_each_node_once_in_order() -> None:
    x, y = computed(1), computed(2)
    a = x + y
    b = a * x
    c = [a, {"k": b - y}]
    up, down = list(ascend(c)), list(descend(c))
    assert len(up) == len({id(node) for node in up}) == 5
    assert {id(node) for node in up} == {id(node) for node in down}
    position = {id(node): place for place, node in enumerate(up)}
    assert all(position[id(dep)] < position[id(node)] for node in up for dep in node._deps)
    assert up[0] is x
    assert down[0] is a
    assert [type(node).__name__ for node in to_queue([b, x, a])] == ["computed", "lazy", "lazy"]
    assert to_queue([b, x, a])[-1] is b
    assert depths(b)[id(b)] == 2


def test_walks_take_any_nest_and_nothing_else() -> None:
    x, y = computed(1), computed(2)
    nest: Any = (x, [y, {"a": x + y, "b": 3}], slice(x, 4))
    assert [id(node) for node in find_nodes(nest)] == [id(x), id(y), id(nest[1][1]["a"])]
    assert find_nodes({"a": 1, "b": [np.zeros(3)]}) == []
    assert list(ascend(3)) == list(descend("text")) == to_queue([]) == []


def test_substitute_replaces_and_leaves_the_rest_alone() -> None:
    x, y = computed(1), computed(2)
    plain = [1, 2]
    nest: Any = {"a": (x, [y, x]), "b": plain, "c": slice(None, y)}
    assert substitute(nest, {id(x): "one", id(y): 2}) == {"a": ("one", [2, "one"]), "b": [1, 2], "c": slice(None, 2)}
    assert nest["a"][0] is x
    assert substitute(nest, {})["b"] is plain
    assert substitute(x, {id(x): 5}) == 5


def test_a_chain_of_a_million_nodes() -> None:
    length = 1_000_000
    e = chain(length)
    assert len(repr(e)) < 2000
    take_keys([e])
    node = e
    for _ in range(10):
        node = node._deps[0]
    assert node._key != e._key
    inner = weakref.ref(node)
    del e, node
    assert inner() is None


def test_pickle_of_a_long_chain() -> None:
    e = chain(200_000)
    take_keys([e])
    again = pickle.loads(pickle.dumps(e))
    assert again._key == e._key
    assert sum(1 for _ in ascend(again)) == 200_001


def test_a_ladder_is_linear() -> None:
    e = ladder(2000)
    assert sum(1 for _ in descend(e)) == 2001
    again = pickle.loads(pickle.dumps(e))
    assert key(again) == key(e)
    assert sum(1 for _ in ascend(again)) == 2001
    assert compute(ladder(60)).tolist() == [2.0**60] * 3


def test_recursion_is_not_needed() -> None:
    limit = sys.getrecursionlimit()
    e = chain(5 * limit)
    assert key(pickle.loads(pickle.dumps(e))) == key(e)
    assert compute(e).tolist() == [5.0 * limit] * 3


def test_pickles_keep_sharing_and_what_was_taken() -> None:
    x = computed(np.arange(3.0))
    a = x * 2
    e = np.stack([a, a + x, np.ones(3)], axis=0).sum(axis=computed(0), initial=1.0)[{"k": (a, slice(x, None))}]
    for taken in (False, True):
        if taken:
            take_keys([e])
        again = pickle.loads(pickle.dumps(e))
        assert (again._key is None) is (e._key is None)
        assert sum(1 for _ in ascend(again)) == sum(1 for _ in ascend(e))
        assert key(again) == key(e)
        assert repr(again) == repr(e) if taken else True


def test_an_unpickled_leaf_cannot_be_changed_behind_its_key() -> None:
    leaf = computed(np.arange(3.0))
    taken = key(leaf)
    again = pickle.loads(pickle.dumps(leaf))
    with pytest.raises(ValueError, match="read-only"):
        compute(again)[0] = 5
    assert key(again) == taken == key(computed(compute(again)))


def test_files_below_a_node_are_known_once_each() -> None:
    leaves = [
        HashedLeaf(f"/f{number}", b"t%d" % number, f"<{number}>", (FileState(f"/f{number}", "date"),), "date")
        for number in range(1000)
    ]
    plain = HashedLeaf(3, b"t", "3", (), "ignore")
    e: Any = computed(0)
    for leaf in leaves:
        e = e + leaf + plain
    e = computed(max)([e, leaves[0]], key=leaves[1])
    assert [id(leaf) for leaf in e._inputs] == [id(leaf) for leaf in leaves]
    assert (computed(1) + plain)._inputs == ()
    assert [leaf._value for leaf in pickle.loads(pickle.dumps(e))._inputs] == [leaf._value for leaf in leaves]


def test_nodes_and_inputs_are_freed() -> None:
    class Big:
        pass

    big = Big()
    gone = weakref.ref(big)
    e = computed(big).a + 1
    node = weakref.ref(e)
    repr(e)
    del big, e
    assert gone() is None
    assert node() is None
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        key(np.stack([chain(100), ladder(20)]))
    gc.collect()
    assert len(gc.get_objects()) - before < 1000


def test_the_deepest_branch_comes_first_and_among_equals_the_first() -> None:
    def names(nest: Any) -> list[str]:
        order: Any = lz.ascend(nest)
        return [node.fn_name for node in order]

    x = lz.Variable((2,))
    shallow, deep = lz.cos(x), lz.sin(lz.exp(x))
    assert names(shallow + deep) == ["None", "exp", "sin", "cos", "add"]
    assert names([shallow, deep * 2]) == ["None", "exp", "sin", "multiply", "cos"]
    left, right = lz.cos(x), lz.exp(x)
    assert names(left * right) == ["None", "cos", "exp", "multiply"]
    # The long branch is summed up before the other is begun.
    small = lz.array(np.ones(2))
    y = small.sum() + lz.exp(lz.Variable((100,))).sum()
    assert y.history_size_footprint(include_inputs=False) == [0, 100, 101, 1, 2, 3, 2, 1]


def test_the_deepest_branch_comes_first_among_expressions_of_every_kind() -> None:
    x = computed(2)
    shallow, deep = x + 1, (x * 3) ** 2
    order = list(ascend(shallow - deep))
    assert [order.index(node) for node in (x, deep, shallow)] == [0, 2, 3]
    mixed = list(ascend([lz.array([1, 2]) + 1, deep]))
    assert [type(node).__name__ for node in mixed] == ["computed", "lazy", "lazy", "LazyArray", "LazyArray"]
