"""A folder of encoded values, without an index: what the tests of the codec need of a store."""

import datetime
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lazycache_storage.objects import objects
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.record import ObjectRef, PayloadKind
from lazycache_storage.values import codec

Encoded = tuple[PayloadKind, bytes, tuple[ObjectRef, ...], list[str]]


class Shelf:
    """Encodes values into a folder and decodes them from it."""

    def __init__(self, folder: Path, chunking: Chunking | None = None) -> None:
        self.folder = str(folder)
        self.chunking = chunking
        self.opened: list[int] = []

    def encode(self, value: object) -> Encoded:
        with objects.Sink(self.folder, chunking=self.chunking) as sink:
            kind, payload, refs = codec.encode(value, sink)
        return kind, payload, refs, [written.path for written in sink.written]

    def decode(self, encoded: Encoded, *, allow_pickle: bool = True) -> Any:
        kind, payload, refs, paths = encoded

        def load(position: int) -> Any:
            self.opened.append(position)
            return objects.open_array(paths[position], refs[position])

        return codec.decode(kind, payload, load, allow_pickle=allow_pickle)

    def round_trip(self, value: object) -> Any:
        return self.decode(self.encode(value))


def facts(value: Any) -> Any:
    """Describe a value to the bit and the type, without what the code under test uses."""
    kind = type(value)
    if kind in (list, tuple):
        return kind, [facts(member) for member in value]
    if kind is dict:
        return kind, [(facts(key), facts(member)) for key, member in value.items()]
    if kind in (set, frozenset):
        return kind, sorted((facts(member) for member in value), key=repr)
    if kind is float:
        return kind, struct.pack("<d", value)
    if kind is complex:
        return kind, struct.pack("<dd", value.real, value.imag)
    if kind is slice:
        return kind, facts([value.start, value.stop, value.step])
    if kind is datetime.datetime or kind is datetime.time:
        return kind, repr(value), value.fold, facts(value.tzinfo)
    if isinstance(value, np.ndarray):
        return kind, facts(value.dtype), value.shape, _order(value), value.tobytes()
    if isinstance(value, np.generic):
        return kind, facts(value.dtype), value.tobytes()
    if isinstance(value, np.dtype):
        return kind, value, value.char, value.isalignedstruct, repr(value)
    return kind, hex(value) if kind is int else repr(value)


def _order(array: Any) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def overwrite(path: str, data: bytes) -> None:
    """Replace the bytes of a file in place, as an editor might."""
    os.chmod(path, 0o644)
    Path(path).write_bytes(data)


def damages() -> Iterator[tuple[str, Any]]:
    yield "gone", lambda path: os.unlink(path)
    yield "shorter", lambda path: overwrite(path, Path(path).read_bytes()[:-1])
    yield "longer", lambda path: overwrite(path, Path(path).read_bytes() + b"x")
    yield "empty", lambda path: overwrite(path, b"")
    yield "overwritten", lambda path: overwrite(path, bytes(len(Path(path).read_bytes())))
