"""`Cache.open` and `Cache.put` where nothing can be stored, or nothing is there to be stored."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, computed, pure
from lazycache.errors import NotOpenableError
from tests.conftest import Witness


@pytest.fixture
def make(witness: Witness) -> Any:
    @pure(version=1, name="make")
    def make(kind: str) -> Any:
        witness(kind)
        return np.arange(3) if kind == "array" else 3

    return make


@pytest.mark.parametrize("mode", ["rw", "ro", "off"])
def test_what_is_not_stored_is_computed_once_to_be_opened(
    tmp_path: Path, make: Any, witness: Witness, mode: Any
) -> None:
    Cache(tmp_path / "store")(computed(1) + 1)
    stored = Cache(tmp_path / "store", mode=mode).open(make("array"))
    assert stored[...].tolist() == [0, 1, 2]  # type: ignore[union-attr]
    assert witness.ran == {"array": 1}


@pytest.mark.parametrize("mode", ["rw", "ro", "off"])
def test_only_an_array_can_be_opened(tmp_path: Path, make: Any, mode: Any) -> None:
    Cache(tmp_path / "store")(computed(1) + 1)
    with pytest.raises(NotOpenableError, match="cannot be opened as a Zarr array"):
        Cache(tmp_path / "store", mode=mode).open(make("number"))


@pytest.mark.parametrize("wrong", [3, computed(3)])
def test_only_a_call_has_a_result_to_put(cache: Cache, wrong: Any) -> None:
    with pytest.raises(TypeError, match="only a call"):
        cache.put(wrong, 4)
