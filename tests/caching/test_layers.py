"""Caches over the stores of others: looked in, never written."""

import os
import pickle
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, pure
from lazycache.caching.default import default_cache
from lazycache.errors import CacheFaultWarning, IdentityWarning, SettingError
from lazycache.files import hash_by_file_date
from tests.conftest import Witness

KEY = "a secret of the laboratory"


class Fit:
    """What only pickle can store."""

    def __init__(self, slope: float) -> None:
        self.slope = slope


@pytest.fixture
def lab(tmp_path: Path) -> Cache:
    """Open the store of others."""
    return Cache(tmp_path / "lab")


@pytest.fixture
def own(tmp_path: Path, lab: Cache) -> Cache:
    """Open an own store over that of others."""
    return Cache(tmp_path / "own", upstream=[lab.path])


@pytest.fixture
def calls(witness: Witness) -> Any:
    """Return pure functions with a small, a large, a chunked and a pickled result."""

    @pure(version=1, name="small")
    def small(n: int) -> Any:
        witness("small")
        return {"n": n, "list": [n]}

    @pure(version=1, name="large")
    def large(n: int) -> Any:
        witness("large")
        return np.arange(200_000.0) + n

    @pure(version=1, name="chunked", chunks=(1000,))
    def chunked(n: int) -> Any:
        witness("chunked")
        return np.arange(50_000.0) + n

    @pure(version=1, name="fit")
    def fit(n: int) -> Any:
        witness("fit")
        return Fit(n)

    return small, large, chunked, fit


def tree(folder: str) -> dict[str, tuple[int, int, bytes]]:
    """Return what is in a folder: modes, dates and bytes."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
    return found


def test_results_of_others_are_found_and_their_store_is_not_changed(
    lab: Cache, own: Cache, calls: Any, witness: Witness
) -> None:
    small, large, chunked, fit = calls
    truth = lab({"s": small(1), "l": large(1), "c": chunked(1)})
    slope = lab(fit(2)).slope
    lab.close()
    before = tree(lab.path)
    witness.news()
    found = own({"s": small(1), "l": large(1), "c": chunked(1)})
    assert found["s"] == truth["s"]
    np.testing.assert_array_equal(found["l"], truth["l"])
    np.testing.assert_array_equal(found["c"], truth["c"])
    assert not found["l"].flags.writeable
    assert own(fit(2)).slope == slope
    assert large(1) in own
    assert own.get(small(1)) == {"n": 1, "list": [1]}
    assert np.asarray(own.open(chunked(1))[10:12]).tolist() == [11.0, 12.0]
    assert own.explain(large(1)).hit
    assert not own.forget(large(1))
    own.close()
    assert witness.ran == {}
    assert tree(lab.path) == before
    assert own.stats()["stores"] == 0


def test_what_is_computed_goes_to_the_own_store_only(lab: Cache, own: Cache, calls: Any, witness: Witness) -> None:
    small, large, *_ = calls
    lab(large(1))
    lab.close()
    own(small(large(1).sum()))
    assert witness.ran == {"large": 1, "small": 1}
    own.close()
    fresh = Cache(own.path, upstream=[])
    assert small(large(1).sum()) in fresh
    assert large(1) not in fresh
    assert small(large(1).sum()) not in lab


def test_the_first_store_that_has_a_result_wins(tmp_path: Path, calls: Any) -> None:
    small = calls[0]
    caches = [Cache(tmp_path / name) for name in "abc"]
    for value, cache in enumerate(caches):
        cache.put(small(1), value)
    a, b, c = (cache.path for cache in caches)
    assert Cache(a, upstream=[b, c])(small(1)) == 0
    assert Cache(tmp_path / "new", upstream=[b, c])(small(1)) == 1
    over_c = Cache(tmp_path / "newer", upstream=[c])
    over_c.put(small(2), "something else")
    assert Cache(tmp_path / "new", upstream=[over_c, b])(small(1)) == 2


def test_an_index_of_an_array_in_chunks_reads_it_in_the_store_that_has_it(
    lab: Cache, own: Cache, calls: Any, witness: Witness
) -> None:
    _, _, chunked, _ = calls
    lab(chunked(1))
    lab.close()
    assert witness.news() == {"chunked": 1}
    assert own(chunked(1)[40_000]) == 40_001
    assert own(chunked(1)[[3, 2999]]).tolist() == [4, 3000]
    assert witness.news() == {}


def test_a_damaged_chunk_of_another_store_costs_one_warning(
    lab: Cache, own: Cache, calls: Any, witness: Witness
) -> None:
    _, _, chunked, _ = calls
    lab(chunked(1))
    lab.close()
    assert witness.news() == {"chunked": 1}
    (chunk,) = Path(lab.path, "objects").glob("*/*.zarr/40")
    found = chunk.stat()
    chunk.chmod(0o600)
    chunk.write_bytes(bytes(found.st_size))
    os.utime(chunk, ns=(found.st_atime_ns, found.st_mtime_ns))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert own(chunked(1)[40_000]) == 40_001
    assert [warning.category for warning in caught] == [CacheFaultWarning]
    assert witness.news() == {"chunked": 1}


def test_one_store_upstream_needs_no_list(lab: Cache, tmp_path: Path, calls: Any, witness: Witness) -> None:
    small = calls[0]
    lab(small(1))
    stores: tuple[Any, ...] = (str(lab.path), Path(lab.path), lab)
    for number, upstream in enumerate(stores):
        cache = Cache(tmp_path / f"of{number}", upstream=upstream)
        assert small(1) in cache
        assert small(1) in pickle.loads(pickle.dumps(cache))
    assert witness.ran == {"small": 1}


def test_stores_that_are_upstream_of_each_other(tmp_path: Path, calls: Any) -> None:
    small = calls[0]
    first = Cache(tmp_path / "a")
    second = Cache(tmp_path / "b", upstream=[first])
    again = Cache(tmp_path / "a", upstream=[second, tmp_path / "a"])
    second.put(small(1), "of b")
    assert again(small(1)) == "of b"


def test_early_cutoff_goes_across_stores(tmp_path: Path, lab: Cache, own: Cache, calls: Any, witness: Witness) -> None:
    @pure(version=1, name="read", hashers={"path": hash_by_file_date})
    def read(path: str) -> int:
        witness("read")
        return int(Path(path).read_text())

    large = calls[1]
    path = tmp_path / "data"
    path.write_text("5")
    os.utime(path, ns=(1, 1))
    lab(large(read(str(path)) * 2))
    assert witness.news() == {"read": 1, "large": 1}
    os.utime(path, ns=(2, 2))
    assert own(large(read(str(path)) * 2))[0] == 10
    assert own(large(read(str(path)) * 2))[0] == 10
    assert witness.news() == {"read": 1}
    assert Cache(own.path, upstream=[lab])(large(read(str(path)) * 2))[0] == 10
    assert witness.ran == {}


def test_a_file_that_changed_is_a_miss_in_every_store(tmp_path: Path, lab: Cache, own: Cache, witness: Witness) -> None:
    path = tmp_path / "data"
    path.write_text("a")

    @pure(version=1, name="inner", hashers={"path": hash_by_file_date})
    def inner(path: str) -> str:
        return Path(path).read_text()

    @pure(version=1, name="outer")
    def outer(name: str) -> str:
        witness("outer")
        return str(inner(name) * 2)

    assert lab(outer(str(path))) == own(outer(str(path))) == "aa"
    path.write_text("bc")
    assert own(outer(str(path))) == "bcbc"
    assert witness.ran == {"outer": 2}


def test_results_that_are_used_can_be_copied(tmp_path: Path, lab: Cache, calls: Any, witness: Witness) -> None:
    small, large, _, fit = calls
    lab([small(1), large(1), large(2), fit(1)])
    pulling = Cache(tmp_path / "own", upstream=[lab.path], pull=True)
    assert pulling(small(1)) == {"n": 1, "list": [1]}
    assert pulling([large(1), fit(1)])[0][1] == 2
    pulling.close()
    shutil.rmtree(lab.path)
    alone = Cache(tmp_path / "own")
    assert [e in alone for e in (small(1), large(1), fit(1), large(2))] == [True, True, True, False]
    np.testing.assert_array_equal(alone(large(1)), np.arange(200_000.0) + 1)
    nearest = alone.explain(large(1)).nearest
    assert nearest is not None
    assert nearest.function == "large"
    assert witness.ran == {"small": 1, "large": 2, "fit": 1}


def test_refreshing_does_not_ask_others(lab: Cache, own: Cache, calls: Any, witness: Witness) -> None:
    small = calls[0]
    lab(small(1))
    assert own(small(1), refresh=True) == {"n": 1, "list": [1]}
    assert witness.ran == {"small": 2}
    assert small(1) in Cache(own.path)


@pytest.mark.parametrize("damage", ["missing", "a file", "another format", "broken index", "no index", "garbage"])
def test_a_store_that_cannot_be_read_costs_one_warning(
    tmp_path: Path, lab: Cache, calls: Any, witness: Witness, damage: str
) -> None:
    small, large, *_ = calls
    lab([small(1), large(1)])
    lab.close()
    place = Path(lab.path)
    if damage in ("missing", "a file"):
        shutil.rmtree(place)
        if damage == "a file":
            place.write_text("not a folder")
    elif damage == "another format":
        (place / "format.json").chmod(0o600)
        (place / "format.json").write_text('{"format": 99}')
    else:
        for path in (place / "index").iterdir():
            if damage == "no index":
                path.unlink()
            else:
                path.write_bytes(b"garbage" * 1000 if damage == "garbage" else b"")
    own = Cache(tmp_path / "own", upstream=[place])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (1, 2):
            assert own(small(n))["n"] == n
            assert own(large(n))[0] == n
            assert own(small(large(n)[0])) == {"n": n, "list": [n]}
    assert [warning.category for warning in caught] == [CacheFaultWarning]
    assert str(place) in str(caught[0].message)


def test_damaged_objects_of_others_are_computed(lab: Cache, own: Cache, calls: Any, witness: Witness) -> None:
    large = calls[1]
    lab(large(1))
    lab.close()
    (data,) = Path(lab.path).glob("objects/*/*.zarr/0")
    data.chmod(0o600)
    data.write_bytes(b"short")
    with pytest.warns(CacheFaultWarning, match="damaged"):
        np.testing.assert_array_equal(own(large(1)), np.arange(200_000.0) + 1)
    np.testing.assert_array_equal(Cache(own.path, upstream=[lab])(large(1)), np.arange(200_000.0) + 1)
    assert witness.ran == {"large": 2}


def test_a_name_that_others_gave_to_another_function(tmp_path: Path, lab: Cache, own: Cache, witness: Witness) -> None:
    def make(folder: str, body: str) -> Any:
        path = tmp_path / folder / "module.py"
        path.parent.mkdir()
        path.write_text(f"def same(n):\n    return {body}\n")
        namespace: dict[str, Any] = {"__name__": "module", "__file__": str(path)}
        exec(compile(path.read_text(), str(path), "exec"), namespace)
        return pure(version=1, name="same")(namespace["same"])

    lab(make("one", "n + 1")(1))
    with pytest.warns(IdentityWarning, match="another function"):
        assert own(make("two", "n + 2")(1)) == 3


def test_settings_name_the_stores_of_others(
    tmp_path: Path, lab: Cache, calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = calls[0]
    lab.put(small(1), "of the lab")
    project = tmp_path / "project"
    (project / "below").mkdir(parents=True)
    (project / "pyproject.toml").write_text('[tool.lazycache]\nupstream = ["../lab", "/missing"]\n')
    monkeypatch.chdir(project / "below")
    assert default_cache()(small(1)) == "of the lab"
    monkeypatch.setenv("LAZYCACHE_UPSTREAM", f"{tmp_path / 'other'}")
    Cache(tmp_path / "other", upstream=[]).put(small(1), "of the other")
    assert default_cache()(small(1)) == "of the other"
    assert small(1) not in Cache(tmp_path / "third", upstream=[])
    monkeypatch.delenv("LAZYCACHE_UPSTREAM")
    (project / "pyproject.toml").write_text("[tool.lazycache]\nupstream = 7\n")
    with pytest.raises(SettingError, match="a list of folders"):
        Cache(tmp_path / "fourth")


def test_a_cache_over_others_can_be_pickled(lab: Cache, own: Cache, calls: Any, witness: Witness) -> None:
    large = calls[1]
    lab(large(1))
    again = pickle.loads(pickle.dumps(own))
    assert again(large(1))[0] == 1
    assert witness.ran == {"large": 1}


def double(x: Any) -> Any:
    return x * 2


doubled = pure(version=1, name="doubled")(double)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_workers_look_in_the_stores_of_others(lab: Cache, own: Cache, calls: Any, witness: Witness, kind: str) -> None:
    fit, large = calls[3], calls[1]
    lab([large(1), large(2), fit(1), doubled(large(1))])
    lab.close()
    how: dict[str, Any] = {"n_jobs": 2} if kind == "processes" else {"executor": ThreadPoolExecutor(2)}
    assert own([doubled(large(1)), doubled(large(2))], **how)[1][0] == 4
    assert witness.ran == {"large": 2, "fit": 1}


def test_pickles_of_others_need_trust(lab: Cache, own: Cache, calls: Any, witness: Witness) -> None:
    small, fit = calls[0], calls[3]
    lab([fit(1), small(1)])
    lab.close()
    Path(lab.path).chmod(0o777)
    with pytest.warns(CacheFaultWarning, match="others may write"):
        assert own(fit(1)).slope == 1
    assert own(small(1)) == {"n": 1, "list": [1]}
    assert witness.ran == {"fit": 2, "small": 1}


def test_signed_pickles_of_others_are_loaded(
    tmp_path: Path, calls: Any, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = calls[3]
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", KEY)
    lab = Cache(tmp_path / "lab")
    lab([fit(1), fit(2)])
    lab.close()
    Path(lab.path).chmod(0o777)
    own = Cache(tmp_path / "own", upstream=[lab.path])
    assert own([fit(1), fit(2)])[1].slope == 2
    assert witness.ran == {"fit": 2}
