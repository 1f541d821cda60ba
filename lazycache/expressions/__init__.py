"""Expressions: nodes, the operators that build them, and their keys.

`tree` has the classes that users meet; every node of other rooms is a `nodes.Node` as well.
"""

from lazycache.expressions.nodes import Node
from lazycache.expressions.tree import computed, lazy

__all__ = ["Node", "computed", "lazy"]
