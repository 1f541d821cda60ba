"""What the code of a function consists of, part by part, so that a change of it can be named.

The walk is that of a fingerprint. Here each unit and each global stands in
the others by its name and has a digest of its own, which therefore changes
only if something in itself does.
"""

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from lazycache.valuetext import content_text

from .depends import distribution_version, encode_dependency
from .natives import text
from .owners import qualified_name
from .values import encode
from .walk import At, Walk

HELD_BY_CLOSURE = "the closure variable"
"""How the name of a part begins that a closure holds; a version leaves it in the key."""

IN_DEPENDS = "in depends="
"""How the name of a part ends that is an entry of ``depends=``."""

_HELD = ("the global", HELD_BY_CLOSURE, "a default of")
"""How it is said where a value was met that is a part of its own."""

_TEXT_LIMIT = 80
_DIGEST_BYTES = 8


class CodePart(NamedTuple):
    """One part of a function's code.

    Attributes
    ----------
    name : str
        A function or class by its qualified name; a global, or an entry of
        ``depends=``, in words.
    digest : bytes
    text : str
        A number that a global or closure holds, or the version of a package; else empty.
    """

    name: str
    digest: bytes
    text: str


def code_parts(
    function: Any, *, depends: Iterable[object] = (), ignore: Iterable[str] = (), code: str = "deep"
) -> tuple[CodePart, ...]:
    """Return what the code of a function consists of; the arguments are those of `fingerprint`.

    Examples
    --------
    >>> def outer(x): return inner(x)
    >>> def inner(x): return x + 1
    >>> [part.name.rpartition(".")[2] for part in code_parts(outer)]
    ['inner', 'outer']
    """
    walk = _PartsWalk(qualified_name(function))
    at = At(qualified_name(function), "held", frozenset(ignore))
    for entry in depends:
        walk.dependency(entry, at)
    if code != "none":
        walk.encode(function, at._replace(deep=code == "deep"))
    return walk.parts()


class _PartsWalk(Walk):
    """A walk that keeps the bytes of each part apart."""

    def __init__(self, function: str) -> None:
        super().__init__(function, encode, encode_dependency)
        self._waiting: deque[tuple[str, Callable[[], bytes]]] = deque()
        self._digests: dict[str, list[bytes]] = defaultdict(list)
        self._texts: dict[str, str] = {}
        self._is_inside = False

    def encode(self, value: object, at: At) -> bytes:
        is_part = at.where.startswith(_HELD) and not isinstance(value, FunctionType | ModuleType | type)
        if self._is_inside or not is_part:
            return super().encode(value, at)
        self._is_inside = True
        found = super().encode(value, at)
        self._is_inside = False
        self._add(at.where, found, _text_of(value))
        return text(b"g", at.where)

    def dependency(self, entry: object, at: At) -> bytes:
        found = super().dependency(entry, at)
        name = entry if isinstance(entry, str) else qualified_name(entry)
        self._add(f"{name} {IN_DEPENDS}", found, distribution_version(name) or "")
        return found

    def unit(self, value: object, write: Callable[[], bytes]) -> bytes:
        name = qualified_name(value)
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._numbers)
            self._alive.append(value)
            self._waiting.append((name, write))
        return text(b"u", name)

    def parts(self) -> tuple[CodePart, ...]:
        """Return the parts by name; those of one name, such as lambdas, count as one."""
        while self._waiting:
            name, write = self._waiting.popleft()
            self._add(name, write())
        return tuple(
            CodePart(name, hashlib.sha256(b"".join(sorted(digests))).digest()[:_DIGEST_BYTES], self._texts[name])
            for name, digests in sorted(self._digests.items())
        )

    def _add(self, name: str, found: bytes, shown: str = "") -> None:
        digest = hashlib.sha256(found).digest()
        if digest not in self._digests[name]:
            self._digests[name].append(digest)
        self._texts[name] = shown


def _text_of(value: Any) -> str:
    if getattr(value, "is_pure", False) is True:
        return repr(value)
    # A text may be a password, and those who share a store may read it.
    return content_text(value, _TEXT_LIMIT) if _is_numbers(value) else ""


def _is_numbers(value: Any) -> bool:
    if type(value) in (tuple, list, dict):
        members = value.values() if type(value) is dict else value
        return all(map(_is_numbers, members))
    return value is None or isinstance(value, bool | int | float | complex)
