"""Whatever is stored comes back to the bit; whatever is read is a value or damage."""

import contextlib
import datetime
import decimal
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as npst
import msgspec
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lazycache_storage.errors import CorruptEntryError, NotStorableError
from lazycache_storage.objects import dtypes, objects
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.values.codec import decode, encode
from tests.storage.shelf import Shelf, facts

# The machine may be busy with other tests.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

texts = st.text(st.characters(exclude_categories=()), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.complex_numbers()
    | texts
    | st.binary(max_size=8)
    | st.decimals()
    | st.fractions()
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.none() | st.just(datetime.UTC) | st.timezones())
    | st.timedeltas()
    | st.uuids()
    | st.just(...)
)
hashables = st.recursive(
    scalars.filter(lambda value: not (isinstance(value, decimal.Decimal) and value.is_snan())),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
numbers = npst.scalar_dtypes() | npst.array_dtypes(allow_subarrays=True) | npst.byte_string_dtypes()
shapes = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """An array of random bits and dtype, cut and turned at random."""
    dtype = draw(numbers)
    shape = draw(shapes)
    nbytes = int(np.prod(shape)) * dtype.itemsize
    bits = draw(st.binary(min_size=min(nbytes, 64), max_size=min(nbytes, 64)))
    if dtype.kind == "U" or dtype.hasobject or not dtype.itemsize or dtype.names:
        array = np.zeros(shape, dtype)
    else:
        array = np.frombuffer((bits * (nbytes // max(1, len(bits)) + 1))[:nbytes], dtype).reshape(shape)
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    cuts = st.sampled_from([slice(None), slice(None, None, -1), slice(1, None, 2)])
    return array[(*(draw(cuts) for _ in array.shape), ...)]


plain = st.recursive(
    scalars | arrays(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(hashables, inner, max_size=4)
        | st.sets(hashables, max_size=4)
        | st.builds(slice, inner, inner, inner)
    ),
    max_leaves=12,
)


def _facts(value: Any) -> Any:
    """Like `facts`, with strides that are neither C nor F taken as C."""
    if isinstance(value, np.ndarray):
        return facts(np.array(value, order="F" if value.flags.fnc else "C"))
    if type(value) in (list, tuple):
        return type(value), [_facts(member) for member in value]
    if type(value) is dict:
        return dict, [(_facts(key), _facts(member)) for key, member in value.items()]
    if type(value) is slice:
        return slice, [_facts(member) for member in (value.start, value.stop, value.step)]
    return facts(value)


@patient
@given(plain)
def test_plain_data_comes_back(value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder))
        encoded = shelf.encode(value)
        assert encoded[0] == "plain"
        assert _facts(shelf.decode(encoded, allow_pickle=False)) == _facts(value)


@patient
@given(arrays())
def test_arrays_as_objects_come_back(array: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            written = objects.write_array(array, folder)
        except ValueError:
            assert array.dtype.itemsize == 0
            return
        back = objects.open_array(written.path, written.ref, verify=True)
        assert facts(back) == _facts(array)
        assert not back.flags.writeable


@settings(patient, max_examples=20)
@given(arrays(), st.integers(1, 3), st.booleans())
def test_chunked_arrays_come_back(array: Any, side: int, is_compressed: bool) -> None:
    chunking = Chunking(chunks=(side,) * array.ndim, compressors="auto" if is_compressed else None)
    if not array.dtype.itemsize:
        return
    with tempfile.TemporaryDirectory() as folder:
        written = objects.write_array(array, folder, chunking=chunking)
        assert facts(objects.open_array(written.path, written.ref, verify=True)) == _facts(array)


@patient
@given(numbers)
def test_dtypes_come_back(dtype: Any) -> None:
    text = dtypes.describe(dtype)
    assert text is not None
    assert facts(dtypes.parse(text)) == facts(dtype)


def _load(position: int) -> Any:
    return (np.arange(3.0), np.frombuffer(b"\xffab", np.uint8))[position]


@settings(patient, max_examples=500)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_damage(data: bytes) -> None:
    try:
        decode("plain", data, _load)
    except CorruptEntryError as error:
        assert error.__cause__ is not None or "dtype" in str(error) or "array type" in str(error)


forms = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 60)
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=16)
    | st.sampled_from(
        ["<f8", '"<f8"', '"|O"', '{"base":"<f8","shape":[2]}', "C", "F", "recarray", "PosixPath", "UTC", "1E9"]
    ),
    lambda inner: (
        st.lists(inner, max_size=9)
        | st.tuples(st.integers(0, 36), inner, inner)
        | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=20,
)


@settings(patient, max_examples=500)
@given(st.tuples(st.integers(0, 36)), st.lists(forms, max_size=9))
def test_any_form_is_a_value_or_damage(tag: tuple[int], members: list[Any]) -> None:
    with contextlib.suppress(CorruptEntryError):
        decode("plain", msgspec.msgpack.encode([*tag, *members]), _load)


@settings(patient, max_examples=300)
@given(plain, st.data())
def test_a_flipped_byte_is_a_value_or_damage(value: Any, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder))
        kind, payload, refs, paths = shelf.encode(value)
        position = data.draw(st.integers(0, len(payload) - 1))
        flipped = (
            payload[:position] + bytes([payload[position] ^ data.draw(st.integers(1, 255))]) + payload[position + 1 :]
        )
        with contextlib.suppress(CorruptEntryError):
            shelf.decode((kind, flipped, refs, paths))


@patient
@given(st.integers(1, 2000), st.sampled_from([list, tuple]))
def test_any_depth_is_stored_or_refused(depth: int, kind: Any) -> None:
    value: Any = 7
    for _ in range(depth):
        value = kind([value])
    with tempfile.TemporaryDirectory() as folder, objects.Sink(folder) as sink:
        try:
            encoded = encode(value, sink)
        except NotStorableError:
            return
        back = decode(encoded[0], encoded[1], _load)
    for _ in range(depth):
        assert type(back) is kind
        (back,) = back
    assert back == 7
