"""Which dtypes are known on backends other than numpy, whose own functions decide.

The rules of the namespace are numpy's. For the functions of the array API
standard they say themselves what holds of other backends too; for what numpy
has beyond it, a dtype is known only where there is no choice.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazycache.array.infer.dtypes import DType, real_dtype

# Of what dask makes of these, numpy's rules are no guide.
_DASKS_OWN = frozenset(
    {
        "around", "clip", "ediff1d", "histogram", "histogram2d", "histogramdd", "insert", "linalg.inv", "linalg.lstsq",
        "round", "select",
    }
)  # fmt: skip

# Sums, which dask takes of short integers in its own way.
_SUMS = frozenset({"dot", "matmul", "tensordot", "vdot", "vecdot"})

_MOVING = frozenset({"choose", "compress", "delete", "extract", "insert", "select"})

_BEYOND = frozenset(
    {
        "argpartition", "average", "bincount", "choose", "compress", "convolve", "corrcoef", "correlate", "cov",
        "datetime_as_string", "delete", "diff", "digitize", "ediff1d", "extract", "geomspace", "gradient", "histogram",
        "histogram2d", "histogram_bin_edges", "histogramdd", "i0", "insert", "interp", "intersect1d", "lexsort",
        "packbits", "piecewise", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub",
        "polyval", "ravel_multi_index", "select", "setdiff1d", "setxor1d", "sort_complex", "trapezoid", "union1d",
        "unpackbits", "unravel_index", "unwrap", "vander",
    }
)  # fmt: skip


def known_elsewhere(name: str, dtype: DType, backend: str, given: Sequence[DType]) -> DType:
    """Return the dtype of what a function gives on a backend that is not numpy, or None if only that knows.

    Parameters
    ----------
    name : str
        Of the function.
    dtype : dtype or None
        What it would be by numpy's rules.
    backend : str
    given : sequence of dtype
        Of the arrays that it is given.
    """
    if dtype is None or (dtype.kind == "b" and name not in _BEYOND):
        return dtype
    if backend == "dask":
        return None if name in _DASKS_OWN or (name in _SUMS and _is_changed(dtype, given)) else dtype
    if backend == "jax" and name != "getitem" and _is_wide(dtype) and not any(map(_is_wide, given)):
        # Only a setting lets it have these.
        return None
    if name.startswith("histogram") or (name in ("fft.fftn", "fft.ifftn") and dtype.kind != "c"):
        # What is counted may be integers; a number has no axes to transform, which only numpy leaves as it is.
        return None
    if name not in _BEYOND and not name.startswith(("linalg.", "nan")):
        return dtype
    is_told = all(one is not None and dtype in (one, real_dtype(one)) for one in given)
    # Integers are counted, divided and added up in many ways.
    return dtype if is_told and (dtype.kind in "fc" or name in _MOVING) else None


def _is_wide(dtype: DType) -> bool:
    return dtype is not None and dtype.itemsize == (16 if dtype.kind == "c" else 8)


def _is_changed(dtype: DType, given: Sequence[DType]) -> bool:
    return not all(_is_wide(one) and one == dtype for one in given)
