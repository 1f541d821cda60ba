"""Computing arrays in place: each node that is computed keeps its value and lets go of how it was made."""

from __future__ import annotations

from typing import Any

from lazycache.array.node import ArrayNode
from lazycache.nests import find_nodes, is_nest, substitute
from lazycache.nodes import Node, inner_first


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
    roots = find_nodes(lz)
    if not roots:
        return lz
    others = settle(roots)
    return substitute(lz, {id(root): root._value if id(root) not in others else others[id(root)] for root in roots})


def settle(roots: list[Node]) -> dict[int, Any]:
    """Compute the arrays below `roots` in place; return the values of roots that are no arrays, by id."""
    order = list(inner_first(roots))
    foreign = [node for node in order if not isinstance(node, ArrayNode) and node._function is not None]
    values: dict[int, Any] = {}
    if foreign:
        values = _evaluate_foreign(foreign, order, roots)
    order.reverse()
    while order:
        # Popped, so that an intermediate is freed as soon as those that need it are computed.
        node = order.pop()
        if isinstance(node, ArrayNode):
            settle_one(node, values)
    return (
        {id(root): values.get(id(root), root._value) for root in roots if not isinstance(root, ArrayNode)}
        if (foreign or any(not isinstance(root, ArrayNode) for root in roots))
        else values
    )


def settle_one(node: ArrayNode, values: dict[int, Any]) -> None:
    """Compute a node whose dependencies are known."""
    # Another thread may settle it now: the arguments are read before the function, see `_settle`.
    args, kwargs = node._args, node._kwargs
    function = node._function
    if function is None:
        return
    try:
        if kwargs:
            named = {name: _value(arg, values) for name, arg in kwargs.items()}
            value = function.call(tuple([_value(arg, values) for arg in args]), named)
        else:
            value = function.call(tuple([_value(arg, values) for arg in args]), kwargs)
    except Exception as error:
        from lazycache.evaluation import annotate

        annotate(error, node)
        raise
    node._settle(value)


def _value(arg: Any, values: dict[int, Any]) -> Any:
    if isinstance(arg, Node):
        return arg._value if arg._function is None else values[id(arg)]
    if type(arg) in _NESTS or is_nest(arg):
        inside = find_nodes(arg)
        if inside:
            return substitute(arg, {id(node): _value(node, values) for node in inside})
    return arg


_NESTS = (tuple, list, dict, slice)


def _evaluate_foreign(foreign: list[Node], order: list[Node], roots: list[Node]) -> dict[int, Any]:
    """Evaluate what is no array but has arrays above or below it, with the general evaluator."""
    from lazycache.evaluation import compute as evaluate

    above: set[int] = {id(root) for root in roots}
    for node in order:
        if isinstance(node, ArrayNode):
            above.update(id(dep) for dep in node._deps)
    wanted = [node for node in foreign if id(node) in above]
    return dict(zip(map(id, wanted), evaluate(wanted), strict=True))


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
        if type(node._function) is Unbound or (id(node) not in changing and any(id(dep) in changing for dep in node._deps)):
            changing.add(id(node))
    for node in order:
        inside = node._deps if id(node) in changing else ()
        needed.update((id(dep), dep) for dep in inside if id(dep) not in changing)
    roots = [node for node in find_nodes(lz) if id(node) not in changing]
    constants = [node for node in (*needed.values(), *roots) if isinstance(node, ArrayNode)]
    if constants:
        settle(list(constants))
