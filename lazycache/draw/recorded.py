"""What a cache knows of the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lazycache import current
from lazycache.draw.labels import is_variable
from lazycache.errors import LazyCacheError
from lazycache.expressions.keys import key
from lazycache.expressions.nodes import Node

KEYLESS: Final = "without a key"
"""In place of the record of a node that can have none."""


def find_records(nodes: Sequence[Node], cache: Any = None) -> list[Any]:
    """Return for each node the record of its result, or None if a cache has none that counts.

    Nothing is computed and nothing is loaded. The keys of the nodes are taken,
    so inputs that have not been hashed yet are hashed. `KEYLESS` stands for the
    record of what depends on a Variable or on a value without a digest.

    Parameters
    ----------
    nodes : sequence of Node
        Inputs first.
    cache : Cache, optional
        By default the default cache.
    """
    cache = current.default_cache() if cache is None else cache
    if cache.mode == "off":
        return [None] * len(nodes)
    keyless: set[int] = set()
    records: list[Any] = []
    for node in nodes:
        record = KEYLESS if is_variable(node) or any(id(dep) in keyless for dep in node._deps) else _record(node, cache)
        if record is KEYLESS:
            keyless.add(id(node))
        records.append(record)
    return records


def _record(node: Node, cache: Any) -> Any:
    try:
        found = key(node)
    except LazyCacheError:
        # A picture of an expression that cannot be cached is a picture all the same.
        return KEYLESS
    return None if node._function is None else cache._find_valid(found, node)
