"""What may be asked of a collection."""

import fnmatch
import re
from dataclasses import dataclass
from functools import lru_cache

REASONS = ("kept", "all", "function", "missing-inputs", "stale-code", "max-age", "unused-for", "max-size")
"""Why an entry goes, by the number that a plan holds; 0 stands for staying."""


@dataclass(frozen=True, kw_only=True)
class GcLimits:
    """What a collection is to drop; the default drops nothing.

    Every criterion adds to what goes. ``functions`` alone drops all entries of
    these functions; together with others it narrows them to these functions.
    Pinned entries stay under every criterion.

    Attributes
    ----------
    max_size : int or None
        Bytes that may remain. What is cheapest to get back per byte and least
        used goes first.
    max_age, unused_for : float or None
        Seconds since an entry was made, or last used.
    functions : tuple of str
        Patterns with ``*``, ``?`` and ``[…]``, compared with the full name and
        with its last part.
    stale_code : bool
        Drop results of earlier versions and of code that was edited since,
        helpers included: see `stale`.
    missing_inputs : bool
        Drop results that watch a file which is gone.
    orphans : bool
        Remove objects that no record needs.
    everything : bool
        Drop all.
    now : float or None
        Seconds since the epoch that ages count from; None for the present.

    Examples
    --------
    >>> GcLimits().asks_for_anything
    False
    >>> GcLimits(functions=("ingest.*",)).matches("ingest.parse")
    True
    """

    max_size: int | None = None
    max_age: float | None = None
    unused_for: float | None = None
    functions: tuple[str, ...] = ()
    stale_code: bool = False
    missing_inputs: bool = False
    orphans: bool = False
    everything: bool = False
    now: float | None = None

    @property
    def asks_for_anything(self) -> bool:
        """Whether there is any criterion at all."""
        return bool(self.functions) or self.orphans or self.has_criterion

    @property
    def has_criterion(self) -> bool:
        """Whether any criterion beside ``functions`` picks entries."""
        bounds = (self.max_size, self.max_age, self.unused_for)
        return any(bound is not None for bound in bounds) or self.stale_code or self.missing_inputs or self.everything

    @property
    def wants_orphans(self) -> bool:
        """Whether objects that no record needs are to be looked for."""
        return self.orphans or self.everything or self.max_size is not None

    def matches(self, function: str) -> bool:
        """Return whether a function is among those that may be dropped."""
        return not self.functions or matches_any(self.functions, function)


@lru_cache(maxsize=4096)
def matches_any(patterns: tuple[str, ...], function: str) -> bool:
    """Return whether a name, or its last part, is matched by a pattern.

    Examples
    --------
    >>> matches_any(("parse",), "/home/ada/run.py:parse"), matches_any(("par*",), "ingest.read")
    (True, False)
    """
    last_part = re.split(r"[.:/]", function)[-1]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in (function, last_part))
