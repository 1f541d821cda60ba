"""Real faults of a machine: few descriptors, mounts that may only be read, other users, clocks that jump."""

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, pure
from lazycache_storage.index import opening
from tests.crash.test_faults import at_most_one_warning, is_mended, is_right, kinds, whole
from tests.storage.processes import listen, run, start

FEW_DESCRIPTORS = """
import resource, warnings
import numpy as np
from lazycache import Cache, pure
caught = []
warnings.showwarning = lambda message, *rest: caught.append(str(message))
warnings.simplefilter("always")
held = []

@pure(version=1)
def f(n):
    # None is left for the store when the body ends.
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    return np.arange(300_000.0) + n

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
cache = Cache(sys.argv[1])
for n in range(3):
    assert cache(f(n))[5] == n + 5
for descriptor in held:
    os.close(descriptor)
assert len(caught) <= 1, caught
assert Cache(sys.argv[1])(f(7))[5] == 12
say("right")
"""


def test_a_process_without_descriptors(tmp_path: Path) -> None:
    assert run(FEW_DESCRIPTORS, tmp_path / "store").strip() == "right"
    assert is_mended(tmp_path / "store")


NONE_IN_BODY = """
import resource, warnings
from lazycache import Cache
from tests.crash.test_faults import is_right, whole
caught = []
warnings.showwarning = lambda message, *rest: caught.append(str(message))
warnings.simplefilter("always")
cache = Cache(sys.argv[1])
assert is_right(cache(whole(0)), 0)
# The code of a function that is first used now cannot be read.
from tests.crash.functions import late
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
assert cache(late(3)) == 6
assert len(caught) == 1, caught
for descriptor in held:
    os.close(descriptor)
assert cache(late(3)) == 6 and late(3) in cache
say("right")
"""


def test_a_function_first_used_without_descriptors(tmp_path: Path) -> None:
    assert run(NONE_IN_BODY, tmp_path / "store").strip() == "right"


MANY_ARRAYS = """
import resource, warnings
import numpy as np
from lazycache import Cache, pure
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

@pure(version=1)
def many():
    # Beyond what is kept in the record, so that each is an object; 200 of them are large enough to be mapped.
    return {n: np.full(140_000 if n % 25 == 0 else 5_000, float(n)) for n in range(5_000)}

value = Cache(sys.argv[1])(many())
assert all(value[n][3] == n for n in value) and len(value) == 5_000
del value
again = Cache(sys.argv[1])
value = again(many())
assert all(value[n][-1] == n for n in value) and again.stats()["runs"] == 0
say("right")
"""


def test_five_thousand_arrays_with_256_descriptors(tmp_path: Path) -> None:
    assert run(MANY_ARRAYS, tmp_path / "store").strip() == "right"


@contextmanager
def read_only_mount(folder: Path, target: Path) -> Iterator[None]:
    target.mkdir()
    for options in (["--bind"], ["-o", "remount,ro,bind"]):
        if subprocess.run(["mount", *options, str(folder), str(target)], capture_output=True, check=False).returncode:
            subprocess.run(["umount", "-l", str(target)], capture_output=True, check=False)
            pytest.skip("mounting needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True)


def test_a_mount_that_may_only_be_read(tmp_path: Path) -> None:
    Cache(tmp_path / "store")(whole(0))
    with read_only_mount(tmp_path / "store", tmp_path / "mounted"):
        with at_most_one_warning():
            cache = Cache(tmp_path / "mounted")
            assert is_right(cache(whole(0)), 0)
            assert cache.stats()["runs"] == 0
            assert is_right(cache(whole(1)), 1)
            cache.close()
        with read_only_mount(tmp_path / "mounted", tmp_path / "again"), at_most_one_warning():
            assert is_right(Cache(tmp_path / "again" / "no store here")(whole(1)), 1)


@contextmanager
def small_disk(target: Path, megabytes: int) -> Iterator[None]:
    target.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m"]
    if subprocess.run(["mount", *options, "none", str(target)], capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True)


@pure(version=1, name="machine.big")
def big(n: int) -> Any:
    return np.arange(1_000_000.0) + n


def test_a_disk_that_gets_full_is_told_before_and_once(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 100), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cache = Cache(tmp_path / "disk" / "store")
        for n in range(20):
            assert cache(big(n))[3] == n + 3
        # Each is 8 MB, so that twelve fit.
        (warning,) = caught
        assert "MB left; results that do not fit are not kept" in str(warning.message)
        assert str(tmp_path / "disk" / "store") in str(warning.message)
        assert big(10) in cache
        assert big(19) not in cache
        # Whoever opens it later is told at once.
        again = Cache(tmp_path / "disk" / "store")
        assert again(big(3))[3] == 6
        assert len(caught) == 2
        assert Cache(tmp_path / "disk" / "store", mode="ro")(big(3))[3] == 6
        assert len(caught) == 2


def test_a_disk_without_a_byte_left(tmp_path: Path) -> None:
    store = tmp_path / "disk" / "store"
    with small_disk(tmp_path / "disk", 20), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first = Cache(store)
        assert first(big(1))[3] == 4
        first.close()
        caught.clear()
        filler = os.open(tmp_path / "disk" / "filler", os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError, match="No space left"):
            while True:
                os.write(filler, bytes(4096))
        os.close(filler)
        # Without a file beside the database, which takes some room, nothing can be looked up.
        again = Cache(store)
        assert [again(big(n))[3] for n in (1, 2)] == [4, 5]
        (warning,) = caught
        assert "MB left" in str(warning.message)
        drop = [sys.executable, "-m", "lazycache", "gc", "--all", "--yes", "--store", str(store)]
        done = subprocess.run(drop, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "the disk is full" in done.stderr
        assert "free a few MB first" in done.stderr
        os.truncate(tmp_path / "disk" / "filler", 0)
        assert subprocess.run(drop, capture_output=True, check=False).returncode == 0
        assert big(1) not in Cache(store)


def test_a_disk_with_space_is_not_told(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 400), warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = Cache(tmp_path / "disk" / "store")
        for n in range(20):
            assert cache(big(n))[3] == n + 3


OTHER_USER = """
import warnings
from pathlib import Path
from tests.crash.test_faults import is_right, whole
from lazycache import Cache
# Everything is imported before the files of the interpreter may be out of reach.
assert is_right(Cache(sys.argv[1] + "/warm")(whole(0)), 0)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
caught = []
warnings.showwarning = lambda message, *rest: caught.append(str(message))
warnings.simplefilter("always")
path = Path(sys.argv[1])
cache = Cache(path / "store")
assert is_right(cache(whole(0)), 0)
for name in ("", "objects", "index", "tmp"):
    folder = path / "store" / name
    folder.chmod(0)
    before = len(caught)
    open_one, new_one = cache, Cache(path / "store")
    for each in (open_one, new_one):
        assert is_right(each(whole(0)), 0), name
        assert is_right(each(whole(1)), 1), name
    assert len(caught) - before <= 2, caught[before:]
    folder.chmod(0o700)
    assert is_right(Cache(path / "store")(whole(0)), 0), name
say("right")
"""


def test_folders_that_may_not_be_entered_any_more() -> None:
    if os.geteuid() != 0:
        pytest.skip("becoming another user needs root")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.chmod(folder, 0o777)
        assert run(OTHER_USER, folder).strip() == "right"


STOPPED = """
import signal
from lazycache_storage.index.index import Index
with Index(sys.argv[1] + "/index").transaction():
    say("writes")
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_process_that_was_stopped_while_it_writes_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store"
    Cache(path)(whole(0))
    stopped = start(STOPPED, path)
    try:
        assert listen(stopped) == "writes"
        # Each of the forty results below needs three transactions; waiting for all of them would take ten minutes.
        monkeypatch.setattr(opening, "BUSY_SECONDS", 5.0)
        with at_most_one_warning():
            cache = Cache(path)
            assert is_right(cache(whole(0)), 0)
            assert cache.stats()["runs"] == 0
            for n in range(1, 40):
                assert is_right(cache(whole(n)), n)
            cache.close()
    finally:
        stopped.kill()
        stopped.communicate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = Cache(path)
        assert is_right(cache(whole(1)), 1)
        assert whole(1) in cache
    assert is_mended(path)


CLOCK = """
import time
jump = 0.0
real = time.time
time.time = lambda: real() + jump
import warnings
warnings.simplefilter("error")
from tests.crash.test_faults import is_right, whole
from lazycache import Cache
cache = Cache(sys.argv[1])
for jump in (0.0, 4e8, -4e8, 1e9, -1e9, 0.0):
    globals()["jump"] = jump
    n = int(abs(jump) / 1e7) + (jump < 0)
    for each in (cache, Cache(sys.argv[1])):
        assert is_right(each(whole(n)), n)
        assert is_right(each(whole(0)), 0)
runs = cache.stats()["runs"]
assert is_right(cache(whole(40)), 40) and cache.stats()["runs"] == runs
cache.gc(max_size=10**9)
assert whole(0) in cache
cache.gc(max_size=0)
assert whole(0) not in cache
say("right")
"""


def test_clocks_that_jump(tmp_path: Path) -> None:
    assert run(CLOCK, tmp_path / "store").strip() == "right"
    assert kinds(tmp_path / "store") == set()
