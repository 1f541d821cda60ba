"""Which names outside itself a function refers to, found in its syntax tree.

A reference is a *chain*: a name and the attributes taken from it, so
``mod.helper(x)`` is ``("mod", "helper")``. A chain that ends in `STORED` is one
whose object the function changes: ``TABLE[key] = value`` is ``("TABLE", STORED)``.
"""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeGuard

from .syntax import FunctionNode

STORED = "="
Chain = tuple[str, ...]

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "type_params"})


class Import(NamedTuple):
    """A module that a function imports in its body.

    Attributes
    ----------
    module : str
        Dotted, "" in ``from . import x``.
    level : int
        The number of leading dots.
    chains : tuple of chains
        What is taken from the module; () stands for the module itself.
    """

    module: str
    level: int
    chains: tuple[Chain, ...]


class Names(NamedTuple):
    """Everything outside itself that a function names.

    Attributes
    ----------
    chains : tuple of chains
        References to globals, built-ins and closure cells.
    rebound : frozenset of str
        Globals, and variables of enclosing functions, that it assigns to.
    own : tuple of chains
        What it takes from its first parameter; () if that is used in another way.
    imports : tuple of Import
    """

    chains: tuple[Chain, ...] = ()
    rebound: frozenset[str] = frozenset()
    own: tuple[Chain, ...] = ()
    imports: tuple[Import, ...] = ()


class _Scope:
    def __init__(self, kind: str, parent: _Scope | None) -> None:
        self.kind = kind
        self.parent = parent
        self.bound: set[str] = set()
        self.global_names: set[str] = set()
        self.outer_names: set[str] = set()
        self.loads: set[Chain] = set()
        self.imports: list[tuple[str, str, int, Chain]] = []


def find_names(node: FunctionNode) -> Names:
    """Return what a function refers to.

    Examples
    --------
    >>> tree = ast.parse("def f(x):\\n    y = x.size\\n    return mod.helper(y) + RATE")
    >>> find_names(tree.body[0]).chains
    (('RATE',), ('mod', 'helper'))
    """
    analysis = _Analysis(node)
    scopes, free = analysis.scopes, analysis.global_chains
    top = scopes[0]
    rebound: set[str] = set()
    taken: dict[tuple[int, str], set[Chain]] = {}
    for scope in scopes:
        rebound |= scope.global_names & scope.bound
        rebound |= {name for name in scope.outer_names & scope.bound if _home(scope, name) is None}
        for chain in scope.loads:
            home = _home(scope, chain[0])
            if home is None:
                free.add(chain)
            else:
                taken.setdefault((id(home), chain[0]), set()).add(chain[1:])
    arguments = node.args.posonlyargs + node.args.args
    own = taken.get((id(top), arguments[0].arg), set()) if arguments else set()
    if not arguments and node.args.vararg is not None and (id(top), node.args.vararg.arg) in taken:
        # The instance is somewhere in the tuple.
        own = {()}
    imports = {
        _as_import(entry, taken.get((id(scope), entry[0]), set())) for scope in scopes for entry in scope.imports
    }
    return Names(
        tuple(sorted(free)),
        frozenset(rebound),
        tuple(sorted(own)),
        tuple(sorted(imports, key=lambda item: (item.module, item.level, item.chains))),
    )


def _as_import(entry: tuple[str, str, int, Chain], taken: set[Chain]) -> Import:
    _, module, level, prefix = entry
    return Import(module, level, tuple(sorted(prefix + chain for chain in taken or {()})))


def _home(scope: _Scope, name: str) -> _Scope | None:
    """The scope of the function, or inside it, that a name belongs to; None when it is from outside."""
    here: _Scope | None = scope
    while here is not None:
        if name in here.global_names:
            return None
        if name in here.bound and name not in here.outer_names and (here.kind != "class" or here is scope):
            return here
        here = here.parent
    return None


class _Analysis:
    """One pass over the tree that fills the scopes; iterative, since expressions can be deep."""

    def __init__(self, node: FunctionNode) -> None:
        self.scopes: list[_Scope] = []
        self.global_chains: set[Chain] = set()
        self.stack: list[tuple[ast.AST, _Scope]] = []
        self._enter_function(node, None)
        while self.stack:
            self._visit(*self.stack.pop())

    def _scope(self, kind: str, parent: _Scope | None) -> _Scope:
        scope = _Scope(kind, parent)
        self.scopes.append(scope)
        return scope

    def _push(self, nodes: list[ast.AST], scope: _Scope) -> None:
        self.stack.extend((node, scope) for node in nodes)

    def _enter_function(self, node: FunctionNode, outer: _Scope | None) -> None:
        scope = self._scope("function", outer)
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        scope.bound.update(argument.arg for argument in every if argument is not None)
        scope.bound.update(parameter.name for parameter in getattr(node, "type_params", ()))
        self._push(list(node.body) if isinstance(node.body, list) else [node.body], scope)
        if outer is not None:
            self._push([default for default in [*arguments.defaults, *arguments.kw_defaults] if default], outer)
            self._push(list(getattr(node, "decorator_list", ())), outer)

    def _visit(self, node: ast.AST, scope: _Scope) -> None:
        if isinstance(node, ast.Name):
            self._name(node, scope)
        elif isinstance(node, ast.Attribute | ast.Subscript):
            self._member(node, scope)
        elif isinstance(node, FunctionNode):
            scope.bound.update({node.name} if not isinstance(node, ast.Lambda) else ())
            self._enter_function(node, scope)
        elif isinstance(node, ast.ClassDef):
            self._class(node, scope)
        elif isinstance(node, _Comprehension):
            self._comprehension(node, scope)
        elif isinstance(node, ast.Call):
            self._named_by_text(node, scope)
            self._push(_children(node), scope)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            _record_import(node, scope)
        else:
            self._statement(node, scope)

    def _statement(self, node: ast.AST, scope: _Scope) -> None:
        if isinstance(node, ast.Global):
            scope.global_names.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            scope.outer_names.update(node.names)
        elif isinstance(node, ast.NamedExpr):
            _assigning_scope(scope).bound.add(node.target.id)
            self._push([node.value], scope)
            return
        elif isinstance(node, ast.Assign) and (module := _imported_by_text(node.value)) is not None:
            named = [target.id for target in node.targets if isinstance(target, ast.Name)]
            scope.imports.extend((name, module, 0, ()) for name in named)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            scope.loads.add((node.target.id,))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            scope.bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            scope.bound.add(node.rest)
        self._push(_children(node), scope)

    def _name(self, node: ast.Name, scope: _Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            scope.loads.add((node.id,))
        else:
            scope.bound.add(node.id)

    def _member(self, node: ast.Attribute | ast.Subscript, scope: _Scope) -> None:
        if not isinstance(node.ctx, ast.Load):
            chain = chain_of(node.value, through_items=True)
            if chain is not None:
                scope.loads.add((*chain, STORED))
        elif isinstance(node, ast.Attribute):
            chain = chain_of(node)
            if chain is not None:
                scope.loads.add(chain)
                return
        self._named_by_text(node, scope)
        self._push(_children(node), scope)

    def _named_by_text(self, node: ast.AST, scope: _Scope) -> None:
        """Note ``getattr(mod, "helper")``, ``globals()["helper"]`` and the like, whose text is a constant."""
        names: list[str] = []
        place: ast.AST | None = node
        while place is not None and not isinstance(place, ast.Name):
            found = (place.attr, place.value) if isinstance(place, ast.Attribute) else member_by_text(place)
            if found is None:
                module = _imported_by_text(place)
                if module is not None:
                    scope.imports.append(("", module, 0, tuple(reversed(names))))
                return
            names.append(found[0])
            place = found[1]
        if place is None:
            self.global_chains.add(tuple(reversed(names)))
        elif names:
            scope.loads.add((place.id, *reversed(names)))

    def _class(self, node: ast.ClassDef, scope: _Scope) -> None:
        scope.bound.add(node.name)
        self._push([*node.decorator_list, *node.bases, *node.keywords], scope)
        self._push(list(node.body), self._scope("class", scope))

    def _comprehension(self, node: _Comprehension, scope: _Scope) -> None:
        inner = self._scope("comprehension", scope)
        first = node.generators[0]
        self._push([first.iter], scope)
        self._push([first.target, *first.ifs, *node.generators[1:]], inner)
        self._push([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], inner)


def _assigning_scope(scope: _Scope) -> _Scope:
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope


def _children(node: ast.AST) -> list[ast.AST]:
    children: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name in _SKIPPED_FIELDS:
            continue
        members = value if isinstance(value, list) else [value]
        children.extend(member for member in members if isinstance(member, ast.AST))
    return children


def chain_of(node: ast.AST, *, through_items: bool = False) -> Chain | None:
    """Return a name and the attributes taken from it, or None for any other expression."""
    attributes: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            attributes.append(node.attr)
        elif through_items and isinstance(node, ast.Subscript):
            attributes.clear()
        else:
            return None
        node = node.value
    return (node.id, *reversed(attributes))


def member_by_text(node: ast.AST) -> tuple[str, ast.AST | None] | None:
    """Return the name in ``getattr(of, "name")``, ``vars(of)["name"]`` or the like, and `of`; None for the globals."""
    if isinstance(node, ast.Call):
        if _is_call(node, "getattr", 2, 3) and (name := _text(node.args[1])) is not None:
            return name, node.args[0]
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and _is_call(node.func.value, "globals", 0, 0)
        ):
            name = _text(node.args[0]) if node.args else None
            return None if name is None else (name, None)
    if not isinstance(node, ast.Subscript) or (name := _text(node.slice)) is None:
        return None
    if isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__":
        return name, node.value.value
    if _is_call(node.value, "globals", 0, 0):
        return name, None
    return (name, node.value.args[0]) if _is_call(node.value, "vars", 1, 1) else None


def _imported_by_text(node: ast.AST) -> str | None:
    """Return the module in ``importlib.import_module("module")`` or ``__import__("module")``."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or (name := _text(node.args[0])) is None:
        return None
    chain = chain_of(node.func) or ()
    if chain == ("__import__",):
        return name.partition(".")[0]
    return name if chain and chain[-1] == "import_module" else None


def _is_call(node: ast.AST, name: str, least: int, most: int) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != name:
        return False
    return least <= len(node.args) <= most and not any(isinstance(argument, ast.Starred) for argument in node.args)


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _record_import(node: ast.Import | ast.ImportFrom, scope: _Scope) -> None:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            bound = alias.asname or alias.name
            scope.imports.append((bound, node.module or "", node.level, (alias.name,)))
        elif alias.asname:
            bound = alias.asname
            scope.imports.append((bound, alias.name, 0, ()))
        else:
            bound = alias.name.partition(".")[0]
            scope.imports.append((bound, bound, 0, ()))
        scope.bound.add(bound)
