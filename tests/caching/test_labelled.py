"""Results of xarray are kept as data, never as a recipe that reads its files anew."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, pure
from lazycache.caching import labelled
from tests.conftest import Witness

xr: Any = pytest.importorskip("xarray")
da: Any = pytest.importorskip("dask.array")


def write(path: Path, number: float) -> None:
    xr.Dataset({"a": ("x", np.full(5, number))}).to_zarr(path, consolidated=False, mode="w")


@pytest.mark.parametrize("chunks", [None, {}])
def test_a_file_that_is_rewritten_does_not_change_a_stored_result(tmp_path: Path, chunks: Any) -> None:
    @pure(version=1)
    def read(path: str) -> Any:
        return xr.open_zarr(path, chunks=chunks, consolidated=False) * 2

    path = tmp_path / "data.zarr"
    write(path, 1.0)
    missed = Cache(tmp_path / "store")(read(str(path)))
    write(path, 5.0)
    hit = Cache(tmp_path / "store")(read(str(path)))
    assert missed["a"].values.tolist() == hit["a"].values.tolist() == [2.0] * 5
    assert type(missed["a"].variable._data) is type(hit["a"].variable._data) is np.ndarray


def lazy_dataset(witness: Witness) -> Any:
    def block(part: Any) -> Any:
        witness("block")
        return part + 1

    rows = da.arange(400_000, chunks=100_000).map_blocks(block, meta=np.zeros(0, int))
    coords = {"t": np.arange(400_000), "label": ("t", da.arange(400_000, chunks=100_000))}
    made = xr.Dataset({"a": ("t", rows), "b": ("t", np.zeros(400_000, ">f4"))}, coords, {"unit": "K"})
    made["a"].encoding["scale_factor"] = 0.5
    return made


KINDS: dict[str, Any] = {
    "dataset": lambda made: made,
    "array": lambda made: made["a"],
    "variable": lambda made: made["a"].variable,
    "tree": lambda made: xr.DataTree.from_dict({"/": made.drop_vars("b"), "/below": made[["b"]]}),
    "member": lambda made: {"x": [1], "y": made},
}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_what_dask_computes_is_computed_once(
    tmp_path: Path, witness: Witness, monkeypatch: pytest.MonkeyPatch, kind: str, at_once: bool
) -> None:
    if not at_once:
        monkeypatch.setattr(labelled, "_AT_ONCE_BYTES", 0)

    @pure(version=1)
    def make(kind: str) -> Any:
        return KINDS[kind](lazy_dataset(witness))

    missed, hit = (Cache(tmp_path / "store")(make(kind)) for _ in range(2))
    assert witness.ran["block"] == 4
    expected = KINDS[kind](lazy_dataset(witness))
    for found in (missed, hit):
        if kind == "member":
            assert found["x"] == [1]
            xr.testing.assert_identical(found["y"], expected["y"])
        else:
            xr.testing.assert_identical(found, expected)
    assert not list((tmp_path / "store" / "tmp").iterdir())
    for found in (missed, hit):
        array = found["y"] if kind == "member" else found
        variable = array if kind == "variable" else array.variable if kind == "array" else array["a"].variable
        assert variable.encoding == {"scale_factor": 0.5}
        assert not variable.values.flags.writeable
