"""Which function a name and version stand for in a store."""

from __future__ import annotations

import hashlib
import warnings
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

import msgspec

from lazycache.errors import IdentityWarning
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache.caching.guard import GuardedStore
    from lazycache.purity import PureFunction


class Claim(msgspec.Struct, frozen=True, array_like=True):
    """The function that took a name and version: its file and its code."""

    file: str
    code: bytes


class Claims:
    """The claims of one store, each looked up once per process.

    A function with a version is known by name and version alone. The store
    keeps the file and the code of the function that first used them. The same
    file, or the same code, is the same function; another file with other code
    is another function, whose results must not be mixed up with the first's.
    """

    def __init__(self, guard: GuardedStore) -> None:
        self._guard = guard
        self._verdicts: WeakKeyDictionary[PureFunction, bool] = WeakKeyDictionary()
        self._taken: WeakSet[PureFunction] = WeakSet()

    def contested(self, function: PureFunction) -> bool:
        """Say whether another function holds the name and version of this one."""
        if not function.version:
            return False
        known = self._verdicts.get(function)
        if known is None:
            known = self._verdicts[function] = self._judge(function)
        return known

    def _judge(self, function: PureFunction) -> bool:
        claim = self._stored(function)
        if claim is None or claim.file == function.source_file or claim.code == function.code_digest():
            return False
        warnings.warn(
            f"{function.name} version {function.version} in {function.source_file} has the name and version of another "
            f"function, in {claim.file}; its results are not stored: give it a name=, or another version",
            IdentityWarning,
            stacklevel=2,
        )
        return True

    def take(self, function: PureFunction) -> None:
        """Write down the file and the code of a function that stores a result."""
        if not function.version or function in self._taken:
            return
        self._taken.add(function)
        claim = Claim(function.source_file, bytes(function.code_digest()))
        if claim != self._stored(function):
            data = msgspec.msgpack.encode(claim)
            self._guard.write("claim a name", lambda store: store.claim_put(_row(function), data))

    def _stored(self, function: PureFunction) -> Claim | None:
        data = self._guard.ask("look up a name", lambda store: store.claim_get(_row(function)))
        return None if not data else msgspec.msgpack.decode(data, type=Claim)


def _row(function: PureFunction) -> Digest:
    return Digest(hashlib.sha256(function.token).digest())
