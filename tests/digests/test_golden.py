import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.digests import golden

HERE = Path(__file__).parent
PINNED: dict[str, str] = json.loads((HERE / "golden.json").read_text())


def test_pinned_digests_never_change_within_a_format() -> None:
    assert golden.digests() == PINNED


def test_no_two_of_the_pinned_values_share_a_digest() -> None:
    assert len(set(PINNED.values())) == len(PINNED)


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_digests_do_not_depend_on_the_hash_seed(seed: str) -> None:
    root = HERE.parent.parent
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}{os.pathsep}{root / 'storage'}"}
    command = [sys.executable, "-m", "tests.digests.golden"]
    printed = subprocess.run(command, env=environment, cwd=root, capture_output=True, check=True, text=True).stdout
    # Run as a script, the classes of the module are those of __main__.
    own = ("enum", "flag", "namedtuple", "dataclass", "frozen dataclass", "slots", "list subclass", "own state")
    expected = {name: text for name, text in PINNED.items() if name not in (*own, "by protocol")}
    found = json.loads(printed)
    assert {name: found[name] for name in expected} == expected
