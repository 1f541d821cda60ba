"""`pure`: the checks at decoration, and what becomes of each kind of callable."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinMethodType, MethodType, ModuleType
from typing import Any, overload

from lazycache import settings
from lazycache.files import Hasher
from lazycache.purity.binding import make_binder, signature_of
from lazycache.purity.bound import BoundPure
from lazycache.purity.callee import Kind, Options, PureFunction
from lazycache.purity.checks import (
    Wanted,
    check_callable,
    check_ignored_globals,
    check_kind,
    check_options,
    check_rules,
    freeze_partial,
    is_instance,
    refuse,
)
from lazycache.purity.identity import Identity
from lazycache.purity.naming import name_of


@overload
def pure(function: Callable[..., Any], /) -> PureFunction: ...
@overload
def pure(
    *,
    version: Any = None,
    name: str | None = None,
    hashers: Mapping[str, Hasher] | None = None,
    ignore: Iterable[str] = (),
    depends: Any = (),
    store: bool = True,
    n_outputs: int | None = None,
    code: str = "deep",
    chunks: Any = None,
    shards: Any = None,
    compressors: Any = None,
    max_age: settings.Age | None = None,
) -> Callable[[Callable[..., Any]], PureFunction]: ...
def pure(
    function: Any = None,
    /,
    *,
    version: Any = None,
    name: str | None = None,
    hashers: Mapping[str, Hasher] | None = None,
    ignore: Iterable[str] = (),
    depends: Any = (),
    store: bool = True,
    n_outputs: int | None = None,
    code: str = "deep",
    chunks: Any = None,
    shards: Any = None,
    compressors: Any = None,
    max_age: settings.Age | None = None,
) -> Any:
    """Make a function pure: its calls build lazy expressions, and their results can be cached.

    Use it as ``@pure`` or with options, on functions, methods, class and static
    methods. You promise that the function returns the same for the same
    arguments.

    Parameters
    ----------
    version : int, str or tuple of these, optional
        With a version, results are found again as long as name and version
        stay, whatever happens to the code. Without one, the code of the
        function, and of everything of yours that it refers to, counts.
    name : str, optional
        What the function is called in keys and messages, in place of its
        module and qualified name.
    hashers : mapping of str to callable, optional
        For each parameter named here, a callable that says what of the argument
        goes into the key, such as ``{"filename": hash_by_file_date}``; see
        `lazycache.files`.
    ignore : iterable of str
        Parameters that do not go into the key. Without a version, also globals
        that the code refers to and that do not count.
    depends : iterable
        What else is part of the key: names of installed packages (which count
        by their version), constants, functions.
    store : bool
        Whether results are kept on disk.
    n_outputs : int, optional
        How many results the function returns, so that a call can be unpacked.
    code : {"deep", "self", "none"}
        What counts where there is no version: the function and all code of
        yours that it refers to, the function alone, or no code at all.
    chunks : int or tuple of int, optional
        Store array results in chunks of this shape, so that `Cache.open` reads
        parts of them. Arrays with another number of axes are not cut.
    shards : tuple of int, optional
        Keep a part of the array of this shape, which is many chunks, in one file.
    compressors : optional
        Compress array results with these Zarr codecs; by default, arrays in
        chunks are compressed as zarr-python does, and others are not. ``()``
        compresses nothing.
    max_age : float, str or timedelta, optional
        Seconds, or a text such as "7d", for which a result counts. After that
        the call runs again, and so does what was made of a result that has changed.

    Returns
    -------
    PureFunction
        It has ``raw`` (the function itself), ``is_cached``, ``explain`` and ``forget``.

    Raises
    ------
    PurityError
        If the function, or an option, is not of a kind that can work.

    Notes
    -----
    In the body of a pure function, pure functions called with plain arguments
    give values. Threads that a body starts, and modules first imported in it,
    are outside of that; see `in_context`.

    Examples
    --------
    >>> from lazycache import compute, pure
    >>> @pure(version=1)
    ... def scale(x, factor=2):
    ...     return x * factor
    >>> compute(scale(3) + scale(3, factor=10))
    36
    """
    wanted = Wanted(
        version=version,
        name=name,
        hashers=hashers or {},
        ignore=(ignore,) if isinstance(ignore, str) else tuple(ignore),
        depends=tuple(depends) if isinstance(depends, tuple | list) else (depends,),
        code=code,
        options=Options((), store, n_outputs, chunks, compressors, shards, max_age),
    )
    if function is None:
        return lambda function: make_pure(function, wanted)
    return make_pure(function, wanted)


def make_pure(function: Any, wanted: Wanted) -> Any:
    """Return the pure function for any callable, in the way that suits its kind."""
    if isinstance(function, staticmethod | classmethod):
        kind: Kind = "static" if isinstance(function, staticmethod) else "class"
        check_callable(function.__func__)
        return _make(function.__func__, wanted, kind)
    check_callable(function)
    if isinstance(function, MethodType):
        check_callable(function.__func__)
        return BoundPure(_make(function.__func__, wanted), function.__self__)
    if isinstance(function, BuiltinMethodType) and not isinstance(function.__self__, ModuleType | type | None):
        return BoundPure(_make(getattr(type(function.__self__), function.__name__), wanted), function.__self__)
    if is_instance(function):
        # The instance becomes an argument, so that its state counts at each call.
        return BoundPure(_make(type(function).__call__, wanted), function)
    return _make(function, wanted)


def _make(function: Any, wanted: Wanted, kind: Kind = "function") -> PureFunction:
    check_kind(function)
    subject = function.func if isinstance(function, functools.partial) else function
    if subject is not function:
        check_callable(subject)
        if is_instance(subject) or isinstance(subject, MethodType):
            refuse(function, "a partial of a method or of a callable object; make the method pure, then bind arguments")
    signature = signature_of(function)
    shown = wanted.name or name_of(subject).shown
    rules = check_rules(shown, signature, wanted)
    max_age = check_options(shown, wanted)
    bound: tuple[Any, ...] = ()
    if isinstance(function, functools.partial):
        function, bound = freeze_partial(shown, function, signature)
    left_out = tuple([name for name in wanted.ignore if name not in signature.parameters])
    check_ignored_globals(shown, subject, left_out, ", ".join(signature.parameters))
    identity = Identity(
        subject,
        name=wanted.name,
        version=wanted.version,
        depends=wanted.depends,
        ignore=left_out,
        code=wanted.code,
        bound=bound,
    )
    binder = make_binder(signature, getattr(subject, "__qualname__", None) or identity.name)
    return PureFunction(function, identity, binder, wanted.options._replace(hashers=rules, max_age=max_age), kind)
