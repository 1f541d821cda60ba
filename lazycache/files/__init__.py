"""Argument hashers, files above all, and looks at files.

A hasher says what of an argument goes into the key of a pure call::

    @pure(hashers={"filename": hash_by_file_date, "verbose": ignore})
    def parse(filename, verbose=False):
        ...

Any callable is a hasher: what it returns is hashed in the argument's place,
and the argument itself is passed on, so that it should not be changed before
the call is evaluated. Hashers run through lists, tuples and
dicts, and leave None as it is; wrap a callable in `whole` to have it take a
container as one.
"""

from lazycache.files.content import content_digest
from lazycache.files.filehashers import ByContent, ByDate, ByFolder, ByStat
from lazycache.files.hashers import (
    ArgumentHasher,
    HashedArgument,
    Hasher,
    Ignored,
    Unordered,
    hash_argument,
    hasher_name,
    whole,
)
from lazycache.files.states import (
    ContentMemo,
    confirm,
    is_young,
    look,
    mark_young,
    path_to_text,
    register_content_memo,
    text_to_path,
    unchanged,
    with_content,
)
from lazycache_storage.record import FileState

__all__ = [
    "ArgumentHasher",
    "ContentMemo",
    "FileState",
    "HashedArgument",
    "Hasher",
    "confirm",
    "content_digest",
    "hash_argument",
    "hash_by_file_content",
    "hash_by_file_date",
    "hash_by_file_stat",
    "hash_directory",
    "hasher_name",
    "ignore",
    "is_young",
    "look",
    "mark_young",
    "path_to_text",
    "register_content_memo",
    "text_to_path",
    "unchanged",
    "unordered",
    "whole",
    "with_content",
]

hash_by_file_date = ByDate("hash_by_file_date")
hash_by_file_stat = ByStat("hash_by_file_stat")
hash_by_file_content = ByContent("hash_by_file_content")
hash_directory = ByFolder("hash_directory")
ignore = Ignored("ignore")
unordered = Unordered("unordered")
