"""A fresh store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lazycache_storage.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a new store."""
    with Store(tmp_path / "store") as opened:
        yield opened
