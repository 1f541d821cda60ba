"""Expressions: computed and lazy, trees built by operating on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from lazycache.digests import Memo, own, token
from lazycache.errors import NotComputedError
from lazycache.expressions import pickling
from lazycache.expressions.freezing import freeze, portable, refreeze, token_of_code
from lazycache.expressions.keys import key
from lazycache.expressions.nests import (
    NATIVES,
    find_deps,
    find_nodes,
    is_constant,
    is_nest,
    is_numpy_constant,
    members,
    only_natives,
    postorder,
    rebuild,
)
from lazycache.expressions.nodes import NO_FILES, NO_KWARGS, Callee, Node, Rope, argument_name, join_ropes
from lazycache.expressions.numpy_protocols import EQUALITY_ADVICE
from lazycache.expressions.operating import Operating
from lazycache.expressions.operators import GETITEM, Operation
from lazycache.expressions.placement import check_keys, check_placement
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache_storage.record import FileState

__all__ = ["HashedLeaf", "Node", "Operation", "build", "build_bound", "coerce", "computed", "lazy"]

Leaf = TypeVar("Leaf", bound="computed")

_LONG_TEXT = 256
_INLINE = NATIVES - {str, bytes}


class Expression(Operating):
    """What `computed` and `lazy` have in common: they are compared by key, and pickled as a program."""

    __slots__ = ()

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if isinstance(other, Expression):
            return key(self) == key(other)
        if isinstance(other, Node):
            return NotImplemented
        raise TypeError(EQUALITY_ADVICE)

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(key(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return pickling.reduce_node(self)

    def _call(self, function: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> lazy:
        return build(function, args, kwargs)

    def _operate(self, function: Callee, other: Any, args: tuple[Any, ...]) -> Any:
        kind = type(other)
        if kind in _INLINE or (kind is str and len(other) <= _LONG_TEXT):
            built = _new(lazy)
            built._deps = (self,)
            built._rope = self._rope
        elif isinstance(other, Expression):
            built = _new(lazy)
            if other is self:
                built._deps = (self,)
                built._rope = self._rope
            else:
                built._deps = args
                rope, others = self._rope, other._rope
                built._rope = rope if others is NO_FILES or others is rope else join_ropes(args)
        elif isinstance(other, Node) and args[0] is self and function is not GETITEM and _has_shape(self):
            # A lazy array knows the shape of the result too: it builds, through its reflected operator.
            return NotImplemented
        else:
            return build(function, args, NO_KWARGS)
        built._function = function
        built._args = args
        built._kwargs = NO_KWARGS
        built._key = None
        return built


def _has_shape(node: Node) -> bool:
    return node._function is None and isinstance(node._value, np.ndarray | np.generic | int | float | complex)


class computed(Expression):
    """A leaf: a value tagged with its digest.

    Operating on it builds a `lazy`. The digest is taken when it is first
    needed, together with a private copy of the value, unless the value cannot
    change.

    Parameters
    ----------
    value : object
    own : bool
        A promise not to change the value: its digest is taken at once and
        nothing is copied; an array is made read-only.

    Raises
    ------
    MisplacedNodeError
        If the value hides expressions where they would not be evaluated.
    UnhashableError
        With ``own=True``, if the value has no stable digest.

    Examples
    --------
    >>> import numpy as np
    >>> from lazycache import computed, compute
    >>> computed(3)
    computed(3)
    >>> computed(np.zeros(1000))
    computed(?:ndarray(shape=(1000,), dtype=float64))
    >>> compute(computed(3) + 4)
    7
    """

    __slots__ = ("_style", "_token", "_value")

    _style: str
    _function = None
    _args = ()
    _kwargs = NO_KWARGS
    _deps = ()
    _key = None
    _rope = NO_FILES

    def __new__(cls, value: Any, own: bool = False) -> Self:
        """Return a leaf; a leaf is returned as it is."""
        if isinstance(value, cls):
            return value
        return _make_leaf(cls, value, own, "computed")

    def _take_token(self, memo: Memo | None, path: str) -> bytes:
        return freeze(self, memo, path) if self._token is None else self._token

    def _state(self) -> tuple[Any, ...]:
        # The token first: a thread that sees it also sees the value that it describes.
        taken = self._token
        value = self._value
        return portable(value), token_of_code(value) if taken is None else taken, self._style

    @classmethod
    def _from_state(cls, *state: Any) -> Self:
        value, taken, style = state
        return _leaf(cls, refreeze(value, taken), taken, style)


class HashedLeaf(computed):
    """An argument that a hasher made a token for; its value is what the function gets.

    Parameters
    ----------
    value : object
    token : bytes
    text : str
        How it is shown.
    files : tuple of FileState
        What it depends on.
    hasher : str
        The name of the hasher.
    """

    __slots__ = ("_files", "_hasher", "_text")

    _files: tuple[FileState, ...]
    _hasher: str
    _text: str

    def __new__(cls, value: Any, token: bytes, text: str, files: tuple[FileState, ...], hasher: str) -> Self:
        """Return a leaf whose token is given."""
        leaf = _leaf(cls, value, token, "computed")
        leaf._text, leaf._files, leaf._hasher = text, files, hasher
        return leaf

    @property
    def _rope(self) -> Rope:
        return self if self._files else NO_FILES

    def _state(self) -> tuple[Any, ...]:
        return self._value, self._token, self._text, self._files, self._hasher

    @classmethod
    def _from_state(cls, *state: Any) -> Self:
        return cls(*state)


class lazy(Expression):
    """A call that has not been made: a function and its arguments.

    Operating on an expression builds one, as does calling a `@pure` function.
    ``lazy(value)`` gives a leaf, and returns an expression as it is.

    Parameters
    ----------
    value : object
    own : bool
        A promise not to change the value; see `computed`.

    Examples
    --------
    >>> from lazycache import lazy, compute
    >>> x = lazy(3)
    >>> x
    <lazy 3>
    >>> e = (x + 1) ** 2
    >>> compute(e)
    16
    """

    __slots__ = ("_args", "_deps", "_function", "_key", "_kwargs", "_rope")

    _function: Callee

    def __new__(cls, value: Any, own: bool = False) -> Any:
        """Return a leaf; a node is returned as it is."""
        if isinstance(value, Node):
            return value
        return _make_leaf(computed, value, own, "lazy")

    def _state(self) -> tuple[Any, ...]:
        taken = None if self._key is None else bytes(self._key)
        return self._function, taken, dict(self._kwargs) if self._kwargs else None, *self._args

    @classmethod
    def _from_state(cls, *state: Any) -> Node:
        function, taken, kwargs, *args = state
        node = build_bound(function, tuple(args), NO_KWARGS if kwargs is None else kwargs)
        node._key = None if taken is None else Digest(taken)
        return node


def _make_leaf(cls: type[Leaf], value: Any, owned: bool, style: str) -> Leaf:
    kind = type(value)
    if kind in _INLINE or (kind in NATIVES and len(value) <= _LONG_TEXT):
        return _leaf(cls, value, token(value), style)
    if kind not in NATIVES:
        if find_nodes(value):
            what = "an expression" if isinstance(value, Node) else f"a {kind.__name__} that holds expressions"
            raise NotComputedError(operation=f"computed() of {what}")
        check_placement(value, "value")
    return _leaf(cls, value, own(value) if owned else None, style)


def _leaf(cls: type[Leaf], value: Any, taken: bytes | None, style: str) -> Leaf:
    leaf = object.__new__(cls)
    leaf._value = value
    leaf._token = taken
    leaf._style = style
    return leaf


# -- building -----------------------------------------------------------------


def coerce(value: Any, path: str = "value") -> Any:
    """Return `value` as an argument of a call.

    Nodes and immutable natives stay as they are, nests that hold nodes become
    nests of coerced members, everything else becomes a leaf.

    Parameters
    ----------
    value : object
    path : str
        Where it is, for messages.

    Raises
    ------
    MisplacedNodeError
        If it hides a node where evaluation would not find it.
    UnhashableError
        If it is an iterator.
    """
    if isinstance(value, Node):
        return value
    kind = type(value)
    if kind in NATIVES:
        return value if kind in _INLINE or len(value) <= _LONG_TEXT else computed(value)
    if kind is np.ndarray and not value.dtype.hasobject:
        return _leaf(computed, value, None, "computed")
    if kind is slice and only_natives((value.start, value.stop, value.step)):
        return value
    if is_nest(value):
        return _coerce_nest(value, path)
    if is_numpy_constant(value):
        return value
    check_placement(value, path)
    return _leaf(computed, value, None, "computed")


def _coerce_nest(nest: Any, path: str) -> Any:
    if type(nest) is tuple and only_natives(nest):
        return nest
    if not find_nodes(nest):
        if is_constant(nest):
            return nest
        check_placement(nest, path)
        return _leaf(computed, nest, None, "computed")
    built: dict[int, Any] = {}
    for inner in postorder(nest):
        inside = members(inner)
        if any(isinstance(member, Node) or id(member) in built for member in inside):
            if type(inner) is dict:
                check_keys(inner, path)
            built[id(inner)] = rebuild(
                inner, [built[id(member)] if id(member) in built else coerce(member, path) for member in inside]
            )
    return built[id(nest)]


def build(function: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> lazy:
    """Return a call node: the one factory.

    Parameters
    ----------
    function : Callee
    args : tuple
    kwargs : mapping
        Anything; see `coerce`.
    """
    coerced = tuple(
        [
            arg if type(arg) in _INLINE or isinstance(arg, Node) else coerce(arg, argument_name(function, position))
            for position, arg in enumerate(args)
        ]
    )
    if kwargs:
        return build_bound(function, coerced, {name: coerce(arg, name) for name, arg in kwargs.items()})
    return build_bound(function, coerced, NO_KWARGS)


def build_bound(function: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any] = NO_KWARGS) -> lazy:
    """Return a call node of arguments that have been coerced already."""
    node = _new(lazy)
    node._function = function
    node._args = args
    node._kwargs = kwargs
    node._deps = deps = find_deps(args, kwargs)
    node._key = None
    node._rope = join_ropes(deps) if deps else NO_FILES
    return node


_new: Callable[[type[lazy]], lazy] = object.__new__
