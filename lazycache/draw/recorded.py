"""What a cache knows of the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lazycache import current
from lazycache.errors import LazyCacheError
from lazycache.keys import key
from lazycache.nodes import Node

if TYPE_CHECKING:
    from lazycache_storage.record import Record


def find_records(nodes: Sequence[Node], cache: Any = None) -> list[Record | None]:
    """Return for each node the record of its result, if a cache has one that counts.

    Nothing is computed and nothing is loaded. The keys of the nodes are taken,
    so inputs that have not been hashed yet are hashed; what has no key, as it
    depends on a Variable or on a value without a digest, has no record.

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
    records: list[Record | None] = []
    for node in nodes:
        record = None
        if any(id(dep) in keyless for dep in node._deps):
            keyless.add(id(node))
        else:
            try:
                found = key(node)
            except LazyCacheError:
                # A picture of an expression that cannot be cached is a picture all the same.
                keyless.add(id(node))
            else:
                record = None if node._function is None else cache._find_valid(found, node)
        records.append(record)
    return records
