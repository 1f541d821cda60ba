"""What is checked when a function is made pure, with messages that say what was expected."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from lazycache import digests, settings
from lazycache.errors import PurityError, SettingError, UnhashableError
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import Node
from lazycache.files import Hasher, ignore
from lazycache.purity.bound import BoundPure
from lazycache.purity.callee import Options, PureFunction
from lazycache.purity.naming import name_of

_CODES = ("deep", "self", "none")


class Wanted(NamedTuple):
    """What `pure` was told."""

    version: Any
    name: str | None
    hashers: Mapping[str, Hasher]
    ignore: tuple[str, ...]
    depends: tuple[Any, ...]
    code: str
    options: Options


def refuse(function: Any, reason: str) -> NoReturn:
    """Raise the error that says why a function cannot be made pure as asked."""
    raise PurityError(function=_described(function), reason=reason)


def _described(function: Any) -> str:
    if isinstance(function, str):
        return function
    if callable(function) and not isinstance(function, Node | PureFunction | BoundPure | functools.partial):
        return name_of(function).shown
    return f"a {type(function).__name__}"


def check_callable(function: Any) -> None:
    """Refuse what is no function, and what is pure already."""
    if isinstance(function, Node):
        refuse(
            function, "expected a function, got a lazy expression; pass the function itself, not what a call returned"
        )
    if isinstance(function, PureFunction | BoundPure):
        refuse(function, f"{function!r} is pure already")
    if isinstance(function, property | functools.cached_property):
        refuse(function, "expected a function, got a property; put @property above @pure")
    if isinstance(function, type):
        refuse(function, "expected a function, got a class; make a function that returns the instance pure")
    if not callable(function):
        text = repr(function)
        shown = text if len(text) <= 60 else f"a {type(function).__name__}"
        hint = f"; to give a version, write @pure(version={shown})" if isinstance(function, int | str) else ""
        raise PurityError(function=f"a {type(function).__name__}", reason=f"expected a function, got {shown}{hint}")


def check_kind(function: Any) -> None:
    """Refuse functions that return before their work is done."""
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        refuse(_innermost(function), "a generator function; return a list or an array of what it yields")
    if inspect.iscoroutinefunction(function) or _is_old_coroutine(function):
        refuse(_innermost(function), "a coroutine function; make it an ordinary one, or run the coroutine inside it")
    # lru_cache and the like hand out what the function inside returns.
    inner = getattr(function, "__wrapped__", None)
    if inner is not None and not isinstance(function, FunctionType):
        check_kind(inner)


def _is_old_coroutine(function: Any) -> bool:
    code: CodeType | None = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & inspect.CO_ITERABLE_COROUTINE)


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def is_instance(function: Any) -> bool:
    """Say whether a callable is an object of which the state counts, and not a function."""
    if isinstance(function, FunctionType | BuiltinFunctionType | MethodType | functools.partial | np.ufunc):
        return False
    # Curried functions copy the name of the function inside, but hold arguments too.
    if isinstance(type(function).__call__, FunctionType) or hasattr(function, "keywords"):
        return True
    # What has a name of its own is known by that, e.g. lru_cache's wrappers and method descriptors.
    return not isinstance(getattr(function, "__qualname__", None), str)


def check_rules(shown: str, signature: inspect.Signature, wanted: Wanted) -> tuple[tuple[str, Hasher], ...]:
    """Return the hasher of each parameter that has one."""
    parameters = ", ".join(signature.parameters) or "none"
    if not isinstance(wanted.hashers, Mapping):
        refuse(shown, f"hashers must be a dict such as {{'filename': hash_by_file_date}}, got {wanted.hashers!r}")
    for name, hasher in wanted.hashers.items():
        if name not in signature.parameters:
            refuse(shown, f"hashers names {name!r}, which is no parameter (there are: {parameters})")
        if not callable(hasher):
            refuse(shown, f"the hasher of {name!r} must be a callable, got {hasher!r}")
        if name in wanted.ignore:
            refuse(shown, f"{name!r} is both in hashers and in ignore")
    rules = dict(wanted.hashers)
    for name in wanted.ignore:
        if name in signature.parameters:
            rules[name] = ignore
    return tuple(rules.items())


def check_ignored_globals(shown: str, subject: Any, names: tuple[str, ...], parameters: str) -> None:
    """Refuse names in `ignore` that are neither parameters nor anything that the code refers to."""
    if not names:
        return
    known = _names_around(subject)
    for name in names:
        if not isinstance(name, str) or ("." not in name and name not in known):
            refuse(
                shown,
                f"ignore names {name!r}, which is no parameter (there are: {parameters}) and no global of its "
                "module; one of another module is written 'module.name', a closure variable of a helper 'helper.name'",
            )


def _names_around(subject: Any) -> set[str]:
    """Return the names that a function, and what it wraps and closes over, can refer to."""
    names: set[str] = set()
    seen: set[int] = set()
    stack = [subject]
    while stack:
        function = stack.pop()
        if isinstance(function, functools.partial):
            function = function.func
        code: CodeType | None = getattr(function, "__code__", None)
        if id(function) in seen or (code is None and not hasattr(function, "__wrapped__")):
            continue
        seen.add(id(function))
        stack.append(getattr(function, "__wrapped__", None))
        if code is not None:
            names |= _names_in(code) | set(function.__globals__)
            stack.extend([cell.cell_contents for cell in function.__closure__ or () if _is_set(cell)])
    return names


def _is_set(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names_in(code: CodeType) -> set[str]:
    names: set[str] = set()
    stack = [code]
    while stack:
        code = stack.pop()
        names.update(code.co_names, code.co_freevars)
        stack.extend([const for const in code.co_consts if isinstance(const, CodeType)])
    return names


def check_options(shown: str, wanted: Wanted) -> float | None:
    """Refuse options of a kind that cannot work; return the age in seconds up to which results count."""
    if wanted.name is not None and (not isinstance(wanted.name, str) or not wanted.name):
        refuse(shown, f"name must be a text that is not empty, got {wanted.name!r}")
    if wanted.code not in _CODES:
        refuse(shown, f"code must be one of {', '.join(map(repr, _CODES))}, got {wanted.code!r}")
    n_outputs = wanted.options.n_outputs
    if n_outputs is not None and (type(n_outputs) is not int or n_outputs < 1):
        refuse(shown, f"n_outputs must be a positive int, got {n_outputs!r}")
    for name in ("chunks", "shards"):
        cut = getattr(wanted.options, name)
        sizes = cut if isinstance(cut, tuple | list) else (cut,)
        if cut not in (None, "auto") and not all(isinstance(size, int | np.integer) and size > 0 for size in sizes):
            refuse(shown, f"{name} must be a positive int or a tuple of these, got {cut!r}")
    if type(wanted.options.store) is not bool:
        refuse(shown, f"store must be True or False, got {wanted.options.store!r}")
    try:
        digests.token(wanted.version, path="version")
    except UnhashableError as error:
        refuse(shown, f"{error}; a version is an int, a text, or a tuple of these")
    return _check_age(shown, wanted.options)


def _check_age(shown: str, options: Options) -> float | None:
    if options.max_age is None:
        return None
    if not options.store:
        refuse(shown, "max_age is for results that are stored; leave out store=False")
    try:
        return settings.age(options.max_age)
    except SettingError as error:
        refuse(shown, str(error))


def freeze_partial(
    shown: str, function: functools.partial[Any], signature: inspect.Signature
) -> tuple[functools.partial[Any], tuple[Any, ...]]:
    """Return a partial that the caller cannot change, and what of it belongs to the identity.

    Keywords that are parameters do not: they are bound, like defaults, in each call.
    """
    if find_nodes((*function.args, *function.keywords.values())):
        refuse(shown, "a partial that holds a lazy expression; pass the expression in the call")
    extra = {name: value for name, value in sorted(function.keywords.items()) if name not in signature.parameters}
    (args, extra), _ = digests.snapshot((function.args, extra), path="the arguments of the partial")
    return functools.partial(function.func, *args, **{**function.keywords, **extra}), (args, extra)
