"""Random programs over files that change: the cache gives what a run without it gives, and runs nothing twice."""

import functools
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lazycache import Cache, compute, computed, hash_by_file_content, hash_by_file_date, hash_by_file_stat, pure

HASHERS = [hash_by_file_date, hash_by_file_content, hash_by_file_stat]
SEEDS = 25
STEPS = 12


class Files:
    """A few small files, written in ways that keep or change size, date and content."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.paths = [str(folder / f"f{n}") for n in range(4)]
        self._rng = rng
        self._date = 1_600_000_000_000_000_001
        for path in self.paths:
            self._write(path, self._text(), rng.random() < 0.3)

    def _text(self) -> str:
        return "".join(self._rng.choice("ab") for _ in range(4))

    def _write(self, path: str, text: str, young: bool) -> None:
        Path(path).write_text(text)
        if not young:
            self._date += 1000
            os.utime(path, ns=(self._date, self._date))

    def change(self) -> None:
        """Change a file, or touch it, or leave all as they are."""
        path, what = self._rng.choice(self.paths), self._rng.random()
        date = os.stat(path).st_mtime_ns
        if what < 0.3:
            self._write(path, self._text(), young=False)
        elif what < 0.5 and time.time_ns() - date < 400_000_000:
            Path(path).write_text(self._text())
            os.utime(path, ns=(date, date))
        elif what < 0.65:
            self._write(path, Path(path).read_text(), young=False)
        elif what < 0.8:
            self._write(path, self._text(), young=True)


class World:
    """What the functions below refer to; not by closures, which would count in their keys."""

    paths: ClassVar[list[str]] = []
    runs: ClassVar[int] = 0


def place(n: int) -> str:
    return World.paths[n]


def read(path: str) -> str:
    return Path(path).read_text()[:2]


def first(a: str) -> str:
    return a[:1]


def join(a: str, b: str = "-") -> str:
    return a + b


def nested(a: str) -> Any:
    return FUNCTIONS["read by date", True](World.paths[len(a) % 4]) + a


def nested_and_lazy(a: str) -> Any:
    return FUNCTIONS["join", False](FUNCTIONS["read by content", False](computed(World.paths[(len(a) + 1) % 4])), a)


def nested_unstored(a: str) -> Any:
    return FUNCTIONS["nested", False](a)


def made_pure(name: str, body: Callable[..., Any], stored: bool, hashers: dict[str, Any]) -> Any:
    if not stored:
        return pure(version=1, name=f"{name}, not stored", store=False, hashers=hashers)(body)

    @functools.wraps(body)
    def counted(*args: Any, **kwargs: Any) -> Any:
        World.runs += 1
        return body(*args, **kwargs)

    return pure(version=1, name=name, hashers=hashers)(counted)


PLACE = pure(version=1, name="place")(place)
READERS = {
    "read by date": hash_by_file_date,
    "read by content": hash_by_file_content,
    "read by stat": hash_by_file_stat,
}
OTHERS: list[Callable[..., Any]] = [first, join, nested, nested_and_lazy, nested_unstored]
FUNCTIONS = {
    (name, stored): made_pure(name, body, stored, hashers)
    for stored in (True, False)
    for name, body, hashers in [
        *((name, read, {"path": hasher}) for name, hasher in READERS.items()),
        *((body.__name__, body, {}) for body in OTHERS),
    ]
}


def build(rng: random.Random, depth: int = 4) -> Any:
    """Return a random expression; equal states of `rng` give equal ones."""
    what, stored = rng.random(), rng.random() < 0.6
    if depth == 0 or what < 0.15:
        n = rng.randrange(4)
        argument = rng.choice([World.paths[n], computed(World.paths[n]), PLACE(n)])
        return FUNCTIONS[rng.choice(list(READERS)), stored](argument)
    below = build(rng, depth - 1)
    if what < 0.3:
        return below + rng.choice("xyz")
    if what < 0.45:
        return below + build(rng, depth - 1)
    if what < 0.55:
        return FUNCTIONS["join", stored](below, below + "!")
    if what < 0.65:
        return below[0 : rng.randrange(1, 4)]
    return FUNCTIONS[rng.choice(OTHERS).__name__, stored](below)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_result_is_stale_and_none_is_computed_twice(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    files = Files(tmp_path, rng)
    World.paths[:] = files.paths
    cache = Cache(tmp_path / "store")
    roots = [rng.randrange(10**9) for _ in range(3)]
    for _ in range(STEPS):
        chosen = rng.sample(roots, rng.randrange(1, 3))
        truth = compute([build(random.Random(root)) for root in chosen])
        assert cache([build(random.Random(root)) for root in chosen]) == truth
        World.runs = 0
        assert cache([build(random.Random(root)) for root in chosen]) == truth
        assert World.runs == 0
        files.change()
        if rng.random() < 0.2:
            cache = Cache(tmp_path / "store")
