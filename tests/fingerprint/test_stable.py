"""One digest in every process, under every hash seed, in every Python version, for ever."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.fingerprint.process import digests, other_pythons

HERE = Path(__file__).parent
GOLDEN: dict[str, str] = json.loads((HERE / "golden.json").read_text())


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("golden")
    shutil.copy(HERE / "golden_program.txt", folder / "job.py")
    return str(folder)


def _taken(program: str, python: str = sys.executable, hash_seed: str = "0") -> dict[str, str]:
    requests = [(program, name, {"ignore": ["WRITTEN"]}) for name in GOLDEN]
    return dict(zip(GOLDEN, digests(requests, python=python, hash_seed=hash_seed), strict=True))


def test_golden_digests_never_change(program: str) -> None:
    assert _taken(program) == GOLDEN


@pytest.mark.parametrize("python", other_pythons() or [sys.executable])
def test_every_version_of_python_gives_one_digest(program: str, python: str) -> None:
    assert _taken(program, python) == GOLDEN


def test_hash_seeds_do_not_count(program: str) -> None:
    for seed in range(1, 6):
        assert _taken(program, hash_seed=str(seed)) == GOLDEN


def test_the_place_of_a_file_does_not_count(program: str, tmp_path: Path) -> None:
    shutil.copy(Path(program) / "job.py", tmp_path / "job.py")
    assert _taken(str(tmp_path)) == GOLDEN
