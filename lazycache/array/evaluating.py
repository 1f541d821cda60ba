"""Computing arrays in place: each node that is computed keeps its value and lets go of how it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazycache.array.functions import ArrayFunction
from lazycache.array.node import ArrayNode
from lazycache.blocks import whole
from lazycache.codegen.calls import Call
from lazycache.evaluation import annotate
from lazycache.expressions.nests import NATIVES, find_nodes, is_nest, substitute
from lazycache.expressions.nodes import Node, inner_first
from lazycache.graph import find_roots

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def get_depth(lz: LazyArray) -> int:
    """Return the greatest distance of a lazy array to an input."""
    return lz.depth


def get_data(lz: LazyArray) -> Any:
    """Return the value of a lazy array if it is there, and `PLACEHOLDER` if not.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> x = lz.arange(3)
    >>> lz.get_data(x + 1), lz.get_depth(x + 1)
    (PLACEHOLDER, 1)
    """
    return lz.data


def compute(lz: Any) -> Any:
    """Compute the values of lazy arrays, and keep them in the nodes.

    Every node that is computed lets go of its function, its arguments and its
    dependencies, so that what nobody else holds is freed.

    Parameters
    ----------
    lz : LazyArray, or any nest of tuples, lists and dicts that holds some

    Returns
    -------
    array, or nest of arrays

    Raises
    ------
    UnboundVariableError
        If there is a Variable without data.

    Examples
    --------
    >>> import numpy as np
    >>> import lazycache.array as lz
    >>> x = lz.array(np.arange(3.0))
    >>> lz.compute({"twice": 2 * x, "sum": x.sum()})
    {'twice': array([0., 2., 4.]), 'sum': np.float64(3.0)}
    """
    roots = find_roots(lz)
    if not roots:
        return lz
    values = settle(roots)
    return substitute(lz, {id(root): _result(root, values) for root in roots})


def _result(root: Node, values: dict[int, Any]) -> Any:
    return whole(root._value) if root._function is None else values[id(root)]


def settle(roots: list[Node]) -> dict[int, Any]:
    """Compute the arrays below `roots` in place; return the values of nodes that are no arrays, by id."""
    values: dict[int, Any] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if node._function is None or id(node) in values:
            stack.pop()
            continue
        deps = node._deps
        for dep in deps:
            if dep._function is not None and id(dep) not in values:
                pending = [dep for dep in reversed(deps) if dep._function is not None and id(dep) not in values]
                if len(pending) > 1:
                    # The deepest first, as the statistics of history count.
                    pending.sort(key=_depth_of)
                stack += pending
                break
        else:
            if isinstance(node, ArrayNode):
                settle_one(node, values)
            else:
                values[id(node)] = _run(node, values)
            stack.pop()
    return values


def _depth_of(node: Node) -> int:
    return node._depth if isinstance(node, ArrayNode) else 0


def settle_one(node: ArrayNode, values: dict[int, Any]) -> None:
    """Compute a node whose dependencies are known."""
    # Another thread may settle it now: the arguments are read before the function, see `_settle`.
    args, kwargs = node._args, node._kwargs
    function = node._function
    if function is None:
        return
    try:
        given = []
        for arg in args:
            if isinstance(arg, ArrayNode) and arg._function is None:
                given.append(arg._value)
            else:
                given.append(arg if type(arg) in NATIVES else _value(arg, values))
        if not kwargs and type(function) is ArrayFunction and function.operator is not None:
            value = function.operator(*given)
        else:
            value = _call(function, args, given, {name: _value(arg, values) for name, arg in kwargs.items()})
    except Exception as error:
        annotate(error, node)
        raise
    node._settle(value)


def _run(node: Node, values: dict[int, Any]) -> Any:
    """Return the value of a call that is no array; it is not kept in the node."""
    try:
        given = [_value(arg, values) for arg in node._args]
        named = {name: _value(arg, values) for name, arg in node._kwargs.items()}
        return _call(node._function, node._args, given, named)
    except Exception as error:
        annotate(error, node)
        raise


def _call(function: Any, args: tuple[Any, ...], given: list[Any], named: dict[str, Any]) -> Any:
    if function.trusted:
        return function.call(tuple(given), named)
    return Call(function, None, args).resolve()(*given, **named)


def _value(arg: Any, values: dict[int, Any]) -> Any:
    if isinstance(arg, Node):
        return arg._value if arg._function is None else values[id(arg)]
    if is_nest(arg):
        inside = find_nodes(arg)
        if inside:
            return substitute(arg, {id(node): _value(node, values) for node in inside})
    return arg


def maybe_materialize(x: Any) -> Any:
    """Return `x` with the lazy arrays in it computed; anything else as it is.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> maybe_materialize([1, lz.array([1, 2]).sum()])
    [1, np.int64(3)]
    """
    return compute(x)


def compute_constants(lz: Any, variables: Any) -> None:
    """Compute in place everything that does not depend on `variables`.

    Parameters
    ----------
    lz : LazyArray, or any nest of them
    variables : LazyArray, or any nest of them
        What is not constant, beside Variables without data.
    """
    from lazycache.array.functions import Unbound

    changing = {id(variable) for variable in find_nodes(variables)}
    needed: dict[int, Node] = {}
    order = list(inner_first(find_nodes(lz)))
    for node in order:
        if type(node._function) is Unbound or (
            id(node) not in changing and any(id(dep) in changing for dep in node._deps)
        ):
            changing.add(id(node))
    for node in order:
        inside = node._deps if id(node) in changing else ()
        needed.update((id(dep), dep) for dep in inside if id(dep) not in changing)
    roots = [node for node in find_nodes(lz) if id(node) not in changing]
    constants = [node for node in (*needed.values(), *roots) if isinstance(node, ArrayNode)]
    if constants:
        settle(list(constants))
