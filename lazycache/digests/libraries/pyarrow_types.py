"""pyarrow: by logical content; offsets, chunks and what lies below nulls do not count."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from lazycache.digests.libraries.columns import pack_strings
from lazycache.digests.registry import Parts, families, no_label, register_immutable

# Untyped, and not everywhere installed.
pa: Any = import_module("pyarrow")


def register() -> None:
    """Put the types of pyarrow into the registry."""
    families.update(
        {
            pa.Array: _expand_array,
            pa.ChunkedArray: _expand_chunked,
            pa.Table: _expand_table,
            pa.RecordBatch: _expand_table,
            pa.Schema: _expand_schema,
            pa.Field: _expand_field,
            pa.DataType: _expand_type,
            pa.Scalar: _expand_scalar,
        }
    )
    for kind in (pa.Schema, pa.Field, pa.Table, pa.RecordBatch, pa.ChunkedArray):
        register_immutable(kind)


def _expand_table(value: Any) -> Parts:
    name = "pyarrow.Table" if isinstance(value, pa.Table) else "pyarrow.RecordBatch"
    return b"R", (name, value.schema, value.num_rows, *value.columns), _table_label, True


def _table_label(value: Any, _children: Any, index: int) -> str:
    return ("", ".schema", ".num_rows")[index] if index < 3 else f"[{value.schema.names[index - 3]!r}]"


def _expand_chunked(value: Any) -> Parts:
    combined = value.unify_dictionaries().combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        combined = combined.chunk(0) if combined.num_chunks else pa.array([], value.type)
    return b"R", ("pyarrow.ChunkedArray", combined), no_label, True


def _expand_array(value: Any) -> Parts:
    return b"R", ("pyarrow.Array", str(value.type), len(value), *_content(value)), no_label, True


def _content(value: Any) -> tuple[Any, ...]:
    kind = value.type
    types = pa.types
    if isinstance(value, pa.ExtensionArray):
        return (value.storage,)
    if types.is_dictionary(kind):
        return value.indices, value.dictionary
    if types.is_string(kind) or types.is_large_string(kind):
        return pack_strings(value.to_pylist())
    if types.is_temporal(kind) and kind.bit_width in (32, 64):
        value = value.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    elif not (types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind) or types.is_boolean(kind)):
        return (value.to_pylist(),)
    missing = np.asarray(value.is_null().to_numpy(zero_copy_only=False))
    filled = value.fill_null(False if types.is_boolean(kind) else 0)
    return filled.to_numpy(zero_copy_only=False), missing


def _expand_schema(value: Any) -> Parts:
    return b"R", ("pyarrow.Schema", list(value), _metadata(value.metadata)), no_label, True


def _expand_field(value: Any) -> Parts:
    parts = ("pyarrow.Field", value.name, str(value.type), value.nullable, _metadata(value.metadata))
    return b"R", parts, no_label, True


def _metadata(metadata: Any) -> Any:
    return sorted(metadata.items()) if metadata else None


def _expand_type(value: Any) -> Parts:
    return b"R", ("pyarrow.DataType", str(value)), no_label, True


def _expand_scalar(value: Any) -> Parts:
    return b"R", ("pyarrow.Scalar", str(value.type), pa.array([value.as_py()], value.type)), no_label, True
