"""Taking a fingerprint, and the tokens of functions and classes that are values."""

import weakref
from typing import Any, Literal

from lazycache_storage.digest import Digest

from .depends import encode_dependency
from .natives import encode_scalar, part
from .values import encode
from .walk import At, Walk
from .watch import Fingerprint

Code = Literal["deep", "self", "none"]


def take(
    function: Any,
    depends: tuple[object, ...] = (),
    ignore: frozenset[str] = frozenset(),
    code: Code = "deep",
    undigested: object = None,
) -> Fingerprint:
    """Take a fingerprint; see `lazycache.fingerprint.fingerprint`.

    With `undigested`, a function that is being digested as a value.
    """
    name = _display_name(function)
    walk = Walk(name, encode, encode_dependency, undigested)
    at = At(name, "held", ignore, code == "deep")
    root = part(b"none") if code == "none" else walk.encode(function, at)
    mode = encode_scalar(code) or b""
    everything = part(b"code", mode, root, *(walk.dependency(entry, at) for entry in depends))
    return Fingerprint(Digest(walk.finish(everything)), walk.mismatch, walk.watch)


def _display_name(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else repr(type(function).__qualname__)


_tokens: dict[int, tuple["weakref.ref[Any]", Fingerprint]] = {}


def value_token(value: Any) -> bytes:
    """Return the bytes that stand for a function, a class or a callable that is used as a value."""
    place = id(value)
    known = _tokens.get(place)
    if known is not None and known[0]() is value and known[1].is_current():
        return known[1].digest
    taken = take(value, undigested=value)
    try:
        # By identity: a metaclass may define == and hash.
        _tokens[place] = (weakref.ref(value, lambda _: _tokens.pop(place, None)), taken)
    except TypeError:
        # No weak references to this type: it is walked each time.
        return taken.digest
    return taken.digest
