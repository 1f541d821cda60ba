"""Every kind of result comes back to the bit: on a miss, on a hit, in another process."""

import enum
import importlib.util
import json
import subprocess
import sys
import threading
import warnings
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, pure
from lazycache.digests import known_token, token
from lazycache.errors import NotStoredWarning
from tests.caching.results import BIG, KINDS, make, told

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", KINDS)
def test_results_come_back_as_they_were(tmp_path: Path, kind: str) -> None:
    library, build = KINDS[kind]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}")
    path = str(tmp_path / "store")
    truth = build()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = Cache(path)
        for name, value in truth.items():
            expected = told(kind, value)
            missed = cache(make(kind, name))
            assert told(kind, missed) == expected, name
            hit = cache(make(kind, name))
            assert (type(hit), told(kind, hit)) == (type(missed), expected), name
        assert cache.stats()["runs"] == cache.stats()["stores"] == len(truth)
        cache.close()
    script = f"import json; from tests.caching.results import wrong; print(json.dumps(wrong({path!r}, {kind!r})))"
    command = [sys.executable, "-W", "error", "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.stderr == ""
    assert json.loads(found.stdout) == []


@pytest.mark.parametrize("kind", ["plain", "arrays", "pandas", "scipy", "xarray", "sklearn", "torch"])
def test_nobody_can_spoil_a_result_for_the_next(tmp_path: Path, kind: str) -> None:
    library, build = KINDS[kind]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}")
    cache = Cache(tmp_path / "store")
    for name in build():
        node = make(kind, name)
        before = told(kind, cache(node))
        spoil(cache(node))
        assert told(kind, cache(node)) == before, name


def spoil(value: Any, depth: int = 0) -> None:
    """Write into everything in a value that lets itself be written to."""
    if isinstance(value, type | enum.Enum):
        return
    if isinstance(value, np.ndarray) and value.size and value.flags.writeable:
        value[...] = value.flat[0] if value.dtype.names else np.zeros((), value.dtype)
    elif type(value) is list:
        value.append("spoilt")
    elif isinstance(value, dict | set):
        value.clear()
    elif hasattr(value, "indptr") and value.data.flags.writeable:
        value.data[...] = 0
    elif hasattr(value, "fill_") and not value.is_sparse and not value.requires_grad:
        value.fill_(0)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for part in list(parts) + list(vars(value).values() if hasattr(value, "__dict__") else ()):
        if depth < 4:
            spoil(part, depth + 1)


@pytest.mark.parametrize("kind", ["pandas", "scipy", "xarray", "torch", "sklearn"])
def test_large_arrays_inside_are_shared_objects(tmp_path: Path, kind: str) -> None:
    """Two results with one large array in them hold it once, and both see the same memory."""
    library = KINDS[kind][0]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}")
    array = np.random.default_rng(3).random((BIG, 4))

    @pure(version=1)
    def wrapped(kind: str, number: int) -> Any:
        return {"number": number, "value": wrap(kind, array)}

    cache = Cache(tmp_path / "store")
    for number in range(3):
        assert cache(wrapped(kind, number))["number"] == number
    sizes = [file.stat().st_size for file in (tmp_path / "store" / "objects").rglob("*") if file.is_file()]
    assert sum(size >= array.nbytes for size in sizes) == 1
    assert sum(sizes) < 2 * array.nbytes


def wrap(kind: str, array: Any) -> Any:
    """Put an array into a value of some library, without a copy if that is possible."""
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(array, copy=False)
    if kind == "xarray":
        import xarray as xr

        return xr.DataArray(array)
    if kind == "torch":
        import torch

        return torch.from_numpy(array)
    if kind == "sklearn":
        from sklearn.neighbors import NearestNeighbors  # type: ignore[import-untyped]

        return NearestNeighbors(algorithm="brute").fit(array)
    from scipy import sparse

    columns = np.tile(np.arange(4, dtype="i4"), BIG)
    return sparse.csr_array((array.reshape(-1), columns, np.arange(0, 4 * BIG + 1, 4, dtype="i4")), shape=array.shape)


@pytest.mark.parametrize("size", [10, BIG])
def test_a_result_is_not_hashed_again_where_it_is_used(tmp_path: Path, size: int) -> None:
    @pure(version=1)
    def numbers(size: int) -> Any:
        return np.arange(size)

    for _ in range(2):
        result = Cache(tmp_path / "store")(numbers(size))
        assert known_token(result) == token(np.arange(size))


def test_exceptions_are_values(tmp_path: Path) -> None:
    @pure(version=1)
    def error(text: str) -> Any:
        return KeyError(text, np.arange(BIG))

    for _ in range(2):
        found = Cache(tmp_path / "store")(error("a"))
        assert type(found) is KeyError
        assert found.args[0] == "a"
        assert np.array_equal(found.args[1], np.arange(BIG))


def local_tuple() -> Any:
    """Return a value of a type that nobody can import."""
    Local: Any = namedtuple("Local", "a b")
    return Local(1, 2)


UNSTORABLE: dict[str, Any] = {
    "generator": lambda: (i for i in range(3)),
    "lock": threading.Lock,
    "lambda": lambda: lambda: 3,
    "local class": lambda: type("Local", (), {})(),
    "local named tuple": local_tuple,
    "nest": lambda: {"a": [1, threading.Lock()], "b": np.zeros(BIG)},
    "deep": lambda: __import__("functools").reduce(lambda inner, _: [inner], range(20_000), []),
}


@pytest.mark.parametrize("kind", UNSTORABLE)
def test_what_cannot_be_stored_is_returned_with_one_warning_that_names_the_call(tmp_path: Path, kind: str) -> None:
    @pure(version=1, name="lab.unstorable")
    def unstorable(kind: str) -> Any:
        return UNSTORABLE[kind]()

    cache = Cache(tmp_path / "store")
    with pytest.warns(NotStoredWarning, match=rf"lab\.unstorable.*{kind}") as caught:
        results = [cache(unstorable(kind)) for _ in range(3)]
    assert len(caught) == 1
    assert type(results[0]).__name__ == type(UNSTORABLE[kind]()).__name__
    assert unstorable(kind) not in cache
    assert not [file for file in (tmp_path / "store").rglob("*") if file.suffix in (".zarr", ".blob")]


SHOWN = """
import numpy as np
from lazycache import Cache, pure
@pure(version=1)
def f(n):
    out = {value}
    return out
result = Cache({path!r})(f(3))
def shown(x):
    if isinstance(x, np.ndarray):
        return type(x), x.dtype.str, x.strides, str(x.flags), type(x.base).__name__
    return (type(x), [shown(part) for part in x]) if isinstance(x, (list, tuple)) else (type(x), repr(x))
print(shown(result))
"""


@pytest.mark.parametrize(
    "value",
    [
        "np.arange(9.)[::2]",
        "np.ones((200, 300), '>f4').T",
        "np.ones((200, 300))[:, ::2]",
        "np.broadcast_to(np.arange(400.), (300, 400))",
        "[np.float32(1), np.zeros(3, '>i2'), (np.ones((400, 400)),)]",
        "np.memmap('/dev/null', 'u1', 'c', shape=())",
    ],
)
def test_a_miss_gives_what_hits_give(tmp_path: Path, value: str) -> None:
    script = SHOWN.format(value=value, path=str(tmp_path / "store"))
    if "memmap" in value:
        (tmp_path / "map").write_bytes(bytes(500_000))
        script = script.replace("'/dev/null', 'u1', 'c', shape=()", f"{str(tmp_path / 'map')!r}, 'u1'")
    shown = {
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout for _ in "123"
    }
    assert len(shown) == 1


@pytest.mark.parametrize("dtype", ["g", ">G", np.dtype("f8", metadata={"unit": "m"}), np.dtype([("a", "g")])])
@pytest.mark.parametrize("size", [3, BIG])
def test_an_array_is_the_same_one_whatever_its_dtype(tmp_path: Path, dtype: Any, size: int) -> None:
    @pure(version=1)
    def make(size: int) -> Any:
        return np.ones(size, dtype)

    cache = Cache(tmp_path / "store")
    first = cache(make(size))
    assert cache(make(size)) is first
    assert np.array_equal(first, np.ones(size, dtype))
    for array in (first, Cache(tmp_path / "store")(make(size))):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def failed() -> Any:
    """Return an exception with a note, attributes, and what it came from."""
    try:
        try:
            raise OSError(2, "no such file", "/data")
        except OSError as cause:
            raise ValueError("unreadable", 7) from cause
    except ValueError as error:
        error.add_note("while parsing")
        error.values = np.arange(BIG)  # type: ignore[attr-defined]
        return ExceptionGroup("several", [error, KeyError("x")])


def test_exceptions_keep_what_they_came_from(tmp_path: Path) -> None:
    @pure(version=1)
    def fail() -> Any:
        return failed()

    for _ in range(2):
        group = Cache(tmp_path / "store")(fail())
        error = group.exceptions[0]
        assert (str(group), type(error), error.args) == (str(failed()), ValueError, ("unreadable", 7))
        assert error.__notes__ == ["while parsing"]
        assert np.array_equal(error.values, np.arange(BIG))
        assert type(error.__cause__) is FileNotFoundError
        assert error.__cause__.filename == "/data"
        assert error.__context__ is error.__cause__
        assert error.__suppress_context__
        assert group.exceptions[1].__context__ is None


def test_tensors_over_one_memory_share_it_again(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    @pure(version=1)
    def make(size: int) -> Any:
        whole = torch.arange(float(size))
        return {"whole": whole, "views": [whole[1:], whole.reshape(2, -1)], "other": torch.arange(float(size))}

    for size in (4, BIG):
        for _ in range(2):
            found = Cache(tmp_path / "store")(make(size))
            found["whole"][1] = 70
            assert float(found["views"][0][0]) == 70
            assert float(found["views"][1].reshape(-1)[1]) == 70
            assert float(found["other"][1]) == 1


def test_the_memory_of_tensors_is_a_result_too(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    @pure(version=1)
    def make() -> Any:
        return torch.arange(10, dtype=torch.uint8).untyped_storage()

    for _ in range(2):
        assert bytes(Cache(tmp_path / "store")(make()).tolist()) == bytes(range(10))
