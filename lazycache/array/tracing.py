"""`trace`, which is two things under one name: compiling ordinary array code, and the sum of a diagonal."""

from __future__ import annotations

from typing import Any

from lazycache.array import products
from lazycache.array.backends import is_array
from lazycache.array.lazyarray import LazyArray, Variable
from lazycache.array.node import ArrayNode
from lazycache.array.operands import operand
from lazycache.codegen import Function
from lazycache.expressions.nests import transform
from lazycache.expressions.nodes import Node


def trace(x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Return a Function from ordinary array code, or the sum along the diagonals of an array.

    Parameters
    ----------
    x : callable or array
        With a callable, ``trace(fn, *arrays, fold_constants=True)`` calls it
        once with Variables that are like the arrays, and compiles what comes
        out; the Function takes the arrays as separate arguments. With an array
        it is numpy's ``trace(x, offset=0, axis1=0, axis2=1, dtype=None)``.
    *args
        Arrays, Variables, or nests of them; only their shapes and dtypes count.

    Returns
    -------
    Function or LazyArray

    Examples
    --------
    >>> import numpy as np
    >>> import lazycache.array as lz
    >>> f = lz.trace(lambda a, b: np.tanh(a) @ b, np.ones((2, 3)), np.ones(3))
    >>> f(np.zeros((2, 3)), np.ones(3))
    array([0., 0.])
    >>> lz.trace(np.eye(3)).compute()
    np.float64(3.0)
    """
    if not callable(x) or isinstance(x, Node) or is_array(x):
        return products.trace(x, *args, **kwargs)
    variables = tuple(transform(arg, _variable) for arg in args)
    outputs = transform(x(*variables), _output)
    return Function(variables, outputs, **kwargs)


def _variable(like: Any) -> LazyArray:
    if isinstance(like, ArrayNode):
        return Variable(like._shape, like._backend, like._dtype)
    found = operand(like)
    return Variable(found.shape, found.backend, found.dtype)


def _output(value: Any) -> Any:
    return value if isinstance(value, Node) else operand(value).arg
