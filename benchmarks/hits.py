"""What a hit costs; each timed hit builds a new expression with a new argument."""

from __future__ import annotations

from benchmarks.processes import measure, run, scratch
from benchmarks.table import Row, duration

SMALL = """
import diskcache, joblib, numpy as np, lazycache
@lazycache.pure(version=1, name="bench.double")
def double(x):
    return 2 * x
N = 2000
ours = lazycache.Cache(folder + "/ours")
theirs = diskcache.Cache(folder + "/diskcache", eviction_policy="none")
"""

FILL_SMALL = (
    SMALL
    + """
for i in range(N):
    ours(double(i))
    theirs.set(i, 2 * i)
ours.close()
"""
)

HIT_SMALL = (
    SMALL
    + """
def loop(hit):
    taken = []
    for i in range(N):
        start = time.perf_counter()
        hit(i)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
ours(double(0))
tiers = ours.stats()
out["disk"] = loop(lambda i: ours(double(i)))
assert ours.stats()["disk"] - tiers["disk"] >= N - 2, ours.stats()
tiers = ours.stats()
out["memory"] = loop(lambda i: ours(double(i)))
assert ours.stats()["memory"] - tiers["memory"] == N, ours.stats()
theirs.get(0)
out["diskcache"] = loop(theirs.get)
assert ours.stats()["runs"] == 0
"""
)

JOBLIB_FILES = """
import joblib
sys.path.insert(0, folder)
from joblib_functions import double
function = joblib.Memory(folder + "/joblib", verbose=0).cache(double)
for i in range(200):
    function(i)
values = iter(list(range(200)) * 100)
out["joblib"] = timed(lambda: function(next(values)))
"""

FILES = """
import lazycache
@lazycache.pure(version=1, name="bench.parse", hashers={"filename": lazycache.hash_by_file_date})
def parse(filename):
    return os.path.getsize(filename)
N = 500
names = [f"{folder}/data/{i}.dat" for i in range(N)]
cache = lazycache.Cache(folder + "/files")
if not os.path.isdir(folder + "/data"):
    os.mkdir(folder + "/data")
    for name in names:
        with open(name, "wb") as file:
            file.write(name.encode())
        os.utime(name, (1e9, 1e9))
    for name in names:
        cache(parse(name))
    out["filled"] = 1
else:
    taken = []
    for name in names:
        start = time.perf_counter()
        cache(parse(name))
        taken.append(time.perf_counter() - start)
    out["files"] = statistics.median(taken)
    assert cache.stats()["disk"] >= N and cache.stats()["runs"] == 0, cache.stats()
"""

ARRAYS = """
import joblib, numpy as np, lazycache
sys.path.insert(0, folder)
import array_functions
pure = lazycache.pure(version=1, name="bench.make")(array_functions.make)
# Our keys share two arrays, which are opened anew for each hit; joblib keeps a file for each key.
N, theirs_N = {2: (200, 40), 100: (60, 8), 1024: (24, 2)}[megabytes]
cache = lazycache.Cache(f"{folder}/arrays{megabytes}")
memory = joblib.Memory(f"{folder}/joblib{megabytes}", mmap_mode="r", verbose=0)
theirs = memory.cache(array_functions.make)
if fill:
    for i in range(N):
        cache(pure(i, megabytes))
    for i in range(theirs_N):
        theirs(i, megabytes)
    out["done"] = 1
else:
    def loop(hit, count):
        taken = []
        hit(0)
        for i in range(1, count):
            start = time.perf_counter()
            value = hit(i)
            taken.append(time.perf_counter() - start)
            assert value[5] == i % 2
            del value
        return statistics.median(taken)
    out["ours"] = loop(lambda i: cache(pure(i, megabytes)), N)
    assert cache.stats()["disk"] >= N and cache.stats()["runs"] == 0, cache.stats()
    out["joblib"] = statistics.median([loop(lambda i: theirs(i, megabytes), theirs_N) for _ in range(20)])
"""

ARRAY_FUNCTIONS = """
import numpy as np
def make(i, megabytes):
    array = np.empty(megabytes * 2**17)
    array[:] = i % 2
    return array
"""


def rows() -> list[Row]:
    """Measure hits of small results, of parsed files, and of arrays of three sizes."""
    with scratch() as folder:
        with open(f"{folder}/joblib_functions.py", "w") as file:
            file.write("def double(x):\n    return 2 * x\n")
        with open(f"{folder}/array_functions.py", "w") as file:
            file.write(ARRAY_FUNCTIONS)
        run(FILL_SMALL, folder=folder)
        small = measure(HIT_SMALL, 5, folder=folder)
        joblib = measure(JOBLIB_FILES, 3, folder=folder)["joblib"]
        run(FILES, folder=folder)
        files = measure(FILES, 5, folder=folder)["files"]
        get = small["diskcache"]
        beside = f"bare diskcache get {duration(get)}"
        result = [
            Row(
                "hit of a small result, memory answering",
                f"{duration(small['memory'])}; {beside}",
                small["memory"] / max(15e-6, 1.5 * get),
                "15 us or 1.5 x a bare diskcache get",
            ),
            Row(
                "hit of a small result, disk answering",
                f"{duration(small['disk'])}; {beside}",
                small["disk"] / (4 * get),
                "4 x a bare diskcache get",
            ),
            Row(
                "the same",
                f"{duration(small['disk'])}; joblib {duration(joblib)}",
                small["disk"] / (joblib / 4),
                "1/4 of joblib.Memory",
            ),
            Row("hit of parse(filename), hash_by_file_date, disk answering", duration(files), files / 80e-6, "80 us"),
        ]
        for megabytes in (2, 100, 1024):
            run(ARRAYS, folder=folder, megabytes=megabytes, fill=True)
            taken = measure(ARRAYS, 5, folder=folder, megabytes=megabytes, fill=False)
            what = f"hit of a {megabytes} MB array, disk answering"
            beside = f"{duration(taken['ours'])}; joblib mmap {duration(taken['joblib'])}"
            result.append(Row(what, beside, taken["ours"] / 60e-6, "60 us"))
            result.append(
                Row(what, beside, taken["ours"] / (taken["joblib"] / 5), "1/5 of joblib.Memory(mmap_mode='r')")
            )
    return result
