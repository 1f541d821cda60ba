"""Index expressions: numpy's shape, or numpy's refusal, for each that there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazycache.array as lz

SIZES = st.sampled_from([0, 1, 2, 3, 5])
SHAPES = st.lists(SIZES, max_size=4).map(tuple)
BOUND = st.none() | st.integers(-6, 6)
STEP = st.none() | st.sampled_from([1, 2, 3, -1, -2])


@st.composite
def items(draw: st.DrawFn, shape: tuple[int, ...], axis: int) -> Any:
    """Return one item of an index, and mostly one that fits the axis."""
    size = shape[axis] if axis < len(shape) else 2
    within = st.integers(-size - 1, size) if draw(st.integers(0, 9)) == 0 else st.integers(-size, max(size - 1, 0))
    kind = draw(st.integers(0, 10))
    if kind == 0:
        return None
    if kind == 1:
        return ...
    if kind in (2, 3):
        return slice(draw(BOUND), draw(BOUND), draw(STEP))
    if kind == 4:
        return draw(within)
    if kind == 5:
        return np.int32(draw(within))
    if kind == 6:
        return draw(st.lists(within, max_size=3))
    if kind == 7:
        width = draw(st.integers(1, 2))
        return [[draw(within) for _ in range(width)] for _ in range(draw(st.integers(1, 2)))]
    if kind == 8:
        covered = shape[axis : axis + draw(st.integers(1, 2))] or (2,)
        count = int(np.prod(covered))
        return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool).reshape(covered)
    if kind == 9:
        return draw(st.booleans())
    return np.array(draw(st.lists(within, min_size=1, max_size=2)), dtype=draw(st.sampled_from(["i8", "i4", "i2"])))


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    """Return a shape and an index for it."""
    shape = draw(SHAPES)
    count = draw(st.integers(0, len(shape) + draw(st.sampled_from([0, 0, 0, 1]))))
    index = tuple(draw(items(shape, axis)) for axis in range(count))
    return shape, index[0] if index and draw(st.integers(0, 5)) == 0 else index


@settings(max_examples=600, deadline=None)
@given(cases())
def test_any_index(case: tuple[tuple[int, ...], Any]) -> None:
    shape, index = case
    array = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        expected = array[index]
    except (IndexError, ValueError, TypeError) as error:
        with pytest.raises((IndexError, ValueError, TypeError)) as caught:
            lz.array(array)[index]
        assert isinstance(caught.value, type(error)) or "step" in str(caught.value)
        return
    built = lz.array(array)[index]
    assert built.shape == expected.shape
    assert built.dtype == expected.dtype
    np.testing.assert_array_equal(built.compute(), expected)


@settings(max_examples=200, deadline=None)
@given(SHAPES, st.data())
def test_lazy_indices_have_the_shape_that_known_ones_have(shape: tuple[int, ...], data: st.DataObject) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape)
    index = tuple(data.draw(items(shape, axis)) for axis in range(data.draw(st.integers(0, len(shape)))))
    lazy_index = tuple(
        lz.array(one) + 0 if isinstance(one, np.ndarray) and one.dtype.kind == "i" else one for one in index
    )
    try:
        expected = array[index]
    except (IndexError, ValueError):
        return
    built = lz.array(array)[lazy_index]
    assert built.shape == expected.shape
    np.testing.assert_array_equal(built.compute(), expected)


def test_a_lazy_mask_leaves_the_size_open() -> None:
    x = lz.array(np.arange(24).reshape(2, 3, 4))
    assert x[x > 3].shape == (None,)
    assert x[:, x[0, :, 0] > 3, 1:].shape == (2, None, 3)
    assert x[x[:, 0, 0] > 3].shape == (None, 3, 4)
    assert x[..., x[0, 0] > 1, None].shape == (2, 3, None, 1)
    np.testing.assert_array_equal(x[..., x[0, 0] > 1, None].compute(), np.arange(24).reshape(2, 3, 4)[..., 2:, None])


def test_lazy_bounds_of_a_slice_leave_the_size_open() -> None:
    x = lz.array(np.arange(24).reshape(2, 3, 4))
    n = lz.array(np.array([1, 2])).sum()
    assert x[:, : n - 1].shape == (2, None, 4)
    np.testing.assert_array_equal(x[..., n - 2 :].compute(), np.arange(24).reshape(2, 3, 4)[..., 1:])
    # A size that is not known is carried through, and known again after a reduction.
    assert (x[:, : n - 1] * 2).sum(axis=1).shape == (2, 4)


def test_a_known_integer_is_within_bounds_even_if_nothing_is_picked() -> None:
    x = lz.array(np.ones((1, 1)))
    with pytest.raises(IndexError, match="out of bounds"):
        x[np.zeros((2, 0), int), lz.array(1)]
    assert x[np.zeros((2, 0), int), lz.array(0)].shape == (2, 0)


def test_a_lazy_integer_takes_an_axis_away() -> None:
    x = lz.array(np.arange(6).reshape(2, 3))
    assert x[x[0, 1]].shape == (3,)
    np.testing.assert_array_equal(x[x[0, 1]].compute(), [3, 4, 5])


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (3, IndexError, "index 3 is out of bounds for axis 0 with size 2"),
        ((0, 0, 0), IndexError, "too many indices for array: array is 2-dimensional, but 3 were indexed"),
        ((..., ...), IndexError, "an index can only have a single ellipsis"),
        (1.5, IndexError, "only integers, slices"),
        ("name", IndexError, "only integers, slices"),
        (np.array([0.5]), IndexError, "arrays used as indices must be of integer"),
        ([True, False, True], IndexError, "boolean index did not match indexed array along axis 0"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        (([0, 1], [0, 1, 2]), IndexError, "shape mismatch: indexing arrays could not be broadcast"),
        ([5], IndexError, "index 5 is out of bounds for axis 0 with size 2"),
    ],
)
def test_refused_in_numpys_words(index: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words.replace("(", r"\(")):
        np.zeros((2, 3))[index]
    with pytest.raises(error, match=words.replace("(", r"\(")):
        lz.Variable((2, 3))[index]


def test_fields_of_structured_arrays() -> None:
    data = np.zeros(3, [("a", "f4"), ("b", "i8", (2,)), ("c", "U3")])
    data["b"] = 7
    x = lz.array(data)
    for index in ("a", "b", ["c"], ["a", "b"]):
        built, expected = x[index], data[index]
        assert (built.shape, built.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(built.compute(), expected)
    assert x[1:]["b"].sum().compute() == 28
    with pytest.raises(ValueError, match="no field of name z"):
        x["z"]
    with pytest.raises(KeyError):
        x[["z"]]
    with pytest.raises(IndexError, match="only integers"):
        lz.Variable((3,), dtype="f8")["a"]


def test_an_index_of_a_broadcast_or_reduced_expression() -> None:
    a, b = np.arange(3.0), np.arange(4.0)
    x, y = lz.array(a), lz.array(b)
    np.testing.assert_array_equal((x + y[:, None])[:, 0].compute(), (a + b[:, None])[:, 0])
    assert (x + y[:, None]).sum(0)[2].compute() == (a + b[:, None]).sum(0)[2]


def test_iteration_and_length_follow_the_first_axis() -> None:
    x = lz.array(np.arange(6).reshape(2, 3))
    _, second = x
    assert len(x) == 2
    np.testing.assert_array_equal(second.compute(), [3, 4, 5])
    with pytest.raises(TypeError):
        len(lz.Variable(()))
    with pytest.raises(TypeError):
        list(x[x > 1])


class Place(NamedTuple):
    row: Any
    column: Any


def test_an_index_of_a_class_that_derives_from_tuple_is_a_tuple() -> None:
    data = np.arange(12).reshape(3, 4)
    for index in (Place(1, 2), Place([0, 1], [2, 2]), Place(slice(None, None, 2), [3])):
        found = lz.array(data)[index]
        assert found.shape == data[index].shape
        np.testing.assert_array_equal(found.compute(), data[index])


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">M8[s]", ">c8", "<f4", ">i4,>f8"])
def test_a_single_element_has_the_byte_order_of_the_machine(dtype: str) -> None:
    data = np.zeros((3, 4), dtype)
    picks: list[Callable[[Any], Any]] = [
        lambda x: x[0, -1],
        lambda x: x[1][2],
        lambda x: x[np.array(1), 2],
        lambda x: x.take(3),
        lambda x: x[0].take(0),
        # These are arrays, of no dimension or of one.
        lambda x: x[0, 0, ...],
        lambda x: x[0],
        lambda x: x[[0], 1],
        lambda x: x.take([3]),
        lambda x: x[:1, 0].squeeze(),
    ]
    for pick in picks:
        found = pick(lz.array(data))
        assert found.dtype == pick(data).dtype == np.asarray(found.compute()).dtype
