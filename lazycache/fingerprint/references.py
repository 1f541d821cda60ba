"""What a function's names stand for: globals, members of modules, imports, its own class."""

import builtins
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from .names import STORED, Chain, Import, Names
from .natives import encode_scalar, part, text
from .owners import is_own_class, is_own_function, is_own_module, module_name
from .walk import ADVICE, At, Walk
from .watch import MISSING, get_cell

_MUTATORS = frozenset(
    {
        STORED, "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft",
        "insert", "intersection_update", "move_to_end", "pop", "popitem", "popleft", "remove", "reverse", "rotate",
        "setdefault", "sort", "symmetric_difference_update", "update",
    }
)  # fmt: skip
_BY_NAME = frozenset({"__builtins__", "__cached__", "__loader__", "__spec__"})


def encode_references(walk: Walk, function: FunctionType, names: Names, owner: type | None, at: At) -> list[bytes]:
    """Return one part for each thing that a function refers to, in an order that the code alone decides."""
    finder = _Finder(walk, function, names, at)
    parts = [text(b"n", ".".join(chain)) + finder.chain(chain) for chain in names.chains]
    parts += [part(b"m", *finder.imported(entry)) for entry in names.imports]
    if owner is not None:
        parts += finder.of_class(owner)
    return parts


def changes(chain: Chain) -> bool:
    """Return whether a chain ends in something that changes a container."""
    return len(chain) > 1 and chain[1] in _MUTATORS


class _Finder:
    def __init__(self, walk: Walk, function: FunctionType, names: Names, at: At) -> None:
        self.walk = walk
        self.function = function
        self.names = names
        self.at = at
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.held = {name: get_cell(cell) for name, cell in cells}
        self.module = module_name(str(function.__globals__.get("__name__")))

    def chain(self, chain: Chain) -> bytes:
        """Return the bytes of what a chain from a global, a built-in or a closure cell stands for."""
        root = chain[0]
        if root in self.held:
            # The cell's content counts with the closure; here only what is taken from modules.
            value = self.held[root]
            return self.follow(value, chain[1:], root) if isinstance(value, ModuleType | FunctionType) else b""
        namespace = self.function.__globals__
        if self.at.ignores(root, f"{self.module}.{root}"):
            return part(b"ignored")
        if root in self.names.rebound:
            raise self.walk.error(f"it uses the global `{root}` of {self.module}, which it also assigns to; {ADVICE}")
        if root in _BY_NAME:
            return part(b"name")
        value = namespace.get(root, MISSING)
        self.walk.watch.name(namespace, root, value)
        if value is MISSING:
            return self.builtin(root)
        if root == "__name__":
            value = module_name(str(value))
        return self.follow(value, chain[1:], root)

    def builtin(self, name: str) -> bytes:
        value = vars(builtins).get(name, MISSING)
        if value is MISSING:
            return part(b"unresolved")
        if isinstance(value, FunctionType) and is_own_function(value):
            return self.walk.encode(value, self.at)
        return part(b"builtin", encode_scalar(value) or b"" if name == "__debug__" else b"")

    def follow(self, value: object, rest: Chain, name: str, *, importing: bool = False) -> bytes:
        """Return the bytes of what is reached from `value` by taking attributes as far as these are known."""
        home = f"of {self.module}"
        while rest and rest[0] != STORED:
            if isinstance(value, ModuleType) and is_own_module(value):
                home = f"of {module_name(value.__name__)}"
                found = self.member(value, rest[0], importing=importing)
                ignored = self.at.ignores(f"{name}.{rest[0]}", f"{value.__name__}.{rest[0]}")
            elif isinstance(value, FunctionType) and rest[0] in vars(value):
                found = vars(value)[rest[0]]
                self.walk.watch.name(vars(value), rest[0], found)
                ignored = self.at.ignores(f"{name}.{rest[0]}")
            else:
                break
            if ignored:
                return part(b"ignored")
            if found is MISSING:
                return part(b"unresolved")
            value, name, rest = found, rest[0] if isinstance(found, ModuleType) else f"{name}.{rest[0]}", rest[1:]
        where = f"the global `{name}` {home}"
        if rest and rest[0] in _MUTATORS and isinstance(value, list | dict | set):
            raise self.walk.error(f"{where} is a {type(value).__name__} that the code changes; {ADVICE}")
        return self.walk.encode(value, self.at.to(where, "global"))

    def member(self, module: ModuleType, name: str, *, importing: bool) -> object:
        known = vars(module).get(name, MISSING)
        self.walk.watch.name(vars(module), name, known)
        if known is not MISSING:
            return known
        if importing and hasattr(module, "__path__"):
            return _load(f"{module.__name__}.{name}") or MISSING
        return getattr(module, name, MISSING) if "__getattr__" in vars(module) else MISSING

    def imported(self, entry: Import) -> list[bytes]:
        """Return the bytes of what is taken from a module that the body imports."""
        name = entry.module
        if entry.level:
            package = self.function.__globals__.get("__package__") or ""
            try:
                name = importlib.util.resolve_name("." * entry.level + entry.module, package)
            except ImportError:
                return [text(b"unresolved", name)]
        module = _load(name)
        self.walk.watch.name(sys.modules, name, MISSING if module is None else module)
        if module is None or not is_own_module(module):
            return [text(b"module", name)]
        chains = [(chain, self.follow(module, chain, name, importing=True)) for chain in entry.chains]
        return [text(b"n", ".".join(chain)) + found for chain, found in chains]

    def of_class(self, owner: type) -> list[bytes]:
        """Return the bytes of what a method takes from the class of its first parameter."""
        if () in self.names.own:
            return [self.walk.encode(owner, self.at)]
        parts = []
        wanted = {chain[0] for chain in self.names.own} - {STORED}
        if wanted:
            # Where one is defined, it decides what the others are.
            wanted |= {"__getattr__", "__getattribute__"}
        for name in sorted(wanted):
            holder = self.holder(owner, name)
            if holder is None or not is_own_class(holder) or self.at.ignores(f"{holder.__qualname__}.{name}"):
                continue
            value = vars(holder)[name]
            if isinstance(value, MemberDescriptorType):
                # A slot holds the instance's own state.
                continue
            self.walk.watch.name(vars(holder), name, value, owner=holder)
            where = f"the attribute `{name}` of {holder.__qualname__}"
            parts.append(text(b"self", name) + self.walk.encode(value, self.at.to(where, "held")))
        return parts

    def holder(self, owner: type, name: str) -> type | None:
        """Return the class that has a name; those before it, which could get it later, are watched."""
        for cls in owner.__mro__:
            if name in vars(cls):
                return cls
            if is_own_class(cls):
                self.walk.watch.name(vars(cls), name, MISSING, owner=cls)
        return None


def _load(name: str) -> ModuleType | None:
    """Return a module; one of the user's own is imported, since the function would do that too."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    top = name.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
        if spec is None or not is_own_module(importlib.util.module_from_spec(spec)):
            return None
        return importlib.import_module(name)
    except ImportError:
        return None


def find_owner(function: FunctionType, homes: Mapping[int, type]) -> type | None:
    """Return the class that a method was defined in, if its qualified name leads there.

    Parameters
    ----------
    function : function
    homes : mapping
        By identity, the classes that methods were met in.
    """
    *path, name = function.__qualname__.split(".")
    found: Any = None
    for step in path:
        namespace: Mapping[str, Any] = function.__globals__ if found is None else vars(found)
        found = namespace.get(step)
        if not isinstance(found, type):
            found = homes.get(id(function))
            if found is None or f"{found.__qualname__}.{name}" != function.__qualname__ or "<" in found.__qualname__:
                return None
            break
    if found is None or isinstance(vars(found).get(name, MISSING), staticmethod | type(MISSING)):
        return None
    return found if name in vars(found) else None
