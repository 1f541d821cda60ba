"""What those who wait for a call are told: who computes it, since when, and what it took last time."""

import logging
import os
import re
import threading
from pathlib import Path

import pytest

import lazycache.caching.durations
import lazycache_storage.locks
from lazycache import Cache, pure


def test_waiters_are_told_what_a_call_took_last_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lazycache.caching.durations, "WORTH_TELLING_SECONDS", 0.0)
    monkeypatch.setattr(lazycache_storage.locks, "TELL_AFTER_SECONDS", 0.0)
    running, told = threading.Event(), threading.Event()

    @pure(version=1, name="waiting.slow")
    def slow(n: int) -> int:
        running.set()
        # The first call takes 0.2 s; the second one lasts until somebody was told of it.
        assert told.wait(60) if n else not told.wait(0.2)
        return n

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "waiting for" in record.getMessage():
                told.set()

    Cache(tmp_path / "store")(slow(0))
    running.clear()
    handler = Told()
    logging.getLogger("lazycache").addHandler(handler)
    try:
        # As another process would: nothing but the store tells it of the first call.
        holder = threading.Thread(target=Cache(tmp_path / "store"), args=(slow(1),))
        holder.start()
        assert running.wait(60)
        with caplog.at_level(logging.WARNING, "lazycache"):
            assert Cache(tmp_path / "store")(slow(1)) == 1
        holder.join(60)
    finally:
        logging.getLogger("lazycache").removeHandler(handler)
    (line,) = {record.getMessage() for record in caplog.records}
    assert f"process {os.getpid()} on {os.uname().nodename}, computing waiting.slow(1) since " in line
    assert re.search(r"which took 0\.\d s last time$", line)
