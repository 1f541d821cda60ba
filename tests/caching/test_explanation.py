"""Why a call hits or misses."""

import dataclasses
import enum
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, computed, explain, hash_by_file_content, hash_by_file_date, pure
from lazycache.errors import CacheFaultWarning


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


class How(enum.Enum):
    MEAN = "mean"
    MEDIAN = "median"


@dataclasses.dataclass
class Settings:
    how: How


def test_members_of_enums_are_told_apart(cache: Cache) -> None:
    @pure(version=1, name="reduced")
    def reduced(how: How, settings: Settings) -> str:
        return how.value + settings.how.value

    cache(reduced(How.MEAN, Settings(How.MEAN)))
    assert cache.explain(reduced(How.MEDIAN, Settings(How.MEDIAN))).causes == (
        "argument how: was How.MEAN, is How.MEDIAN",
        "argument settings: was Settings(how=How.MEAN), is Settings(how=How.MEDIAN)",
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


def settings(**changes: Any) -> dict[str, Any]:
    return {f"setting{n}": n for n in range(40)} | {"inner": {"rates": [0.5, 0.25]}} | changes


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (settings(), settings(setting7=-1), "was …'setting7': 7…, is …'setting7': -1…"),
        (settings(), settings(inner={"rates": [0.5, 0.125]}), "was …0.25]}}, is …0.125]}}"),
        (settings(), settings(new=1), "was …0.25]}}, is …0.25]}, 'new': 1}"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "(the order of a dict counts: its hasher may be lazycache.unordered)"),
        (settings(), dict(reversed(settings().items())), "lazycache.unordered"),
        ([*range(50)], [*range(20), *range(21, 50)], "was …20…, is …nothing…"),
        (np.zeros((30, 20)), np.asfortranarray(np.zeros((30, 20))), "mean 0, 0 NaN"),
        (np.array(["a", "b"]), np.array(["a", "c"]), ": ['a', 'b'], is ndarray(shape=(2,), dtype=<U1): ['a', 'c']"),
        (np.array([True, False]), np.array([True, True]), ": [True, False], is ndarray(shape=(2,), dtype=bool): [T"),
    ],
)
def test_a_long_argument_shows_the_member_that_changed(cache: Cache, before: Any, after: Any, told: str) -> None:
    @pure(version=1, name="configured")
    def configured(options: Any) -> int:
        return 1

    cache(configured(before))
    (cause,) = cache.explain(configured(after)).causes
    assert told in cause
    assert "was another" not in cause
    assert len(cause) < 800


# -- code ---------------------------------------------------------------------

PROGRAM = """
import numpy as np
from lazycache import pure
GAIN = 2.0
MODE = "fast"

def scaled(x):
    return x * GAIN + len(MODE)

def unused(x):
    return -x

def make(power):
    @pure(name="lab.power")
    def raised(x):
        return x ** power
    return raised

@pure
def lab(x, n=3):
    return scaled(x)

@pure(version=1, depends=["msgspec"])
def packed(x):
    return x
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Return what loads the program as a module, after changes of its text."""

    def load(*changes: tuple[str, str]) -> Any:
        text = PROGRAM
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / f"lab{time.monotonic_ns()}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("lab_of_a_test", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["lab_of_a_test"] = module
        spec.loader.exec_module(module)
        return module

    yield load
    sys.modules.pop("lab_of_a_test", None)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("x * GAIN", "GAIN * x"), "lab_of_a_test.scaled was edited"),
        (("GAIN = 2.0", "GAIN = 3.0"), "the global `GAIN` of lab_of_a_test was 2.0, is 3.0"),
        (('MODE = "fast"', 'MODE = "exact"'), "the global `MODE` of lab_of_a_test has another value"),
        (("x * GAIN", "unused(x) * GAIN"), "lab_of_a_test.scaled was edited, lab_of_a_test.unused is new"),
        (("n=3", "n=4"), "a default of lab was 3, is 4"),
        (("return scaled(x)", "return x"), "lab_of_a_test.lab was edited, lab_of_a_test.scaled is no longer used"),
    ],
)
def test_an_edit_is_named(cache: Cache, lab: Any, change: tuple[str, str], told: str) -> None:
    cache(lab().lab(1.5, n=9))
    assert cache.explain(lab().lab(1.5, n=9)).hit
    explained = cache.explain(lab(change).lab(1.5, n=9))
    assert not explained.hit
    code, *others = explained.causes
    assert code.startswith(f"code: {told}")
    assert others == []


def test_an_edit_is_named_in_another_process_and_upstream(tmp_path: Path, lab: Any) -> None:
    with Cache(tmp_path / "theirs") as theirs:
        theirs(lab().lab(1.5))
    mine = Cache(tmp_path / "mine", upstream=[tmp_path / "theirs"])
    assert mine.explain(lab(("GAIN = 2.0", "GAIN = 2.5")).lab(1.5)).causes == (
        "code: the global `GAIN` of lab_of_a_test was 2.0, is 2.5",
    )
    (note,) = mine.explain(lab().lab(1.5)).notes
    assert note == f"found in {tmp_path / 'theirs'}"


def test_what_a_closure_holds_is_named(cache: Cache, lab: Any) -> None:
    module = lab()
    cache(module.make(2)(3))
    (cause,) = cache.explain(module.make(5)(3)).causes
    assert cause.startswith("code: the closure variable `power` of")
    assert cause.endswith("was 2, is 5")


def test_a_text_that_code_holds_does_not_get_into_a_store(cache: Cache, lab: Any) -> None:
    cache(lab(('MODE = "fast"', 'MODE = "hunter2"')).lab(1.5))
    cache.close()
    assert not [path for path in Path(cache.path).rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


def test_a_package_in_depends_is_named_with_its_versions(
    cache: Cache, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.metadata

    ours = importlib.metadata.version("msgspec")
    cache(lab().packed(1))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0")
    explained = cache.explain(lab().packed(1))
    assert explained.causes == (f"code: msgspec in depends= was {ours}, is 99.0",)
    assert explained.notes == (f"packages, which do not count: was msgspec {ours}, is msgspec 99.0",)


def test_a_hit_with_other_packages_says_so(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache(make(1)(3))
    assert cache.explain(make(1)(3)).notes == ()
    ours = np.__version__
    from lazycache.caching import details

    details._python.cache_clear()
    monkeypatch.setattr(np, "__version__", "99.0")
    assert cache.explain(make(1)(3)).notes == (f"packages, which do not count: was numpy {ours}, is numpy 99.0",)
    details._python.cache_clear()


# -- what comes after what ----------------------------------------------------


@pure(version=1, hashers={"filename": hash_by_file_date})
def read(filename: str) -> str:
    return Path(filename).read_text()


@pure(version=1)
def shout(text: str, mark: str = "!") -> str:
    return text.upper() + mark


def write(path: Path, text: str, second: int) -> str:
    path.write_text(text)
    os.utime(path, ns=(second * 10**9, second * 10**9))
    return str(path)


def test_the_cause_is_told_where_it_is_and_not_where_it_shows(tmp_path: Path, cache: Cache) -> None:
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    cache([shout(read(write(path, path.name, 10**9))) for path in paths])
    write(paths[1], "other", 10**9 + 5)
    expression = shout(read(str(paths[1]))) + shout(read(str(paths[2])), mark="?")
    explained = cache.explain(expression)
    assert [one.text.partition("(")[0] for one in explained.below] == [f"{__name__}.read", f"{__name__}.shout"]
    file, argument = explained.below
    assert file.causes[0].count("b.txt") == 2, file.causes
    assert argument.causes == ("argument mark: was '!', is '?'",)
    assert (explained.runs, explained.may_run) == (2, 2)
    assert str(explained).endswith("2 calls have to run; 2 more, unless what they need comes out as before")


def test_the_same_file_is_nearest_whatever_its_date(tmp_path: Path, cache: Cache) -> None:
    paths = [tmp_path / f"run{number}.txt" for number in range(3)]
    cache([read(write(path, path.name, 10**9)) for path in paths])
    write(paths[0], "other", 10**9 + 5)
    (cause,) = cache.explain(read(str(paths[0]))).causes
    assert cause.count("run0.txt") == 2


def test_two_dates_within_a_second_are_told_apart(tmp_path: Path, cache: Cache) -> None:
    path = tmp_path / "file"
    cache(read(write(path, "one", 10**9)))
    os.utime(path, ns=(10**18 + 5, 10**18 + 5))
    (cause,) = cache.explain(read(str(path))).causes
    assert "another fraction of a second" in cause


def test_early_cutoff_is_told_once(tmp_path: Path, cache: Cache) -> None:
    path = tmp_path / "file"
    cache(shout(read(write(path, "same", 10**9))))
    cache(read(write(path, "same", 10**9 + 5)))
    explained = cache.explain(shout(read(str(path))))
    assert explained.hit
    assert explained.notes == ("found by what it needs, which came out as before",)
    assert cache.explain(shout(read(str(path)))).notes == ()


def test_hundreds_of_missing_calls_take_a_few_lines(cache: Cache) -> None:
    explained = cache.explain(sum((make(1)(n) for n in range(300)), start=computed(0)))
    assert (explained.runs, explained.may_run, len(explained.below)) == (300, 1, 300)
    assert len(str(explained).splitlines()) < 20
    assert "needs 295 more calls" in str(explained)


def test_the_time_that_it_will_take_is_that_of_the_last_times(cache: Cache) -> None:
    expression = make(1)(1) + make(1)(2)
    assert cache.explain(expression).seconds == 0
    cache.put(make(1)(1), 1.0)
    cache.put(make(1)(3), 3.0)
    with Cache(cache.path) as other:
        for record in list(other._guard.store.records()):  # type: ignore[union-attr]
            import msgspec

            other._guard.store.update(record.key, msgspec.structs.replace(record.record, seconds=90.0))  # type: ignore[union-attr]
    explained = Cache(cache.path).explain(expression)
    assert explained.seconds == 90.0
    assert "1.5 min by the last times" in str(explained)


# -- what else may be the matter ----------------------------------------------


def test_the_mode_is_told(cache: Cache) -> None:
    cache(make(1)(3))
    (off,) = Cache(cache.path, mode="off").explain(make(1)(3)).causes
    (refresh,) = Cache(cache.path, mode="refresh").explain(make(1)(3)).causes
    assert off.startswith("mode is off")
    assert refresh.startswith("mode is refresh")
    assert Cache(cache.path, mode="ro").explain(make(1)(3)).hit


def test_a_store_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(CacheFaultWarning):
        (cause, *_) = Cache(tmp_path / "file").explain(make(1)(3)).causes
    assert cause.startswith(f"the store {tmp_path / 'file'} cannot be opened")


def test_what_is_never_kept_is_told(cache: Cache) -> None:
    @pure(version=1, store=False)
    def light(x: int) -> int:
        return x

    cache(light(1))
    assert cache.explain(light(1)).causes == ("its results are not kept (store=False)",)


def test_an_expression_that_was_not_asked_for_is_told(cache: Cache) -> None:
    cache(make(1)(3))
    (cause,) = cache.explain(make(1)(3) + 1).causes
    assert cause.startswith("it was not asked for before")


def test_an_expired_result_is_told_with_its_age(cache: Cache) -> None:
    def rate(max_age: float) -> Any:
        @pure(version=1, name="rate", max_age=max_age)
        def rate(currency: str) -> float:
            return 1.0

        return rate

    cache(rate(3600.0)("EUR"))
    (cause,) = cache.explain(rate(0.0)("EUR")).causes
    assert cause.startswith("it was computed")
    assert "max_age is 0 ms" in cause
    cache(rate(0.0)("EUR") * 2)
    causes = cache.explain(rate(0.0)("EUR") * 2).causes
    assert any("older than its max_age" in cause for cause in causes)


def test_a_file_that_a_nested_call_read_is_told_with_its_fate(tmp_path: Path, cache: Cache) -> None:
    path = tmp_path / "inner.txt"

    @pure(version=1, name="outer")
    def outer() -> Any:
        return read(str(path))

    write(path, "one", 10**9)
    cache(outer())
    write(path, "three", 10**9 + 5)
    (cause,) = cache.explain(outer()).causes
    assert cause.startswith(f"file {path} was 3 bytes of 2001-09-09")
    assert ", is 5 bytes of 2001-09-09" in cause
    path.unlink()
    assert cache.explain(outer()).causes == (f"file {path} is gone",)


def test_an_object_that_is_gone_is_told(cache: Cache) -> None:
    @pure(version=1, name="large")
    def large(n: int) -> Any:
        return np.arange(n)

    cache(large(50_000))
    data = next(path for path in Path(cache.path, "objects").rglob("0"))
    data.parent.chmod(0o700)
    data.parent.rename(tmp := Path(cache.path) / "elsewhere")
    explained = Cache(cache.path).explain(large(50_000))
    assert (explained.hit, explained.causes) == (False, ("an object that its result needs is gone",))
    tmp.rename(data.parent)
    assert Cache(cache.path).explain(large(50_000)).hit


def test_a_change_of_the_hasher_is_told(tmp_path: Path, cache: Cache) -> None:
    def by(hasher: Any) -> Any:
        @pure(version=1, name="hashed", hashers={"filename": hasher})
        def hashed(filename: str) -> str:
            return filename

        return hashed(write(tmp_path / "f", "text", 10**9))

    cache(by(hash_by_file_date))
    (cause,) = cache.explain(by(hash_by_file_content)).causes
    assert "by hash_by_file_date, is" in cause
    assert cause.endswith("by hash_by_file_content")


def test_the_default_cache_is_asked_by_name(cache: Cache) -> None:
    with cache:
        cache(make(1)(3))
        assert explain(make(1)(3)).hit
    assert not explain(make(1)(3)).hit
    with pytest.raises(TypeError, match="only lazy expressions"):
        explain(3)  # type: ignore[arg-type]


def test_a_notebook_shows_what_print_shows(cache: Cache) -> None:
    explained = cache.explain(make(1)(3))
    assert repr(explained) == str(explained)


def test_notes_on_code_that_somebody_else_wrote_are_none(cache: Cache, lab: Any) -> None:
    cache(lab().lab(1.5))
    store = cache._guard.store
    assert store is not None
    for row in list(store.index.items(b"code:")):
        store.index.put(row.key, b"\x91\xc1")
    (cause,) = cache.explain(lab(("GAIN = 2.0", "GAIN = 3.0")).lab(1.5)).causes
    assert cause == "code: the function, or something of yours that it refers to, was edited"


RUN = """
import logging, sys
from lazycache import Cache, pure
logging.basicConfig(level=logging.INFO, format="%(message)s")
@pure(version=1, name="slow")
def slow(x):
    return x
kept = Cache(sys.argv[1])
kept([slow(1), slow(2)])
for path in sys.argv[2:]:
    with Cache(path) as other:
        other(slow(3))
    del other
"""


def test_the_log_tells_at_the_end_of_a_run_what_it_saved(tmp_path: Path) -> None:
    def run(*others: str) -> list[str]:
        command = [sys.executable, "-c", RUN, str(tmp_path / "store"), *others]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [line for line in done.stderr.splitlines() if "saved" in line]

    (first,) = run()
    assert first.startswith(f"{tmp_path / 'store'}: 0 hits, 2 computed in ")
    # A block is over when it ends, and nothing is told twice.
    *blocks, second = run(str(tmp_path / "a"), str(tmp_path / "b"))
    assert [line.partition(" computed")[0] for line in blocks] == [f"{tmp_path / name}: 0 hits, 1" for name in "ab"]
    assert second.startswith(f"{tmp_path / 'store'}: 2 hits, 0 computed in 0 ms, 0 taken from other processes, ")


def test_packages_are_those_that_are_installed(cache: Cache, lab: Any) -> None:
    """Modules of the standard library such as csv have versions of their own, which nobody can install."""
    module = lab(("from lazycache", "import csv, json, msgspec\nfrom lazycache"))
    cache(module.lab(1.5))
    record = cache.explain(module.lab(1.5)).nearest
    assert record is not None
    assert [part.split()[0] for part in record.packages.split(", ")] == ["Python", sys.platform, "numpy", "msgspec"]
