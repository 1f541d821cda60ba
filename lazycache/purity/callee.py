"""PureFunction: what `@pure` makes of a function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from lazycache import current
from lazycache.expressions.nests import only_natives
from lazycache.expressions.nodes import NO_KWARGS
from lazycache.expressions.tree import HashedLeaf, Node, build, build_bound, computed
from lazycache.files import Hasher, hash_argument, hasher_name, ignore
from lazycache.graph import find_nodes, substitute
from lazycache.protection import protect
from lazycache.purity import pickling
from lazycache.purity.binding import Binder, make_binder, signature_of
from lazycache.purity.bound import BoundPure
from lazycache.purity.identity import FrozenIdentity, Identity
from lazycache_storage.record import FileState

if TYPE_CHECKING:
    from lazycache.fingerprint.parts import CodePart

Kind = Literal["function", "static", "class"]


class Options(NamedTuple):
    """What was asked of `pure`, besides identity."""

    hashers: tuple[tuple[str, Hasher], ...] = ()
    store: bool = True
    n_outputs: int | None = None
    chunks: Any = None
    compressors: Any = None
    shards: Any = None
    max_age: Any = None


class Resolved(NamedTuple):
    """Arguments after hashers were applied to those that had to be evaluated first.

    Attributes
    ----------
    args : tuple
        What the function gets.
    leaves : dict
        By position, what the hasher made of an argument that was a node.
    files : tuple of FileState
        The files that these arguments name.
    """

    args: tuple[Any, ...]
    leaves: dict[int, HashedLeaf]
    files: tuple[FileState, ...]


class PureFunction:
    """A function whose calls build lazy expressions; made by `pure`.

    Calls bind their arguments as Python does, and give a node. Inside the
    body of a pure function, calls with plain arguments give values.

    Attributes
    ----------
    name : str
        For people: ``module.qualname``, or what was given as ``name=``.
    version : str
        The version as text; empty when there is none.
    parameters : tuple of str
    stored : bool
        Whether results are kept on disk.
    n_outputs : int or None
        How many parts a call unpacks into.
    chunks, shards, compressors
        How array results are stored.
    max_age : float or None
        Seconds for which a result counts.

    Notes
    -----
    Thread-safe. Pickled by module and name where these lead back to it, else by value.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]
    is_pure = True
    trusted = False

    def __init__(
        self,
        function: Callable[..., Any],
        identity: Identity | FrozenIdentity,
        binder: Binder,
        options: Options,
        kind: Kind = "function",
    ) -> None:
        self.name = identity.name
        self.version = identity.version_text
        self.parameters = binder.parameters
        self.stored = options.store
        self.n_outputs = options.n_outputs
        self.chunks = options.chunks
        self.shards = options.shards
        self.compressors = options.compressors
        self.max_age: float | None = options.max_age
        self._function = function
        self._identity = identity
        self._binder = binder
        self._bind = binder.bind
        self._options = options
        self._kind = kind
        self._owner: type | None = None
        self._variants: dict[type, PureFunction] = {}
        self.variant_of: tuple[PureFunction, type] | None = None
        self._rules = tuple([(binder.parameters.index(name), name, hasher) for name, hasher in options.hashers])
        self._passed_on = frozenset([i for i, _, hasher in self._rules if not getattr(hasher, "protects", False)])
        self._ignored = frozenset([i for i, _, hasher in self._rules if hasher is ignore])
        self.__qualname__ = self.__name__ = identity.name.rpartition(".")[2]
        # Not `updated`: attributes of the function must not replace ours.
        inner = function.func if isinstance(function, functools.partial) else function
        functools.update_wrapper(self, inner, updated=())
        self.__wrapped__ = function

    # -- calling ------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return the node of a call; inside a pure body, and with plain arguments, its value."""
        if self._owner is not None and args:
            return self.for_first(args[0]).call_unbound(args, kwargs)
        return self.call_unbound(args, kwargs)

    def call_unbound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the node or the value of a call, whose first argument has been looked at."""
        bound = self._bind(*args, **kwargs)
        node = self._build(bound)
        frame = current.frame()
        if frame is None or _holds_nodes(bound):
            return node
        return frame.evaluator(node)

    def _build(self, bound: tuple[Any, ...]) -> Node:
        if self._rules:
            bound = self._apply_rules(bound)
        if only_natives(bound):
            return build_bound(self, bound)
        return build(self, bound, NO_KWARGS)

    def _apply_rules(self, bound: tuple[Any, ...]) -> tuple[Any, ...]:
        changed = list(bound)
        for position, name, hasher in self._rules:
            value = _without_leaves(bound[position])
            if not _holds_nodes((value,)):
                changed[position] = self._hash(name, hasher, value)
        return tuple(changed)

    def _hash(self, name: str, hasher: Hasher, value: Any) -> Any:
        if value is None and not getattr(hasher, "takes_containers", False):
            return None
        try:
            hashed = hash_argument(hasher, value)
        except OSError as error:
            raise _naming(error, name, self.name) from None
        except Exception as error:
            error.add_note(f"in {hasher_name(hasher)}, the hasher of argument {name!r} of {self.name}")
            raise
        return HashedLeaf(hashed.value, hashed.token, hashed.text, hashed.files, hashed.hasher)

    def raw(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself: nothing is hashed, bound, protected or stored.

        Pure functions that it calls with plain arguments give values.
        """
        from lazycache.evaluation import PLAIN

        outer = current.running.get()
        frame = current.Frame(PLAIN, None, self.name, outer)
        try:
            current.running.set(frame)
            return self._function(*args, **kwargs)
        finally:
            current.running.set(outer)
            frame.pass_on()

    def is_cached(self, /, *args: Any, **kwargs: Any) -> bool:
        """Say whether the result of a call is in the default cache; nothing is run."""
        return self._build(self._bind(*args, **kwargs)) in current.default_cache()

    def explain(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return why a call hits or misses in the default cache; see `Cache.explain`."""
        return current.default_cache().explain(self._build(self._bind(*args, **kwargs)))

    def forget(self, /, *args: Any, **kwargs: Any) -> bool:
        """Drop the result of a call from the default cache; say whether there was one."""
        return bool(current.default_cache().forget(self._build(self._bind(*args, **kwargs))))

    # -- identity -----------------------------------------------------------

    @property
    def token(self) -> bytes:
        """The identity that goes into keys; see `Identity`."""
        return self._identity.token()

    @property
    def source_file(self) -> str:
        """The real path of the file with the code, or an empty text."""
        return self._identity.source_file

    @property
    def fingerprint_options(self) -> dict[str, Any]:
        """How the code counts: ``depends``, ``ignore`` and ``code``."""
        return dict(self._identity.options)

    def code_digest(self) -> bytes:
        """Return the digest of the function's own code."""
        return self._identity.code_digest()

    @property
    def is_name_and_version(self) -> bool:
        """Whether name and version are all that counts."""
        return self._identity.is_name_and_version

    def code_parts(self) -> tuple[CodePart, ...]:
        """Return what the code consists of, as far as it counts and can be seen here."""
        return self._identity.code_parts()

    def unstorable_reason(self) -> str | None:
        """Say why results may not be stored, if the text is not the code that runs."""
        return self._identity.mismatch()

    def __lazycache_digest__(self) -> bytes:
        return self.token

    # -- evaluation ---------------------------------------------------------

    def defers(self, args: tuple[Any, ...]) -> bool:
        """Say whether an argument with a hasher must be evaluated before it can be hashed."""
        return any(self._is_deferred(args[position]) for position, _, _ in self._rules)

    @staticmethod
    def _is_deferred(arg: Any) -> bool:
        return not isinstance(arg, HashedLeaf) and _holds_nodes((arg,))

    def resolve_arguments(self, args: tuple[Any, ...], values: tuple[Any, ...]) -> Resolved:
        """Apply hashers to the arguments that were nodes.

        Parameters
        ----------
        args : tuple
            The arguments of the call node.
        values : tuple
            The same, evaluated.
        """
        changed = list(values)
        leaves: dict[int, HashedLeaf] = {}
        files: list[FileState] = []
        for position, name, hasher in self._rules:
            if self._is_deferred(args[position]):
                leaf = self._hash(name, hasher, values[position])
                if leaf is None:
                    continue
                leaves[position] = leaf
                changed[position] = leaf._value
                files.extend(leaf._files)
        return Resolved(tuple(changed), leaves, tuple(files))

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ARG002
        """Run the function on bound values, which it cannot spoil."""
        passed_on = self._passed_on
        safe = []
        for position, value in enumerate(args):
            if isinstance(value, HashedLeaf):
                value = value._value
            if position not in passed_on or (isinstance(value, np.ndarray) and position not in self._ignored):
                value = protect(value)
            safe.append(value)
        try:
            result = self._binder.run(_with_protected(self._function), tuple(safe))
        except ValueError as error:
            if "read-only" in str(error):
                error.add_note(
                    f"lazycache gives {self.name} read-only views of its arguments, so that it cannot spoil them; "
                    "copy an array before writing into it"
                )
            raise
        if self.n_outputs is not None and not isinstance(result, Node):
            self._check_outputs(result)
        return result

    def _check_outputs(self, result: Any) -> None:
        if not isinstance(result, tuple | list) or len(result) != self.n_outputs:
            kind = type(result).__name__
            found = str(len(result)) if isinstance(result, tuple | list) else f"one value of type {kind}"
            raise TypeError(
                f"{self.name} has n_outputs={self.n_outputs}, so it must return a tuple or list of {self.n_outputs} "
                f"values; it returned {found}"
            )

    # -- a method, a value --------------------------------------------------

    def __set_name__(self, owner: type, name: str) -> None:
        if self._kind != "static":
            self._owner = owner

    def for_first(self, first: Any) -> PureFunction:
        """Return the function to use where `first` is ``self`` or ``cls``.

        Without a version, the code of the class counts. The class that the
        method stands in is found by name; another one is added here.
        """
        if self.version or isinstance(first, Node):
            return self
        cls = first if isinstance(first, type) else type(first)
        home = self.__qualname__.rpartition(".")[0]
        if "<" not in home and cls.__qualname__ == home and cls.__module__ == self.__module__:
            return self
        variant = self._variants.get(cls)
        if variant is None:
            identity = self._identity.with_class(cls)
            variant = PureFunction(self._function, identity, self._binder, self._options, self._kind)
            variant.variant_of = (self, cls)
            variant = self._variants.setdefault(cls, variant)
        return variant

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if self._kind == "static":
            return self
        if self._kind == "class":
            return BoundPure(self, type(instance) if owner is None else owner)
        return self if instance is None else BoundPure(self, instance)

    def __repr__(self) -> str:
        return f"<pure {self.name}{f' version {self.version}' if self.version else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return pickling.reduce(self)

    def parts(self) -> tuple[Any, ...]:
        """Return what a pickle by value holds besides the function; see `restore`."""
        return self._identity.frozen(), self._options, self._kind, self.__qualname__

    def restore(self, function: Any, identity: FrozenIdentity, options: Options, kind: Kind, qualname: str) -> None:
        """Fill an empty instance with what `parts` returned."""
        PureFunction.__init__(self, function, identity, make_binder(signature_of(function), qualname), options, kind)

    def __copy__(self) -> PureFunction:
        return self

    def __deepcopy__(self, memo: Any) -> PureFunction:
        return self


def _with_protected(function: Callable[..., Any]) -> Callable[..., Any]:
    if not isinstance(function, functools.partial):
        return function
    keywords = {name: protect(value) for name, value in function.keywords.items()}
    return functools.partial(function.func, *map(protect, function.args), **keywords)


def _without_leaves(value: Any) -> Any:
    """Return an argument with the values of the leaves in it, if no other nodes are there: it is the same call."""
    if only_natives((value,)):
        return value
    nodes = find_nodes(value)
    if nodes and all(type(node) is computed for node in nodes):
        return substitute(value, {id(node): node._value for node in nodes})
    return value


def _holds_nodes(bound: tuple[Any, ...]) -> bool:
    return not only_natives(bound) and bool(find_nodes(bound))


def _naming(error: OSError, argument: str, function: str) -> OSError:
    where = f"argument {argument!r} of {function}"
    if error.errno is None or type(error).__module__ != "builtins":
        # A class of somebody else's may be built from other arguments.
        error.add_note(f"for {where}")
        return error
    return type(error)(error.errno, f"{error.strerror}, for {where}", error.filename)
