"""Results that count for a while, and calls that compute once more; clocks are set, never waited for."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from lazycache import Cache, compute, pure
from lazycache.errors import PurityError, SettingError
from lazycache.files import hash_by_file_date
from lazycache_storage.store import Store
from tests.conftest import Witness

DAY = 86400.0


def age(cache: Cache, seconds: float) -> None:
    """Make every record of a store older, also what it says of when results in it expire."""
    cache.close()
    with Store(cache.path) as store:
        for row in list(store.records()):
            files = tuple(
                msgspec.structs.replace(file, mtime_ns=file.mtime_ns - int(seconds * 1e9))
                if file.how == "age"
                else file
                for file in row.record.files
            )
            created = row.record.created - seconds
            assert store.update(row.key, msgspec.structs.replace(row.record, created=created, files=files))


@pytest.fixture
def calls(witness: Witness, tmp_path: Path) -> Any:
    """Return a download that expires after a day, what it gives, and a function over it."""
    content = tmp_path / "content"
    content.write_text("1")

    @pure(version=1, name="download", max_age="1d")
    def download(url: str) -> str:
        witness("download")
        return content.read_text()

    @pure(version=1, name="parse")
    def parse(text: str) -> Any:
        witness("parse")
        return np.arange(5000.0) * int(text)

    return download, parse, content


def test_a_result_counts_until_its_age_is_reached(cache: Cache, calls: Any, witness: Witness) -> None:
    download, _, content = calls
    assert cache(download("u")) == "1"
    content.write_text("2")
    age(cache, 0.9 * DAY)
    assert cache(download("u")) == "1"
    assert download("u") in cache
    age(cache, 0.2 * DAY)
    assert download("u") not in cache
    assert cache.get(download("u")) is None
    assert cache(download("u")) == "2"
    assert cache(download("u")) == "2"
    assert witness.ran == {"download": 2}


def test_what_is_made_of_an_expired_result_is_made_again_only_if_that_changed(
    cache: Cache, calls: Any, witness: Witness
) -> None:
    download, parse, content = calls
    assert cache(parse(download("u")))[1] == 1
    assert witness.news() == {"download": 1, "parse": 1}
    age(cache, 2 * DAY)
    assert cache(parse(download("u")))[1] == 1
    assert witness.news() == {"download": 1}
    assert cache(parse(download("u")))[1] == 1
    age(cache, 2 * DAY)
    content.write_text("3")
    assert cache(parse(download("u")))[1] == 3
    assert witness.news() == {"download": 1, "parse": 1}
    assert Cache(cache.path)(parse(download("u")))[1] == 3
    assert witness.ran == {}


def test_a_result_without_a_digest_expires_with_all_that_was_made_of_it(
    cache: Cache, witness: Witness, tmp_path: Path
) -> None:
    named = tmp_path / "named"
    named.touch()
    os.utime(named, ns=(1, 1))

    @pure(version=1, name="path_of", max_age=DAY)
    def path_of(n: int) -> Any:
        witness("path")
        return [named, n]

    @pure(version=1, name="length")
    def length(parts: Any) -> int:
        witness("length")
        return len(parts)

    assert cache(length(path_of(1))) == 2
    age(cache, 2 * DAY)
    assert cache(length(path_of(1))) == 2
    assert witness.ran == {"path": 2, "length": 2}


def test_what_a_body_called_expires_with_the_outer_result(cache: Cache, calls: Any, witness: Witness) -> None:
    download, _, content = calls

    @pure(version=1, name="outer")
    def outer(url: str) -> int:
        witness("outer")
        return int(download(url)) * 10

    assert cache(outer("u")) == 10
    content.write_text("2")
    age(cache, 0.5 * DAY)
    assert cache(outer("u")) == 10
    age(cache, DAY)
    assert "older than its max_age" in str(cache.explain(outer("u")))
    assert cache(outer("u")) == 20
    assert witness.ran == {"outer": 2, "download": 2}


def test_a_shorter_age_counts_for_results_that_are_there(cache: Cache, witness: Witness) -> None:
    def now(n: int) -> int:
        witness("now")
        return n

    cache(pure(version=1, name="now")(now)(1))
    age(cache, 3600.0)
    assert pure(version=1, name="now")(now)(1) in cache
    assert pure(version=1, name="now", max_age="2h")(now)(1) in cache
    assert pure(version=1, name="now", max_age="30min")(now)(1) not in cache


@pytest.mark.parametrize("max_age", ["12h", 12 * 3600, 43200.0])
def test_a_call_may_ask_for_younger_results_of_all_that_it_needs(
    cache: Cache, calls: Any, witness: Witness, max_age: Any
) -> None:
    download, parse, _ = calls
    e = parse(download("u"))
    cache(e)
    age(cache, 0.6 * DAY)
    assert cache(e)[1] == 1
    assert witness.news() == {"download": 1, "parse": 1}
    assert cache(e, max_age=max_age)[1] == 1
    assert witness.news() == {"download": 1, "parse": 1}
    assert cache(e, max_age=max_age)[1] == 1
    assert Cache(cache.path)(e, max_age=max_age)[1] == 1
    assert witness.ran == {}


def test_refresh_computes_the_root_and_all_below_once_and_replaces(cache: Cache, calls: Any, witness: Witness) -> None:
    download, parse, content = calls

    @pure(version=1, name="both")
    def both(first: Any, second: Any, url: str) -> float:
        witness("both")
        return float(first[1] + second[1]) + int(download(url))

    e = both(parse(download("u")), parse(download("u")), "u")
    assert cache(e) == 3
    content.write_text("2")
    witness.news()
    assert cache(e) == 3
    assert cache(e, refresh=True) == 6
    # Its body asked for the same download.
    assert witness.news() == {"both": 1, "parse": 1, "download": 1}
    assert cache(e) == Cache(cache.path)(e) == 6
    assert witness.ran == {}
    assert cache({"a": [e]}, refresh=True) == {"a": [6]}
    assert witness.news() == {"both": 1, "parse": 1, "download": 1}


def test_refresh_in_threads(cache: Cache, calls: Any, witness: Witness) -> None:
    download, parse, content = calls
    e = parse(download("u"))
    cache(e)
    content.write_text("2")
    with ThreadPoolExecutor(2) as threads:
        assert cache(e, refresh=True, executor=threads)[1] == 2
    assert witness.news() == {"download": 2, "parse": 2}
    assert cache(e)[1] == 2


def test_refresh_where_nothing_may_be_written(cache: Cache, calls: Any, witness: Witness) -> None:
    download, _, content = calls
    cache(download("u"))
    content.write_text("2")
    reader = Cache(cache.path, mode="ro")
    assert reader(download("u"), refresh=True) == "2"
    assert reader(download("u")) == "1"
    assert Cache(cache.path, mode="off")(download("u"), refresh=True, max_age=1) == "2"
    assert witness.ran == {"download": 3}


def test_modes_by_the_environment(cache: Cache, calls: Any, witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    download, _, content = calls
    assert cache(download("u")) == "1"
    content.write_text("2")
    for mode, value in (("ro", "1"), ("off", "2"), ("refresh", "2"), ("rw", "2")):
        monkeypatch.setenv("LAZYCACHE_MODE", mode)
        fresh = Cache(cache.path)
        assert fresh.mode == mode
        assert [fresh(download("u")), fresh(download("u"))] == [value, value]
        fresh.close()
    assert witness.ran == {"download": 1 + 0 + 2 + 1 + 0}


def test_what_is_put_by_hand_expires_too(cache: Cache, calls: Any) -> None:
    download, _, _ = calls
    cache.put(download("u"), "by hand")
    assert cache(download("u")) == "by hand"
    age(cache, 2 * DAY)
    assert cache(download("u")) == "1"


def test_a_clock_that_was_set_back_makes_no_result_older(
    cache: Cache, calls: Any, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    download, _, _ = calls
    cache(download("u"))
    before = time.time
    monkeypatch.setattr(time, "time", lambda: before() - 30 * DAY)
    assert cache(download("u")) == "1"
    assert witness.ran == {"download": 1}


@pytest.mark.parametrize("asked", [{"refresh": True}, {"max_age": 0}, {"max_age": "1h"}])
def test_after_a_clock_was_set_back_results_from_the_future_are_not_young(
    cache: Cache, calls: Any, witness: Witness, asked: dict[str, Any]
) -> None:
    _, parse, _ = calls
    cache(parse("2"))
    age(cache, -400 * DAY)
    assert cache(parse("2"), **asked)[1] == 2
    assert witness.ran == {"parse": 2}
    assert cache(parse("2"), max_age="1h")[1] == 2
    assert witness.ran == {"parse": 2}


def test_a_file_and_an_age(cache: Cache, witness: Witness, tmp_path: Path) -> None:
    @pure(version=1, name="read", hashers={"path": hash_by_file_date}, max_age=DAY)
    def read(path: str) -> str:
        witness("read")
        return Path(path).read_text()

    path = tmp_path / "data"
    path.write_text("a")
    os.utime(path, ns=(1, 1))
    assert cache(read(str(path))) == cache(read(str(path))) == "a"
    age(cache, 2 * DAY)
    assert cache(read(str(path))) == "a"
    assert witness.ran == {"read": 2}


def test_collections_do_not_take_an_age_for_a_file_that_is_missing(cache: Cache, calls: Any) -> None:
    download, parse, _ = calls
    cache(parse(download("u")))
    cache.gc(missing_inputs=True)
    assert parse(download("u")) in cache


@pytest.mark.parametrize("wrong", ["soon", -1, float("nan"), True, [7]])
def test_an_age_that_means_nothing_is_refused(cache: Cache, calls: Any, wrong: Any) -> None:
    with pytest.raises(PurityError, match="max_age"):
        pure(version=1, max_age=wrong)(len)
    with pytest.raises(SettingError, match="max_age"):
        cache(calls[0]("u"), max_age=wrong)


def test_only_what_is_stored_has_an_age() -> None:
    with pytest.raises(PurityError, match="store=False"):
        pure(version=1, max_age=1, store=False)(len)


def test_an_age_is_no_part_of_the_key() -> None:
    @pure(version=1, name="same", max_age=1)
    def brief(n: int) -> int:
        return n

    @pure(version=1, name="same")
    def lasting(n: int) -> int:
        return n

    assert brief(1) == lasting(1)
    assert compute(brief(1)) == 1
