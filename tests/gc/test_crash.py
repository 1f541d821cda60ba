"""A collection that is killed between any two of its steps leaves the store good."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lazycache_storage.check import check, repair
from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.store import Store
from tests.gc.stores import digest, environment, numbers, object_bytes, put

KILLED_AT = """
import os, signal, sys
from lazycache_storage import fsio
from lazycache_storage.gc import GcLimits, plan_gc, run, run_gc
from lazycache_storage.store import Store

run.BATCH = 3
wanted, steps = int(sys.argv[2]), 0

def step(name):
    global steps
    steps += 1
    if steps == wanted:
        os.kill(os.getpid(), signal.SIGKILL)

store = Store(sys.argv[1])
plan = plan_gc(store, GcLimits(functions=("lab.go*",)))
fsio.step = step
run_gc(store, plan)
print(steps)
"""


def fill(store: Store) -> None:
    """Results that go and that stay; some of them share an object."""
    for number in range(10):
        put(store, "go", number, value=[numbers(100 + number // 2, 20), number], function="lab.go")
    for number in range(4):
        put(store, "stay", number, value=[numbers(99 + number, 20), number], function="lab.stay")


def run_killed(path: Path, step: int) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", KILLED_AT, str(path), str(step)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)


def kept_are_right(path: Path) -> None:
    with Store(path) as store:
        for number in range(4):
            record = store.find(digest("stay", number))
            assert record is not None
            array, label = store.load(record)
            np.testing.assert_array_equal(array, numbers(99 + number, 20))
            assert label == number
        for number in range(10):
            record = store.find(digest("go", number))
            if record is not None:
                np.testing.assert_array_equal(store.load(record)[0], numbers(100 + number // 2, 20))


@pytest.mark.parametrize("part", range(4))
def test_killed_at_every_step(tmp_path: Path, part: int) -> None:
    with Store(tmp_path / "whole") as store:
        fill(store)
    whole = run_killed(tmp_path / "whole", -1)
    assert whole.returncode == 0, whole.stderr
    steps = int(whole.stdout)
    assert steps > 15
    every = 1 if os.environ.get("LAZYCACHE_STRESS") == "long" else 4
    for step in range(1 + part, steps + 1, every):
        path = tmp_path / str(step)
        with Store(path) as store:
            fill(store)
        killed = run_killed(path, step)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        kept_are_right(path)
        with Store(path) as store:
            # Nothing is lost or wrong: at worst something was left behind.
            assert {finding.kind for finding in check(store)} <= {"orphan-object", "leftover"}
            run_gc(store, plan_gc(store, GcLimits(functions=("lab.go",))))
            run_gc(store, plan_gc(store, GcLimits(orphans=True)))
            assert repair(store, check(store)) == []
            assert check(store) == []
            whole_bytes = object_bytes(store)
        with Store(tmp_path / "whole") as store:
            assert object_bytes(store) == whole_bytes
        kept_are_right(path)
