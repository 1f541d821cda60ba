"""What a function is called: for people, and in keys."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, NamedTuple

_MAIN = ("__main__", "__mp_main__")


class Name(NamedTuple):
    """The names of a function.

    Attributes
    ----------
    shown : str
        ``module.qualname``, for people.
    unique : tuple of str
        Where it is defined and what it is called there; goes into keys.
    is_complete : bool
        Whether no other function can have the same `unique`. Lambdas, nested
        functions and code that comes from no file do not have such a name.
    """

    shown: str
    unique: tuple[str, ...]
    is_complete: bool


def name_of(function: Callable[..., Any]) -> Name:
    """Return the names of a function, or of another callable.

    Examples
    --------
    >>> import json
    >>> name_of(json.dumps)
    Name(shown='json.dumps', unique=('json', 'dumps'), is_complete=True)
    >>> name_of(lambda x: x).is_complete
    False
    """
    module = getattr(function, "__module__", None) or type(function).__module__
    qualname = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if qualname is None:
        qualname = type(function).__qualname__
    named = "<" not in qualname
    inside = _hidden_name(function, qualname)
    code: CodeType | None = getattr(function, "__code__", None)
    if module in _MAIN:
        # A spawned worker knows the script under the second name.
        script = _script(function)
        return Name(f"__main__.{qualname}", (script or "__main__", qualname, *inside), named and script is not None)
    from_file = code is None or not code.co_filename.startswith("<")
    return Name(_shown(module, qualname), (module, qualname, *inside), named and from_file)


def _shown(module: str, qualname: str) -> str:
    """Return a name for people; they know objects of ours that can be called, such as a Function, by their class."""
    if module.partition(".")[0] == __name__.partition(".")[0] and qualname.endswith(".__call__"):
        return qualname.removesuffix(".__call__")
    return f"{module}.{qualname}"


def _hidden_name(function: Callable[..., Any], qualname: str) -> tuple[str, ...]:
    """Return the own name of a wrapper that took the name of what it wraps."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is not None:
        return () if code.co_qualname == qualname else (code.co_qualname,)
    return (type(function).__qualname__,) if hasattr(function, "__wrapped__") else ()


def _script(function: Callable[..., Any]) -> str | None:
    """Return the real path of the script that is ``__main__``; None in a notebook or a shell."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        path = getattr(sys.modules.get("__main__"), "__file__", None)
    else:
        path = getattr(function, "__globals__", {}).get("__file__")
        if path is not None and os.path.basename(code.co_filename) != os.path.basename(path):
            # Code that came by value from another process, or that a cell, or `exec`, defined in this namespace.
            path = path if _travelled(function) else None
    return None if path is None else os.path.realpath(path)


def _travelled(function: Callable[..., Any]) -> bool:
    from lazycache.fingerprint.source import find_in_module

    return isinstance(function, FunctionType) and find_in_module(function) is not None


def source_file_of(function: Callable[..., Any]) -> str:
    """Return the real path of the file with the function's code, or an empty text."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None or code.co_filename.startswith("<"):
        return ""
    return os.path.realpath(code.co_filename)
