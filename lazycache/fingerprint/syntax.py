"""A function's syntax tree as bytes that are the same in every Python version.

``ast.dump`` prints other text in other versions, so the tree is walked here.
Left out is what does not change what runs: positions, contexts, docstrings
and other statements that are only a string, annotations, and fields that are
empty (a version that adds a field leaves it empty for older code).
"""

import ast
from collections.abc import Iterator
from typing import Any

from .natives import encode_constant

_IGNORED_FIELDS = frozenset(
    {"annotation", "ctx", "kind", "returns", "simple", "type_comment", "type_ignores", "type_params"}
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def encode_tree(node: ast.AST, *, without: frozenset[int] = frozenset()) -> bytes:
    """Return the bytes of a tree.

    Parameters
    ----------
    node : ast.AST
        The root, usually a function.
    without : frozenset of int
        Indices of decorators of the root that do not count.

    Examples
    --------
    >>> one = ast.parse("def f(x: int):\\n    'Docs.'\\n    return x+1").body[0]
    >>> other = ast.parse("def f(x):\\n    return (x + 1)  # comment").body[0]
    >>> encode_tree(one) == encode_tree(other)
    True
    """
    out: list[bytes] = []
    stack: list[object] = [_without_decorators(node, without)]
    while stack:
        item = stack.pop()
        if isinstance(item, _Raw):
            out.append(item)
        elif isinstance(item, ast.AST):
            stack.append(_Raw(b")"))
            stack.extend(reversed(list(_node_parts(item))))
        elif isinstance(item, list):
            stack.append(_Raw(b"]"))
            stack.extend(reversed(item))
            out.append(b"[")
        else:
            out.append(encode_constant(item))
    return b"".join(out)


class _Raw(bytes):
    """Bytes that go out as they are, in contrast to a constant of type bytes."""

    __slots__ = ()


def _without_decorators(node: ast.AST, without: frozenset[int]) -> ast.AST:
    if not without or not isinstance(node, _FUNCTIONS):
        return node
    kept = [decorator for index, decorator in enumerate(node.decorator_list) if index not in without]
    fields = {name: getattr(node, name) for name in node._fields}
    return type(node)(**{**fields, "decorator_list": kept})


def _node_parts(node: ast.AST) -> Iterator[object]:
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        # An annotation must be addable and removable without a miss.
        plain = ast.Assign(targets=[node.target], value=node.value)
        yield from _node_parts(plain)
        return
    yield _Raw(b"(" + type(node).__name__.encode())
    if isinstance(node, ast.Constant | ast.MatchSingleton):
        yield node.value
        return
    for name in sorted(node._fields):
        if name in _IGNORED_FIELDS:
            continue
        value: Any = getattr(node, name, None)
        if isinstance(node, ast.ClassDef) and name == "body":
            value = [_class_statement(statement) for statement in value]
        if isinstance(value, list):
            value = _joined(value) if isinstance(node, ast.JoinedStr) else _without_strings(value)
        if value is None or value == []:
            continue
        yield _Raw(b"." + name.encode() + b" ")
        yield value


def _class_statement(statement: ast.stmt) -> object:
    """In a class body an annotation makes a field, so there it counts."""
    if isinstance(statement, ast.AnnAssign):
        return ["field", statement.target, statement.annotation, statement.value]
    return statement


def _without_strings(items: list[object]) -> list[object]:
    return [item for item in items if not _is_string_statement(item)]


def _is_string_statement(item: object) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def _joined(values: list[ast.expr]) -> list[object]:
    """The literal pieces of an f-string are cut in other places in other versions."""
    pieces: list[object] = []
    for value in values:
        if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            pieces.append(value)
        elif pieces and isinstance(pieces[-1], str):
            pieces[-1] += value.value
        elif value.value:
            pieces.append(value.value)
    return pieces
