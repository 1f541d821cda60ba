"""What cannot be made pure is refused where it is decorated, with words that say what was expected."""

import functools
import operator
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest

from lazycache import compute, computed, hash_by_file_date, key, pure
from lazycache.errors import FingerprintError, PurityError


def add(a: Any, b: Any = 2) -> Any:
    return a + b


def counted(n: int) -> Iterator[int]:
    yield from range(n)


async def awaited(n: int) -> int:
    return n


async def streamed(n: int) -> AsyncIterator[int]:
    yield n


class Counted:
    def __call__(self, n: int) -> Iterator[int]:
        yield n


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (3, r"expected a function, got 3; to give a version, write @pure\(version=3\)"),
        ("1.2", r"write @pure\(version='1.2'\)"),
        (None.__class__, "got a class"),
        (int, "got a class"),
        (property(add), "put @property above @pure"),
        (counted, "counted: a generator function; return a list"),
        (functools.partial(counted, 3), "counted: a generator function"),
        (functools.lru_cache(counted), "counted: a generator function"),
        (Counted(), "a generator function"),
        (awaited, "awaited: a coroutine function"),
        (streamed, "streamed: a generator function"),
        (pure(add), "is pure already"),
        (functools.partial(pure(add), 3), "is pure already"),
        (computed(3), "got a lazy expression; pass the function itself"),
        (pure(add)(3), "got a lazy expression; pass the function itself"),
        (functools.partial(add, computed(3)), "a partial that holds a lazy expression"),
    ],
)
def test_what_is_no_function_is_refused(function: Any, words: str) -> None:
    with pytest.raises(PurityError, match=words):
        pure(version=1)(function)
    with pytest.raises(TypeError, match=words):
        pure(function)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"hashers": {"filename": hash_by_file_date}},
            r"hashers names 'filename', which is no parameter \(there are: a, b\)",
        ),
        ({"hashers": {"a": 3}}, "must be a callable, got 3"),
        ({"hashers": ["a"]}, r"hashers must be a dict .*, got \['a'\]"),
        ({"hashers": hash_by_file_date}, "hashers must be a dict"),
        ({"hashers": {"a": len}, "ignore": ("a",)}, "both in hashers and in ignore"),
        ({"ignore": ("verbose",)}, "ignore names 'verbose'"),
        ({"ignore": "verbose"}, "ignore names 'verbose'"),
        ({"ignore": (3,)}, "ignore names 3"),
        ({"n_outputs": 0}, "n_outputs must be a positive int"),
        ({"n_outputs": True}, "n_outputs must be a positive int"),
        ({"code": "shallow"}, "code must be one of 'deep', 'self', 'none'"),
        ({"name": ""}, "name must be a text that is not empty"),
        ({"store": "no"}, "store must be True or False"),
        ({"version": object()}, "version is"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PurityError, match=words):
        pure(**options)(add)


def _counting(calls: list[int]) -> Any:
    def helper(x: int) -> int:
        calls.append(x)
        return x

    return helper


@pytest.mark.parametrize("name", ["calls", "_counting.<locals>.helper.calls"])
def test_what_a_helper_closes_over_can_be_ignored(name: str) -> None:
    calls: list[int] = []
    helper = _counting(calls)

    @functools.wraps(helper)
    def wrapper(*args: int) -> int:
        return int(helper(*args))

    for function in (
        lambda x: helper(x),
        wrapper,
        functools.lru_cache(helper),
        functools.partial(lambda y, x: helper(x), 2),
    ):
        with pytest.raises(FingerprintError, match="`calls`"):
            key(pure(function)(1))
        f = pure(ignore=(name,))(function)
        before = key(f(1))
        calls.append(0)
        assert key(f(1)) == before


def test_pure_works_with_and_without_brackets() -> None:
    for decorate in (pure, pure(), pure(version=1)):
        assert compute(decorate(add)(3)) == 5


def test_a_pure_function_looks_like_the_function() -> None:
    def documented(x: int) -> int:
        """Return x."""
        return x

    f = pure(documented)
    assert (f.__name__, f.__doc__, f.__wrapped__) == ("documented", "Return x.", documented)
    assert "documented" in repr(f)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.sin, (0.5,)),
        (np.linalg.norm, ([3.0, 4.0],)),
        (np.sum, ([3.0, 4.0],)),
        (np.add.reduce, ([3.0, 4.0],)),
        (abs, (-3,)),
        (divmod, (7, 2)),
        (sum, ([1, 2],)),
        (str.upper, ("x",)),
        ("-".join, (["a", "b"],)),
        (dict.fromkeys, ("ab", 0)),
        (operator.itemgetter(1), ("ab",)),
    ],
    ids=["sin", "norm", "np.sum", "reduce", "abs", "divmod", "sum", "upper", "join", "fromkeys", "itemgetter"],
)
def test_functions_in_c_bind_as_far_as_they_say_how(function: Any, args: tuple[Any, ...]) -> None:
    f, again = pure(version=1)(function), pure(version=1)(function)
    assert compute(f(*args)) == function(*args)
    assert key(f(*args)) == key(again(*args))
