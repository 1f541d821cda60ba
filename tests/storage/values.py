"""Values of every kind that the codec must bring back."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import struct
import uuid
import zoneinfo
from typing import Any, NamedTuple

import numpy as np

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
        np.datetime64("NaT", "D"),
        np.ndarray((1,), "M8", bytes(range(8)))[0],
        np.ndarray((1,), "m8", bytes(range(8)))[0],
        np.dtype("M8[25s]").type(7, "25s"),
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
    "generic times": np.ndarray((2,), "m8", bytes(range(16))),
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
    "longdouble in the other order": np.arange(3, dtype=np.dtype("g").newbyteorder()),
    "large longdouble in the other order": np.arange(BIG, dtype=np.dtype("G").newbyteorder()),
    "objects": np.array([None, "a", 2**100, (1,)], dtype=object),
    "objects in fields": np.array([(1, "x")], [("a", "i4"), ("o", "O")]),
    "texts of any length": np.array(["a", "b" * 100], np.dtypes.StringDType()),
    "wide void": np.zeros(3, "V70000"),
}
