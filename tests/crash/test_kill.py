"""Processes that are killed at every step, and at random moments: the store stays good."""

import os
import random
from pathlib import Path

import pytest

from tests.storage.processes import run

COMMON = """
import numpy as np
import random
from lazycache_storage import layout
from lazycache_storage.objects import objects
from lazycache_storage.errors import LazyCacheError
from lazycache_storage.index.index import REF_PREFIX
from lazycache_storage.record import decode_record

path = sys.argv[1]

def value(number):
    if number % 3 == 0:
        return {"a": np.random.default_rng(number).random(3000), "shared": np.arange(5000)}
    if number % 3 == 1:
        return [str(number)] * 20_000
    return number

def same(one, two):
    if isinstance(one, dict):
        return all(one[name].tobytes() == two[name].tobytes() for name in two)
    return type(one) is type(two) and one == two

def check(store, may_lack=()):
    # Every record has its objects, whole, and its rows; every result is right; locks work.
    for entry in store.records():
        for ref in entry.record.all_objects():
            objects.verify_object(layout.object_path(path, Digest(ref.name), ref.kind), ref)
            assert store.index.get(REF_PREFIX + ref.name + entry.key) == b"", "a record without its ref row"
        number = int.from_bytes(entry.key, "big")
        assert same(store.load(entry.record, entry.key), value(number)), number
    assert store.index.get(b"\\xff" * 32) is None

def dies_at(step, work):
    # Run `work` in a child that kills itself at its step of this number; tell whether it came to that.
    child = os.fork()
    if child == 0:
        steps = []
        def kill(name):
            steps.append(name)
            if len(steps) > step:
                os.kill(os.getpid(), signal.SIGKILL)
        fsio.step = kill
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or status == 0, status
    return os.WIFSIGNALED(status)
"""

EACH_STEP = """
which = sys.argv[2]

def put():
    Store(path).put([key(3), key(6 * 10**6)], value(3), {})

def put_blob():
    Store(path).put([key(4)], value(4), {})

def put_replacing():
    Store(path).put([key(30)], value(30), {}, replace=True)

def put_over_damage():
    Store(path).put([key(33)], value(33), {})

def forget():
    Store(path).forget(key(30))

def locked_put():
    store = Store(path)
    with store.computing(key(4), "f") as claim:
        if claim.record is None:
            store.put([key(4)], value(4), {})

def found():
    import shutil
    shutil.rmtree(path)
    Store(path).put([key(4)], value(4), {})

work = globals()[which]
rounds = 0
while True:
    store = Store(path)
    for number in range(30, 36):
        store.put([key(number)], value(number), {}, replace=True)
    if which == "put_over_damage":
        record = store.find(key(33))
        name = layout.object_path(path, Digest(record.objects[0].name), "zarr")
        os.chmod(name + "/0", 0o644)
        open(name + "/0", "wb").close()
        store.forget(key(33))
    for number in (3, 4, 6 * 10**6):
        store.forget(key(number))
    store.close()
    killed = dies_at(rounds, work)
    store = Store(path)
    present = {entry.key for entry in store.records()}
    expected = {key(number) for number in range(30, 36)} - {key(33 if which == "put_over_damage" else 30)}
    assert which == "found" or expected <= present, "a record was lost"
    # The two keys of one result come together.
    assert (key(3) in present) == (key(6 * 10**6) in present)
    store.forget(key(6 * 10**6))
    check(store)
    with store.computing(key(5), "f") as claim:
        assert claim.holds
    # The same again, to the end.
    work()
    store.forget(key(6 * 10**6))
    check(Store(path))
    assert not os.listdir(path + "/locks")
    if not killed:
        break
    rounds += 1
say(rounds)
"""


@pytest.mark.parametrize(
    "work", ["put", "put_blob", "put_replacing", "put_over_damage", "forget", "locked_put", "found"]
)
def test_a_kill_at_each_step_leaves_the_store_good(tmp_path: Path, work: str) -> None:
    rounds = int(run(COMMON + EACH_STEP, tmp_path / "store", work))
    assert rounds >= 3, "hardly any steps: is the seam still in place?"


RANDOM = """
seed, rounds = int(sys.argv[2]), int(sys.argv[3])
dice = random.Random(seed)

def write(first, says):
    store = Store(path)
    number = first
    while True:
        store.put([key(number)], value(number), {})
        os.write(says, number.to_bytes(4, "big"))
        if number % 5 == 0:
            store.put([key(number)], value(number), {}, replace=True)
        if number % 7 == 0:
            with store.computing(key(number), "f"):
                store.forget(key(number))
        number += 1

acknowledged = set()
for round in range(rounds):
    hears, says = os.pipe()
    children = []
    for worker in range(2):
        child = os.fork()
        if child == 0:
            write(10**6 * (2 * round + worker), says)
        children.append(child)
    os.close(says)
    # Not before both are at work.
    seen = b""
    while len(seen) < 8:
        seen += os.read(hears, 1)
    time.sleep(dice.random() * 0.03)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    while more := os.read(hears, 65536):
        seen += more
    os.close(hears)
    new = {int.from_bytes(seen[i : i + 4], "big") for i in range(0, len(seen), 4)}
    acknowledged |= {number for number in new if number % 7}
    store = Store(path)
    present = set(store.keys())
    lost = [number for number in acknowledged if key(number) not in present]
    assert not lost, lost
    if round % 5 == 4 or round == rounds - 1:
        check(store)
    store.close()
assert not [name for name in os.listdir(path) if "broken" in name]
say(len(acknowledged))
"""


def test_kills_at_random_moments_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    seed = int(os.environ.get("LAZYCACHE_SEED", random.randrange(10**6)))
    rounds = 300 if os.environ.get("LAZYCACHE_STRESS") == "long" else 15
    print(f"LAZYCACHE_SEED={seed}")  # noqa: T201
    assert int(run(COMMON + RANDOM, tmp_path / "store", seed, rounds)) >= rounds
