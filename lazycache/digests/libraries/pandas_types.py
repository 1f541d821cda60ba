"""pandas: frames by their columns, whatever blocks hold them; indexes by their values."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from lazycache.digests.immutable import is_immutable
from lazycache.digests.libraries.pandas_arrays import expand_dtype, expand_extension_array
from lazycache.digests.names import qualified_name
from lazycache.digests.registry import Parts, copiers, expanders, families, no_label, register_immutable, standing_for

# Untyped, and not everywhere installed.
pd: Any = import_module("pandas")

_FRAME_HEAD = 6


def register() -> None:
    """Put the types of pandas into the registry."""
    families.update(
        {
            pd.DataFrame: _expand_frame,
            pd.Series: _expand_series,
            pd.Index: _expand_index,
            pd.api.extensions.ExtensionArray: expand_extension_array,
            pd.api.extensions.ExtensionDtype: expand_dtype,
            pd.offsets.BaseOffset: _expand_offset,
        }
    )
    for kind, encode in _SCALARS.items():
        expanders[kind] = standing_for(f"pandas.{kind.__name__}", encode)
        register_immutable(kind)
    copiers[pd.DataFrame] = _copy_frame
    copiers[pd.Series] = _copy_series


def _name(value: Any, base: type) -> str:
    """Name the type: pandas' own classes moved between its versions, others count by their full name."""
    kind = type(value)
    return f"pandas.{base.__name__}" if kind.__module__.partition(".")[0] == "pandas" else qualified_name(kind)


def _values(column: Any) -> Any:
    """Return the values of a Series or Index as an array of numpy, or of pandas where it needs its own."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def _extras(value: Any) -> Any:
    """Return what makes a frame more than its columns: attrs, flags, and the metadata of a subclass."""
    metadata = {name: getattr(value, name, None) for name in value._metadata if name != "_name"}
    return value.attrs, value.flags.allows_duplicate_labels, metadata


def _expand_frame(value: Any) -> Parts:
    columns = [_values(value.iloc[:, position]) for position in range(value.shape[1])]
    head = (_name(value, pd.DataFrame), value.columns, value.index, *_extras(value))
    return b"R", (*head, *columns), _frame_label, True


def _frame_label(value: Any, _children: Sequence[Any], index: int) -> str:
    heads = ("", ".columns", ".index", ".attrs", ".flags", "")
    return heads[index] if index < _FRAME_HEAD else f"[{value.columns[index - _FRAME_HEAD]!r}]"


def _expand_series(value: Any) -> Parts:
    return b"R", (_name(value, pd.Series), value.name, value.index, _values(value), *_extras(value)), no_label, True


def _expand_index(value: Any) -> Parts:
    names = list(value.names)
    if isinstance(value, pd.MultiIndex):
        # The levels may hold members that are not used any more.
        levels = [_index_values(value.get_level_values(level)) for level in range(value.nlevels)]
        return b"R", (_name(value, pd.MultiIndex), names, levels), no_label, True
    return b"R", (_name(value, pd.Index), names, _index_values(value)), no_label, True


def _index_values(value: Any) -> Any:
    """Return the values; whole numbers in even steps count alike as a range and as an array."""
    if isinstance(value, pd.RangeIndex):
        return _progression(value.start, value.step, len(value))
    values = _values(value)
    if isinstance(values, np.ndarray) and values.dtype == np.dtype("<i8"):
        count = len(values)
        first = int(values[0]) if count else 0
        step = int(values[1]) - first if count > 1 else 1
        if count < 2 or (int(values[-1]) == first + step * (count - 1) and bool((np.diff(values) == step).all())):
            return _progression(first, step, count)
    return values, getattr(value, "freq", None)


def _progression(first: int, step: int, count: int) -> tuple[Any, ...]:
    return "progression", first if count else 0, step if count > 1 else 1, count


def _expand_offset(value: Any) -> Parts:
    # The calendar is made of the holidays and the weekmask.
    keywords = sorted(item for item in value.kwds.items() if item[0] != "calendar")
    return b"R", (f"pandas.offsets.{type(value).__name__}", value.n, value.normalize, keywords), no_label, True


_SCALARS: dict[type, Callable[[Any], Any]] = {
    pd.Timestamp: lambda value: (value.asm8, value.tz, value.fold),
    pd.Timedelta: lambda value: value.asm8,
    pd.Period: lambda value: (value.ordinal, value.freqstr),
    pd.Interval: lambda value: (value.left, value.right, value.closed),
    type(pd.NaT): lambda _: None,
    type(pd.NA): lambda _: None,
}


def _copy_series(value: Any) -> Any:
    copied = value.copy(deep=True)
    if isinstance(value.dtype, np.dtype) and value.dtype.kind == "O" and not all(map(is_immutable, value)):
        # pandas copies the references only.
        return copied._constructor(copy.deepcopy(list(value)), index=copied.index, name=value.name, dtype=object)
    return copied


def _copy_frame(value: Any) -> Any:
    copied = value.copy(deep=True)
    for position, dtype in enumerate(value.dtypes):
        if dtype.kind == "O" and isinstance(dtype, np.dtype):
            copied.isetitem(position, _copy_series(value.iloc[:, position]))
    return copied
