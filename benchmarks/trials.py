"""The same trials for lazycache and its peers: many writers, the same call at once, waiting, kills."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from benchmarks.flights import herd
from benchmarks.processes import ROOT, run, scratch
from benchmarks.table import Row, duration

PEERS = ("lazycache", "joblib", "diskcache")
KILLS = 20
WRITERS, ENTRIES = 8, 1_000

WRITE_MANY = """
def work(first):
    if kind == "engine":
        from lazycache_storage.digest import Digest
        from lazycache_storage.store import Store
        store = Store(folder + "/store")
        facts = {"function": "bench.f", "version": "1", "seconds": 0.001}
        for i in range(first, first + entries):
            key = Digest(i.to_bytes(32, "big"))
            with store.computing(key, "f") as claim:
                if claim.record is None:
                    store.put([key], i, facts)
        store.close()
        return
    for i in range(first, first + entries):
        assert call(i) == 2 * i
def double(x):
    return 2 * x
if kind == "engine":
    import filelock, lazycache_storage.index._diskcache
    from lazycache_storage.store import Store
    Store(folder + "/store").close()
elif kind == "lazycache":
    import lazycache, filelock, lazycache_storage.index._diskcache
    function = lazycache.pure(version=1, name="bench.double")(double)
    lazycache.Cache(folder + "/store")(function(-1))
    cache = lazycache.Cache(folder + "/store")
    call = lambda i: cache(function(i))
elif kind == "joblib":
    import joblib
    sys.path.insert(0, folder)
    with open(folder + "/doubling.py", "w") as file:
        file.write("def double(x):\\n    return 2 * x\\n")
    import doubling
    call = joblib.Memory(folder + "/store", verbose=0).cache(doubling.double)
else:
    import diskcache
    call = diskcache.Cache(folder + "/store", eviction_policy="none").memoize(name="double")(double)
children = []
start = time.perf_counter()
for number in range(writers):
    child = os.fork()
    if not child:
        status = 1
        try:
            work(number * entries)
            status = 0
        finally:
            os._exit(status)
    children.append(child)
out["failed"] = sum(os.waitpid(child, 0)[1] != 0 for child in children)
out["rate"] = writers * entries / (time.perf_counter() - start)
if kind == "engine":
    out["lost"] = writers * entries - len(Store(folder + "/store"))
elif kind == "lazycache":
    fresh = lazycache.Cache(folder + "/store")
    out["lost"] = sum(function(i) not in fresh for i in range(writers * entries))
elif kind == "joblib":
    out["lost"] = sum(not call.check_call_in_cache(i) for i in range(0, writers * entries, 10))
else:
    fresh = diskcache.Cache(folder + "/store", eviction_policy="none")
    out["lost"] = sum(call.__cache_key__(i) not in fresh for i in range(writers * entries))
"""

STORE_ARRAY = """
import os, sys, time
import numpy as np
kind, folder, what, number = sys.argv[1:]
number = int(number)
sys.path.insert(0, folder)
from arrays import make
if kind == "lazycache":
    import lazycache
    function = lazycache.pure(version=1, name="bench.make")(make)
    cache = lazycache.Cache(folder + "/store")
    call = lambda n: cache(function(n))
elif kind == "joblib":
    import joblib
    call = joblib.Memory(folder + "/store", verbose=0).cache(make)
else:
    import diskcache
    call = diskcache.Cache(folder + "/store", eviction_policy="none", size_limit=2**40).memoize(name="make")(make)
if what == "write":
    print("ready", flush=True)
    start = time.perf_counter()
    call(number)
    print(time.perf_counter() - start, flush=True)
else:
    ran = len(open(folder + "/ran").readlines())
    value = call(number)
    right = value.shape == (2_500_000,) and bool((value == number).all())
    print("WRONG" if not right else "recomputed" if len(open(folder + "/ran").readlines()) > ran else "hit")
"""

ARRAYS = """
import numpy as np, os
def make(n):
    with open(os.path.dirname(os.path.abspath(__file__)) + "/ran", "a") as file:
        file.write("ran\\n")
    return np.full(2_500_000, float(n))
"""

WAIT = """
import threading, lazycache
@lazycache.pure(version=1, name="bench.second")
def second(n):
    time.sleep(1.0)
    with open(folder + "/ended", "w") as file:
        file.write(repr(time.time()))
    return n
first = lazycache.computed(1) + 1
lazycache.Cache(folder + "/store")(first)
children, ears = [], []
for number in range(waiters):
    ear, mouth = os.pipe()
    child = os.fork()
    if not child:
        try:
            cache = lazycache.Cache(folder + "/store")
            # Every process has had a hit: this is about waiting, not about starting.
            assert cache(first) == 2
            assert cache(second(3)) == 3
            os.write(mouth, repr(time.time()).encode())
        finally:
            os._exit(0)
    os.close(mouth)
    ears.append(ear)
    children.append(child)
got = [float(os.read(ear, 100)) for ear in ears]
ended = float(open(folder + "/ended").read())
out["lag"] = max(got) - ended
"""


def rows() -> list[Row]:
    """Return a row for each trial."""
    return [*_many_writers(), *_same_call(), _waiting(), *_kills()]


def _many_writers() -> list[Row]:
    found = {}
    for kind in ("engine", *PEERS):
        with scratch() as folder:
            found[kind] = run(WRITE_MANY, folder=folder, kind=kind, writers=WRITERS, entries=ENTRIES)
    what = f"{WRITERS} processes storing {ENTRIES:,} small entries each, locks included"
    told = "; ".join(
        f"{'lazycache.cache' if kind == 'lazycache' else kind} {one['rate']:,.0f}/s, "
        f"{one['lost']:.0f} lost, {one['failed']:.0f} failed"
        for kind, one in found.items()
    )
    ours = found["engine"]
    lost = sum(found[kind]["lost"] + found[kind]["failed"] for kind in ("engine", "lazycache"))
    return [
        Row(what, told, max(3_000 / ours["rate"], lost * 2), "3,000 a second, nothing lost"),
        Row(
            "the same calls through the cache, beside joblib.Memory",
            f"{found['lazycache']['rate']:,.0f}/s; {found['joblib']['rate']:,.0f}/s",
            found["joblib"]["rate"] / found["lazycache"]["rate"],
            "as many as joblib",
        ),
    ]


def _same_call() -> list[Row]:
    ran = {kind: herd(kind, 32)[:2] for kind in PEERS}
    told = "; ".join(f"{kind} ran {runs} times, {failed} failed" for kind, (runs, failed) in ran.items())
    return [Row("same call by 32 processes at once", told, float(sum(ran["lazycache"])), "runs once, nobody fails")]


def _waiting() -> Row:
    lags = []
    for waiters in (8, 32):
        with scratch() as folder:
            lags.append(run(WAIT, folder=folder, waiters=waiters)["lag"])
    told = f"last of 8: {duration(lags[0])}; last of 32: {duration(lags[1])}"
    return Row("waiters have the result after its end", told, lags[0] / 50e-3, "50 ms")


def _kills() -> list[Row]:
    outcomes = {kind: _killed(kind) for kind in PEERS}
    told = []
    for kind, (seen, left) in outcomes.items():
        told.append(
            f"{kind}: " + ", ".join(f"{n} {what}" for what, n in sorted(seen.items())) + f", {left:.0f} MB left"
        )
    seen, left = outcomes["lazycache"]
    wrong = KILLS - seen["hit"] - seen["recomputed"]
    return [
        Row(
            f"kill -9 of a writer of 20 MB, {KILLS} times each; the next read, and what is left behind",
            "; ".join(told),
            wrong * 2.0,
            "right results only",
        )
    ]


def _killed(kind: str) -> tuple[Counter[str], float]:
    """Return what readers found after each kill, and how many MB are in the store for nothing."""
    chance = random.Random(7)
    seen: Counter[str] = Counter()
    with scratch() as folder:
        for name, text in (("arrays.py", ARRAYS), ("store_array.py", STORE_ARRAY), ("ran", "")):
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        usual = _write(kind, folder, 0, None)
        for number in range(1, KILLS + 1):
            _write(kind, folder, number, chance.random() * 1.1 * usual)
            read = _start(kind, folder, "read", number).communicate(timeout=60)[0].strip()
            seen[read or "exception"] += 1
        files = [os.path.join(at, name) for at, _, names in os.walk(f"{folder}/store") for name in names]
        needed = (KILLS + 1) * 20e6
        left = max(0.0, sum(os.path.getsize(file) for file in files) - needed) / 1e6
    return seen, left


def _write(kind: str, folder: str, number: int, until: float | None) -> float:
    """Store an array in a process, which is killed after a while; return how long it took otherwise."""
    process = _start(kind, folder, "write", number)
    assert process.stdout is not None
    process.stdout.readline()
    if until is None:
        return float(process.communicate()[0])
    time.sleep(until)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return until


def _start(kind: str, folder: str, what: str, number: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'storage'}"}
    command = [sys.executable, "-W", "ignore", f"{folder}/store_array.py", kind, folder, what, str(number)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
