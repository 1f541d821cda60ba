"""Every name on disk, made and parsed; no input or output happens here.

::

    <store>/
        CACHEDIR.TAG   .gitignore   format.json
        index/                      the diskcache
        objects/ab/abcd….zarr/      an array
        objects/ab/abcd….blob       bytes
        locks/abcd….lock            held while a key is being computed
        tmp/                        what is being written
        trash/                      what is being removed
"""

import os
from typing import Literal

from lazycache_storage.digest import Digest

STORE_FORMAT = 1
"""Version of the layout; a store of another version is neither read nor written."""

ObjectKind = Literal["zarr", "blob"]

KEY_BYTES = 32
"""Length of the key of a record; no other row of the index has one of this length."""

FORMAT_FILE = "format.json"
CACHEDIR_TAG_FILE = "CACHEDIR.TAG"
GITIGNORE_FILE = ".gitignore"
INDEX_FOLDER = "index"
OBJECTS_FOLDER = "objects"
LOCKS_FOLDER = "locks"
TMP_FOLDER = "tmp"
TRASH_FOLDER = "trash"

CREATE_LOCK_FILE = "create.lock"
"""Held while the store is made or its index is replaced."""

BROKEN_SUFFIX = ".broken-"
"""Between the name of the index and the time when it was found broken and set aside."""

FOLDERS = (OBJECTS_FOLDER, LOCKS_FOLDER, TMP_FOLDER, TRASH_FOLDER)
"""The folders beside that of the index."""

TOP_NAMES = frozenset((FORMAT_FILE, CACHEDIR_TAG_FILE, GITIGNORE_FILE, INDEX_FOLDER, *FOLDERS))

_HEX = frozenset("0123456789abcdef")

CACHEDIR_TAG_TEXT = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache made by lazycache. Backup programs may leave it out.\n"
    "# See https://bford.info/cachedir/ for the convention.\n"
)

GITIGNORE_TEXT = "# This folder is a cache made by lazycache.\n*\n"


def object_path(store: str, name: Digest, kind: ObjectKind) -> str:
    """Return the path of an object, which need not exist."""
    text = name.hex()
    return f"{store}/{OBJECTS_FOLDER}/{text[:2]}/{text}.{kind}"


def is_object_folder(name: str) -> bool:
    """Tell whether a folder of this name in ``objects/`` holds objects: two digits of their names."""
    return len(name) == 2 and set(name) <= _HEX


def parse_object_path(path: str) -> tuple[Digest, ObjectKind] | None:
    """Return name and kind of an object from its path, or None if it is not one."""
    text, _, kind = os.path.basename(path).partition(".")
    if kind not in ("zarr", "blob") or len(text) != 64:
        return None
    try:
        return Digest.fromhex(text), kind  # type: ignore[return-value]
    except ValueError:
        return None


def lock_name(key: Digest) -> str:
    """Return the name of the lock file of a key."""
    return f"{key.hex()}.lock"


def lock_path(store: str, key: Digest) -> str:
    """Return the path of the lock file of a key."""
    return f"{store}/{LOCKS_FOLDER}/{lock_name(key)}"


def is_lock_name(name: str) -> bool:
    """Tell whether a file of this name in ``locks/`` is the lock of a key."""
    stem, _, suffix = name.partition(".")
    return suffix == "lock" and len(stem) == 2 * KEY_BYTES and set(stem) <= _HEX


def folder(store: str, name: str) -> str:
    """Return the path of one of the folders of a store."""
    return f"{store}/{name}"
