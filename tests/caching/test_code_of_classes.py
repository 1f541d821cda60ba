"""What a function does with an instance is written in its class: an edit there is a miss, wherever that sits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MODULE = """
import enum
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
from lazycache import pure
registry = {{}}
class Base:
    def factor(self): return {factor}
class Model(Base):
    def __init__(self, scale): self.scale = scale
    def apply(self, x): return self.factor() * self.scale * x
@dataclass
class Config:
    scale: int
    def apply(self, x): return {factor} * self.scale * x
class Table(dict):
    def apply(self, x): return {factor} * self["scale"] * x
class Vector(np.ndarray):
    def apply(self, x): return {factor} * int(self[0]) * x
class Pair(NamedTuple):
    scale: int
    other: int = 0
    def apply(self, x): return {factor} * self.scale * x
class Unit(enum.Enum):
    ONE = 1
    def apply(self, x): return {factor} * self.value * x
class Registered:
    instances = []
    def __init__(self, scale):
        self.scale = scale
        self.instances.append(self)
    def apply(self, x): return {factor} * self.scale * x
@pure
def direct(model): return model.apply(1)
@pure
def nested(models): return models["all"][0].apply(1)
@pure
def built(name): return [make(name)]
@pure
def used(models): return models[0].apply(1)
def make(name): return MADE[name]()
MADE = {{
    "model": lambda: Model(1), "config": lambda: Config(1), "table": lambda: Table(scale=1),
    "vector": lambda: np.ones(1).view(Vector), "registered": lambda: Registered(1), "pair": lambda: Pair(1),
    "unit": lambda: Unit.ONE,
}}
"""

SCRIPT = """
import sys
import work
from lazycache import Cache
cache, made = Cache(sys.argv[1]), work.make(sys.argv[2])
values = cache([work.direct(made), work.nested({"all": [made]}), work.used(work.built(sys.argv[2]))])
print(*values, cache.stats()["runs"])
"""


@pytest.mark.parametrize("name", ["model", "config", "table", "vector", "registered", "pair", "unit"])
def test_an_edited_class_is_a_miss_and_the_old_one_hits_again(tmp_path: Path, name: str) -> None:
    def run(factor: int) -> list[int]:
        (tmp_path / "work.py").write_text(MODULE.format(factor=factor))
        paths = os.pathsep.join(map(str, (tmp_path, ROOT, ROOT / "storage")))
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-W", "error", "-c", SCRIPT, str(tmp_path / "store"), name]
        found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return [int(float(part)) for part in found.stdout.split()]

    assert run(1) == [1, 1, 1, 4]
    assert run(1) == [1, 1, 1, 0]
    assert run(2) == [2, 2, 2, 4]
    assert run(1) == [1, 1, 1, 0]
