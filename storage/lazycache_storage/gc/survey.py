"""One pass over the index, kept as columns of numbers.

A store may hold a million entries: what a plan needs of each takes about a
hundred bytes here, and a kilobyte as Python objects. The pass reads a page of
rows at a time, so that it holds up no writer.
"""

import math
import os
import struct
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from lazycache_storage import fsio, layout
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.gc.limits import GcLimits
from lazycache_storage.gc.stale import Variants
from lazycache_storage.index.accounts import REF_OVERHEAD, ROW_OVERHEAD, bytes_on_disk, label
from lazycache_storage.record import RECORD_FORMAT, ObjectRef, Record, decode_record

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
"""A record. Rows of one result share the number `result`; `variant` is that of the code, or -1 if it is not known or
not asked for; `bytes` are those of the index."""

REF = np.dtype([("object", "i8"), ("row", "i8"), ("bytes", "i8")])
"""That a row needs an object; `bytes` are those of the object's files."""

_pack_row = struct.Struct("<32sqiiddqdq???").pack
_pack_ref = struct.Struct("<qqq").pack

_PAGE = (
    "SELECT rowid, key, value, access_time, access_count FROM Cache"
    f" WHERE rowid > :last AND raw = 1 AND length(key) = {layout.KEY_BYTES} ORDER BY rowid LIMIT :limit"
)

_SKIPPED = frozenset({"payload", "files", "ingredients", "text", "host", "boot", "packages", "signature"})

_Outline: Any = msgspec.defstruct(
    "_Outline",
    [
        (field.name, msgspec.Raw if field.name in _SKIPPED else field.type, field.default)
        for field in msgspec.structs.fields(Record)
    ],
    array_like=True,
    gc=False,
)
"""A record without what a survey does not look at, which takes half as long to decode."""

_decode_outline = msgspec.msgpack.Decoder(_Outline).decode


@dataclass(frozen=True)
class Survey:
    """What a store holds, as columns.

    Attributes
    ----------
    rows : array of ROW
    refs : array of REF
    names : list of str
        Names of functions by number.
    variants : Variants
        The codes that rows are numbered by.
    unreadable : int
        Rows under a record's key that are no records.
    """

    rows: "NDArray[Any]"
    refs: "NDArray[Any]"
    names: list[str]
    variants: Variants
    unreadable: int


def result_number(record: Any) -> int:
    """Return a number that all rows of one result share, within this process.

    A result is often held under two keys, that of the expression and that of
    the call; and a result that was computed anew has another number.
    """
    return hash((record.created, record.seconds, record.token, record.function))


def object_number(name: bytes) -> int:
    """Return the start of the name of an object as a signed number."""
    return int.from_bytes(name[:8], "little", signed=True)


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
    surveyor = _Surveyor(store.path, limits, Variants(store.index) if limits.stale_code else Variants())
    last = -1
    while True:
        # In the order of the file: in that of the keys each row is elsewhere, and a million take thrice as long.
        page = store.index.fetch(_PAGE, {"last": last, "limit": PAGE_ROWS})
        surveyor.add_page(page)
        if len(page) < PAGE_ROWS:
            return surveyor.survey()
        last = page[-1][0]
        yield


class _Surveyor:
    """Turns rows into columns."""

    def __init__(self, store_path: str, limits: GcLimits, variants: Variants) -> None:
        self.store_path = store_path
        self.limits = limits
        self.variants = variants
        self.unreadable = 0
        self.names: dict[str, int] = {}
        self.kinds: dict[tuple[str, str, bytes], tuple[int, bool]] = {}
        self.rows = bytearray()
        self.refs = bytearray()
        self.is_missing = lru_cache(maxsize=65536)(_is_missing)
        self.bytes_on_disk = lru_cache(maxsize=4096)(bytes_on_disk)

    def add_page(self, page: Iterable[tuple[Any, ...]]) -> None:
        for _, key, value, accessed, uses in page:
            try:
                record = _decode_outline(value)
            except (msgspec.DecodeError, TypeError, ValueError):
                self.unreadable += 1
                continue
            if record.format != RECORD_FORMAT:
                self.unreadable += 1
                continue
            kind = record.function, record.version, record.code
            function, chosen = self.kinds.get(kind) or self._new_kind(*kind)
            created = _finite(record.created)
            nbytes = len(value) + ROW_OVERHEAD
            if record.objects or record.blob is not None:
                refs = record.objects if record.blob is None else (record.blob, *record.objects)
                nbytes += REF_OVERHEAD * len(refs)
                self._add_refs(refs)
            self.rows += _pack_row(
                key,
                result_number(record),
                function,
                self.variants.number(record),
                created,
                accessed if accessed > created else created,
                uses,
                max(_finite(record.seconds), 0.0),
                nbytes,
                chosen,
                record.pinned,
                self.limits.missing_inputs and self._misses_inputs(value),
            )

    def _new_kind(self, function: str, version: str, code: bytes) -> tuple[int, bool]:
        name = label(function, version, code)
        number = self.names.setdefault(name, len(self.names))
        chosen = self.limits.matches(function) or self.limits.matches(name)
        kind = number, chosen
        self.kinds[function, version, code] = kind
        return kind

    def _add_refs(self, refs: Iterable[ObjectRef]) -> None:
        row = len(self.rows) // ROW.itemsize
        for ref in refs:
            self.refs += _pack_ref(object_number(ref.name), row, self.bytes_on_disk(self.store_path, ref))

    def _misses_inputs(self, value: bytes) -> bool:
        try:
            files = decode_record(value).files
        except CorruptEntryError:
            return False
        return any(self.is_missing(file.path) for file in files if file.how != "age")

    def survey(self) -> Survey:
        rows, refs = np.frombuffer(self.rows, ROW), np.frombuffer(self.refs, REF)
        return Survey(rows, refs, list(self.names), self.variants, self.unreadable)


def _finite(number: float) -> float:
    return number if math.isfinite(number) else 0.0


def _is_missing(text: str) -> bool:
    try:
        # A name that UTF-8 cannot hold is kept as NUL and hex digits.
        os.stat(bytes.fromhex(text[1:]) if text.startswith("\0") else text)
    except ValueError:
        # Somebody else wrote this, and it is no path.
        return False
    except OSError as error:
        # A folder that may not be entered says nothing about what is in it.
        return fsio.is_gone(error)
    return False
