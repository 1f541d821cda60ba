"""May what is in a folder be believed? Who owns it, who else may write to it, where its links lead."""

import os
import stat

from lazycache_storage import fsio, layout
from lazycache_storage.errors import UntrustedStoreError
from lazycache_storage.index.index import DATABASE_FILE


def why_untrusted(store: str) -> str:
    """Return why code from a store must not be run, or an empty text if it may be.

    It may be if the store, and all in it that says what is loaded, belongs to
    this user, and nobody else can write to it.
    """
    index = layout.folder(store, layout.INDEX_FOLDER)
    for path in (store, index, f"{index}/{DATABASE_FILE}", layout.folder(store, layout.OBJECTS_FOLDER)):
        reason = fsio.why_untrusted(path)
        if reason:
            return reason
    return ""


def refuse_links(store: str) -> None:
    """Raise UntrustedStoreError if a folder or file of a store is a link that leads out of it."""
    top = os.path.realpath(store)
    index = layout.folder(store, layout.INDEX_FOLDER)
    database = [f"{index}/{DATABASE_FILE}{suffix}" for suffix in ("", "-wal", "-shm", "-journal")]
    for path in (*[layout.folder(store, name) for name in sorted(layout.TOP_NAMES)], *database):
        if is_link(path) and not os.path.realpath(path).startswith(f"{top}/"):
            raise UntrustedStoreError(path=store, reason=f"{path} leads to {os.path.realpath(path)}")


def is_link(path: str) -> bool:
    """Tell whether there is a symbolic link at `path`."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError as error:
        if fsio.is_gone(error):
            return False
        raise
