"""Taking a fingerprint, and the tokens of functions and classes that are values."""

import sys
from typing import Any, Literal

from lazycache_storage.digest import Digest

from .depends import encode_dependency
from .memo import IdentityMemo
from .natives import encode_scalar, part
from .owners import find_member
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
    at = At(name, "held", ignore)
    # First, since what is named here counts with all that it refers to, even if the function itself does not.
    named = [walk.dependency(entry, at) for entry in depends]
    root = part(b"none") if code == "none" else walk.encode(function, at._replace(deep=code == "deep"))
    everything = part(b"code", encode_scalar(code) or b"", root, *named)
    return Fingerprint(Digest(walk.finish(everything)), walk.mismatch, walk.watch)


def _display_name(function: Any) -> str:
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else repr(type(function).__qualname__)


_tokens: IdentityMemo[Fingerprint] = IdentityMemo()


def value_token(value: Any) -> bytes:
    """Return the bytes that stand for a function, a class or a callable that is used as a value."""
    taken = _tokens.get(value)
    if taken is None or not taken.is_current():
        taken = take(value, undigested=value)
        if _lives_on(value):
            _tokens.put(value, taken)
    return taken.digest


def _lives_on(value: Any) -> bool:
    """Tell whether a module holds a value; what is known of any other would keep it and all it encloses alive."""
    module = sys.modules.get(str(getattr(value, "__module__", None)))
    name = getattr(value, "__qualname__", None)
    return module is not None and isinstance(name, str) and find_member(module, name) is value
