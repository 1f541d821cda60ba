"""Parsing Python's text, by one thread at a time.

Python before 3.11.8 and 3.12.2 counts the depth of all threads that build a
syntax tree in one place: if one is stopped by a garbage collection while
another parses, both may end with a SystemError.
"""

import ast
import os
import threading

# A finalizer may need a tree while one is built.
_lock = threading.RLock()


def parse(text: str) -> ast.Module:
    """Return the syntax tree of a text.

    Raises
    ------
    SyntaxError, ValueError
        If it is not Python.
    """
    with _lock:
        return ast.parse(text)


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


# Another thread may hold it at the moment of a fork.
os.register_at_fork(after_in_child=_renew_lock)
