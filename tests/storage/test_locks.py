import errno
import fcntl
import itertools
import logging
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lazycache_storage import locks
from lazycache_storage.errors import LockTimeoutError, WaitCycleError
from lazycache_storage.holders import find_way, read_holder
from lazycache_storage.locks import Claim
from tests.storage.processes import finish, listen, run, start, tell

SOON = 30
"""Seconds after which a test counts as hanging; nothing below takes as long."""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "locks" / "key.lock")


def nothing() -> None:
    return None


def claim(path: str, **options: Any) -> Claim[str]:
    return Claim(path, options.pop("what", "f(3)"), options.pop("ready", nothing), **options)


HOLDER = """
with Claim(sys.argv[1], "f(3)", lambda: None, expected=2.5) as claim:
    say("holds", claim.holds)
    if hear() == "unstored":
        claim.unstored()
say("released")
"""

WAITER = """
told = []
def ready():
    # Nobody asks for the result before the lock was refused, or taken.
    if not told:
        told.append(say("asked"))
    return True if len(sys.argv) > 2 and os.path.exists(sys.argv[2]) else None
with Claim(sys.argv[1], "f(3)", ready) as claim:
    say(claim.holds, claim.record, claim.waited > 0)
    # Until the test closes the pipe: nobody gets the lock from this one meanwhile.
    hear()
"""


def holder(path: str) -> Any:
    process = start(HOLDER, path)
    assert listen(process) == "holds True"
    return process


def waiter(path: str, *arguments: object) -> Any:
    process = start(WAITER, path, *arguments)
    assert listen(process) == "asked"
    return process


def test_no_file_is_left(path: str) -> None:
    with claim(path) as held:
        assert held.holds
        assert os.path.exists(path)
    assert os.listdir(os.path.dirname(path)) == []


def test_the_file_says_who_holds_it(path: str) -> None:
    with claim(path, expected=2.0), open(path, "rb") as file:
        found = read_holder(file.fileno())
    assert (found.pid, found.what, found.expected, found.unstored) == (os.getpid(), "f(3)", 2.0, False)
    assert found.host == os.uname().nodename
    assert abs(found.since - time.time()) < SOON


def test_a_file_without_a_holder_is_no_obstacle(path: str) -> None:
    for left in (b"", b"{", b'{"pid": 1, "what": "something much longer than what comes after it"}', b"\xff" * 10_000):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_bytes(left)
        with claim(path) as held:
            assert held.holds
            assert b"f(3)" in Path(path).read_bytes()
            assert read_holder(os.open(path, os.O_RDONLY)).what == "f(3)"
        assert not os.path.exists(path)


def test_a_waiter_goes_on_when_the_holder_is_done(path: str) -> None:
    first = holder(path)
    second = waiter(path)
    tell(first)
    assert finish(second).strip() == "True None True"
    finish(first)
    assert not os.path.exists(path)


def test_a_waiter_takes_the_result_as_soon_as_it_is_there(path: str, tmp_path: Path) -> None:
    first = holder(path)
    second = waiter(path, tmp_path / "result")
    (tmp_path / "result").touch()
    assert finish(second).strip() == "False True True"
    assert os.path.exists(path), "the holder still holds it"
    tell(first)
    finish(first)


def test_a_result_that_came_before_the_lock_is_seen(path: str) -> None:
    with claim(path, ready=lambda: "there") as held:
        assert (held.holds, held.record) == (False, "there")
        assert not os.path.exists(path)


def test_a_killed_holder_frees_the_lock(path: str) -> None:
    first = holder(path)
    second = waiter(path)
    first.kill()
    assert finish(second).strip() == "True None True"
    first.communicate()
    assert not os.path.exists(path)


def test_all_who_wait_go_on_when_nothing_was_stored(path: str) -> None:
    first = holder(path)
    waiting = [waiter(path) for _ in range(4)]
    tell(first, "unstored")
    said = [listen(process) for process in waiting]
    for process in waiting:
        finish(process)
    finish(first)
    assert said == ["False None True"] * 4
    assert not os.path.exists(path)


def test_an_error_lets_the_next_one_try(path: str) -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), claim(path) as held:
            assert held.holds
            raise KeyboardInterrupt
    assert not os.path.exists(path)


EXCLUSION = """
def work(number):
    for turn in range(25):
        with Claim(sys.argv[1], "f(3)", lambda: None) as claim:
            assert claim.holds
            inside = os.open(sys.argv[2], os.O_CREAT | os.O_EXCL)
            os.close(inside)
            os.unlink(sys.argv[2])
            with open(sys.argv[3], "a") as witness:
                witness.write("x")
say(in_children(8, work))
"""


def test_one_at_a_time_among_processes(path: str, tmp_path: Path) -> None:
    run(EXCLUSION, path, tmp_path / "inside", tmp_path / "witness")
    assert (tmp_path / "witness").stat().st_size == 8 * 25
    assert not os.path.exists(path)


def test_one_at_a_time_among_threads(path: str) -> None:
    inside: list[int] = []
    together: list[int] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                with claim(path) as held:
                    assert held.holds
                    inside.append(1)
                    time.sleep(0)
                    together.append(len(inside))
                    inside.pop()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert together == [1] * 80
    assert not os.path.exists(path)


FORKS = """
claim = Claim(sys.argv[1], "f(3)", lambda: None).__enter__()
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    claim.__exit__(None, None, None)
    os._exit(0)
os.waitpid(child, os.WUNTRACED)
say(child)
hear()
claim.__exit__(None, None, None)
say("released")
hear()
os.kill(child, signal.SIGCONT)
say(os.waitpid(child, 0)[1])
"""


@pytest.mark.parametrize("end", ["released", "killed"])
def test_a_child_of_the_holder_does_not_keep_it_locked(path: str, end: str) -> None:
    process = start(FORKS, path)
    child = int(listen(process))
    if end == "killed":
        process.kill()
        process.wait()
    else:
        tell(process)
        assert listen(process) == "released"
    with claim(path, timeout=SOON) as held:
        assert held.holds
        if end == "killed":
            os.kill(child, signal.SIGCONT)
            process.communicate()
        else:
            tell(process)
            assert finish(process).strip() == "0"
        # What the child does at the end of the block must not touch the lock of another.
        assert os.path.exists(path)


def test_waiting_has_an_end_if_asked_for(path: str) -> None:
    with claim(path), pytest.raises(LockTimeoutError) as caught, claim(path, timeout=0.05):
        pass
    assert str(os.getpid()) in caught.value.holder  # type: ignore[attr-defined]
    assert isinstance(caught.value, TimeoutError)
    assert not os.path.exists(path)


def test_who_is_waited_for_is_told(path: str, caplog: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(locks, "TELL_AFTER_SECONDS", 0.01)
    calls: list[int] = []

    def ready() -> str | None:
        calls.append(1)
        return "there" if caplog.records else None

    with caplog.at_level(logging.WARNING, "lazycache"), claim(path, expected=2.5), claim(path, ready=ready):
        pass
    (line,) = [record.getMessage() for record in caplog.records]
    for part in (f"process {os.getpid()}", os.uname().nodename, "f(3)", "since", "took 2.5 s last time"):
        assert part in line


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_locks_do_not_work_nobody_waits(path: str, monkeypatch: Any, number: int) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with claim(path) as one, claim(path) as two:
        assert not one.holds
        assert not two.holds
        assert (one.record, two.record) == (None, None)


def test_something_else_in_place_of_the_lock_stops_nobody(path: str, tmp_path: Path) -> None:
    os.makedirs(path)
    with claim(path) as held:
        assert not held.holds
    os.rmdir(path)
    (tmp_path / "victim").write_text("mine")
    os.symlink(tmp_path / "victim", path)
    with claim(path) as held:
        assert not held.holds
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_lock_file_that_others_remove_does_no_harm(path: str) -> None:
    with claim(path) as one:
        os.unlink(path)
        with claim(path) as two:
            assert one.holds
            assert two.holds
    with claim(path) as three:
        assert three.holds
    assert not os.path.exists(path)


def test_descriptors_are_given_back(path: str) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    with claim(path):
        pass
    before = count()
    for _ in range(5):
        with claim(path):
            with claim(path, ready=lambda: "there"):
                pass
            with pytest.raises(LockTimeoutError), claim(path, timeout=0.002):
                pass
    assert count() == before


CHILD_OF_A_WAITER = """
import threading

def take():
    with Claim(sys.argv[1], "f(3)", ready):
        say("taken")
        time.sleep(600)

def ready():
    asked.set()

asked = threading.Event()
threading.Thread(target=take, daemon=True).start()
asked.wait()
child = os.fork()
if child == 0:
    time.sleep(600)
say(child)
time.sleep(600)
"""


def test_a_child_of_one_who_waits_does_not_keep_it_locked(path: str) -> None:
    first = holder(path)
    second = start(CHILD_OF_A_WAITER, path)
    child = int(listen(second))
    try:
        # The file keeps its name, so that the one who waited has the very file that its child knows.
        first.kill()
        first.wait()
        assert listen(second) == "taken"
        second.kill()
        second.wait()
        with claim(path, timeout=SOON) as held:
            assert held.holds
    finally:
        os.kill(child, signal.SIGKILL)
        first.communicate()
        second.communicate()


def test_the_lock_of_another_is_not_removed_with_a_folder_that_was_made_anew(path: str) -> None:
    with claim(path) as first:
        assert first.holds
        shutil.rmtree(os.path.dirname(path))
        second = holder(path)
    assert os.path.exists(path)
    tell(second)
    finish(second)
    assert not os.path.exists(path)


@pytest.fixture
def lock_paths(tmp_path: Path) -> list[str]:
    return [str(tmp_path / "locks" / f"{number:064x}.lock") for number in range(5)]


def hold_and_wait(
    own: str, others: tuple[str, ...], ready: threading.Barrier, said: dict[str, Any], what: str, wait_for: Any = None
) -> None:
    """Hold a lock, and wait for others while holding it."""
    try:
        with claim(own, what=what) as held:
            assert held.holds
            ready.wait(SOON)
            if wait_for is not None:
                assert wait_for.wait(SOON)
            for other in others:
                with claim(other, timeout=SOON):
                    pass
        said[what] = "done"
    except WaitCycleError as error:
        said[what] = error.cycle


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_ring_of_holders_that_wait_for_each_other_is_an_error(
    lock_paths: list[str], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(locks, "LOOK_FOR_CYCLE_SECONDS", 0.05)
    ready = threading.Barrier(size)
    said: dict[str, Any] = {}
    threads = [
        threading.Thread(
            target=hold_and_wait, args=(lock_paths[n], (lock_paths[(n + 1) % size],), ready, said, f"f({n})")
        )
        for n in range(size)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    cycles = [cycle for cycle in said.values() if cycle != "done"]
    assert len(said) == size
    assert cycles
    for cycle in cycles:
        assert len(cycle) == size + 1
        numbers = [int(what[2:-1]) for what in cycle]
        assert all(after == (before + 1) % size for before, after in itertools.pairwise(numbers))
    assert os.listdir(os.path.dirname(lock_paths[0])) == []


def test_holders_that_wait_without_a_ring_all_go_on(lock_paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOOK_FOR_CYCLE_SECONDS", 0.01)
    looks, go = threading.Semaphore(0), threading.Event()

    def counting(*arguments: Any) -> Any:
        looks.release()
        return find_way(*arguments)

    monkeypatch.setattr("lazycache_storage.locks.find_way", counting)
    ready = threading.Barrier(5)
    said: dict[str, Any] = {}
    # 0 waits for 1 and 2, 1 waits for 3, 2 waits for 3, 3 waits for 4, and 4 for the test.
    edges: list[tuple[int, ...]] = [(1, 2), (3,), (3,), (4,), ()]
    threads = [
        threading.Thread(
            target=hold_and_wait,
            args=(lock_paths[n], tuple(lock_paths[other] for other in others), ready, said, f"f({n})"),
            kwargs={"wait_for": None if others else go},
        )
        for n, others in enumerate(edges)
    ]
    for thread in threads:
        thread.start()
    for _ in range(40):
        assert looks.acquire(timeout=SOON)
    go.set()
    for thread in threads:
        thread.join(SOON)
    assert said == {f"f({n})": "done" for n in range(5)}
    assert os.listdir(os.path.dirname(lock_paths[0])) == []


def test_what_is_written_of_waits_is_taken_back(lock_paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LOOK_FOR_CYCLE_SECONDS", 0.01)
    own, other = lock_paths[:2]
    first = holder(other)
    seen: list[tuple[str, ...]] = []

    def ready() -> None:
        with open(own, "rb") as file:
            seen.append(read_holder(file.fileno()).waits)
        if seen[-1] and first.poll() is None:
            tell(first)
            first.wait(SOON)

    with claim(own):
        with claim(other, ready=ready, timeout=SOON) as late:
            assert late.holds
        with open(own, "rb") as file:
            assert read_holder(file.fileno()).waits == ()
    assert seen[0] == ()
    assert os.path.basename(other) in seen[-2]
    first.communicate()


def test_names_in_lock_files_lead_nowhere_else(lock_paths: list[str], tmp_path: Path) -> None:
    own, other = lock_paths[:2]
    (tmp_path / "outside.lock").write_text(f'{{"pid": 1, "waits": ["{os.path.basename(own)}"]}}')
    os.makedirs(os.path.dirname(own))
    Path(other).write_text('{"pid": 1, "waits": ["../outside.lock", "/etc/passwd", "x"]}')
    assert find_way(other, {os.path.basename(own)}) == ((), "")
    Path(other).write_text(f'{{"pid": 1, "waits": ["{os.path.basename(own)}"]}}')
    way, target = find_way(other, {os.path.basename(own)})
    assert (len(way), target) == (1, os.path.basename(own))
