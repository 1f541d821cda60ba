"""The code of a function, and of what it calls, as a digest.

What counts: the function's syntax tree, its defaults and its closure, and, in
the same way, the functions, methods, classes and constants of the user's own
modules that it refers to. What does not: comments, docstrings, layout, line
numbers, annotations, and installed packages beyond their names.

Not seen: names that are put together while the code runs (``getattr(module,
name)``, ``globals()[name]``).
"""

from .taking import Fingerprint, class_token, fingerprint, function_token

__all__ = ["Fingerprint", "class_token", "fingerprint", "function_token"]
