"""Results and arguments cannot be spoiled, on a miss, a memory hit and a disk hit."""

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lazycache import Cache, compute, computed, key, pure
from lazycache.digests import digest


@dataclass
class Config:
    """A mutable thing with mutable things inside."""

    names: list[str] = field(default_factory=lambda: ["a", "b"])
    table: dict[str, Any] = field(default_factory=lambda: {"list": [1, 2], "array": np.arange(4.0)})


def make(kind: str) -> Any:
    """Return a fresh value of one kind."""
    return {
        "array": np.arange(300_000.0),
        "small array": np.arange(5.0),
        "list": [[1, 2], {"k": [3]}],
        "dict of arrays": {"x": np.arange(300_000.0), "y": [np.arange(3)]},
        "dataclass": Config(),
        "frame": pd.DataFrame({"a": np.arange(5.0), "b": list("vwxyz")}),
        "set": {1, 2},
        "bytearray": bytearray(b"abc"),
    }[kind]


KINDS = ["array", "small array", "list", "dict of arrays", "dataclass", "frame", "set", "bytearray"]


def spoil(value: Any) -> None:
    """Try to change a value in every way that it allows, at every depth."""
    if isinstance(value, np.ndarray):
        for target in (value, value.base):
            if isinstance(target, np.ndarray):
                with pytest.raises(ValueError, match="read-only"):
                    target[...] = 99
        with pytest.raises(ValueError, match="WRITEABLE"):
            value.flags.writeable = True
    elif isinstance(value, dict):
        for member in list(value.values()):
            spoil(member)
        value["spoilt"] = True
    elif isinstance(value, list):
        for member in value:
            spoil(member)
        value.append("spoilt")
    elif isinstance(value, Config):
        spoil(value.names)
        spoil(value.table)
    elif isinstance(value, pd.DataFrame):
        value["b"] = "spoilt"
    elif isinstance(value, set):
        value.add("spoilt")
    elif isinstance(value, bytearray):
        value.extend(b"spoilt")


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_cannot_be_spoiled(tmp_path: Path, kind: str) -> None:
    @pure(version=1)
    def produce(kind: str) -> Any:
        return make(kind)

    truth = digest(make(kind))
    cache = Cache(tmp_path / "store")
    for _ in ("miss", "memory"):
        value = cache(produce(kind))
        assert digest(value) == truth
        spoil(value)
    value = Cache(tmp_path / "store")(produce(kind))
    assert digest(value) == truth
    spoil(value)
    assert digest(Cache(tmp_path / "store")(produce(kind))) == truth


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_cannot_spoil_its_arguments(cache: Cache, kind: str) -> None:
    @pure(version=1)
    def attack(value: Any, how: int) -> int:
        with contextlib.suppress(ValueError, pytest.fail.Exception):
            spoil(value)
        return how

    mine = make(kind)
    truth = digest(make(kind))
    node = computed(mine)
    assert cache([attack(node, 1), attack(node, 2)]) == [1, 2]
    assert compute([attack(node, 1), attack(node, 2)]) == [1, 2]
    assert digest(mine) == truth
    assert digest(compute(node)) == truth


@pytest.mark.parametrize("kind", KINDS)
def test_hit_and_miss_give_the_same_type_strides_and_flags(tmp_path: Path, kind: str) -> None:
    @pure(version=1)
    def produce(kind: str) -> Any:
        return make(kind)

    cache = Cache(tmp_path / "store")
    values = [cache(produce(kind)), cache(produce(kind)), Cache(tmp_path / "store")(produce(kind))]
    assert len({type(value) for value in values}) == 1
    if kind in ("array", "small array"):
        assert len({(v.dtype, v.strides, v.shape, v.flags.writeable, v.flags.owndata) for v in values}) == 1


@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed"])
def test_layouts_are_the_same_on_a_miss_and_a_hit(tmp_path: Path, order: str) -> None:
    @pure(version=1)
    def produce(order: str) -> Any:
        base = np.arange(400_000.0).reshape(400, 1000)
        return {"C": base, "F": np.asfortranarray(base), "strided": base[::2, ::3], "reversed": base[::-1]}[order]

    cache = Cache(tmp_path / "store")
    miss, hit, later = cache(produce(order)), cache(produce(order)), Cache(tmp_path / "store")(produce(order))
    np.testing.assert_array_equal(miss, later)
    assert miss.strides == hit.strides == later.strides


def test_arrays_are_the_same_object_while_alive(cache: Cache) -> None:
    node = computed(np.arange(1000.0)) * 2
    first = cache(node)
    assert first is cache(node)
    assert first is cache.get(node)


def test_copy_gives_a_writable_copy_of_ones_own(cache: Cache) -> None:
    node = computed(np.arange(1000.0)) * 2
    mine = cache(node, copy=True)
    mine[:] = -1
    np.testing.assert_array_equal(cache(node), np.arange(1000.0) * 2)
    nest = cache([node, computed([1]) + [2]], copy=True)
    nest[0][0] = 5
    assert cache(node)[0] == 0


def test_changing_an_input_after_the_key_was_taken_changes_nothing(cache: Cache) -> None:
    mine = np.arange(10.0)
    node = computed(mine) + 1
    cache(node)
    mine[:] = 100
    np.testing.assert_array_equal(cache(node), np.arange(10.0) + 1)
    np.testing.assert_array_equal(cache(computed(mine) + 1), np.full(10, 101.0))


def test_a_method_call_cannot_spoil_a_leaf(cache: Cache) -> None:
    leaf = computed([3, 1, 2])
    assert cache([leaf.sort(), leaf[0]]) == [None, 3]


LOOKS: dict[str, Callable[[Any], None]] = {
    "shape": lambda a: setattr(a, "shape", (a.size, 1)),
    "dtype": lambda a: setattr(a, "dtype", "u1"),
    "strides": lambda a: setattr(a, "strides", (0,) * a.ndim),
    "names": lambda a: setattr(a.dtype, "names", ["x", "y"]),
}


@pytest.mark.parametrize("size", [6, 300_000])
@pytest.mark.parametrize("look", LOOKS)
def test_what_is_set_on_a_shared_array_in_place_does_not_reach_the_next_one(
    cache: Cache, tmp_path: Path, look: str, size: int
) -> None:
    @pure(version=1)
    def produce(named: bool, size: int) -> Any:
        return np.ones(size, [("a", "i4"), ("b", "f8")]) if named else np.arange(float(size)).reshape(2, -1)

    node = produce(look == "names", size)
    truth = compute(node)
    for store in (cache, cache, Cache(tmp_path / "store")):
        value = store(node)
        # Deprecated for good reason, but still there.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            LOOKS[look](value)
        again = store(node)
        assert (again.shape, again.strides, again.dtype) == (truth.shape, truth.strides, truth.dtype)
        assert again.tobytes() == truth.tobytes()
        assert store(node) is again


@pytest.mark.parametrize("evaluate", ["compute", "cache"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_leaf_gives_out_cannot_spoil_the_bytes_of_its_key(cache: Cache, kind: str, evaluate: str) -> None:
    leaf = computed(make(kind))
    truth = digest(make(kind))
    before = key(leaf)
    with contextlib.suppress(pytest.fail.Exception):
        spoil(compute(leaf) if evaluate == "compute" else cache(leaf))
    assert digest(compute(leaf)) == truth
    assert key(leaf) == before == key(computed(make(kind)))


def test_what_is_taken_out_of_a_leaf_cannot_spoil_it(cache: Cache) -> None:
    leaf = computed({"a": {"b": [1]}})
    assert cache(leaf["a"]["b"]) == [1]
    compute(leaf["a"])["b"].append(2)
    assert compute(leaf) == {"a": {"b": [1]}}
    assert cache(leaf["a"]["b"] + [3]) == [1, 3]


def test_a_body_that_renames_fields_renames_its_own(cache: Cache) -> None:
    @pure(version=1)
    def rename(table: Any) -> Any:
        table.dtype.names = ("x", "y")
        return table

    mine = np.ones(3, [("a", "i4"), ("b", "f8")])
    assert cache(rename(mine)).dtype.names == ("x", "y")
    assert compute(rename(computed(mine, own=True))).dtype.names == ("x", "y")
    assert mine.dtype.names == ("a", "b")
