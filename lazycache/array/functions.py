"""What array nodes call: functions known by name, of which every backend has its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from lazycache.array import backends
from lazycache.array.implementations import FALLBACK, FOREIGN, OWN
from lazycache.errors import UnboundVariableError
from lazycache.expressions.operators import PRIMARY, Kind


class ArrayFunction:
    """A function of arrays that is known by its name.

    Parameters
    ----------
    name : str
        As in the namespace, e.g. ``"linalg.svd"``.
    operator : callable, optional
        What runs on the arrays of any backend alike, e.g. ``operator.add``.
    symbol : str, optional
        How the operator is written, e.g. ``"+"``.
    backend : str, optional
        For functions without array arguments: whose arrays to make.
    n_outputs : int, optional
        The length of the tuple it returns.
    kind, precedence
        How it is printed; see `lazycache.expressions.operators`.
    """

    __slots__ = (
        "__weakref__",
        "_found",
        "backend",
        "kind",
        "n_outputs",
        "name",
        "operator",
        "precedence",
        "symbol",
        "token",
    )

    stored = False
    is_pure = False
    # Nothing here writes into its arguments.
    trusted = True

    def __init__(
        self,
        name: str,
        operator: Callable[..., Any] | None = None,
        symbol: str | None = None,
        backend: str | None = None,
        n_outputs: int | None = None,
        kind: Kind = "call",
        precedence: int = PRIMARY,
    ) -> None:
        self.name = name
        self.kind = kind
        self.precedence = precedence
        self.operator = operator
        self.symbol = symbol
        self.backend = backend
        self.n_outputs = n_outputs
        self.token = f"array.{name}@{backend or ''}".encode()
        self._found: dict[str, Callable[..., Any]] = {}

    def resolve(self, backend: str | None) -> Callable[..., Any]:
        """Return the function that a backend's arrays go through."""
        if self.operator is not None:
            return self.operator
        name = self.backend or backend or "numpy"
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = find(self.name, name)
        return found

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the value of a call on the arrays of whatever backend."""
        if self.operator is not None:
            return self.operator(*args, **kwargs)
        return self.resolve(self.backend or backends.backend_of_call(args))(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, so that `a.fn(*values)` computes what the node stands for."""
        return self.call(args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return array_function, (self.name, self.backend, self.n_outputs)

    def __repr__(self) -> str:
        return f"<array function {self.name}>"


OPERATORS: dict[str, ArrayFunction] = {}
"""Functions that are operators of Python, by name; filled by the table."""


@lru_cache(maxsize=4096)
def array_function(name: str, backend: str | None = None, n_outputs: int | None = None) -> ArrayFunction:
    """Return the one ArrayFunction of a name."""
    # Imported here, since a module may ask while the room is being imported, before the table is there.
    from lazycache.array import table  # noqa: F401

    if name in OPERATORS:
        return OPERATORS[name]
    return ArrayFunction(name, backend=backend, n_outputs=n_outputs)


def find(name: str, backend: str) -> Callable[..., Any]:
    """Return a backend's function; a TypeError says that it has none."""
    found = _find_numpy(name) if backend == "numpy" else _find_foreign(name, backend)
    if found is None:
        raise TypeError(f"the backend {backend!r} has no function {name!r}")
    return found


def _find_numpy(name: str) -> Callable[..., Any] | None:
    return OWN.get(name) or backends.attribute(np, name)


def _find_foreign(name: str, backend: str) -> Callable[..., Any] | None:
    module = backends.namespace(backend)
    found = backends.attribute(module, name) or backends.attribute(backends.plain_namespace(backend), name)
    # dask takes numpy's arrays beside its own; what is drawn at random is drawn by numpy.
    taken = _as_it_is if backend == "dask" or name.startswith("random.") else _taken
    generic = FOREIGN.get(name) or (FALLBACK.get(name) if found is None else None)
    if generic is not None:
        return lambda *args, **kwargs: generic(
            module,
            *(taken(arg, module) for arg in args),
            **{key: taken(value, module) for key, value in kwargs.items()},
        )
    if found is None:
        return None
    called = found

    def call(*args: Any, **kwargs: Any) -> Any:
        # A node carries numpy's dtypes, whichever backend it belongs to.
        if isinstance(kwargs.get("dtype"), np.dtype):
            kwargs["dtype"] = backends.backend_dtype(kwargs["dtype"], backend)
        fixed = [
            backends.backend_dtype(arg, backend) if isinstance(arg, np.dtype) else taken(arg, module) for arg in args
        ]
        return called(*fixed, **{key: taken(value, module) for key, value in kwargs.items()})

    return call


def _as_it_is(value: Any, module: Any) -> Any:  # noqa: ARG001
    return value


def _taken(value: Any, module: Any) -> Any:
    """Return an argument with the arrays of numpy in it, as of constants, as arrays of the backend."""
    if isinstance(value, np.ndarray):
        # A copy: some take no array that is read-only, none that runs backwards, none in another order of bytes.
        return module.asarray(value.astype(value.dtype.newbyteorder("=")))
    if isinstance(value, (tuple, list)) and any(isinstance(one, np.ndarray) for one in value):
        return type(value)(_taken(one, module) for one in value)
    return value


class UfuncMethod:
    """A numpy ufunc, or a method of one, that has no name in the namespace."""

    __slots__ = ("__weakref__", "_token", "method", "n_outputs", "name", "ufunc")

    stored = False
    is_pure = False
    trusted = True
    symbol = None
    kind: Kind = "call"
    precedence = PRIMARY

    def __init__(self, ufunc: np.ufunc, method: str, n_outputs: int | None = None) -> None:
        self.ufunc = ufunc
        self.method = method
        self.n_outputs = n_outputs
        self.name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        self._token: bytes | None = None

    @property
    def token(self) -> bytes:
        """The digest of the ufunc with the method, taken when it is asked for; a user's ufunc has none."""
        if self._token is None:
            from lazycache.digests import digest

            self._token = b"ufunc." + bytes(digest(self.ufunc, path=self.name)) + self.method.encode()
        return self._token

    def resolve(self, backend: str | None) -> Callable[..., Any]:
        """Return the ufunc's method; a ufunc is numpy's, and the arrays of others bring their own."""
        del backend
        return getattr(self.ufunc, self.method)  # type: ignore[no-any-return]

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the value of a call."""
        return getattr(self.ufunc, self.method)(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it on values."""
        return self.call(args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return ufunc_method, (self.ufunc, self.method, self.n_outputs)

    def __repr__(self) -> str:
        return f"<ufunc {self.name}>"


@lru_cache(maxsize=1024)
def ufunc_method(ufunc: np.ufunc, method: str, n_outputs: int | None = None) -> UfuncMethod:
    """Return the one UfuncMethod of a ufunc and a method."""
    return UfuncMethod(ufunc, method, n_outputs)


class UserFunction:
    """Any callable that a user made a node of; its identity is that of its code."""

    __slots__ = ("__weakref__", "_token", "function", "name")

    stored = False
    is_pure = False
    trusted = False
    symbol = None
    kind: Kind = "call"
    precedence = PRIMARY
    n_outputs = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self._token: bytes | None = None

    @property
    def token(self) -> bytes:
        """The digest of the function, taken when it is asked for."""
        if self._token is None:
            from lazycache.digests import digest

            self._token = b"user." + bytes(digest(self.function, path=self.name))
        return self._token

    def resolve(self, backend: str | None) -> Callable[..., Any]:
        """Return the callable."""
        del backend
        return self.function

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the value of a call."""
        return self.function(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it on values."""
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return UserFunction, (self.function,)

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class Unbound:
    """What a Variable calls: nothing; its token is its identity."""

    __slots__ = ("__weakref__", "name", "shape", "token")

    is_unbound = True
    stored = False
    is_pure = False
    trusted = True
    symbol = None
    kind: Kind = "call"
    precedence = PRIMARY
    n_outputs = None

    def __init__(self, name: str = "Variable", token: bytes | None = None, shape: Any = ()) -> None:
        self.name = name
        self.shape = shape
        self.token = token if token is not None else b"variable." + os.urandom(16)

    def call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> NoReturn:
        """Refuse: there is no data."""
        del args, kwargs
        raise UnboundVariableError(variable=f"{self.name} of shape {self.shape}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Unbound, (self.name, self.token, self.shape)


def as_function(fn: Any) -> Any:
    """Return what a node calls for any callable."""
    if isinstance(fn, (ArrayFunction, UfuncMethod, UserFunction, Unbound)) or _is_callee(fn):
        return fn
    for function in OPERATORS.values():
        if fn is function.operator:
            return function
    if isinstance(fn, np.ufunc):
        return ufunc_method(fn, "__call__")
    if not callable(fn):
        raise TypeError(f"a lazy array is made by a function, not by {fn!r}")
    return UserFunction(fn)


def _is_callee(fn: Any) -> bool:
    return hasattr(fn, "call") and hasattr(fn, "token") and hasattr(fn, "is_pure")
