"""Result types: numpy's promotion, taken from its own tables and never from data.

An operand is a dtype, or one of the types ``int``, ``float`` and ``complex``
for a Python scalar, which adapts to the arrays it meets. ``None`` is a dtype
that is not known; it makes the result unknown unless that does not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

DType = np.dtype[Any] | None
Operand = np.dtype[Any] | type | None

BOOL = np.dtype(np.bool_)
INTP = np.dtype(np.intp)
INT64 = np.dtype(np.int64)
FLOAT64 = np.dtype(np.float64)

# What some backends turn into floating-point numbers, and others leave as they are.
_OWN_RULES = frozenset({"reciprocal"})

# What the answer is even if an operand's dtype is not known.
ALWAYS_BOOL = frozenset(
    {
        "equal",
        "greater",
        "greater_equal",
        "isfinite",
        "isinf",
        "isnan",
        "isnat",
        "less",
        "less_equal",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "not_equal",
        "signbit",
    }
)

# They take Python integers that no operand's dtype holds.
COMPARISONS = frozenset({"equal", "greater", "greater_equal", "less", "less_equal", "not_equal"})


@lru_cache(maxsize=4096)
def ufunc_dtypes(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    """Return the dtypes that `ufunc` gives for `operands`; a TypeError as numpy words it."""
    # By identity: numpy takes None for float64 where dtypes are compared.
    if any(operand is None for operand in operands):
        known = BOOL if ufunc.__name__ in ALWAYS_BOOL else None
        return (known,) * ufunc.nout
    return tuple(ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout))[ufunc.nin :])


@lru_cache(maxsize=4096)
def ufunc_inputs(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> tuple[DType, ...]:
    """Return the dtypes that `ufunc` takes its operands as, None where one is not known."""
    if any(operand is None for operand in operands):
        return (None,) * ufunc.nin
    return tuple(ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout))[: ufunc.nin])


def dtypes_by_rule(ufunc: np.ufunc, operands: tuple[Operand, ...], rule: dict[str, Any]) -> tuple[DType, ...]:
    """Return the dtypes of a ufunc's inputs and results under a casting rule or a signature."""
    results = (None,) * ufunc.nout
    if rule.get("casting") == "equiv":
        # Where it should refuse a Python number under this rule, numpy ends the process.
        taken = ufunc.resolve_dtypes((*operands, *results), **{**rule, "casting": "unsafe"})
        operands = tuple(_equivalent(ufunc, one, dtype) for one, dtype in zip(operands, taken, strict=False))
    return tuple(ufunc.resolve_dtypes((*operands, *results), **rule))


def _equivalent(ufunc: np.ufunc, operand: Operand, dtype: DType) -> Operand:
    if not isinstance(operand, type):
        return operand
    if ufunc.__name__ in COMPARISONS and dtype is not None and dtype.kind in "iu":
        return operand
    if dtype != np.dtype(operand) and ufunc.__name__ not in ALWAYS_BOOL - COMPARISONS:
        raise TypeError(f"cannot cast Python {operand.__name__} to {dtype} under the casting rule 'equiv'")
    return dtype


def ufunc_dtype(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> DType:
    """Return the dtype of the only result of `ufunc`."""
    return ufunc_dtypes(ufunc, operands)[0]


@lru_cache(maxsize=1024)
def accumulated_dtype(ufunc: np.ufunc, dtype: DType, asked: DType = None) -> DType:
    """Return the dtype of ``ufunc.reduce`` (sums of small integers are wider), for which one may be asked."""
    if dtype is None:
        return BOOL if ufunc.__name__ in ALWAYS_BOOL else asked
    if asked is not None:
        whole = (None, dtype, None)
        return ufunc.resolve_dtypes(whole, signature=(asked, None, None), casting="unsafe", reduction=True)[2]
    if dtype.kind == "O":
        return dtype
    return ufunc.resolve_dtypes((None, dtype, None), reduction=True)[2]


def result_type(operands: Sequence[Operand]) -> DType:
    """Return the dtype that `operands` promote to."""
    if any(operand is None for operand in operands):
        return None
    scalars = {int: 0, float: 0.0, complex: 0j}
    return np.result_type(*(scalars.get(x, x) if isinstance(x, type) else x for x in operands))


def mean_dtype(dtype: DType) -> DType:
    """Return the dtype of a mean: integers become float64."""
    if dtype is None or dtype.kind not in "bui":
        return None if dtype is None else dtype.newbyteorder("=")
    return FLOAT64


def inexact_dtype(dtype: DType) -> DType:
    """Return the dtype in which linear algebra works, as numpy.linalg does."""
    if dtype is None:
        return None
    if dtype.kind in "bui":
        return FLOAT64
    if dtype.char in "fdFD":
        return dtype.newbyteorder("=")
    raise TypeError(f"array type {dtype.name} is unsupported in linalg")


def real_dtype(dtype: DType) -> DType:
    """Return the dtype of the real part."""
    if dtype is None or dtype.kind != "c":
        return dtype
    return np.dtype(f"f{dtype.itemsize // 2}").newbyteorder(dtype.byteorder)


def complex_dtype(dtype: DType) -> DType:
    """Return the complex dtype that holds `dtype`."""
    if dtype is None or dtype.kind == "c":
        return dtype
    return np.result_type(dtype, np.complex64)


def check_scalar(value: Any, dtype: DType) -> None:
    """Refuse a Python integer that `dtype` cannot hold, in numpy's words."""
    if dtype is None or type(value) is not int:
        return
    if dtype.char in "efdFDG":
        # Python says itself what is too large.
        float(value)
    if dtype.kind not in "uim":
        return
    limits = np.iinfo(np.int64 if dtype.kind == "m" else dtype)
    if not limits.min <= value <= limits.max:
        raise OverflowError(f"Python integer {value} out of bounds for {dtype.name}")


def foreign_dtype(ufunc: np.ufunc, operands: tuple[Operand, ...]) -> DType:
    """Return the result type on a backend whose promotion is its own, where it must be numpy's, else None.

    That is so for arrays of one dtype and Python scalars of no higher kind,
    unless integers become floating-point numbers, for which each has its default.
    """
    arrays = [one for one in operands if not isinstance(one, type)]
    if any(one is None or one != arrays[0] for one in arrays) or not arrays:
        return BOOL if ufunc.__name__ in ALWAYS_BOOL else None
    dtype = arrays[0]
    if ufunc.__name__ in _OWN_RULES and dtype is not None and dtype.kind not in "fc":
        return None
    try:
        found = ufunc_dtype(ufunc, operands)
    except TypeError:
        # What numpy refuses, another backend may take.
        return None
    return found if found is not None and found in (dtype, BOOL) else None
