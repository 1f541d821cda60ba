"""What a record tells about the call besides where its result is."""

from __future__ import annotations

import functools
import sys
import time
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from lazycache import digests
from lazycache.caching.codes import code_identity
from lazycache.errors import UnhashableError
from lazycache.expressions.keys import nest_token, node_token
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.tree import HashedLeaf, Node, computed
from lazycache.show import summary
from lazycache.valuetext import content_text, value_text

if TYPE_CHECKING:
    from lazycache.purity import PureFunction
    from lazycache_storage.record import FileState, Ingredient, Record

_TEXT_LIMIT = 160
_NEST_LIMIT = 1000
_MOST_NODES = 10
_FEW = 8
_STATISTICS_BYTES = 8 << 20


def describe(node: Node, what: str, seconds: float) -> dict[str, Any]:
    """Return the fields of a record that are known from the call alone."""
    function = node._function
    return {
        "created": time.time(),
        "seconds": seconds,
        "function": function.name,
        "version": function.version if function.is_pure else "",
        "code": bytes(function.code_digest()) if function.is_pure else b"",
        "ingredients": ingredients(node),
        "text": what,
        "packages": packages_of(function),
    }


def result_token(value: Any, files: tuple[FileState, ...], memo: digests.Memo) -> bytes:
    """Return what stands for a result in keys, or nothing if it has no digest.

    A result that names files has none: its digest says nothing of what is in them.
    """
    if files:
        return b""
    try:
        return digests.token(value, path="result", memo=memo)
    except UnhashableError:
        return b""


def know_token(value: Any, record: Record) -> None:
    """Note the token of an array that was loaded, so that it is not hashed where it is used."""
    if type(value) is not np.ndarray or not record.token or value.flags.writeable or value.dtype.hasobject:
        return
    if digests.known_token(value) is None:
        digests.remember(value, record.token)


def ingredients(node: Node) -> tuple[Ingredient, ...]:
    """Return the parts of a call's key: the code, if it counts, and the arguments in their order."""
    from lazycache_storage.record import CODE, Ingredient

    function = node._function
    names = function.parameters if function.is_pure else [str(position) for position in range(len(node._args))]
    arguments = [*zip(names, node._args, strict=False), *node._kwargs.items()]
    code = code_identity(function) if function.is_pure else b""
    return (
        *([Ingredient("", CODE, code, "")] if code else ()),
        *[Ingredient(name, *_ingredient(argument)) for name, argument in arguments],
    )


def _ingredient(argument: Any) -> tuple[str, bytes, str]:
    if isinstance(argument, HashedLeaf):
        return argument._hasher, argument._token or b"", _shortened(argument._text)
    if isinstance(argument, computed):
        return "value", node_token(argument), _described(argument._value)
    if isinstance(argument, Node):
        return "call", node_token(argument), summary(argument, _TEXT_LIMIT)
    token, nodes = nest_token(argument, node_token), find_nodes(argument)[:_MOST_NODES]
    if not nodes:
        return "value", token, _content(argument)
    texts = ", ".join(summary(node, _TEXT_LIMIT) for node in nodes)
    return "value", token, _shortened(f"{value_text(argument)} of {texts}")


def _shortened(text: str) -> str:
    if len(text) <= _TEXT_LIMIT:
        return text
    half = _TEXT_LIMIT // 2
    return f"{text[:half]}…{text[-half:]}"


def _content(value: Any) -> str:
    """Return what is in a value; settings, of which one is to be found that changed, in a longer text."""
    if isinstance(value, str | bytes):
        return _shortened(content_text(value, _TEXT_LIMIT))
    return content_text(value, _NEST_LIMIT)


def _described(value: Any) -> str:
    """Return a text of a value, with what tells two of them apart."""
    text = _content(value)
    if not isinstance(value, np.ndarray) or not value.size:
        return text
    if value.flags.f_contiguous and not value.flags.c_contiguous:
        text += ", in Fortran order"
    if value.dtype.kind not in "iuf":
        is_short = value.size <= _FEW and not value.dtype.hasobject
        return f"{text}: {_shortened(str(value.tolist()))}" if is_short else text
    if value.nbytes > _STATISTICS_BYTES:
        return text
    missing = int(np.isnan(value).sum())
    if missing == value.size:
        return f"{text}, all NaN"
    with np.errstate(all="ignore"):
        low, high, mean = np.nanmin(value), np.nanmax(value), np.nanmean(value, dtype=float)
    return f"{text}, from {low:.6g} to {high:.6g}, mean {mean:.6g}, {missing} NaN"


def packages_of(function: Any) -> str:
    """Return the versions of Python and numpy, and for a pure function of what is imported where it is defined."""
    if not function.is_pure:
        return _python()
    known = _packages.get(function)
    if known is None:
        known = _packages[function] = _shortened(", ".join([_python(), *_versions(function)]))
    return known


_packages: WeakKeyDictionary[PureFunction, str] = WeakKeyDictionary()


@functools.cache
def _python() -> str:
    return f"Python {sys.version.split()[0]}, {sys.platform}, numpy {np.__version__}"


def _versions(function: PureFunction) -> list[str]:
    from lazycache.fingerprint.depends import distribution_version
    from lazycache.fingerprint.owners import is_own_module

    named = [entry for entry in function.fingerprint_options["depends"] if isinstance(entry, str)]
    found = {name: distribution_version(name) for name in named}
    inner: Any = function.__wrapped__
    while isinstance(inner, functools.partial):
        inner = inner.func
    for value in list(getattr(inner, "__globals__", {}).values()):
        home = _home(value)
        top = home.partition(".")[0] if isinstance(home, str) else ""
        # Some modules of the standard library have a version of their own, which says nothing beside Python's.
        module = None if top in sys.stdlib_module_names else sys.modules.get(top)
        # Not asked of the module itself, which may import something, or warn.
        version = None if module is None else vars(module).get("__version__")
        if module is not None and isinstance(version, str) and not is_own_module(module):
            found[module.__name__] = version
    return [f"{name} {version}" for name, version in sorted(found.items()) if version and name != "numpy"]


def _home(value: Any) -> Any:
    """Return the module that a module, class or function comes from; other objects may answer anything."""
    if isinstance(value, ModuleType):
        return value.__name__
    return getattr(value, "__module__", None) if isinstance(value, type | FunctionType | BuiltinFunctionType) else None
