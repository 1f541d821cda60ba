"""Functions and classes as values, and pure functions inside others."""

from __future__ import annotations

import copy
import functools
import linecache
import operator
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache.digests import digest
from lazycache.errors import FingerprintError
from lazycache.fingerprint import class_token, fingerprint, function_token

ROOT = Path(__file__).parents[2]


def _cell(text: str) -> dict[str, Any]:
    """Run a notebook cell."""
    name = f"<cell {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def helper(x: int) -> int:
    return x + 1


class Thing:
    def get(self) -> int:
        return helper(1)


def test_functions_as_values_go_by_their_code() -> None:
    one = _cell("def f(x): return x + 1\n")["f"]
    same = _cell("# note\ndef f(x):\n    return x + 1\n")["f"]
    other = _cell("def f(x): return x + 2\n")["f"]
    assert digest(one) == digest(same) != digest(other)
    assert digest([one, one]) == digest([one, same])
    assert digest({"f": one}) != digest({"f": other})
    assert digest(functools.partial(one, 1)) == digest(functools.partial(same, 1)) != digest(functools.partial(one, 2))


def test_classes_as_values_go_by_their_code() -> None:
    one = _cell("class C:\n    def f(self): return 1\n")["C"]
    same = _cell("class C:\n    # note\n    def f(self): return 1\n")["C"]
    other = _cell("class C:\n    def f(self): return 2\n")["C"]
    assert digest(one) == digest(same) != digest(other)
    assert class_token(one) == class_token(same)
    assert digest(int) != digest(float)


def test_a_value_survives_a_pickle_and_a_copy() -> None:
    for value in (helper, Thing, Thing().get, functools.partial(helper, 1)):
        assert digest(pickle.loads(pickle.dumps(value))) == digest(value)
        assert digest(copy.deepcopy(value)) == digest(value)


def test_a_cached_function_is_a_value() -> None:
    cells = [_cell(f"import functools\n@functools.cache\ndef f(x): return x + {n}\n")["f"] for n in (1, 1, 2)]
    assert function_token(cells[0]) == function_token(cells[1]) != function_token(cells[2])


def test_what_is_installed_goes_by_its_name() -> None:
    assert digest(np.sin) != digest(np.cos)
    assert digest(os.path.join) == digest(os.path.join)
    assert fingerprint(operator.itemgetter(1)).digest != fingerprint(operator.itemgetter(2)).digest
    assert fingerprint(np.sin).digest != fingerprint(np.cos).digest
    assert fingerprint(len).digest != fingerprint(max).digest


def test_a_changed_function_has_another_token() -> None:
    cell = _cell("RATE = 1\ndef g(x): return x\ndef f(x): return g(x) * RATE\n")
    before = function_token(cell["f"])
    assert function_token(cell["f"]) == before
    cell["RATE"] = 2
    assert function_token(cell["f"]) != before


def test_a_spawned_worker_gives_the_same_digests(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import multiprocessing, sys\n"
        "from lazycache.fingerprint import fingerprint\n"
        "class K:\n    def get(self): return __name__\n"
        "def helper(x): return K().get(), x\n"
        "def f(x): return helper(x)\n"
        "def take(_): return fingerprint(f).digest.hex()\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(take(0), *pool.map(take, [0]))\n"
    )
    run = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "storage")])},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    here, there = run.stdout.split()
    assert here == there


class Pure:
    """What the walk needs to know of a pure function."""

    is_pure = True

    def __init__(self, function: Any, version: str = "", **options: Any) -> None:
        self.__wrapped__ = function
        self.name = function.__name__
        self.version = version
        self.fingerprint_options = options

    @property
    def token(self) -> bytes:
        if not self.version:
            raise AssertionError("a pure function without a version is walked, since it may be in a circle")
        return f"{self.name} {self.version}".encode()


def _outer(inner: Any) -> bytes:
    def run(x: int) -> Any:
        return inner(x)

    return fingerprint(run).digest


def test_a_pure_function_with_a_version_counts_by_its_identity() -> None:
    one, other = (_cell(f"def f(x): return x + {n}\n")["f"] for n in (1, 2))
    assert _outer(Pure(one, "1")) == _outer(Pure(other, "1")) != _outer(Pure(one, "2"))


def test_a_pure_function_without_a_version_counts_by_its_code() -> None:
    one, other = (_cell(f"def f(x): return x + {n}\n")["f"] for n in (1, 2))
    assert _outer(Pure(one)) != _outer(Pure(other))
    assert _outer(Pure(one, code="none")) == _outer(Pure(other, code="none"))
    assert _outer(Pure(one, depends=(1,))) != _outer(Pure(one, depends=(2,)))
    counting = _cell("CALLS = []\ndef f(x): CALLS.append(x)\n")["f"]
    with pytest.raises(FingerprintError, match="`CALLS`"):
        _outer(Pure(counting))
    assert _outer(Pure(counting, ignore=("CALLS",)))


def test_pure_functions_that_call_each_other() -> None:
    def programs(n: int) -> bytes:
        cell = _cell(f"def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != {n} and even(n - 1)\n")
        cell["even"], cell["odd"] = Pure(cell["even"]), Pure(cell["odd"])
        return fingerprint(cell["even"].__wrapped__).digest

    assert programs(0) == programs(0) != programs(1)


@pytest.mark.parametrize("code", ["deep", "self", "none"])
def test_what_is_named_in_depends_counts_with_all_that_it_refers_to(code: Any) -> None:
    def taken(n: int) -> bytes:
        cell = _cell(f"def low(x): return x + {n}\ndef middle(x): return low(x)\ndef run(x): return x\n")
        return fingerprint(cell["run"], depends=[cell["middle"]], code=code).digest

    assert taken(1) == taken(1) != taken(2)


def test_packages_in_depends_count_by_version() -> None:
    def taken(*depends: Any) -> bytes:
        return fingerprint(helper, depends=depends).digest

    assert taken("numpy") == taken(np) != taken()
    assert len({taken(), taken("numpy"), taken("pandas"), taken(np.mean), taken(1), taken(1.0)}) == 6
