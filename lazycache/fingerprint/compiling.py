"""Whether a text is the code that runs: compiled, and compared."""

import __future__

import ast
import functools
from operator import or_
from types import CodeType
from typing import Any

from .codes import encode_code, nested_codes
from .syntax import FunctionNode

_FUTURE_FLAGS: int = functools.reduce(
    or_, [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
)
# Made by hand, since the compiler has names that no text could have.
_PLACE: dict[str, Any] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


def compiles_to(node: FunctionNode, code: CodeType, wanted: bytes, imports: list[str]) -> bool:
    """Return whether a text, compiled by itself in scopes like those of the running code, gives that code.

    Parameters
    ----------
    node : FunctionDef, AsyncFunctionDef or Lambda
    code : code object
        The one that runs.
    wanted : bytes
        What `encode_code` makes of it.
    imports : list of str
        Names that the module level of the text imports: methods of these are called by other instructions.
        A notebook compiles each statement of a cell by itself, so both ways are tried.
    """
    return _compile(node, code, imports) == wanted or (bool(imports) and _compile(node, code, []) == wanted)


def _compile(node: FunctionNode, code: CodeType, imports: list[str]) -> bytes | None:
    steps = _enclosing(code)
    holder = _hold(node, steps, [name for name in code.co_freevars if name != "__class__"])
    if imports:
        names = [ast.alias(name, **_PLACE) for name in imports]
        holder.body.insert(0, ast.Import(names, **_PLACE))
    try:
        outer = compile(holder, code.co_filename, "exec", code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    except SyntaxError:
        return None
    for name, _ in steps:
        outer = next(item for item in nested_codes(outer, inside=True) if item.co_name == name)
    found = next((item for item in nested_codes(outer, inside=True) if item.co_name == code.co_name), None)
    return None if found is None else encode_code(found)


def _hold(node: FunctionNode, steps: list[tuple[str, bool]], free: list[str]) -> ast.Module:
    """Wrap a function in the scopes that its code had.

    They decide what its free variables and private names mean, and what classes in it are called.
    """
    module = ast.Module(body=[], type_ignores=[])
    inner: list[ast.stmt] = module.body
    for name, is_function in steps:
        scope = ast.FunctionDef(name, _parameters(free), [], [], **_PLACE) if is_function else _class(name)
        inner.append(scope)
        inner = scope.body
        free = [] if is_function else free
    inner.append(_as_statement(node))
    return module


def _parameters(names: list[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name, **_PLACE) for name in names], None, [], [], None, [])


def _class(name: str) -> ast.ClassDef:
    return ast.ClassDef(name, [], [], [], [], **_PLACE)


def _enclosing(code: CodeType) -> list[tuple[str, bool]]:
    """Return the names of the scopes around a function, and whether each is a function."""
    names = code.co_qualname.split(".")[:-1]
    steps = [
        (name, names[index + 1 : index + 2] == ["<locals>"]) for index, name in enumerate(names) if name != "<locals>"
    ]
    if code.co_freevars and not any(is_function for _, is_function in steps):
        steps.insert(0, ("<holder>", True))
    return steps


def _as_statement(node: FunctionNode) -> ast.stmt:
    if not isinstance(node, ast.Lambda):
        return node
    # The defaults may hold lambdas of their own, which would be found in place of this one.
    arguments = ast.arguments(
        posonlyargs=node.args.posonlyargs,
        args=node.args.args,
        vararg=node.args.vararg,
        kwonlyargs=node.args.kwonlyargs,
        kw_defaults=[None] * len(node.args.kwonlyargs),
        kwarg=node.args.kwarg,
        defaults=[],
    )
    bare = ast.copy_location(ast.Lambda(args=arguments, body=node.body), node)
    return ast.copy_location(ast.Expr(value=bare), node)
