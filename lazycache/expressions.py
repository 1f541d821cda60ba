"""Expressions: computed and lazy, trees built by operating on them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lazycache import pickling
from lazycache.digests import Memo, own, snapshot, token
from lazycache.errors import NotComputedError
from lazycache.keys import key
from lazycache.nests import NATIVES, find_nodes, is_nest, members, only_natives, postorder, rebuild
from lazycache.nodes import NO_FILES, NO_KWARGS, Callee, Node, Rope, join_ropes
from lazycache.numpy_protocols import EQUALITY_ADVICE, operation_of_function, operation_of_ufunc
from lazycache.operators import (
    APPLY,
    BINARY,
    BINARY_OPERATIONS,
    GETATTR,
    GETITEM,
    METHOD,
    UNARY_OPERATIONS,
    UNARY_OPERATORS,
    Operation,
)
from lazycache.placement import check_keys, check_placement

if TYPE_CHECKING:
    from lazycache_storage.record import FileState

__all__ = ["HashedLeaf", "Node", "Operation", "build", "build_bound", "coerce", "computed", "lazy"]

logger = logging.getLogger("lazycache")

_LARGE = 256 * 2**20
_LONG_TEXT = 256
_INLINE = NATIVES - {str, bytes}


class Expression(Node):
    """A node on which operating builds another one."""

    __slots__ = ()

    def __getattr__(self, name: str) -> lazy:
        if name.startswith("_"):
            raise AttributeError(f"a lazy expression has no attribute {name!r}: only public attributes are lazy")
        return _operate(GETATTR, self, name, (self, name))

    def __getitem__(self, index: Any) -> lazy:
        return _operate(GETITEM, self, index, (self, index))

    def __call__(self, *args: Any, **kwargs: Any) -> lazy:
        if self._function is GETATTR:
            return build(METHOD, (*self._args, *args), kwargs)
        return build(APPLY, (self, *args), kwargs)

    def __pow__(self, other: Any, modulo: Any = None) -> lazy:
        operation = BINARY_OPERATIONS["__pow__"]
        if modulo is None:
            return _operate(operation, self, other, (self, other))
        return build(operation, (self, other, modulo), NO_KWARGS)

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

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if _has_other_nodes(inputs):
            return NotImplemented
        return build(operation_of_ufunc(ufunc, method, inputs, kwargs, 1), inputs, kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        if any(issubclass(kind, Node) and not issubclass(kind, Expression) for kind in types):
            return NotImplemented
        return build(operation_of_function(func, kwargs), args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickling.reduce(self)


def _has_other_nodes(values: tuple[Any, ...]) -> bool:
    return any(isinstance(value, Node) and not isinstance(value, Expression) for value in values)


class computed(Expression):  # noqa: N801
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
        if self._token is None:
            value = self._value
            frozen, taken = snapshot(value, path=path, memo=memo)
            if frozen is not value:
                _mention_large_copy(value)
            _publish(self, frozen, taken)
        return self._token  # type: ignore[return-value]

    def _state(self) -> tuple[Any, ...]:
        # The token first: a thread that sees it also sees the value that it describes.
        taken = self._token
        return self._value, taken, self._style

    @classmethod
    def _from_state(cls, *state: Any) -> Self:
        leaf = object.__new__(cls)
        leaf._value, leaf._token, leaf._style = state
        return leaf


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

    def __new__(cls, value: Any, token: bytes, text: str, files: tuple[FileState, ...], hasher: str) -> Self:  # type: ignore[misc]
        """Return a leaf whose token is given."""
        return cls._from_state(value, token, "computed", text, files, hasher)

    @property
    def _rope(self) -> Rope:  # type: ignore[override]
        return self if self._files else NO_FILES

    def _state(self) -> tuple[Any, ...]:
        return self._value, self._token, self._style, self._text, self._files, self._hasher

    @classmethod
    def _from_state(cls, *state: Any) -> Self:
        leaf = object.__new__(cls)
        leaf._value, leaf._token, leaf._style, leaf._text, leaf._files, leaf._hasher = state
        return leaf


class lazy(Expression):  # noqa: N801
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
        return self._function, self._args, dict(self._kwargs) if self._kwargs else None, self._key

    @classmethod
    def _from_state(cls, *state: Any) -> Node:
        function, args, kwargs, taken_key = state
        node = build_bound(function, args, NO_KWARGS if kwargs is None else kwargs)
        node._key = taken_key
        return node


def _make_leaf(cls: type[computed], value: Any, owned: bool, style: str) -> Any:
    kind = type(value)
    if kind in _INLINE:
        return _leaf(cls, value, token(value), style)
    if kind not in NATIVES:
        if find_nodes(value):
            what = "an expression" if isinstance(value, Node) else f"a {kind.__name__} that holds expressions"
            raise NotComputedError(operation=f"computed() of {what}")
        check_placement(value, "value")
    return _leaf(cls, value, own(value) if owned else None, style)


def _leaf(cls: type[computed], value: Any, taken: bytes | None, style: str) -> computed:
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
    if is_nest(value):
        return _coerce_nest(value, path)
    if _is_numpy_constant(value):
        return value
    check_placement(value, path)
    return _leaf(computed, value, None, "computed")


def _coerce_nest(nest: Any, path: str) -> Any:
    if type(nest) is tuple and only_natives(nest):
        return nest
    if not find_nodes(nest):
        if _is_constant(nest):
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


def _is_constant(nest: Any) -> bool:
    """Say whether a nest is made of tuples, slices and natives only, so that nobody can change it."""
    if type(nest) is not tuple and type(nest) is not slice:
        return False
    for inner in postorder(nest):
        if type(inner) is not tuple and type(inner) is not slice:
            return False
        for member in members(inner):
            if type(member) not in NATIVES and not is_nest(member) and not _is_numpy_constant(member):
                return False
    return True


def _is_numpy_constant(value: Any) -> bool:
    # A structured scalar can be changed through its fields.
    return isinstance(value, np.generic | np.dtype | type) and not isinstance(value, np.void)


def build(function: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> lazy:
    """Return a call node: the one factory.

    Parameters
    ----------
    function : Callee
    args : tuple
    kwargs : mapping
        Anything; see `coerce`.
    """
    coerced = tuple([coerce(arg, f"args[{position}]") for position, arg in enumerate(args)])
    if kwargs:
        return build_bound(function, coerced, {name: coerce(arg, name) for name, arg in kwargs.items()})
    return build_bound(function, coerced, NO_KWARGS)


def build_bound(function: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any] = NO_KWARGS) -> lazy:
    """Return a call node of arguments that have been coerced already."""
    node = _new(lazy)
    node._function = function
    node._args = args
    node._kwargs = kwargs
    node._deps = deps = _find_deps(args, kwargs)
    node._key = None
    node._rope = join_ropes(deps) if deps else NO_FILES
    return node


_new: Callable[[type[lazy]], lazy] = object.__new__


def _find_deps(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Node, ...]:
    found: dict[int, Node] = {}
    only_nodes = not kwargs
    for arg in args if not kwargs else (*args, *kwargs.values()):
        if isinstance(arg, Node):
            found[id(arg)] = arg
            continue
        only_nodes = False
        if type(arg) not in NATIVES:
            for node in find_nodes(arg):
                found[id(node)] = node
    # Where every argument is another node, one tuple serves as both.
    return args if only_nodes and len(found) == len(args) else tuple(found.values())


def _operate(operation: Operation, node: Expression, other: Any, args: tuple[Any, ...]) -> lazy:
    """Return ``operation(*args)`` where `args` are `node` and `other` in some order."""
    if type(other) in _INLINE:
        built = _new(lazy)
        built._deps = (node,)
        built._rope = node._rope
    elif isinstance(other, Node):
        built = _new(lazy)
        if other is node:
            built._deps = (node,)
            built._rope = node._rope
        else:
            built._deps = args
            rope, others = node._rope, other._rope
            built._rope = rope if others is NO_FILES or others is rope else join_ropes(args)
    else:
        return build(operation, args, NO_KWARGS)
    built._function = operation
    built._args = args
    built._kwargs = NO_KWARGS
    built._key = None
    return built


def _binary_method(operation: Operation) -> Callable[[Expression, Any], lazy]:
    def method(self: Expression, other: Any) -> lazy:
        return _operate(operation, self, other, (self, other))

    return method


def _reflected_method(operation: Operation) -> Callable[[Expression, Any], lazy]:
    def method(self: Expression, other: Any) -> lazy:
        return _operate(operation, self, other, (other, self))

    return method


def _unary_method(operation: Operation) -> Callable[[Expression], lazy]:
    def method(self: Expression) -> lazy:
        return build_bound(operation, (self,), NO_KWARGS)

    return method


def _install_operators() -> None:
    for row in BINARY:
        operation = BINARY_OPERATIONS[row.method]
        if row.method != "__pow__":
            setattr(Expression, row.method, _binary_method(operation))
        if row.reflected:
            setattr(Expression, row.reflected, _reflected_method(operation))
    for row in UNARY_OPERATORS:
        setattr(Expression, row.method, _unary_method(UNARY_OPERATIONS[row.method]))


_install_operators()


# -- freezing -----------------------------------------------------------------

_publishing = threading.Lock()


def _publish(leaf: computed, value: Any, token: bytes) -> None:
    """Give a leaf its frozen value and token; of several threads the first one wins."""
    with _publishing:
        if leaf._token is None:
            leaf._value = value
            leaf._token = token


def _renew_lock() -> None:
    global _publishing
    _publishing = threading.Lock()


# Another thread may hold it at the moment of a fork.
os.register_at_fork(after_in_child=_renew_lock)


def _mention_large_copy(value: Any) -> None:
    nbytes = getattr(value, "nbytes", 0)
    if isinstance(nbytes, int) and nbytes > _LARGE:
        logger.warning(
            "copied an input of %.0f MB before its digest was taken, since it could change; "
            "computed(value, own=True) promises that it will not, and copies nothing",
            nbytes / 1e6,
        )
