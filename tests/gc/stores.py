"""Stores to collect in, and witnesses that trust none of our own counting."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from lazycache_storage.digest import Digest
from lazycache_storage.notes import CodeNote, Sighting, decode_code_note
from lazycache_storage.record import Ingredient, Record
from lazycache_storage.store import Store

DAY = 86400.0


def digest(*parts: object) -> Digest:
    """Return a key that is the same in every process."""
    return Digest(hashlib.sha256(repr(parts).encode()).digest())


def put(store: Store, *name: object, value: Any = None, also_under: Sequence[Digest] = (), **fields: Any) -> Record:
    """Store a value under the key of `name`."""
    facts = {"function": "lab.step", "version": "1", "seconds": 1.0, "token": repr(name).encode()}
    return store.put([digest(*name), *also_under], value, facts | fields)


def note_code(
    store: Store, function: str, *, version: str = "", identity: str = "", place: str = "lab.py", started: float
) -> tuple[Ingredient, ...]:
    """Note that a process of that start stored results of a code; return the ingredient that records have of it."""
    row = digest(function, version, identity)
    present = decode_code_note(store.code_get(row))
    seen = (*(() if present is None else present.seen), Sighting(place, started))
    store.code_put(row, msgspec.msgpack.encode(CodeNote(function, version, seen, ())))
    return () if version else (Ingredient("", "code", bytes(row), ""),)


def load(store: Store, *name: object) -> Any:
    """Return the value under the key of `name`, which must be there."""
    record = store.find(digest(*name))
    assert record is not None
    return store.load(record, digest(*name))


def numbers(seed: int, kilobytes: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return an array that is stored as an object of its own."""
    return np.random.default_rng(seed).random(kilobytes * 125)


def files_below(folder: str | os.PathLike[str]) -> dict[str, int]:
    """Return the files below a folder and their sizes."""
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.stat().st_size for path in paths}


def object_bytes(store: Store) -> int:
    """Return the size of the objects as the file system tells it."""
    return sum(files_below(f"{store.path}/objects").values())


def index_bytes(store: Store) -> int:
    """Return what the rows of the index take, without space that is free in its file."""
    import sqlite3

    connection = sqlite3.connect(store.index.path)
    try:
        ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
        ((free,),) = connection.execute("PRAGMA freelist_count").fetchall()
        ((size,),) = connection.execute("PRAGMA page_size").fetchall()
    finally:
        connection.close()
    return int((pages - free) * size)


def present(store: Store, *names: tuple[object, ...]) -> list[bool]:
    """Tell which of these results a store opened anew still has."""
    with Store(store.path, read_only=True) as fresh:
        return [fresh.contains(digest(*name)) for name in names]


def environment() -> dict[str, str]:
    """Return an environment in which a child finds the packages under test."""
    root = Path(__file__).parents[2]
    return os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'storage'}"}
