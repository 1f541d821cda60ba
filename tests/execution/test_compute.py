"""`compute` with workers: overlap, order, dropping, exceptions."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import lazycache.array as lz
from lazycache import compute, computed, pure
from lazycache.errors import NotShippableError
from tests.conftest import Witness
from tests.execution import calls


def test_independent_calls_run_at_the_same_time(tmp_path: Path, witness: Witness, workers: dict[str, Any]) -> None:
    one, two = calls.meet("a", "b", str(tmp_path)), calls.meet("b", "a", str(tmp_path))
    pids = compute([one, {"two": two}, one + 0], **workers)
    in_threads = isinstance(workers.get("executor"), ThreadPoolExecutor)
    assert (pids[0] == os.getpid()) == in_threads
    assert (pids[0] == pids[1]["two"]) == in_threads
    assert pids[2] == pids[0]
    assert witness.ran == {"meet a": 1, "meet b": 1}


def test_values_and_operators_as_without_workers(tmp_path: Path, witness: Witness, workers: dict[str, Any]) -> None:
    folder = str(tmp_path)
    grids = [calls.grid(n, folder) for n in range(3)]
    shared = calls.passing(grids[0] + grids[1], folder)
    e = {
        "sums": [calls.total(np.sqrt(shared) - grid, folder) for grid in grids],
        "mean": shared.mean(),
        "plain": (1, "a"),
    }
    expected = compute(e)
    assert witness.news()["passing"] == 1
    assert compute(e, **workers) == expected
    assert witness.ran == {"grid 0": 1, "grid 1": 1, "grid 2": 1, "passing": 1, "total": 3}


def test_lazy_arrays_and_nests_among_arguments(tmp_path: Path, workers: dict[str, Any]) -> None:
    a = lz.array(np.arange(6.0)).reshape((2, 3))
    e = calls.total(a.T @ a, str(tmp_path)) + calls.total(computed(np.ones(3)), str(tmp_path))
    assert compute(e, **workers) == np.sum(np.arange(6.0).reshape(2, 3).T @ np.arange(6.0).reshape(2, 3)) + 3


def test_functions_of_the_test_itself_travel(tmp_path: Path) -> None:
    offset = 5

    class Pair:
        def __init__(self, a: int) -> None:
            self.a = a

    @pure
    def make(a: int) -> Any:
        return Pair(a + offset)

    @pure
    def read(pair: Any) -> int:
        return pair.a * 2  # type: ignore[no-any-return]

    pair, doubled = compute([make(1), read(make(2))], n_jobs=2)
    assert type(pair) is Pair
    assert (pair.a, doubled) == (6, 14)


def test_submission_is_depth_first_and_intermediates_are_dropped() -> None:
    log: list[str] = []
    alive: list[weakref.ref[Any]] = []
    most = [0]

    @pure(version=1, ignore=("n",))
    def load(n: int) -> Any:
        log.append(f"load {n}")
        array = np.full(10, n)
        alive.append(weakref.ref(array))
        gc.collect()
        most[0] = max(most[0], sum(ref() is not None for ref in alive))
        return array

    @pure(version=1)
    def reduce(array: Any) -> int:
        log.append(f"reduce {array[0]}")
        return int(array.sum())

    with ThreadPoolExecutor(1) as executor:
        result = compute([reduce(load(n) + 0) for n in range(6)], executor=executor)
    assert result == [10 * n for n in range(6)]
    assert log == [f"{what} {n}" for n in range(6) for what in ("load", "reduce")]
    assert most[0] <= 2


def test_a_long_chain_and_many_calls(tmp_path: Path) -> None:
    @pure(version=1)
    def step(x: int) -> int:
        return x + 1

    e: Any = computed(0)
    for n in range(3000):
        e = step(e) if n % 10 == 0 else e + 1
    with ThreadPoolExecutor(2) as executor:
        assert compute([e, *[step(n) for n in range(300)]], executor=executor) == [3000, *range(1, 301)]


def test_an_exception_passes_unchanged_and_cancels_what_has_not_started(
    tmp_path: Path, witness: Witness, workers: dict[str, Any]
) -> None:
    later = [calls.grid(n, str(tmp_path)) for n in range(50)]
    with pytest.raises(calls.OddError) as caught:
        compute([calls.fail(8, str(tmp_path)) + 1, *later], **workers)
    error = caught.value
    assert (str(error), error.code) == ("as planned (8)", 8)
    assert isinstance(error.__cause__, KeyError)
    assert len(error.__notes__) == 1
    assert error.__notes__[0].startswith("while computing tests.execution.calls.fail(8")
    assert len(witness.ran) < 40


class Stubborn(Exception):
    """Holds what cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("stubborn", threading.Lock())
        self.number = 3


@pure(version=1)
def stubborn() -> Any:
    raise Stubborn


@pure(version=1)
def file_missing(path: str) -> Any:
    return Path(path).read_text()


def test_exceptions_that_are_hard_to_send() -> None:
    with pytest.raises(Stubborn) as caught:
        compute(stubborn() + 1, n_jobs=2)
    assert caught.value.args[0] == "stubborn"
    assert "lock" in caught.value.args[1]
    assert caught.value.number == 3
    with pytest.raises(FileNotFoundError) as missing:
        compute(file_missing("/no/such/file") + "", n_jobs=2)
    assert missing.value.filename == "/no/such/file"
    assert missing.value.errno == 2


def test_the_traceback_of_the_worker_is_told() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        compute(file_missing("/no/such/file") + "", n_jobs=2)
    assert "read_text" in str(caught.value.__cause__)


def test_a_worker_that_dies_ends_the_run_and_not_the_next(tmp_path: Path) -> None:
    folder = str(tmp_path)
    with pytest.raises(RuntimeError) as caught:
        compute([calls.die(1, folder), calls.grid(1, folder)], n_jobs=2)
    assert "calls.die(1" in "".join(caught.value.__notes__) or "calls.grid(1" in "".join(caught.value.__notes__)
    assert compute(calls.total(calls.grid(0, folder), folder), n_jobs=2) == np.arange(200_000.0).sum()


def test_what_cannot_be_pickled_is_named() -> None:
    lock = threading.Lock()

    @pure(version=1, ignore=("lock",))
    def guarded(x: int, lock: Any) -> int:
        return x

    with pytest.raises(NotShippableError, match=r"argument 'lock' of .*guarded cannot be pickled"):
        compute(guarded(1, lock), n_jobs=2)
    assert compute(guarded(1, lock), n_jobs=1) == 1
    with ThreadPoolExecutor(1) as executor:
        assert compute(guarded(1, lock), executor=executor) == 1


def test_a_function_that_cannot_be_pickled_gives_a_clear_error() -> None:
    held = threading.Lock()

    @pure(version=1, name="holds-a-lock", ignore=("held",))
    def holds(x: int) -> bool:
        return held.locked()

    with pytest.raises(NotShippableError, match=r"the function holds-a-lock cannot be pickled.*ThreadPoolExecutor"):
        compute(holds(1), n_jobs=2)


def test_a_result_that_cannot_come_back_is_named() -> None:
    with pytest.raises(NotShippableError, match=r"the result of .*lock_of cannot be pickled"):
        compute(lock_of(1), n_jobs=2)


@pure(version=1)
def lock_of(n: int) -> Any:
    return threading.Lock()


def test_an_error_survives_pickle() -> None:
    error = NotShippableError(what="it", reason="none")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


class Interface:
    """The least that an executor may be: runs calls when they come, tells no size, is no subclass."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        try:
            future.set_result(pickle.loads(pickle.dumps((function, args, kwargs)))[0](*args, **kwargs))
        except Exception as error:  # noqa: BLE001
            future.set_exception(error)
        return future


def test_any_executor_will_do(tmp_path: Path) -> None:
    executor = Interface()
    assert compute(calls.total(calls.grid(1, str(tmp_path)) * 0, str(tmp_path)), executor=executor) == 0
    assert executor.submitted == 2
    with pytest.raises(calls.OddError):
        compute(calls.fail(1, str(tmp_path)), executor=executor)


def test_what_is_asked_for_is_checked() -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(TypeError, match="not both"):
        compute(computed(1) + 1, n_jobs=2, executor=executor)
    with pytest.raises(ValueError, match="n_jobs"):
        compute(computed(1) + 1, n_jobs=0)
    wrong: list[dict[str, Any]] = [{"n_jobs": "two"}, {"n_jobs": 2.0}, {"executor": 3}, {"executor": len}]
    for options in wrong:
        with pytest.raises(TypeError, match=r"(n_jobs|executor)= .*; got"):
            compute(computed(1) + 1, **options)
    assert compute([1, "plain"], n_jobs=-1) == [1, "plain"]
    assert compute(computed(1) + 1, n_jobs=-1) == 2


def test_without_workers_no_process_starts(tmp_path: Path) -> None:
    code = """
import sys
from lazycache import compute, pure
@pure(version=1)
def f(x):
    return x + 1
assert compute(f(1)) == 2 and compute(f(1), n_jobs=1) == 2
assert "joblib" not in sys.modules and "dask" not in sys.modules and "cloudpickle" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=environment())


INTERRUPTED = """
import os, signal, sys, threading
from pathlib import Path
from lazycache import compute, cache
from tests.execution import calls

folder = sys.argv[1]

def interrupt():
    calls.wait_for(Path(folder) / "hanging1")
    calls.wait_for(Path(folder) / "hanging2")
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    {run}([calls.hang(1, folder), calls.hang(2, folder), calls.grid(1, folder)], n_jobs=2)
except KeyboardInterrupt:
    print("interrupted")
"""


def environment() -> dict[str, str]:
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'storage'}"}


@pytest.mark.parametrize("run", ["compute", "cache"])
def test_an_interrupt_ends_what_runs(tmp_path: Path, run: str) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED.replace("{run}", run))
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=200, env=environment()
    )
    assert (ended.returncode, ended.stdout) == (0, "interrupted\n"), ended.stderr
    assert not (tmp_path / "witness.txt").exists()


def test_a_process_pool_of_the_user_stays_usable(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as executor:
        with pytest.raises(calls.OddError):
            compute(calls.fail(1, str(tmp_path)), executor=executor)
        assert executor.submit(abs, -3).result() == 3


def test_calls_of_joblib_work_before_and_after() -> None:
    def of_joblib() -> list[int]:
        return list(joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(n) for n in (-1, -2)))

    names = [calls.setting(name) for name in ("A", "B")]
    assert compute(names, n_jobs=2) == [None, None]
    assert of_joblib() == [1, 2]
    assert compute(names, n_jobs=2) == [None, None]
    assert of_joblib() == [1, 2]


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    wanted = [calls.setting("OMP_NUM_THREADS"), calls.setting("OPENBLAS_NUM_THREADS")]
    assert compute(wanted, n_jobs=2) == [str(max(joblib.cpu_count() // 2, 1)), "1"]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert compute(wanted, n_jobs=2) == ["3", "1"]


@pure(version=1)
def same(array: np.ndarray) -> np.ndarray:
    """Return what it is given."""
    return array


@pytest.mark.parametrize("dtype", [">f8", ">M8[s]", ">U3", [("a", ">i4"), ("b", "<f8")]])
def test_arrays_go_to_workers_and_back_in_the_byte_order_that_they_have(workers: dict[str, Any], dtype: Any) -> None:
    data = np.zeros((4, 2), dtype)
    results = compute([same(data), same(data[::2]), same(data.T)], **workers)
    assert [result.dtype for result in results] == [data.dtype] * 3


def test_so_do_masked_arrays_and_those_of_other_classes(workers: dict[str, Any]) -> None:
    masked = np.ma.array(np.arange(4, dtype=">i4"), mask=np.array([0, 1, 0, 1], bool), fill_value=7)
    found, record = compute([same(masked), same(masked.data.view(np.recarray))], **workers)
    assert (found.dtype, found.tolist(), found.fill_value) == (masked.dtype, [0, None, 2, None], 7)
    assert (type(record), record.dtype) == (np.recarray, np.dtype(">i4"))


def test_so_do_arrays_that_functions_and_errors_hold(workers: dict[str, Any]) -> None:
    table = np.arange(20, dtype=">i8")[::3]

    @pure(version=1)
    def look() -> tuple[str, list[int]]:
        return table.dtype.str, table.tolist()

    @pure(version=1)
    def fail() -> None:
        raise ValueError(table)

    assert compute(look(), **workers) == (">i8", table.tolist())
    with pytest.raises(ValueError) as raised:
        compute(fail(), **workers)
    assert raised.value.args[0].dtype == table.dtype
