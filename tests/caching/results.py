"""Results of every kind, made anew in each process, and how to tell whether one came back.

`wrong` loads each of them from a store, and returns those that had to be
computed, or came back other than made.
"""

import datetime
import decimal
import enum
import fractions
import io
import math
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from lazycache import Cache, pure
from tests.storage.shelf import facts

BIG = 40_000
"""So many elements make an array an object of its own."""


class Point(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any


class Colour(enum.Enum):
    """An enum."""

    RED = 1


@dataclass
class Fit:
    """A dataclass with an array."""

    name: str
    values: Any


def _random(dtype: str, *shape: int) -> Any:
    return np.random.default_rng(7).integers(0, 99, shape).astype(dtype)


def _plain() -> dict[str, Any]:
    nan = np.array([0x7FF8000000000123, 0x8000000000000000], "u8").view("f8")
    return {
        "none": None,
        "nan": math.nan,
        "minus zero": -0.0,
        "huge int": -(3**200),
        "text": "a\ud800é\0",
        "bytes": b"\0" * 70_000,
        "long text": "é" * 1_200_000,
        "long bytes": bytes(2_000_000),
        "empty": ("", b"", [], {}, (), set()),
        "nest": {"a": [1, (2.5, None)], 3: {"b": {1, 2}}, ("t", 1): [nan, 1j]},
        "shared": (lambda part: [part, part])([1]),
        "array twice": (lambda part: {"a": part, "b": (part,)})(_random("f8", BIG)),
        "dates": (datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC), datetime.timedelta(1), datetime.date(1, 1, 1)),
        "exact": (decimal.Decimal("1.10"), fractions.Fraction(1, 3), uuid.UUID(int=5), PurePosixPath("/a/b")),
        "collections": (OrderedDict(a=1), Counter("aab"), deque([1], 3), defaultdict(list, a=[1])),
        "named tuple": Point(1, _random("f4", BIG)),
        "enum": Colour.RED,
        "type": (int, np.float32, np.dtype(">i4")),
    }


def _arrays() -> dict[str, Any]:
    found = {f"dtype {char}": _random(char, 3, 4) for char in "?bhilqBHILQefdgFDG"}
    found |= {f"large {char}": _random(char, BIG, 2) for char in (">i2", "<f8", "g", ">c16")}
    found |= {f"scalar {char}": _random(char, 1)[0] for char in "?bhilqBHILQefdgFDG"}
    record = np.dtype([("flux", ">f4"), ("mask", "i1"), ("nested", [("a", "<i2", (2, 2)), ("s", "S3")])], align=True)
    structured = np.zeros(BIG, record)
    structured["flux"] = np.arange(BIG)
    big = _random("f8", BIG, 3)
    return found | {
        "nan payload": np.array([0x7FF8000000000123, 0x8000000000000000], "u8").view("f8"),
        "minus zeros": np.full((3, 2), complex(-0.0, -0.0)),
        "0-d": np.array(2.5),
        "0-d big-endian": np.array(2, ">i4"),
        "empty": np.zeros((0, 3), "f4"),
        "fortran": np.asfortranarray(_random("i4", 300, 200)),
        "strided": big[::3, ::-1],
        "transposed": big.transpose(),
        "text": np.array(["", "é\ud800"], "U3"),
        "bytes": np.array([b"", b"a\0b"], "S5"),
        "void": np.zeros(4, "V3"),
        "dates": np.array(["2020-01-01", "NaT"], "M8[D]"),
        "durations": np.array([1, "NaT"], "m8[25us]"),
        "generic dates": np.array([-(2**63)]).view("M8"),
        "structured": structured[:5],
        "large structured": structured,
        "dates in records": np.zeros(5, [("date", "M8[D]"), ("num", "i8")]),
        "recarray": structured.view(np.recarray),
        "matrix": np.array([[1, 2]]).view(np.matrix),
        "objects": np.array([None, {"a": 1}, "x"], object),
        "objects in records": np.array([(1, None)], [("a", "i4"), ("o", "O")]),
        "string dtype": np.array(["a", "b" * 100], np.dtypes.StringDType()),
        "masked": np.ma.masked_array(big, big > 50, fill_value=-1.0),
        "small masked": np.ma.masked_array([1, 2], [True, False], hard_mask=True),
        "no mask": np.ma.masked_array([1, 2]),
        "nest": {"a": big, "b": [big[:10].copy(), (big,)]},
        "dataclass": Fit("x", big),
    }


def _pandas() -> dict[str, Any]:
    import pandas as pd

    big = pd.DataFrame({"a": np.arange(BIG), "b": np.linspace(0, 1, BIG), "c": ["é", None] * (BIG // 2)})
    when = pd.date_range("2020", periods=3, tz="Europe/Paris")
    return {
        "frame": big,
        "series": big["b"],
        "index": pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["k", "n"]),
        "mixed": pd.DataFrame({"t": when, "k": pd.Categorical(["x", "y", "x"]), "i": pd.array([1, None, 3], "Int8")}),
        "empty": pd.DataFrame(),
        "timestamp": (when[0], pd.NaT, pd.NA, pd.Timedelta("1s")),
        "attrs": big.head(3).rename_axis(index="i", columns="c"),
    }


def _scipy() -> dict[str, Any]:
    import scipy.sparse as sparse

    matrix = sparse.random(400, 400, 0.1, "csr", rng=np.random.default_rng(1))
    return {kind: getattr(matrix, f"to{kind}")() for kind in ("csr", "csc", "coo", "lil", "dok", "bsr")} | {
        "array": sparse.csr_array(matrix),
        "dia": sparse.eye_array(BIG, format="dia"),
    }


def _polars() -> dict[str, Any]:
    import polars as pl

    frame = pl.DataFrame({"a": range(BIG), "s": ["é", None] * (BIG // 2), "l": [[1], []] * (BIG // 2)})
    return {"frame": frame, "series": frame["s"], "lazy": frame.lazy().select("a"), "empty": pl.DataFrame()}


def _pyarrow() -> dict[str, Any]:
    import pyarrow as pa  # type: ignore[import-untyped]

    table = pa.table({"a": np.arange(BIG), "s": ["é", None] * (BIG // 2)}, metadata={"k": "v"})
    return {"table": table, "array": table["a"].chunk(0), "slice": table.slice(10, 5), "schema": table.schema}


def _xarray() -> dict[str, Any]:
    import xarray as xr

    values = np.arange(BIG * 2.0).reshape(BIG, 2)
    array = xr.DataArray(values, dims=("t", "x"), coords={"x": ["a", "b"]}, attrs={"unit": "K"}, name="temperature")
    return {
        "array": array,
        "set": xr.Dataset({"a": array, "b": ("t", np.zeros(BIG, ">f4"))}),
        "variable": array.variable,
    }


def _sklearn() -> dict[str, Any]:
    from sklearn.ensemble import RandomForestRegressor  # type: ignore[import-untyped]
    from sklearn.linear_model import LinearRegression  # type: ignore[import-untyped]
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
    from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

    x, y = np.random.default_rng(0).random((500, 4)), np.arange(500.0)
    return {
        "forest": RandomForestRegressor(8, random_state=0).fit(x, y),
        "pipeline": make_pipeline(StandardScaler(), LinearRegression()).fit(x, y),
    }


def _torch() -> dict[str, Any]:
    import torch

    torch.manual_seed(0)
    tensor = torch.arange(BIG * 2.0).reshape(2, BIG)
    return {
        "tensor": tensor,
        "view": tensor.t()[::2],
        "half": tensor.to(torch.bfloat16),
        "gradient": torch.ones(3, requires_grad=True),
        "sparse": torch.eye(4).to_sparse(),
        "nest": {"w": tensor, "v": [tensor[0]]},
        "state": torch.nn.Linear(300, 200).state_dict(),
    }


KINDS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "plain": ("numpy", _plain),
    "arrays": ("numpy", _arrays),
    "pandas": ("pandas", _pandas),
    "scipy": ("scipy", _scipy),
    "polars": ("polars", _polars),
    "pyarrow": ("pyarrow", _pyarrow),
    "xarray": ("xarray", _xarray),
    "sklearn": ("sklearn", _sklearn),
    "torch": ("torch", _torch),
}


def told(kind: str, value: Any) -> Any:
    """Describe a result to the bit, by means of its own library."""
    describe = _TOLD.get(kind, facts)
    return _of_numpy(value) if kind == "arrays" else describe(value)


def _of_numpy(value: Any) -> Any:
    if isinstance(value, np.ma.MaskedArray):
        parts = value.data, np.ma.getmaskarray(value), value.fill_value, value.hardmask
        return type(value), [facts(part) for part in parts]
    if isinstance(value, np.ndarray | np.generic) and value.dtype.char in "gG":
        # What is in the bytes that pad it is chance.
        return type(value), value.dtype, value.shape, repr(list(np.ravel(value)))
    if isinstance(value, np.ndarray) and (value.dtype.hasobject or value.dtype.kind == "T"):
        return type(value), value.dtype, value.shape, repr(value.tolist())
    if isinstance(value, Fit):
        return value.name, facts(value.values)
    return facts(value)


def _of_pandas(value: Any) -> Any:
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        columns = [_of_pandas(value[name]) for name in value]
        return type(value), _of_pandas(value.index), _of_pandas(value.columns), columns
    if isinstance(value, pd.Series | pd.Index):
        names = value.names if isinstance(value, pd.Index) else value.name
        return type(value), str(value.dtype), repr(names), repr(list(value))
    return repr(value)


def _of_scipy(value: Any) -> Any:
    plain = value.tocoo()
    return type(value), value.shape, value.format, facts([plain.row, plain.col, plain.data])


def _of_polars(value: Any) -> Any:
    import polars as pl

    kind, value = type(value), value.collect() if isinstance(value, pl.LazyFrame) else value
    frame = value.to_frame() if isinstance(value, pl.Series) else value
    return kind, frame.schema, frame.to_dict(as_series=False)


def _of_pyarrow(value: Any) -> Any:
    import pyarrow as pa

    if isinstance(value, pa.Table):
        return value.schema, value.schema.metadata, value.to_pydict()
    return type(value), value.to_pylist() if isinstance(value, pa.Array) else (str(value), value.metadata)


def _of_xarray(value: Any) -> Any:
    import xarray as xr

    if isinstance(value, xr.Dataset):
        return [(name, _of_xarray(value[name])) for name in value.variables]
    coordinates = [(name, facts(part.values)) for name, part in getattr(value, "coords", {}).items()]
    return type(value), value.dims, value.attrs, getattr(value, "name", None), facts(value.values), coordinates


def _of_sklearn(value: Any) -> Any:
    at = np.random.default_rng(1).random((50, 4))
    return type(value), repr(value), facts(value.predict(at))


def _of_torch(value: Any) -> Any:
    import torch

    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return type(value), [(key, _of_torch(part)) for key, part in parts]
    buffer = io.BytesIO()
    torch.save(value.detach().to_dense().contiguous().clone(), buffer)
    return type(value), value.dtype, value.shape, value.layout, value.requires_grad, buffer.getvalue()


_TOLD: dict[str, Callable[[Any], Any]] = {
    "pandas": _of_pandas,
    "scipy": _of_scipy,
    "polars": _of_polars,
    "pyarrow": _of_pyarrow,
    "xarray": _of_xarray,
    "sklearn": _of_sklearn,
    "torch": _of_torch,
}


@pure(version=1, name="tests.make_result")
def make(kind: str, name: str) -> Any:
    """Make one result."""
    return KINDS[kind][1]()[name]


def wrong(path: str, kind: str) -> list[str]:
    """Return the results of a kind that are not found in a store, or not as they were made."""
    cache, truth = Cache(path), KINDS[kind][1]()
    found = []
    for name, value in truth.items():
        loaded = cache(make(kind, name))
        if cache.stats()["runs"] or told(kind, loaded) != told(kind, value):
            found.append(name)
    return found
