"""Results: the rows of a survey put together, and who holds which object."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache_storage.gc.survey import Survey

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHEAPEST_SECONDS = 1e-3
"""What getting a result back costs at least, in seconds: keys, locks and storing."""

SHORTEST_IDLE_SECONDS = 1.0


class Results:
    """The rows of a survey put together by result, and who holds which object.

    Attributes
    ----------
    of_row : array
        The result of each row.
    pinned, chosen, created, last_used, uses, seconds, function : array
        By result: whether one row is pinned, whether one is of the functions
        asked for, and what all rows say together.
    """

    def __init__(self, survey: Survey) -> None:
        rows, refs = survey.rows, survey.refs
        numbers, first_row, self.of_row = np.unique(rows["result"], return_index=True, return_inverse=True)
        count = len(numbers)
        self.rows = rows
        self._order = self._starts = np.empty(0, np.intp)
        self.function = rows["function"][first_row]
        self.created = rows["created"][first_row]
        self.row_bytes = np.bincount(self.of_row, rows["bytes"], count)
        self.pinned = np.bincount(self.of_row, rows["pinned"], count) > 0
        self.chosen = np.bincount(self.of_row, rows["chosen"], count) > 0
        self.uses = np.bincount(self.of_row, rows["uses"], count)
        self.last_used = np.full(count, -np.inf)
        np.maximum.at(self.last_used, self.of_row, rows["last_used"])
        self.seconds = np.zeros(count)
        np.maximum.at(self.seconds, self.of_row, rows["seconds"])
        objects, first, self.object_of_ref = np.unique(refs["object"], return_index=True, return_inverse=True)
        self.object_bytes = refs["bytes"][first]
        self.row_of_ref = refs["row"]
        pairs = self.of_row[self.row_of_ref] * max(1, len(objects)) + self.object_of_ref
        self.pair_result, self.pair_object = np.divmod(np.unique(pairs), max(1, len(objects)))

    def nbytes(self, stays: "NDArray[Any]") -> int:
        """Return the bytes of these rows and of the objects that they need."""
        needed = np.zeros(len(self.object_bytes), bool)
        needed[self.object_of_ref[stays[self.row_of_ref]]] = True
        return int(self.rows["bytes"][stays].sum() + self.object_bytes[needed].sum())

    def sizes(self) -> "NDArray[Any]":
        """Return the bytes of each result; a shared object counts for each that needs it."""
        objects = np.bincount(self.pair_result, self.object_bytes[self.pair_object], len(self.row_bytes))
        return self.row_bytes + objects

    def rows_of(self, result: int) -> "NDArray[Any]":
        """Return the rows of one result."""
        if not len(self._starts):
            self._order = np.argsort(self.of_row, kind="stable")
            self._starts = np.searchsorted(self.of_row[self._order], np.arange(len(self.row_bytes) + 1))
        return self.rows[self._order[self._starts[result] : self._starts[result + 1]]]

    def worth(self, now: float) -> "NDArray[Any]":
        """Return for each result what keeping it saves per byte and time."""
        holders = np.bincount(self.pair_object, minlength=len(self.object_bytes))
        shares = (self.object_bytes / np.maximum(holders, 1))[self.pair_object]
        nbytes = self.row_bytes + np.bincount(self.pair_result, shares, len(self.row_bytes))
        idle = np.maximum(now - self.last_used, SHORTEST_IDLE_SECONDS)
        worth: NDArray[Any] = (1 + self.uses) * np.maximum(self.seconds, CHEAPEST_SECONDS) / nbytes / idle
        return worth
