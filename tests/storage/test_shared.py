"""Stores that a group writes to: real processes of two users, under several umasks."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lazycache_storage import modes
from lazycache_storage.check import check
from lazycache_storage.digest import Digest
from lazycache_storage.store import Store
from tests.storage.processes import run

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")

GROUP = 50123
FIRST, SECOND = 50001, 50002

AS_USERS = """
import os, diskcache, filelock, numpy, zarr
# Other users may not read the libraries of this one, so all that is needed is imported now.
zarr.create_array({}, data=numpy.arange(10.0), compressors="auto")[...]
import lazycache_storage.objects.chunked, lazycache_storage.objects.spooling, lazycache_storage.gc.run, shutil
# The other users may not read where Python is.
import lazycache_storage.objects.chunked, lazycache_storage.values.pickles
import lazycache_storage.publishing, lazycache_storage.removing
from lazycache_storage import fsio
from lazycache_storage.gc import GcLimits, plan_gc, run_gc

GROUP, USERS = 50123, (50001, 50002)

def as_user(number, umask, work):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([GROUP])
            os.setgid(USERS[number])
            os.setuid(USERS[number])
            os.umask(umask)
            work()
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    return child

def wait(*children):
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder in which two users of a group may make stores."""
    folder = Path(tempfile.mkdtemp(prefix="lazycache-shared-", dir="/tmp"))
    os.chown(folder, 0, GROUP)
    folder.chmod(0o2775)
    yield folder
    shutil.rmtree(folder)


def wrong_modes(store: Path, others: int) -> dict[str, str]:
    """Return what in a store has another mode than it must have, or another group."""
    wrong = {}
    for path in (store, *store.rglob("*")):
        found = path.lstat()
        if path.is_dir():
            expected = 0o2770 | others
        elif path.name.startswith("cache.db"):
            expected = 0o660 | others & 0o004
        else:
            expected = 0o440 | others & 0o004
        if stat.S_IMODE(found.st_mode) != expected or found.st_gid != GROUP:
            wrong[str(path.relative_to(store))] = f"{stat.S_IMODE(found.st_mode):o} {found.st_gid}"
    return wrong


@as_root
@pytest.mark.parametrize("umasks", [(0o077, 0o022), (0o002, 0o077), (0o027, 0o000)])
@pytest.mark.parametrize("others", [0, 0o005])
def test_two_users_write_and_remove_whatever_their_umask(folder: Path, umasks: tuple[int, int], others: int) -> None:
    store = folder / "store"
    if others:
        store.mkdir()
        os.chown(store, FIRST, GROUP)
        store.chmod(0o2775)
    run(
        AS_USERS
        + """
path, *umasks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
from lazycache_storage.objects.chunked import Chunking

def make():
    with Store(path, shared=True) as store:
        fill(store, 0)

def fill(store, start):
    for n in range(start, start + 3):
        store.put([key(n)], numpy.arange(10_000.0) + n, {"function": "f"})
    store.put([key(start + 3)], numpy.arange(10_000.0) - start, {"function": "f"}, chunking=Chunking((5000,)))
    store.put([key(start + 4)], "x" * 100_000 + str(start), {"function": "f"})

def go_on():
    with Store(path) as store:
        assert store.load(store.find(key(1)), key(1))[0] == 1
        assert store.load(store.find(key(3)), key(3))[0] == 0
        fill(store, 10)
        # The same arrays, and those of the other one removed.
        store.put([key(20)], numpy.arange(10_000.0) + 2, {"function": "f"})
        assert store.forget(key(1))
        assert store.forget(key(3))
        assert store.forget(key(4))

def collect():
    with Store(path) as store:
        assert store.load(store.find(key(10)), key(10))[0] == 10
        assert store.forget(key(10))
        run_gc(store, plan_gc(store, GcLimits(orphans=True)))

wait(as_user(0, umasks[0], make))
wait(as_user(1, umasks[1], go_on))
wait(as_user(0, umasks[0], collect))
""",
        store,
        umasks[0],
        umasks[1],
    )
    assert wrong_modes(store, others) == {}
    with Store(store) as opened:
        assert [int.from_bytes(key, "big") for key in list(opened.keys())] == [0, 2, 11, 12, 13, 14, 20]
        assert [finding.kind for finding in check(opened)] == []


@as_root
@pytest.mark.parametrize("umask", [0o077, 0o002])
def test_one_of_two_users_computes(folder: Path, umask: int) -> None:
    said = run(
        AS_USERS
        + """
path, umask = sys.argv[1], int(sys.argv[2])
Store(path, shared=True).close()
os.system(f"chgrp -R 50123 {path}")

def work():
    with Store(path) as store:
        for n in range(20):
            with store.computing(key(n), "it") as claim:
                if claim.record is None:
                    assert claim.holds
                    say("ran", n)
                    store.put([key(n)], n, {"function": "f"})
            assert store.load(store.find(key(n)), key(n)) == n

wait(*[as_user(number % 2, umask, work) for number in range(4)])
assert fsio.list_folder(path + "/locks") == []
""",
        folder / "store",
        umask,
    )
    assert sorted(said.splitlines()) == sorted(f"ran {n}" for n in range(20))


@as_root
@pytest.mark.parametrize("attempt", range(3))
def test_both_may_make_it_at_the_same_time(folder: Path, attempt: int) -> None:
    del attempt
    store = folder / "store"
    store.mkdir()
    os.chown(store, FIRST, GROUP)
    store.chmod(0o2770)
    run(
        AS_USERS
        + """
path = sys.argv[1]
def work(n):
    with Store(path) as store:
        store.put([key(n)], n, {"function": "f"})
wait(*[as_user(n % 2, 0o077 if n % 3 else 0o022, lambda n=n: work(n)) for n in range(6)])
""",
        store,
    )
    assert wrong_modes(store, 0) == {}
    with Store(store) as opened:
        assert len(opened) == 6


def test_a_store_is_private_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    tmp_path.chmod(0o2777)
    store = tmp_path / "store"
    with Store(store) as opened:
        opened.put([Digest(bytes(32))], np.arange(10_000), {"function": "f"})
    assert not modes.is_shared(str(store))
    folders = [path for path in (store, *store.rglob("*")) if path.is_dir()]
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in folders} == {0}


def test_a_store_that_is_there_is_not_opened_to_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Store(tmp_path / "store").close()
    Store(tmp_path / "store", shared=True).close()
    assert "was not made to be shared" in caplog.text
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700
