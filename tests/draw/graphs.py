"""Graphs to draw, and what is true of them by `lazycache.graph`."""

from typing import Any

import numpy as np

import lazycache.array as lz
from lazycache import computed, pure
from lazycache.graph import ascend


@pure(version=1)
def load(name: str) -> Any:
    return np.arange(12.0).reshape(3, 4) + len(name)


@pure(version=1)
def scale(x: Any, factor: float = 2.0) -> Any:
    return x * factor


def pipeline() -> Any:
    """Return an expression of pure calls, operators and methods."""
    light = scale(load("light")) - scale(load("dark"), 3.0)
    return light.mean(axis=0) / (light.max() + 100)


def orthogonal(columns: int) -> Any:
    """Return the columns of a Variable made orthogonal: many long edges."""
    matrix = lz.Variable((40, columns), dtype="f8")
    found: list[Any] = []
    for number in range(columns):
        column = matrix[:, number]
        for other in found:
            column = column - other * lz.sum(other * column)
        found.append(column / lz.sqrt(lz.sum(column * column)))
    return lz.stack(found, axis=1)


def chain(length: int) -> Any:
    """Return a chain that uses its input all along."""
    x = e = computed(np.ones(3))
    for number in range(length):
        e = e * x if number % 3 == 0 else e + 1
    return e


def fan(width: int) -> Any:
    """Return a graph as wide as it can be."""
    return np.stack([np.sqrt(computed(float(number))) for number in range(width)]).sum()


GRAPHS: dict[str, Any] = {
    "leaf": lambda: computed(3),
    "variable": lambda: lz.Variable((2, None)),
    "pipeline": pipeline,
    "nest": lambda: {"a": [pipeline()], "b": (computed(1) + 1, lz.array([1.0, 2.0]))},
    "orthogonal": lambda: orthogonal(5),
    "many": lambda: orthogonal(12),
    "chain": lambda: chain(300),
    "fan": lambda: fan(400),
}


def counts(x: Any) -> tuple[int, int]:
    """Return how many nodes and edges a graph has."""
    nodes = list(ascend(x))
    return len(nodes), sum(len(node._deps) for node in nodes)


@pure(version=1, name='_odd <$x_1$> & "q" \\ \x07 `b` ]]> #35; é中')
def odd(x: Any, text: str = "") -> Any:
    return x


def hostile() -> Any:
    """Return an expression whose labels hold everything that formats treat specially."""
    return odd(computed("it's \\ \"\0 $x$ #quot; ]]> -->"), 'a"b\n<&>%%{}') + odd(np.ones(3))['k"e\ny'] + "1. end\ud800"
