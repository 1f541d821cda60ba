"""Operators and methods of users' classes: their code is in the key."""

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
class Scale:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return {body}

    def __add__(self, other):
        return self.apply(other)

class Sub(Scale):
    pass
"""

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from users_module import Scale, Sub
from lazycache import Cache, computed
cache = Cache({store!r})
print(cache({expression}), cache.stats()["runs"])
"""


def run(folder: Path, body: str, expression: str) -> str:
    """Evaluate an expression in a process, with one version of the class."""
    (folder / "users_module.py").write_text(MODULE.format(body=body))
    script = SCRIPT.format(folder=str(folder), store=str(folder / "store"), expression=expression)
    command = [sys.executable, "-B", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    "expression", ["computed(Scale(2)).apply(5)", "computed(Scale(2)) + 5", "computed(Sub(2)).apply(5)"]
)
def test_an_edit_of_the_class_is_a_miss_and_taking_it_back_a_hit(tmp_path: Path, expression: str) -> None:
    assert run(tmp_path, "self.factor * x", expression) == "10 1"
    assert run(tmp_path, "self.factor * x  # the same", expression) == "10 0"
    assert run(tmp_path, "self.factor * x + 1", expression) == "11 1"
    assert run(tmp_path, "self.factor * x", expression) == "10 0"
