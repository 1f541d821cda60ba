"""What a collection would drop, as data: nothing is changed here."""

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lazycache_storage.digest import Digest
from lazycache_storage.gc.leftovers import Leftover, find_leftovers, orphan_steps
from lazycache_storage.gc.limits import REASONS, GcLimits
from lazycache_storage.gc.results import Results
from lazycache_storage.gc.survey import Survey, finish, survey_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lazycache_storage.store import Store


class Drop(NamedTuple):
    """One record that a plan drops.

    Attributes
    ----------
    key : Digest
    function : str
    reason : str
    seconds : float
        What computing it took.
    uses : int
        How often it was used.
    last_used : float
        Seconds since the epoch.
    """

    key: Digest
    function: str
    reason: str
    seconds: float
    uses: int
    last_used: float


class Group(NamedTuple):
    """All that a plan drops of one function for one reason.

    Attributes
    ----------
    function, reason : str
    results : int
    nbytes : int
        Freed by it; an object goes to the account of one result that held it.
    seconds : float
        What computing them took.
    """

    function: str
    reason: str
    results: int
    nbytes: int
    seconds: float


class Kept(NamedTuple):
    """What a plan keeps of one function.

    Attributes
    ----------
    function : str
    results, of_results : int
        How many stay, of how many there are.
    nbytes : int
        What those that stay take; an object goes to the account of one result that holds it.
    seconds, of_seconds : float
        What computing them took, those that stay and all.
    """

    function: str
    results: int
    of_results: int
    nbytes: int
    seconds: float
    of_seconds: float


@dataclass(frozen=True)
class GcPlan:
    """What a collection drops and why, what it frees and what stays.

    Attributes
    ----------
    limits : GcLimits
    now : float
        When it was made (seconds since the epoch).
    rows : array
        The records to drop, in the order in which they go.
    reasons : array of int
        For each row an index into ``REASONS``.
    groups : tuple of Group
        The same by function and reason, largest first.
    kept : tuple of Kept
        What stays, by function, what took longest to compute first.
    results, kept_results, pinned_results : int
        How many results go, stay, and stay because they are pinned.
    total_bytes, freed_bytes : int
        What the results take now, and less afterwards; shared objects count once.
    kept_index_bytes : int
        What the rows that stay take in the index.
    orphans : tuple of Leftover
        Objects that no record needs.
    leftovers : tuple of Leftover
        What killed processes left behind.
    unreadable : int
        Rows that are no records; `check` tells more about them.
    """

    limits: GcLimits
    now: float
    rows: "NDArray[Any]"
    reasons: "NDArray[Any]"
    names: list[str]
    groups: tuple[Group, ...]
    kept: tuple[Kept, ...]
    results: int
    kept_results: int
    pinned_results: int
    total_bytes: int
    freed_bytes: int
    kept_index_bytes: int
    orphans: tuple[Leftover, ...]
    leftovers: tuple[Leftover, ...]
    unreadable: int

    @property
    def remaining_bytes(self) -> int:
        """Bytes of the results that stay."""
        return self.total_bytes - self.freed_bytes

    @property
    def orphan_bytes(self) -> int:
        """Bytes of the objects that no record needs."""
        return sum(orphan.nbytes for orphan in self.orphans)

    @property
    def leftover_bytes(self) -> int:
        """Bytes that killed processes left behind."""
        return sum(leftover.nbytes for leftover in self.leftovers)

    def drops(self) -> Iterator[Drop]:
        """Iterate over the records that go, in order."""
        for row, reason in zip(self.rows, self.reasons, strict=True):
            yield Drop(
                Digest(row["key"].tobytes()),
                self.names[row["function"]],
                REASONS[reason],
                float(row["seconds"]),
                int(row["uses"]),
                float(row["last_used"]),
            )


def plan_gc(store: "Store", limits: GcLimits) -> GcPlan:
    """Return what a collection under these limits would drop.

    Under ``max_size`` the order is that of greedy-dual-size-frequency
    (L. Cherkasova, "Improving WWW proxies performance with
    Greedy-Dual-Size-Frequency caching policy", HP Labs HPL-98-69R1, 1998): a
    result is worth uses x seconds / bytes, and the least worth goes first. The
    paper's clock, which lets results age, would have to be written at each
    hit; here the time since the last use divides instead.

    Parameters
    ----------
    store : Store
    limits : GcLimits

    Returns
    -------
    GcPlan
        Held in memory: about 100 bytes for each record of the store meanwhile,
        and for each that goes afterwards.
    """
    return finish(plan_steps(store, limits))


def plan_steps(store: "Store", limits: GcLimits) -> Generator[None, None, GcPlan]:
    """Make the plan in short steps."""
    now = time.time() if limits.now is None else limits.now
    if not store.read_only:
        # Otherwise the uses that this process has counted so far would look like later ones.
        store.flush()
    survey = yield from survey_steps(store, limits)
    orphans: tuple[Leftover, ...] = ()
    if limits.wants_orphans:
        orphans = yield from orphan_steps(store, survey.refs["object"])
    return choose(survey, limits, now, orphans, find_leftovers(store, now))


def choose(
    survey: Survey, limits: GcLimits, now: float, orphans: tuple[Leftover, ...], leftovers: tuple[Leftover, ...]
) -> GcPlan:
    """Return the plan for what was surveyed."""
    results = Results(survey)
    reasons = _reasons(survey, results, limits, now)
    order = np.flatnonzero(reasons)
    total = results.nbytes(np.ones(len(survey.rows), bool))
    if limits.max_size is not None:
        trimmed = _trim(results, reasons, limits.max_size, now)
        reasons[trimmed] = REASONS.index("max-size")
        order = np.concatenate([order, trimmed])
    stays = reasons == 0
    rows = survey.rows[order]
    gone = np.unique(results.of_row[order])
    kept = np.unique(results.of_row[stays])
    return GcPlan(
        limits=limits,
        now=now,
        rows=rows,
        reasons=reasons[order],
        names=survey.names,
        groups=_groups(survey, results, reasons, order),
        kept=_kept(survey, results, stays, kept),
        results=len(gone),
        kept_results=len(kept),
        pinned_results=int(results.pinned.sum()),
        total_bytes=total,
        freed_bytes=total - results.nbytes(stays),
        kept_index_bytes=int(survey.rows["bytes"][stays].sum()),
        orphans=orphans,
        leftovers=leftovers,
        unreadable=survey.unreadable,
    )


def _reasons(survey: Survey, results: Results, limits: GcLimits, now: float) -> "NDArray[Any]":
    rows = survey.rows
    reasons = np.zeros(len(rows), np.uint8)
    may_go = (results.chosen & ~results.pinned)[results.of_row]

    def drop(which: "NDArray[Any] | bool", reason: str) -> None:
        reasons[may_go & (reasons == 0) & which] = REASONS.index(reason)

    if limits.everything:
        drop(True, "all")
    if limits.functions and not limits.has_criterion and not limits.orphans:
        drop(True, "function")
    if limits.missing_inputs:
        drop(rows["missing"], "missing-inputs")
    if limits.stale_code:
        drop(survey.variants.stale(rows), "stale-code")
    if limits.max_age is not None:
        drop(now - rows["created"] > limits.max_age, "max-age")
    if limits.unused_for is not None:
        drop((now - results.last_used > limits.unused_for)[results.of_row], "unused-for")
    return reasons


def _trim(results: Results, reasons: "NDArray[Any]", max_size: int, now: float) -> "NDArray[Any]":
    """Return the rows that must go, beside those that go already, for the rest to fit."""
    alive = np.zeros(len(results.row_bytes), bool)
    alive[results.of_row[reasons == 0]] = True
    counted = alive & results.chosen
    remaining = results.nbytes((reasons == 0) & results.chosen[results.of_row])
    if remaining <= max_size:
        return np.empty(0, np.intp)
    candidates = np.flatnonzero(counted & ~results.pinned)
    candidates = candidates[np.lexsort((results.last_used[candidates], results.worth(now)[candidates]))]
    living_pairs = alive[results.pair_result]
    pair_result, pair_object = results.pair_result[living_pairs], results.pair_object[living_pairs]
    holders = np.bincount(pair_object, minlength=len(results.object_bytes)).tolist()
    # np.unique sorted the pairs by result, so those of one result are neighbours.
    starts = np.searchsorted(pair_result, candidates).tolist()
    ends = np.searchsorted(pair_result, candidates, side="right").tolist()
    row_bytes, object_bytes = results.row_bytes[candidates].tolist(), results.object_bytes.tolist()
    count = 0
    while count < len(candidates) and remaining > max_size:
        remaining -= row_bytes[count]
        for place in pair_object[starts[count] : ends[count]].tolist():
            holders[place] -= 1
            if not holders[place]:
                remaining -= object_bytes[place]
        count += 1
    rank = np.full(len(alive), -1)
    rank[candidates[:count]] = np.arange(count)
    rows = np.flatnonzero((rank[results.of_row] >= 0) & (reasons == 0))
    return rows[np.argsort(rank[results.of_row[rows]], kind="stable")]


def _groups(survey: Survey, results: Results, reasons: "NDArray[Any]", order: "NDArray[Any]") -> tuple[Group, ...]:
    if not len(order):
        return ()
    rows = survey.rows
    freed = _freed_by_row(survey, results, reasons)
    pairs, group_of_row = np.unique(
        rows["function"][order].astype(np.int64) * len(REASONS) + reasons[order], return_inverse=True
    )
    _, first_rows = np.unique(results.of_row[order], return_index=True)
    is_first = np.zeros(len(order), bool)
    is_first[first_rows] = True
    counts = np.bincount(group_of_row, is_first, len(pairs))
    nbytes = np.bincount(group_of_row, freed[order], len(pairs))
    seconds = np.bincount(group_of_row, rows["seconds"][order] * is_first, len(pairs))
    groups = (
        Group(survey.names[pair // len(REASONS)], REASONS[pair % len(REASONS)], int(n), int(size), float(time_))
        for pair, n, size, time_ in zip(pairs.tolist(), counts, nbytes, seconds, strict=True)
    )
    return tuple(sorted(groups, key=lambda group: -group.nbytes))


def _freed_by_row(survey: Survey, results: Results, reasons: "NDArray[Any]") -> "NDArray[Any]":
    freed = survey.rows["bytes"].astype(np.float64)
    needed = np.zeros(len(results.object_bytes), bool)
    needed[results.object_of_ref[(reasons == 0)[results.row_of_ref]]] = True
    objects, first = np.unique(results.object_of_ref, return_index=True)
    released = ~needed[objects]
    np.add.at(freed, results.row_of_ref[first[released]], results.object_bytes[objects[released]])
    return freed


def _kept(survey: Survey, results: Results, stays: "NDArray[Any]", kept: "NDArray[Any]") -> tuple[Kept, ...]:
    count = len(survey.names)
    nbytes = survey.rows["bytes"] * stays
    held = np.flatnonzero(stays[results.row_of_ref])
    objects, first = np.unique(results.object_of_ref[held], return_index=True)
    np.add.at(nbytes, results.row_of_ref[held[first]], results.object_bytes[objects])
    columns = (
        np.bincount(results.function[kept], minlength=count),
        np.bincount(results.function, minlength=count),
        np.bincount(survey.rows["function"], nbytes, count),
        np.bincount(results.function[kept], results.seconds[kept], count),
        np.bincount(results.function, results.seconds, count),
    )
    lines = zip(survey.names, *(column.tolist() for column in columns), strict=True)
    functions = (Kept(name, stay, all_, int(size), took, all_took) for name, stay, all_, size, took, all_took in lines)
    return tuple(sorted((each for each in functions if each.of_results), key=lambda each: -each.of_seconds))
