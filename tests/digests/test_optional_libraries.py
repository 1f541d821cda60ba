import pickle
from typing import Any

import numpy as np
import pytest

from lazycache.digests import digest, snapshot, token
from lazycache.errors import UnhashableError
from lazycache.protection import protect


def stable(value: Any) -> bool:
    expected: bytes = token(value)
    return bool(token(pickle.loads(pickle.dumps(value))) == expected == snapshot(value)[1])


def test_polars() -> None:
    pl: Any = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [1, None], "b": ["x", None], "c": [[1], None]})
    assert stable(frame)
    whole = pl.Series("a", [1, 2, None])
    assert digest(whole) == digest(pl.concat([whole[:1], whole[1:]]))
    others = [frame, frame["a"], frame["b"], whole, whole.rename("b"), whole.cast(pl.Int8), whole.fill_null(0), pl.Int8]
    assert len({digest(value) for value in others}) == len(others)
    with pytest.raises(UnhashableError, match="collect"):
        digest(frame.lazy())


def test_pyarrow() -> None:
    pa: Any = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1, None], "b": ["x", None], "c": [[1], None]})
    assert stable(table)
    assert digest(pa.table({"a": [1, 2]})) == digest(pa.concat_tables([pa.table({"a": [1]}), pa.table({"a": [2]})]))
    assert digest(pa.array([0, 1, 2]).slice(1)) == digest(pa.array([1, 2]))
    others = [
        table,
        table["a"],
        table["b"],
        table.schema,
        pa.int8(),
        pa.array([1]),
        pa.array([1], pa.int8()),
        pa.scalar(1),
    ]
    assert len({digest(value) for value in others}) == len(others)


def test_xarray() -> None:
    xr: Any = pytest.importorskip("xarray")

    def made(**how: Any) -> Any:
        return xr.DataArray(np.zeros((2, 3)), dims=("x", "y"), coords={"x": [1, 2]}, **how)

    assert stable(made()) and stable(made(name="n").to_dataset())
    others = [
        made(),
        made(name="n"),
        made(attrs={"a": 1}),
        made().T,
        made() + 1,
        made().variable,
        made(name="n").to_dataset(),
    ]
    assert len({digest(value) for value in others}) == len(others)


def test_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    storage = torch.arange(10.0)
    assert digest(storage[2:5]) == digest(torch.tensor([2.0, 3.0, 4.0])) == digest(storage[2:5].clone())
    assert digest(torch.tensor([1.0])) != digest(torch.tensor([1.0], requires_grad=True))
    assert digest(torch.tensor([1.0])) != digest(np.array([1.0], "f4"))
    computed = torch.tensor([1.0], requires_grad=True) * 2
    assert snapshot(computed)[1] == token(computed)
    assert stable(torch.tensor([1.0]))


def test_attrs() -> None:
    attrs: Any = pytest.importorskip("attrs")
    kind: Any = attrs.make_class("Kind", {"a": attrs.field()}, frozen=True, cache_hash=True, slots=False)
    used = kind("text")
    hash(used)
    assert digest(used) == digest(kind("text")) != digest(kind("other"))


def test_what_torch_keeps_beside_the_elements() -> None:
    torch: Any = pytest.importorskip("torch")
    noted = torch.ones(3)
    noted.unit = "m"
    assert digest(noted) != digest(torch.ones(3))
    for value in (noted, torch.nn.Parameter(torch.ones(3))):
        for copied in (snapshot(value)[0], protect(value)):
            assert type(copied) is type(value)
            assert copied.data_ptr() != value.data_ptr()
            assert digest(copied) == digest(value)
    memories = [torch.arange(4.0).untyped_storage(), torch.arange(1.0, 4.0).untyped_storage()]
    assert digest(memories[0]) == digest(torch.arange(4.0).untyped_storage()) != digest(memories[1])


def test_trees_of_xarray() -> None:
    xr: Any = pytest.importorskip("xarray")

    def tree(number: int) -> Any:
        return xr.DataTree.from_dict({"/": xr.Dataset({"a": ("x", [1])}), "/b/c": xr.Dataset({"n": number})})

    assert stable(tree(1))
    assert digest(tree(1)) == digest(tree(1)) != digest(tree(2))


def test_trees_of_points() -> None:
    spatial: Any = pytest.importorskip("scipy.spatial")
    points = np.random.default_rng(0).random((200, 3))
    trees = [spatial.cKDTree(points), spatial.KDTree(points), spatial.cKDTree(points + 1)]
    trees += [spatial.cKDTree(points, leafsize=3), spatial.cKDTree(points, boxsize=2)]
    assert all(stable(tree) for tree in trees)
    assert digest(spatial.cKDTree(points)) == digest(trees[0])
    assert len({digest(tree) for tree in trees}) == len(trees)
