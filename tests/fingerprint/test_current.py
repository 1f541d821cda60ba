"""`is_current` notices what the fingerprint was taken from."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lazycache.fingerprint import fingerprint


def _module(text: str) -> Any:
    """A module that stands for one of the user's own."""
    module = types.ModuleType("made_for_a_test")
    exec(text, vars(module))
    return module


PROGRAM = """
import collections, dataclasses, functools
RATE = 1
TABLE = {'a': 1, 'b': [2]}
def helper(x): return x * RATE
def second(x): return -x
class Base:
    def low(self): return 1
class Thing(Base):
    def get(self): return 2
@functools.lru_cache
def cached(x): return x
def make(n):
    def inner(x): return x * n
    def set(value):
        nonlocal n
        n = value
    return inner, set
held, set_held = make(3)
class Scale:
    def __init__(self): self.by = 2
    def __call__(self): return self.by
scale = Scale()
bound = functools.partial(helper, x=1)
counts = collections.defaultdict(int)
Point = dataclasses.make_dataclass("Point", [("x", int)], frozen=True)
point = Point(1)
class Wide(Scale):
    def taken(self): return self.low
wide = Wide.taken
def run(x, y=1):
    held_here = helper(x), TABLE, Thing(), cached(x), held(x), later, len(x), scale()
    return held_here, bound(), counts, point, wide
"""

CHANGES: dict[str, Callable[[Any], Any]] = {
    "its code": lambda m: setattr(m.run, "__code__", m.second.__code__),
    "a default": lambda m: setattr(m.run, "__defaults__", (2,)),
    "code of a helper": lambda m: setattr(m.helper, "__code__", m.second.__code__),
    "a helper": lambda m: setattr(m, "helper", m.second),
    "a constant of a helper": lambda m: setattr(m, "RATE", 2),
    "an entry of a table": lambda m: m.TABLE.update(a=m.second),
    "a new entry of a table": lambda m: m.TABLE.update(c=1),
    "a list in a table": lambda m: m.TABLE["b"].append(3),
    "a class": lambda m: setattr(m, "Thing", m.Base),
    "a method": lambda m: setattr(m.Thing, "get", lambda self: 3),
    "a new method": lambda m: setattr(m.Thing, "low", lambda self: 3),
    "a method of a base class": lambda m: setattr(m.Base, "low", lambda self: 3),
    "the base classes": lambda m: setattr(m.Thing, "__bases__", (m.Scale,)),
    "a cached function": lambda m: setattr(m, "cached", m.second),
    "a closure cell": lambda m: m.set_held(4),
    "a name that appears": lambda m: setattr(m, "later", 1),
    "a built-in that is hidden": lambda m: setattr(m, "len", max),
    "a name that goes": lambda m: delattr(m, "helper"),
    "state of a callable": lambda m: setattr(m.scale, "by", 3),
    "new state of a callable": lambda m: setattr(m.scale, "beside", 3),
    "the class of a callable": lambda m: setattr(m.scale, "__class__", m.Wide),
    "what a partial binds": lambda m: m.bound.keywords.update(x=2),
    "the factory of a table": lambda m: setattr(m.counts, "default_factory", float),
    "a frozen instance": lambda m: object.__setattr__(m.point, "x", 2),
    "a name that a class gets": lambda m: setattr(m.Wide, "low", 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(change: Callable[[Any], Any]) -> None:
    module = _module(PROGRAM)
    taken = fingerprint(module.run)
    assert taken.is_current()
    module.cached(1)
    module.unrelated = 3
    assert taken.is_current()
    change(module)
    assert not taken.is_current()
    again = fingerprint(module.run)
    assert again.is_current()
    assert again.digest != taken.digest


def test_a_closure_that_changes_inside_is_hashed_again() -> None:
    data = np.arange(3.0)

    def run() -> Any:
        return data.sum()

    taken = fingerprint(run)
    assert taken.is_current()
    data[1] = 7
    assert not taken.is_current()
    assert fingerprint(run).digest != taken.digest


def test_a_name_that_a_body_imports_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    helper = _module("def f(x): return x + 1")
    monkeypatch.setitem(sys.modules, "made_for_a_test", helper)
    module = _module("def run(x):\n    from made_for_a_test import f\n    return f(x)")
    # Without a text the import is not seen; so a text is given.
    import linecache

    text = "def run(x):\n    from made_for_a_test import f\n    return f(x)\n"
    monkeypatch.setitem(linecache.cache, "<cell>", (len(text), None, text.splitlines(True), "<cell>"))
    exec(compile(text, "<cell>", "exec"), vars(module))
    taken = fingerprint(module.run)
    assert taken.is_current()
    helper.f = lambda x: x + 2
    assert not taken.is_current()
