"""Many processes that ask for one slow result at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from benchmarks.processes import ROOT, scratch
from benchmarks.table import Row, duration

CALLER = """
import os, sys, time
kind, folder, gate = sys.argv[1:]
def slow(x):
    with open(folder + "/ran", "a") as file:
        file.write("ran\\n")
    time.sleep(0.5)
    return 2 * x
if kind == "lazycache":
    import lazycache
    function = lazycache.pure(version=1, name="bench.slow")(slow)
    cache = lazycache.Cache(folder + "/store")
    call = lambda: cache(function(4))
elif kind == "joblib":
    import joblib
    call = lambda: joblib.Memory(folder + "/store", verbose=0).cache(slow)(4)
else:
    import diskcache
    call = lambda: diskcache.Cache(folder + "/store").memoize(name="slow")(slow)(4)
open(f"{folder}/ready{os.getpid()}", "w").close()
while not os.path.exists(gate):
    time.sleep(0.001)
assert call() == 8
"""


def rows() -> list[Row]:
    """Count how often one slow function runs when 2, 8 and 32 processes call it at once."""
    result = []
    for processes in (2, 8, 32):
        ours = herd("lazycache", processes)
        peers = {kind: herd(kind, processes) for kind in ("joblib", "diskcache")}
        beside = ", ".join(f"{kind} {ran} runs" for kind, (ran, _, _) in peers.items())
        ran, failed, wall = ours
        result.append(
            Row(
                f"{processes} processes calling one 0.5 s function at once",
                f"{ran} run, {failed} failed, {duration(wall)}; {beside}",
                float(ran + failed),
                "runs once, nobody fails",
            )
        )
    return result


def herd(kind: str, processes: int) -> tuple[int, int, float]:
    """Return how often the function ran, how many callers failed, and the wall time."""
    with scratch() as folder:
        gate = f"{folder}/gate"
        script = f"{folder}/caller.py"
        with open(script, "w") as file:
            file.write(CALLER)
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'storage'}"}
        callers = [
            subprocess.Popen([sys.executable, script, kind, folder, gate], env=environment) for _ in range(processes)
        ]
        while sum(name.startswith("ready") for name in os.listdir(folder)) < processes:
            time.sleep(0.01)
        start = time.perf_counter()
        with open(gate, "w"):
            pass
        failed = sum(caller.wait() != 0 for caller in callers)
        wall = time.perf_counter() - start
        with open(f"{folder}/ran") as file:
            return len(file.readlines()), failed, wall
