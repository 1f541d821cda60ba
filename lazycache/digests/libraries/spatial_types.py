"""scipy.spatial: trees by their points and by how these were split; the pickle of a tree has addresses in it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lazycache.digests.registry import expanders, standing_for

# Untyped, and not everywhere installed.
spatial: Any = import_module("scipy.spatial")


def register() -> None:
    """Put the trees into the registry; what is derived from them may hold more."""
    for kind in (spatial.cKDTree, spatial.KDTree):
        expanders[kind] = standing_for(f"scipy.spatial.{kind.__name__}", _parts)


def _parts(tree: Any) -> Any:
    return tree.data, tree.indices, tree.leafsize, tree.boxsize, tree.size
