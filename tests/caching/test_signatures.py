"""Signatures as a cache uses them: the settings, the warnings, and what runs."""

import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, pure
from lazycache.errors import CacheFaultWarning, NotStoredWarning, SettingError
from lazycache.files import hash_by_file_date
from lazycache_storage.store import Store
from tests.conftest import Witness

KEY = "a secret of the laboratory"


class Fit:
    """What only pickle can store."""

    def __init__(self, slope: int) -> None:
        self.slope = slope


@pytest.fixture
def calls(witness: Witness) -> Any:
    """Return a function with a plain result, and one whose result only pickle can store."""

    @pure(version=1, name="plain")
    def plain(n: int) -> list[int]:
        witness("plain")
        return [n]

    @pure(version=1, name="fit")
    def fit(n: int) -> Fit:
        witness("fit")
        return Fit(n)

    return plain, fit


def test_a_shared_store_with_a_key_keeps_pickles(
    tmp_path: Path, calls: Any, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, fit = calls
    with pytest.warns(CacheFaultWarning, match="LAZYCACHE_SIGNING_KEY"):
        Cache(tmp_path / "one", shared=True)(fit(1))
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", KEY)
    assert Cache(tmp_path / "two", shared=True)(fit(1)).slope == 1
    assert Cache(tmp_path / "two")(fit(1)).slope == 1
    assert pickle.loads(pickle.dumps(Cache(tmp_path / "two")))(fit(1)).slope == 1
    assert witness.ran == {"fit": 2}


def test_strict_takes_unsigned_results_as_misses_with_one_warning(
    tmp_path: Path, calls: Any, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, fit = calls
    es = [plain(1), plain(2), fit(1), plain(plain(3)[0])]
    Cache(tmp_path / "store")(es)
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", KEY)
    strict = Cache(tmp_path / "store", signatures="strict")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        strict(es)
        strict(es)
    assert [warning.category for warning in caught] == [CacheFaultWarning]
    assert "no valid signature" in str(caught[0].message)
    assert witness.news() == {"plain": 8, "fit": 2}
    assert all(e in Cache(tmp_path / "store", signatures="strict") for e in es)
    assert Cache(tmp_path / "store")(es)[1] == [2]
    assert witness.ran == {}


def test_early_cutoff_and_marks_keep_results_signed(
    tmp_path: Path, calls: Any, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", KEY)
    monkeypatch.setenv("LAZYCACHE_SIGNATURES", "strict")

    @pure(version=1, name="read", hashers={"path": hash_by_file_date})
    def read(path: str) -> int:
        witness("read")
        return int(Path(path).read_text())

    _, fit = calls
    path = tmp_path / "data"
    path.write_text("4")
    assert Cache(tmp_path / "store", shared=True)(fit(read(str(path)))).slope == 4
    for date in (1, 2):
        os.utime(path, ns=(date, date))
        assert Cache(tmp_path / "store")(fit(read(str(path)))).slope == 4
        assert Cache(tmp_path / "store")(fit(read(str(path)))).slope == 4
    assert witness.ran == {"read": 3, "fit": 1}


def test_a_claim_that_nobody_wrote_is_none(tmp_path: Path, calls: Any) -> None:
    plain, _ = calls
    cache = Cache(tmp_path / "store")
    cache(plain(1))
    cache.close()
    with Store(tmp_path / "store") as store:
        (claim,) = list(store.index.items(b"claim:"))
        for garbage in (b"", b"\xff", b"\xdd\xff\xff\xff\xff", b"\x93\x01\x02\x03"):
            store.index.put(claim.key, garbage)
            assert Cache(tmp_path / "store")(plain(1)) == [1]
            assert Cache(tmp_path / "store")(plain(2)) == [2]


def test_the_key_may_be_in_a_file_of_ones_own(tmp_path: Path, calls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    file.chmod(0o600)
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY_FILE", str(file))
    plain, _ = calls
    Cache(tmp_path / "store", signatures="strict")(plain(1))
    monkeypatch.delenv("LAZYCACHE_SIGNING_KEY_FILE")
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", KEY)
    assert plain(1) in Cache(tmp_path / "store", signatures="strict")
    monkeypatch.delenv("LAZYCACHE_SIGNING_KEY")
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY_FILE", str(file))
    file.chmod(0o644)
    with pytest.raises(SettingError, match="chmod 600"):
        Cache(tmp_path / "store")
    assert Cache(tmp_path / "store", signatures="off")(plain(1)) == [1]
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY_FILE", str(tmp_path / "missing"))
    with pytest.raises(SettingError, match="No such file"):
        Cache(tmp_path / "store")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"LAZYCACHE_SIGNATURES": "strict"}, "a secret, as signatures are strict"),
        ({"LAZYCACHE_SIGNATURES": "on"}, "a secret, as signatures are on"),
        ({"LAZYCACHE_SIGNATURES": "maybe"}, "one of off, on, strict"),
        ({"LAZYCACHE_SIGNING_KEY": "short"}, "at least 16 bytes"),
    ],
)
def test_settings_that_promise_what_cannot_be_kept_are_refused(
    tmp_path: Path, variables: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingError, match=message) as caught:
        Cache(tmp_path / "store")
    assert "short" not in str(caught.value)


def test_the_secret_is_not_in_a_pickled_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", KEY)
    assert KEY.encode() not in pickle.dumps(Cache(tmp_path / "store"))


def test_what_may_not_be_loaded_is_not_stored(tmp_path: Path, calls: Any, witness: Witness) -> None:
    plain, fit = calls
    cache = Cache(tmp_path / "store", allow_pickle=False)
    with pytest.warns(NotStoredWarning, match=r"fit\(1\).*allow_pickle=False") as caught:
        assert [cache(fit(1)).slope for _ in range(2)] == [1, 1]
    assert len(caught) == 1
    assert [cache(plain(1)) for _ in range(2)] == [[1], [1]]
    assert witness.ran == {"fit": 2, "plain": 1}
    assert fit(1) not in Cache(tmp_path / "store")
    assert Cache(tmp_path / "store")(fit(1)).slope == 1


def test_what_is_not_loaded_is_no_hit_for_those_who_ask(
    tmp_path: Path, calls: Any, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, fit = calls
    path = tmp_path / "store"
    writer = Cache(path)
    assert (writer(fit(1)).slope, writer(plain(1))) == (1, [1])
    assert fit(1) in writer
    careful = Cache(path, allow_pickle=False)
    assert fit(1) not in careful
    assert plain(1) in careful
    explained = careful.explain(fit(1))
    assert not explained.hit
    assert explained.runs == 1
    assert "allow_pickle=False" in explained.causes[0]
    with careful:
        assert not fit.is_cached(1)
        assert plain.is_cached(1)
    path.chmod(0o777)
    others = Cache(path)
    assert fit(1) not in others
    assert "others may write" in others.explain(fit(1)).causes[0]
    below = Cache(tmp_path / "own", upstream=[path])
    assert fit(1) not in below
    assert not below.explain(fit(1)).hit
    assert plain(1) in below
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", KEY)
    keyed = Cache(path)
    assert fit(1) not in keyed
    assert "no valid signature" in keyed.explain(fit(1)).causes[0]
    assert witness.ran == {"fit": 1, "plain": 1}
    with pytest.warns(CacheFaultWarning, match="no valid signature"):
        keyed(fit(1))
    assert witness.ran == {"fit": 2, "plain": 1}
    assert fit(1) in Cache(path)
    assert Cache(path).explain(fit(1)).hit
    assert Cache(path)(fit(1)).slope == 1
    assert witness.ran == {"fit": 2, "plain": 1}


def test_a_call_below_that_is_not_loaded_is_told_to_run(tmp_path: Path, calls: Any, witness: Witness) -> None:
    _, fit = calls

    @pure(version=1, name="slope")
    def slope(found: Fit, factor: int) -> int:
        return found.slope * factor

    writer = Cache(tmp_path / "store")
    assert writer(slope(fit(2), 3)) == 6
    careful = Cache(tmp_path / "store", allow_pickle=False)
    assert slope(fit(2), 3) in careful
    assert careful.explain(slope(fit(2), 3)).hit
    explained = careful.explain(slope(fit(2), 4))
    assert (explained.hit, explained.runs, explained.may_run) == (False, 2, 0)
    (below,) = explained.below
    assert below.text.startswith("fit(2")
    assert "allow_pickle=False" in below.causes[0]
    assert writer.explain(slope(fit(2), 4)).runs == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheFaultWarning)
        warnings.simplefilter("ignore", NotStoredWarning)
        assert careful(slope(fit(2), 4)) == 8
    assert witness.ran == {"fit": 2}


def test_of_what_others_may_write_to_nothing_is_read_after_it_was_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", KEY)
    path = tmp_path / "store"

    @pure(version=1, name="table", chunks=(10,), compressors=())
    def table() -> np.ndarray:
        return np.arange(1.0, 101.0)

    @pure(version=1, name="overwritten", store=False)
    def overwritten(number: int) -> int:
        (chunk,) = path.glob("objects/*/*.zarr/5")
        found = chunk.stat()
        chunk.chmod(0o600)
        chunk.write_bytes(bytes(found.st_size))
        os.utime(chunk, ns=(found.st_atime_ns, found.st_mtime_ns))
        return number

    Cache(path, shared=True)(table())
    whole = table()
    assert Cache(path)([whole[0], whole[overwritten(50)]]) == [1.0, 51.0]
