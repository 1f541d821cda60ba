"""One pass over the index, kept as columns of numbers.

A store may hold a million entries: what a plan needs of each takes about a
hundred bytes here, and a kilobyte as Python objects. The pass reads a page of
rows at a time, so that it holds up no writer.
"""

import math
import os
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lazycache_storage import fsio, layout
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.gc.limits import GcLimits
from lazycache_storage.record import ObjectRef, Record, decode_record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lazycache_storage.index import Row
    from lazycache_storage.store import Store

T = TypeVar("T")

PAGE_ROWS = 2_000
"""Rows read at one step: a few milliseconds."""

ROW = np.dtype(
    [
        ("key", "V32"),
        ("result", "i8"),
        ("function", "i4"),
        ("variant", "i4"),
        ("created", "f8"),
        ("last_used", "f8"),
        ("uses", "i8"),
        ("seconds", "f8"),
        ("bytes", "i8"),
        ("chosen", "?"),
        ("pinned", "?"),
        ("missing", "?"),
    ]
)
"""A record. Rows of one result share the number `result`; `bytes` are those of the index."""

REF = np.dtype([("object", "i8"), ("row", "i8"), ("bytes", "i8")])
"""That a row needs an object; `bytes` are those of the object's files."""

ROW_OVERHEAD = 200
"""Bytes that a row of the index takes beside its value: its key twice, columns, free space in pages (measured)."""

ZARR_OVERHEAD = 400
"""Bytes of the metadata beside the data of an array (measured)."""

EXPRESSIONS = "(expressions)"
"""Stands for every result that no single function made."""


@dataclass(frozen=True)
class Survey:
    """What a store holds, as columns.

    Attributes
    ----------
    rows : array of ROW
    refs : array of REF
    names : list of str
        Names of functions by number.
    unreadable : int
        Rows under a record's key that are no records.
    """

    rows: "NDArray[Any]"
    refs: "NDArray[Any]"
    names: list[str]
    unreadable: int


def result_number(record: Record) -> int:
    """Return a number that all rows of one result share, within this process.

    A result is often held under two keys, that of the expression and that of
    the call; and a result that was computed anew has another number.
    """
    return hash((record.created, record.seconds, record.token, record.function))


def object_number(name: bytes) -> int:
    """Return the start of the name of an object as a signed number."""
    return int.from_bytes(name[:8], "little", signed=True)


def label(record: Record) -> str:
    """Return the function that made a result; one name for all larger expressions."""
    return record.function if record.code or record.version else EXPRESSIONS


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


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Iterate over lists of `size` items; the last one may be shorter."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def finish(steps: Generator[None, None, T]) -> T:
    """Run steps to their end and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def take_survey(store: "Store", limits: GcLimits) -> Survey:
    """Read the whole index."""
    return finish(survey_steps(store, limits))


def survey_steps(store: "Store", limits: GcLimits) -> Generator[None, None, Survey]:
    """Read the index, a page at each step."""
    surveyor = _Surveyor(store.path, limits)
    rows = (row for row in store.index.items() if len(row.key) == layout.KEY_BYTES)
    for page in batched(rows, PAGE_ROWS):
        surveyor.add_page(page)
        yield
    return surveyor.survey()


class _Surveyor:
    """Turns rows into columns."""

    def __init__(self, store_path: str, limits: GcLimits) -> None:
        self.store_path = store_path
        self.limits = limits
        self.count = 0
        self.unreadable = 0
        self.numbers: dict[str, int] = {}
        self.variants: dict[tuple[int, str, bytes], int] = {}
        self.row_pages: list[NDArray[Any]] = []
        self.ref_pages: list[NDArray[Any]] = []
        self.is_missing = lru_cache(maxsize=65536)(_is_missing)
        self.bytes_on_disk = lru_cache(maxsize=4096)(bytes_on_disk)

    def add_page(self, page: "Iterable[Row]") -> None:
        rows: list[tuple[Any, ...]] = []
        refs: list[tuple[int, int, int]] = []
        for row in page:
            try:
                record = decode_record(row.value)
            except CorruptEntryError:
                self.unreadable += 1
                continue
            number = self.count + len(rows)
            rows.append(self._columns(row, record))
            if record.objects or record.blob is not None:
                refs += [
                    (object_number(ref.name), number, self.bytes_on_disk(self.store_path, ref))
                    for ref in record.all_objects()
                ]
        self.count += len(rows)
        self.row_pages.append(np.array(rows, dtype=ROW))
        self.ref_pages.append(np.array(refs, dtype=REF))

    def _columns(self, row: "Row", record: Record) -> tuple[Any, ...]:
        name = label(record)
        function = self.numbers.setdefault(name, len(self.numbers))
        created = _finite(record.created)
        variant = self.variants.setdefault((function, record.version, record.code), len(self.variants))
        return (
            row.key,
            result_number(record),
            function,
            variant,
            created,
            max(row.last_used, created),
            row.uses,
            max(_finite(record.seconds), 0.0),
            len(row.value) + ROW_OVERHEAD,
            self.limits.matches(record.function),
            record.pinned,
            self.limits.missing_inputs and any(self.is_missing(file.path) for file in record.files),
        )

    def survey(self) -> Survey:
        rows = np.concatenate([np.empty(0, ROW), *self.row_pages])
        refs = np.concatenate([np.empty(0, REF), *self.ref_pages])
        return Survey(rows, refs, list(self.numbers), self.unreadable)


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0


def _is_missing(path: str) -> bool:
    try:
        os.stat(path)
    except OSError as error:
        # A folder that may not be entered says nothing about what is in it.
        return fsio.is_gone(error)
    return False
