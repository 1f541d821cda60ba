"""Results of xarray that are not in memory yet: they are loaded before they are stored.

A lazy one would be kept as a recipe, which reads its files anew at each hit,
whatever has become of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

_NAMES = ("Dataset", "DataArray", "Variable", "DataTree")

_AT_ONCE_BYTES = 256 << 20
"""Up to this size all variables are computed together, so that what they share is computed once."""


def is_labelled(value: Any) -> bool:
    """Tell whether a value is an object of xarray that holds arrays."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, tuple(getattr(xarray, name, ()) for name in _NAMES))


def load(holder: Any, collect: Callable[[Any], Any]) -> Any:
    """Return an object of xarray with all that it holds in memory, or in mapped files.

    Parameters
    ----------
    holder : Dataset, DataArray, Variable or DataTree
        Not changed.
    collect : callable
        Turns a dask array into an array, in bounded memory.
    """
    if holder.nbytes <= _AT_ONCE_BYTES:
        return holder.compute()
    if hasattr(holder, "map_over_datasets"):
        return holder.map_over_datasets(lambda dataset: load(dataset, collect))
    loaded = holder.copy(deep=False)
    for variable in _variables(loaded):
        if variable.chunks is not None and hasattr(variable.data, "__dask_graph__"):
            variable.data = collect(variable.data)
    return loaded.load()


def _variables(holder: Any) -> Iterator[Any]:
    if hasattr(holder, "variables"):
        yield from holder.variables.values()
    elif hasattr(holder, "coords"):
        yield holder.variable
        yield from (coordinate.variable for coordinate in holder.coords.values())
    else:
        yield holder
