"""What a store holds in all, and by function, as the database has added it up.

A survey decodes every record, which takes seconds for a million; the table
that `accounts` describes has a row for each function.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lazycache_storage.gc.limits import GcLimits
from lazycache_storage.gc.results import Results
from lazycache_storage.gc.survey import take_survey
from lazycache_storage.index.accounts import FIRST
from lazycache_storage.layout import KEY_BYTES

if TYPE_CHECKING:
    from lazycache_storage.store import Store

_BY_TAG = "SELECT is_record, tag, rows, bytes, uses, saved, seconds FROM Totals WHERE rows > 0"

_HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'Totals'"

_OBJECTS = f"""
    SELECT count(*), sum(size), sum(size * max(holders - 1, 0)) FROM (
        SELECT max(size) AS size, sum(tag LIKE '{FIRST}%') AS holders
        FROM Cache WHERE raw = 1 AND key >= CAST('ref:' AS BLOB) AND key < CAST('ref;' AS BLOB)
        GROUP BY substr(key, 5, {KEY_BYTES})
    )
"""


@dataclass
class FunctionTotals:
    """What a store holds of one function.

    Attributes
    ----------
    function : str
    results : int
    nbytes : int
        An object counts for each function that needs it.
    hits : int
        Uses of its results, as of the last flush.
    seconds_saved : float
        What computing them again at each use would have taken.
    seconds : float
        What computing them took.
    """

    function: str
    results: int = 0
    nbytes: int = 0
    hits: int = 0
    seconds_saved: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True)
class Totals:
    """What a store holds in all.

    Attributes
    ----------
    results, keys, objects : int
        One result may be held under several keys.
    nbytes : int
        Shared objects count once.
    nbytes_saved : int
        What the shared objects would take once more.
    functions : list of FunctionTotals
        What saved most first.
    """

    results: int
    keys: int
    objects: int
    nbytes: int
    nbytes_saved: int
    functions: list[FunctionTotals]

    @property
    def hits(self) -> int:
        """Uses of all results, as of the last flush."""
        return sum(function.hits for function in self.functions)

    @property
    def seconds_saved(self) -> float:
        """What computing again at each use would have taken."""
        return sum(function.seconds_saved for function in self.functions)


def take_totals(store: "Store") -> Totals:
    """Add up what a store holds."""
    # A store from before there were totals has no triggers either, and never will.
    return _totals_of_table(store) if store.index.fetch(_HAS_TABLE) else _totals_of_survey(store)


def _totals_of_survey(store: "Store") -> Totals:
    survey = take_survey(store, GcLimits())
    results = Results(survey)
    functions = [FunctionTotals(name) for name in survey.names]
    sizes = results.sizes()
    for result, number in enumerate(results.function.tolist()):
        function = functions[number]
        function.results += 1
        function.nbytes += int(sizes[result])
        function.hits += int(results.uses[result])
        function.seconds_saved += float(results.uses[result] * results.seconds[result])
        function.seconds += float(results.seconds[result])
    holders = np.bincount(results.pair_object, minlength=len(results.object_bytes))
    return Totals(
        len(sizes),
        len(survey.rows),
        len(results.object_bytes),
        results.nbytes(np.ones(len(survey.rows), bool)),
        int((results.object_bytes * (holders - 1)).sum()),
        _by_worth(functions),
    )


def _totals_of_table(store: "Store") -> Totals:
    functions: dict[str, FunctionTotals] = {}
    keys = row_bytes = 0
    for is_record, tag, rows, nbytes, hits, saved, seconds in store.index.fetch(_BY_TAG):
        function = functions.setdefault(tag[1:], FunctionTotals(tag[1:]))
        is_first = tag.startswith(FIRST)
        if is_record:
            keys += rows
            row_bytes += nbytes
            function.hits += hits
            function.seconds_saved += saved
            function.results += rows * is_first
            function.seconds += seconds * is_first
        if is_record or is_first:
            function.nbytes += nbytes
    ((objects, object_bytes, saved_bytes),) = store.index.fetch(_OBJECTS)
    by_worth = _by_worth(functions.values())
    results = sum(function.results for function in by_worth)
    return Totals(results, keys, objects, row_bytes + (object_bytes or 0), saved_bytes or 0, by_worth)


def _by_worth(functions: Iterable[FunctionTotals]) -> list[FunctionTotals]:
    return sorted(functions, key=lambda function: (-function.seconds_saved, -function.nbytes))
