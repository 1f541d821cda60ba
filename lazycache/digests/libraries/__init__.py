"""Encoders of other packages' types; each module is imported when a type of its package turns up."""

from lazycache.digests.registry import register_package

for _package, _module in {
    "pandas": "pandas_types",
    "polars": "polars_types",
    "pyarrow": "pyarrow_types",
    "scipy.sparse": "sparse_types",
    "scipy.spatial": "spatial_types",
    "torch": "torch_types",
    "xarray": "xarray_types",
}.items():
    register_package(_package, f"{__name__}.{_module}")
