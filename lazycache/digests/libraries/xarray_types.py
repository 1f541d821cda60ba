"""xarray: variables by dims, data and attrs; how they were encoded in a file does not count."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lazycache.digests.names import qualified_name
from lazycache.digests.registry import Parts, Refusal, families, no_label

# Untyped, and not everywhere installed.
xr: Any = import_module("xarray")


def register() -> None:
    """Put the types of xarray into the registry."""
    families.update({xr.Variable: _expand_variable, xr.DataArray: _expand_array, xr.Dataset: _expand_dataset})
    if hasattr(xr, "DataTree"):
        families[xr.DataTree] = _expand_tree


def _name(value: Any) -> str:
    kind = type(value)
    return f"xarray.{kind.__name__}" if kind.__module__.partition(".")[0] == "xarray" else qualified_name(kind)


def _expand_variable(value: Any) -> Parts:
    data = value.values if isinstance(value, xr.IndexVariable) else value.data
    if hasattr(type(data), "__dask_graph__"):
        raise Refusal(type(data).__name__, "it has not been computed; call load() or compute() on it first")
    return b"R", (_name(value), value.dims, data, value.attrs), no_label, True


def _indexes(value: Any) -> Any:
    return [(name, type(index).__name__) for name, index in value.xindexes.items()]


def _expand_array(value: Any) -> Parts:
    coords = {name: coord.variable for name, coord in value.coords.items()}
    parts = (_name(value), value.name, value.variable, coords, _indexes(value))
    return b"R", parts, no_label, True


def _expand_dataset(value: Any) -> Parts:
    parts = (_name(value), dict(value.variables), list(value.coords), value.attrs, _indexes(value))
    return b"R", parts, no_label, True


def _expand_tree(value: Any) -> Parts:
    parts = [(node.path, node.to_dataset(inherit=False)) for node in value.subtree]
    return b"R", (_name(value), value.name, value.path, parts), no_label, True
