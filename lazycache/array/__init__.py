"""Lazy arrays: a namespace like numpy's, whose arrays are computed later.

``import lazycache.array as lz``. Shapes and dtypes are known, and errors in them
raised, when an expression is built; nothing runs before it is computed.
"""

# Several names to a line, since there are hundreds.
# isort: off
# fmt: off
from numpy import (
    bool_ as bool, complex64, complex128, e, float16, float32, float64, inf, int8, int16, int32, int64,  # noqa: A004
    nan, newaxis, pi, uint8, uint16, uint32, uint64,
)

from lazycache.array import fft, linalg, random
from lazycache.array.applying import apply_along_axis, apply_over_axes, piecewise
from lazycache.array.autoray_support import register as _register_with_autoray
from lazycache.array.bits import packbits, unpackbits
from lazycache.array.conversion import array, asarray, complex, from_dlpack  # noqa: A004
from lazycache.array.creation import (
    arange, empty, empty_like, eye, full, full_like, identity, linspace, meshgrid, ones, ones_like, tri, zeros,
    zeros_like,
)
from lazycache.array.dates import busday_count, busday_offset, datetime_as_string, is_busday
from lazycache.array.elementwise import (
    abs, absolute, acos, acosh, add, allclose, angle, arccos, arccosh, arcsin, arcsinh, arctan, arctan2,  # noqa: A004
    arctanh, around, array_equal, array_equiv, asin, asinh, atan, atan2, atanh, bitwise_and,
    bitwise_invert, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, cbrt,
    ceil, clip, conj, conjugate, copysign, cos, cosh, deg2rad, degrees, divide, equal, exp, exp2, expm1,
    fabs, float_power, floor, floor_divide, floordivide, fmax, fmin, fmod, gcd, greater, greater_equal,
    heaviside, hypot, imag, invert, isclose, iscomplex, isfinite, isinf, isnan, isnat, isreal, lcm,
    ldexp, left_shift, less, less_equal, log, log1p, log2, log10, logaddexp, logaddexp2, logical_and,
    logical_not, logical_or, logical_xor, maximum, minimum, mod, multiply, nan_to_num, negative,
    nextafter, not_equal, positive, pow, power, rad2deg, radians, real, real_if_close, reciprocal,  # noqa: A004
    remainder, right_shift, rint, round, sign, signbit, sin, sinc, sinh, spacing, sqrt, square,  # noqa: A004
    subtract, tan, tanh, true_divide, truedivide, trunc, where,
)
from lazycache.array.evaluating import compute, compute_constants, get_data, get_depth, maybe_materialize
from lazycache.array.histograms import histogram, histogram2d, histogram_bin_edges, histogramdd
from lazycache.array.indexing import take, take_along_axis
from lazycache.array.inserting import insert, resize, trim_zeros
from lazycache.array.lazyarray import LazyArray, Variable
from lazycache.array.linalg import matrix_power
from lazycache.array.manipulation import (
    array_split, atleast_1d, atleast_2d, broadcast_arrays, broadcast_shapes, broadcast_to, concat,
    concatenate, diag, diagonal, expand_dims, flip, hstack, matrix_transpose, moveaxis, ndim, pad,
    permute_dims, ravel, repeat, reshape, roll, rot90, shape, size, split, squeeze, stack, swapaxes,
    tile, transpose, tril, triu, unstack, vstack,
)
from lazycache.array.missed import name_functions as _name_functions
from lazycache.array.nans import (
    nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmedian, nanmin, nanpercentile,
    nanprod, nanquantile, nanstd, nansum, nanvar,
)
from lazycache.array.node import PLACEHOLDER, Placeholder
from lazycache.array.numeric import (
    choose, convolve, correlate, diff, digitize, ediff1d, fix, gradient, i0, interp, isneginf, isposinf,
    polyval, select, trapezoid, unwrap, vander,
)
from lazycache.array.places import (
    diag_indices_from, ix_, ravel_multi_index, tril_indices_from, triu_indices_from,
)
from lazycache.array.polynomials import (
    poly, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, roots,
)
from lazycache.array.products import (
    cross, dot, einsum, einsum_path, inner, kron, matmul, outer, tensordot, vdot, vecdot,
)
from lazycache.array.rearranging import (
    append, argpartition, atleast_3d, block, column_stack, compress, delete, diagflat, dsplit, dstack,
    extract, fliplr, flipud, hsplit, intersect1d, lexsort, rollaxis, setdiff1d, setxor1d, union1d,
    unravel_index, vsplit,
)
from lazycache.array.reductions import (
    all, any, argmax, argmin, count_nonzero, cumprod, cumsum, cumulative_prod, cumulative_sum,  # noqa: A004
    max, mean, min, prod, ptp, std, sum, var,  # noqa: A004
)
from lazycache.array.scales import geomspace, logspace
from lazycache.array.searching import (
    UniqueAll, UniqueCounts, UniqueInverse, argsort, argwhere, bincount, flatnonzero, isin, nonzero,
    partition, searchsorted, sort, sort_complex, unique, unique_all, unique_counts, unique_inverse,
    unique_values,
)
from lazycache.array.sharing import currently_sharing, get_sharing_cache, lazy_cache, shared_intermediates
from lazycache.array.statistics import average, corrcoef, cov, median, percentile, quantile
from lazycache.array.tracing import trace
from lazycache.array.typing_functions import (
    __array_namespace_info__, astype, can_cast, common_type, finfo, iinfo, isdtype, min_scalar_type,
    result_type,
)
from lazycache.codegen import Function, get_source, stringify
from lazycache.graph import ascend, descend, to_queue
# fmt: on
# isort: on

__array_api_version__ = "2024.12"

__all__ = [
    "PLACEHOLDER", "Function", "LazyArray", "Placeholder", "UniqueAll", "UniqueCounts", "UniqueInverse", "Variable",
    "__array_namespace_info__", "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "angle", "any", "append",
    "apply_along_axis", "apply_over_axes", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "argmax", "argmin", "argpartition", "argsort", "argwhere", "around", "array", "array_equal",
    "array_equiv", "array_split", "asarray", "ascend", "asin", "asinh", "astype", "atan", "atan2", "atanh",
    "atleast_1d", "atleast_2d", "atleast_3d", "average", "bincount", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "block", "bool",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "busday_count", "busday_offset", "can_cast", "cbrt", "ceil",
    "choose", "clip", "column_stack", "common_type", "complex", "complex64", "complex128", "compress", "compute",
    "compute_constants", "concat", "concatenate", "conj", "conjugate", "convolve", "copysign", "corrcoef", "correlate",
    "cos", "cosh", "count_nonzero", "cov", "cross", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum",
    "currently_sharing", "datetime_as_string", "deg2rad", "degrees", "delete", "descend", "diag", "diag_indices_from",
    "diagflat", "diagonal", "diff", "digitize", "divide", "dot", "dsplit", "dstack", "e", "ediff1d", "einsum",
    "einsum_path", "empty", "empty_like", "equal", "exp", "exp2", "expand_dims", "expm1", "extract", "eye", "fabs",
    "fft", "finfo", "fix", "flatnonzero", "flip", "fliplr", "flipud", "float16", "float32", "float64", "float_power",
    "floor", "floor_divide", "floordivide", "fmax", "fmin", "fmod", "from_dlpack", "full", "full_like", "gcd",
    "geomspace", "get_data", "get_depth", "get_sharing_cache",
    "get_source", "gradient", "greater", "greater_equal", "heaviside", "histogram",
    "histogram2d", "histogram_bin_edges", "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag",
    "inf", "inner", "insert", "int8", "int16", "int32", "int64", "interp", "intersect1d", "invert", "is_busday",
    "isclose", "iscomplex", "isdtype", "isfinite", "isin", "isinf", "isnan", "isnat", "isneginf", "isposinf", "isreal",
    "ix_", "kron", "lazy_cache", "lcm", "ldexp", "left_shift", "less", "less_equal", "lexsort", "linalg", "linspace",
    "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logspace", "matmul", "matrix_power", "matrix_transpose", "max", "maximum", "maybe_materialize",
    "mean", "median", "meshgrid", "min", "min_scalar_type", "minimum", "mod", "moveaxis", "multiply", "nan",
    "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin",
    "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "ndim", "negative", "newaxis", "nextafter",
    "nonzero", "not_equal", "ones", "ones_like", "outer", "packbits", "pad", "partition", "percentile", "permute_dims",
    "pi", "piecewise", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval",
    "positive", "pow", "power", "prod", "ptp", "quantile", "rad2deg", "radians", "random", "ravel", "ravel_multi_index",
    "real", "real_if_close", "reciprocal", "remainder", "repeat", "reshape", "resize", "result_type", "right_shift",
    "rint", "roll", "rollaxis", "roots", "rot90", "round", "searchsorted", "select", "setdiff1d", "setxor1d", "shape",
    "shared_intermediates", "sign", "signbit", "sin", "sinc", "sinh", "size", "sort", "sort_complex", "spacing",
    "split", "sqrt", "square", "squeeze", "stack", "std", "stringify", "subtract", "sum", "swapaxes", "take",
    "take_along_axis", "tan", "tanh", "tensordot", "tile", "to_queue", "trace", "transpose", "trapezoid", "tri", "tril",
    "tril_indices_from", "trim_zeros", "triu", "triu_indices_from", "true_divide", "truedivide", "trunc", "uint8",
    "uint16", "uint32", "uint64", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "unpackbits", "unravel_index", "unstack", "unwrap", "vander", "var", "vdot", "vecdot", "vsplit", "vstack", "where",
    "zeros", "zeros_like",
]  # fmt: skip

_name_functions(LazyArray, [name for name in __all__ if callable(globals()[name])], __name__)
for _module in (linalg, fft):
    _name_functions(LazyArray, _module.__all__, _module.__name__)

# Here, so that autoray knows of lazy arrays whichever of the two is imported first.
_register_with_autoray()


def __dir__() -> list[str]:
    # What users call, and not the modules in which it is written.
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
