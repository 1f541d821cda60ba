"""The text of a function, taken only when it is the code that runs.

A file may be edited while its old code still runs, and several lambdas may
stand on one line. So a text is looked up, compiled, and compared with the
running code object; what differs is not its text.
"""

import ast
import functools
import importlib.util
import linecache
import os
import stat
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from .blocks import find_block
from .codes import encode_code, encode_untexted, names_in_code, nested_codes
from .compiling import compiles_to
from .memo import IdentityMemo
from .names import Names, find_names
from .parsing import parse
from .syntax import FunctionNode, encode_tree


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
# The file that code pickled by value says it is from, whatever it was.
_TRAVELLED = "<dynamic-code>"
_texts: IdentityMemo[Text] = IdentityMemo()


def text_of(function: FunctionType, is_invisible: Callable[[ast.expr], bool]) -> Text:
    """Return the text of a function.

    Parameters
    ----------
    function : function
    is_invisible : callable
        Says of a decorator's expression that it does not count.
    """
    text = _texts.get(function.__code__)
    if text is None:
        text = _find_text(function, is_invisible)
        if text.mismatch is None:
            _texts.put(function.__code__, text)
    return text


def _find_text(function: FunctionType, is_invisible: Callable[[ast.expr], bool]) -> Text:
    code = function.__code__
    source = find_source(code.co_filename, function.__globals__)
    node = find_in_module(function) if source is None else source.find(function)
    if node is not None:
        decorators = enumerate(getattr(node, "decorator_list", ()))
        without = frozenset(index for index, expression in decorators if is_invisible(expression))
        return Text(encode_tree(node, without=without), find_names(node))
    mismatch = None
    if source is not None and source.is_file and not _is_transformed(function):
        mismatch = f"{code.co_filename} does not hold the code of {code.co_qualname} that runs; was it edited?"
    return Text(encode_untexted(code), names_in_code(code), mismatch)


def has_text(function: FunctionType) -> bool:
    """Return whether a function's code was written by somebody, in contrast to made by a program."""
    source = find_source(function.__code__.co_filename, function.__globals__)
    return (find_in_module(function) if source is None else source.find(function)) is not None


def find_in_module(function: FunctionType) -> FunctionNode | None:
    """Return the syntax tree of a function whose code lost its file name on a journey, if its module's file has it."""
    path = function.__globals__.get("__file__")
    if function.__code__.co_filename != _TRAVELLED or not isinstance(path, str):
        return None
    source = find_source(path, function.__globals__)
    return None if source is None else source.find_at_home(function)


def _is_transformed(function: FunctionType) -> bool:
    """Whether an import hook rewrites the text of this module, as test runners do with asserts."""
    loader = getattr(function.__globals__.get("__spec__"), "loader", None)
    return loader is not None and type(loader).__module__ not in _PLAIN_LOADERS


class Source:
    """The text of one file or notebook cell; it is parsed when that is needed.

    Attributes
    ----------
    is_file : bool
        Whether it could be edited: a cell keeps its text, so what is not in it comes from elsewhere.
    """

    def __init__(self, text: str, *, is_file: bool) -> None:
        self._text = text
        self.is_file = is_file

    def find(self, function: FunctionType) -> FunctionNode | None:
        """Return the syntax tree of a function, if its text stands here."""
        code = function.__code__
        wanted = encode_code(code)
        near = find_block(self._lines, code)
        if near is not None and compiles_to(near, code, wanted, _likely_imports(function)):
            return near
        imports = sorted(self._imports & _global_names(code))
        candidates = self._index.get(code.co_name, [])
        fitting = [item for item in candidates if compiles_to(item.node, code, wanted, imports)]
        return min(fitting, key=lambda item: _distance(item, code)).node if fitting else None

    def find_at_home(self, function: FunctionType) -> FunctionNode | None:
        """Return the syntax tree of a function that stands here under its own qualified name."""
        code = function.__code__
        wanted = encode_code(code)
        imports = sorted(self._imports & _global_names(code))
        for item in self._index.get(code.co_name, []):
            if item.qualname == code.co_qualname and compiles_to(item.node, code, wanted, imports):
                return item.node
        return None

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The whole syntax tree; an empty one for a file that is not Python, such as one in the middle of an edit."""
        try:
            return parse(self._text)
        except (SyntaxError, ValueError):
            return ast.Module(body=[], type_ignores=[])

    @functools.cached_property
    def _lines(self) -> list[str]:
        # Python counts lines by line feeds only, `str.splitlines` by more.
        return self._text.split("\n")

    @functools.cached_property
    def _imports(self) -> frozenset[str]:
        return frozenset(_imported(self.tree))

    @functools.cached_property
    def _index(self) -> dict[str, list[_Candidate]]:
        index: dict[str, list[_Candidate]] = {}
        for candidate in _functions(self.tree):
            index.setdefault(_name(candidate.node), []).append(candidate)
        return index


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


def _global_names(code: CodeType) -> frozenset[str]:
    return frozenset(name for item in nested_codes(code) for name in item.co_names)


def _likely_imports(function: FunctionType) -> list[str]:
    """The names that the module probably imports, by what they stand for now."""
    namespace = function.__globals__
    here = namespace.get("__name__")
    return sorted(
        name
        for name in _global_names(function.__code__)
        if isinstance(value := namespace.get(name), ModuleType)
        or getattr(value, "__module__", here) not in (here, None)
    )


def _distance(candidate: _Candidate, code: CodeType) -> tuple[bool, bool, int, int]:
    """How far a text that fits is from the place where the running code says it stands."""
    node = candidate.node
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    inside = all(start <= place <= end for place in places)
    lines = abs(candidate.first_line() - code.co_firstlineno)
    return candidate.qualname != code.co_qualname, not inside, lines, node.col_offset


def find_source(path: str, module_globals: dict[str, Any]) -> Source | None:
    """Return the parsed text behind a code object's file name, or None where there is none."""
    entry = linecache.cache.get(path)
    if entry is not None and len(entry) == 4 and entry[1] is None:
        return _read_cell("".join(entry[2]))
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        status = None
    if status is not None and stat.S_ISREG(status.st_mode):
        return _read_file(path, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    lines = linecache.getlines(path, module_globals)
    return _read_cell("".join(lines)) if lines else None


@functools.lru_cache(maxsize=16)
def _read_file(path: str, _stamp: tuple[int, int, int]) -> Source:
    with open(path, "rb") as file:
        content = file.read()
    try:
        return Source(importlib.util.decode_source(content), is_file=True)
    except (SyntaxError, UnicodeDecodeError):
        # Not Python, or not any more: then no text fits.
        return Source("", is_file=True)


@functools.lru_cache(maxsize=16)
def _read_cell(lines: str) -> Source:
    return Source(lines, is_file=False)
