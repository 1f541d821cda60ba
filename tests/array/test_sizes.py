"""Sizes, counts and places that are lazy themselves: what follows from them is None in a shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz

TABLE = np.arange(12.0).reshape(3, 4)

CASES: dict[str, tuple[Callable[..., Any], tuple[int | None, ...]]] = {
    "broadcast_to": (lambda xp, x, two: xp.broadcast_to(x[0], (two, 4)), (None, 4)),
    "broadcast_to one": (lambda xp, x, two: xp.broadcast_to(x[0, 0], two), (None,)),
    "delete one": (lambda xp, x, two: xp.delete(x, two, axis=0), (None, 4)),
    "delete several": (lambda xp, x, two: xp.delete(x, xp.stack([two, two - 1]), axis=1), (3, None)),
    "delete by a mask": (lambda xp, x, two: xp.delete(x[0], x[0] > two), (None,)),
    "eye": (lambda xp, x, two: xp.eye(two), (None, None)),
    "eye of columns": (lambda xp, x, two: xp.eye(3, two, 1), (3, None)),
    "linspace": (lambda xp, x, two: xp.linspace(x, 1.0, two, axis=1), (3, None, 4)),
    "pad": (lambda xp, x, two: xp.pad(x, two), (None, None)),
    "pad around": (lambda xp, x, two: xp.pad(x, (two, 1), mode="edge"), (None, None)),
    "pad pairs": (lambda xp, x, two: xp.pad(x, ((two, 1), (0, 0))), (None, None)),
    "tile": (lambda xp, x, two: xp.tile(x, two), (3, None)),
    "tile more axes": (lambda xp, x, two: xp.tile(x, (two, 1, 3)), (None, 3, 12)),
    "tile by a vector": (lambda xp, x, two: xp.tile(x, xp.stack([two, two])), (None, None)),
    "tri": (lambda xp, x, two: xp.tri(two, 4), (None, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_lazy_size_leaves_open_what_follows_from_it(name: str) -> None:
    function, shape = CASES[name]
    expected = function(np, TABLE, np.sum([1, 1]))
    built = function(lz, lz.array(TABLE), lz.sum(lz.array([1, 1])))
    assert built.shape == shape
    found = built.compute()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_places_that_are_known_leave_a_size_that_is_known() -> None:
    built = lz.delete(lz.array(TABLE), lz.array([0, 2, 2]), axis=1)
    assert built.shape == (3, 2)
    np.testing.assert_array_equal(built.compute(), TABLE[:, [1, 3]])
    with pytest.raises(IndexError, match="out of bounds for axis 1"):
        lz.delete(lz.array(TABLE), lz.array([4]), axis=1)


def test_places_that_are_no_integers_are_refused() -> None:
    with pytest.raises(IndexError, match="integer"):
        lz.delete(lz.array(TABLE), lz.array(TABLE[0]) + 1, axis=1)


def test_how_far_samples_are_apart_needs_their_number() -> None:
    with pytest.raises(TypeError, match="known"):
        lz.linspace(0, 1, lz.sum(lz.array([1, 1])), retstep=True)
