"""Functions that numpy keeps in modules of their own: windows that slide, roots of negative numbers, texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazycache.array as lz
from lazycache.array import beyond
from tests.array.helpers import check, compare

np: Any = numpy

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

NUMBERS = [np.array([[-1.0, 4.0], [0.25, 2.0]]), np.array([4, 9]), np.array(2.5), np.zeros((0, 3)), np.ones(1, "F")]
WORDS = [np.array(["a-b", "Cd e", ""]), np.array([[b"x"], [b"y-z"]]), np.array("one"), np.zeros((0, 2), "U3")]
ROOTS: dict[str, Callable[[Any], Any]] = {
    name: getattr(np.emath, name) for name in ("arccos", "arcsin", "arctanh", "log", "log2", "log10", "sqrt")
}
ROOTS["logn"] = lambda a: np.emath.logn(2, x=a)
ROOTS["power"] = lambda a: np.emath.power(a, [0.5, 2.0])

TEXTS: dict[str, list[Callable[[Any], Any]]] = {
    "capitalize": [np.strings.capitalize],
    "center": [lambda a: np.strings.center(a, 7), lambda a: np.strings.center(a, [[5], [6]], fillchar="*")],
    "decode": [lambda a: np.strings.decode(a, "utf8")],
    "encode": [lambda a: np.strings.encode(a, encoding="utf8")],
    "expandtabs": [np.strings.expandtabs, lambda a: np.strings.expandtabs(a, tabsize=2)],
    "ljust": [lambda a: np.strings.ljust(a, 7)],
    "lower": [np.strings.lower],
    "mod": [lambda a: np.strings.mod(a, ())],
    "multiply": [lambda a: np.strings.multiply(a, 2), lambda a: np.strings.multiply(a, [[1], [2]])],
    "partition": [lambda a: np.strings.partition(a, "-")],
    "replace": [lambda a: np.strings.replace(a, "a", "bc"), lambda a: np.strings.replace(a, "a", "", count=1)],
    "rjust": [lambda a: np.strings.rjust(a, width=7)],
    "rpartition": [lambda a: np.strings.rpartition(a, sep="-")],
    "swapcase": [np.strings.swapcase],
    "title": [np.strings.title],
    "translate": [lambda a: np.strings.translate(a, str.maketrans("a", "b"))],
    "upper": [np.strings.upper],
    "zfill": [lambda a: np.strings.zfill(a, 7)],
}


@pytest.mark.parametrize("name", ROOTS)
def test_roots_of_negative_numbers(name: str) -> None:
    for numbers in NUMBERS:
        check(lambda xp, a: ROOTS[name](a), numbers, exact=numbers.dtype.kind == "c")


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    for case in TEXTS[name]:
        for words in WORDS:
            try:
                expected = case(words)
            except (ValueError, TypeError, AttributeError):
                # Of no texts, or of bytes and texts together, numpy refuses some when it runs.
                continue
            compare(case(lz.array(words)), expected, exact=False)
        with pytest.raises(TypeError, match="string"):
            case(lz.array(NUMBERS[0]))


def test_every_function_of_these_modules_has_a_case() -> None:
    names = {function.__name__ for function in beyond.functions()} - {"sliding_window_view"}
    assert names == set(ROOTS) | set(TEXTS)
    assert np.strings.upper(lz.array(WORDS[0])).dtype == WORDS[0].dtype


@pytest.mark.parametrize(
    ("window", "axis"),
    [(2, 0), ((2, 1), None), ([3], -1), ((2, 2), (0, 0)), (0, 1), (9, 0), (-1, 0), ((2, 2), 1), (2, None), (1, 5)],
)
def test_windows_that_slide(window: Any, axis: Any) -> None:
    for shape in ((3, 4), (0, 2), (1, 1), (5,)):
        x = np.arange(np.prod(shape)).reshape(shape)
        check(lambda xp, a: np.lib.stride_tricks.sliding_window_view(a, window, axis=axis), x)


def test_windows_of_any_size() -> None:
    x: Any = lz.Variable((2**40, None), "numpy", "f4")
    built = np.lib.stride_tricks.sliding_window_view(x, 100, axis=0)
    assert (built.shape, built.dtype) == ((2**40 - 99, None, 100), np.float32)
    with pytest.raises(TypeError, match="writeable"):
        np.lib.stride_tricks.sliding_window_view(x, 2, axis=0, writeable=True)
