"""What tells apart functions of one name: their own code, and what they close over."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from lazycache import digests
from lazycache.errors import UnhashableError
from lazycache.expressions.keys import key
from lazycache.expressions.nodes import Node
from lazycache.purity.naming import name_of


def own_code_digest(function: Callable[..., Any]) -> bytes:
    """Return the digest of a function's own code, without what it holds and refers to."""
    from lazycache.fingerprint import fingerprint

    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, FunctionType):
        if hasattr(function, "__wrapped__"):
            return own_code_digest(function.__wrapped__)
        return hashlib.sha256("\0".join(name_of(function).unique).encode()).digest()
    # Defaults are arguments, and cells are counted elsewhere; either may hold what has no digest.
    code = function.__code__
    bare = FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)
    bare.__qualname__, bare.__module__ = function.__qualname__, function.__module__
    digest = fingerprint(bare, code="self", ignore=code.co_freevars).digest
    if not hasattr(function, "__wrapped__"):
        return digest
    return hashlib.sha256(digest + own_code_digest(function.__wrapped__)).digest()


def closure_token(function: Callable[..., Any]) -> bytes:
    """Return what stands for the content of a function's closure, as it is now.

    Functions in it count by name where that is enough, and else by their code
    and closures in turn; what has no digest counts by its type.

    Examples
    --------
    >>> def make(factor):
    ...     return lambda x: x * factor
    >>> closure_token(make(2)) == closure_token(make(2)), closure_token(make(2)) == closure_token(make(3))
    (True, False)
    """
    cells = getattr(function, "__closure__", None)
    return digests.token(_closure(function, {id(function)})) if cells else b""


def _closure(function: Any, above: set[int]) -> tuple[Any, ...]:
    parts = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            parts.append(_stand_in(cell.cell_contents, above))
        except ValueError:
            # Not assigned yet: a function that is defined further down.
            parts.append(("unset",))
    return tuple(parts)


def _stand_in(value: Any, above: set[int]) -> tuple[Any, ...]:
    """Return plain data that stands for a value in a closure."""
    if id(value) in above:
        return ("above",)
    if isinstance(value, Node):
        return "node", bytes(key(value))
    if isinstance(value, ModuleType):
        return "module", value.__name__
    above = above | {id(value)}
    if getattr(value, "is_pure", False) is True:
        return "pure", value.version, _stand_in(value._function, above)
    if isinstance(value, FunctionType):
        name = name_of(value)
        code = b"" if name.is_complete else own_code_digest(value)
        return "function", name.unique, code, _closure(value, above)
    if isinstance(value, MethodType):
        return "method", _stand_in(value.__func__, above), _stand_in(value.__self__, above)
    if isinstance(value, functools.partial):
        bound = [_stand_in(part, above) for part in (*value.args, *value.keywords.values())]
        return "partial", _stand_in(value.func, above), tuple(value.keywords), tuple(bound)
    try:
        return "value", digests.token(value)
    except UnhashableError:
        return "type", f"{type(value).__module__}.{type(value).__qualname__}"
