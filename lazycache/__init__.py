"""A persistent on-disk cache for scientific Python.

Build lazy expressions, evaluate them with `compute`, or with `cache`, which
keeps every result on disk under a digest of what was done, on which inputs.
"""

import typing as _typing
from importlib import import_module as _import_module

import lazycache.fingerprint  # noqa: F401  functions and classes as values get their digests from it
from lazycache.blocks import Blocks
from lazycache.caching import Cache, cache, default_cache, explain
from lazycache.current import in_context
from lazycache.digests import digest, register_immutable, register_type
from lazycache.errors import InputChangedError, LazyCacheError, LazyCacheWarning, UnhashableError
from lazycache.execution import compute
from lazycache.expressions.keys import key
from lazycache.expressions.nodes import register_collection as _register_collection
from lazycache.expressions.nodes import register_drawing as _register_drawing
from lazycache.expressions.tree import Node, computed, lazy
from lazycache.files import (
    hash_by_file_content,
    hash_by_file_date,
    hash_by_file_stat,
    hash_directory,
    ignore,
    unordered,
)
from lazycache.purity import pure

__all__ = [
    "Blocks",
    "Cache",
    "InputChangedError",
    "LazyCacheError",
    "LazyCacheWarning",
    "Node",
    "UnhashableError",
    "cache",
    "compute",
    "computed",
    "default_cache",
    "digest",
    "explain",
    "hash_by_file_content",
    "hash_by_file_date",
    "hash_by_file_stat",
    "hash_directory",
    "ignore",
    "in_context",
    "key",
    "lazy",
    "pure",
    "register_immutable",
    "register_type",
    "unordered",
]

# What rooms above the nodes can do with them is imported when somebody asks for it.
_register_collection(lambda: _import_module("lazycache.execution.collection").PROTOCOL)
_register_drawing(lambda name: getattr(_import_module("lazycache.draw"), name))

__version__: str

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> str:
        if name == "__version__":
            # Looked up when it is asked for: that takes a good part of what the import takes.
            return _import_module("importlib.metadata").version("lazycache")
        raise AttributeError(f"module 'lazycache' has no attribute {name!r}")
