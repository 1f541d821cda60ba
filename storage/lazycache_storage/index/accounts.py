"""What statistics count of a row, and the table in which the database adds it up.

A survey of a million records takes seconds; the table has a row for each
function. It changes in the transactions that change the rows, by triggers, so
that it is right after a kill too. What a row adds is in columns of diskcache
that nothing else here uses: its tag, its size, and its mode for the seconds.
"""

import os
from typing import NamedTuple

from lazycache_storage import fsio, layout
from lazycache_storage.digest import Digest
from lazycache_storage.record import ObjectRef, Record

ROW_OVERHEAD = 140
"""Bytes that a row of the index takes beside its value: its key twice, columns, free space in pages (measured)."""

REF_OVERHEAD = 200
"""Bytes of the row that says that a record needs an object (measured)."""

ZARR_OVERHEAD = 400
"""Bytes of the metadata beside the data of an array (measured)."""

EXPRESSIONS = "(expressions)"
"""Stands for every result that no single function made."""

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS Totals (
        tag TEXT, is_record INTEGER, rows INTEGER, bytes INTEGER, uses INTEGER, saved REAL, seconds REAL,
        PRIMARY KEY (tag, is_record)
    ) WITHOUT ROWID""",
    """CREATE TRIGGER IF NOT EXISTS Totals_insert AFTER INSERT ON Cache WHEN NEW.tag IS NOT NULL BEGIN
        INSERT INTO Totals VALUES (NEW.tag, length(NEW.key) = 32, 1, NEW.size, 0, 0.0, NEW.mode)
        ON CONFLICT DO UPDATE SET
            rows = rows + 1, bytes = bytes + excluded.bytes, seconds = seconds + excluded.seconds;
    END""",
    """CREATE TRIGGER IF NOT EXISTS Totals_delete AFTER DELETE ON Cache WHEN OLD.tag IS NOT NULL BEGIN
        UPDATE Totals SET
            rows = rows - 1, bytes = bytes - OLD.size, uses = uses - OLD.access_count,
            saved = saved - OLD.access_count * OLD.mode, seconds = seconds - OLD.mode
        WHERE tag = OLD.tag AND is_record = (length(OLD.key) = 32);
    END""",
    """CREATE TRIGGER IF NOT EXISTS Totals_update AFTER UPDATE OF tag, size, mode, access_count ON Cache
    WHEN OLD.tag IS NOT NULL OR NEW.tag IS NOT NULL BEGIN
        UPDATE Totals SET
            rows = rows - 1, bytes = bytes - OLD.size, uses = uses - OLD.access_count,
            saved = saved - OLD.access_count * OLD.mode, seconds = seconds - OLD.mode
        WHERE tag = OLD.tag AND is_record = (length(OLD.key) = 32);
        INSERT INTO Totals
        SELECT NEW.tag, length(NEW.key) = 32, 1, NEW.size, NEW.access_count, NEW.access_count * NEW.mode, NEW.mode
        WHERE NEW.tag IS NOT NULL
        ON CONFLICT DO UPDATE SET
            rows = rows + 1, bytes = bytes + excluded.bytes, uses = uses + excluded.uses,
            saved = saved + excluded.saved, seconds = seconds + excluded.seconds;
    END""",
)

_ROWS_ADDED_UP = """
    SELECT tag, length(key) = 32 AS is_record, count(*) AS rows, sum(size) AS bytes, sum(access_count) AS uses,
        sum(access_count * mode) AS saved, sum(mode) AS seconds
    FROM Cache WHERE tag IS NOT NULL GROUP BY tag, is_record
"""

MISCOUNTED = f"""
    WITH right AS (SELECT tag, is_record, rows, bytes, uses FROM ({_ROWS_ADDED_UP})),
        noted AS (SELECT tag, is_record, rows, bytes, uses FROM Totals WHERE rows != 0)
    SELECT count(*) FROM
        (SELECT * FROM (SELECT * FROM right EXCEPT SELECT * FROM noted)
        UNION ALL SELECT * FROM (SELECT * FROM noted EXCEPT SELECT * FROM right))
"""
"""How many totals are not those of their rows. Seconds are left out: they add up to what depends on the order."""

RECOUNT = (*SCHEMA, "DELETE FROM Totals", f"INSERT INTO Totals {_ROWS_ADDED_UP}")
"""Makes the totals those of the rows."""

TOTALS_PARTS = "SELECT count(*) FROM sqlite_master WHERE name LIKE 'Totals%' AND type IN ('table', 'trigger')"

FIRST, ALSO = "1", "2"
"""How the tag of a row begins: the result itself, or the same result under one more key."""


class Filling(NamedTuple):
    """What a row is filled with.

    Attributes
    ----------
    value : bytes
    nbytes : int
    seconds : float
    """

    value: bytes
    nbytes: int = 0
    seconds: float = 0.0


class Account(NamedTuple):
    """What one row adds to the statistics.

    Attributes
    ----------
    tag : str
        ``FIRST`` or ``ALSO``, and what the result is counted under.
    nbytes : int
        What the row takes in the index, or the object that a ``ref:`` row is about.
    seconds : float
        What a use of it saves.
    """

    tag: str
    nbytes: int
    seconds: float


def of_record(record: Record, row_bytes: int, *, is_first: bool) -> Account:
    """Return the account of a record."""
    refs = sum(1 for _ in record.all_objects())
    tag = (FIRST if is_first else ALSO) + label(record.function, record.version, record.code)
    # Not a number would come out of every sum.
    seconds = record.seconds if 0 < record.seconds < 1e12 else 0.0
    return Account(tag, row_bytes + ROW_OVERHEAD + REF_OVERHEAD * refs, seconds)


def of_object(store_path: str, ref: ObjectRef, record_tag: str) -> Account:
    """Return the account of the row that says that a record needs an object."""
    return Account(record_tag, bytes_on_disk(store_path, ref), 0.0)


def label(function: str, version: str, code: bytes) -> str:
    """Return the name to count a result under; larger expressions share one."""
    return function if code or version else EXPRESSIONS


def bytes_on_disk(store_path: str, ref: ObjectRef) -> int:
    """Return the size of the files of an object; compressed ones are looked at."""
    if not ref.chunked:
        # No honest object is larger, and the columns hold no larger numbers.
        return min(ref.nbytes, 2**48) + (0 if ref.kind == "blob" else ZARR_OVERHEAD)
    if len(ref.name) != layout.KEY_BYTES:
        return 0
    return tree_size(layout.object_path(store_path, Digest(ref.name), ref.kind))


def tree_size(path: str) -> int:
    """Return the bytes of the files in a folder, or of one file; what vanishes meanwhile counts as nothing."""
    if not os.path.isdir(path):
        found = fsio.stat(path)
        return 0 if found is None else found.st_size
    sizes = (fsio.stat(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
    return sum(found.st_size for found in sizes if found is not None)
