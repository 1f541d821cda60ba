"""What importing and the first hit of a fresh process cost."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

from benchmarks.processes import measure, run, scratch
from benchmarks.table import Row, duration

FILL = """
import lazycache, diskcache, joblib
sys.path.insert(0, folder)
from lazycache_functions import double
cache = lazycache.Cache(folder + "/ours")
for i in range(1000):
    cache(double(i))
cache.close()
theirs = diskcache.Cache(folder + "/diskcache", eviction_policy="none")
for i in range(1000):
    theirs.set(("double", i), 2 * i)
"""

LAZYCACHE_MODULE = """
import lazycache

@lazycache.pure(version=1)
def double(x):
    return 2 * x
"""

JOBLIB_MODULE = """
def double(x):
    return 2 * x
"""

OURS = """
import numpy, lazycache
sys.path.insert(0, folder)
from lazycache_functions import double
start = time.perf_counter()
cache = lazycache.Cache(folder + "/ours")
value = cache(double(7))
out["first"] = time.perf_counter() - start
assert value == 14 and cache.stats()["runs"] == 0 and cache.stats()["hits"] == 1
"""

DISKCACHE = """
import numpy, diskcache
start = time.perf_counter()
cache = diskcache.Cache(folder + "/diskcache", eviction_policy="none")
value = cache.get(("double", 7))
out["first"] = time.perf_counter() - start
assert value == 14
"""

JOBLIB = """
import numpy, joblib
sys.path.insert(0, folder)
from joblib_functions import double
start = time.perf_counter()
memory = joblib.Memory(folder + "/joblib", verbose=0)
value = memory.cache(double)(7)
out["first"] = time.perf_counter() - start
assert value == 14
"""


def rows() -> list[Row]:
    """Measure the import, and opening a store of 1,000 entries with a first hit."""
    numpy, ours = import_times(("import numpy", "import lazycache"))
    result = [
        Row("`import lazycache`", f"{duration(ours)}; numpy {duration(numpy)}", ours / (numpy + 0.040), "numpy + 40 ms")
    ]
    with scratch() as folder:
        with open(f"{folder}/lazycache_functions.py", "w") as file:
            file.write(LAZYCACHE_MODULE)
        run(FILL, folder=folder)
        with open(f"{folder}/joblib_functions.py", "w") as file:
            file.write(JOBLIB_MODULE)
        run(JOBLIB, folder=folder)
        ours = measure(OURS, 7, folder=folder)["first"]
        diskcache = measure(DISKCACHE, 7, folder=folder)["first"]
        joblib = measure(JOBLIB, 7, folder=folder)["first"]
    what = "fresh process: open a store of 1,000 entries and first hit"
    result.append(Row(what, f"{duration(ours)}; joblib {duration(joblib)}", ours / joblib, "joblib.Memory"))
    result.append(
        Row(what, f"{duration(ours)}; diskcache {duration(diskcache)}", ours / (1.5 * diskcache), "1.5 x diskcache")
    )
    return result


def import_times(statements: tuple[str, ...], rounds: int = 15) -> list[float]:
    """Return the median wall time of a process for each statement, interleaved."""
    taken: dict[str, list[float]] = {statement: [] for statement in statements}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for statement in statements:
        subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
    for _ in range(rounds):
        for statement in statements:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
            taken[statement].append(time.perf_counter() - start)
    return [statistics.median(taken[statement]) for statement in statements]
