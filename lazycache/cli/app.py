"""What all commands share: options, opening of stores, finding of records, errors."""

import os
import sqlite3
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from lazycache import settings
from lazycache.caching.faults import FULL, cause
from lazycache.cli.output import print_json, say
from lazycache.errors import LazyCacheError, LazyCacheWarning, SettingError
from lazycache_storage import layout
from lazycache_storage.digest import Digest
from lazycache_storage.errors import ReadOnlyStoreError
from lazycache_storage.index.index import is_broken
from lazycache_storage.record import Record, decode_record

if TYPE_CHECKING:
    from lazycache_storage.store import Store

F = TypeVar("F", bound=Callable[..., Any])

FAULT = 1
USAGE = 2
INTERRUPTED = 130

_SHOWN_CANDIDATES = 10


class Command(click.Command):
    """A command that tells faults of the store in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; raise ClickException for what the user can understand."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", LazyCacheWarning)
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise click.exceptions.Exit(INTERRUPTED) from None
        except SettingError as error:
            raise click.UsageError(str(error), ctx) from error
        except (LazyCacheError, sqlite3.Error, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            advice = ""
            if isinstance(error, sqlite3.Error) and is_broken(error):
                advice = "; `lazycache verify --repair` puts a new index in the place of a broken one"
            elif cause(error) == FULL:
                advice = "; the disk is full, and the index needs some room even to drop results: free a few MB first"
            raise click.ClickException(f"{type(error).__name__}: {error}{advice}") from error


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"Warning: {message}")


class SizeType(click.ParamType[int]):
    """A size such as 50GB or 500MiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return bytes."""
        if isinstance(value, int):
            return value
        try:
            return settings.parse_size(value)
        except SettingError:
            self.fail(f"{value!r} is no size; write for example 50GB, 500MiB or 1000000", param, ctx)


class AgeType(click.ParamType[float]):
    """An age such as 90d or 12h."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        if isinstance(value, float):
            return value
        try:
            return settings.parse_age(value)
        except SettingError:
            self.fail(f"{value!r} is no age; write for example 90d, 12h, 30min or 45s", param, ctx)


SIZE = SizeType()
AGE = AgeType()


def store_option(command: F) -> F:
    """Add ``--store``."""
    text = "The store's folder; else LAZYCACHE_DIR, [tool.lazycache] or the user's cache folder."
    return click.option("--store", "store_path", metavar="PATH", help=text)(command)


def function_option(what: str) -> Callable[[F], F]:
    """Add ``--function``; `what` says what it picks."""
    text = f"{what}: a name as `lazycache stats` shows it, or its last part; * stands for anything. May be repeated."
    return click.option("--function", "functions", multiple=True, metavar="PATTERN", help=text)


def json_option(command: F) -> F:
    """Add ``--json``."""
    text = "Print one JSON document (bytes, seconds, UTC times); later versions only add fields."
    return click.option("--json", "as_json", is_flag=True, help=text)(command)


def place(store_path: str | None) -> tuple[str, str]:
    """Return the folder of the store, and what named it."""
    if store_path is not None:
        return os.path.abspath(os.path.expanduser(store_path)), "--store"
    return settings.find_store_path()


def open_store(
    store_path: str | None, *, read_only: bool = True, nothing: Any = None, names_key: bool = False
) -> "Store":
    """Open the store for a command; end the command if there is none.

    A store that was named on the command line must be there; a configured one
    may not have been made yet, and is as good as empty: then `nothing` is
    printed as JSON, if JSON is wanted. A command that names a key has failed.
    """
    from lazycache_storage.store import Store

    path, source = place(store_path)
    if not _is_there(path):
        if store_path is not None:
            raise click.UsageError(f"there is no store in {path}")
        text = f"there is no store in {path} yet (the place comes from {source})"
        if names_key:
            raise click.ClickException(text)
        say(text)
        if nothing is not None:
            print_json(nothing)
        raise click.exceptions.Exit(0)
    store = Store(path, read_only=read_only, create=False)
    if store.read_only and not read_only:
        # Before anybody is asked anything, or waits for a plan.
        raise ReadOnlyStoreError(path=path)
    click.get_current_context().call_on_close(store.close)
    return store


def _is_there(path: str) -> bool:
    """Say whether a folder has a store in it; end the command if it cannot be looked into."""
    try:
        os.stat(os.path.join(path, layout.FORMAT_FILE))
    except FileNotFoundError:
        return False
    except NotADirectoryError as error:
        raise click.ClickException(f"{path} is a file, and a store is a folder") from error
    except PermissionError as error:
        raise click.ClickException(f"you may not look into {path}") from error
    return True


def find_record(store: "Store", prefix: str) -> tuple[Digest, Record]:
    """Return the one record whose key begins with these hex digits; end the command otherwise."""
    digits = prefix.strip().lower()
    if not digits or digits.strip("0123456789abcdef") or len(digits) > 64:
        raise click.UsageError(f"{prefix!r} is not the beginning of a key (hex digits; see `lazycache ls`)")
    found = find_records(store, digits)
    if not found:
        raise click.ClickException(f"no key begins with {digits}")
    return found[0]


def find_records(store: "Store", digits: str) -> list[tuple[Digest, Record]]:
    """Return the record whose key begins with these hex digits, or nothing; end the command if there are several."""
    found = []
    for row in store.index.items(bytes.fromhex(digits[: len(digits) // 2 * 2])):
        if len(row.key) == layout.KEY_BYTES and row.key.hex().startswith(digits):
            found.append(row)
            if len(found) > _SHOWN_CANDIDATES:
                break
    if len(found) > 1:
        refuse_ambiguous(digits, [row.key.hex() for row in found])
    return [(Digest(row.key), decode_record(row.value)) for row in found]


def refuse_ambiguous(digits: str, keys: list[str]) -> NoReturn:
    """End the command because several keys begin in this way."""
    lines = "\n".join(f"  {key}" for key in keys[:_SHOWN_CANDIDATES])
    more = "\n  …" if len(keys) > _SHOWN_CANDIDATES else ""
    raise click.ClickException(f"several keys begin with {digits}:\n{lines}{more}")
