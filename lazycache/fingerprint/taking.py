"""Taking a fingerprint, and the tokens of functions and classes that are values."""

import weakref
from collections.abc import Collection, Iterable
from types import FunctionType
from typing import Any, Literal

from lazycache_storage.digest import Digest

from .depends import encode_dependency
from .natives import encode_scalar, part
from .owners import is_own_class, qualified_name
from .values import encode
from .walk import At, Walk
from .watch import Watch

Code = Literal["deep", "self", "none"]


class Fingerprint:
    """The digest of a function's code, and what it was taken from.

    Attributes
    ----------
    digest : Digest
    mismatch : str or None
        Why a text that was found is not the code that runs; then results must
        not be kept, since the next process will see the other text.
    """

    __slots__ = ("_watch", "digest", "mismatch")

    def __init__(self, digest: Digest, mismatch: str | None, watch: Watch) -> None:
        self.digest = digest
        self.mismatch = mismatch
        self._watch = watch

    def is_current(self) -> bool:
        """Return whether all that the digest was taken from is still the same.

        Objects are compared by identity, so this takes about a microsecond; a
        closure or a default that can change inside is hashed again.
        """
        return self._watch.holds()

    def __repr__(self) -> str:
        return f"<Fingerprint {self.digest.short}{' of code that has no text' if self.mismatch else ''}>"


def fingerprint(
    function: Any, *, depends: Iterable[object] = (), ignore: Collection[str] = (), code: Code = "deep"
) -> Fingerprint:
    """Take the fingerprint of a function's code.

    Parameters
    ----------
    function : callable
        A function, or what stands around one: a partial, a method, a wrapper.
    depends : iterable
        What counts besides: names of packages (by version), modules, constants, functions.
    ignore : collection of str
        Names of globals, ``module.name`` or ``Class.attribute``, that do not count.
    code : {"deep", "self", "none"}
        Whether the function's code counts with all that it refers to, by
        itself (with its defaults and closure), or not at all.

    Raises
    ------
    FingerprintError
        For a global that can change; the message names it.

    Examples
    --------
    >>> def double(x): return 2 * x
    >>> taken = fingerprint(double)
    >>> taken.is_current(), taken.mismatch
    (True, None)
    >>> double.__defaults__ = (1,)
    >>> taken.is_current()
    False
    """
    walk = Walk(_display_name(function), encode, encode_dependency)
    at = At(_display_name(function), "held", frozenset(ignore), code == "deep")
    root = part(b"none") if code == "none" else walk.encode(function, at)
    mode = encode_scalar(code) or b""
    everything = part(b"code", mode, root, *(walk.dependency(entry, at) for entry in depends))
    return Fingerprint(Digest(walk.finish(everything)), walk.mismatch, walk.watch)


def _display_name(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else repr(type(function).__qualname__)


_tokens: dict[int, tuple["weakref.ref[Any]", Fingerprint]] = {}


def function_token(function: FunctionType) -> bytes:
    """Return the bytes that stand for a function used as a value.

    Equal code gives equal bytes, wherever it stands and in every process.
    """
    return _token(function)


def class_token(cls: type) -> bytes:
    """Return the bytes that stand for a class: its code, or the name of an installed one."""
    if not is_own_class(cls):
        return qualified_name(cls).encode()
    return _token(cls)


def _token(value: Any) -> bytes:
    known = _tokens.get(id(value))
    if known is not None and known[0]() is value and known[1].is_current():
        return known[1].digest
    taken = fingerprint(value)
    place = id(value)
    # By identity: a metaclass may define == and hash.
    _tokens[place] = (weakref.ref(value, lambda _: _tokens.pop(place, None)), taken)
    return taken.digest
