"""compute and cache: what runs, in which order, and what is kept."""

import functools
import gc
import os
import pickle
import weakref
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import Cache, compute, computed, hash_by_file_content, lazy, pure
from lazycache.errors import CycleError
from lazycache.expressions.tree import Operation, build
from tests.conftest import Witness


def test_nests_are_evaluated_and_other_values_pass() -> None:
    x = computed(3)
    nest = {"a": x + 1, "b": [x, (2 * x, "text")], "c": 5}
    assert compute(nest) == {"a": 4, "b": [3, (6, "text")], "c": 5}
    assert compute(7) == 7


def test_a_nest_through_the_cache_gives_the_same(cache: Cache) -> None:
    x = computed(3)
    nest = {"a": x + 1, "b": [x, (2 * x, "text")], "c": 5}
    assert cache(nest) == compute(nest)


def test_each_node_runs_once_under_compute(witness: Witness) -> None:
    @pure
    def f(x: int) -> int:
        witness("f")
        return x + 1

    node = f(1)
    assert compute([node, node + node, (node,)]) == [2, 4, (2,)]
    assert witness.ran == {"f": 1}


def test_equal_keys_run_once_under_cache(cache: Cache, witness: Witness) -> None:
    @pure(store=False)
    def f(x: int) -> int:
        witness("f")
        return x + 1

    assert cache([f(1) + f(1), f(1)]) == [4, 2]
    assert witness.ran == {"f": 1}


class Big:
    """Knows how many of its kind were alive when it was made."""

    alive: ClassVar[list[weakref.ref["Big"]]] = []

    def __init__(self) -> None:
        gc.collect()
        self.seen_alive = sum(ref() is not None for ref in self.alive)
        self.alive.append(weakref.ref(self))


def test_an_intermediate_is_dropped_after_its_last_use() -> None:
    step = Operation("step", lambda *_before: Big())
    node = build(step, (), {})
    for _ in range(6):
        node = build(step, (node,), {})
    assert compute(node).seen_alive <= 1


def test_a_hit_in_the_same_and_in_a_new_cache(tmp_path: Path, witness: Witness) -> None:
    @pure(version=1)
    def f(x: int) -> int:
        witness("f")
        return x * 10

    first = Cache(tmp_path / "s")
    assert first(f(4)) == first(f(4)) == 40
    second = Cache(tmp_path / "s")
    assert f(4) in second
    assert second(f(4)) == 40
    assert witness.ran == {"f": 1}
    assert second.stats()["hits"] == 1
    assert second.stats()["runs"] == 0


def test_pure_calls_on_the_way_are_stored_but_operators_are_not(cache: Cache) -> None:
    @pure(version=1)
    def f(x: int) -> int:
        return x + 1

    inner = f(1)
    middle = inner * 2
    outer = f(middle) - 1
    assert cache(outer) == 4
    assert inner in cache
    assert f(middle) in cache
    assert outer in cache
    assert middle not in cache


def test_store_false_wins(cache: Cache, witness: Witness) -> None:
    @pure(version=1, store=False)
    def f(x: int) -> int:
        witness("f")
        return x + 1

    assert cache(f(1)) == cache(f(1)) == 2
    assert f(1) not in cache
    assert witness.ran == {"f": 2}


def test_below_a_hit_nothing_is_looked_at(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def source(n: int) -> np.ndarray[Any, Any]:
        witness("source")
        return np.arange(float(n))

    @pure(version=1)
    def total(a: np.ndarray[Any, Any]) -> float:
        witness("total")
        return float(a.sum())

    assert cache(total(source(100))) == 4950.0
    cache.forget(source(100))
    assert cache(total(source(100))) == 4950.0
    assert witness.ran == {"source": 1, "total": 1}


@pytest.mark.parametrize("value", [None, 0, "", [], False, float("nan"), NotImplemented, ValueError("a value")])
def test_any_result_is_a_result(cache: Cache, witness: Witness, value: Any) -> None:
    @pure(version=1)
    def f(x: int) -> Any:
        witness("f")
        return value

    first, second = cache(f(1)), cache(f(1))
    assert repr(first) == repr(second) == repr(value)
    assert f(1) in cache
    assert witness.ran == {"f": 1}


def test_get_put_forget_and_clear(cache: Cache) -> None:
    @pure(version=1)
    def f(x: int) -> int:
        return x + 1

    assert cache.get(f(1)) is None
    assert cache.get(f(1), "nothing") == "nothing"
    cache.put(f(1), 77)
    assert cache(f(1)) == 77
    assert cache.forget(f(1))
    assert not cache.forget(f(1))
    assert cache(f(1)) == 2
    cache.clear()
    assert f(1) not in cache


def test_forgetting_forgets_under_the_call_key_too(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def f(x: int) -> int:
        witness("f")
        return x + 1

    cache(f(f(1)))
    witness.news()
    assert cache.forget(f(f(1)))
    assert f(f(1)) not in cache
    cache(f(f(1)))
    assert witness.ran == {"f": 1}


def test_a_body_may_call_pure_functions_and_return_expressions(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def inner(x: int) -> int:
        witness("inner")
        return x + 1

    @pure(version=1)
    def outer(x: int) -> Any:
        assert inner(x) == x + 1
        return lazy(inner(x)) * 10

    assert cache(outer(1)) == 20
    assert inner(1) in cache
    assert compute(outer(1)) == 20
    assert witness.ran == {"inner": 3}


class Model:
    """What a fit returns; predicting takes long."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    @pure(version=1)
    def predict(self, x: Any) -> Any:
        return self.slope * x

    def predict_twice(self, x: Any) -> Any:
        """Return what pure calls return, in an ordinary method."""
        return self.predict(self.predict(x)) + 1


@pure(version=1)
def fit(data: Any) -> Model:
    return Model(float(data.mean()))


def in_graph(node: Any) -> Any:
    """Evaluate as part of an array's graph."""
    return lz.asarray(node, dtype=float, shape=(2,)).compute()


@pytest.mark.parametrize("way", ["compute", "cache", "compiled", "array", "workers"])
def test_pure_methods_of_a_result_give_values(cache: Cache, way: str) -> None:
    x = lz.Variable(shape=(3,), dtype=float)
    data = np.array([1.0, 2.0, 3.0])
    ways: dict[str, Any] = {
        "compute": compute,
        "cache": cache,
        "compiled": None,
        "array": in_graph,
        "workers": lambda node: cache(node, n_jobs=2),
    }
    for name, expected in {"predict": [2.0, 4.0], "predict_twice": [5.0, 9.0]}.items():
        node = getattr(fit(x if way == "compiled" else data), name)(np.array([1.0, 2.0]))
        found = lz.Function([x], node)([data]) if way == "compiled" else ways[way](node)
        assert np.array_equal(found, expected)


def test_what_an_ordinary_function_calls_is_kept(cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def inner(x: int) -> int:
        witness("inner")
        return x + 1

    def ordinary(x: int) -> Any:
        return inner(x) * 10

    assert cache(computed(ordinary)(1)) == compute(computed(ordinary)(1)) == 20
    assert inner(1) in cache
    assert cache(lazy([1, 2, 1]).index(1) + computed(ordinary)(1)) == 20
    assert witness.ran == {"inner": 2}


def test_an_operation_may_return_an_expression(cache: Cache) -> None:
    def ordinary(x: int) -> Any:
        return computed(x) + 1

    assert cache(computed(ordinary)(1)) == compute(computed(ordinary)(1)) == 2
    assert cache(computed(ordinary)(1) * 2) == compute(computed(ordinary)(1) * 2) == 4


class Sample:
    """What a user's class does with pure functions where no call is to be seen."""

    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def size(self) -> Any:
        return size_of_file(self.number)

    def __getitem__(self, place: int) -> Any:
        return self.size + place

    def __add__(self, other: Any) -> Any:
        return self.size + other


@pure(version=1)
def sample(number: int) -> Sample:
    return Sample(number)


@pure(version=1, hashers={"path": hash_by_file_content})
def file_size(path: str) -> int:
    return os.path.getsize(path)


def size_of_file(number: int) -> Any:
    return file_size(f"{number}.dat")


@pytest.mark.parametrize("evaluate", [compute, Cache.__call__], ids=["compute", "cache"])
def test_what_properties_and_operators_return_is_evaluated(
    cache: Cache, evaluate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ask = functools.partial(evaluate, cache) if evaluate is not compute else compute
    for content in (b"four", b"seven .."):
        (tmp_path / "1.dat").write_bytes(content)
        made, size = sample(1), len(content)
        # A file that was read on the way counts for what is made of it.
        assert ask(made.size) == size
        assert ask(made[10]) == ask(made + 10) == size + 10
        assert ask((made.size * 2, made[1] - 1)) == (size * 2, size)


def test_a_function_that_asks_for_its_own_key_is_told_the_cycle(cache: Cache) -> None:
    @pure(version=1)
    def ping(x: int) -> Any:
        return pong(x)

    @pure(version=1)
    def pong(x: int) -> Any:
        return ping(x)

    with pytest.raises(CycleError, match=r"ping.*pong.*ping"):
        cache(ping(1))


def test_recursion_over_other_keys_is_fine(cache: Cache) -> None:
    @pure(version=1)
    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert cache(fib(30)) == 832040
    assert cache.stats()["runs"] == 31


def test_users_exceptions_pass_unchanged_with_a_note(cache: Cache, witness: Witness) -> None:
    class Mine(Exception):
        pass

    @pure(version=1)
    def f(x: int) -> int:
        witness("f")
        raise Mine(x)

    for evaluate in (compute, cache):
        with pytest.raises(Mine) as caught:
            evaluate(f(5) + 1)
        assert caught.value.args == (5,)
        assert any("f(5)" in note for note in caught.value.__notes__)
    assert f(5) not in cache
    assert witness.ran == {"f": 2}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError, MemoryError, StopIteration])
def test_an_exception_of_any_kind_leaves_no_lock_and_no_entry(cache: Cache, error: type[BaseException]) -> None:
    ready = [False]

    @pure(version=1, ignore=("state",))
    def f(state: Any) -> int:
        if not ready:
            return 1
        raise error("from the user")

    with pytest.raises(error, match="from the user"):
        cache(f(ready))
    assert f(ready) not in cache
    assert list((Path(cache.path) / "locks").iterdir()) == []


def test_a_cache_can_be_pickled_and_opens_the_same_store(cache: Cache) -> None:
    node = computed(5) + 1
    cache(node)
    copy = pickle.loads(pickle.dumps(cache))
    assert node in copy
    assert copy.path == cache.path


def test_a_long_chain_and_a_ladder(cache: Cache) -> None:
    chain = computed(0)
    for _ in range(20_000):
        chain = chain + 1
    assert cache(chain) == compute(chain) == 20_000
    ladder = computed(1)
    for _ in range(60):
        ladder = ladder + ladder
    assert cache(ladder) == 2**60


def test_with_cache_is_the_default_in_its_block(tmp_path: Path) -> None:
    from lazycache import cache as default

    node = computed(2) + 2
    with Cache(tmp_path / "other") as other:
        assert default(node) == 4
        assert node in other
    assert node not in Cache(tmp_path / "default-store")
    assert default(node) == 4
    assert node in Cache(tmp_path / "default-store")
