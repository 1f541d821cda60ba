"""Lazy arrays: what a node costs to build, name, compute and compile, beside autoray and dask."""

from __future__ import annotations

from benchmarks.processes import measure
from benchmarks.table import Row, duration

SETUP = """
import numpy as np, pickle
if which == "ours":
    import lazycache.array as lazy
    from lazycache import key
else:
    from autoray import lazy
def chain(count):
    x = leaf = lazy.array(np.ones(3))
    for _ in range(count):
        x = x + 1.0
    return leaf, x
def gram_schmidt(columns):
    data = np.random.default_rng(0).random((columns, 60))
    rows = [lazy.array(row) for row in data]
    leaves, done = list(rows), []
    for i in range(columns):
        row = rows[i]
        for other in done:
            row = row - lazy.sum(other * row) * other
        done.append(row / lazy.sqrt(lazy.sum(row * row)))
    return leaves, done[-1]
def nodes_of(outputs):
    return sum(1 for _ in lazy.ascend(outputs))
def clock(function):
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    result = function()
    taken = time.perf_counter() - start
    gc.enable()
    return taken, result
"""

CHAIN = (
    SETUP
    + """
N = 100_000
taken, (leaf, end) = clock(lambda: chain(N))
out["build"] = taken / N
if which == "ours":
    out["key"] = clock(lambda: key(end))[0] / N
out["compile"], function = clock(lambda: end.get_function([leaf]))
out["compile"] /= N
out["call"] = timed(lambda: function([np.ones(3)]), 1.0, 3, 5) / N
del function
def numpy_alone():
    x = np.ones(3)
    for _ in range(N):
        x = x + 1.0
out["numpy"] = timed(numpy_alone, 0.5, 3, 5) / N
out["compute where keys were taken"] = clock(end.compute)[0] / N
leaf, end = chain(N)
out["compute"] = clock(end.compute)[0] / N
"""
)

GRAM_SCHMIDT = (
    SETUP
    + """
taken, (leaves, outputs) = clock(lambda: gram_schmidt(50))
N = nodes_of(outputs)
out["build"] = taken / N
out["compile"] = clock(lambda: lazy.Function(leaves, outputs))[0] / N
function = lazy.Function(leaves, outputs)
data = [np.random.default_rng(i).random(60) for i in range(50)]
out["call"] = timed(lambda: function(data), 1.0, 3, 20) / N
out["compute"] = clock(lambda: lazy.compute(outputs))[0] / N
"""
)

MEMORY = (
    SETUP
    + """
import tracemalloc
chain(10)
gc.collect()
tracemalloc.start()
before = tracemalloc.get_traced_memory()[0]
leaf, end = chain(100_000)
out["bytes"] = (tracemalloc.get_traced_memory()[0] - before) / 100_000
"""
)

MILLION = (
    SETUP
    + """
for count in (100_000, 1_000_000):
    taken = {}
    taken["build"], (leaf, end) = clock(lambda: chain(count))
    taken["key"] = clock(lambda: key(end))[0]
    taken["pickle"], data = clock(lambda: pickle.dumps(end))
    copy = pickle.loads(data)
    assert key(copy) == key(end)
    del data
    taken["compute"], value = clock(end.compute)
    assert value[0] == count + 1
    del leaf, end, value
    def free():
        global copy
        del copy
    taken["free"] = clock(free)[0]
    for name, seconds in taken.items():
        out[f"{name} {count}"] = seconds / count
"""
)

DASK = """
import dask.array as da, numpy as np
def build():
    x = da.from_array(np.ones(3), chunks=3)
    for _ in range(100):
        x = x + 1.0
    return x
out["build"] = timed(build, 0.5, 3, 10) / 100
"""


def rows() -> list[Row]:
    """Measure chains, a Gram-Schmidt, memory, and a chain of a million nodes."""
    result = []
    for title, code in (("chain of 100,000 additions", CHAIN), ("modified Gram-Schmidt of 50 columns", GRAM_SCHMIDT)):
        ours, theirs = measure(code, 3, which="ours"), measure(code, 3, which="autoray")
        for what, share, bound in (
            ("build", 1.0, "autoray's"),
            ("compute", 1.0, "autoray's"),
            ("compile", 0.5, "half of autoray's"),
            ("call", 1.0, "autoray's"),
        ):
            beside = f"{duration(ours[what])}; autoray {duration(theirs[what])}"
            result.append(Row(f"{title}: {what}, per node", beside, ours[what] / (share * theirs[what]), bound))
        if "key" in ours:
            what = "compute where keys were taken"
            beside = f"{duration(ours[what])}; autoray, which takes none, {duration(theirs['compute'])}"
            result.append(Row(f"{title}: {what}, per node", beside, ours[what] / theirs["compute"], "autoray's"))
            result.append(Row(f"{title}: key, per node", duration(ours["key"]), ours["key"] / 5e-6, "5 us"))
    ours, theirs = measure(MEMORY, 1, which="ours"), measure(MEMORY, 1, which="autoray")
    result.append(
        Row("memory per node", f"{ours['bytes']:.0f} B; autoray {theirs['bytes']:.0f} B",
            ours["bytes"] / (1.25 * theirs["bytes"]), "autoray's + 25 %")
    )  # fmt: skip
    million = measure(MILLION, 1, which="ours")
    for what in ("build", "key", "compute", "pickle", "free"):
        small, large = million[f"{what} 100000"], million[f"{what} 1000000"]
        result.append(
            Row(f"1,000,000 nodes in a chain: {what}, per node", f"{duration(large)}; at 100,000 {duration(small)}",
                large / (2 * small + 1e-7), "linear: at most twice the cost per node at 100,000")
        )  # fmt: skip
    dask = measure(DASK, 1)["build"]
    beside = f"{duration(million['build 100000'])}; dask {duration(dask)}"
    result.append(Row("build, per node", beside, million["build 100000"] / dask, "dask.array's"))
    return result
