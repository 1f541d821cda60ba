"""A fault of the cache costs a recomputation and one warning, never the user's run."""

import os
import shutil
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, UnhashableError, computed, pure
from lazycache.errors import CacheFaultWarning, IdentityWarning, NotStoredWarning
from tests.conftest import Witness


@pytest.fixture
def big(witness: Witness) -> Any:
    """Return a pure function with a large result."""

    @pure(version=1, name="big")
    def big(n: int) -> Any:
        witness("big")
        return np.arange(300_000.0) + n

    return big


SCRIPT = """
from lazycache import Cache, pure
@pure(version=1)
def f(x):
    return x {}
print(Cache({!r})(f(10)))
"""


def objects(cache: Cache) -> list[Path]:
    """Return the data files of the objects of a store."""
    return [path for path in (Path(cache.path) / "objects").rglob("*") if path.is_file() and path.name != "zarr.json"]


def overwrite(path: Path, data: bytes) -> None:
    """Replace the content of a read-only file in place."""
    path.chmod(0o600)
    path.write_bytes(data)


@pytest.mark.parametrize("damage", ["truncated", "empty", "changed", "gone", "folder gone"])
def test_a_damaged_object_is_a_miss(tmp_path: Path, big: Any, witness: Witness, damage: str) -> None:
    cache = Cache(tmp_path / "store")
    truth = np.array(cache(big(1)))
    (path,) = objects(cache)
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "folder gone":
        shutil.rmtree(path.parent)
    else:
        overwrite(path, {"truncated": data[:1000], "empty": b"", "changed": data[:-8] + b"\1" * 8}[damage])
    fresh = Cache(tmp_path / "store")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(fresh(big(1)), truth)
    assert len(caught) <= 1
    np.testing.assert_array_equal(Cache(tmp_path / "store")(big(1)), truth)
    assert witness.ran == {"big": 2}


@pytest.mark.parametrize("garbage", [b"", b"no database", bytes(5000)])
def test_a_broken_index_costs_a_recomputation(tmp_path: Path, big: Any, witness: Witness, garbage: bytes) -> None:
    cache = Cache(tmp_path / "store")
    truth = np.array(cache(big(1)))
    cache.close()
    for path in (tmp_path / "store" / "index").glob("cache.db*"):
        overwrite(path, garbage)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(Cache(tmp_path / "store")(big(1)), truth)
    assert len(caught) <= 1
    np.testing.assert_array_equal(Cache(tmp_path / "store")(big(1)), truth)
    assert witness.ran == {"big": 2}


def test_an_unreadable_record_is_a_miss(tmp_path: Path, big: Any, witness: Witness) -> None:
    cache = Cache(tmp_path / "store")
    cache(big(1))
    cache.close()
    with sqlite3.connect(tmp_path / "store" / "index" / "cache.db") as database:
        database.execute("UPDATE Cache SET value = ? WHERE length(key) = 32", (b"garbage",))
    database.close()
    with pytest.warns(CacheFaultWarning):
        assert Cache(tmp_path / "store")(big(1))[0] == 1
    assert Cache(tmp_path / "store")(big(1))[0] == 1
    assert witness.ran == {"big": 2}


def test_a_store_of_another_format_is_left_alone(tmp_path: Path, big: Any) -> None:
    Cache(tmp_path / "store")(big(1))
    format_file = tmp_path / "store" / "format.json"
    overwrite(format_file, b'{"format": 999}')
    with pytest.warns(CacheFaultWarning, match="999"):
        assert Cache(tmp_path / "store")(big(1))[0] == 1
    assert format_file.read_bytes() == b'{"format": 999}'


def test_warnings_point_at_the_users_line(tmp_path: Path, big: Any) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.warns(CacheFaultWarning) as caught:
        Cache(tmp_path / "store")(big(1) + 1)
    assert caught[0].filename == __file__


def test_a_place_that_is_a_file_costs_one_warning(tmp_path: Path, big: Any) -> None:
    (tmp_path / "store").write_text("a file")
    cache = Cache(tmp_path / "store")
    with pytest.warns(CacheFaultWarning) as caught:
        assert [cache(big(n))[0] for n in range(3)] == [0, 1, 2]
    assert len(caught) == 1


def test_a_full_disk_costs_one_warning(tmp_path: Path, witness: Witness) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mount = tmp_path / "small"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:

        @pure(version=1)
        def f(n: int) -> Any:
            witness("f")
            return np.full(100_000, float(n))

        cache = Cache(mount / "store")
        with pytest.warns(CacheFaultWarning) as caught:
            for n in range(5):
                assert cache(f(n))[7] == n
        assert len(caught) == 1
        assert list((mount / "store" / "tmp").iterdir()) == []
        cache.close()
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


@pytest.mark.parametrize("what", ["generator", "lambda", "lock"])
def test_what_cannot_be_stored_is_returned_with_one_warning(cache: Cache, witness: Witness, what: str) -> None:
    @pure(version=1)
    def f(what: str) -> Any:
        import threading

        witness("f")
        return {"generator": (n for n in [1]), "lambda": lambda: 1, "lock": threading.Lock()}[what]

    with pytest.warns(NotStoredWarning, match=r"f\(") as caught:
        results = [cache(f(what)) for _ in range(3)]
    assert len(caught) == 1
    assert len({id(result) for result in results}) == 3
    assert f(what) not in cache
    assert witness.ran == {"f": 3}
    assert not objects(cache)


def test_a_read_only_store_hits_and_writes_nothing(tmp_path: Path, witness: Witness, big: Any) -> None:
    Cache(tmp_path / "store")(big(1))
    listing = sorted(str(path) for path in (tmp_path / "store").rglob("*"))
    cache = Cache(tmp_path / "store", mode="ro")
    assert cache(big(1))[0] == 1
    assert cache(big(2))[0] == 2
    assert big(2) not in cache
    assert witness.ran == {"big": 2}
    assert [
        name for name in sorted(str(path) for path in (tmp_path / "store").rglob("*")) if "cache.db-" not in name
    ] == [name for name in listing if "cache.db-" not in name]


def test_off_computes_everything_and_makes_no_store(tmp_path: Path, witness: Witness, big: Any) -> None:
    cache = Cache(tmp_path / "store", mode="off")
    assert cache(big(1))[0] == cache(big(1))[0] == 1
    assert witness.ran == {"big": 2}
    assert not (tmp_path / "store").exists()


def test_refresh_computes_once_more_and_replaces(tmp_path: Path, witness: Witness) -> None:
    source = tmp_path / "hidden.txt"

    @pure(version=1)
    def f(path: str) -> str:
        witness("f")
        return Path(path).read_text()

    source.write_text("old")
    assert Cache(tmp_path / "store")(f(str(source))) == "old"
    source.write_text("new")
    refreshing = Cache(tmp_path / "store", mode="refresh")
    assert refreshing(f(str(source))) == refreshing(f(str(source))) == "new"
    assert Cache(tmp_path / "store")(f(str(source))) == "new"
    assert witness.ran == {"f": 2}


def test_the_environment_sets_the_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, big: Any, witness: Witness
) -> None:
    from lazycache import cache

    monkeypatch.setenv("LAZYCACHE_MODE", "off")
    cache(big(1))
    cache(big(1))
    assert witness.ran == {"big": 2}
    monkeypatch.setenv("LAZYCACHE_MODE", "rw")
    cache(big(1))
    cache(big(1))
    assert witness.ran == {"big": 3}
    monkeypatch.setenv("LAZYCACHE_MODE", "sometimes")
    with pytest.raises(ValueError, match="one of rw, ro, refresh, off"):
        cache(big(1))


def test_an_argument_without_a_digest_is_named(cache: Cache) -> None:
    @pure(version=1)
    def f(config: Any) -> int:
        return 1

    with pytest.raises(UnhashableError, match=r"config\['log'\]|args\[0\]\['log'\]"):
        cache(f({"log": object()}))


def run_script(folder: Path, name: str, text: str) -> tuple[str, str]:
    """Write a script, run it in a process, return what it printed."""
    (folder / name).write_text(text)
    done = subprocess.run([sys.executable, str(folder / name)], capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


def test_two_functions_that_claim_one_name_are_not_mixed_up(tmp_path: Path) -> None:
    script = SCRIPT.replace("version=1", "version=1, name='shared'")
    outputs = []
    for name, body in (("one.py", "+ 1"), ("two.py", "+ 2"), ("copy_of_one.py", "+ 1")):
        out, err = run_script(tmp_path, name, script.format(body, str(tmp_path / "store")))
        outputs.append((out, IdentityWarning.__name__ in err, "name=" in err))
    assert outputs == [("11", False, False), ("12", True, True), ("11", False, False)]


LIBRARY = """
from lazycache import pure

@pure(version=1)
def g(x):
    return x {}
"""
CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])
from library_of_two import g
from lazycache import Cache, pure

@pure(version=1, name="times ten")
def h(x):
    return x * 10

cache = Cache(sys.argv[2])
calls = {"call": g, "operator": lambda n: g(n) + 0, "call of a call": lambda n: h(g(n)), "look": lambda n: g(n)}
for line in sys.stdin:
    what, n = line.rsplit(" ", 1)
    e = calls[what](int(n))
    print(int(e in cache) if what == "look" else cache(e), flush=True)
"""


class Client:
    """A process that asks for calls of its own ``g``, which has the name and version of another."""

    def __init__(self, folder: Path, name: str, body: str) -> None:
        (folder / name).mkdir()
        (folder / name / "library_of_two.py").write_text(LIBRARY.format(body))
        arguments = [sys.executable, "-c", CLIENT, str(folder / name), str(folder / "store")]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def ask(self, what: str, n: int) -> int:
        """Return what the process computes, or finds."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{what} {n}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self) -> str:
        """End the process; return what it warned of."""
        return self.process.communicate()[1]


def test_two_live_processes_do_not_take_each_others_results(tmp_path: Path) -> None:
    one, two = Client(tmp_path, "one", "+ 1"), Client(tmp_path, "two", "+ 2")
    # The second one has looked before anybody claimed the name.
    assert two.ask("look", 5) == 0
    for n, what in enumerate(["call", "operator", "call of a call"]):
        factor = 10 if what == "call of a call" else 1
        for _ in range(2):
            assert one.ask(what, n) == (n + 1) * factor
            assert two.ask(what, n) == (n + 2) * factor
    assert one.end() == ""
    warned = two.end()
    assert warned.count("IdentityWarning") == 1 and "name=" in warned


def test_a_bug_in_our_own_code_is_not_swallowed(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    import lazycache_storage.store

    def bug(*args: object, **kwargs: object) -> None:
        raise AttributeError("planted")

    monkeypatch.setattr(lazycache_storage.store.Store, "put", bug)
    with pytest.raises(AttributeError, match="planted"):
        cache(computed(1) + 1)


def test_a_script_in_main_does_not_take_the_results_of_another(tmp_path: Path) -> None:
    names = (("one.py", "+ 1"), ("two.py", "+ 2"), ("one.py", "+ 1"))
    outputs = [run_script(tmp_path, name, SCRIPT.format(body, str(tmp_path / "store"))) for name, body in names]
    assert outputs == [("11", ""), ("12", ""), ("11", "")]
