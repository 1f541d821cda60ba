"""What is said to those who look for a method where there is a function of that name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn


class MissedMethod:
    """A name that a class has not, and that says what there is in place of it.

    A ``__getattr__`` would slow every look at an attribute, as Python then takes another path to it.

    Parameters
    ----------
    name : str
    function : str
        What there is, with its module.
    """

    __slots__ = ("_function", "_name")

    def __init__(self, name: str, function: str) -> None:
        self._name = name
        self._function = function

    def __get__(self, instance: object, owner: type) -> NoReturn:
        message = f"{owner.__name__!r} object has no attribute {self._name!r}: there is the function {self._function}"
        raise AttributeError(message, name=self._name, obj=owner if instance is None else instance)


def name_functions(kind: type, functions: Iterable[str], module: str) -> None:
    """Let a class name the functions of a module where somebody looks for a method that it has not."""
    for name in functions:
        if name not in vars(kind) and not hasattr(kind, name):
            setattr(kind, name, MissedMethod(name, f"{module}.{name}"))
