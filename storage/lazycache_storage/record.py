"""The record: what the index holds under a key.

Records are msgspec structs in MessagePack, written as arrays: short, quick to
read, and without code in them. New fields are added at the end, with defaults.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError

RECORD_FORMAT = 1
"""Version of the record; a record of another version is a miss."""

_NAME_BYTES = 32
_MOST_DIMENSIONS = 64
_LATEST_SECONDS = 2**40

CODE = "code"
"""The hasher of the ingredient that is no argument: the identity of the code."""

PayloadKind = Literal["plain", "pickle"]


class ObjectRef(msgspec.Struct, frozen=True, array_like=True):
    """Where one object of a result is, and what it must look like.

    Attributes
    ----------
    name : bytes
        The digest of the content (32 bytes).
    kind : {"zarr", "blob"}
    dtype : str
        ``numpy`` descr of an array as JSON, with its byte order; empty for a blob.
    shape : tuple of int
    order : {"C", "F"}
    nbytes : int
        Size of the content.
    mtime_ns : int
        Modification time of the data file when it was published (nanoseconds).
    chunked : bool
        Whether the array was written in chunks through zarr-python.
    subclass : str
        How to view the array when read: "" or "recarray".
    """

    name: bytes
    kind: Literal["zarr", "blob"]
    dtype: str = ""
    shape: tuple[int, ...] = ()
    order: Literal["C", "F"] = "C"
    nbytes: int = 0
    mtime_ns: int = 0
    chunked: bool = False
    subclass: str = ""


class FileState(msgspec.Struct, frozen=True, array_like=True):
    """A file that a result depends on, as it was when the result was made.

    Attributes
    ----------
    path : str
    how : str
        Which rule compares it: "date", "content", "stat", "directory" or
        "result"; or "age", which is no file: then `path` is a function, whose
        result counts until `mtime_ns`.
    size, mtime_ns, inode, ctime_ns : int
        From ``os.stat``; bytes and nanoseconds.
    content : bytes
        Digest of its content, where it was taken; else empty.
    young : bool
        Whether the file was so new that a rewrite could keep its date, so that
        the next look-up must compare the content once.
    in_key : bool
        Whether size and date are part of the key already, as those of an
        argument with a file hasher are; then only a young file is compared.
    """

    path: str
    how: str
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    ctime_ns: int = 0
    content: bytes = b""
    young: bool = False
    in_key: bool = False


class Ingredient(msgspec.Struct, frozen=True, array_like=True):
    """One part of a key, kept so that a later miss can be explained.

    Attributes
    ----------
    name : str
        The parameter; empty for the code, whose rule is "code".
    hasher : str
        The rule that made the token: "value", "hash_by_file_date", …
    token : bytes
        What went into the key.
    text : str
        A short text of the value, for people.
    """

    name: str
    hasher: str
    token: bytes
    text: str


class Record(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What the index holds under a key: where the result is, and why.

    Attributes
    ----------
    format : int
    kind : {"plain", "pickle"}
        How ``payload`` (or the blob) is to be decoded.
    payload : bytes
        The encoded result when it is small; empty when ``blob`` holds it.
    blob : ObjectRef or None
        The object with the encoded result when it is large.
    objects : tuple of ObjectRef
        The objects that the payload refers to, by position.
    token : bytes
        What stands for the result in the keys of calls that use it; empty when
        the result has no digest, which ends early cutoff.
    nbytes : int
        Bytes of payload and objects together.
    created : float
        Seconds since the epoch.
    seconds : float
        How long the computation took, without what it waited for.
    function, version, code : str, str, bytes
        Name of the function or short program text; its version as text, or
        empty; the digest of its code, or empty.
    files : tuple of FileState
        Every file that must be as it was for the record to count.
    ingredients : tuple of Ingredient
    text : str
        The program, shortened, for people.
    host, boot : str
        Where it was computed; the boot id of that machine.
    packages : str
        Versions of Python and numpy and of the packages that take part.
    pinned : bool
        Whether gc must keep it.
    signature : bytes
        See `signing.Signer`; empty if the record is not signed.
    call_key : bytes
        The call key under which the same result is recorded; empty if there is none.
    """

    format: int = RECORD_FORMAT
    kind: PayloadKind = "plain"
    payload: bytes = b""
    blob: ObjectRef | None = None
    objects: tuple[ObjectRef, ...] = ()
    token: bytes = b""
    nbytes: int = 0
    created: float = 0.0
    seconds: float = 0.0
    function: str = ""
    version: str = ""
    code: bytes = b""
    files: tuple[FileState, ...] = ()
    ingredients: tuple[Ingredient, ...] = ()
    text: str = ""
    host: str = ""
    boot: str = ""
    packages: str = ""
    pinned: bool = False
    signature: bytes = b""
    call_key: bytes = b""

    def all_objects(self) -> Iterable[ObjectRef]:
        """Iterate over the objects that the record needs, the blob included."""
        if self.blob is not None:
            yield self.blob
        yield from self.objects


class Stored(NamedTuple):
    """One entry of a store, as `Store.records` lists it.

    Attributes
    ----------
    key : Digest
    record : Record
    last_used : float
        Seconds since the epoch.
    uses : int
    """

    key: Digest
    record: Record
    last_used: float
    uses: int


def _as_bytes(value: object) -> bytes:
    # msgspec knows bytes, but not their subclasses.
    if isinstance(value, Digest):
        return bytes(value)
    raise NotImplementedError(f"a record cannot hold {type(value).__name__}")


_encoder = msgspec.msgpack.Encoder(enc_hook=_as_bytes)
_decoder = msgspec.msgpack.Decoder(Record)


def encode_record(record: Record) -> bytes:
    """Return the bytes of a record."""
    return _encoder.encode(record)


def decode_record(data: bytes, where: str = "index") -> Record:
    """Return the record in `data`.

    Raises
    ------
    CorruptEntryError
        If the bytes are not a record of this format.
    """
    try:
        record = _decoder.decode(data)
    except (msgspec.DecodeError, ValueError) as error:
        raise CorruptEntryError(path=where, reason=str(error)) from error
    if record.format != RECORD_FORMAT:
        raise CorruptEntryError(path=where, reason=f"record format {record.format}, expected {RECORD_FORMAT}")
    reason = _why_impossible(record)
    if reason:
        raise CorruptEntryError(path=where, reason=reason)
    return record


def _why_impossible(record: Record) -> str:
    """Return what no record that was written here can hold, or an empty text; others may have made this one."""
    for ref in record.all_objects():
        if len(ref.name) != _NAME_BYTES:
            return f"an object's name has {len(ref.name)} bytes, expected {_NAME_BYTES}"
        if ref.nbytes < 0 or len(ref.shape) > _MOST_DIMENSIONS or min(ref.shape, default=0) < 0:
            return f"an object has {ref.nbytes} bytes and the shape {ref.shape[:_MOST_DIMENSIONS]}"
    if record.blob is not None and record.blob.kind != "blob":
        return f"the payload is a {record.blob.kind}"
    # Comparisons with NaN are false.
    if not (-_LATEST_SECONDS < record.created < _LATEST_SECONDS and abs(record.seconds) < _LATEST_SECONDS):
        return f"created at {record.created}, took {record.seconds} s"
    if len(record.call_key) not in (0, _NAME_BYTES):
        return f"a call key of {len(record.call_key)} bytes"
    return ""
