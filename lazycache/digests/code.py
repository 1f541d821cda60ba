"""Functions and classes as values.

What is installed counts by its name. A user's own function may be edited, so
its name says too little: such values go to the encoder that `lazycache.fingerprint`
registers, and are refused as long as none is registered.
"""

from __future__ import annotations

import contextlib
import enum
import sys
import threading
import types
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lazycache.digests.names import find_global, is_installed, module_name, qualified_name
from lazycache.digests.registry import Parts, Refusal, expanders, families, no_label
from lazycache.errors import FingerprintError

CODE_ADVICE = (
    "its name does not tell an edited one from the old; make it a @pure function with a version, "
    "or give the parameter a hasher"
)

# Set once, by the room that knows code.
_encoders: list[Callable[[Any], Any]] = []


def register_code(encode: Callable[[Any], Any]) -> None:
    """Say how users' functions and classes are digested when they are values.

    Parameters
    ----------
    encode : callable
        ``encode(function_or_class)`` returns a simpler value that stands for the code.
    """
    _encoders[:] = [encode]


def expand_code(value: Any) -> Parts:
    """Take a function or class for its name if it is installed, else for its code."""
    if _is_installed_global(value):
        return b"G", (qualified_name(value),), no_label, True
    if not _encoders:
        raise Refusal(type(value).__name__, CODE_ADVICE)
    return b"F", (_encoders[0](value),), no_label, True


def has_users_code(kind: type) -> bool:
    """Return whether a class is the user's, whose methods may be edited; namedtuples are taken for their parts."""
    return not issubclass(kind, tuple) and not is_installed(kind.__module__)


class _UsersClass:
    """Stands for a class of the user's in the digests of its instances, and does not keep it alive."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = weakref.ref(kind)


# What stands for a class: the same object each time, so that a pass over many instances takes its code once.
_classes: weakref.WeakKeyDictionary[type, str | _UsersClass] = weakref.WeakKeyDictionary()
_OF_NAMED_TUPLES = frozenset(vars(namedtuple("_OfNamedTuples", ""))) | {
    *("__annotations__", "__annotations_cache__", "__annotate__", "__annotate_func__"),
    *("__firstlineno__", "__orig_bases__", "__static_attributes__"),
    # What Python adds where such a class is made without its slots, as by unpickling it, and what pickle keeps in it.
    *("__dict__", "__slotnames__", "__weakref__"),
}


class _State(threading.local):
    by_name = False


_state = _State()


def class_of_instance(kind: type) -> Any:
    """Return what stands for the class of an instance: its name, with its code if it is the user's.

    What a function does with an instance is written in its class. A class whose
    code has no digest, because it refers to what can change, counts by its name.
    """
    if _state.by_name or not _encoders:
        return qualified_name(kind)
    found = _classes.get(kind)
    if found is None:
        by_name = is_installed(kind.__module__) or _is_nothing_but_fields(kind) or _is_nothing_but_members(kind)
        found = _classes.setdefault(kind, qualified_name(kind) if by_name else _UsersClass(kind))
    return found


def _is_nothing_but_fields(kind: type) -> bool:
    """Tell whether a class is a named tuple without methods."""
    fields = getattr(kind, "_fields", None)
    if not issubclass(kind, tuple) or not isinstance(fields, tuple):
        return False
    added = [vars(base).keys() - _OF_NAMED_TUPLES for base in kind.__mro__[: kind.__mro__.index(tuple)]]
    return not set().union(*added).difference(fields)


def _is_nothing_but_members(kind: type) -> bool:
    """Tell whether a class is an enum without methods."""
    if not issubclass(kind, enum.Enum):
        return False
    own = [value for base in kind.__mro__ if not is_installed(base.__module__) for value in vars(base).values()]
    return not any(_holds_code(value) for value in own)


def _holds_code(value: Any) -> bool:
    """Tell whether a user wrote a function that stands in a class, as it is or in a descriptor."""
    around = (getattr(value, name, None) for name in ("__func__", "fget", "func", "dispatcher"))
    return any(isinstance(held, types.FunctionType) and not is_installed(held.__module__) for held in (value, *around))


@contextlib.contextmanager
def classes_by_name() -> Iterator[None]:
    """Let classes of instances count by their names: while code is taken, which may hold instances of its own class."""
    before, _state.by_name = _state.by_name, True
    try:
        yield
    finally:
        _state.by_name = before


def _expand_users_class(value: _UsersClass) -> Parts:
    kind: Any = value.kind()
    try:
        return b"F", (_encoders[0](kind),), no_label, True
    except FingerprintError:
        return b"G", (qualified_name(kind),), no_label, True


_HEAP_TYPE = 1 << 9


def _is_installed_global(value: Any) -> bool:
    module = value.__module__
    if not isinstance(module, str) or not is_installed(module):
        return False
    # Some types written in C are in no module under their name, such as that of None.
    written_in_c = isinstance(value, type) and not value.__flags__ & _HEAP_TYPE
    return written_in_c or find_global(module, value.__qualname__) is value


def expand_global(value: Any, name: str) -> Parts:
    """Take a value that pickle would find by its name: a singleton, or something around a function."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or find_global(module, name) is not value:
        module = type(value).__module__
    found = find_global(module, name) is value
    if callable(value) and not (found and is_installed(module)):
        return expand_code(value)
    return b"G", (f"{module_name(module)}.{name}", qualified_name(type(value))), no_label, True


def _expand_builtin(value: types.BuiltinFunctionType) -> Parts:
    owner = value.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return expand_code(value)
    return b"R", ("builtin method", value.__name__, owner), no_label, True


def _expand_method(value: types.MethodType) -> Parts:
    return b"R", ("method", value.__func__, value.__self__), _method_label, True


def _method_label(_value: Any, _children: Any, index: int) -> str:
    return ("", ".__func__", ".__self__")[index]


def _expand_descriptor(value: Any) -> Parts:
    return b"R", ("descriptor", value.__name__, value.__objclass__), no_label, True


def _expand_ufunc(value: np.ufunc) -> Parts:
    for module in ("numpy", "scipy.special", "numpy._core.umath"):
        if module in sys.modules and find_global(module, value.__name__) is value:
            return b"G", (f"{module}.{value.__name__}",), no_label, True
    raise Refusal("ufunc", CODE_ADVICE)


expanders.update(
    {
        type: expand_code,
        types.FunctionType: expand_code,
        types.BuiltinFunctionType: _expand_builtin,
        types.MethodType: _expand_method,
        types.MethodDescriptorType: _expand_descriptor,
        types.WrapperDescriptorType: _expand_descriptor,
        types.ClassMethodDescriptorType: _expand_descriptor,
        np.ufunc: _expand_ufunc,
        _UsersClass: _expand_users_class,
    }
)
families[type] = expand_code
