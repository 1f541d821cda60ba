"""Compiling an expression into one Python function with local variables.

A call becomes one assignment, or part of the only line that needs it. What is
not needed any more is overwritten, so an intermediate lives as long as it must.
Values that Python's source cannot write exactly (arrays, NaN, numpy scalars,
dtypes, …) are passed as objects, under names; so are the functions, of which
the program keeps what they are known by.
"""

from lazycache.codegen.function import Function
from lazycache.codegen.program import get_source
from lazycache.codegen.texts import stringify

__all__ = ["Function", "get_source", "stringify"]
