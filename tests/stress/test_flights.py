"""Single flight under load: graphs of nested calls, processes, threads, errors and kills.

``LAZYCACHE_STRESS=long`` tries more graphs; ``LAZYCACHE_SEED`` repeats a failed run.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lazycache_storage.check import check, repair
from lazycache_storage.store import Store
from tests.gc.stores import environment
from tests.stress.flights import draw, right_results

IS_LONG = os.environ.get("LAZYCACHE_STRESS") == "long"
TRIALS = 12 if IS_LONG else 1
SIZE = 40 if IS_LONG else 15


def run_trial(folder: Path, seed: int, processes: int, threads: int, *, kills: int = 0, errors: bool = False) -> Any:
    """Run the rig in a process of its own; return what it counted, by call."""
    folder.mkdir()
    print(f"LAZYCACHE_SEED={seed}")  # noqa: T201
    arguments = (str(folder), seed, SIZE, processes, threads, kills, errors)
    code = f"from tests.stress.flights import main; main(*{arguments!r})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, f"LAZYCACHE_SEED={seed}\n{done.stderr[-6000:]}"
    assert not done.stderr, f"LAZYCACHE_SEED={seed}\n{done.stderr[-6000:]}"
    return json.loads(done.stdout)


def seeds() -> list[int]:
    first = int(os.environ.get("LAZYCACHE_SEED", time.time_ns() % 10**6))
    return [first + number for number in range(TRIALS)]


def names(seed: int, *, errors: bool = False) -> list[str]:
    return list(right_results(draw(seed, SIZE, with_errors=errors)))


@pytest.mark.parametrize(("processes", "threads"), [(1, 8), (8, 2), (32, 1)])
def test_each_call_runs_once(tmp_path: Path, processes: int, threads: int) -> None:
    for seed in seeds():
        found = run_trial(tmp_path / str(seed), seed, processes, threads)
        for name in names(seed):
            assert found["counts"][f"start {name}"] == found["counts"][f"end {name}"] == 1, (seed, name)
        # Nobody gets the generator of another: who asked has run it.
        assert found["counts"].get("start unstorable") == found["counts"].get("asked unstorable")
        assert found["locks"] == []
        with Store(tmp_path / str(seed) / "store") as store:
            assert check(store) == []


def test_an_error_reaches_its_callers_and_the_next_one_tries(tmp_path: Path) -> None:
    for seed in seeds():
        found = run_trial(tmp_path / str(seed), seed, 6, 2, errors=True)
        for number, times in enumerate(draw(seed, SIZE, with_errors=True)["fails"]):
            assert found["counts"].get(f"fail node {number}", 0) == times
        for name in names(seed, errors=True):
            assert found["counts"][f"end {name}"] == 1, (seed, name)
        assert found["locks"] == []


def test_killed_processes_are_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    for seed in seeds():
        kills = 25 if IS_LONG else 8
        found = run_trial(tmp_path / str(seed), seed, 6, 2, kills=kills, errors=True)
        ended = [found["counts"][f"end {name}"] for name in names(seed, errors=True)]
        # A call runs once more only where the one who ran it was killed before it was stored; it has two threads.
        assert min(ended) >= 1
        assert sum(ended) - len(ended) <= 2 * found["killed"]
        assert len(found["locks"]) <= 2 * found["killed"]
        with Store(tmp_path / str(seed) / "store") as store:
            assert {finding.kind for finding in check(store)} <= {"orphan-object", "leftover"}
            repair(store, check(store))
            assert [finding for finding in check(store) if finding.kind != "leftover"] == []
