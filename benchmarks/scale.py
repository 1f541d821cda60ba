"""Stores with many entries and many writers, and what bounds them: gc, size limits, statistics."""

from __future__ import annotations

from benchmarks import trials
from benchmarks.processes import measure, run, scratch
from benchmarks.table import Row, duration

SIZES = (1_000, 100_000, 1_000_000)

FILL = """
import hashlib, msgspec, lazycache, diskcache
from lazycache_storage.digest import Digest
from lazycache_storage.index import accounts
from lazycache_storage.record import encode_record
from lazycache_storage.store import Store
@lazycache.pure(version=1, name="bench.double")
def double(x):
    return 2 * x
cache = lazycache.Cache(folder + "/ours")
theirs = diskcache.Cache(folder + "/diskcache", eviction_policy="none", cull_limit=0)
if first == 0:
    # What is asked for comes first, and what is asked for and what is not cannot be told apart by its key.
    for i in range(500):
        cache(double(i))
        theirs.set(i, 2 * i)
    first = 500
store = Store(folder + "/ours")
pattern = store.find(lazycache.key(double(3)))
for start in range(first, last, 20_000):
    with store.index.transaction() as transaction:
        for i in range(start, min(start + 20_000, last)):
            token = hashlib.sha256(b"%d" % i).digest()
            changes = {"created": pattern.created - i, "function": f"bench.f{i % 10}", "token": token}
            record = msgspec.structs.replace(pattern, **changes)
            data = encode_record(record)
            account = accounts.of_record(record, len(data), is_first=True)
            transaction.put(Digest(hashlib.sha256(b"key %d" % i).digest()), data, account)
if last <= 100_000:
    for start in range(first, last, 20_000):
        with theirs.transact():
            for i in range(start, min(start + 20_000, last)):
                theirs.set(i, 2 * i)
if last == 1_000_000:
    import numpy as np
    for i in range(10_000):
        key = Digest(hashlib.sha256(b"array %d" % i).digest())
        store.put([key], np.full(5_000, float(i)), {"function": "bench.array", "version": "1"})
store.close()
out["done"] = 1
"""

ASK = """
import hashlib, random, lazycache, diskcache
from lazycache_storage.store import Store
@lazycache.pure(version=1, name="bench.double")
def double(x):
    return 2 * x
cache = lazycache.Cache(folder + "/ours")
theirs = diskcache.Cache(folder + "/diskcache", eviction_policy="none", cull_limit=0)
def loop(ask, values):
    taken = []
    for value in values:
        start = time.perf_counter()
        ask(value)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
cache(double(0))
out["hit"] = loop(lambda i: cache(double(i)), range(1, 500))
assert cache.stats()["runs"] == 0
store = Store(folder + "/ours")
present = min(size, 1_000_000)
keys = [hashlib.sha256(b"key %d" % random.randrange(500, present)).digest() for _ in range(3000)]
store.index.get(keys[0])
assert all(store.index.get(key) for key in keys[:50])
out["row"] = loop(store.index.get, keys)
out["put"] = loop(lambda i: cache(double(i)), [random.randrange(10**9, 10**12) for _ in range(300)])
theirs.get(0)
out["their row"] = loop(theirs.get, [random.randrange(min(size, 100_000)) for _ in range(3000)])
out["their put"] = loop(lambda i: theirs.set(i, i), [random.randrange(10**9, 10**12) for _ in range(300)])
"""

UPKEEP = """
import resource
from lazycache_storage.gc import GcLimits, plan_gc, run_gc, take_totals
from lazycache_storage.store import Store
store = Store(folder + "/ours")
start = time.perf_counter()
totals = take_totals(store)
out["stats"] = time.perf_counter() - start
assert totals.keys >= 1_000_000 and totals.objects == 10_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
plan = plan_gc(store, GcLimits(functions=("bench.f3",)))
result = run_gc(store, plan)
out["gc"] = time.perf_counter() - start
out["megabytes"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
assert 99_000 < result.dropped < 101_000, result
"""

TRIM = """
import numpy as np, lazycache
@lazycache.pure(version=1, name="bench.row")
def row(i):
    return np.full(4_000, float(i))
def slowest(cache):
    taken = []
    for i in range(2_000):
        start = time.perf_counter()
        cache(row(i))
        taken.append(time.perf_counter() - start)
    return max(taken), statistics.median(taken)
free, out["median free"] = slowest(lazycache.Cache(folder + "/free"))
limited, out["median"] = slowest(lazycache.Cache(folder + "/limited", size_limit=20_000_000))
out["stall"], out["slowest"], out["slowest free"] = max(limited - free, 0.0), limited, free
"""

COMPRESSED = """
import numpy as np, lazycache
from zarr.codecs import ZstdCodec
def make(i):
    return np.tile(np.arange(1_000.0) + i, 3_000)
raw = lazycache.pure(version=1, name="bench.raw")(make)
packed = lazycache.pure(version=1, name="bench.packed", chunks=(500_000,), compressors=ZstdCodec(level=1))(make)
cache = lazycache.Cache(f"{folder}/{os.getpid()}")
for name, function in (("raw", raw), ("packed", packed)):
    cache(function(-1))
    start = time.perf_counter()
    for i in range(4):
        cache(function(i))
    out[name + " put"] = (time.perf_counter() - start) / 4
    again = lazycache.Cache(cache.path)
    again(function(-1))
    start = time.perf_counter()
    for i in range(4):
        assert again(function(i))[5] == i + 5
    out[name + " hit"] = (time.perf_counter() - start) / 4
"""


def rows() -> list[Row]:
    """Measure stores of three sizes, their upkeep, and many writers; then faults, beside the peers."""
    with scratch() as folder:
        asked = {}
        for last, size in zip((0, *SIZES), SIZES, strict=False):
            run(FILL, folder=folder, first=last, last=size)
            asked[size] = measure(ASK, 3, folder=folder, size=size)
        upkeep = run(UPKEEP, folder=folder)
    with scratch() as folder:
        trim = run(TRIM, folder=folder)
        packed = measure(COMPRESSED, 3, folder=folder)
    result = [_by_size(asked, size) for size in SIZES]
    small, large = asked[SIZES[0]], asked[SIZES[-1]]
    result += [
        Row(
            "hit among 1,000,000 entries, beside 1,000",
            f"{duration(large['hit'])}; {duration(small['hit'])}",
            large["hit"] / (2 * small["hit"]),
            "2 x",
        ),
        Row(
            "its look-up in the index alone",
            f"{duration(large['row'])}; {duration(small['row'])}",
            large["row"] / (2 * small["row"]),
            "2 x",
        ),
        Row("statistics of 1,000,000 entries and 10,000 objects", duration(upkeep["stats"]), upkeep["stats"], "1 s"),
        Row(
            "gc of a tenth of them",
            f"{duration(upkeep['gc'])}, {upkeep['megabytes']:.0f} MB more memory",
            max(upkeep["gc"] / 30, upkeep["megabytes"] / 500),
            "30 s, 500 MB",
        ),
        Row(
            "longest stall of a store by `size_limit`",
            f"{duration(trim['stall'])} (slowest {duration(trim['slowest'])}, without a limit "
            f"{duration(trim['slowest free'])}; medians {duration(trim['median'])}, {duration(trim['median free'])})",
            trim["stall"] / 50e-3,
            "50 ms",
        ),
        Row(
            "24 MB that compress well, compressed",
            f"put {duration(packed['packed put'])}, hit {duration(packed['packed hit'])}; "
            f"raw {duration(packed['raw put'])}, {duration(packed['raw hit'])}",
            packed["packed put"] / (4 * packed["raw put"]),
            "4 x the time of a raw put",
        ),
    ]
    return result + trials.rows()


def _by_size(asked: dict[int, dict[str, float]], size: int) -> Row:
    found = asked[size]
    beside = (
        "" if size > 100_000 else f"; diskcache get {duration(found['their row'])}, set {duration(found['their put'])}"
    )
    return Row(
        f"{size:,} entries: hit and put of a small result",
        f"hit {duration(found['hit'])} (its row {duration(found['row'])}), put {duration(found['put'])}{beside}",
        found["put"] / 1e-3,
        "a put in 1 ms",
    )
