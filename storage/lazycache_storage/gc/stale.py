"""Which code is no longer current, from what the store knows of it.

Nobody's code is imported, and two codes of one name may both be in use: in two
projects, in two branches, or as two functions made in one module. So a code
counts as replaced only where another one of the same function and place came
later, in another process, and none of the results of the first was stored or
used since that process was started. Of a place that is not known, such as
that of a lambda or of a cell of a notebook, nothing is replaced.
"""

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from lazycache_storage.index.index import CODE_PREFIX
from lazycache_storage.notes import CodeNote, decode_code_note
from lazycache_storage.record import CODE, Ingredient

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lazycache_storage.index.index import Index

UNKNOWN = -1

_decode_ingredients = msgspec.msgpack.Decoder(tuple[Ingredient, ...]).decode


class Variants:
    """The codes that a store has notes on, by number.

    Parameters
    ----------
    index : Index, optional
        Without one, nothing is known.
    """

    def __init__(self, index: "Index | None" = None) -> None:
        self._notes: list[CodeNote] = []
        self._by_identity: dict[bytes, int] = {}
        self._by_version: dict[tuple[str, str], int] = {}
        if index is not None:
            for row in index.items(CODE_PREFIX):
                note = decode_code_note(row.value)
                if note is not None and note.seen:
                    self._add(row.key[len(CODE_PREFIX) :], note)

    def _add(self, identity: bytes, note: CodeNote) -> None:
        if not note.version:
            self._by_identity[identity] = len(self._notes)
            self._notes.append(note)
            return
        known = self._by_version.setdefault((note.function, note.version), len(self._notes))
        if known == len(self._notes):
            self._notes.append(note)
        else:
            seen = (*self._notes[known].seen, *note.seen)
            self._notes[known] = msgspec.structs.replace(self._notes[known], seen=seen)

    def number(self, record: Any) -> int:
        """Return the number of the code that made a record, of which the ingredients are still encoded."""
        if not self._notes or not (record.version or record.code):
            return UNKNOWN
        try:
            identity = next((part.token for part in _decode_ingredients(record.ingredients) if _is_code(part)), None)
        except (msgspec.DecodeError, TypeError, ValueError):
            return UNKNOWN
        if identity is not None:
            return self._by_identity.get(identity, UNKNOWN)
        return self._by_version.get((record.function, record.version), UNKNOWN)

    def stale(self, rows: "NDArray[Any]") -> "NDArray[Any]":
        """Return which rows of a survey were made by code that was replaced."""
        known = rows[rows["variant"] != UNKNOWN]
        used = np.full(len(self._notes), -math.inf)
        made = np.full(len(self._notes), math.inf)
        np.maximum.at(used, known["variant"], known["last_used"])
        np.minimum.at(made, known["variant"], known["created"])
        # The last place is where UNKNOWN leads.
        replaced = np.zeros(len(self._notes) + 1, bool)
        replaced[self._replaced(used.tolist(), made.tolist())] = True
        stale: NDArray[Any] = replaced[rows["variant"]]
        return stale

    def _replaced(self, used: list[float], made: list[float]) -> list[int]:
        starts: dict[tuple[str, str], dict[int, set[float]]] = defaultdict(lambda: defaultdict(set))
        for number, note in enumerate(self._notes):
            if made[number] < math.inf:
                for sighting in note.seen:
                    starts[note.function, sighting.place][number].add(sighting.started)
        stays: set[int] = set()
        for codes in starts.values():
            # The latest first: it replaces most.
            by_age = sorted(((_came(codes[number], made[number]), number) for number in codes), reverse=True)
            for number, own in codes.items():
                later = (other for came, other in by_age if came > used[number])
                if all(other == number or own & codes[other] for other in later):
                    stays.add(number)
        return sorted({number for codes in starts.values() for number in codes} - stays)


def _came(starts: set[float], made: float) -> float:
    """Return when the process was started that made the oldest result of a code."""
    return max((start for start in starts if start <= made), default=made)


def _is_code(part: Ingredient) -> bool:
    return part.hasher == CODE and not part.name
