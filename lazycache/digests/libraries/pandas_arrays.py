"""pandas' own arrays and dtypes: by what they hold, not by how."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from lazycache.digests.libraries.columns import pack_strings, without_masked
from lazycache.digests.objects import expand_object
from lazycache.digests.registry import Parts, no_label

# Untyped, and not everywhere installed.
pd: Any = import_module("pandas")

_DATELIKE = (pd.arrays.DatetimeArray, pd.arrays.TimedeltaArray, pd.arrays.PeriodArray)
_MASKED = (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)


def expand_extension_array(value: Any) -> Parts:
    """Take an array of pandas apart; arrays of other packages are taken as objects."""
    content = _content(value)
    if content is None:
        return expand_object(value)
    return b"R", (f"pandas.arrays.{type(value).__name__}", *content), no_label, True


def _content(value: Any) -> tuple[Any, ...] | None:
    dtype = value.dtype
    if isinstance(dtype, pd.StringDtype):
        return dtype, *pack_strings(value.to_numpy(dtype=object, na_value=None).tolist())
    if isinstance(value, pd.Categorical):
        return _categorical(value)
    if isinstance(value, _MASKED):
        missing = value._mask
        return without_masked(value._data, missing), missing
    if isinstance(value, _DATELIKE):
        return dtype, value.asi8, getattr(value, "freq", None)
    if isinstance(value, pd.arrays.IntervalArray):
        return value.left, value.right, value.closed
    if isinstance(value, pd.arrays.SparseArray):
        return dtype, value.kind, len(value), value.sp_index.indices, value.sp_values
    if isinstance(value, pd.arrays.ArrowExtensionArray):
        return (value.__arrow_array__(),)
    if isinstance(value, pd.arrays.NumpyExtensionArray):
        return (value.to_numpy(),)
    return None


def _categorical(value: Any) -> tuple[Any, ...]:
    categories, order = _sorted_categories(value.categories, value.ordered)
    codes = value.codes
    if order is not None:
        rank = np.empty(len(order), codes.dtype)
        rank[order] = np.arange(len(order), dtype=codes.dtype)
        codes = np.where(codes < 0, codes, rank[codes]) if len(order) else codes
    return bool(value.ordered), categories, codes


def _sorted_categories(categories: Any, ordered: bool | None) -> tuple[Any, Any]:
    """Return the categories in an order of their own, and which came where; None if the order counts."""
    if ordered or categories is None:
        return categories, None
    # The registry is complete only once the walk is, and the walk needs the registry.
    from lazycache.digests.walk import token

    tokens = [token(category) for category in categories]
    order = np.array(sorted(range(len(tokens)), key=tokens.__getitem__), np.intp)
    return categories[order], order


def expand_dtype(value: Any) -> Parts:
    """Take a dtype of pandas apart; those of other packages are taken as objects."""
    kind = type(value)
    if kind.__module__.partition(".")[0] != "pandas":
        return expand_object(value)
    return b"R", (f"pandas.{kind.__name__}", *_dtype_content(value)), no_label, True


def _dtype_content(value: Any) -> tuple[Any, ...]:
    if isinstance(value, pd.CategoricalDtype):
        return bool(value.ordered), _sorted_categories(value.categories, value.ordered)[0]
    if isinstance(value, pd.StringDtype):
        return value.storage, value.na_value
    if isinstance(value, pd.DatetimeTZDtype):
        return value.unit, value.tz
    if isinstance(value, pd.IntervalDtype):
        return value.subtype, getattr(value, "closed", None)
    if isinstance(value, pd.SparseDtype):
        return value.subtype, value.fill_value
    if isinstance(value, pd.ArrowDtype):
        return (value.pyarrow_dtype,)
    return (str(value),)
