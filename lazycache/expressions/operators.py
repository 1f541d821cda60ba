"""Operations, and the one table of operators.

The table feeds the methods of nodes, the printing of programs and the tests.
An operation is known by its name, so that it pickles as its name and is one
object in a process.
"""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

Kind = Literal["infix", "prefix", "call", "method", "attribute", "index", "apply"]

COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, POWER, PRIMARY, ATOM = range(11)
"""How tightly an expression binds, as in Python's grammar."""


class Operation:
    """What a call node calls when that is not a pure function.

    Parameters
    ----------
    name : str
        Its identity, and for functions also what is printed.
    function : callable
    kind : str
        How it is printed.
    symbol : str
        The operator, where it has one.
    precedence : int
    trusted : bool
        Whether it leaves its arguments alone.
    n_outputs : int, optional
    skipped : int
        How many arguments stand before those that a user would count.
    """

    __slots__ = ("function", "kind", "n_outputs", "name", "precedence", "skipped", "symbol", "token", "trusted")

    stored = False
    is_pure = False

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        kind: Kind = "call",
        symbol: str = "",
        precedence: int = PRIMARY,
        trusted: bool = True,
        n_outputs: int | None = None,
        skipped: int = 0,
    ) -> None:
        self.name = name
        self.function = function
        self.kind = kind
        self.symbol = symbol
        self.precedence = precedence
        self.trusted = trusted
        self.n_outputs = n_outputs
        self.skipped = skipped
        self.token = b"operation\0" + name.encode()

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the value of a call."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Operation({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return operation_named, (self.name, self.n_outputs)


class Operator(NamedTuple):
    """One row of the table.

    Attributes
    ----------
    method : str
        The special method that builds it.
    reflected : str
        The method for a node on the right only; empty if there is none.
    symbol : str
        Empty for those that are written as a call.
    function : callable
    precedence : int
    """

    method: str
    reflected: str
    symbol: str
    function: Callable[..., Any]
    precedence: int


BINARY: tuple[Operator, ...] = (
    Operator("__add__", "__radd__", "+", operator.add, SUM),
    Operator("__sub__", "__rsub__", "-", operator.sub, SUM),
    Operator("__mul__", "__rmul__", "*", operator.mul, PRODUCT),
    Operator("__truediv__", "__rtruediv__", "/", operator.truediv, PRODUCT),
    Operator("__floordiv__", "__rfloordiv__", "//", operator.floordiv, PRODUCT),
    Operator("__mod__", "__rmod__", "%", operator.mod, PRODUCT),
    Operator("__matmul__", "__rmatmul__", "@", operator.matmul, PRODUCT),
    Operator("__pow__", "__rpow__", "**", pow, POWER),
    Operator("__lshift__", "__rlshift__", "<<", operator.lshift, SHIFT),
    Operator("__rshift__", "__rrshift__", ">>", operator.rshift, SHIFT),
    Operator("__and__", "__rand__", "&", operator.and_, BIT_AND),
    Operator("__xor__", "__rxor__", "^", operator.xor, BIT_XOR),
    Operator("__or__", "__ror__", "|", operator.or_, BIT_OR),
    Operator("__divmod__", "__rdivmod__", "", divmod, PRIMARY),
    Operator("__lt__", "", "<", operator.lt, COMPARISON),
    Operator("__le__", "", "<=", operator.le, COMPARISON),
    Operator("__gt__", "", ">", operator.gt, COMPARISON),
    Operator("__ge__", "", ">=", operator.ge, COMPARISON),
)

UNARY_OPERATORS: tuple[Operator, ...] = (
    Operator("__neg__", "", "-", operator.neg, UNARY),
    Operator("__pos__", "", "+", operator.pos, UNARY),
    Operator("__invert__", "", "~", operator.invert, UNARY),
    Operator("__abs__", "", "", abs, PRIMARY),
)


def _call_method(target: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    return getattr(target, name)(*args, **kwargs)


def _apply(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _from_table(row: Operator, kind: Kind) -> Operation:
    name = row.method.strip("_")
    parts = 2 if row.function is divmod else None
    return Operation(name, row.function, kind if row.symbol else "call", row.symbol, row.precedence, n_outputs=parts)


GETITEM = Operation("getitem", operator.getitem, "index", "[]")
GETATTR = Operation("getattr", getattr, "attribute", ".")
METHOD = Operation("method", _call_method, "method", ".", trusted=False, skipped=2)
APPLY = Operation("apply", _apply, "apply", "()", trusted=False, skipped=1)
BINARY_OPERATIONS: dict[str, Operation] = {row.method: _from_table(row, "infix") for row in BINARY}
UNARY_OPERATIONS: dict[str, Operation] = {row.method: _from_table(row, "prefix") for row in UNARY_OPERATORS}

_named: dict[str, Operation] = {
    operation.name: operation
    for operation in (
        GETITEM,
        GETATTR,
        METHOD,
        APPLY,
        *BINARY_OPERATIONS.values(),
        *UNARY_OPERATIONS.values(),
    )
}


def operation_named(name: str, n_outputs: int | None = None) -> Operation:
    """Return the one operation of a name: of the table, or a library's function by its path.

    Raises
    ------
    LookupError
        If there is nothing of that name in this process.
    """
    found = _named.get(name)
    if found is None:
        function = _resolve(name)
        if function is None:
            raise LookupError(f"{name} is not there in this process: an expression that calls it cannot be read")
        found = _named.setdefault(name, Operation(name, function, n_outputs=n_outputs))
    return found


def operation_of(function: Callable[..., Any], name: str, n_outputs: int | None = None) -> Operation:
    """Return the operation that calls a library's function, known by where it is found.

    Raises
    ------
    TypeError
        If another function, or none, is found there.
    """
    found = _named.get(name)
    if found is not None and found.function is function:
        return found
    # Bound methods of ufuncs are made anew at each access, so they are equal and not identical.
    if _resolve(name) != function:
        raise TypeError(
            f"{name} cannot be found again by its name, so it has no identity in another process: "
            "make it a @pure function, and call that on the expression"
        )
    return _named.setdefault(name, Operation(name, function, n_outputs=n_outputs))


def _resolve(name: str) -> Any:
    """Return what a dotted path leads to, or None."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        module_name = ".".join(parts[:length])
        try:
            found: Any = sys.modules.get(module_name) or importlib.import_module(module_name)
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found
    return None
