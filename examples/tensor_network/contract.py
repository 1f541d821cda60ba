"""Contract a tensor network with cotengra, and find the result on disk the next time.

The network is a square lattice of random tensors with a bond between
neighbours. cotengra looks for a good order of contraction and then works on
lazy arrays as on any others, so that all it does is build an expression. Its
key follows from the seeds of the tensors and from the order, which is itself a
stored result: in another process no tensor is even made.

Run it anywhere: ``python contract.py``. It starts two processes, one after the
other, and compares their result with that of ``numpy.einsum``.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

import lazycache.array as lz
from lazycache import Cache, pure

SIDE = 4
BOND = 16
SEED = 2024

Bonds = tuple[int, ...]


def lattice() -> tuple[Bonds, ...]:
    """Return the bonds of each site, row by row."""
    names: dict[frozenset[tuple[int, int]], int] = {}
    sites = []
    for row in range(SIDE):
        for column in range(SIDE):
            around = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
            inside = [site for site in around if min(site) >= 0 and max(site) < SIDE]
            sites.append(tuple(names.setdefault(frozenset({(row, column), site}), len(names)) for site in inside))
    return tuple(sites)


@pure(version=1)
def find_order(sites: tuple[Bonds, ...], bond: int) -> tuple[tuple[int, ...], ...]:
    """Return a good order of contraction: which tensors to contract in each step."""
    import cotengra

    sizes = {name: bond for bonds in sites for name in bonds}
    return tuple(map(tuple, cotengra.array_contract_path(sites, size_dict=sizes, optimize="auto")))


def tensors(sites: tuple[Bonds, ...]) -> list[lz.LazyArray]:
    """Return a random tensor for each site, of numbers about as large as keep the result of order one."""
    scale = BOND**-0.5
    return [
        lz.random.normal((SEED, number), scale=scale ** (len(bonds) / 2), size=(BOND,) * len(bonds))
        for number, bonds in enumerate(sites)
    ]


def run() -> dict[str, Any]:
    """Contract the network through the cache; tell the value, the seconds, and whether it was on disk."""
    import cotengra

    store = Cache()
    sites = lattice()
    started = time.perf_counter()
    order = store(find_order(sites, BOND))
    value = cotengra.array_contract(tensors(sites), sites, (), optimize=order)
    was_stored = value in store
    result = float(store(value))
    return {
        "value": result,
        "seconds": time.perf_counter() - started,
        "stored": was_stored,
        "nodes": value.history_num_nodes(),
        "peak": value.history_peak_size(in_bytes=True),
    }


def run_apart() -> dict[str, Any]:
    """Do the same in a process of its own."""
    command = [sys.executable, os.path.abspath(__file__), "run"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def by_numpy(order: tuple[tuple[int, ...], ...]) -> float:
    """Return the value as numpy computes it from the same numbers."""
    sites = lattice()
    operands = [part for x, bonds in zip(tensors(sites), sites, strict=True) for part in (x.compute(), list(bonds))]
    return float(np.einsum(*operands, [], optimize=["einsum_path", *order]))


def main() -> None:
    """Run twice, and check the value."""
    first, second = run_apart(), run_apart()
    truth = by_numpy(Cache()(find_order(lattice(), BOND)))
    print(
        f"{SIDE} x {SIDE} tensors with bonds of {BOND}: {first['nodes']} nodes, at most {first['peak']:,} bytes at once"
    )
    for name, told in (("first run", first), ("second run", second)):
        how = "found on disk" if told["stored"] else "computed"
        print(f"{name:<12} {told['value']:.12e}  {told['seconds']:6.3f} s  {how}")
    print(f"{'numpy.einsum':<12} {truth:.12e}")
    if not second["stored"] or second["value"] != first["value"]:
        sys.exit("the second run did not find the result of the first")
    if not np.isclose(first["value"], truth, rtol=1e-9, atol=0):
        sys.exit("the value differs from that of numpy.einsum")


if __name__ == "__main__":
    if "run" in sys.argv[1:]:
        print(json.dumps(run()))
    elif "LAZYCACHE_DIR" in os.environ:
        main()
    else:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LAZYCACHE_DIR"] = folder
            main()
