"""All records of a store, one after the other."""

import logging
from collections.abc import Iterator

from lazycache_storage import layout
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.index.index import Index, Row
from lazycache_storage.record import Stored, decode_record
from lazycache_storage.rows import Rows

log = logging.getLogger("lazycache")


class Listing:
    """The part of a store that goes through its records."""

    index: Index
    _rows: Rows

    def records(self) -> Iterator[Stored]:
        """Iterate over the records in the order of their keys; those that cannot be read are left out."""
        for row in self._record_rows():
            try:
                yield Stored(Digest(row.key), decode_record(row.value), row.last_used, row.uses)
            except CorruptEntryError as error:
                log.debug("%s", error)

    def keys(self) -> Iterator[Digest]:
        """Iterate over the keys of all records."""
        return (Digest(row.key) for row in self._record_rows())

    def __len__(self) -> int:
        """Return the number of records."""
        with self._rows.guarded():
            return self.index.count_records()

    def _record_rows(self) -> Iterator[Row]:
        with self._rows.guarded():
            yield from (row for row in self.index.items() if len(row.key) == layout.KEY_BYTES)
