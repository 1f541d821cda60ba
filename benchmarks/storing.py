"""What storing costs, in time and memory."""

from __future__ import annotations

from benchmarks.processes import measure, scratch
from benchmarks.table import Row, duration

STORE = """
import hashlib, concurrent.futures, numpy as np, lazycache
from lazycache import digest
array = np.random.default_rng(0).random(megabytes * 2**17)
ready = [array]
@lazycache.pure(version=1, name="bench.ready", ignore=("source",))
def ready_value(i, source):
    return ready[0]
cache = lazycache.Cache(folder + "/ours")
cache(ready_value(-1, None)) if megabytes < 0 else None
def sha256_by_two_threads():
    middle = array.nbytes // 2
    view = memoryview(array).cast("B")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda part: hashlib.sha256(part).digest(), (view[:middle], view[middle:])))
ours, theirs = [], []
for i in range(rounds):
    array[i] = -1.0 - i
    os.sync()
    start = time.perf_counter()
    np.save(folder + "/theirs.npy", array)
    sha256_by_two_threads()
    theirs.append(time.perf_counter() - start)
    os.unlink(folder + "/theirs.npy")
    os.sync()
    start = time.perf_counter()
    value = cache(ready_value(i, None))
    ours.append(time.perf_counter() - start)
    assert value[5] == array[5]
    del value
    cache.clear()
out["ours"], out["theirs"] = statistics.median(ours), statistics.median(theirs)
"""

MISS = """
import lazycache, joblib
sys.path.insert(0, folder)
import joblib_functions
@lazycache.pure(version=1, name="bench.double")
def double(x):
    return 2 * x
cache = lazycache.Cache(f"{folder}/{os.getpid()}ours")
theirs = joblib.Memory(f"{folder}/{os.getpid()}joblib", verbose=0).cache(joblib_functions.double)
cache(double(-1)); theirs(-1)
ours_numbers, their_numbers = iter(range(10**9)), iter(range(10**9))
out["ours"] = timed(lambda: cache(double(next(ours_numbers))), 1.0)
out["joblib"] = timed(lambda: theirs(next(their_numbers)), 1.0)
assert cache.stats()["runs"] == cache.stats()["stores"]
"""

MEMORY = """
import resource, numpy as np, lazycache
@lazycache.pure(version=1, name="bench.big")
def big(i):
    array = np.empty(2**27)
    array[:] = i
    return array
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) * 1024
cache = lazycache.Cache(folder)
if hit:
    cache(big(-1))[0]
    before = peak()
    value = cache(big(1))
    out["above"] = peak() - before
    assert cache.stats()["runs"] == 0
else:
    before = peak()
    value = cache(big(1))
    cache(big(-1))
    out["above"] = peak() - before - 2**30
"""


def rows() -> list[Row]:
    """Measure storing arrays, a miss of a trivial function, and memory."""
    result = []
    with scratch() as folder:
        with open(f"{folder}/joblib_functions.py", "w") as file:
            file.write("def double(x):\n    return 2 * x\n")
        for megabytes, rounds in ((100, 5), (1024, 3)):
            taken = measure(STORE, 3, folder=folder, megabytes=megabytes, rounds=rounds)
            result.append(
                Row(
                    f"storing a {megabytes} MB array, digest and write",
                    f"{duration(taken['ours'])}; np.save + sha256 {duration(taken['theirs'])}",
                    taken["ours"] / (1.1 * taken["theirs"]),
                    "1.1 x (numpy.save + sha256 by two threads)",
                )
            )
        miss = measure(MISS, 5, folder=folder)
        result.append(
            Row(
                "miss of a trivial pure function",
                f"{duration(miss['ours'])}; joblib {duration(miss['joblib'])}",
                miss["ours"] / miss["joblib"],
                "joblib.Memory's, which takes no lock",
            )
        )
        store = folder + "/memory"
        for hit in (False, True):
            above = measure(MEMORY, 1 if not hit else 3, folder=store, hit=hit)["above"]
            name = "hitting" if hit else "storing"
            result.append(
                Row(f"memory while {name} 1 GB, above the array", f"{above / 2**20:.1f} MB", above / 2**26, "64 MB")
            )
    return result
