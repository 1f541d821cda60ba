"""Single flight: one of many processes or threads computes, the others take its result."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lazycache import Cache, pure
from tests.conftest import Witness

MODULE = """
import os, sys, time
from pathlib import Path
from lazycache import Cache, pure

folder = Path(sys.argv[1])

def wait_for(name):
    deadline = time.monotonic() + 200
    while not (folder / name).exists():
        if time.monotonic() > deadline:
            raise TimeoutError(name)
        time.sleep(0.002)

def witness(what):
    with open(folder / "witness.txt", "a") as file:
        file.write(what + "\\n")

@pure(version=1)
def slow(x):
    witness("slow")
    (folder / "running").touch()
    wait_for("finish")
    return x * 2

@pure(version=1)
def outer(x):
    witness("outer")
    return slow(x) + 1

@pure(version=1)
def unstorable(x):
    witness("unstorable")
    (folder / f"running{os.getpid()}").touch()
    wait_for("finish")
    return (value for value in [x])
"""


CALLER = """
from flight import *
cache = Cache(folder / "store")
(folder / f"ready{os.getpid()}").touch()
wait_for("go")
"""


def start(folder: Path, code: str) -> subprocess.Popen[str]:
    """Start a process that says it is ready, waits for `go`, and runs `code`."""
    script = folder / f"caller{len(list(folder.glob('caller*.py')))}.py"
    script.write_text(CALLER + code)
    if not (folder / "flight.py").exists():
        (folder / "flight.py").write_text(MODULE)
    return subprocess.Popen(
        [sys.executable, str(script), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until(condition: Any, what: str) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + 200
    while not condition():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.005)


def go(folder: Path, callers: int) -> None:
    """Let the callers run once all of them are ready."""
    wait_until(lambda: len(list(folder.glob("ready*"))) == callers, "the callers")
    (folder / "go").touch()


@pytest.mark.parametrize("callers", [2, 8])
def test_many_processes_one_computation(tmp_path: Path, witness: Witness, callers: int) -> None:
    processes = [start(tmp_path, "print(cache(slow(21)))") for _ in range(callers)]
    go(tmp_path, callers)
    wait_until((tmp_path / "running").exists, "the computation")
    (tmp_path / "finish").touch()
    for process in processes:
        out, err = process.communicate(timeout=200)
        assert (process.returncode, out) == (0, "42\n"), err
        assert err == ""
    assert witness.ran == {"slow": 1}
    assert list((tmp_path / "store" / "locks").iterdir()) == []


def test_nested_calls_among_processes(tmp_path: Path, witness: Witness) -> None:
    processes = [
        start(tmp_path, f"print(cache({call}))") for call in ("outer(1)", "slow(1)", "outer(1) + slow(1)", "outer(1)")
    ]
    go(tmp_path, 4)
    wait_until((tmp_path / "running").exists, "the computation")
    (tmp_path / "finish").touch()
    for process, expected in zip(processes, ("3", "2", "5", "3"), strict=True):
        out, err = process.communicate(timeout=200)
        assert (process.returncode, out.strip()) == (0, expected), err
    assert witness.ran["slow"] == 1
    assert witness.ran["outer"] == 1


def test_a_killed_holder_is_replaced(tmp_path: Path, witness: Witness) -> None:
    holder = start(tmp_path, "cache(slow(1))")
    go(tmp_path, 1)
    wait_until((tmp_path / "running").exists, "the computation")
    waiter = start(tmp_path, "print(cache(slow(1)))")
    wait_until(lambda: len(list(tmp_path.glob("ready*"))) == 2, "the waiter")
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    (tmp_path / "finish").touch()
    out, err = waiter.communicate(timeout=200)
    assert (waiter.returncode, out) == (0, "2\n"), err
    assert witness.ran == {"slow": 2}
    assert list((tmp_path / "store" / "locks").iterdir()) == []


def test_a_result_that_is_not_stored_releases_all_who_wait_at_once(tmp_path: Path, witness: Witness) -> None:
    callers = 4
    processes = [start(tmp_path, "print(*cache(unstorable(5)))") for _ in range(callers)]
    go(tmp_path, callers)
    wait_until(lambda: list(tmp_path.glob("running*")), "the computation")
    (tmp_path / "finish").touch()
    for process in processes:
        out, err = process.communicate(timeout=200)
        assert (process.returncode, out) == (0, "5\n"), err
        assert err.count("was not stored") == 1
    assert witness.ran == {"unstorable": callers}


def test_threads_share_one_computation(cache: Cache, witness: Witness) -> None:
    barrier, release = threading.Barrier(8), threading.Event()
    events = {"running": threading.Event(), "release": release}

    @pure(version=1, ignore=("events",))
    def slow(x: int, events: Any) -> int:
        witness("slow")
        events["running"].set()
        assert events["release"].wait(30)
        return x * 2

    results: list[int] = []

    def call() -> None:
        barrier.wait()
        results.append(cache(slow(21, events)))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert events["running"].wait(30)
    release.set()
    for thread in threads:
        thread.join(60)
    assert results == [42] * 8
    assert witness.ran == {"slow": 1}


def test_an_exception_lets_the_next_one_try(cache: Cache, witness: Witness) -> None:
    @pure(version=1, ignore=("fail",))
    def f(x: int, fail: bool) -> int:
        witness("f")
        if fail:
            raise RuntimeError("once")
        return x

    with pytest.raises(RuntimeError, match="once"):
        cache(f(1, True))
    assert cache(f(1, False)) == 1
    assert witness.ran == {"f": 2}


def test_a_forked_child_uses_the_open_cache(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def f(x: int) -> int:
        witness("f")
        return x + 1

    assert cache(f(1)) == 2
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, f"{cache(f(1))} {cache(f(2))}".encode())
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reader, 100) == b"2 3"
    os.close(reader)
    os.close(writer)
    assert cache(f(2)) == 3
    assert witness.ran == {"f": 2}


RINGS = """
import contextvars, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import lazycache_storage.locks
from lazycache import Cache, pure
from lazycache.errors import CycleError

lazycache_storage.locks.LOOK_FOR_CYCLE_SECONDS = 0.05
# Workers are started without the arguments.
folder, size, how = Path(os.environ["RING_FOLDER"]), int(os.environ["RING_SIZE"]), os.environ["RING_HOW"]
cache = Cache(folder / "store")

@pure(version=1)
def ring(number):
    (folder / f"in{number}").touch()
    deadline = time.monotonic() + 200
    while len(list(folder.glob("in*"))) < size:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    if how == "nested":
        return ring((number + 1) % size) + 1
    # As an expression, although a body is running.
    following = contextvars.Context().run(ring, (number + 1) % size)
    if how == "jobs":
        return cache(following, n_jobs=2) + 1
    with ThreadPoolExecutor(2) as pool:
        return cache(following, executor=pool) + 1
"""

IN_A_RING = """
from rings import *
try:
    print(cache(ring(int(sys.argv[1]))))
except CycleError as error:
    print(error)
"""


@pytest.mark.parametrize(("size", "how"), [(2, "nested"), (4, "nested"), (2, "jobs"), (2, "threads")])
def test_calls_that_wait_for_each_other_in_a_ring_are_told(tmp_path: Path, size: int, how: str) -> None:
    (tmp_path / "rings.py").write_text(RINGS)
    (tmp_path / "script.py").write_text(IN_A_RING)
    processes = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "script.py"), str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "RING_FOLDER": str(tmp_path), "RING_SIZE": str(size), "RING_HOW": how},
        )
        for number in range(size)
    ]
    told = [process.communicate(timeout=200) for process in processes]
    for process, (out, err) in zip(processes, told, strict=True):
        assert process.returncode == 0, err
        assert out.startswith("a pure call waits for its own result: rings.ring"), out
    # Who is told first sees all of the ring; the key that it gives up may be taken over by another, in a shorter one.
    assert max(out.count(" -> ") for out, _ in told) >= size
    assert list((tmp_path / "store" / "locks").iterdir()) == []
