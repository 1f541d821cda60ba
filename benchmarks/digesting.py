"""What digests cost, beside hashlib, joblib.hash and dask.tokenize."""

from __future__ import annotations

from benchmarks.processes import measure, scratch
from benchmarks.table import Row, duration

LARGE = """
import hashlib, joblib, numpy as np
from lazycache import digest
array = np.random.default_rng(0).random(2**27)
view = array.reshape(2**13, 2**14)
strided = view[::2]
def best(function, times=3):
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
size = array.nbytes
out["sha256"] = size / best(lambda: hashlib.sha256(array).digest())
out["joblib"] = size / best(lambda: joblib.hash(array), 1)
out["ours"] = size / best(lambda: digest(array))
out["transposed"] = size / best(lambda: digest(view.T))
out["strided"] = strided.nbytes / best(lambda: digest(strided))
"""

SMALL = """
import joblib
from dask.base import tokenize
from lazycache import digest
values = {
    "an int": 42,
    "a tuple of 10 ints": tuple(range(10)),
    "a dict of 20": {f"key{i}": i for i in range(20)},
    "a nest of these": [42, tuple(range(10)), {f"key{i}": i for i in range(20)}, {"a": [1.5, "text", None]}],
}
for name, value in values.items():
    out["ours " + name] = timed(lambda: digest(value), 0.2)
    out["joblib " + name] = timed(lambda: joblib.hash(value), 0.2)
    out["dask " + name] = timed(lambda: tokenize(value), 0.2)
"""

ARGUMENT = """
import hashlib, numpy as np, lazycache
@lazycache.pure(version=1, name="bench.first")
def first(x):
    return float(x[0])
array = np.random.default_rng(0).random(100 * 2**17)
cache = lazycache.Cache(folder)
cache(first(array))
out["not owned"] = timed(lambda: cache(first(array)), 1.5)
out["sha256"] = timed(lambda: hashlib.sha256(array).digest(), 1)
owned = lazycache.lazy(array, own=True)
cache(first(owned))
out["owned"] = timed(lambda: cache(first(lazycache.lazy(array, own=True))), 0.3)
assert cache.stats()["runs"] <= 1, cache.stats()
"""


def rows() -> list[Row]:
    """Measure digests of a 1 GB array, of small values, and of array arguments."""
    large = measure(LARGE, 3)
    small = measure(SMALL, 3)
    with scratch() as folder:
        argument = measure(ARGUMENT, 3, folder=folder)
    rate = {name: f"{value / 1e9:.2f} GB/s" for name, value in large.items()}
    what = "digest of a 1 GB float64 array"
    result = [
        Row(
            what,
            f"{rate['ours']}; hashlib.sha256 {rate['sha256']}",
            1.8 * large["sha256"] / large["ours"],
            "1.8 x hashlib.sha256",
        ),
        Row(
            what,
            f"{rate['ours']}; joblib.hash {rate['joblib']}",
            4 * large["joblib"] / large["ours"],
            "4 x joblib.hash",
        ),
        Row("the same, transposed", rate["transposed"], 1.8 * large["sha256"] / large["transposed"], "the same"),
        Row("the same, strided", rate["strided"], 0.9 * large["sha256"] / large["strided"], "half of it"),
    ]
    for name in (key.removeprefix("ours ") for key in small if key.startswith("ours ")):
        ours = small[f"ours {name}"]
        for peer, title in (("joblib", "joblib.hash"), ("dask", "dask.tokenize")):
            theirs = small[f"{peer} {name}"]
            result.append(
                Row(
                    f"digest of {name}",
                    f"{duration(ours)}; {title} {duration(theirs)}",
                    3 * ours / theirs,
                    f"1/3 of {title}",
                )
            )
    what = "100 MB array argument, small result, second call"
    result.append(
        Row(
            f"{what}, not owned",
            f"{duration(argument['not owned'])}; sha256 {duration(argument['sha256'])}",
            argument["not owned"] / (0.8 * argument["sha256"]),
            "0.8 x hashlib.sha256 of it",
        )
    )
    result.append(Row(f"{what}, owned", duration(argument["owned"]), argument["owned"] / 30e-6, "30 us"))
    return result
