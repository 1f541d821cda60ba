"""The walk over everything a function's code refers to.

Functions, classes and instances are *units*: each is written once, and where
it is met again only its number stands. Numbers go by the order of the first
meeting, which depends on nothing but the code. So mutual recursion ends, and
no Python stack grows with the length of a chain of helpers.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from lazycache.errors import FingerprintError

from .natives import part
from .watch import Watch

PREFIX = b"lazycache code 1\0"
ADVICE = "make it an argument or a constant, name it in ignore=, or give the function a version="

Policy = Literal["global", "held", "foreign"]


class At(NamedTuple):
    """Where a value was met, and the rules that hold there.

    Attributes
    ----------
    where : str
        For messages.
    policy : {"global", "held", "foreign"}
        What happens to a value that can change inside: an error for a global,
        its digest for what a function holds (closure, default, attribute), its
        type for what code of an installed package holds.
    ignore : frozenset of str
        Names that do not count.
    deep : bool
        Whether what a function refers to counts.
    """

    where: str
    policy: Policy = "held"
    ignore: frozenset[str] = frozenset()
    deep: bool = True

    def to(self, where: str, policy: Policy | None = None) -> At:
        """Return the same rules at another place."""
        return self._replace(where=where, policy=policy or self.policy)

    def ignores(self, *names: str) -> bool:
        """Return whether one of the names does not count."""
        return not self.ignore.isdisjoint(names)


class Walk:
    """One walk, from one function.

    Parameters
    ----------
    function : str
        The name of the root, for messages.
    encode : callable
        Gives the bytes of a value; it may register units here.
    encode_dependency : callable
        The same for an entry of ``depends=``.
    undigested : object
        A value that is being digested: its own digest cannot be asked for here.

    Attributes
    ----------
    homes : dict
        By identity, the class that a method was met in: its globals may not lead there after a journey.
    """

    def __init__(
        self,
        function: str,
        encode: Callable[[Walk, object, At], bytes],
        encode_dependency: Callable[[Walk, object, At], bytes],
        undigested: object = None,
    ) -> None:
        self.watch = Watch()
        self.mismatch: str | None = None
        self.undigested = undigested
        self.homes: dict[int, type] = {}
        self._function = function
        self._encode = encode
        self._encode_dependency = encode_dependency
        self._numbers: dict[int, int] = {}
        self._alive: list[object] = []
        self._pending: deque[Callable[[], bytes]] = deque()
        self._open: list[object] = []
        self._above: list[object] = []

    def encode(self, value: object, at: At) -> bytes:
        """Return the bytes of a value; units inside it are written later."""
        return self._encode(self, value, at)

    def dependency(self, entry: object, at: At) -> bytes:
        """Return the bytes of an entry of ``depends=``."""
        return self._encode_dependency(self, entry, at)

    def unit(self, value: object, write: Callable[[], bytes]) -> bytes:
        """Return the number of a unit; `write` gives its bytes when its turn comes."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._numbers)
            self._alive.append(value)
            self._pending.append(write)
        return part(b"u", b"%d" % number)

    def inside(self, container: object, at: At, write: Callable[[], bytes]) -> bytes:
        """Return the bytes of a container, unless it holds itself."""
        if any(container is outer for outer in self._above):
            return part(b"above")
        if any(container is outer for outer in self._open):
            raise self.error(f"{at.where} holds itself; {ADVICE}")
        self._open.append(container)
        try:
            return write()
        finally:
            self._open.pop()

    def in_order(self, members: Iterable[object], at: At) -> list[object]:
        """Return the members of a set in an order that their own code decides.

        Units are numbered as they are met, and a set of functions lies in the order of their addresses.
        """

        def alone(member: object) -> bytes:
            walk = Walk(self._function, self._encode, self._encode_dependency, self.undigested)
            walk._above = self._above + self._open
            walk.homes = self.homes
            return walk.finish(walk.encode(member, at))

        return sorted(members, key=alone)

    def finish(self, root: bytes) -> bytes:
        """Write every unit and return the digest of them all."""
        digest = hashlib.sha256(PREFIX + part(b"r", root))
        while self._pending:
            digest.update(part(b"w", self._pending.popleft()()))
        return digest.digest()

    def note(self, mismatch: str | None) -> None:
        """Remember the first text that is not the code that runs."""
        self.mismatch = self.mismatch or mismatch

    def error(self, reason: str) -> FingerprintError:
        """Return an error about the root of the walk."""
        return FingerprintError(function=self._function, reason=reason)
