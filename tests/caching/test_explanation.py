"""Why a call hits or misses."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, hash_by_file_date, pure


def make(version: int) -> Any:
    """Return a pure function of one name, in one of its versions."""

    @pure(version=version, name="scaled")
    def scaled(x: float, factor: float = 2.0) -> float:
        return x * factor

    return scaled


def test_a_hit_says_when_and_how_long(cache: Cache) -> None:
    cache(make(1)(3))
    explained = cache.explain(make(1)(3))
    assert explained.hit
    assert str(explained).startswith("HIT ")
    assert "took" in str(explained)


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        (lambda: make(1)(4), "argument x: was 3, is 4"),
        (lambda: make(1)(3, factor=5.0), "argument factor: was 2.0, is 5.0"),
        (lambda: make(2)(3), "version: was 1, is 2"),
    ],
)
def test_a_miss_names_what_changed(cache: Cache, call: Any, cause: str) -> None:
    cache(make(1)(3))
    cache(make(1)(100, factor=7.0))
    explained = cache.explain(call())
    assert not explained.hit
    assert explained.causes == (cause,)
    assert cause in str(explained)


def test_a_miss_of_a_function_never_called(cache: Cache) -> None:
    assert cache.explain(make(1)(3)).causes == ("no call of scaled is stored",)


def test_an_argument_that_holds_calls_is_told_from_another_one(cache: Cache) -> None:
    @pure(version=1, name="joined")
    def joined(parts: list[float], options: dict[str, Any]) -> float:
        return sum(parts)

    def call(last: float) -> Any:
        return joined([make(1)(1), make(1)(last)], {"scale": [make(1)(5)]})

    assert cache(call(2)) == 6
    assert cache.explain(call(2)).hit
    cache(make(1)(3))
    (cause,) = cache.explain(call(3)).causes
    assert cause == (
        "argument parts: was list(length=2) of scaled(1, 2.0), scaled(2, 2.0), "
        "is list(length=2) of scaled(1, 2.0), scaled(3, 2.0)"
    )


def test_a_miss_above_missing_calls_names_them(cache: Cache) -> None:
    (cause,) = cache.explain(make(1)(3) + 1).causes
    assert cause.startswith("needs scaled(3")


def test_a_changed_file_is_shown_with_its_dates(tmp_path: Path, cache: Cache) -> None:
    @pure(version=1, name="read", hashers={"filename": hash_by_file_date})
    def read(filename: str) -> str:
        return Path(filename).read_text()

    path = tmp_path / "f"
    path.write_text("one")
    os.utime(path, ns=(10**18, 10**18))
    cache(read(str(path)))
    os.utime(path, ns=(2 * 10**18, 2 * 10**18))
    (cause,) = cache.explain(read(str(path))).causes
    assert "2001-09-09" in cause
    assert "2033-05-18" in cause


def test_explaining_through_the_function_uses_the_default_cache() -> None:
    scaled = make(1)
    assert not scaled.explain(3).hit
    from lazycache import cache

    cache(scaled(3))
    assert scaled.explain(3).hit
    assert scaled.is_cached(3)
    assert scaled.forget(3)
    assert not scaled.is_cached(3)


def test_arrays_are_told_apart_by_what_is_in_them(cache: Cache) -> None:
    @pure(version=1, name="mean")
    def mean(data: Any) -> float:
        return float(np.nanmean(data))

    cache(mean(np.array([1.0, 2.0, np.nan])))
    (cause,) = cache.explain(mean(np.array([1.0, 4.0, np.nan]))).causes
    assert "from 1 to 2, mean 1.5, 1 NaN" in cause
    assert "from 1 to 4, mean 2.5, 1 NaN" in cause


class Fit:
    """An object with settings, whose class has no text of its own."""

    def __init__(self, order: int) -> None:
        self.order = order


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"how": "mean", "n": 3}, {"how": "max", "n": 3}, "was {'how': 'mean', 'n': 3}, is {'how': 'max', 'n': 3}"),
        ([1, {"a": (2,)}], [1, {"a": (3,)}], "was [1, {'a': (2,)}], is [1, {'a': (3,)}]"),
        (Fit(1), Fit(2), "was Fit(order=1), is Fit(order=2)"),
        ("a" * 100, "a" * 99 + "b", f"was '{'a' * 100}', is '{'a' * 99}b'"),
        ({1, 2}, {1, 3}, "was another set(length=2)"),
        (list(range(1000)), list(range(999)), "was list(length=1000), is list(length=999)"),
        ({n: n for n in range(1000)}, {n: -n for n in range(1000)}, "was another dict(length=1000)"),
    ],
)
def test_a_changed_argument_shows_what_is_in_it(cache: Cache, before: Any, after: Any, told: str) -> None:
    @pure(version=1, name="configured")
    def configured(options: Any) -> int:
        return 1

    cache(configured(before))
    assert cache.explain(configured(after)).causes == (f"argument options: {told}",)
