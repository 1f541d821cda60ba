"""Every error of the engine, under the one root of lazycache.

::

    LazyCacheError
    ├── StoreError
    │   ├── CorruptEntryError
    │   │   ├── RemovedEntryError
    │   │   └── UnsignedEntryError
    │   ├── UnknownFormatError
    │   ├── ReadOnlyStoreError
    │   ├── UntrustedPickleError
    │   ├── UntrustedArrayError
    │   ├── UntrustedStoreError
    │   ├── LockTimeoutError        (also TimeoutError)
    │   └── WaitCycleError
    ├── NotStorableError            (also TypeError)
    └── NotOpenableError            (also TypeError)

Each error keeps its data as attributes and survives a pickle round trip.
"""

from typing import Any


class LazyCacheError(Exception):
    """Root of every exception that lazycache raises on its own account.

    Subclasses set ``template``, which is formatted with the keyword arguments
    of the constructor; each of these also becomes an attribute.
    """

    template = "{message}"

    def __init__(self, **data: Any) -> None:
        self.__dict__.update(data)
        super().__init__(self.template.format(**data))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_error, (type(self), dict(self.__dict__))


def _rebuild_error(error_type: type[LazyCacheError], data: dict[str, Any]) -> LazyCacheError:
    notes = data.pop("__notes__", ())
    error = error_type(**data)
    for note in notes:
        error.add_note(note)
    return error


class StoreError(LazyCacheError):
    """Something is wrong with the store or with one of its entries."""


class CorruptEntryError(StoreError):
    """An entry cannot be what was written: missing, truncated or changed.

    Attributes
    ----------
    path : str
        The file or index row at fault.
    reason : str
        What was expected and what was found.
    """

    template = (
        "the stored entry {path} is damaged: {reason}; it counts as a miss (mend with `lazycache verify --repair`)"
    )


class RemovedEntryError(CorruptEntryError):
    """An entry was removed by another process after it was found; it is a miss like any other.

    Attributes
    ----------
    path : str
    reason : str
    """

    template = "the stored entry {path} was removed meanwhile: {reason}"


class UnsignedEntryError(CorruptEntryError):
    """An entry has no valid signature, in a store where only signed ones count; it is a miss.

    Attributes
    ----------
    path : str
    """

    template = (
        "a result in {path} has no valid signature and counts as a miss, as signatures are strict; "
        'signatures="on" takes unsigned results that are plain data'
    )


class UnknownFormatError(StoreError):
    """A store, record or object of a format that this version does not read.

    Attributes
    ----------
    path : str
    found, supported : int or str
    """

    template = (
        "{path} has format {found}, this lazycache reads {supported}; use another folder, or the version that wrote it"
    )


class ReadOnlyStoreError(StoreError):
    """A write was asked of a store that may only be read.

    Attributes
    ----------
    path : str
    """

    template = "the store {path} may not be written; use another folder (LAZYCACHE_DIR), or change its permissions"


class UntrustedPickleError(StoreError):
    """A result is a pickle, and the store may not be trusted with code.

    Attributes
    ----------
    path : str
    reason : str
    """

    template = "a pickled result in {path} was not loaded: {reason}"


class UntrustedArrayError(StoreError):
    """A result is compressed so that nobody knows how large it becomes, and others may have written it.

    Attributes
    ----------
    path : str
    reason : str
    """

    template = (
        "a compressed result in {path} was not loaded: {reason}; store it with the default compressors and no shards"
    )


class UntrustedStoreError(StoreError):
    """A store leads out of its folder, so that nothing of it is read or written.

    Attributes
    ----------
    path : str
    reason : str
    """

    template = "the store {path} is not used: {reason}"


class LockTimeoutError(StoreError, TimeoutError):
    """Another process kept the lock of a key for longer than allowed.

    Attributes
    ----------
    path : str
    holder : str
        Who holds it, as written in the lock file.
    seconds : float
        How long was waited.
    """

    template = "waited {seconds:.1f} s for {path}, held by {holder}"


class WaitCycleError(StoreError):
    """Computations wait for each other in a ring, which would never end.

    Attributes
    ----------
    cycle : tuple of str
        What each of them computes, from the first to its repetition.
    chain : str
    """

    cycle: tuple[str, ...]
    chain: str

    template = "a computation waits for its own result: {chain}"


class SpoolError(StoreError):
    """A piece of a result that comes in pieces could not be written.

    Attributes
    ----------
    reason : str
    """

    template = "a piece of the result could not be written: {reason}"


class NotStorableError(LazyCacheError, TypeError):
    """A result cannot be written in any form that could be read back.

    Attributes
    ----------
    type_name : str
    reason : str
    """

    template = "a result of type {type_name} cannot be stored: {reason}"


class NotOpenableError(LazyCacheError, TypeError):
    """A result was to be opened in place, and is nothing that Zarr can hold.

    Attributes
    ----------
    what : str
        The call, or its function; or what its result is.
    reason : str
    """

    template = "{what} cannot be opened as a Zarr array: {reason}; get its value by cache(...)"
