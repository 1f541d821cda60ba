"""Opening a store: is it one, of which format, may it be written; making it if there is none."""

import errno
import logging
import os
import time
from typing import NamedTuple

import msgspec

from lazycache_storage import fsio, layout, machine, modes, trust
from lazycache_storage.errors import CorruptEntryError, UnknownFormatError
from lazycache_storage.index.index import Index, has_database
from lazycache_storage.locks import Claim

log = logging.getLogger("lazycache")

_FORMAT_FILE_LIMIT = 4096

# The longest path that sqlite takes is that of a new index, before it is in its place.
_LONGEST_PATH = 511 - len("/tmp/4194304-0123456789ab/cache.db-journal")


class Opened(NamedTuple):
    """How a store was found.

    Attributes
    ----------
    read_only : bool
        Whether it may only be read, by choice or by its permissions.
    network : bool
        Whether other machines may change its files.
    """

    read_only: bool
    network: bool


def open_folder(path: str, *, read_only: bool, create: bool, shared: bool = False) -> Opened:
    """Find a store, or make it; many processes may do so at once.

    Parameters
    ----------
    path : str
    read_only, create : bool
    shared : bool
        Let the group of the folder write to a store that is made.

    Raises
    ------
    FileNotFoundError
        If there is no store, and it may not be made.
    UnknownFormatError
        If the folder is a store of another format.
    UntrustedStoreError
        If links in it lead out of it.
    OSError
        If the folder cannot be made.
    """
    network = machine.is_network(path)
    trust.refuse_links(path)
    if has_format(path):
        if shared and not modes.is_shared(path):
            log.warning("%s was not made to be shared; move it away, or see the manual on sharing one", path)
        read_only = read_only or not fsio.is_writable(path)
        if not read_only and not has_database(layout.folder(path, layout.INDEX_FOLDER)):
            index = Index(layout.folder(path, layout.INDEX_FOLDER), network=network)
            done = set_aside_index(path, index)
            index.close()
            if done:
                log.warning("the index of %s is not there: %s; arrays are kept", path, done)
        return Opened(read_only, network)
    if read_only or not create:
        raise FileNotFoundError(f"there is no lazycache store in {path}")
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, f"sqlite takes no path of more than {_LONGEST_PATH} bytes for a store", path)
    try:
        fsio.make_folder(path, private=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, "a store is a folder, and this is a file", path) from None
    if shared and not modes.is_shared(path):
        modes.share_folder(path)
    lock = f"{layout.folder(path, layout.LOCKS_FOLDER)}/{layout.CREATE_LOCK_FILE}"
    with Claim(lock, f"the new store {path}", lambda: has_format(path) or None) as claim:
        if not claim.record:
            _make(path, network)
    return Opened(read_only=False, network=network)


def has_format(path: str) -> bool:
    """Tell whether a folder is a store of this format.

    Raises
    ------
    UnknownFormatError
        If it is a store of another format.
    """
    file = f"{path}/{layout.FORMAT_FILE}"
    try:
        data = fsio.read_file(file, limit=_FORMAT_FILE_LIMIT)
        found = msgspec.json.decode(data)["format"]
    except CorruptEntryError as error:
        if isinstance(error.__cause__, OSError):
            return False
        raise UnknownFormatError(path=path, found="unreadable", supported=layout.STORE_FORMAT) from error
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise UnknownFormatError(path=path, found="unreadable", supported=layout.STORE_FORMAT) from error
    if found != layout.STORE_FORMAT or isinstance(found, bool):
        raise UnknownFormatError(path=path, found=found, supported=layout.STORE_FORMAT)
    return True


def _make(path: str, network: bool) -> None:
    # A user's own folder with other files in it must not fall out of the backups, nor out of what git tracks.
    is_ours = set(os.listdir(path)) <= layout.TOP_NAMES
    for name in layout.FOLDERS:
        fsio.make_folder(layout.folder(path, name))
    fsio.step("made folders")
    _make_index(path, network)
    fsio.step("made index")
    if is_ours:
        fsio.write_atomically(f"{path}/{layout.CACHEDIR_TAG_FILE}", layout.CACHEDIR_TAG_TEXT.encode())
        if fsio.stat(f"{path}/{layout.GITIGNORE_FILE}", follow=False) is None:
            fsio.write_atomically(f"{path}/{layout.GITIGNORE_FILE}", layout.GITIGNORE_TEXT.encode())
    # Last of all: a folder with this file is whole.
    data = msgspec.json.encode({"format": layout.STORE_FORMAT, "made_by": "lazycache"}) + b"\n"
    fsio.write_atomically(f"{path}/{layout.FORMAT_FILE}", data)


def set_aside_index(path: str, index: Index) -> str:
    """Rename an index that is broken or gone and start an empty one; return what was done, for messages.

    If another process has done so already, only the connections are closed and
    an empty text is returned.
    """
    # Of this thread: another one may have done all this since, and have opened the new one.
    broken = index.seen_here()
    index.close()
    lock = f"{layout.folder(path, layout.LOCKS_FOLDER)}/{layout.CREATE_LOCK_FILE}"
    with Claim(lock, f"a new index of {path}", lambda: None):
        found = fsio.stat(index.path)
        if has_database(index.folder) and found is not None and (found.st_dev, found.st_ino) != broken:
            return ""
        fsio.remove_empty_folder(index.folder)
        aside = move_aside(index.folder)
        fsio.step("index set aside")
        _make_index(path, index.network)
        return f"it was renamed to {aside}, and the store starts anew" if aside else "the store starts anew"


def move_aside(path: str) -> str:
    """Rename what is not as it should be, so that nobody loses it; return its new path, empty if nothing was there."""
    unique = os.path.basename(fsio.temporary_name(os.path.dirname(path)))
    aside = f"{path}{layout.BROKEN_SUFFIX}{time.strftime('%Y%m%dT%H%M%S')}-{unique}"
    return aside if fsio.move(path, aside) else ""


def _make_index(path: str, network: bool) -> None:
    """Put an index in place that has its tables from the first moment; one that is there is kept."""
    folder = layout.folder(path, layout.INDEX_FOLDER)
    if has_database(folder):
        return
    tmp = layout.folder(path, layout.TMP_FOLDER)
    fsio.make_folder(tmp)
    temporary = fsio.temporary_name(tmp)
    try:
        index = Index(temporary, network=network)
        index.create()
        index.close()
        # An empty folder in its place is no hindrance.
        os.rename(temporary, folder)
    except BaseException as error:
        fsio.remove(temporary)
        # Where locks do not work, another process may have been faster.
        if not (isinstance(error, OSError) and has_database(folder)):
            raise
