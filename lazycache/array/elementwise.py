"""Functions that work element by element."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array.backends import NUMPY_RULES
from lazycache.array.build import function
from lazycache.array.functions import array_function
from lazycache.array.infer.broadcasting import broadcast, size_of
from lazycache.array.infer.dtypes import (
    BOOL,
    DType,
    check_scalar,
    foreign_dtype,
    real_dtype,
    result_type,
    ufunc_dtype,
)
from lazycache.array.node import make
from lazycache.array.operands import Operand, common_backend, operand
from lazycache.array.reductions import refuse_out
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

abs = absolute = function("abs")  # noqa: A001
acos = arccos = function("acos")
acosh = arccosh = function("acosh")
add = function("add")
asin = arcsin = function("asin")
asinh = arcsinh = function("asinh")
atan = arctan = function("atan")
atan2 = arctan2 = function("atan2")
atanh = arctanh = function("atanh")
bitwise_and = function("bitwise_and")
bitwise_invert = invert = bitwise_not = function("bitwise_invert")
bitwise_left_shift = left_shift = function("bitwise_left_shift")
bitwise_or = function("bitwise_or")
bitwise_right_shift = right_shift = function("bitwise_right_shift")
bitwise_xor = function("bitwise_xor")
cbrt = function("cbrt")
ceil = function("ceil")
conj = conjugate = function("conj")
copysign = function("copysign")
cos = function("cos")
cosh = function("cosh")
deg2rad = function("deg2rad")
degrees = function("degrees")
divide = true_divide = truedivide = function("divide")
equal = function("equal")
exp = function("exp")
exp2 = function("exp2")
expm1 = function("expm1")
fabs = function("fabs")
float_power = function("float_power")
floor = function("floor")
floor_divide = floordivide = function("floor_divide")
fmax = function("fmax")
fmin = function("fmin")
fmod = function("fmod")
gcd = function("gcd")
greater = function("greater")
greater_equal = function("greater_equal")
heaviside = function("heaviside")
hypot = function("hypot")
isfinite = function("isfinite")
isinf = function("isinf")
isnan = function("isnan")
isnat = function("isnat")
lcm = function("lcm")
ldexp = function("ldexp")
less = function("less")
less_equal = function("less_equal")
log = function("log")
log10 = function("log10")
log1p = function("log1p")
log2 = function("log2")
logaddexp = function("logaddexp")
logaddexp2 = function("logaddexp2")
logical_and = function("logical_and")
logical_not = function("logical_not")
logical_or = function("logical_or")
logical_xor = function("logical_xor")
maximum = function("maximum")
minimum = function("minimum")
multiply = function("multiply")
negative = function("negative")
nextafter = function("nextafter")
not_equal = function("not_equal")
positive = function("positive")
pow = power = function("pow")  # noqa: A001
rad2deg = function("rad2deg")
radians = function("radians")
reciprocal = function("reciprocal")
remainder = mod = function("remainder")
rint = function("rint")
sign = function("sign")
signbit = function("signbit")
sin = function("sin")
sinh = function("sinh")
spacing = function("spacing")
sqrt = function("sqrt")
square = function("square")
subtract = function("subtract")
tan = function("tan")
tanh = function("tanh")
trunc = function("trunc")


def _same(name: str, x: Any, dtype: DType, *args: Any, **kwargs: Any) -> LazyArray:
    found = operand(x)
    return make(array_function(name), (found.arg, *args), kwargs or NO_KWARGS, found.shape, dtype, found.backend)


def _of_floats(x: Any) -> DType:
    """Return the dtype, unless a backend has a default of its own for what it turns into floating-point numbers."""
    keeps = x.backend in NUMPY_RULES or (x.dtype is not None and x.dtype.kind in "fc")
    return x.dtype if keeps else None


def real(x: Any, /) -> LazyArray:
    """Return the real part."""
    return _same("real", x, real_dtype(operand(x).dtype))


def imag(x: Any, /) -> LazyArray:
    """Return the imaginary part."""
    return _same("imag", x, real_dtype(operand(x).dtype))


def angle(x: Any, /, deg: bool = False) -> LazyArray:
    """Return the argument of complex numbers."""
    whole = _of_floats(operand(x))
    dtype = real_dtype(whole)
    if whole is not None:
        # The imaginary part of a real number is Python's 0.
        dtype = ufunc_dtype(np.arctan2, (dtype if whole.kind == "c" else int, dtype))
    return _same("angle", x, dtype, **({"deg": True} if deg else {}))


def round(x: Any, /, decimals: int = 0, out: Any = None) -> LazyArray:  # noqa: A001
    """Return the nearest numbers with `decimals` places; halves go to the even one."""
    refuse_out(out)
    dtype = operand(x).dtype
    if dtype == BOOL and operator.index(decimals):
        raise TypeError("booleans have no decimals to be rounded to")
    if dtype is not None and dtype.kind not in "iuO":
        dtype = ufunc_dtype(np.rint, (dtype,))
    return _same("round", x, dtype, **({"decimals": decimals} if decimals else {}))


around = round


def clip(x: Any, /, min: Any = None, max: Any = None, out: Any = None) -> LazyArray:  # noqa: A002
    """Return `x` held between two bounds; ``None`` is no bound."""
    refuse_out(out)
    found = operand(x)
    bounds = [None if bound is None else operand(bound) for bound in (min, max)]
    given = [bound for bound in bounds if bound is not None]
    kinds: tuple[Any, ...] = (found.kind, *(bound.kind for bound in given))
    backend = common_backend([found, *given])
    shape = broadcast(found.shape, *(bound.shape for bound in given))
    if backend not in NUMPY_RULES:
        dtype = foreign_dtype(np.maximum, kinds[:2]) if len(given) == 1 else None
    elif given:
        if found.dtype is not None and found.dtype.kind in "SUV":
            ufunc_dtype(np.maximum, (found.dtype, found.dtype))
        dtype = result_type(kinds) if backend != "dask" or found.dtype != BOOL else None
        _check_bounds(bounds, dtype)
    else:
        dtype = ufunc_dtype(np.positive, (found.dtype,))
    args = (found.arg, *(None if bound is None else bound.arg for bound in bounds))
    return make(array_function("clip"), args, NO_KWARGS, shape, dtype, backend)


def _check_bounds(bounds: list[Any], dtype: DType) -> None:
    """Refuse bounds that leave nothing; one that takes nothing away, numpy passes over."""
    if dtype is None or dtype.kind not in "iu":
        return
    limits = np.iinfo(dtype)
    low, high = (bound.arg if bound is not None and bound.kind is int else None for bound in bounds)
    if low is not None and low > limits.max:
        check_scalar(low, dtype)
    if high is not None and high < limits.min:
        check_scalar(high, dtype)


def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """Return `x1` where `condition` holds, elsewhere `x2`; without them as `nonzero`."""
    if x1 is None and x2 is None:
        from lazycache.array.searching import nonzero

        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("either both or neither of x and y should be given")
    test, first, second = operand(condition), operand(x1), operand(x2)
    backend = common_backend((test, first, second))
    shape = broadcast(test.shape, first.shape, second.shape)
    if backend in NUMPY_RULES:
        dtype = result_type((first.kind, second.kind))
        if size_of(shape) != 0:
            for one in (first, second):
                check_scalar(one.arg, dtype)
    else:
        dtype = foreign_dtype(np.maximum, (first.kind, second.kind))
    return make(array_function("where"), (test.arg, first.arg, second.arg), NO_KWARGS, shape, dtype, backend)


def isclose(x1: Any, x2: Any, /, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> LazyArray:
    """Say where two arrays are equal within a tolerance."""
    first, second, options = _close(x1, x2, rtol, atol, equal_nan)
    shape = broadcast(first.shape, second.shape, *(operand(one).shape for one in (rtol, atol)))
    args = (first.arg, second.arg)
    return make(array_function("isclose"), args, options or NO_KWARGS, shape, BOOL, common_backend((first, second)))


def _close(x1: Any, x2: Any, rtol: Any, atol: Any, equal_nan: bool) -> tuple[Operand, Operand, dict[str, Any]]:
    """Return two arrays, and with what they are compared."""
    first, second = operand(x1), operand(x2)
    options: dict[str, Any] = {}
    tolerances = operand(rtol), operand(atol)
    dtypes = (first.dtype, second.dtype)
    if any(dtype is not None and dtype.kind in "SUVmM" for dtype in dtypes):
        _check_distance(first, second, *tolerances)
    if [one.arg for one in tolerances if one.kind is float] != [1e-05, 1e-08]:
        options = {"rtol": tolerances[0].arg, "atol": tolerances[1].arg}
    if equal_nan:
        options["equal_nan"] = True
    return first, second, options


def _check_distance(x: Operand, y: Operand, rtol: Operand, atol: Operand) -> None:
    """Refuse to measure distances where numpy has none."""
    if x.dtype is None or y.dtype is None or rtol.dtype is None or atol.dtype is None:
        return
    other = y.dtype if y.dtype.kind == "m" else result_type((y.dtype, float))
    allowed = ufunc_dtype(np.add, (atol.kind, ufunc_dtype(np.multiply, (rtol.kind, other))))
    ufunc_dtype(np.less_equal, (ufunc_dtype(np.absolute, (ufunc_dtype(np.subtract, (x.dtype, other)),)), allowed))


def allclose(x1: Any, x2: Any, /, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> LazyArray:
    """Say whether two arrays are equal within a tolerance."""
    first, second, options = _close(x1, x2, rtol, atol, equal_nan)
    broadcast(first.shape, second.shape, *(operand(one).shape for one in (rtol, atol)))
    args = (first.arg, second.arg)
    return make(array_function("allclose"), args, options or NO_KWARGS, (), BOOL, common_backend((first, second)))


def array_equal(x1: Any, x2: Any, /, equal_nan: bool = False) -> LazyArray:
    """Say whether two arrays have one shape and equal elements."""
    first, second = operand(x1), operand(x2)
    args = (first.arg, second.arg)
    options = {"equal_nan": True} if equal_nan else NO_KWARGS
    return make(array_function("array_equal"), args, options, (), BOOL, common_backend((first, second)))


def nan_to_num(x: Any, /, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> LazyArray:
    """Return the array with NaN and infinities replaced."""
    options = {"nan": nan, "posinf": posinf, "neginf": neginf}
    given = {name: operand(value).arg for name, value in options.items() if value is not None}
    if type(nan) is float and repr(nan) == "0.0":
        del given["nan"]
    return _same("nan_to_num", x, operand(x).dtype, **given)


def sinc(x: Any, /) -> LazyArray:
    """Return sin(pi x) / (pi x)."""
    dtype = _of_floats(operand(x))
    return _same("sinc", x, None if dtype is None else ufunc_dtype(np.multiply, (result_type((dtype, float)), float)))


def iscomplex(x: Any, /) -> LazyArray:
    """Say where the imaginary part is not zero."""
    return _same("iscomplex", x, BOOL)


def isreal(x: Any, /) -> LazyArray:
    """Say where the imaginary part is zero."""
    dtype = operand(x).dtype
    if dtype is not None and dtype.kind == "V":
        raise TypeError(f"elements of {dtype!r} have no imaginary part")
    return _same("isreal", x, BOOL)


def real_if_close(x: Any, /, tol: float = 100) -> LazyArray:
    """Return complex numbers as real ones if all are close to such, so that the dtype depends on values."""
    dtype = operand(x).dtype
    known = None if dtype is None or dtype.kind == "c" else dtype
    return _same("real_if_close", x, known, **({} if tol == 100 else {"tol": tol}))


def array_equiv(x1: Any, x2: Any, /) -> LazyArray:
    """Say whether two arrays have equal elements once they are broadcast."""
    first, second = operand(x1), operand(x2)
    args = (first.arg, second.arg)
    return make(array_function("array_equiv"), args, NO_KWARGS, (), BOOL, common_backend((first, second)))
