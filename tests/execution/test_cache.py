"""`cache` with workers: keys travel, workers read and write the store, one of many computes."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import Cache, InputChangedError, computed, pure
from lazycache import cache as default_cache
from lazycache.errors import CycleError, NotStoredWarning
from lazycache.execution import shipping
from tests.conftest import Witness
from tests.execution import calls
from tests.execution.test_compute import environment


def test_calls_overlap_and_are_stored(cache: Cache, tmp_path: Path, witness: Witness, workers: dict[str, Any]) -> None:
    e = [calls.meet("a", "b", str(tmp_path)), calls.meet("b", "a", str(tmp_path))]
    pids = cache(e, **workers)
    assert witness.news() == {"meet a": 1, "meet b": 1}
    assert cache(e) == pids
    assert cache(e, **workers) == pids
    assert Cache(cache.path)(e) == pids
    assert witness.ran == {}


def pipeline(folder: str) -> dict[str, Any]:
    """Return stored calls over calls that are not, over operators and arrays, with equal keys in between."""
    grids = [calls.grid(n, folder) for n in range(3)]
    loose = calls.passing(grids[0] + grids[1], folder)
    again = calls.passing(calls.grid(0, folder) + calls.grid(1, folder), folder)
    return {
        "sums": [calls.total(np.sqrt(loose) - grid, folder) for grid in grids],
        "twin": calls.total(np.sqrt(again) - calls.grid(2, folder), folder),
        "array": calls.total(lz.array(np.ones((2, 2))).sum(axis=0), folder),
        "operators": (grids[0] * 2).mean(),
        "loose": loose[:3],
        "loose root": calls.passing(computed(4), folder),
        "nested": calls.outer(3, folder),
    }


def test_a_pipeline_gives_what_it_gives_without_workers(
    tmp_path: Path, witness: Witness, workers: dict[str, Any]
) -> None:
    e = pipeline(str(tmp_path))
    expected = Cache(tmp_path / "other")(e)
    ran = witness.news()
    cache = Cache(tmp_path / "store")
    found = cache(e, **workers)
    assert repr(found) == repr(expected)
    assert witness.news() == ran
    assert cache.stats()["runs"] == sum(ran.values()) + 2
    assert repr(Cache(cache.path)(e)) == repr(expected)
    assert witness.ran == {"passing": 1}


def test_keys_travel_and_not_arrays(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    send = shipping.send

    def weigh(task: Any) -> bytes:
        data = send(task)
        sizes.append(len(data))
        return data

    monkeypatch.setattr("lazycache.execution.workers.send", weigh)
    folder = str(tmp_path)
    array = calls.grid(1, folder)
    cache([calls.total(array * 2 + 1, folder), calls.total(array, folder)], n_jobs=2)
    assert len(sizes) == 3
    assert max(sizes) < 8_000


def test_the_parent_loads_nothing_that_it_does_not_return(cache: Cache, tmp_path: Path) -> None:
    folder = str(tmp_path)
    e = calls.total(calls.grid(1, folder), folder)
    cache(e, n_jobs=2)
    before = set(Path("/proc/self/maps").read_text().split())
    assert not [word for word in before if str(cache.path) in word and ".zarr" in word]


def test_records_explain_as_without_workers(tmp_path: Path) -> None:
    e = calls.total(calls.grid(1, str(tmp_path)) * 2, str(tmp_path))
    here, there = Cache(tmp_path / "here"), Cache(tmp_path / "there")
    here(e)
    there(e, n_jobs=2)
    one, two = here._record_of(e), there._record_of(e)
    assert one is not None
    assert two is not None
    assert (one.function, one.text, one.ingredients, one.token, one.call_key, one.files) == (
        two.function, two.text, two.ingredients, two.token, two.call_key, two.files
    )  # fmt: skip


def test_a_miss_in_the_middle_runs_only_that(cache: Cache, tmp_path: Path, witness: Witness) -> None:
    folder = str(tmp_path)
    e = calls.total(calls.grid(1, folder) * 2, folder)
    cache(e)
    witness.news()
    cache.forget(e)
    cache(e, n_jobs=2)
    assert witness.ran == {"total": 1}


def test_early_cutoff(cache: Cache, tmp_path: Path, witness: Witness, workers: dict[str, Any]) -> None:
    path = tmp_path / "input.txt"
    path.write_text("same")

    def after() -> Any:
        return calls.total(computed(np.ones(3)) * calls.parse(str(path), str(tmp_path)).count("a"), str(tmp_path))

    assert cache(after(), **workers) == 3
    os.utime(path, ns=(10**18, 10**18))
    witness.news()
    assert cache(after(), **workers) == 3
    assert witness.ran == {"parse": 1}


def test_files_that_nested_calls_read_count_in_the_parent(
    cache: Cache, tmp_path: Path, witness: Witness, workers: dict[str, Any]
) -> None:
    path = tmp_path / "input.txt"
    path.write_text("one")
    os.utime(path, ns=(10**18, 10**18))
    e = calls.reads_nested(str(path), str(tmp_path)) + "!"
    assert cache([e], **workers) == ["ONE!"]
    assert cache([e], **workers) == ["ONE!"]
    assert witness.news() == {"reads_nested": 1, "parse": 1}
    path.write_text("two")
    os.utime(path, ns=(11**17, 11**17))
    assert Cache(cache.path)(e) == "TWO!"
    assert witness.ran == {"reads_nested": 1, "parse": 1}


def test_files_named_by_a_call(cache: Cache, tmp_path: Path, witness: Witness, workers: dict[str, Any]) -> None:
    path = tmp_path / "input.txt"
    path.write_text("one")
    os.utime(path, ns=(10**18, 10**18))
    e = calls.parse(calls.located(str(tmp_path), str(tmp_path)), str(tmp_path)) + ""
    assert cache(e, **workers) == "one"
    assert cache(e, **workers) == "one"
    path.write_text("two")
    os.utime(path, ns=(11**17, 11**17))
    assert cache(e, **workers) == "two"
    assert witness.ran == {"located": 1, "parse": 2}


def test_a_file_that_changed_is_refused(cache: Cache, tmp_path: Path, witness: Witness) -> None:
    path = tmp_path / "input.txt"
    path.write_text("one")
    e = calls.parse(str(path), str(tmp_path))
    path.write_text("longer")
    with pytest.raises(InputChangedError):
        cache(e, n_jobs=2)
    assert witness.ran == {}


def test_many_callers_of_one_call(tmp_path: Path, witness: Witness) -> None:
    """Two processes with workers of their own want the same calls, some of them nested in others."""
    script = tmp_path / "caller.py"
    script.write_text(
        "import sys\n"
        "from lazycache import Cache\n"
        "from tests.execution import calls\n"
        "folder = sys.argv[1]\n"
        "e = [calls.outer(n, folder) for n in range(4)] + [calls.total(calls.grid(7, folder), folder)]\n"
        "print(Cache(folder + '/store')(e, n_jobs=2)[-1])\n"
    )
    command = [sys.executable, str(script), str(tmp_path)]
    callers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        for _ in range(2)
    ]
    for caller in callers:
        out, err = caller.communicate(timeout=200)
        assert (caller.returncode, out, err) == (0, f"{np.arange(200_000.0).sum() + 7 * 200_000}\n", "")
    assert witness.ran == {"grid 7": 1, "total": 1, **{f"outer {n}": 1 for n in range(4)}}
    assert list((tmp_path / "store" / "locks").iterdir()) == []


def test_a_call_that_waits_for_itself_by_way_of_workers(tmp_path: Path) -> None:
    with pytest.raises(CycleError) as caught, Cache(tmp_path / "store") as cache:
        cache(calls.endless(1, str(tmp_path)) + 0, n_jobs=2)
    names = [name.rpartition(".")[2].partition("(")[0] for name in caught.value.cycle]
    assert names == ["endless", "detour", "endless"]


def test_the_default_cache_travels(tmp_path: Path, witness: Witness, workers: dict[str, Any]) -> None:
    folder = str(tmp_path)
    with Cache(tmp_path / "store") as cache:
        expected = default_cache(calls.through_default(5, folder), **workers)
        assert calls.grid(5, folder) in cache
    assert expected == np.arange(200_000.0).sum() + 5 * 200_000
    assert not (tmp_path / "default-store").exists()
    assert witness.ran == {"grid 5": 1}


@pytest.mark.parametrize("mode", ["ro", "off"])
def test_modes_that_store_nothing(tmp_path: Path, witness: Witness, workers: dict[str, Any], mode: Any) -> None:
    folder = str(tmp_path)
    store = Cache(tmp_path / "store")
    store(calls.grid(7, folder))
    found = Cache(tmp_path / "store", mode=mode)(
        [calls.outer(1, folder), calls.total(calls.grid(8, folder), folder)], **workers
    )
    assert found[0] == np.arange(200_000.0).sum() + 7 * 200_000 + 1
    assert calls.outer(1, folder) not in store
    assert calls.grid(8, folder) not in store
    assert witness.ran["grid 7"] == (1 if mode == "ro" else 2)


def test_refreshing_computes_each_key_once_more(tmp_path: Path, witness: Witness, workers: dict[str, Any]) -> None:
    folder = str(tmp_path)
    e = [calls.outer(1, folder), calls.outer(2, folder), calls.grid(7, folder).sum()]
    Cache(tmp_path / "store")(e)
    once = witness.news()
    fresh = Cache(tmp_path / "store", mode="refresh")
    fresh(e, **workers)
    fresh(e, **workers)
    fresh(calls.total(calls.grid(7, folder), folder))
    assert witness.news() == once
    Cache(tmp_path / "store", mode="refresh")(e, **workers)
    assert witness.ran == once


def test_an_exception_passes_and_leaves_no_lock(cache: Cache, tmp_path: Path, workers: dict[str, Any]) -> None:
    with pytest.raises(calls.OddError) as caught:
        cache(calls.total(calls.fail(4, str(tmp_path)) + 1, str(tmp_path)), **workers)
    assert caught.value.code == 4
    (note,) = caught.value.__notes__
    assert note.startswith("while computing tests.execution.calls.fail(4")
    assert list(Path(cache.path, "locks").glob("*")) == []


def test_results_of_classes_that_only_the_parent_has(cache: Cache, witness: Witness) -> None:
    @pure(version=1, name="pair")
    def pair(a: int) -> Any:
        return Pair(a)

    found = cache(pair(1), n_jobs=2)
    assert type(found) is Pair
    assert pair(1) in cache


class Pair:
    def __init__(self, a: int) -> None:
        self.a = a


SCRIPT = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from lazycache import Cache, pure

class Pair:
    def __init__(self, a):
        self.a = a

@pure
def pair(a):
    return Pair(a)

@pure
def swapped(p):
    if not isinstance(p, Pair):
        raise TypeError(type(p))
    return Pair(-p.a)

if __name__ == "__main__":
    cache = Cache(sys.argv[1])
    where = {"n_jobs": 2} if sys.argv[2] == "n_jobs" else {"executor": ProcessPoolExecutor(2, get_context(sys.argv[2]))}
    found = cache(swapped(pair(3)), **where)
    cache.forget(swapped(pair(3)))
    again = cache(swapped(pair(3)), **where)
    print(type(found) is type(again) is Pair, found.a, pair(3) in cache, swapped(pair(3)) in cache)
"""


@pytest.mark.parametrize("kind", ["n_jobs", "fork", "spawn"])
def test_a_script_with_classes_of_its_own(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path / "store"), kind]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True -3 True True\n", "")


NESTED = """
import sys
from lazycache import Cache, pure

@pure(version=1)
def outer(n):
    @pure(version=1)
    def inner(x):
        with open(sys.argv[2], "a") as file:
            file.write(f"inner {x}\\n")
        return x + 1
    return inner(n) + scaled(lambda x: 2 * x, n)

@pure(version=1)
def scaled(scale, n):
    with open(sys.argv[2], "a") as file:
        file.write(f"scaled {n}\\n")
    return scale(n)

if __name__ == "__main__":
    cache = Cache(sys.argv[1])
    print(cache([outer(1), outer(2)], n_jobs=2))
    for n in (1, 2):
        cache.forget(outer(n))
    print(cache([outer(1), outer(2)]), cache.stats()["runs"])
"""


def test_functions_inside_those_of_a_script_are_the_same_in_workers(tmp_path: Path) -> None:
    script, witness = tmp_path / "script.py", tmp_path / "witness.txt"
    script.write_text(NESTED)
    command = [sys.executable, str(script), str(tmp_path / "store"), str(witness)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert (ended.stderr, ended.stdout.splitlines()[0]) == ("", "[4, 7]")
    assert sorted(witness.read_text().splitlines()) == ["inner 1", "inner 2", "scaled 1", "scaled 2"]


def test_a_result_that_cannot_be_stored_comes_back(cache: Cache, tmp_path: Path, witness: Witness) -> None:
    e = unstorable(str(tmp_path))
    with pytest.warns(NotStoredWarning, match="unstorable"):
        found = cache([e, e], n_jobs=2)
    assert found[0](2) == 3
    assert witness.ran == {"unstorable": 1}


@pure(version=1, ignore=("folder",))
def unstorable(folder: str) -> Any:
    calls.note(folder, "unstorable")
    return lambda x: x + 1


def test_an_object_that_vanished_is_made_again(cache: Cache, tmp_path: Path, witness: Witness) -> None:
    import shutil

    folder = str(tmp_path)
    cache(calls.grid(1, folder))
    cache.close()
    objects = Path(cache.path, "objects")
    for path in objects.iterdir():
        subprocess.run(["chmod", "-R", "u+w", str(path)], check=True)
        shutil.rmtree(path)
    again = Cache(cache.path)
    with pytest.warns(UserWarning):
        found = again(calls.total(calls.grid(1, folder), folder), n_jobs=2)
    assert found == np.arange(200_000.0).sum() + 200_000
    assert witness.ran["total"] == 1


def test_an_edited_module_is_not_run_by_workers_that_have_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    module = tmp_path / "edited_module.py"
    text = "from lazycache import pure\n@pure\ndef answer(n):\n    return n + 1\n"
    module.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    edited = importlib.import_module("edited_module")
    cache = Cache(tmp_path / "store")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        assert cache(edited.answer(1), executor=executor) == 2
        module.write_text(text.replace("+ 1", "+ 100"))
        importlib.invalidate_caches()
        del sys.modules["edited_module"]
        edited = importlib.import_module("edited_module")
        assert cache(edited.answer(1), executor=executor) == 101
        assert cache(edited.answer(1)) == 101


def test_threads_share_results_in_memory(cache: Cache, tmp_path: Path) -> None:
    e = calls.grid(1, str(tmp_path))
    with ThreadPoolExecutor(2) as executor:
        first, second = cache([e, e], executor=executor)
    assert first is second
    assert first is cache(e)


def test_equal_keys_over_calls_and_over_arrays_that_were_computed_in_place(cache: Cache, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def build() -> Any:
        return lz.array(np.arange(3.0)) + 1

    done, not_done = build(), build()
    cache(done.sum())
    done.compute()
    e = [calls.total(done * 2, folder), calls.total(not_done * 2 + 0, folder), calls.total(build() * 2, folder)]
    assert cache(e, n_jobs=2) == [12, 12, 12]
