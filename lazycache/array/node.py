"""The vertex of an array expression, and the one place where such vertices are made.

Fields beyond those of `Node`: ``_backend``, ``_shape``, ``_dtype`` (numpy's, or
None if it is not known) and ``_depth``. A vertex is a leaf (``_function`` is
None, ``_value`` is the array) or a call. `ArrayNode._settle` turns a call that
has been computed into a leaf; it is the only change that a node ever sees.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lazycache.array import backends
from lazycache.array.functions import ArrayFunction, Unbound, as_function
from lazycache.array.infer import Shape
from lazycache.array.infer.dtypes import DType
from lazycache.array.infer.elsewhere import known_elsewhere
from lazycache.array.sharing import active, call_key
from lazycache.array.stored import Stored, is_stored
from lazycache.expressions.freezing import freeze, portable, refreeze
from lazycache.expressions.nests import NATIVES, find_nodes, is_nest, members, postorder, rebuild
from lazycache.expressions.nodes import NO_FILES, NO_KWARGS, Node, join_ropes
from lazycache.expressions.tree import coerce
from lazycache_storage.digest import Digest

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray
    from lazycache.digests import Memo


class Placeholder:
    """What a Variable has in place of data; there is one, `PLACEHOLDER`."""

    __slots__ = ()

    def __new__(cls) -> Placeholder:
        """Return the one there is."""
        return globals().get("PLACEHOLDER") or super().__new__(cls)

    def __repr__(self) -> str:
        return "PLACEHOLDER"

    def __reduce__(self) -> str:
        return "PLACEHOLDER"


PLACEHOLDER = Placeholder()
"""The data of an array that has none."""

_settling = threading.Lock()


def _renew_lock() -> None:
    global _settling
    _settling = threading.Lock()


# Another thread may hold it at the moment of a fork.
os.register_at_fork(after_in_child=_renew_lock)


class ArrayNode(Node):
    """The fields of a LazyArray; see there."""

    __slots__ = (
        "_args",
        "_backend",
        "_deps",
        "_depth",
        "_dtype",
        "_function",
        "_key",
        "_kwargs",
        "_rope",
        "_shape",
        "_token",
        "_value",
    )

    _backend: str | None
    _shape: Shape
    _dtype: DType
    _depth: int
    _concrete: ClassVar[type[Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # The first is LazyArray; a class that a user derives from it is made by that user alone.
        if "_concrete" not in ArrayNode.__dict__:
            ArrayNode._concrete = cls

    __hash__ = object.__hash__

    def _take_token(self, memo: Memo | None, path: str) -> bytes:
        """Freeze the data of a leaf and return its token."""
        return self._token if self._token is not None else freeze(self, memo, path)

    def _settle(self, value: Any) -> None:
        """Become a leaf with `value`; a key that somebody has taken stays."""
        with _settling:
            if self._function is None:
                return
            key = self._key
            if key is not None:
                self._token = b"K" + key
                # The key promises these bytes, so nobody may write into them.
                if isinstance(value, np.ndarray):
                    value.setflags(write=False)
            self._value = value
            # In this order another thread sees a call with its arguments, or a leaf.
            self._function = None
            self._args = ()
            self._kwargs = NO_KWARGS
            self._deps = ()
            self._depth = 0

    def _pinned(self) -> Node:
        # The function last: another thread that computes this array takes it away first.
        args, kwargs, deps = self._args, self._kwargs, self._deps
        function = self._function
        if function is None:
            return self
        twin = _blank(function, args, kwargs, self._shape, self._dtype, self._backend, deps)
        twin._key = self._key
        return twin

    def _state(self) -> tuple[Any, ...]:
        # The function last: another thread that computes this array takes it away first.
        args, kwargs, key = self._args, self._kwargs, self._key
        function = self._function
        # Only named functions live for ever, and may be held in a memo.
        make_head = _shared_head if isinstance(function, ArrayFunction) else _Head
        head = make_head(self._backend, self._shape, self._dtype, function)
        if function is None:
            return head, portable(self._value), self._token
        # Flat, and with plain bytes for the key: both are much faster to pickle.
        return (head, None if key is None else bytes(key), dict(kwargs) if kwargs else None, *args)

    @classmethod
    def _from_state(cls, head: _Head, *rest: Any) -> Node:
        if head.function is None:
            value, token = rest
            leaf = make_leaf(refreeze(value, token), head.backend, head.shape, head.dtype)
            leaf._token = token
            return leaf
        key, kwargs, *args = rest
        deps = _find_deps(tuple(args), kwargs or NO_KWARGS)
        node = _blank(head.function, tuple(args), kwargs or NO_KWARGS, head.shape, head.dtype, head.backend, deps)
        if key is not None:
            node._key = Digest(key)
        return node


class _Head:
    """What many nodes of a pickle have in common; one object for equal ones, so that it is written once."""

    __slots__ = ("backend", "dtype", "function", "shape")

    def __init__(self, backend: str | None, shape: Shape, dtype: DType, function: Any) -> None:
        self.backend = backend
        self.shape = shape
        self.dtype = dtype
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        return _Head, (self.backend, self.shape, self.dtype, self.function)


_shared_head = lru_cache(maxsize=256)(_Head)


def _find_deps(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Node, ...]:
    return tuple(find_nodes((args, dict(kwargs)) if kwargs else args))


def _depth_of(deps: tuple[Node, ...]) -> int:
    depth = -1
    for dep in deps:
        below = dep._depth if isinstance(dep, ArrayNode) else _depth_by_walk(dep)
        if below > depth:
            depth = below
    return depth + 1


def _depth_by_walk(node: Node) -> int:
    from lazycache.graph import ascend

    depths: dict[int, int] = {}
    for below in ascend(node):
        depths[id(below)] = max((depths[id(dep)] for dep in below._deps), default=-1) + 1
    return depths[id(node)]


def _blank(
    function: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    shape: Shape,
    dtype: DType,
    backend: str | None,
    deps: tuple[Node, ...],
) -> LazyArray:
    cls = ArrayNode._concrete
    node: LazyArray = object.__new__(cls)
    node._function = function
    node._args = args
    node._kwargs = kwargs
    node._shape = shape
    node._dtype = dtype
    node._backend = backend
    node._deps = deps
    node._key = None
    node._token = None
    node._depth = 0
    node._rope = NO_FILES
    # Array nodes that depend on no file, as nearly all do, in few steps.
    for dep in deps:
        if dep.__class__ is not cls or dep._rope is not NO_FILES:
            node._depth = _depth_of(deps)
            node._rope = join_ropes(deps)
            break
        depth = dep._depth  # type: ignore[attr-defined]
        if depth >= node._depth:
            node._depth = depth + 1
    return node


def make(
    function: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    shape: Shape,
    dtype: DType,
    backend: str | None,
    deps: tuple[Node, ...] | None = None,
) -> LazyArray:
    """Make a call node; in a sharing context an equal one is returned if there is one.

    Parameters
    ----------
    function : ArrayFunction, UfuncMethod, UserFunction or Unbound
    args, kwargs : tuple, mapping
        Coerced: nodes, natives, and nests of these.
    shape, dtype, backend
        Of the result.
    deps : tuple of Node, optional
        The nodes in the arguments, each once; found if not given.
    """
    if kwargs:
        kwargs = {name: own_argument(value) for name, value in kwargs.items()}
    if deps is None:
        deps = _find_deps(args, kwargs)
    if backend != "numpy" and backend is not None and dtype is not None:
        dtype = known_dtype(function.name, dtype, backend, deps)
    shared = active.get()
    if shared is None:
        return _blank(function, args, kwargs, shape, dtype, backend, deps)
    key = call_key(function, args, kwargs)
    entry = shared.get(key)
    if entry is None:
        node = _blank(function, args, kwargs, shape, dtype, backend, deps)
        # With the arguments, which the key knows by identity.
        entry = shared.setdefault(key, (node, args, kwargs))
    return entry[0]  # type: ignore[no-any-return]


def known_dtype(name: str, dtype: DType, backend: str | None, deps: tuple[Node, ...]) -> DType:
    """Return the dtype that numpy's rules give, or None on a backend whose own functions decide."""
    if backend is None or backend == "numpy":
        return dtype
    return known_elsewhere(name, dtype, backend, [dep._dtype for dep in deps if isinstance(dep, ArrayNode)])


def own_argument(value: Any) -> Any:
    """Return an argument that nobody can change: containers are copied, data become leaves."""
    if type(value) in NATIVES or isinstance(value, (Node, np.generic, np.dtype, type)):
        return value
    if is_nest(value):
        done: dict[int, Any] = {}
        for inner in postorder(value):
            new = [done[id(member)] if is_nest(member) else own_argument(member) for member in members(inner)]
            done[id(inner)] = rebuild(inner, new)
        return done[id(value)]
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return from_data(value)
    return coerce(value)


def make_leaf(value: Any, backend: str | None, shape: Shape, dtype: DType) -> LazyArray:
    """Make a leaf with data."""
    cls = ArrayNode._concrete
    node: LazyArray = object.__new__(cls)
    node._function = None
    node._args = ()
    node._kwargs = NO_KWARGS
    node._shape = shape
    node._dtype = dtype
    node._backend = backend
    node._deps = ()
    node._key = None
    node._token = None
    node._value = value
    node._depth = 0
    node._rope = NO_FILES
    return node


def from_data(data: Any) -> LazyArray:
    """Return a leaf that holds an array; in a sharing context one per array.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = from_data(np.ones((2, 3), "f4"))
    >>> leaf.shape, leaf.dtype, leaf.backend
    ((2, 3), dtype('float32'), 'numpy')
    """
    shared = active.get()
    if shared is not None:
        entry = shared.get(("leaf", id(data)))
        if entry is not None:
            return entry[0]  # type: ignore[no-any-return]
    held = Stored(data) if is_stored(data) else data
    backend = backends.backend_of(held)
    if backends.is_array(data) and not isinstance(data, np.matrix):
        shape = tuple(None if size is None or size != size else int(size) for size in data.shape)
        leaf = make_leaf(held, backend, shape, backends.numpy_dtype(data.dtype))
    else:
        array = backends.as_numpy(data)
        if array is None:
            raise refusal(data)
        leaf = make_leaf(array, "numpy", array.shape, array.dtype)
    if shared is not None:
        shared["leaf", id(data)] = (leaf, data)
    return leaf


def refusal(data: Any) -> TypeError:
    """Return the error for data of which there is no lazy array."""
    return TypeError(
        f"cannot make a lazy array of {type(data).__name__}: its elements are objects; "
        "lazycache.computed(x) takes it as it is"
    )


def from_shape(shape: Any, backend: str | None = "numpy", dtype: Any = None, name: str = "Variable") -> LazyArray:
    """Return a Variable: a place for data of a shape, to be given later."""
    known = None if dtype is None else backends.numpy_dtype(dtype)
    sizes = as_sizes(shape)
    return _blank(Unbound(name, shape=sizes), (), NO_KWARGS, sizes, known, _named(backend), ())


def as_sizes(shape: Any) -> Shape:
    """Return what a user says of a shape: an int, or several, of which some may be None."""
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        return tuple(None if size is None else operator.index(size) for size in given)
    except TypeError as error:
        raise TypeError(f"expected a shape, an int or a tuple of them, got {type(shape).__name__}: {error}") from error


def _named(backend: Any) -> str | None:
    """Return the name of a backend; a TypeError where it is a dtype that stands in its place."""
    if backend is None or (isinstance(backend, str) and not _is_dtype(backend)):
        return backend
    raise TypeError(f"expected the name of a backend, got {backend!r}; the dtype is a keyword: dtype={backend!r}")


def _is_dtype(name: str) -> bool:
    try:
        np.dtype(name)
    except TypeError:
        return False
    return True


def make_call(backend: str | None, fn: Any, args: Any, kwargs: Any, shape: Any, deps: Any, dtype: Any) -> LazyArray:
    """Make a node for any callable, as a user asks for one; dependencies that are not named are found all the same."""
    del deps
    known = None if dtype is None else backends.numpy_dtype(dtype)
    named = {name: own_argument(value) for name, value in kwargs.items()} if kwargs else NO_KWARGS
    given = tuple([own_argument(arg) for arg in args])
    return _blank(as_function(fn), given, named, tuple(shape), known, backend, _find_deps(given, named))
