"""Random acyclic graphs of calls, asked for by many processes and threads at once.

The rig of `test_flights`: one process that forks the others, kills some of
them if asked to, and prints what each call was seen to do. The counters are
lines in a file, and the right results come from plain arithmetic.
"""

import faulthandler
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from lazycache import Cache, pure

PRIME = 1_000_003
HANGS_AFTER = 100.0

folder = Path(".")
graph: dict[str, Any] = {}


class PlannedError(Exception):
    """Raised by a call that fails as often as the graph says."""


def draw(seed: int, size: int, *, with_errors: bool) -> dict[str, Any]:
    """Return a graph: for each call those that its body makes, and how often it fails; and expressions over them."""
    chance = random.Random(seed)
    nested = [chance.sample(range(number), min(number, chance.randrange(4))) for number in range(size)]
    fails = [chance.randrange(1, 3) if with_errors and chance.random() < 0.15 else 0 for _ in range(size)]
    pauses = [chance.random() * 0.004 for _ in range(size)]
    joined = [chance.sample(range(size), 3) for _ in range(size // 3)]
    return {"nested": nested, "fails": fails, "pauses": pauses, "joined": joined}


def right_results(drawn: dict[str, Any]) -> dict[str, int]:
    """Return what each call must give, by arithmetic alone."""
    values: list[int] = []
    for number, children in enumerate(drawn["nested"]):
        values.append((number + sum(2 * values[child] for child in children)) % PRIME)
    right = {f"node {number}": value for number, value in enumerate(values)}
    for number, parts in enumerate(drawn["joined"]):
        right[f"joined {number}"] = sum(values[part] * 3 + 1 for part in parts) % PRIME
    return right


def witness(what: str) -> None:
    """Add a line to the file that counts."""
    descriptor = os.open(folder / "witness.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{what}\n".encode())
    os.close(descriptor)


def counts() -> Counter[str]:
    path = folder / "witness.txt"
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


@pure(version=1, name="stress.node")
def node(number: int) -> int:
    witness(f"start node {number}")
    total = number + sum(2 * node(child) for child in graph["nested"][number])
    time.sleep(graph["pauses"][number])
    if counts()[f"fail node {number}"] < graph["fails"][number]:
        witness(f"fail node {number}")
        raise PlannedError(number)
    witness(f"end node {number}")
    return int(total) % PRIME


@pure(version=1, name="stress.joined")
def joined(number: int, *parts: int) -> int:
    witness(f"start joined {number}")
    witness(f"end joined {number}")
    return sum(parts) % PRIME


@pure(version=1, name="stress.unstorable")
def unstorable(number: int) -> Any:
    witness("start unstorable")
    time.sleep(0.01)
    return (value for value in [number])


def expressions() -> dict[str, Any]:
    """Return every call and every expression by name."""
    calls: dict[str, Any] = {f"node {number}": node(number) for number in range(len(graph["nested"]))}
    for number, parts in enumerate(graph["joined"]):
        calls[f"joined {number}"] = joined(number, *(node(part) * 3 + 1 for part in parts))
    return calls


def ask_for_all(cache: Cache, seed: int, right: dict[str, int], wrong: list[str]) -> None:
    """Ask for everything in an order of one's own, again where it fails as planned."""
    chance = random.Random(seed)
    calls = list(expressions().items())
    chance.shuffle(calls)
    if chance.random() < 0.3:
        assert list(cache(unstorable(7))) == [7]
        witness("asked unstorable")
    for name, call in calls:
        while True:
            try:
                value = cache(call)
                break
            except PlannedError:
                continue
        if value != right[name]:
            wrong.append(f"{name}: {value}, expected {right[name]}")


def work(seed: int, threads: int) -> int:
    """Ask in several threads; return how many went wrong."""
    import warnings

    from lazycache.errors import NotStoredWarning

    warnings.simplefilter("error")
    warnings.simplefilter("ignore", NotStoredWarning)
    cache = Cache(folder / "store")
    right, wrong = right_results(graph), [f"thread {number} of {os.getpid()} died" for number in range(threads)]

    def ask(number: int) -> None:
        ask_for_all(cache, seed + 1000 * number, right, wrong)
        wrong.remove(f"thread {number} of {os.getpid()} died")

    members = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for member in members:
        member.start()
    for member in members:
        member.join()
    cache.close()
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return len(wrong)


def fork(seed: int, threads: int) -> int:
    """Return the id of a new process that works."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        faulthandler.register(signal.SIGUSR1)
        status = min(work(seed, threads), 100)
    finally:
        if sys.exception() is not None:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)


def wait_for(children: set[int], deadline: float) -> list[int]:
    """Return the ids of children that ended, waiting for one at most a moment; fail if all of them hang."""
    if time.monotonic() > deadline:
        for child in children:
            os.kill(child, signal.SIGUSR1)
        time.sleep(1)
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise TimeoutError(f"a deadlock; in locks/: {os.listdir(folder / 'store' / 'locks')}")
    ended = []
    for child in list(children):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            assert code in (0, -signal.SIGKILL), f"a process ended with {code}"
            ended.append(child)
    return ended


def main(path: str, seed: int, size: int, processes: int, threads: int, kills: int, with_errors: bool) -> None:
    """Run one trial and print what was counted, as JSON."""
    global folder
    folder = Path(path)
    graph.update(draw(seed, size, with_errors=with_errors))
    chance = random.Random(seed)
    deadline = time.monotonic() + HANGS_AFTER
    children = {fork(seed + number, threads) for number in range(processes)}
    killed = 0
    while children:
        for child in wait_for(children, deadline):
            children.discard(child)
        if killed < kills and children and counts().total() > killed * 2:
            # At a random moment of its work, and another one takes its place.
            time.sleep(chance.random() * 0.01)
            victim = chance.choice(sorted(children))
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
            children.discard(victim)
            killed += 1
            children.add(fork(seed + 100_000 + killed, threads))
        time.sleep(0.001)
    locks = os.listdir(folder / "store" / "locks")
    print(json.dumps({"counts": counts(), "locks": locks, "killed": killed}))  # noqa: T201
