"""Collections, readers and writers at the same time: nobody fails and nothing wrong is read."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from lazycache_storage.check import check
from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.store import Store
from tests.gc.stores import digest, environment, put

SECONDS = 30.0 if os.environ.get("LAZYCACHE_STRESS") == "long" else 3.0

PART = """
import random, sys, time
import numpy as np
from lazycache_storage.errors import RemovedEntryError
from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.store import Store
from tests.gc.test_together import value_of
from tests.gc.stores import digest, put

role, path, seed, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
chance = random.Random(seed)
store = Store(path, memory_bytes=0 if seed % 2 else 1 << 20)
rounds = wrong = 0
end = time.monotonic() + seconds
while time.monotonic() < end:
    rounds += 1
    number = chance.randrange(200)
    if role == "write":
        put(store, number, value=value_of(number), function=f"lab.f{number % 3}", seconds=chance.random())
    elif role == "read":
        record = store.find(digest(number))
        if record is None:
            continue
        try:
            value = store.load(record, digest(number))
        except RemovedEntryError:
            continue
        expected = value_of(number)
        wrong += value[1] != expected[1] or not np.array_equal(value[0], expected[0])
    else:
        limits = chance.choice([
            GcLimits(max_size=chance.randrange(2_000_000)),
            GcLimits(functions=(f"lab.f{chance.randrange(3)}",)),
            GcLimits(everything=True),
            GcLimits(orphans=True),
        ])
        run_gc(store, plan_gc(store, limits))
store.close()
print(rounds, wrong)
"""


def value_of(number: int) -> list[object]:
    """Return what is stored under a number; neighbours share their array."""
    return [np.random.default_rng(number // 2).random(3000), number]


def start(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "error", "-c", PART, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment())


def test_collections_beside_readers_and_writers(tmp_path: Path) -> None:
    seed = int(os.environ.get("LAZYCACHE_SEED", time.time_ns() % 10**6))
    path = tmp_path / "store"
    Store(path).close()
    roles = ["gc", "gc", "read", "read", "write", "write"]
    children = [start(role, path, seed + place, SECONDS) for place, role in enumerate(roles)]
    ended = [(*child.communicate(timeout=SECONDS + 60), child.returncode) for child in children]
    for role, (output, errors, status) in zip(roles, ended, strict=True):
        assert not errors, f"{role}, LAZYCACHE_SEED={seed}:\n{errors}"
        assert status == 0
        rounds, wrong = map(int, output.split())
        assert wrong == 0
        assert rounds
    with Store(path) as store:
        put(store, "last", value=value_of(0))
        run_gc(store, plan_gc(store, GcLimits(orphans=True)))
        assert check(store) == []
        assert store.contains(digest("last"))


COMPUTE = """
import sys, time
from lazycache_storage.store import Store
from tests.gc.stores import digest, put
store = Store(sys.argv[1])
with store.computing(digest("slow"), "slow") as claim:
    if claim.record is None:
        print("computing", flush=True)
        sys.stdin.readline()
        with open(sys.argv[2], "a") as witness:
            witness.write("computed\\n")
        put(store, "slow", value="result")
value = store.load(store.find(digest("slow")), digest("slow"))
print(value, flush=True)
"""


def test_everything_is_dropped_while_one_computes_and_two_wait(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    pipe = subprocess.PIPE
    with Store(tmp_path / "store") as store:
        put(store, "other", value=1)
        command = [sys.executable, "-c", COMPUTE, store.path, str(witness)]

        def begin() -> "subprocess.Popen[str]":
            return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment())

        first = begin()
        assert first.stdout is not None
        assert first.stdout.readline() == "computing\n"
        waiters = [begin(), begin()]
        for _ in range(5):
            run_gc(store, plan_gc(store, GcLimits(everything=True)))
        for child in [first, *waiters]:
            output, _ = child.communicate("\n", timeout=60)
            assert output.splitlines()[-1] == "result"
            assert child.returncode == 0
    assert witness.read_text() == "computed\n"
