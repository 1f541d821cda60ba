"""polars: frames and series by their logical content."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lazycache.digests.libraries.columns import pack_strings
from lazycache.digests.names import qualified_name
from lazycache.digests.registry import Parts, Refusal, expanders, families, no_label

# Untyped, and not everywhere installed.
pl: Any = import_module("polars")


def register() -> None:
    """Put the types of polars into the registry."""
    families.update({pl.DataFrame: _expand_frame, pl.Series: _expand_series, pl.DataType: _expand_dtype})
    expanders[pl.LazyFrame] = _refuse_plan
    expanders[pl.Expr] = _refuse_plan
    # polars takes its classes of dtypes for dtypes.
    families[type(pl.Int64)] = _expand_dtype


def _refuse_plan(value: Any) -> Parts:
    raise Refusal(type(value).__name__, "it is a plan, and its form may change with polars; collect() it first")


def _expand_frame(value: Any) -> Parts:
    return b"R", (qualified_name(type(value)), value.height, *value.get_columns()), _frame_label, True


def _frame_label(value: Any, _children: Any, index: int) -> str:
    return f"[{value.columns[index - 2]!r}]"


def _expand_series(value: Any) -> Parts:
    head = (qualified_name(type(value)), value.name, len(value), _dtype(value.dtype))
    return b"R", (*head, *_content(value)), no_label, True


def _content(value: Any) -> tuple[Any, ...]:
    dtype = value.dtype
    if dtype in (pl.Categorical, pl.Enum):
        return pack_strings(value.cast(pl.String).to_list())
    if dtype == pl.String:
        return pack_strings(value.to_list())
    if dtype.is_temporal():
        value = value.to_physical()
    elif dtype == pl.Boolean:
        return value.fill_null(False).to_numpy(), value.is_null().to_numpy()
    elif not (dtype.is_integer() or dtype.is_float()) or dtype in _NO_ARRAY:
        return (value.to_list(),)
    return value.fill_null(0).to_numpy(), value.is_null().to_numpy()


# numpy has no such numbers; not every polars has the types.
_NO_ARRAY = tuple(getattr(pl, name) for name in ("Int128", "UInt128", "Float16") if hasattr(pl, name))


def _expand_dtype(value: Any) -> Parts:
    return b"R", ("polars dtype", _dtype(value)), no_label, True


def _dtype(dtype: Any) -> Any:
    """Return a dtype as a nest of names; its text may be shortened."""
    name = str(dtype.base_type().__name__)
    if isinstance(dtype, pl.Struct):
        return name, [(field.name, _dtype(field.dtype)) for field in dtype.fields]
    if isinstance(dtype, pl.Array):
        return name, dtype.shape, _dtype(dtype.inner)
    if isinstance(dtype, pl.List):
        return name, _dtype(dtype.inner)
    if isinstance(dtype, pl.Enum):
        return name, dtype.categories.to_list()
    attributes = ("time_unit", "time_zone", "precision", "scale")
    return name, [getattr(dtype, attribute, None) for attribute in attributes]
