"""Whose code something is: the user's own, or that of an installed package.

The user's own code is walked; installed packages, the standard library and
lazycache itself count by name. A package installed in editable mode lies in
the user's folders, so it is the user's own.
"""

import builtins
import functools
import os
import site
import sys
from types import FunctionType, ModuleType

import lazycache_storage

_SHARED_BY_COMPILED_MODULES = "_cython_"
# Py_TPFLAGS_IMMUTABLETYPE: no class that is made while a program runs has it.
_COMPILED = 1 << 8
_INSTALL_FOLDERS = frozenset({"site-packages", "dist-packages"})


def _installed_roots() -> tuple[str, ...]:
    # The standard library is where `os` is; `sysconfig` would say so too, after milliseconds.
    roots = {os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}
    roots.update(lazycache_storage.__path__)
    roots.update(site.getsitepackages())
    roots.update(os.path.realpath(root) for root in list(roots))
    return tuple(sorted(os.path.join(os.path.abspath(root), "") for root in roots))


_roots = functools.cache(_installed_roots)


@functools.lru_cache(maxsize=4096)
def is_own_file(path: str) -> bool:
    """Return whether a source file is the user's own."""
    if path.startswith("<frozen "):
        return False
    whole = os.path.abspath(path)
    return not whole.startswith(_roots()) and _INSTALL_FOLDERS.isdisjoint(whole.split(os.sep))


def is_own_module(module: ModuleType) -> bool:
    """Return whether a module is the user's own; a module without a file is, unless it is built in."""
    if module.__name__ in ("__main__", "__mp_main__"):
        return True
    if module.__name__ in sys.builtin_module_names or module.__name__.startswith(_SHARED_BY_COMPILED_MODULES):
        return False
    path = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    if path is None:
        origin = getattr(getattr(module, "__spec__", None), "origin", None)
        return origin not in ("built-in", "frozen")
    return is_own_file(path)


def is_own_module_name(name: str) -> bool:
    """Return whether a module's name stands for one of the user's own; one that is not loaded does."""
    module = sys.modules.get(name)
    return module is None or is_own_module(module)


def is_own_function(function: FunctionType) -> bool:
    """Return whether a function's code is the user's own, whatever its ``__module__`` says."""
    path = function.__code__.co_filename
    if path.startswith("<doctest "):
        return True
    if path.startswith("<") and not path.startswith("<frozen "):
        return is_own_module_name(function.__globals__.get("__name__", "__main__"))
    return is_own_file(path)


def is_own_class(cls: type) -> bool:
    """Return whether a class is the user's own.

    A class that calls itself a member of an installed module, but is not found
    there, was made on the fly: then there is nothing to find under its name.
    """
    name: object = cls.__module__
    # A compiled metaclass may have a descriptor in this place.
    module = sys.modules.get(name) if isinstance(name, str) else builtins
    if module is None or is_own_module(module):
        return True
    if "<locals>" in cls.__qualname__ or cls.__flags__ & _COMPILED:
        return False
    return find_member(module, cls.__qualname__) is not cls


def find_member(module: ModuleType, qualname: str) -> object:
    """Return what stands in a module under a qualified name, or None."""
    found: object = module
    for name in qualname.split("."):
        found = getattr(found, "__dict__", {}).get(name)
        if found is None:
            return None
    return found


def module_name(name: str) -> str:
    """Return a module's name; in a spawned worker ``__main__`` has another one."""
    return "__main__" if name == "__mp_main__" else name


def qualified_name(value: object) -> str:
    """Return the module and name that something goes by, or the name of its type."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    home = getattr(value, "__module__", None)
    if not isinstance(name, str):
        return qualified_name(type(value))
    return f"{module_name(home)}.{name}" if isinstance(home, str) else name
