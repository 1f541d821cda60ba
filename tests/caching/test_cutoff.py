"""Early cutoff: what depends on an unchanged result does not run again."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from lazycache import Cache, hash_by_file_date, pure
from tests.conftest import Witness

Array = np.ndarray[Any, Any]


class Pipeline:
    """parse → scaled → spectrum, and total over both, with operators between."""

    def __init__(self, witness: Witness) -> None:
        @pure(version=1, name="parse", hashers={"filename": hash_by_file_date})
        def parse(filename: str) -> Array:
            witness("parse")
            return np.loadtxt(filename)

        @pure(version=1, name="scaled")
        def scaled(data: Array, factor: float) -> Array:
            witness("scaled")
            return data * factor

        @pure(version=1, name="total")
        def total(data: Array, other: Array) -> float:
            witness("total")
            return float(data.sum() + other.sum())

        self.parse, self.scaled, self.total = parse, scaled, total

    def root(self, path: Path) -> Any:
        data = self.parse(str(path))
        big = self.scaled(data - data.min(), 2.0)
        return self.total(big[1:], data) + 1


def write(path: Path, values: Array, date: int) -> None:
    """Write a file and give it a date long past."""
    np.savetxt(path, values)
    os.utime(path, ns=(date, date))


def test_a_touched_file_costs_one_parse(tmp_path: Path, witness: Witness) -> None:
    path = tmp_path / "data.txt"
    write(path, np.arange(5000.0), 10**18)
    pipeline = Pipeline(witness)
    value = Cache(tmp_path / "store")(pipeline.root(path))
    assert witness.news() == {"parse": 1, "scaled": 1, "total": 1}
    write(path, np.arange(5000.0), 2 * 10**18)
    cache = Cache(tmp_path / "store")
    assert cache(pipeline.root(path)) == value
    assert witness.news() == {"parse": 1}
    assert Cache(tmp_path / "store")(pipeline.root(path)) == value
    assert witness.news() == {}


def test_after_a_cutoff_the_result_is_under_its_own_key(tmp_path: Path, witness: Witness) -> None:
    path = tmp_path / "data.txt"
    write(path, np.arange(200_000.0), 10**18)
    pipeline = Pipeline(witness)
    Cache(tmp_path / "store")(pipeline.root(path))
    write(path, np.arange(200_000.0), 2 * 10**18)
    scaled = pipeline.scaled(pipeline.parse(str(path)), 2.0)
    Cache(tmp_path / "store")(pipeline.root(path))
    Cache(tmp_path / "store")(scaled)
    later = Cache(tmp_path / "store")
    later(pipeline.root(path))
    assert (later.stats()["hits"], later.stats()["disk"]) == (1, 1)
    later.forget(pipeline.parse(str(path)))
    np.testing.assert_array_equal(later(scaled), np.arange(200_000.0) * 2)
    assert later.stats()["runs"] == 0


def test_no_object_is_opened_for_a_cutoff(tmp_path: Path, witness: Witness) -> None:
    path = tmp_path / "data.txt"
    write(path, np.arange(200_000.0), 10**18)
    pipeline = Pipeline(witness)
    value = Cache(tmp_path / "store")(pipeline.root(path))
    write(path, np.arange(200_000.0), 2 * 10**18)
    cache = Cache(tmp_path / "store")
    cache(pipeline.parse(str(path)))
    objects = tmp_path / "store" / "objects"
    objects.rename(tmp_path / "away")
    objects.mkdir()
    assert cache(pipeline.root(path)) == value
    assert witness.ran == {"parse": 2, "scaled": 1, "total": 1}


def test_another_content_runs_what_depends_on_it(tmp_path: Path, witness: Witness) -> None:
    path = tmp_path / "data.txt"
    write(path, np.arange(50.0), 10**18)
    pipeline = Pipeline(witness)
    cache = Cache(tmp_path / "store")
    before = cache(pipeline.root(path))
    witness.news()
    write(path, np.arange(50.0) ** 2, 2 * 10**18)
    after = cache(pipeline.root(path))
    data = np.arange(50.0) ** 2
    assert after == (data * 2)[1:].sum() + data.sum() + 1 != before
    assert witness.news() == {"parse": 1, "scaled": 1, "total": 1}


def test_a_diamond_where_one_side_changes_nothing(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def source(x: int) -> int:
        witness("source")
        return abs(x)

    @pure(version=1)
    def left(x: int) -> int:
        witness("left")
        return x + 1

    @pure(version=1)
    def join(x: int, y: int) -> int:
        witness("join")
        return x * y

    assert cache(join(left(source(3)), source(3))) == 12
    witness.news()
    assert cache(join(left(source(-3)), source(-3))) == 12
    assert witness.news() == {"source": 1}


def test_a_result_without_a_digest_ends_the_cutoff_but_not_the_hit(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def make(x: int) -> Any:
        witness("make")
        return np.random.default_rng(abs(x))

    @pure(version=1)
    def use(generator: Any) -> int:
        witness("use")
        return int(generator.integers(100))

    value = cache(use(make(3)))
    assert cache(use(make(3))) == value
    assert witness.ran == {"make": 1, "use": 1}
    assert cache(use(make(-3))) == value
    assert witness.ran == {"make": 2, "use": 2}


def test_a_plain_argument_and_a_computed_one_are_one_call(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def f(x: int) -> int:
        witness(f"f {x}")
        return x + 1

    cache(f(3))
    witness.news()
    assert cache(f(f(2))) == 4
    assert witness.ran == {"f 2": 1}
