"""The one table of functions that work element by element.

It feeds the operators of LazyArray, the functions of the namespace, what numpy's
own ufuncs become, the printing of programs, and the tests.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from lazycache.array.functions import OPERATORS, ArrayFunction, array_function
from lazycache.expressions.operators import BINARY, UNARY_OPERATORS, Kind


class Elementwise(NamedTuple):
    """One row of the table.

    Attributes
    ----------
    name : str
        As the array API standard, or else numpy, calls it.
    ufunc : numpy.ufunc
        Whose rules for dtypes it has.
    method : str
        The special method that means it; empty if there is none.
    aliases : tuple of str
        Other names in the namespace.
    """

    name: str
    ufunc: np.ufunc
    method: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def function(self) -> ArrayFunction:
        """What its nodes call."""
        return array_function(self.name)


TABLE: tuple[Elementwise, ...] = (
    Elementwise("abs", np.absolute, "__abs__", ("absolute",)),
    Elementwise("acos", np.arccos, aliases=("arccos",)),
    Elementwise("acosh", np.arccosh, aliases=("arccosh",)),
    Elementwise("add", np.add, "__add__"),
    Elementwise("asin", np.arcsin, aliases=("arcsin",)),
    Elementwise("asinh", np.arcsinh, aliases=("arcsinh",)),
    Elementwise("atan", np.arctan, aliases=("arctan",)),
    Elementwise("atan2", np.arctan2, aliases=("arctan2",)),
    Elementwise("atanh", np.arctanh, aliases=("arctanh",)),
    Elementwise("bitwise_and", np.bitwise_and, "__and__"),
    Elementwise("bitwise_invert", np.invert, "__invert__", ("invert", "bitwise_not")),
    Elementwise("bitwise_left_shift", np.left_shift, "__lshift__", ("left_shift",)),
    Elementwise("bitwise_or", np.bitwise_or, "__or__"),
    Elementwise("bitwise_right_shift", np.right_shift, "__rshift__", ("right_shift",)),
    Elementwise("bitwise_xor", np.bitwise_xor, "__xor__"),
    Elementwise("cbrt", np.cbrt),
    Elementwise("ceil", np.ceil),
    Elementwise("conj", np.conjugate, aliases=("conjugate",)),
    Elementwise("copysign", np.copysign),
    Elementwise("cos", np.cos),
    Elementwise("cosh", np.cosh),
    Elementwise("deg2rad", np.deg2rad),
    Elementwise("degrees", np.degrees),
    Elementwise("divide", np.true_divide, "__truediv__", ("true_divide", "truedivide")),
    Elementwise("equal", np.equal, "__eq__"),
    Elementwise("exp", np.exp),
    Elementwise("exp2", np.exp2),
    Elementwise("expm1", np.expm1),
    Elementwise("fabs", np.fabs),
    Elementwise("float_power", np.float_power),
    Elementwise("floor", np.floor),
    Elementwise("floor_divide", np.floor_divide, "__floordiv__", ("floordivide",)),
    Elementwise("fmax", np.fmax),
    Elementwise("fmin", np.fmin),
    Elementwise("fmod", np.fmod),
    Elementwise("gcd", np.gcd),
    Elementwise("greater", np.greater, "__gt__"),
    Elementwise("greater_equal", np.greater_equal, "__ge__"),
    Elementwise("heaviside", np.heaviside),
    Elementwise("hypot", np.hypot),
    Elementwise("isfinite", np.isfinite),
    Elementwise("isinf", np.isinf),
    Elementwise("isnan", np.isnan),
    Elementwise("isnat", np.isnat),
    Elementwise("lcm", np.lcm),
    Elementwise("ldexp", np.ldexp),
    Elementwise("less", np.less, "__lt__"),
    Elementwise("less_equal", np.less_equal, "__le__"),
    Elementwise("log", np.log),
    Elementwise("log10", np.log10),
    Elementwise("log1p", np.log1p),
    Elementwise("log2", np.log2),
    Elementwise("logaddexp", np.logaddexp),
    Elementwise("logaddexp2", np.logaddexp2),
    Elementwise("logical_and", np.logical_and),
    Elementwise("logical_not", np.logical_not),
    Elementwise("logical_or", np.logical_or),
    Elementwise("logical_xor", np.logical_xor),
    Elementwise("maximum", np.maximum),
    Elementwise("minimum", np.minimum),
    Elementwise("multiply", np.multiply, "__mul__"),
    Elementwise("negative", np.negative, "__neg__"),
    Elementwise("nextafter", np.nextafter),
    Elementwise("not_equal", np.not_equal, "__ne__"),
    Elementwise("positive", np.positive, "__pos__"),
    Elementwise("pow", np.power, "__pow__", ("power",)),
    Elementwise("rad2deg", np.rad2deg),
    Elementwise("radians", np.radians),
    Elementwise("reciprocal", np.reciprocal),
    Elementwise("remainder", np.remainder, "__mod__", ("mod",)),
    Elementwise("rint", np.rint),
    Elementwise("sign", np.sign),
    Elementwise("signbit", np.signbit),
    Elementwise("sin", np.sin),
    Elementwise("sinh", np.sinh),
    Elementwise("spacing", np.spacing),
    Elementwise("sqrt", np.sqrt),
    Elementwise("square", np.square),
    Elementwise("subtract", np.subtract, "__sub__"),
    Elementwise("tan", np.tan),
    Elementwise("tanh", np.tanh),
    Elementwise("trunc", np.trunc),
)

BY_NAME: dict[str, Elementwise] = {name: row for row in TABLE for name in (row.name, *row.aliases)}
BY_METHOD: dict[str, Elementwise] = {row.method: row for row in TABLE if row.method}
BY_UFUNC: dict[np.ufunc, Elementwise] = {row.ufunc: row for row in TABLE}

_SYMBOLS = {row.method: row for row in (*BINARY, *UNARY_OPERATORS)}


def _register_operators() -> None:
    for method, row in BY_METHOD.items():
        written = _SYMBOLS.get(method)
        # numpy looks at `x == y` and `x != y`, which the table of lazy expressions does not have.
        function = getattr(operator, method)
        symbol = written.symbol if written else {"__eq__": "==", "__ne__": "!="}[method]
        kind: Kind = ("infix" if row.ufunc.nin == 2 else "prefix") if symbol else "call"
        precedence: Any = written.precedence if written else _SYMBOLS["__lt__"].precedence
        OPERATORS[row.name] = ArrayFunction(row.name, function, symbol or None, kind=kind, precedence=precedence)
    matmul = _SYMBOLS["__matmul__"]
    OPERATORS["matmul"] = ArrayFunction(
        "matmul", operator.matmul, matmul.symbol, kind="infix", precedence=matmul.precedence
    )
    OPERATORS["getitem"] = ArrayFunction("getitem", operator.getitem, None, kind="index")


_register_operators()
