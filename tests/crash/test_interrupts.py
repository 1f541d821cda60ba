"""Interrupts at each call of a function of ours: nothing stays locked, and what follows is right.

An interrupt may come as a block begins or ends, where no handler runs. The
exceptions are kept, as a notebook keeps the last one, with all that they hold.
"""

import fcntl
import os
import sqlite3
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import lazycache
import lazycache_storage
from lazycache import Cache, current
from tests.crash.test_faults import is_mended, is_right, whole

OURS = tuple(os.path.dirname(package.__file__ or "") for package in (lazycache, lazycache_storage))
STRIDE = 1 if os.environ.get("LAZYCACHE_STRESS") == "long" else 17


class Interrupting:
    """Raises KeyboardInterrupt at one of the moments at which functions of ours begin, or end."""

    def __init__(self, event: str, at: int) -> None:
        self.event = event
        self.at = at
        self.seen = 0
        self.where = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        # Blocks that generators stand behind begin and end in contextlib.
        if event != self.event or not (file.startswith(OURS) or file.endswith("contextlib.py")):
            return
        self.seen += 1
        if self.seen == self.at:
            self.where = f"{file}:{frame.f_code.co_qualname}"
            raise KeyboardInterrupt


def interrupted(work: Callable[[], Any], event: str, at: int) -> tuple[KeyboardInterrupt | None, Interrupting]:
    """Do something and interrupt it; give the exception, if it came to that."""
    interrupting = Interrupting(event, at)
    try:
        sys.setprofile(interrupting)
        work()
    except KeyboardInterrupt as error:
        return error, interrupting
    finally:
        sys.setprofile(None)
    return None, interrupting


def held_locks(path: Path) -> Iterator[Path]:
    for file in (path / "locks").iterdir():
        with file.open("rb") as opened:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield file


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("event", ["call", "return"])
@pytest.mark.parametrize("what", ["store", "forget", "gc"])
def test_an_interrupt_at_any_call_leaves_nothing_locked(tmp_path: Path, what: str, event: str) -> None:
    path = tmp_path / "store"
    cache = Cache(path)
    cache(whole(10**6))
    # Not all: the frames of each hold what there was to collect.
    kept: deque[KeyboardInterrupt] = deque(maxlen=10)
    works: dict[str, Callable[[int], Any]] = {
        "store": lambda n: cache(whole(n)),
        "forget": lambda n: cache.forget(whole(n)),
        "gc": lambda n: cache.gc(functions=("faults.whole",)),
    }
    with closing(sqlite3.connect(path / "index" / "cache.db", timeout=0, isolation_level=None)) as probe:
        for n in range(1, 10**6, STRIDE):
            if what != "store":
                cache(whole(n))
            error, interrupting = interrupted(lambda n=n: works[what](n), event, n)  # type: ignore[misc]
            if error is None and not interrupting.where:
                break
            if error is not None:
                kept.append(error)
            assert current.frame() is None, interrupting.where
            probe.execute("BEGIN IMMEDIATE")
            probe.execute("ROLLBACK")
            assert list(held_locks(path)) == [], interrupting.where
            assert is_right(cache(whole(n)), n), interrupting.where
            if what == "gc":
                # The next collection is as long as this one, or there is no end to them.
                cache.gc(max_size=0)
    assert interrupting.seen > 50
    kept.clear()
    cache.close()
    assert is_mended(path)
