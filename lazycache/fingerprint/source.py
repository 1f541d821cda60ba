"""The text of a function, taken only when it is the code that runs.

A file may be edited while its old code still runs, and several lambdas may
stand on one line. So a text is looked up, compiled, and compared with the
running code object; what differs is not its text.
"""

import __future__

import ast
import functools
import linecache
import os
import stat
import weakref
from collections.abc import Callable, Iterator
from operator import or_
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from .codes import encode_code, encode_untexted, names_in_code, nested_codes
from .names import Names, find_names
from .syntax import FunctionNode, encode_tree

_FUTURE_FLAGS: int = functools.reduce(
    or_, [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
)


class Text(NamedTuple):
    """What a function's code says.

    Attributes
    ----------
    tree : bytes
        Its syntax tree, or its code object where there is no text.
    names : Names
        What it refers to.
    mismatch : str or None
        Why the text that was found is not the code that runs.
    """

    tree: bytes
    names: Names
    mismatch: str | None = None


class _Candidate(NamedTuple):
    node: FunctionNode
    qualname: str

    def first_line(self) -> int:
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        return min([self.node.lineno, *(item.lineno for item in decorators)])


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PLAIN_LOADERS = frozenset({"_frozen_importlib", "_frozen_importlib_external", "zipimport"})
_texts: dict[int, tuple["weakref.ref[CodeType]", Text]] = {}


def text_of(function: FunctionType, is_invisible: Callable[[ast.expr], bool]) -> Text:
    """Return the text of a function.

    Parameters
    ----------
    function : function
    is_invisible : callable
        Says of a decorator's expression that it does not count.
    """
    code = function.__code__
    known = _texts.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    text = _find_text(function, is_invisible)
    if text.mismatch is None:
        # By identity: equal code objects may come from texts that differ.
        place = id(code)
        _texts[place] = (weakref.ref(code, lambda _: _texts.pop(place, None)), text)
    return text


def _find_text(function: FunctionType, is_invisible: Callable[[ast.expr], bool]) -> Text:
    code = function.__code__
    source = find_source(code.co_filename, function.__globals__)
    if source is None:
        return Text(encode_untexted(code), names_in_code(code))
    node = source.find(code)
    if node is not None:
        decorators = enumerate(getattr(node, "decorator_list", ()))
        without = frozenset(index for index, expression in decorators if is_invisible(expression))
        return Text(encode_tree(node, without=without), find_names(node))
    mismatch = None
    if not _is_transformed(function):
        mismatch = f"{code.co_filename} does not hold the code of {code.co_qualname} that runs; was it edited?"
    return Text(encode_untexted(code), names_in_code(code), mismatch)


def _is_transformed(function: FunctionType) -> bool:
    """Whether an import hook rewrites the text of this module, as test runners do with asserts."""
    loader = getattr(function.__globals__.get("__spec__"), "loader", None)
    return loader is not None and type(loader).__module__ not in _PLAIN_LOADERS


class Source:
    """The text of one file or notebook cell, parsed."""

    def __init__(self, text: str | bytes) -> None:
        try:
            self._tree: ast.Module | None = ast.parse(text)
        except (SyntaxError, ValueError):
            # A file in the middle of an edit: then no text matches.
            self._tree = None

    def find(self, code: CodeType) -> FunctionNode | None:
        """Return the function whose code this is, if it stands here."""
        wanted = encode_code(code)
        imports = sorted(self._imports & _all_names(code))
        candidates = [item for item in self._candidates(code.co_name) if _compiles_to(item, code, wanted, imports)]
        if not candidates:
            return None
        return min(candidates, key=lambda item: _distance(item, code)).node

    def encode(self) -> bytes:
        """Return the bytes of the whole syntax tree."""
        return b"" if self._tree is None else encode_tree(self._tree)

    def _candidates(self, name: str) -> tuple[_Candidate, ...]:
        if self._tree is None:
            return ()
        return self._index.get(name, ())

    @functools.cached_property
    def _imports(self) -> frozenset[str]:
        """The names that the module level imports: methods of these are called by other instructions."""
        return frozenset(_imported(self._tree) if self._tree else ())

    @functools.cached_property
    def _index(self) -> dict[str, tuple[_Candidate, ...]]:
        index: dict[str, list[_Candidate]] = {}
        for candidate in _functions(self._tree) if self._tree else ():
            index.setdefault(_name(candidate.node), []).append(candidate)
        return {name: tuple(found) for name, found in index.items()}


def _name(node: FunctionNode) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _functions(tree: ast.Module) -> Iterator[_Candidate]:
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, prefix = stack.pop()
        if isinstance(node, FunctionNode):
            qualname = prefix + _name(node)
            yield _Candidate(node, qualname)
            prefix = qualname + ".<locals>."
        elif isinstance(node, ast.ClassDef):
            prefix += node.name + "."
        stack.extend((child, prefix) for child in ast.iter_child_nodes(node))


def _imported(tree: ast.Module) -> Iterator[str]:
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Module | ast.stmt | ast.ExceptHandler) and not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


def _all_names(code: CodeType) -> frozenset[str]:
    return frozenset(name for item in nested_codes(code) for name in item.co_names)


def _distance(candidate: _Candidate, code: CodeType) -> tuple[bool, bool, int, int]:
    """How far a text that fits is from the place where the running code says it stands."""
    node = candidate.node
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    inside = all(start <= place <= end for place in places)
    lines = abs(candidate.first_line() - code.co_firstlineno)
    return candidate.qualname != code.co_qualname, not inside, lines, node.col_offset


def _compiles_to(candidate: _Candidate, code: CodeType, wanted: bytes, imports: list[str]) -> bool:
    """Compile a function by itself, in scopes like those of the running one, and compare.

    A notebook compiles each statement of a cell by itself, so that there the imports are not seen.
    """
    return _compiled(candidate, code, imports) == wanted or (bool(imports) and _compiled(candidate, code, []) == wanted)


def _compiled(candidate: _Candidate, code: CodeType, imports: list[str]) -> bytes | None:
    holder = _hold(candidate, code, [name for name in code.co_freevars if name != "__class__"])
    if imports:
        holder.body[:0] = ast.parse("import " + ", ".join(imports)).body
    try:
        compiled = compile(holder, code.co_filename, "exec", code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    except SyntaxError:
        return None
    found = next((item for item in nested_codes(compiled) if item.co_name == code.co_name), None)
    return None if found is None else encode_code(found)


def _hold(candidate: _Candidate, code: CodeType, free: list[str]) -> ast.Module:
    """Wrap a function in the scopes that its code had.

    They decide what its free variables and private names mean, and what classes in it are called.
    """
    module = ast.Module(body=[], type_ignores=[])
    inner: list[ast.stmt] = module.body
    steps = _enclosing(code.co_qualname)
    if free and not any(is_function for _, is_function in steps):
        steps.insert(0, ("hold", True))
    for name, is_function in steps:
        words = f"def hold({', '.join(free)}): pass" if is_function else "class hold: pass"
        scope = ast.parse(words).body[0]
        assert isinstance(scope, ast.FunctionDef | ast.ClassDef)
        scope.name = name
        inner.append(scope)
        inner = scope.body = []
        free = [] if is_function else free
    inner.append(_as_statement(candidate.node))
    return module


def _enclosing(qualname: str) -> list[tuple[str, bool]]:
    """Return the names of the scopes around a function, and whether each is a function."""
    names = qualname.split(".")[:-1]
    return [
        (name, names[index + 1 : index + 2] == ["<locals>"]) for index, name in enumerate(names) if name != "<locals>"
    ]


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


def find_source(path: str, module_globals: dict[str, Any]) -> Source | None:
    """Return the parsed text behind a code object's file name, or None where there is none."""
    entry = linecache.cache.get(path)
    if entry is not None and len(entry) == 4 and entry[1] is None:
        return _parse_cell("".join(entry[2]))
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        status = None
    if status is not None and stat.S_ISREG(status.st_mode):
        return _parse_file(path, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    lines = linecache.getlines(path, module_globals)
    return _parse_cell("".join(lines)) if lines else None


@functools.lru_cache(maxsize=16)
def _parse_file(path: str, _stamp: tuple[int, int, int]) -> Source:
    with open(path, "rb") as file:
        return Source(file.read())


@functools.lru_cache(maxsize=16)
def _parse_cell(lines: str) -> Source:
    return Source(lines)
