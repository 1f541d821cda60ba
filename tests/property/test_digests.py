import copy
import pickle
from typing import Any, Literal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lazycache.digests import container_token, snapshot, token
from lazycache.protection import protect, writable_copy

atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters()),
    st.binary(),
    st.dates(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.uuids(),
)
arrays = hnp.arrays(
    st.one_of(hnp.scalar_dtypes(), hnp.array_dtypes(hnp.scalar_dtypes(), max_size=3)),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
# When it pickles big-endian arrays, numpy turns most of them round; what arrives is another value.
native = arrays.map(lambda array: array.astype(array.dtype.newbyteorder("=")))
values = st.recursive(
    atoms | native,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=5),
    ),
    max_leaves=12,
)


def same(one: Any, two: Any) -> bool:
    """Compare to the bit, by type and content: the oracle."""
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and pickle.dumps(one) == pickle.dumps(two)
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return same(list(one.items()), list(two.items()))
    return pickle.dumps(one) == pickle.dumps(two)


@given(values)
@settings(max_examples=200, deadline=None)
def test_tokens_survive_pickles_copies_and_snapshots(value: Any) -> None:
    expected = token(value)
    assert token(pickle.loads(pickle.dumps(value))) == expected
    assert token(copy.deepcopy(value)) == expected
    copied, its_token = snapshot(value)
    assert its_token == expected == token(copied)
    assert token(protect(value)) == token(writable_copy(value)) == expected


@given(values, values)
@settings(max_examples=300, deadline=None)
def test_tokens_are_equal_only_where_values_are(one: Any, two: Any) -> None:
    if token(one) == token(two):
        assert same(one, two)


@given(st.lists(values, max_size=5))
@settings(max_examples=100, deadline=None)
def test_containers_are_made_of_the_tokens_of_their_parts(members: list[Any]) -> None:
    tokens = [token(member) for member in members]
    assert token(members) == container_token(b"l", tokens)
    assert token(tuple(members)) == container_token(b"t", tokens)


@given(st.lists(values, min_size=1, max_size=3), st.integers(1, 30))
@settings(max_examples=50, deadline=None)
def test_sharing_never_counts(members: list[Any], times: int) -> None:
    assert token(members * times) == token([copy.deepcopy(member) for _ in range(times) for member in members])


@given(arrays, st.integers(1, 3), st.booleans())
@settings(max_examples=200, deadline=None)
def test_strided_arrays_count_as_their_copies(array: np.ndarray[Any, Any], step: int, backwards: bool) -> None:
    if array.ndim:
        view = array[:: -step if backwards else step]
        order: Literal["C", "F"] = "F" if view.flags.f_contiguous and not view.flags.c_contiguous else "C"
        assert token(view) == token(view.copy(order=order))
