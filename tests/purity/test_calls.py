"""Calling pure functions: nodes outside of bodies, values inside; bodies that cannot spoil."""

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, Node, UnhashableError, compute, computed, in_context, key, pure
from lazycache.errors import NotComputedError
from tests.conftest import Witness


@pure(version=1)
def double(x: Any) -> Any:
    return 2 * x


@pure(version=1, n_outputs=2)
def split(x: Any) -> Any:
    return x, -x


def test_a_call_gives_a_node_and_runs_nothing() -> None:
    @pure(version=1)
    def fail() -> None:
        raise AssertionError

    assert isinstance(fail(), Node)


def test_in_a_body_plain_arguments_give_values() -> None:
    @pure(version=1)
    def body(x: int) -> int:
        seen = double(x)
        assert type(seen) is int
        a, b = split(seen)
        return int(seen + a - b)

    assert compute(body(3)) == 18
    assert body.raw(3) == 18
    assert isinstance(double(3), Node), "the frame is left again"


def test_in_a_body_expressions_give_expressions() -> None:
    @pure(version=1)
    def body(x: int) -> Any:
        node = double([computed(x), 1])
        assert isinstance(node, Node)
        return node

    assert compute(body(3)) == [3, 1, 3, 1]


def test_the_frame_is_left_when_a_body_raises() -> None:
    @pure(version=1)
    def body() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        body.raw()
    assert isinstance(double(3), Node)


def test_a_thread_of_a_body_is_outside_unless_taken_along() -> None:
    @pure(version=1)
    def body(x: int) -> list[bool]:
        found: list[bool] = []

        def work() -> None:
            found.append(isinstance(double(x), Node))

        for target in (work, in_context(work)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        return found

    assert compute(body(1)) == [True, False]


def test_raw_is_the_function_itself() -> None:
    @pure(version=1, hashers={"x": len}, ignore=("out",))
    def body(x: Any, out: list[Any]) -> Any:
        out.append(x)
        return x

    given, out = object(), []  # type: ignore[var-annotated]
    assert body.raw(given, out) is given
    assert out == [given]


# -- several outputs ------------------------------------------------------------


def test_several_outputs_unpack_into_nodes() -> None:
    a, b = split(3)
    assert isinstance(a, Node)
    assert compute([a, b, a * b]) == [3, -3, -9]
    assert len(split(3)) == 2
    with pytest.raises(TypeError, match="iteration"):
        iter(double(3))


@pytest.mark.parametrize(
    ("returned", "words"), [((1, 2), "2\n"), (3, "one value of type int\n"), ("abc", "one value of type str\n")]
)
def test_another_number_of_outputs_is_an_error(returned: Any, words: str) -> None:
    @pure(version=1, n_outputs=3)
    def body() -> Any:
        return returned

    with pytest.raises(TypeError, match=f"n_outputs=3, so .* of 3 values; it returned {words}"):
        compute(body())


# -- arguments that cannot be spoiled ----------------------------------------------


@dataclasses.dataclass
class Settings:
    levels: dict[str, list[int]]


def test_bodies_cannot_spoil_containers() -> None:
    @pure(version=1)
    def spoil(settings: Settings, names: list[str]) -> int:
        settings.levels["a"].append(9)
        names.clear()
        return 1

    settings, names = Settings({"a": [1]}), ["x"]
    compute(spoil(settings, names))
    leaf = computed(names)
    compute([spoil(settings, leaf), leaf])
    assert (settings, names) == (Settings({"a": [1]}), ["x"])
    assert compute(leaf) == ["x"]


@pytest.mark.parametrize("own", [True, False])
def test_writing_into_an_array_raises_and_says_why(own: bool) -> None:
    @pure(version=1)
    def spoil(a: Any) -> None:
        a[0] = 1

    array = np.zeros(3)
    with pytest.raises(ValueError, match="read-only") as caught:
        compute(spoil(computed(array, own=own)))
    assert any("copy an array before writing" in note for note in caught.value.__notes__)
    assert array[0] == 0


def test_other_value_errors_carry_no_note() -> None:
    @pure(version=1)
    def fail() -> None:
        raise ValueError("no such level")

    with pytest.raises(ValueError, match="no such level") as caught:
        compute(fail())
    assert not any("copy an array" in note for note in getattr(caught.value, "__notes__", ()))


def test_random_generators_are_refused_with_advice(cache: Cache) -> None:
    @pure(version=1)
    def draw(rng: Any) -> Any:
        return rng.normal()

    with pytest.raises(UnhashableError, match=r"(?s)Generator.*seed"):
        cache(draw(np.random.default_rng(0)))


# -- the default cache ---------------------------------------------------------------


def test_is_cached_forget(tmp_path: Any, witness: Witness) -> None:
    @pure(version=1)
    def body(x: int, y: int = 2) -> int:
        witness("body")
        return x + y

    with Cache(tmp_path / "store") as cache:
        assert not body.is_cached(1)
        assert cache(body(1)) == 3
        assert body.is_cached(1, y=2)
        assert not body.is_cached(2)
        assert body.forget(1)
        assert not body.forget(1)
        assert not body.is_cached(x=1)
    assert witness.ran["body"] == 1


def test_calls_from_many_threads_have_one_key() -> None:
    @pure
    def body(x: int) -> int:
        return x

    found: list[bytes] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        found.append(key(body(1)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_an_argument_that_cannot_be_hashed_is_called_by_its_parameter() -> None:
    @pure(version=1)
    def drawn(count: int, generator: Any) -> Any:
        return generator.normal(size=count)

    with pytest.raises(UnhashableError, match=r"^argument generator is a Generator, which"):
        key(drawn(3, np.random.default_rng(1)))


def test_unpacking_a_call_of_unknown_length_says_how() -> None:
    @pure(version=1)
    def pair(x: int) -> tuple[int, int]:
        return x, x + 1

    with pytest.raises(NotComputedError) as caught:
        _first, _second = pair(1)
    assert "@pure(n_outputs=2)" in caught.value.__notes__[0]
