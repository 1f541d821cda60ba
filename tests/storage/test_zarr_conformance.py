"""zarr-python reads what is written by hand, bit for bit."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from lazycache_storage.objects import objects, zarrfiles

BITS = np.random.default_rng(7).integers(0, 256, 24 * 64, np.uint8).tobytes()


def _filled(dtype: Any, shape: tuple[int, ...] = (4, 3)) -> Any:
    """Return an array of random bits, which holds NaN payloads and every other pattern."""
    count = int(np.prod(shape))
    whole = (BITS * (1 + count * np.dtype(dtype).itemsize // len(BITS)))[: count * np.dtype(dtype).itemsize]
    return np.frombuffer(whole, dtype, count).reshape(shape).copy()


def _read_by_zarr(path: str) -> Any:
    with warnings.catch_warnings():
        # zarr-python warns of each dtype that is not in the specification yet.
        warnings.simplefilter("ignore")
        return zarr.open_array(path, mode="r")[...]


NUMBERS = [
    "?",
    "i1",
    "u1",
    *(f"{order}{code}" for order in "<>" for code in ("i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16")),
]
TIMES = [f"{order}{kind}8{unit}" for order in "<>" for kind in "mM" for unit in ("", "[D]", "[ns]", "[25s]", "[2Y]")]
TIMES = [text for text in TIMES if text[1:] != "m8[2Y]"]
BYTES = ["S1", "S5", "V1", "V7"]
STRUCTURED: list[Any] = [
    [("a", "<i8"), ("b", "<f8")],
    [("a", "i1"), ("b", [("c", "<f4"), ("d", "S3")])],
    [("date", "<M8[D]"), ("num", "<i8")],
    [("text", "<U2"), ("raw", "V4"), ("yes", "?")],
]
DIVERTED: list[Any] = [
    [("flux", ">f4"), ("mask", ">i4")],
    [("mixed", "<f4"), ("order", ">i4")],
    [("sub", "<i4", (2, 3))],
    np.dtype([("a", "i1"), ("b", "f8")], align=True),
    {"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [4, 0]},
    {"names": ["a", "b"], "formats": ["<i4", "<i4"], "offsets": [0, 0]},
    [(("title", "a"), "<i4")],
]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", NUMBERS + TIMES + BYTES)
def test_zarr_reads_simple_dtypes(tmp_path: Path, dtype: str, order: Any) -> None:
    array = (
        np.asarray(_filled(np.uint8), order=order).astype("?")
        if dtype == "?"
        else np.asarray(_filled(dtype), order=order)
    )
    read = _read_by_zarr(objects.write_array(array, str(tmp_path)).path)
    assert read.shape == array.shape
    # zarr-python gives the byte order of the machine.
    assert read.dtype == array.dtype.newbyteorder("=")
    assert (read if array.dtype.isnative else read.byteswap()).tobytes() == array.tobytes()


@pytest.mark.parametrize("order", ["<", ">"])
def test_zarr_reads_fixed_length_text(tmp_path: Path, order: str) -> None:
    array = np.array([["", "a", "héé"], ["x\U0001f600", "日本語", "z"]], f"{order}U3")
    read = _read_by_zarr(objects.write_array(array, str(tmp_path)).path)
    assert read.tolist() == array.tolist()
    assert read.dtype == np.dtype("=U3")


@pytest.mark.parametrize("dtype", STRUCTURED)
def test_zarr_reads_structured_dtypes_with_their_names(tmp_path: Path, dtype: Any) -> None:
    array = np.zeros((5, 2), dtype)
    for name in array.dtype.names or ():
        if array.dtype[name].kind in "iufM":
            array[name] = np.arange(10).reshape(5, 2).astype(array.dtype[name])
    read = _read_by_zarr(objects.write_array(array, str(tmp_path)).path)
    assert read.dtype == array.dtype
    assert read.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", DIVERTED)
def test_what_zarr_would_read_wrongly_is_named_raw_bytes(tmp_path: Path, dtype: Any) -> None:
    array = _filled(np.dtype(dtype))
    read = _read_by_zarr(objects.write_array(array, str(tmp_path)).path)
    assert read.dtype == np.dtype(f"V{array.dtype.itemsize}")
    assert read.tobytes() == array.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (3, 0, 2), (1, 1), (2, 1, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_zarr_reads_every_shape(tmp_path: Path, shape: tuple[int, ...], order: Any) -> None:
    array = np.asarray(_filled("<f8", shape), order=order)
    written = objects.write_array(array, str(tmp_path))
    read = _read_by_zarr(written.path)
    assert np.shape(read) == shape
    assert np.asarray(read).tobytes() == array.tobytes()
    assert (Path(written.path) / zarrfiles.chunk_file(len(shape))).exists() == bool(array.size)


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.0, -0.0]),
        np.full(3, -0.0),
        np.full(2, complex(-0.0, -0.0)),
        np.array([b""], "S5"),
        np.array([""], "U3"),
        np.zeros(3, "?"),
        np.zeros(3, "i8"),
        np.array(["NaT", "2020-01-01"], "M8[D]"),
    ],
    ids=repr,
)
def test_what_equals_the_fill_value_comes_back(tmp_path: Path, array: Any) -> None:
    written = objects.write_array(array, str(tmp_path))
    assert _read_by_zarr(written.path).tobytes() == array.tobytes()
    assert objects.open_array(written.path, written.ref).tobytes() == array.tobytes()


def test_a_person_finds_the_numpy_dtype_in_the_attributes(tmp_path: Path) -> None:
    array = np.zeros(3, [("flux", ">f4")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attributes = zarr.open_array(objects.write_array(array, str(tmp_path)).path, mode="r").attrs
    assert ">f4" in str(attributes["numpy_dtype"])


@pytest.mark.parametrize("dtype", ["O", "g", "G", "S0", "U0", "V0", np.dtypes.StringDType(), "V70000"])
def test_what_zarr_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path, dtype: Any) -> None:
    with pytest.raises(ValueError, match="dtype"):
        objects.write_array(np.ndarray((3,), dtype), str(tmp_path))
    assert list(tmp_path.iterdir()) == []
