"""Binding the arguments of a call to the parameters of a function.

`inspect.Signature.bind` takes some 13 us a call. A function with the same
parameters, made once, takes less than one: Python itself then binds by
position, keyword and default, and raises its own errors for wrong calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

_KINDS = inspect.Parameter
_STARS: dict[Any, str] = {_KINDS.VAR_POSITIONAL: "*", _KINDS.VAR_KEYWORD: "**"}
_PASSED_AS: dict[Any, str] = {
    _KINDS.VAR_POSITIONAL: "*{0}",
    _KINDS.VAR_KEYWORD: "**{0}",
    _KINDS.KEYWORD_ONLY: "{0}={0}",
}


class Binder(NamedTuple):
    """How calls of one function are bound.

    Attributes
    ----------
    parameters : tuple of str
        The names, in the order of the signature.
    bind : callable
        Takes the arguments of a call, returns them as one tuple in the order
        of `parameters`: ``*args`` is a tuple, ``**kwargs`` a dict sorted by name.
    run : callable
        Takes a function and such a tuple, and calls the function.
    """

    parameters: tuple[str, ...]
    bind: Callable[..., tuple[Any, ...]]
    run: Callable[[Callable[..., Any], tuple[Any, ...]], Any]


def make_binder(signature: inspect.Signature, name: str) -> Binder:
    """Return the binder for a signature; errors name the function `name`.

    Examples
    --------
    >>> import inspect
    >>> def f(a, b=2, *rest, c, **more): ...
    >>> binder = make_binder(inspect.signature(f), "f")
    >>> binder.bind(1, z=5, c=4, y=6)
    (1, 2, (), 4, {'y': 6, 'z': 5})
    >>> binder.bind(1)
    Traceback (most recent call last):
    ...
    TypeError: f() missing 1 required keyword-only argument: 'c'
    """
    parameters = list(signature.parameters.values())
    defaults = {
        f"_lazycache_default_{i}": parameter.default
        for i, parameter in enumerate(parameters)
        if parameter.default is not parameter.empty
    }
    namespace: dict[str, Any] = {"_lazycache_sorted": _sorted_by_name, **defaults}
    exec(compile(_source(parameters), "<lazycache binder>", "exec"), namespace)
    bind = namespace["_lazycache_bind"]
    bind.__name__ = name.rpartition(".")[2]
    bind.__qualname__ = name
    return Binder(tuple(signature.parameters), bind, namespace["_lazycache_run"])


def signature_of(function: Any) -> inspect.Signature:
    """Return how a function is called; one that does not say takes anything."""
    anything = inspect.Signature([_KINDS("args", _KINDS.VAR_POSITIONAL), _KINDS("kwargs", _KINDS.VAR_KEYWORD)])
    if isinstance(function, np.ufunc):
        # Not all of its defaults may be given together.
        return anything
    try:
        own = inspect.signature(function, follow_wrapped=False)
        kinds = [parameter.kind for parameter in own.parameters.values()]
        if kinds == [_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD]:
            return inspect.signature(function)
    except (ValueError, TypeError):
        return anything
    return own


def _source(parameters: list[inspect.Parameter]) -> str:
    names = [parameter.name for parameter in parameters]
    results = [f"_lazycache_sorted({p.name})" if p.kind is _KINDS.VAR_KEYWORD else p.name for p in parameters]
    result = "".join([f"{text}, " for text in results])
    targets = "".join([f"{name}, " for name in names])
    unpack = f"    {targets} = _lazycache_values\n" if names else ""
    # Every name of ours starts with _lazycache, so that no parameter hides it.
    return (
        f"def _lazycache_bind({_declaration(parameters)}):\n"
        f"    return ({result})\n"
        f"def _lazycache_run(_lazycache_function, _lazycache_values):\n"
        f"{unpack}    return _lazycache_function({_arguments(parameters)})\n"
    )


def _declaration(parameters: list[inspect.Parameter]) -> str:
    parts: list[str] = []
    previous: Any = None
    star_seen = False
    for i, parameter in enumerate(parameters):
        kind = parameter.kind
        if previous is _KINDS.POSITIONAL_ONLY and kind is not _KINDS.POSITIONAL_ONLY:
            parts.append("/")
        if kind is _KINDS.KEYWORD_ONLY and not star_seen:
            parts.append("*")
            star_seen = True
        star_seen = star_seen or kind is _KINDS.VAR_POSITIONAL
        star = _STARS.get(kind, "")
        default = "" if parameter.default is parameter.empty else f"=_lazycache_default_{i}"
        parts.append(f"{star}{parameter.name}{default}")
        previous = kind
    if previous is _KINDS.POSITIONAL_ONLY:
        parts.append("/")
    return ", ".join(parts)


def _arguments(parameters: list[inspect.Parameter]) -> str:
    return ", ".join([_PASSED_AS.get(parameter.kind, "{0}").format(parameter.name) for parameter in parameters])


def _sorted_by_name(keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {name: keywords[name] for name in sorted(keywords)} if len(keywords) > 1 else dict(keywords)
