"""What every test may use: a store of its own, and a witness of what ran."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lazycache import Cache


class Witness:
    """Counts what ran by lines in a file, so that other processes count too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def __call__(self, what: str) -> None:
        with self.path.open("a") as file:
            file.write(what + "\n")

    @property
    def ran(self) -> Counter[str]:
        """What ran so far, with counts."""
        return Counter(self.path.read_text().splitlines())

    def news(self) -> Counter[str]:
        """What ran since the last call."""
        ran = self.ran
        self.path.write_text("")
        return ran


@pytest.fixture(autouse=True)
def _store_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the default store of a test, and of the processes that it starts, in its folder."""
    kept = ("LAZYCACHE_STRESS", "LAZYCACHE_SEED")
    for name in [name for name in os.environ if name.startswith("LAZYCACHE_") and name not in kept]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LAZYCACHE_DIR", str(tmp_path / "default-store"))


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    """Count what runs."""
    return Witness(tmp_path / "witness.txt")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    """Open a new store."""
    cache = Cache(tmp_path / "store")
    yield cache
    cache.close()
