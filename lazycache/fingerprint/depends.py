"""``depends=``: packages by version, modules by text, and anything else by value."""

import importlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .natives import part, text
from .owners import is_own_module, module_name
from .source import find_source
from .syntax import encode_tree
from .walk import At, Walk


def encode_dependency(walk: Walk, entry: object, at: At) -> bytes:
    """Return the bytes of one entry of ``depends=``."""
    if isinstance(entry, str):
        return _named(walk, entry)
    if isinstance(entry, ModuleType):
        return _module(walk, entry)
    return part(b"value", walk.encode(entry, at.to("an entry of depends=", "held")), _installed_version(entry))


def _installed_version(entry: object) -> bytes:
    """The version of the package that a function or class comes from, if that is not the user's own."""
    home = sys.modules.get(str(getattr(entry, "__module__", None)))
    if home is None or is_own_module(home) or not (isinstance(entry, type) or callable(entry)):
        return b""
    top = sys.modules.get(home.__name__.partition(".")[0], home)
    return part(b"package", text(b"s", _version(top)))


def _named(walk: Walk, name: str) -> bytes:
    version = distribution_version(name)
    if version is not None:
        return part(b"package", text(b"s", name), text(b"s", version))
    module = sys.modules.get(name) or _import(name)
    if module is None:
        raise walk.error(f"depends= names {name!r}, which is neither an installed package nor a module")
    return _module(walk, module)


def distribution_version(name: str) -> str | None:
    """Return the version of an installed package, or None."""
    # Takes 50 ms to import, and few functions name packages.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            return None
        raise


def _module(walk: Walk, module: ModuleType) -> bytes:
    name = module_name(module.__name__)
    if not is_own_module(module):
        return part(b"package", text(b"s", name), text(b"s", _version(module)))
    sources = {below: find_source(path, vars(module)) for below, path in sorted(_files(module))}
    trees = {below: source.tree for below, source in sources.items() if source is not None}
    if not any(tree.body for tree in trees.values()):
        raise walk.error(f"depends= names the module {name}, which has no text to go by")
    return part(b"text", text(b"s", name), *(text(b"s", below) + encode_tree(tree) for below, tree in trees.items()))


def _files(module: ModuleType) -> Iterator[tuple[str, str]]:
    """The files of a module, or of a whole package, with their paths inside it."""
    folders = list(getattr(module, "__path__", ()))
    path = getattr(module, "__file__", None)
    if path and not folders:
        yield "", path
    for folder in folders:
        for place, _, names in os.walk(folder):
            for file in names:
                if file.endswith(".py"):
                    whole = os.path.join(place, file)
                    yield os.path.relpath(whole, folder).replace(os.sep, "/"), whole


def _version(module: ModuleType) -> str:
    version: Any = getattr(module, "__version__", None)
    if isinstance(version, str):
        return version
    from importlib.metadata import packages_distributions

    found = packages_distributions().get(module.__name__.partition(".")[0], ())
    # The standard library is as old as the Python it comes with.
    return ", ".join(sorted(str(distribution_version(name)) for name in found)) or sys.version.split()[0]
