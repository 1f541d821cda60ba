"""Shape and dtype rules: pure functions of ints, tuples and dtypes.

Nothing here knows of nodes, and nothing here calls a function of a backend
on data. A size that depends on values is ``None``.
"""

Size = int | None
Shape = tuple[Size, ...]

__all__ = ["Shape", "Size"]
