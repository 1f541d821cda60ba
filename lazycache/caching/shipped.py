"""One pure call of a cached evaluation, in a worker: look once more, run, store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lazycache.caching.counters import Counters
from lazycache.caching.run import CachedEvaluation, Outcome
from lazycache.errors import LazyCacheError
from lazycache.evaluation import MISSING
from lazycache.execution.stand_ins import StoredResult
from lazycache.expressions.tree import Node
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache.caching.bridge import Cache
    from lazycache_storage.record import FileState, Record

Files = tuple["FileState", ...]


class LostResultError(LazyCacheError):
    """What a call needs is no longer in the store; the parent knows how to make it again."""

    template = "{key} is no longer in the store"


class Answer(NamedTuple):
    """What a worker tells about a call.

    Attributes
    ----------
    record : Record or None
        None if the result is not stored; then it is in `outcome`.
    outcome : Outcome or None
        None if another one computed it meanwhile, or if it was not run.
    below, own : tuple of FileState
        See `ReadFiles`.
    counters : Counters
    is_refused : bool
        Whether the parent has to make the call itself.
    """

    record: Record | None = None
    outcome: Outcome | None = None
    below: Files = ()
    own: Files = ()
    counters: Counters = Counters()
    is_refused: bool = False


class ShippedCall(NamedTuple):
    """A call as it is sent.

    Attributes
    ----------
    node : Node
        The call, above stand-ins for the calls below.
    token : bytes
        The identity of the function: a worker may have loaded other code.
    call_key : bytes
        Empty if the result is not to be stored.
    deferred : tuple of FileState
        See `CachedEvaluation._produce`.
    files : sequence of (below, own)
        Of each node that the call depends on.
    text : str
        What messages and records call it.
    is_remote : bool
        Whether the worker is another process.
    """

    node: Node
    token: bytes
    call_key: bytes
    deferred: Files
    files: Sequence[tuple[Files, Files]]
    text: str
    is_remote: bool

    @property
    def name(self) -> str:
        """The function, for messages."""
        return str(self.node._function.name)

    def parts(self) -> Sequence[tuple[str, Any]]:
        """Return what is sent, each part with what it is called in messages."""
        function = self.node._function
        named = zip(function.parameters, self.node._args, strict=False)
        arguments = [(f"argument {name!r} of {self.name}", arg) for name, arg in named]
        return [(f"the function {self.name}", function), *arguments]

    def run(self, cache: Cache) -> Answer:
        """Make the call through a cache."""
        if self.node._function.token != self.token:
            return Answer(is_refused=True)
        counters = Counters()
        try:
            answer = ShippedEvaluation(cache._counting_in(counters), self).answer()
        except LostResultError:
            return Answer(is_refused=True, counters=counters)
        return answer._replace(counters=counters)


class ShippedEvaluation(CachedEvaluation):
    """The evaluation of one call that was sent; what it depends on is known."""

    def __init__(self, cache: Cache, call: ShippedCall) -> None:
        super().__init__(cache, [call.node])
        self._shipped = call
        self._outcome: Outcome | None = None

    def answer(self) -> Answer:
        """Make the call and tell about it."""
        call = self._shipped
        node = call.node
        self.plan()
        for dep, (below, own) in zip(node._deps, call.files, strict=True):
            self._files.give(dep, below, own)
        if not call.call_key:
            value = self.demand(node)
            return Answer(None, Outcome(value, 0.0, self._files.unstored(node)))
        if call.is_remote:
            # The parent tries again, and tells.
            self._guard.hold_back(call.text, call.name)
        call_key = self._call_keys[id(node)] = Digest(call.call_key)
        self._produce(node, call_key, call.deferred)
        record, outcome = self._records.get(id(node)), self._outcome
        if record is None and outcome is not None:
            outcome = outcome._replace(value=self._values[id(node)])
        elif outcome is not None:
            outcome = outcome._replace(value=None)
        return Answer(record, outcome, self._files.below(node), self._files.own(node))

    def is_kept(self, node: Node) -> bool:  # noqa: ARG002
        """Nothing is looked up: what was found is a stand-in already."""
        return False

    def text(self, node: Node) -> str:
        """Return what messages and records call `node`: the call as it was before it was taken apart."""
        return self._shipped.text if node is self._shipped.node else super().text(node)

    def known(self, node: Node) -> Any:
        """Return the value of a stand-in too."""
        if not isinstance(node, StoredResult):
            return super().known(node)
        record = self._guard.find_anywhere(node.key)
        value = MISSING if record is None else self._guard.load(record, node.key)
        if value is MISSING:
            raise LostResultError(key=node.key.hex())
        return value

    def _execute(self, node: Node, call_key: Digest, deferred: Files) -> Outcome:
        self._outcome = super()._execute(node, call_key, deferred)
        return self._outcome
