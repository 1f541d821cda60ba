"""Expressions as dask collections."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import UnhashableError, compute, computed, pure
from tests.conftest import Witness
from tests.execution import calls
from tests.execution.test_compute import environment

dask = pytest.importorskip("dask")


def test_dask_computes_expressions(tmp_path: Path, witness: Witness) -> None:
    x = computed(np.arange(5.0))
    shared = calls.passing(x, str(tmp_path))
    e = calls.total(shared, str(tmp_path)) + shared * 2
    found, nested, leaf = dask.compute(e, {"a": [shared.sum()]}, computed("lazycache"))
    assert np.array_equal(found, compute(e))
    assert nested == {"a": [20.0]}
    assert leaf == "lazycache"
    assert witness.ran["passing"] == 2


@pytest.mark.parametrize("scheduler", ["sync", "threads", "processes"])
def test_schedulers(scheduler: str, tmp_path: Path) -> None:
    e = calls.total(computed(np.arange(5.0)) * 2, str(tmp_path)) + 1
    assert dask.compute(e, scheduler=scheduler) == (21.0,)


def test_values_that_look_like_tasks_or_keys_stay_values() -> None:
    @pure(version=1)
    def same(x: Any) -> Any:
        return x

    key = computed(1).__dask_keys__()[0]
    e = same([(len, "abc"), key, {"a": (abs, -1)}])
    assert dask.compute(e, computed(key)) == ([(len, "abc"), key, {"a": (abs, -1)}], key)


def test_persisting_and_mixing() -> None:
    e = computed(2) * 21
    (kept,) = dask.persist(e)
    assert compute(kept + 0) == 42
    assert dask.delayed(lambda value: value + 1)(e).compute() == 43
    a = lz.array(np.ones(4)) + 1
    (array,) = dask.persist(a)
    assert (array.shape, array.dtype, array.sum().compute()) == ((4,), np.dtype(float), 8)


def test_optimizing_leaves_expressions_as_they_are() -> None:
    e = lz.array(np.arange(3.0)) * 2
    found, (leaf, nested) = dask.optimize(e, [computed(3), {"a": computed(2) + 1}])
    assert found is e
    assert dask.compute(found.sum(), leaf, nested) == (6.0, 3, {"a": 3})


def test_tokens_go_by_key() -> None:
    from dask.base import is_dask_collection, tokenize

    assert is_dask_collection(computed(1) + 1)
    assert tokenize(computed(1) + 1) == tokenize(computed(1) + 1) != tokenize(computed(1) + 2)
    with pytest.raises(UnhashableError):
        tokenize(computed(np.random.default_rng()) + 1)


def test_a_chain_is_no_recursion() -> None:
    e: Any = computed(0)
    for _ in range(5000):
        e = e + 1
    assert dask.compute(e) == (5000,)


def test_dask_is_not_imported(tmp_path: Path) -> None:
    code = "import sys, lazycache\nlazycache.computed(1).__dask_graph__()\nassert 'dask' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=environment())
