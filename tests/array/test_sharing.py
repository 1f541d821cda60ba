"""Sharing: equal calls give one node, and calls that differ never do."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz

DIFFERENT = [
    (-1, -2),
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    (1.0, 1.0 + 0j),
    (np.float32(1), np.float64(1)),
    (float("nan"), float("inf")),
    (2**61 - 1, 0),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_constants_that_differ_are_not_merged(one: Any, other: Any) -> None:
    x = lz.Variable((3,), dtype="f8")
    with lz.shared_intermediates():
        assert x * one is x * one
        assert x * one is not x * other


def test_nothing_is_shared_outside_a_context() -> None:
    x = lz.Variable((3,))
    assert x + 1 is not x + 1
    assert not lz.currently_sharing()
    with pytest.raises(LookupError):
        lz.get_sharing_cache()


def test_arguments_of_every_kind() -> None:
    x = lz.Variable((4, 4), dtype="f8")
    data = np.arange(4.0)
    with lz.shared_intermediates():
        assert x[[0, 1]] is x[[0, 1]]
        assert x[[0, 1]] is not x[[1, 0]]
        assert x[1:3, None] is x[1:3, None]
        assert x[1:3] is not x[1:3:2]
        assert x + data is x + data
        assert x + data is not x + data.copy()
        assert lz.sum(x, axis=0) is x.sum(axis=0)
        assert x.sum(axis=0) is not x.sum(axis=1)
        assert lz.concat([x, x]) is lz.concat([x, x])
        assert x.astype("f4") is not x.astype("f8")
        assert lz.linalg.svd(x)[0] is lz.linalg.svd(x)[0]


def test_an_address_that_is_used_again_is_not_taken_for_the_old_array() -> None:
    x = lz.Variable((1000,), dtype="f8")
    with lz.shared_intermediates():
        seen = set()
        for number in range(200):
            node = x + np.full(1000, float(number))
            assert id(node) not in seen
            seen.add(id(node))
            assert node.args[1].data[0] == number
            del node
            gc.collect(0)


def test_a_computed_node_keeps_its_place() -> None:
    with lz.shared_intermediates():
        x = lz.array(np.arange(3.0))
        y = x + 1
        y.compute()
        del x
        gc.collect()
        z = lz.array(np.arange(3.0)) + 1
        assert z is not y


def test_a_cache_may_be_taken_up_again() -> None:
    x = lz.Variable((3,))
    with lz.shared_intermediates() as cache:
        y = lz.sin(x)
        with lz.shared_intermediates():
            assert lz.sin(x) is not y
        assert lz.get_sharing_cache() is cache
    with lz.shared_intermediates(cache):
        assert lz.sin(x) is y


def test_a_function_may_take_part() -> None:
    calls = []

    @lz.lazy_cache("double")
    def double(x: Any, by: Any = 2) -> Any:
        calls.append(by)
        return x * by

    x = lz.Variable((3,))
    double(x)
    double(x)
    with lz.shared_intermediates():
        assert double(x) is double(x)
        assert double(x, by=-1) is not double(x, by=-2)
    assert calls == [2, 2, 2, -1, -2]

    @lz.lazy_cache("loose", hasher=lambda name, x, by: (name, id(x)))
    def loose(x: Any, by: Any) -> Any:
        return x * by

    with lz.shared_intermediates():
        assert loose(x, 1) is loose(x, 2)
