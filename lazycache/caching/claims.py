"""Which function a name and version stand for in a store."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet, ref

import msgspec

from lazycache.errors import IdentityWarning
from lazycache.telling import warn
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache.caching.guard import GuardedStore
    from lazycache.expressions.nodes import Node
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
    Neither may the results of expressions that it takes part in.
    """

    def __init__(self, guard: GuardedStore) -> None:
        self._guard = guard
        self._verdicts: WeakKeyDictionary[PureFunction, bool] = WeakKeyDictionary()
        self._taken: WeakSet[PureFunction] = WeakSet()
        # Nodes with no contested function at or below them. Not their keys: two functions may give one key.
        self._clear: dict[int, ref[Node]] = {}

    def contested(self, node: Node) -> bool:
        """Say whether another function holds the name and version of one that `node` is made with.

        A claim is written before the first result, so whoever asks after it
        found a result finds the claim too.
        """
        function = node._function
        if function is not None and function.is_pure and all(dep._function is None for dep in node._deps):
            # The commonest call needs no walk.
            return bool(function.version) and self._is_contested(function)
        functions = self._functions(node)
        if any(self._is_contested(function) for function in functions):
            return True
        if node._deps and all(function in self._verdicts for function in functions):
            self._note_clear(node)
        return False

    def take(self, node: Node, is_plain: bool = False) -> bool:
        """Claim the functions that `node` is made with, before its result is stored; False if another has a name.

        If it is plain, it is known to be made with none.
        """
        if not is_plain and not all(self._take(function) for function in self._functions(node)):
            return False
        self._note_clear(node)
        return True

    def _note_clear(self, node: Node) -> None:
        identity, clear = id(node), self._clear

        def forget(dead: ref[Node]) -> None:
            # Another node may have this identity by now.
            if clear.get(identity) is dead:
                del clear[identity]

        clear[identity] = ref(node, forget)

    def _functions(self, node: Node) -> list[PureFunction]:
        """Return the functions with a version at and below `node`."""
        found: dict[int, PureFunction] = {}
        clear = self._clear
        stack, seen = [node], {id(node)}
        while stack:
            part = stack.pop()
            known = clear.get(id(part))
            if known is not None and known() is part:
                continue
            deps, function = part._deps, part._function
            if function is not None and function.is_pure and function.version:
                found[id(function)] = function
            for dep in deps:
                if id(dep) not in seen and dep._function is not None:
                    seen.add(id(dep))
                    stack.append(dep)
        return list(found.values())

    def _is_contested(self, function: PureFunction) -> bool:
        known = self._verdicts.get(function)
        return self._judge(function, self._stored(function)) if known is None else known

    def _judge(self, function: PureFunction, data: bytes | None) -> bool:
        if not data:
            # Another one may still come first.
            return False
        try:
            claim = msgspec.msgpack.decode(data, type=Claim)
        except msgspec.MsgspecError:
            # Nobody wrote this; whoever stores next writes over it.
            return False
        contested = claim.file != function.source_file and claim.code != self._code(function)
        if contested and self._verdicts.get(function) is not True:
            warn(
                f"{function.name} version {function.version} in {function.source_file} has the name and version of "
                f"another function, in {claim.file}; its results are not stored: give it a name=, or another version",
                IdentityWarning,
            )
        self._verdicts[function] = contested
        return contested

    def _take(self, function: PureFunction) -> bool:
        if function in self._taken:
            return True
        code = self._code(function)
        if code is None:
            return False
        data = msgspec.msgpack.encode(Claim(function.source_file, code))
        while True:
            present = self._stored(function)
            if self._judge(function, present):
                return False
            if present == data or self._put(function, data, present) is not False:
                self._taken.add(function)
                self._verdicts[function] = False
                return True

    def _code(self, function: PureFunction) -> bytes | None:
        """Return the digest of a function's code; None, and a warning, if its text cannot be read just now."""
        try:
            return bytes(function.code_digest())
        except OSError as error:
            self._guard.fault("read the code of a function", error)
            return None

    def _put(self, function: PureFunction, data: bytes, present: bytes | None) -> bool | None:
        row = _row(function)
        return self._guard.write("claim a name", lambda store: store.claim_put(row, data, expected=present))

    def _stored(self, function: PureFunction) -> bytes | None:
        return self._guard.ask("look up a name", lambda store: store.claim_get(_row(function)))


def _row(function: PureFunction) -> Digest:
    return Digest(hashlib.sha256(function.token).digest())
