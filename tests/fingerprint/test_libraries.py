"""Classes whose methods are generated, and wrappers that libraries make."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from lazycache.fingerprint import fingerprint

PROGRAMS = {
    "attrs": """\
import attrs
@attrs.frozen
class Made:
    x: int = 1
    y: list = attrs.field(factory=list, validator=attrs.validators.instance_of(list))
    def get(self): return self.x + 5
CONSTANT = Made(7)
def run(): return Made(), CONSTANT
""",
    "msgspec": """\
import msgspec
class Made(msgspec.Struct):
    x: int = 1
    def get(self): return self.x + 5
run = Made
""",
    "pydantic": """\
import pydantic
class Made(pydantic.BaseModel):
    x: int = 1
    def get(self): return self.x + 5
run = Made
""",
    "numpy": """\
import numpy as np
RATE = 1
vectorized = np.vectorize(lambda x: x + 5)
def run(x): return vectorized(x) * RATE
""",
    "joblib": """\
import joblib
RATE = 1
def helper(x): return x + 5
delayed = joblib.delayed(helper)
def run(x): return delayed(x) * RATE
""",
    "numba": """\
import numba
RATE = 1
@numba.njit
def fast(x): return x + 5
def run(x): return fast(x) * RATE
""",
}
EDITS: dict[str, Callable[[str], str]] = {
    "a method or function": lambda text: text.replace("x + 5", "x + 6"),
    "a default or constant": lambda text: text.replace("= 1\n", "= 2\n"),
}


def _digest(text: str, name: str) -> bytes:
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), namespace)
    taken = fingerprint(namespace["run"])
    assert taken.mismatch is None
    assert taken.is_current()
    return taken.digest


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("library", PROGRAMS)
def test_edits_count(library: str, edit: Callable[[str], str]) -> None:
    pytest.importorskip(library)
    text = PROGRAMS[library]
    first = _digest(text, "<cell 1>")
    assert _digest("# moved\n\n" + text, "<cell 2>") == first
    assert edit(text) != text
    assert _digest(edit(text), "<cell 3>") != first
