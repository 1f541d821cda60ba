"""A size limit holds by itself; without one, nothing is ever dropped."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, pure
from lazycache.errors import NotStoredWarning, SettingError


@pure(version=1)
def block(n: int, length: int = 100_000) -> Any:
    """Return an array that no other number gives."""
    return np.arange(float(length)) + n


def bytes_of_objects(cache: Cache) -> int:
    """Return what the arrays of a store take."""
    return sum(path.stat().st_size for path in (Path(cache.path) / "objects").rglob("*") if path.is_file())


def test_a_limit_holds_without_a_call_of_gc(tmp_path: Path) -> None:
    limit = 5_000_000
    cache = Cache(tmp_path / "store", size_limit=limit)
    for n in range(20):
        assert cache(block(n))[0] == n
    # On a busy machine a collection needs the time of several stores.
    for n in range(1000):
        if bytes_of_objects(cache) <= limit:
            break
        cache(block(n, length=1))
    cache.close()
    assert 0 < bytes_of_objects(cache) <= limit
    assert cache(block(19))[0] == 19


def test_a_limit_as_text(tmp_path: Path) -> None:
    assert Cache(tmp_path / "store", size_limit="2.5MB").size_limit == 2_500_000


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), True, [7], "much"])
def test_a_size_that_means_nothing_is_refused_and_drops_nothing(cache: Cache, wrong: Any) -> None:
    cache(block(1))
    with pytest.raises(SettingError, match="max_size"):
        cache.gc(max_size=wrong)
    with pytest.raises(SettingError, match="size_limit"):
        Cache(cache.path, size_limit=wrong)
    assert block(1) in cache


@pytest.mark.parametrize("limit", ["max_age", "unused_for"])
@pytest.mark.parametrize("wrong", [-1, float("nan"), timedelta(days=-1), True, "soon"])
def test_an_age_that_means_nothing_is_refused_and_drops_nothing(cache: Cache, limit: str, wrong: Any) -> None:
    cache(block(1))
    with pytest.raises(SettingError, match=limit):
        cache.gc(**{limit: wrong})
    assert block(1) in cache


def test_an_age_as_timedelta(cache: Cache) -> None:
    cache(block(1))
    cache.gc(max_age=timedelta(days=1), unused_for=timedelta(hours=1))
    assert block(1) in cache
    assert cache(block(1), max_age=timedelta(days=1))[0] == 1
    cache.gc(max_age=timedelta(0))
    assert block(1) not in cache


def test_a_result_larger_than_the_limit_is_returned_with_a_warning(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "store", size_limit=500_000)
    with pytest.warns(NotStoredWarning, match="limit of 500000"):
        assert cache(block(1))[0] == 1
    assert block(1) not in cache


def test_without_a_limit_nothing_is_dropped(cache: Cache) -> None:
    for n in range(20):
        cache(block(n))
    cache.close()
    fresh = Cache(cache.path)
    assert all(block(n) in fresh for n in range(20))


def test_gc_by_hand(cache: Cache) -> None:
    for n in range(10):
        cache(block(n))
    result = cache.gc(max_size="3MB")
    assert result is not None
    assert result.dropped >= 6
    assert bytes_of_objects(cache) <= 3_000_000
