"""The code of a function, and of what it calls, as a digest.

What counts: the function's syntax tree, its defaults and its closure, and, in
the same way, the functions, methods, classes and constants of the user's own
modules that it refers to. What does not: comments, docstrings, layout, line
numbers, annotations, and installed packages beyond their names.

Names in constant texts count as well: ``getattr(module, "helper")``,
``globals()["helper"]``. Not seen: names that are put together while the code
runs (``getattr(module, name)``).

The work is done in `lazycache.fingerprint.taking`, which is imported when the
first function is met: a process that only uses versions never pays for it.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal

from lazycache.digests.code import register_code

from .watch import Fingerprint

__all__ = ["Fingerprint", "class_token", "fingerprint", "function_token"]


def fingerprint(
    function: Any,
    *,
    depends: Iterable[object] = (),
    ignore: Collection[str] = (),
    code: Literal["deep", "self", "none"] = "deep",
) -> Fingerprint:
    """Take the fingerprint of a function's code.

    Parameters
    ----------
    function : callable
        A function, or what stands around one: a partial, a method, a wrapper.
    depends : iterable
        What counts besides: names of packages (by version), modules, constants, functions.
    ignore : collection of str
        Names of globals, ``module.name`` or ``Class.attribute``, that do not count.
    code : {"deep", "self", "none"}
        Whether the function's code counts with all that it refers to, by
        itself (with its defaults and closure), or not at all.

    Raises
    ------
    FingerprintError
        For a global that can change; the message names it.

    Examples
    --------
    >>> def double(x): return 2 * x
    >>> taken = fingerprint(double)
    >>> taken.is_current(), taken.mismatch
    (True, None)
    >>> double.__defaults__ = (1,)
    >>> taken.is_current()
    False
    """
    from .taking import take

    return take(function, tuple(depends), frozenset(ignore), code)


def function_token(function: Callable[..., Any]) -> bytes:
    """Return the bytes that stand for a function, or another callable, that is used as a value.

    Equal code gives equal bytes, wherever it stands and in every process; what
    is installed goes by its name.

    Examples
    --------
    >>> function_token(lambda x: x + 1) == function_token(lambda x: x + 1)
    True
    >>> function_token(lambda x: x + 1) == function_token(lambda x: x + 2)
    False
    """
    from .taking import value_token

    return value_token(function)


def class_token(cls: type) -> bytes:
    """Return the bytes that stand for a class: its code and that of its bases."""
    from .taking import value_token

    return value_token(cls)


register_code(function_token)
