"""One key for one bound call, and Python's own errors for wrong ones."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lazycache import compute, key, pure
from lazycache.purity.binding import make_binder


def plain(a: Any, b: Any = 2) -> Any:
    return a, b


def positional_only(a: Any, b: Any = 2, /, c: Any = 3) -> Any:
    return a, b, c


def keyword_only(*, a: Any = 9, b: Any) -> Any:
    return a, b


def everything(a: Any, /, b: Any, *rest: Any, c: Any = 4, **more: Any) -> Any:
    return a, b, rest, c, more


def own_names(self: Any, args: Any, kwargs: Any = 1, function: Any = 2, _lazycache: Any = 3) -> Any:
    return self, args, kwargs, function, _lazycache


def hidden_by_name(a: Any, /, **more: Any) -> Any:
    return a, more


def nothing() -> Any:
    return "nothing"


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (plain, (1,), {}),
    (plain, (1, 5), {}),
    (plain, (), {"b": 5, "a": 1}),
    (positional_only, (1,), {"c": 7}),
    (positional_only, (1, 5, 7), {}),
    (keyword_only, (), {"b": "x"}),
    (keyword_only, (), {"b": "x", "a": 1}),
    (everything, (1, 2), {}),
    (everything, (1, 2, 3, 4), {"z": 1, "c": 5, "y": 2}),
    (everything, (1,), {"b": 2, "a": 3}),
    (own_names, (1,), {"args": 2}),
    (own_names, (), {"self": 1, "args": 2, "function": 5, "_lazycache": 6}),
    (hidden_by_name, (1,), {"a": 2, "more": 3}),
    (nothing, (), {}),
]
WRONG: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (plain, (), {}),
    (plain, (1, 2, 3), {}),
    (plain, (1,), {"a": 1}),
    (plain, (1,), {"z": 1}),
    (positional_only, (), {"a": 1}),
    (keyword_only, (1,), {}),
    (keyword_only, (), {}),
    (everything, (1,), {}),
    (nothing, (1,), {}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
def test_calls_are_bound_as_python_binds(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    binder = make_binder(inspect.signature(function), function.__qualname__)
    expected = inspect.signature(function).bind(*args, **kwargs)
    expected.apply_defaults()
    bound = binder.bind(*args, **kwargs)
    assert dict(zip(binder.parameters, bound, strict=True)) == dict(expected.arguments)
    assert binder.run(function, bound) == function(*args, **kwargs)
    assert compute(pure(version=1)(function)(*args, **kwargs)) == function(*args, **kwargs)


@pytest.mark.parametrize(("function", "args", "kwargs"), WRONG)
def test_wrong_calls_raise_what_python_raises(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    with pytest.raises(TypeError) as expected:
        function(*args, **kwargs)
    with pytest.raises(TypeError) as caught:
        pure(version=1)(function)(*args, **kwargs)
    assert str(caught.value) == str(expected.value)


def test_one_call_has_one_key_however_it_is_written() -> None:
    g = pure(version=1)(plain)
    assert len({key(e) for e in (g(1), g(1, 2), g(1, b=2), g(b=2, a=1), g(a=1))}) == 1
    assert key(g(1, 3)) != key(g(1))
    assert key(g(2, 1)) != key(g(1, 2))


def test_the_order_of_keywords_does_not_count_but_their_names_do() -> None:
    h = pure(version=1)(everything)
    assert key(h(1, 2, x=1, y=2)) == key(h(1, 2, y=2, x=1))
    assert key(h(1, 2, x=1, y=2)) != key(h(1, 2, x=2, y=1))
    assert key(h(1, 2, 3)) != key(h(1, 2, x=3))


def test_functions_without_arguments_have_keys_of_their_own() -> None:
    @pure(version=1)
    def first() -> int:
        return 1

    @pure(version=1)
    def second() -> int:
        return 2

    assert key(first()) != key(second())


def test_a_mutable_default_cannot_be_spoiled() -> None:
    @pure(version=1)
    def collect(x: int, into: list[int] = []) -> list[int]:  # noqa: B006
        into.append(x)
        return into

    assert compute(collect(1)) == [1]
    assert compute(collect(2)) == [2]


def test_a_default_that_is_an_array_is_part_of_the_key() -> None:
    one, other = np.zeros(3), np.ones(3)

    def make(weights: Any) -> Any:
        @pure(version=1)
        def weighted(x: Any, w: Any = weights) -> Any:
            return x * w

        return weighted

    assert key(make(one)(2)) == key(make(np.zeros(3))(2)) != key(make(other)(2))


def test_a_wrapper_is_bound_by_the_signature_of_what_it_wraps() -> None:
    import functools

    @functools.wraps(plain)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs)

    g = pure(version=1)(wrapper)
    assert key(g(1, 2)) == key(g(a=1))
    assert compute(g(b=5, a=1)) == (1, 5)
