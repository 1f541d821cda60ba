import collections
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import pickle
import struct
import subprocess
import sys
import threading
import types
import uuid
import warnings
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import scipy.sparse  # type: ignore[import-untyped]
import scipy.spatial  # type: ignore[import-untyped]

from lazycache_storage import objects
from lazycache_storage.errors import CorruptEntryError, NotStorableError, UntrustedPickleError
from tests.storage.shelf import Shelf, facts

QUIET_NAN, SIGNALLING_NAN = struct.unpack("<dd", struct.pack("<QQ", 0xFFF8_0000_0000_0123, 0x7FF0_0000_0000_0123))
BIG = 20_000
SHARED = (1, 2)


class Pair(NamedTuple):
    a: Any
    b: Any


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    __slots__ = ()


class MyList(list[Any]):
    pass


@dataclasses.dataclass
class Model:
    weights: Any
    name: str
    children: list[Any] = dataclasses.field(default_factory=list)


PLAIN: dict[str, Any] = {
    "none": None,
    "true": True,
    "zero": 0,
    "int64": [-(2**63), 2**63 - 1, 2**64 - 1],
    "huge ints": [2**64, -(2**63) - 1, 10**5000, -(10**5000), -(2**71), 2**71],
    "huge int": 2**200,
    "floats": [0.0, -0.0, float("inf"), 5e-324, QUIET_NAN, SIGNALLING_NAN],
    "nan": QUIET_NAN,
    "complex": [complex(-0.0, -0.0), complex(QUIET_NAN, -1), 2j],
    "str": ["", "a\0b", "日本語 \U0001f600", "\ud800", "half \udc80 pair"],
    "surrogate": "\ud800",
    "surrogates in keys": {"\ud800": "\udfff", "ok": 2**100},
    "long surrogates": "\ud800" * (1 << 20),
    "long str": "é" * (1 << 20),
    "bytes": [b"", b"\0\xff", bytes(100_000)],
    "long bytes": bytes(range(256)) * 8192,
    "bytearray": [bytearray(), bytearray(b"abc"), bytearray(2 << 20)],
    "tuples": [(), (1,), ((),), (1, "a", None), (1, [2])],
    "lists": [[], [1], [[[]]], [True, 1, 1.0]],
    "dict order": {"b": 1, "a": 2, 3: {}, (1, (2,)): [], None: None, 1.5: "x", frozenset({1}): ()},
    "native dict": {"z": 1, "a": None, "m": b"x"},
    "sets": [set(), {1, "a", None, (2,)}, frozenset(), frozenset({frozenset({1})})],
    "set": {1, 2**70},
    "slices": [slice(None), slice(1, 2**80, -1), slice("a", (1,), None)],
    "ranges": [range(0), range(5), range(10, -(2**70), -3)],
    "singletons": [..., NotImplemented],
    "ellipsis": ...,
    "dates": [datetime.date.min, datetime.date.max, datetime.date(2020, 2, 29)],
    "times": [
        datetime.time(1, 2, 3, 4, fold=1),
        datetime.time(1, tzinfo=datetime.UTC),
        datetime.time.max,
    ],
    "datetimes": [
        datetime.datetime.min,
        datetime.datetime(2020, 10, 25, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Oslo"), fold=1),
        datetime.datetime.now(datetime.timezone(datetime.timedelta(seconds=-1), "odd")),
    ],
    "timedeltas": [datetime.timedelta.min, datetime.timedelta(0, 0, -1), datetime.timedelta.max],
    "zones": [
        datetime.UTC,
        datetime.timezone(datetime.timedelta(0), "UTC"),
        datetime.timezone(datetime.timedelta(0), "zero"),
        datetime.timezone(datetime.timedelta(hours=1)),
        datetime.timezone(datetime.timedelta(hours=1), "UTC+01:00"),
        zoneinfo.ZoneInfo("UTC"),
    ],
    "decimals": [decimal.Decimal(text) for text in ("-0E+3", "sNaN123", "-NaN", "Infinity", "1E-999999", "1" * 60)],
    "fractions": [fractions.Fraction(-1, 3), fractions.Fraction(10**40, 7)],
    "uuids": [uuid.UUID(int=5), uuid.uuid1()],
    "paths": [
        pathlib.PosixPath("/a/b"),
        pathlib.PurePosixPath(""),
        pathlib.PureWindowsPath("C:/x\\y"),
        pathlib.PosixPath("bad\udc80name"),
    ],
    "numpy scalars": [
        np.bool_(True),
        *(kind(3) for kind in (np.byte, np.short, np.intc, np.int_, np.longlong, np.uintc, np.uint, np.ulonglong)),
        *(kind(-0.0) for kind in (np.half, np.single, np.double, np.longdouble, np.csingle, np.cdouble)),
        np.float64(QUIET_NAN),
        np.datetime64("NaT"),
        np.dtype("M8[25s]").type(7, "25s"),
        np.timedelta64(3),
        np.timedelta64(-3, "fs"),
        np.str_("a\0"),
        np.str_(""),
        np.str_("\ud800"),
        np.bytes_(b"a\0"),
        np.void(b"raw"),
        np.zeros(1, ">i4")[0],
        np.array([(1, 2.5)], [("a", "i1"), ("b", ">f8")])[0],
        np.rec.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])[0],
    ],
    "numpy scalar": np.float32(1.5),
    "dtypes": [
        np.dtype(text)
        for text in ("?", "<i8", ">i8", "q", "Q", "f2", "g", "G", "S3", "U0", ">U2", "V7", "M8[25s]", "m8", "O")
    ],
    "structured dtypes": [
        np.dtype([("a", "i1"), ("b", "f8")], align=True),
        np.dtype([("a", "i1"), ("b", "f8")]),
        np.dtype({"names": ["x", "y"], "formats": ["<i4", ">i2"], "offsets": [4, 0], "itemsize": 20}),
        np.dtype([(("title", "name"), "<i4", (2, 3)), ("nested", [("c", "U2")])]),
        np.dtype((np.record, [("a", "i8")])),
        np.dtype(("i4", (2, 2))),
        np.dtype([("o", "O")]),
        np.dtype([]),
    ],
    "repeated constants": [SHARED, SHARED, {"k": SHARED}],
    "exactly one level below the deepest": [[[[[[]]]]]],
}

ARRAYS: dict[str, Any] = {
    "small": np.arange(3),
    "0-d": np.array(2.5),
    "empty": np.empty((3, 0, 2), ">c8"),
    "f order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "bits": np.array([0.0, -0.0, QUIET_NAN, SIGNALLING_NAN]),
    "bool": np.array([True, False]),
    "texts": np.array(["", "日本"]),
    "empty texts": np.ndarray((3,), "S0", b""),
    "bytes": np.array([b"", b"a"], "S5"),
    "times": np.array(["NaT", "2020-01-01"], "M8[D]"),
    "generic times": np.array(["NaT"], "M8"),
    "void": np.array([b"abc"], "V3"),
    "padded": np.zeros(2, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "big endian fields": np.ones(2, [("flux", ">f4"), ("mask", ">i4")]),
    "sub-arrays": np.ones(2, [("a", "i4", (2, 3)), ("n", [("d", "M8[D]")])]),
    "titles": np.ones(2, [(("title", "a"), "i4")]),
    "recarray": np.rec.array([(1, 2.0)], dtype=[("a", "i8"), ("b", "f8")]),
    "longlong": np.arange(3, dtype="q"),
    "large": np.arange(BIG * 10).reshape(10, -1),
    "large f order": np.asfortranarray(np.arange(BIG * 10.0).reshape(10, -1)),
    "large big-endian": np.arange(BIG, dtype=">f8"),
    "large padded": np.zeros(BIG, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "large recarray": np.zeros(BIG, [("a", "i8")]).view(np.recarray),
}

PICKLED: dict[str, Any] = {
    "namedtuple": Pair(1, np.arange(3)),
    "enum": [Colour.RED],
    "str subclass": Text("a"),
    "list subclass": MyList([1]),
    "ordered dict": collections.OrderedDict(a=1),
    "counter": collections.Counter("abca"),
    "dataclass": Model(None, "m"),
    "type": Model,
    "function": np.mean,
    "longdouble": np.arange(3, dtype="g"),
    "large longdouble": np.arange(BIG, dtype="G"),
    "objects": np.array([None, "a", 2**100, (1,)], dtype=object),
    "objects in fields": np.array([(1, "x")], [("a", "i4"), ("o", "O")]),
    "texts of any length": np.array(["a", "b" * 100], np.dtypes.StringDType()),
    "wide void": np.zeros(3, "V70000"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_data_comes_back_to_the_bit_and_the_type(tmp_path: Path, name: str) -> None:
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(PLAIN[name])
    assert encoded[0] == "plain"
    assert facts(shelf.decode(encoded, allow_pickle=False)) == facts(PLAIN[name])


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_to_the_bit_and_read_only(tmp_path: Path, name: str) -> None:
    array = ARRAYS[name]
    shelf = Shelf(tmp_path)
    cases: list[tuple[str, Any, Callable[[Any], Any]]] = [
        ("plain", array, lambda back: back),
        ("plain", [array], lambda back: back[0]),
        ("plain", {"key": (array, 1)}, lambda back: back["key"][0]),
        ("pickle", Model(array, "m"), lambda back: back.weights),
    ]
    for kind, value, unpack in cases:
        encoded = shelf.encode(value)
        assert encoded[0] == kind
        back = unpack(shelf.decode(encoded))
        assert facts(back) == facts(array)
        with pytest.raises(ValueError, match="WRITEABLE"):
            back.setflags(write=True)


@pytest.mark.parametrize("name", PICKLED)
def test_everything_else_goes_through_pickle(tmp_path: Path, name: str) -> None:
    shelf = Shelf(tmp_path)
    value = PICKLED[name]
    encoded = shelf.encode(value)
    assert encoded[0] == "pickle"
    back = shelf.decode(encoded)
    assert type(back) is type(value)
    if isinstance(value, np.ndarray):
        assert back.dtype == value.dtype
        np.testing.assert_array_equal(back, value)
    else:
        assert repr(back) == repr(value)
    with pytest.raises(UntrustedPickleError):
        shelf.decode(encoded, allow_pickle=False)


def test_numbers_after_a_look_by_eye(tmp_path: Path) -> None:
    # facts() uses repr and tobytes; here are literals, so that a fault in it cannot hide one in the codec.
    back = Shelf(tmp_path).round_trip([1, True, 1.0, -0.0, np.int64(1), (1,), 2**64])
    assert [type(member) for member in back] == [int, bool, float, float, np.int64, tuple, int]
    assert str(back) == "[1, True, 1.0, -0.0, np.int64(1), (1,), 18446744073709551616]"


def test_containers_are_new_each_time(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    encoded = shelf.encode({"a": [1, 2], "b": {"c": {3}}, "d": bytearray(b"x")})
    first = shelf.decode(encoded)
    first["a"].append(3)
    first["b"]["c"].add(4)
    first["d"][0] = 0
    assert shelf.decode(encoded) == {"a": [1, 2], "b": {"c": {3}}, "d": bytearray(b"x")}


def test_a_value_is_not_changed_by_storing_it(tmp_path: Path) -> None:
    array = np.arange(BIG * 10)
    value = {"array": array, "bytes": bytearray(2 << 20)}
    Shelf(tmp_path).encode(value)
    array[0] = 5
    value["bytes"].append(1)  # type: ignore[attr-defined]
    assert array.flags.writeable


@pytest.mark.parametrize(
    "value", [[np.arange(BIG)] * 3, Pair(np.arange(BIG), [np.arange(BIG)])], ids=["list", "pickle"]
)
def test_equal_arrays_are_stored_once_and_shared(tmp_path: Path, value: Any) -> None:
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(value)
    assert len(encoded[2]) == 1
    back = shelf.decode(encoded)
    assert facts(list(back)) == facts(list(value))


def test_an_array_that_sits_in_two_places_is_one_after_unpickling(tmp_path: Path) -> None:
    for size in (3, BIG):
        array = np.arange(size)
        back = Shelf(tmp_path).round_trip(Pair(array, [array]))
        assert back.a is back.b[0]


def test_cycles_and_shared_lists_keep_their_identity(tmp_path: Path) -> None:
    shared: list[Any] = [1]
    cycle: list[Any] = [shared, {"again": shared}, np.arange(BIG)]
    cycle.append(cycle)
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(cycle)
    assert encoded[0] == "pickle"
    back = shelf.decode(encoded)
    assert back[3] is back
    assert back[0] is back[1]["again"]
    back[0].append(2)
    assert back[1]["again"] == [1, 2]
    assert not back[2].flags.writeable


@pytest.mark.parametrize(
    "make", [lambda x: (x, x), lambda x: [x, x], lambda x: {"l": x, "r": x}], ids=["tuple", "list", "dict"]
)
def test_a_ladder_of_shared_containers_is_linear(tmp_path: Path, make: Any) -> None:
    value: Any = ("leaf", 1)
    for _ in range(60):
        value = make(value)
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(value)
    assert len(encoded[1]) < 3000
    back = shelf.decode(encoded)
    for _ in range(60):
        first, second = back.values() if isinstance(back, dict) else back
        assert first is second
        back = first
    assert back == ("leaf", 1)


WRAPPERS: dict[str, Any] = {
    "list": lambda x: [x],
    "tuple": lambda x: (x,),
    "dict": lambda x: {"k": x},
    "frozenset": lambda x: frozenset([x]),
}


@pytest.mark.parametrize("depth", [63, 64, 65, 300, 5_000])
@pytest.mark.parametrize("kind", WRAPPERS)
def test_a_deep_nest_is_stored_or_refused(tmp_path: Path, depth: int, kind: str) -> None:
    wrap = WRAPPERS[kind]
    value: Any = wrap(1)
    for _ in range(depth - 1):
        value = wrap(value)
    shelf = Shelf(tmp_path)
    try:
        encoded = shelf.encode(value)
    except NotStorableError:
        assert depth > 300
        return
    back = shelf.decode(encoded)
    for _ in range(depth):
        (back,) = back.values() if isinstance(back, dict) else back
    assert back == 1
    if depth <= 64:
        assert encoded[0] == "plain"


@pytest.mark.parametrize(
    "long", [bytes(2 << 20), "x" * (2 << 20), "\U0001f600" * (1 << 18)], ids=["bytes", "str", "wide str"]
)
def test_long_strings_are_objects_wherever_they_are(tmp_path: Path, long: Any) -> None:
    shelf = Shelf(tmp_path)
    for value in (long, [long, 1, None], [long], (long, "a"), {"k": long}, {"k": long, "n": 1}, {long: 1}):
        encoded = shelf.encode(value)
        assert (encoded[0], len(encoded[2]), len(encoded[1]) < 100) == ("plain", 1, True)
        assert facts(shelf.decode(encoded)) == facts(value)


def test_the_payload_of_a_large_array_is_a_few_bytes(tmp_path: Path) -> None:
    kind, payload, refs, _ = Shelf(tmp_path).encode(np.zeros(10**6))
    assert (kind, len(payload), refs[0].nbytes) == ("plain", 3, 8 * 10**6)


def test_frames_share_their_arrays_and_cannot_be_written(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"a": np.arange(BIG), "b": np.arange(BIG) / 7, "c": ["x"] * BIG, "d": pd.date_range("2020", periods=BIG)}
    )
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(frame)
    assert sum(ref.nbytes for ref in encoded[2]) >= 24 * BIG
    back = shelf.decode(encoded)
    pd.testing.assert_frame_equal(back, frame)
    assert not back["a"].to_numpy().flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        back.loc[0, "a"] = 5
    with pytest.raises(ValueError, match="read-only"):
        back["b"].to_numpy()[0] = 5
    pd.testing.assert_frame_equal(shelf.decode(encoded), frame)


def test_a_small_frame_behaves_like_a_large_one(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, -0.0]}, index=pd.Index(["x", "y"], name="i"))
    back = Shelf(tmp_path).round_trip(frame)
    pd.testing.assert_frame_equal(back, frame)
    with pytest.raises(ValueError, match="read-only"):
        back.loc["x", "a"] = 5


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_matrices_share_their_arrays_and_cannot_be_written(tmp_path: Path, kind: str) -> None:
    matrix = scipy.sparse.random_array((300, 300), density=0.5, format=kind, rng=np.random.default_rng(1))
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(matrix)
    assert encoded[2]
    back = shelf.decode(encoded)
    assert type(back) is type(matrix)
    assert (back != matrix).nnz == 0
    with pytest.raises(ValueError, match="read-only"):
        back.data[0] = 1


@pytest.mark.parametrize("size", [3, BIG])
@pytest.mark.parametrize("mask", [np.ma.nomask, True, None])
def test_masked_arrays_share_their_data(tmp_path: Path, size: int, mask: Any) -> None:
    mask = np.arange(size) % 2 == 0 if mask is None else mask
    array: Any = np.ma.MaskedArray(np.arange(size) + 0.5, mask, fill_value=7, hard_mask=True)
    shelf = Shelf(tmp_path)
    back = shelf.round_trip(array)
    assert type(back) is np.ma.MaskedArray
    assert facts(back.data) == facts(array.data)
    assert facts(back.mask) == facts(array.mask)
    assert (back.fill_value, back.hardmask) == (7, True)
    assert (len(shelf.opened) > 0) == (size == BIG)
    with pytest.raises(ValueError, match="read-only"):
        back.data[1] = 0


def test_masked_arrays_of_every_kind(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    plain: Any = np.ma.MaskedArray([1, 2], [True, False])
    back = shelf.round_trip(plain)
    assert (back._fill_value, back.fill_value) == (None, 999999)
    structured: Any = np.ma.MaskedArray([(1, 2.0)], mask=[(True, False)], dtype=[("a", "i4"), ("b", "f8")])
    assert repr(shelf.round_trip(structured)) == repr(structured)
    assert shelf.round_trip(np.ma.masked) is np.ma.masked
    of_objects: Any = np.ma.MaskedArray([None, "a"], [True, False], dtype=object)
    assert repr(shelf.round_trip(of_objects)) == repr(of_objects)


def test_a_memmap_comes_back_as_an_array(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    (tmp_path / "data").write_bytes(np.arange(BIG).tobytes())
    memmap = np.memmap(tmp_path / "data", np.int64, "r")
    for back in (shelf.round_trip(memmap), shelf.round_trip(Pair(memmap, 1)).a):
        assert type(back) is np.ndarray
        assert facts(back) == facts(np.arange(BIG))


def test_a_matrix_comes_back_as_one(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix([[1, 2], [3, 4]])
    assert facts(Shelf(tmp_path).round_trip(matrix)) == facts(matrix)


class Fussy:
    """Writes into its array while it is put together, as some compiled classes do."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.array = state["array"]
        self.array[0] = self.array[0]


@pytest.mark.parametrize("size", [3, BIG])
def test_a_type_that_writes_into_its_arrays_gets_copies(tmp_path: Path, size: int) -> None:
    back = Shelf(tmp_path).round_trip([Fussy(np.arange(size)), np.arange(size, dtype="g")])
    back[0].array[0] = 3
    assert facts(Shelf(tmp_path).round_trip(np.arange(size))) == facts(np.arange(size))


def test_a_compiled_tree_comes_back(tmp_path: Path) -> None:
    points = np.random.default_rng(0).random((BIG, 3))
    tree = scipy.spatial.cKDTree(points)
    back = Shelf(tmp_path).round_trip(tree)
    assert back.query(points[:5])[1].tolist() == [0, 1, 2, 3, 4]


def test_buffers_of_other_types_become_objects(tmp_path: Path) -> None:
    array = np.arange(BIG, dtype="g")
    shelf = Shelf(tmp_path)
    encoded = shelf.encode({"a": array, "b": Pair(array[::2].copy(), np.arange(BIG))})
    assert sorted(ref.nbytes for ref in encoded[2]) == [8 * BIG, 8 * BIG, 16 * BIG]
    assert len(encoded[1]) < 1000
    back = shelf.decode(encoded)
    np.testing.assert_array_equal(back["a"], array)
    np.testing.assert_array_equal(back["b"].a, array[::2])
    assert not back["a"].flags.writeable


@pytest.mark.parametrize(
    "error", [ValueError("x", 3), KeyError("k"), OSError(2, "no", "f"), NotStorableError(type_name="t", reason="r")]
)
def test_exceptions_are_values_too(tmp_path: Path, error: Exception) -> None:
    back = Shelf(tmp_path).round_trip(error)
    assert (type(back), back.args, str(back)) == (type(error), error.args, str(error))


def _generator() -> Any:
    yield 1


class Refuses:
    def __getstate__(self) -> Any:
        raise RuntimeError("not today")


class Outer:
    class Hidden:
        __qualname__ = "Hidden"


def _local_value() -> Any:
    class Local:
        pass

    return Local()


UNSTORABLE: dict[str, Any] = {
    "generator": _generator,
    "lock": threading.Lock,
    "lambda": lambda: lambda: 1,
    "local class": _local_value,
    "local namedtuple": lambda: collections.namedtuple("Inner", ["x"])(*"1"),
    "file": lambda: sys.__stdout__,
    "module": lambda: types,
    "frame": sys._getframe,
    "refuses": Refuses,
    "class that its name does not find": Outer.Hidden,
}


@pytest.mark.parametrize("name", UNSTORABLE)
def test_what_cannot_be_pickled_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    value = UNSTORABLE[name]()
    for wrapped in (value, [np.arange(BIG), value]):
        with pytest.raises(NotStorableError) as caught:
            Shelf(tmp_path).encode(wrapped)
        told = vars(caught.value)
        assert told["type_name"].endswith(type(wrapped).__qualname__)
        assert told["reason"]
        assert list(tmp_path.iterdir()) == []


def test_an_interrupt_passes_and_leaves_nothing(tmp_path: Path) -> None:
    class Interrupts:
        def __reduce__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Shelf(tmp_path).encode([np.arange(BIG), Interrupts()])
    assert list(tmp_path.iterdir()) == []


HIT = """
import sys, pickle
from pathlib import Path
from tests.storage.shelf import Shelf, facts
encoded = pickle.loads(Path(sys.argv[1], "encoded").read_bytes())
told = {name: facts(Shelf(Path(sys.argv[1])).decode(value)) for name, value in encoded.items()}
Path(sys.argv[1], "told").write_bytes(pickle.dumps(told))
"""


def test_another_process_gets_the_same_types_strides_and_bits(tmp_path: Path) -> None:
    values = PLAIN | ARRAYS
    shelf = Shelf(tmp_path)
    encoded = {name: shelf.encode(value) for name, value in values.items()}
    (tmp_path / "encoded").write_bytes(pickle.dumps(encoded))
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7", "PATH": ""}
    subprocess.run([sys.executable, "-c", HIT, tmp_path], check=True, env=environment, cwd=Path(__file__).parents[2])
    told = pickle.loads((tmp_path / "told").read_bytes())
    for name in values:
        assert told[name] == facts(values[name]), name


FAULTS = [
    ModuleNotFoundError("no module"),
    ImportError("no name"),
    AttributeError("no attribute"),
    EOFError("cut off"),
    TypeError("takes 2"),
    ValueError("object array"),
    pickle.UnpicklingError("bad"),
    IndexError("pop"),
    KeyError("key"),
    MemoryError("much"),
    RecursionError("deep"),
    RuntimeError("odd"),
    ZeroDivisionError("zero"),
    UnicodeDecodeError("utf-8", b"", 0, 1, "bad"),
]


class Breaks:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise state["error"]


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_pickle_that_no_longer_fits_the_code_is_damage(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(CorruptEntryError) as caught:
        Shelf(tmp_path).round_trip(Breaks(error))
    assert type(caught.value.__cause__) is type(error)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), OSError(5, "disk")])
def test_other_errors_while_loading_pass(tmp_path: Path, error: Any) -> None:
    with pytest.raises(type(error)):
        Shelf(tmp_path).round_trip(Breaks(error))


def test_a_damaged_array_of_a_pickle_is_damage(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(Pair(np.arange(BIG), 1))
    (Path(encoded[3][0]) / "0").unlink()
    with pytest.raises(CorruptEntryError, match="missing"):
        shelf.decode(encoded)


def test_a_pickle_without_its_store_says_so(tmp_path: Path) -> None:
    payload = Shelf(tmp_path).encode(Pair(np.arange(BIG), 1))[1]
    with pytest.raises(pickle.UnpicklingError, match="belongs to a store"):
        pickle.loads(payload)


def test_cut_and_flipped_payloads_are_damage(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for value in ({"a": [1, 2.5, (3, "x")], "b": np.arange(3)}, Pair(1, np.arange(BIG, dtype="g"))):
        kind, payload, refs, paths = shelf.encode(value)
        for cut in range(len(payload)):
            with contextlib.suppress(CorruptEntryError):
                shelf.decode((kind, payload[:cut], refs, paths))


def _pack(form: Any) -> bytes:
    return msgspec.msgpack.encode(form)


HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "no tag": _pack([]),
    "unknown tag": _pack([99]),
    "tag of another type": _pack(["x", 1]),
    "tag is a list": _pack([[1], 1]),
    "long list": b"\xdd\xff\xff\xff\xff",
    "long lists": b"\xdd\xff\xff\xff\xff" * 1000,
    "long map": b"\xdf\xff\xff\xff\xff",
    "long bytes": b"\xc6\xff\xff\xff\xff",
    "deep": b"\x92\x00" * 100_000 + b"\x00",
    "extension": b"\xd4\x05a",
    "rest": b"\x01\x02",
    "huge array": _pack([30, '"<f8"', [1 << 40], "C", b"", ""]),
    "huge empty array": _pack([30, '"<f8"', [0, 1 << 62, 1 << 62], "C", b"", ""]),
    "negative": _pack([30, '"<f8"', [-1, -1], "C", bytes(8), ""]),
    "pointers": _pack([30, '"|O"', [1], "C", bytes(8), ""]),
    "pointers in fields": _pack(
        [30, '{"names":["a"],"formats":["|O"],"offsets":[0],"itemsize":8}', [1], "C", bytes(8), ""]
    ),
    "pointers in a scalar": _pack([26, '"|O"', bytes(8)]),
    "order": _pack([30, '"<f8"', [1], "Z", bytes(8), ""]),
    "subclass": _pack([30, '"<f8"', [1], "C", bytes(8), "memmap"]),
    "subclass of another type": _pack([30, '"<f8"', [1], "C", bytes(8), [1]]),
    "shape": _pack([30, '"<f8"', "ab", "C", bytes(8), ""]),
    "dtype": _pack([29, "os.system"]),
    "dtype of commas": _pack([29, '"i4,O"']),
    "deep dtype": _pack([29, '{"base":' * 5000 + '"<f8"' + ',"shape":[1]}' * 5000]),
    "wide dtype": _pack([29, '{"base":"<f8","shape":[' + ",".join(["9" * 9] * 9) + "]}"]),
    "position": _pack([31, 7]),
    "negative position": _pack([31, -1]),
    "position of another type": _pack([31, "0"]),
    "text of an array of numbers": _pack([32, 0]),
    "unhashable key": _pack([2, [0], 1]),
    "odd dict": _pack([2, 1]),
    "unhashable member": _pack([3, [0]]),
    "list that is a map": _pack([5, {}]),
    "date": _pack([16, 10**6, 1, 1]),
    "zone": _pack([18, 2020, 1, 1, 0, 0, 0, 0, 0, 5]),
    "zone outside": _pack([21, "../../etc/passwd"]),
    "decimal": _pack([22, "1x"]),
    "fraction": _pack([23, 1, 0]),
    "uuid": _pack([24, b"short", 1]),
    "path": _pack([25, "Popen", "x"]),
    "windows path": _pack([25, "WindowsPath", "x"]),
    "bytearray by size": _pack([11, 1 << 50]),
    "int": _pack([8, "x"]),
    "complex": _pack([10, "1", 2]),
    "range": _pack([13, 1, 2, 0]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_plain_data_is_damage(tmp_path: Path, name: str) -> None:
    with objects.Sink(str(tmp_path)) as sink:
        sink.add(np.arange(3.0))
    written = sink.written[0]
    encoded: Any = ("plain", HOSTILE[name], sink.refs, [written.path])
    with pytest.raises(CorruptEntryError):
        Shelf(tmp_path).decode(encoded)


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("code of a payload ran",))


def test_a_pickle_in_the_place_of_plain_data_does_not_run(tmp_path: Path) -> None:
    payload = Shelf(tmp_path).encode(Bomb())[1]
    with pytest.raises(CorruptEntryError):
        Shelf(tmp_path).decode(("plain", payload, (), []))
    with pytest.raises(UntrustedPickleError):
        Shelf(tmp_path).decode(("pickle", payload, (), []), allow_pickle=False)
