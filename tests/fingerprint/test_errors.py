"""Globals that can change are named, with what to do about it."""

from __future__ import annotations

import pickle
import threading
import types
from typing import Any

import pytest

from lazycache.errors import FingerprintError
from lazycache.fingerprint import fingerprint


def _run(text: str, **given: Any) -> Any:
    module = types.ModuleType("analysis")
    vars(module).update(given)
    exec(text, vars(module))
    return module


@pytest.mark.parametrize(
    ("setup", "body", "name"),
    [
        ("import numpy as np\nDATA = np.arange(3)", "DATA.sum()", "DATA"),
        ("class Settings: pass\nS = Settings()", "S.rate", "S"),
        ("import types\nS = types.SimpleNamespace(rate=1)", "S.rate", "S"),
        ("CALLS = []", "CALLS.append(1)", "CALLS"),
        ("MEMO = {}", "MEMO.setdefault(1, 2)", "MEMO"),
        ("import numpy as np\nTABLE = {'a': np.arange(3)}", "TABLE['a']", "TABLE"),
        ("import random\nR = random.Random(1)", "R.random()", "R"),
        ("N = iter([1])", "next(N)", "N"),
        ("import functools\nK = functools.cmp_to_key(lambda a, b: a - b)", "sorted([2, 1], key=K)", "K"),
        ("HERE = []\nHERE.append(HERE)", "HERE", "HERE"),
    ],
)
def test_a_global_that_can_change_is_named(setup: str, body: str, name: str) -> None:
    module = _run(f"{setup}\ndef helper(): return {body}\ndef run(): return helper()")
    with pytest.raises(FingerprintError) as caught:
        fingerprint(module.run)
    message = str(caught.value)
    assert f"`{name}`" in message
    assert "run" in message
    for advice in ("argument", "constant", "ignore=", "version="):
        assert advice in message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message
    assert fingerprint(module.run, ignore=[name]).is_current()
    assert fingerprint(module.run, ignore=[f"analysis.{name}"]).is_current()


def test_an_open_file_is_named(tmp_path: Any) -> None:
    with open(tmp_path / "log", "w") as file:
        module = _run("def run(): LOG.write('x')", LOG=file)
        with pytest.raises(FingerprintError, match="`LOG`"):
            fingerprint(module.run)


def test_stores_into_globals_are_seen_in_a_text() -> None:
    for run in (_stores_an_item, _counts_up, _counts_in_a_closure()):
        with pytest.raises(FingerprintError, match=r"`(_TABLE|_count|counted)`"):
            fingerprint(run)
    fingerprint(_only_stores)


_TABLE: dict[int, int] = {}
_count = 0
_last = 0


def _stores_an_item(x: int) -> int:
    _TABLE[x] = 1
    return x


def _counts_up(x: int) -> int:
    global _count
    _count += 1
    return x


def _only_stores(x: int) -> int:
    global _last
    _last = x
    return x


def _counts_in_a_closure() -> Any:
    counted: list[int] = []

    def run(x: int) -> int:
        counted.append(x)
        return x

    return run


def test_a_closure_without_a_digest_is_named() -> None:
    generator = (x for x in [1])

    def run() -> Any:
        return next(generator)

    with pytest.raises(FingerprintError, match="generator"):
        fingerprint(run)


def test_loggers_locks_sentinels_and_hints_are_no_error() -> None:
    module = _run(
        "import logging, threading, contextvars, typing\n"
        "log, lock, missing = logging.getLogger('a'), threading.Lock(), object()\n"
        "var = contextvars.ContextVar('v')\nT = typing.TypeVar('T')\nAlias = dict[str, typing.Optional[int]]\n"
        "def run(x):\n    with lock: log.info(x)\n    return missing, var, T, Alias, typing.cast(Alias, x)\n"
    )
    assert fingerprint(module.run).digest == fingerprint(module.run).digest


def test_what_installed_packages_offer_is_no_error() -> None:
    module = _run(
        "from scipy.stats import norm\nfrom numpy import sin, mean, pi, float64, random as r\nfrom os import environ\n"
        "import numpy as np\nf = np.vectorize(lambda x: x + 1)\n"
        "def run(x): return norm.pdf(x), sin(x), mean(x), pi, float64(1), environ.get('A'), f(x), r.default_rng(1)\n"
    )
    assert fingerprint(module.run).digest == fingerprint(module.run).digest


def test_a_missing_package_in_depends_is_named() -> None:
    with pytest.raises(FingerprintError, match="no_such_package"):
        fingerprint(_only_stores, depends=["no_such_package"])


def test_many_threads_take_one_digest() -> None:
    module = _run("def even(n): return odd(n)\ndef odd(n): return even(n)\ndef run(n): return even(n)")
    found: list[bytes] = []
    barrier = threading.Barrier(8)

    def take() -> None:
        barrier.wait()
        found.append(fingerprint(module.run).digest)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_long_chain_of_helpers_does_not_recurse() -> None:
    lines = [f"def f{i}(x): return f{i + 1}(x)" for i in range(3000)]
    module = _run("\n".join(lines) + "\ndef f3000(x): return x\n")
    first = fingerprint(module.f0)
    vars(module)["f3000"] = lambda x: x + 1
    assert not first.is_current()
    assert fingerprint(module.f0).digest != first.digest
