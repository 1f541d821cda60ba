"""Calls in numpy's names of parameters, made as calls of the namespace.

The namespace names and orders its parameters as the array API standard does,
numpy in its own way. A call of a function of numpy is bound to that function's
signature first, so that every parameter arrives where it belongs, by position
and by name alike, and one that has no lazy form is refused by its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter
from typing import Any

_RENAMED = {"a_min": "min", "a_max": "max"}

# What decides about memory alone, or about which of several algorithms finds the one result.
_WITHOUT_MEANING = frozenset({"copy", "kind", "like", "overwrite_input", "subok"})


class Translation:
    """How the parameters of a function of numpy go into one of the namespace.

    Parameters
    ----------
    theirs : callable
        numpy's function.
    ours : callable
        The namespace's.
    """

    def __init__(self, theirs: Callable[..., Any], ours: Callable[..., Any]) -> None:
        self._name = theirs.__name__
        self._ours = ours
        self._theirs = inspect.signature(theirs)
        self._places: dict[str, int | str] = {}
        # What may be passed on as it is: so many arguments by position, and these names.
        self._straight = 0
        self._same: set[str] = set()
        self._compare(list(self._theirs.parameters.values()), inspect.signature(ours).parameters)

    def _compare(self, theirs: list[Parameter], ours: Mapping[str, Parameter]) -> None:
        ordered = [one for one in ours.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        for position, one in enumerate(theirs):
            if one.kind is one.VAR_POSITIONAL:
                self._straight = 1_000_000
                continue
            named = ours.get(_RENAMED.get(one.name, one.name))
            beside = ordered[position] if position < len(ordered) else None
            if named is not None and named.kind is not named.POSITIONAL_ONLY:
                self._places[one.name] = named.name
                if named.name == one.name:
                    self._same.add(one.name)
            elif beside is not None and beside.kind is beside.POSITIONAL_ONLY and one.kind is not one.KEYWORD_ONLY:
                self._places[one.name] = position
            if self._straight == position and beside is not None and one.kind is not one.KEYWORD_ONLY:
                self._straight += self._places.get(one.name) in (position, beside.name)

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Make the call."""
        if len(args) <= self._straight and self._same.issuperset(kwargs):
            return self._ours(*args, **kwargs)
        by_position: list[Any] = []
        by_name: dict[str, Any] = {}
        for name, value in self._theirs.bind(*args, **kwargs).arguments.items():
            parameter = self._theirs.parameters[name]
            place = self._places.get(name)
            if parameter.kind is parameter.VAR_POSITIONAL:
                by_position += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                by_name.update({key: one for key, one in value.items() if key not in _WITHOUT_MEANING})
            elif isinstance(place, int):
                by_position.append(value)
            elif place is not None:
                by_name[place] = value
            elif name not in _WITHOUT_MEANING and not _is_default(value, parameter.default):
                raise TypeError(f"np.{self._name} with {name}= has no lazy form")
        return self._ours(*by_position, **by_name)


def _is_default(value: Any, default: Any) -> bool:
    # Never by what has an `==` of its own.
    return value is default or (type(value) in (bool, int, str) and type(value) is type(default) and value == default)


@cache
def translation(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Translation:
    """Return how calls of a function of numpy become calls of the namespace's.

    Examples
    --------
    >>> import numpy as np
    >>> import lazycache.array as lz
    >>> translation(np.clip, lz.clip)((lz.Variable(3),), {"a_min": 0, "a_max": 1})
    <LazyArray(fn=clip, shape=(3,), backend=None)>
    """
    return Translation(theirs, ours)
