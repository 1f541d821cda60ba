"""A function as a unit: its text, its defaults, its closure, and what it refers to."""

import ast
import functools
from types import FunctionType, ModuleType

from .names import chain_of
from .natives import part, text
from .owners import find_member, is_own_function, module_name
from .references import changes, encode_references, find_owner
from .source import text_of
from .walk import ADVICE, At, Walk
from .watch import MISSING, get_cell


def encode_function(walk: Walk, function: FunctionType, at: At, owner: type | None = None) -> bytes:
    """Return the number of a function of the user's own, or the name of an installed one."""
    if is_own_function(function):
        return walk.unit(function, lambda: _write_own(walk, function, at, owner))
    return _encode_installed(walk, function, at)


def _write_own(walk: Walk, function: FunctionType, at: At, owner: type | None) -> bytes:
    found = text_of(function, functools.partial(_is_invisible, function))
    walk.note(found.mismatch)
    walk.watch.function(function)
    name = function.__qualname__
    parts = [part(b"text", found.tree), *_encode_defaults(walk, function, at)]
    changed = {chain[0] for chain in found.names.chains if changes(chain)} | found.names.rebound
    for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if at.ignores(variable, f"{name}.{variable}"):
            continue
        content = get_cell(cell)
        walk.watch.cell(cell, content)
        if variable in changed and _can_change(content, found.names.rebound, variable):
            raise walk.error(f"the closure variable `{variable}` of {name} is changed by the code; {ADVICE}")
        where = f"the closure variable `{variable}` of {name}"
        token = part(b"unset") if content is MISSING else walk.encode(content, at.to(where, "held"))
        parts.append(text(b"cell", variable) + token)
    if "__wrapped__" in vars(function):
        wrapped = vars(function)["__wrapped__"]
        walk.watch.name(vars(function), "__wrapped__", wrapped)
        parts.append(part(b"wraps", walk.encode(wrapped, at)))
    if at.deep:
        parts += encode_references(walk, function, found.names, owner or find_owner(function, walk.homes), at)
    return b"".join(parts)


def _can_change(content: object, rebound: frozenset[str], variable: str) -> bool:
    return variable in rebound or isinstance(content, list | dict | set)


def _encode_defaults(walk: Walk, function: FunctionType, at: At) -> list[bytes]:
    where = f"a default of {function.__qualname__}"
    defaults = function.__defaults__ or ()
    by_name = sorted((function.__kwdefaults__ or {}).items())
    if function.__kwdefaults__:
        walk.watch.container(function.__kwdefaults__, dict.values)
    return [
        part(b"defaults", *(walk.encode(value, at.to(where, "held")) for value in defaults)),
        part(b"named", *(text(b"s", name) + walk.encode(value, at.to(where, "held")) for name, value in by_name)),
    ]


def _encode_installed(walk: Walk, function: FunctionType, at: At) -> bytes:
    """Code of an installed package counts by name, but it may hold functions of the user's own."""
    code = function.__code__
    module = str(function.__globals__.get("__name__"))
    name = text(b"installed", f"{module_name(module)}.{code.co_qualname}")
    if "<locals>" not in code.co_qualname and "__wrapped__" not in vars(function):
        return name
    return walk.unit(function, lambda: _write_installed(walk, function, name, at))


def _write_installed(walk: Walk, function: FunctionType, name: bytes, at: At) -> bytes:
    walk.watch.function(function)
    foreign = at.to(f"what {function.__qualname__} holds", "foreign")
    parts = [name]
    for cell in function.__closure__ or ():
        content = get_cell(cell)
        walk.watch.cell(cell, content)
        parts.append(part(b"cell", b"" if content is MISSING else walk.encode(content, foreign)))
    if "__wrapped__" in vars(function):
        parts.append(part(b"wraps", walk.encode(vars(function)["__wrapped__"], at)))
    return b"".join(parts)


def _is_invisible(function: FunctionType, decorator: ast.expr) -> bool:
    """Whether a decorator is lazycache's own: changing its options does not change the function."""
    chain = chain_of(decorator.func if isinstance(decorator, ast.Call) else decorator)
    if chain is None:
        return False
    root, *rest = chain
    held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    value = get_cell(held[root]) if root in held else function.__globals__.get(root, MISSING)
    if value is MISSING:
        # Imported inside an enclosing function, and gone: only the name is left to go by.
        return chain[-1] == "pure"
    if isinstance(value, ModuleType) and rest:
        value = find_member(value, ".".join(rest))
    while isinstance(value, functools.partial):
        value = value.func
    return str(getattr(value, "__module__", "")).partition(".")[0] == "lazycache"
