"""Rules that say what of an argument goes into the key.

A hasher is called with one argument of a pure function. Those here return a
`HashedArgument`; what any other callable returns is hashed in the argument's
place. `hash_argument` carries a hasher through lists, tuples and dicts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from lazycache import digests
from lazycache_storage.record import FileState

_DOMAIN = b"lazycache hashed argument 1\0"


class HashedArgument(msgspec.Struct, frozen=True):
    """What became of an argument that has a hasher.

    Attributes
    ----------
    value : object
        What the function gets.
    token : bytes
        What goes into the key.
    text : str
        What is shown.
    files : tuple of FileState
        What must be as it was when the function runs.
    hasher : str
        The name of the rule.
    """

    value: Any
    token: bytes
    text: str
    files: tuple[FileState, ...]
    hasher: str


Hasher: TypeAlias = Callable[[Any], Any]


def tagged_token(kind: bytes, content: bytes) -> bytes:
    """Return a token that no value and no other kind of hashed argument has."""
    return b"#" + hashlib.sha256(_DOMAIN + kind + b"\0" + content).digest()


class ArgumentHasher:
    """A hasher of this module: a callable with a name.

    Attributes
    ----------
    name : str
    takes_containers : bool
        Whether the rule takes a container as it is, instead of what is in it.
    protects : bool
        Whether the function gets a protected copy of the argument. With any
        other callable as the hasher it gets the argument itself, but for arrays.
    """

    takes_containers = False
    protects = True

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Any) -> HashedArgument:
        """Return what stands for `value` in a key."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.name


class Ignored(ArgumentHasher):
    """Leave an argument out of the key: a verbosity, a session, a number of threads.

    The function gets the argument itself, whatever it is.

    Examples
    --------
    >>> from lazycache.files import ignore
    >>> ignore(1).token == ignore(print).token
    True
    """

    takes_containers = True
    protects = False
    token = tagged_token(b"ignored", b"")

    def __call__(self, value: Any) -> HashedArgument:
        """Return `value` with the one token that all ignored arguments have."""
        return HashedArgument(value, self.token, "<ignored>", (), self.name)


class Unordered(ArgumentHasher):
    """Hash a value whatever the order of its dicts, and of its members if it is a list or tuple.

    Dicts are taken without order at every depth, a list or tuple only where
    it is the argument itself: in ``{"range": [0, 10]}`` the order of the list
    means something.

    Examples
    --------
    >>> from lazycache.files import unordered
    >>> unordered({"a": 1, "b": 2}).token == unordered({"b": 2, "a": 1}).token
    True
    >>> unordered([1, 2, 2]).token == unordered([2, 1, 2]).token
    True
    """

    takes_containers = True

    def __call__(self, value: Any) -> HashedArgument:
        """Return a copy of `value`, and a token without its order."""
        # The token is fixed now, so that a later change by the caller must not reach the function.
        value, _ = digests.snapshot(value)
        if type(value) in (list, tuple):
            tokens = sorted(_unordered_token(member, f"value[{i}]") for i, member in enumerate(value))
            token = _token_of_members(b"unordered " + type(value).__name__.encode(), tokens)
        else:
            token = _unordered_token(value, "value")
        return HashedArgument(value, token, _short_text(value), (), self.name)


def _unordered_token(value: Any, path: str) -> bytes:
    if isinstance(value, dict):
        members = [
            digests.token(key, path=f"a key of {path}") + _unordered_token(member, f"{path}[{key!r}]")
            for key, member in value.items()
        ]
        kind = f"unordered {type(value).__module__}.{type(value).__qualname__}".encode()
        return _token_of_members(kind, sorted(members))
    if type(value) in (list, tuple):
        members = [_unordered_token(member, f"{path}[{i}]") for i, member in enumerate(value)]
        return _token_of_members(type(value).__name__.encode(), members)
    return digests.token(value, path=path)


def _token_of_members(kind: bytes, members: list[bytes]) -> bytes:
    return tagged_token(kind, b"".join([b"%d\0%b" % (len(member), member) for member in members]))


class whole(ArgumentHasher):
    """Have a callable take a list, tuple, dict or None as one argument.

    Examples
    --------
    >>> from lazycache.files import hash_argument, whole
    >>> hash_argument(whole(len), ["ab", "c"]).token == hash_argument(whole(len), ["x", "y"]).token
    True
    """

    takes_containers = True
    protects = False

    def __init__(self, hasher: Hasher) -> None:
        super().__init__(f"whole({hasher_name(hasher)})")
        self._hasher = hasher

    def __call__(self, value: Any) -> HashedArgument:
        """Return `value` with the token of what the callable returns for it."""
        hashed = self._hasher(value)
        if isinstance(hashed, HashedArgument):
            return hashed
        token = digests.token(hashed, path=f"what {self.name} returned")
        return HashedArgument(value, token, _short_text(value), (), self.name)


def hash_argument(hasher: Hasher, value: Any) -> HashedArgument:
    """Apply a hasher to an argument, also to each member of a container.

    None stays None, and a container becomes an equal one with what the hasher
    made of its members.

    Examples
    --------
    >>> hashed = hash_argument(len, ["ab", "c", None])
    >>> hashed.value, hashed.hasher
    (['ab', 'c', None], 'len')
    >>> hashed.token == hash_argument(len, ["xy", "z", None]).token
    True
    """
    if value is None or getattr(hasher, "takes_containers", False):
        return _hash_one(hasher, value)
    kind = type(value)
    if kind is list or kind is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
        hashed = [hash_argument(hasher, member) for member in value]
        values = [one.value for one in hashed]
        rebuilt = values if kind is list else tuple(values) if kind is tuple else kind(*values)
        return _together(rebuilt, hashed, [], hasher)
    if isinstance(value, dict):
        hashed = [hash_argument(hasher, member) for member in value.values()]
        changed = value.copy()
        for key, one in zip(value, hashed, strict=True):
            changed[key] = one.value
        return _together(changed, hashed, [digests.token(key, path="a key of the dict") for key in value], hasher)
    return _hash_one(hasher, value)


def _hash_one(hasher: Hasher, value: Any) -> HashedArgument:
    if value is None and not getattr(hasher, "takes_containers", False):
        return HashedArgument(None, digests.token(None), "None", (), hasher_name(hasher))
    hashed = hasher(value)
    if isinstance(hashed, HashedArgument):
        return hashed
    token = digests.token(hashed, path=f"what {hasher_name(hasher)} returned")
    return HashedArgument(value, token, _short_text(value), (), hasher_name(hasher))


def _together(value: Any, hashed: list[HashedArgument], keys: list[bytes], hasher: Hasher) -> HashedArgument:
    kind = f"{type(value).__module__}.{type(value).__qualname__}".encode()
    token = _token_of_members(kind, keys + [one.token for one in hashed])
    brackets = ("[", "]") if isinstance(value, list) else ("{", "}") if keys else ("(", ")")
    texts = [one.text for one in hashed]
    if isinstance(value, dict):
        texts = [f"{_short_text(key)}: {text}" for key, text in zip(value, texts, strict=True)]
    files = tuple([state for one in hashed for state in one.files])
    return HashedArgument(value, token, brackets[0] + ", ".join(texts) + brackets[1], files, hasher_name(hasher))


def hasher_name(hasher: Hasher) -> str:
    """Return the name of a hasher, for records and messages."""
    if isinstance(hasher, ArgumentHasher):
        return hasher.name
    return str(getattr(hasher, "__qualname__", None) or type(hasher).__qualname__)


def _short_text(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        text = repr(value)
        return text if len(text) <= 80 else text[:77] + "..."
    return f"<{type(value).__name__}>"
