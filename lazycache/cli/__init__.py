"""The commands ``lazycache`` and ``lazycache-gc``.

They work on a store without importing the code that filled it. Results go to
standard output and everything else to standard error.

Exit codes: 0 done; 1 something was found wrong, or failed; 2 the command line
or a setting cannot be understood, or a confirmation is missing; 130 interrupted.
Treat any other code as a failure.
"""

from lazycache.cli.entry import main, main_gc

__all__ = ["main", "main_gc"]
