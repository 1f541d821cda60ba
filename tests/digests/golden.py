"""Values whose digests are pinned: within a format they never change, in no process and no Python version.

Run as a module to print the digests of this interpreter as JSON.
"""

import array
import collections
import datetime
import decimal
import enum
import fractions
import functools
import ipaddress
import json
import operator
import pathlib
import re
import types
import uuid
import zoneinfo
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lazycache.digests import digest


class Colour(enum.Enum):
    RED = 1
    GREEN = "g"


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: float


@dataclass
class Config:
    name: str
    limits: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    b: str


class Slotted:
    __slots__ = ("first", "second")

    def __init__(self) -> None:
        self.second, self.first = 2, 1


class Stack(list[int]):
    pass


class WithState:
    def __init__(self) -> None:
        self.value, self.scratch = 3, 4

    def __getstate__(self) -> dict[str, int]:
        return {"value": self.value}


class ByProtocol:
    def __lazycache_digest__(self) -> Any:
        return ("by protocol", 7)


PADDED = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<f8"], "offsets": [0, 8], "itemsize": 24})


def _masked() -> Any:
    return np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False], fill_value=9.0)


def values() -> dict[str, Any]:
    """Return the values by name; none depends on the machine's word size or zone data."""
    grid = np.arange(12, dtype="<f8").reshape(3, 4)
    return {
        "none": None,
        "true": True,
        "int": 42,
        "int negative": -(2**70),
        "int huge": 3**4000,
        "float": 0.1,
        "float -0": -0.0,
        "nan": float("nan"),
        "complex": 1 - 2j,
        "str": "grüße \U0001f600",
        "str surrogate": "\udcff",
        "str long": "x" * 1000,
        "bytes": b"\x00\xff",
        "bytes large": bytes(range(256)) * 10_000,
        "bytearray": bytearray(b"ab"),
        "memoryview": memoryview(b"abcd").cast("H"),
        "ellipsis": ...,
        "range": range(1, 10, 2),
        "slice": slice(1, None, -1),
        "list": [1, [2, ["x"]]],
        "tuple": (1, 2.5, None),
        "tuple of ints": tuple(range(100)),
        "dict": {"b": 1, "a": [True]},
        "set": {3, "a", None, (1, 2)},
        "frozenset": frozenset("abc"),
        "date": datetime.date(2020, 2, 29),
        "datetime": datetime.datetime(2020, 2, 29, 12, 30, 1, 5, tzinfo=datetime.UTC, fold=1),
        "time": datetime.time(1, 2, 3),
        "timedelta": datetime.timedelta(days=-1, microseconds=3),
        "timezone": datetime.timezone(datetime.timedelta(hours=2), "X"),
        "zone": zoneinfo.ZoneInfo("UTC"),
        "decimal": decimal.Decimal("1.50"),
        "fraction": fractions.Fraction(1, 3),
        "uuid": uuid.UUID(int=5),
        "path": pathlib.PurePosixPath("/a/b"),
        "posix path": pathlib.PosixPath("c"),
        "pattern": re.compile(r"a+", re.IGNORECASE),
        "ip address": ipaddress.ip_address("10.0.0.1"),
        "ordered dict": collections.OrderedDict(b=1, a=2),
        "counter": collections.Counter("abca"),
        "defaultdict": collections.defaultdict(list, a=[1]),
        "deque": collections.deque([1, 2], maxlen=3),
        "array.array": array.array("d", [1.0, 2.0]),
        "namespace": types.SimpleNamespace(b=1, a=2),
        "mapping proxy": types.MappingProxyType({"a": 1}),
        "partial": functools.partial(int, "10", base=2),
        "itemgetter": operator.itemgetter(1, 2),
        "exception": ValueError("bad", 3),
        "builtin": len,
        "class": dict,
        "library function": json.dumps,
        "enum": Colour.GREEN,
        "flag": Access.READ | Access.WRITE,
        "namedtuple": Point(1, 2.0),
        "dataclass": Config("a", [1, 2]),
        "frozen dataclass": Frozen(1, "b"),
        "slots": Slotted(),
        "list subclass": Stack([1, 2]),
        "own state": WithState(),
        "by protocol": ByProtocol(),
        "np.int64": np.int64(3),
        "np.float32": np.float32(0.5),
        "np.bool": np.True_,
        "np.str_": np.str_("ab"),
        "np.datetime64": np.datetime64("2020-01-01T00", "h"),
        "dtype": np.dtype(">f4"),
        "dtype structured": PADDED,
        "array": grid,
        "array F": np.asfortranarray(grid),
        "array strided": grid[:, ::2],
        "array big-endian": grid.astype(">f8"),
        "array empty": np.empty((0, 3), "<i2"),
        "array 0-d": np.array(1.5, "<f8"),
        "array large": np.arange(500_000, dtype="<i8"),
        "array bool": np.array([True, False]),
        "array str": np.array(["a", "bcd"], "<U3"),
        "array m8": np.array([1, 2], "<m8[ms]"),
        "array structured": np.array([(1, 2.0), (3, 4.0)], PADDED),
        "array object": np.array([1, "x", None, [2]], dtype=object),
        "masked": _masked(),
        "matrix": np.arange(4).astype("<i8").reshape(2, 2).view(np.matrix),
        "recarray": np.array([(1, 2.0)], PADDED).view(np.recarray),
        "ufunc": np.add,
        "seed sequence": np.random.SeedSequence(7, spawn_key=(1,)),
    }


def digests() -> dict[str, str]:
    """Return the digests of all values in hexadecimal."""
    return {name: digest(value).hex() for name, value in values().items()}


if __name__ == "__main__":
    print(json.dumps(digests(), indent=0))  # noqa: T201
