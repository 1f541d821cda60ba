"""``lazycache ls`` and ``show``."""

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from lazycache.caching.filechanges import shown_path
from lazycache.cli.app import (
    AGE,
    SIZE,
    Command,
    find_record,
    function_option,
    json_option,
    open_store,
    store_option,
)
from lazycache.cli.output import (
    age_text,
    echo,
    is_terminal,
    print_json,
    print_table,
    say,
    size_text,
    time_text,
)
from lazycache.telling import period_text
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.gc import GcLimits, Results, take_survey
from lazycache_storage.index.accounts import label
from lazycache_storage.record import Record, decode_record

if TYPE_CHECKING:
    from lazycache_storage.store import Store

_ORDERS = ("size", "age", "used", "uses", "seconds", "function")
_FOLDER = re.compile(r'(?<=<file ")[^"]*/|(?<=<folder ")[^"]*/')


class Listed(NamedTuple):
    """One result as it is listed."""

    keys: tuple[str, ...]
    record: Record
    nbytes: int
    uses: int
    last_used: float


@click.command(cls=Command)
@function_option("Only results of these functions")
@click.option("--older-than", type=AGE, help="Only what was computed longer ago.")
@click.option("--unused-for", type=AGE, help="Only what was last used longer ago.")
@click.option("--larger-than", type=SIZE, help="Only what takes more bytes.")
@click.option("--sort", type=click.Choice(_ORDERS), default="age", help="Largest, newest or most used first.")
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("--limit", type=click.IntRange(min=0), help="Only the first so many.")
@click.option("--quiet", "-q", is_flag=True, help="Print keys only: one for each result.")
@json_option
@store_option
def ls(store_path: str | None, quiet: bool, as_json: bool, **choice: Any) -> None:
    """List what the cache holds."""
    if quiet and as_json:
        raise click.UsageError("--quiet prints one key a line, and --json a document: choose one")
    store = open_store(store_path, nothing=[] if as_json else None)
    listed = list_results(store, **choice)
    if quiet:
        for result in listed:
            click.echo(result.keys[0])
        return
    if as_json:
        print_json([_document(result) for result in listed])
        return
    now = time.time()
    columns: tuple[str, ...] = ("function", "call~", "size>-", "took>-", "made>-", "used>-", "uses>-", "key")
    lines = (_line(result, now) for result in listed)
    if is_terminal():
        # The call begins with the name of the function, and folders are long.
        columns, lines = columns[1:], ((_FOLDER.sub("", call), *others) for _, call, *others in lines)
    if print_table(columns, lines) == 0:
        say(f"no {'such ' if len(store) else ''}results in {store.path}")


def list_results(
    store: "Store",
    *,
    functions: tuple[str, ...] = (),
    older_than: float | None = None,
    unused_for: float | None = None,
    larger_than: int | None = None,
    sort: str = "age",
    reverse: bool = False,
    limit: int | None = None,
) -> Iterator[Listed]:
    """Iterate over the results in a store, each under all of its keys."""
    now = time.time()
    survey = take_survey(store, GcLimits(functions=functions))
    results = Results(survey)
    nbytes = results.sizes()
    order = _order(survey.names, results, nbytes, sort)
    keep = results.chosen[order]
    if older_than is not None:
        keep &= now - results.created[order] > older_than
    if unused_for is not None:
        keep &= now - results.last_used[order] > unused_for
    if larger_than is not None:
        keep &= nbytes[order] > larger_than
    order = order[keep][::-1] if reverse else order[keep]
    for place_ in order[:limit].tolist():
        keys = [row["key"].tobytes() for row in results.rows_of(place_)]
        record = _read(store, keys[0])
        if record is not None:
            texts = tuple(key.hex() for key in keys)
            yield Listed(
                texts, record, int(nbytes[place_]), int(results.uses[place_]), float(results.last_used[place_])
            )


def _order(names: list[str], results: Results, nbytes: Any, sort: str) -> Any:
    if sort == "function":
        rank = np.argsort(np.argsort(np.array(names, dtype=object))) if names else np.empty(0, int)
        return np.lexsort((-results.created, rank[results.function]))
    column = {
        "size": nbytes,
        "age": results.created,
        "used": results.last_used,
        "uses": results.uses,
        "seconds": results.seconds,
    }[sort]
    return np.argsort(-column, kind="stable")


def _read(store: "Store", key: bytes) -> Record | None:
    value = store.index.get(key)
    if value is None:
        return None
    try:
        return decode_record(value)
    except CorruptEntryError:
        return None


def _line(result: Listed, now: float) -> tuple[str, ...]:
    record = result.record
    return (
        label(record.function, record.version, record.code),
        " ".join(record.text.split()),
        size_text(result.nbytes),
        period_text(record.seconds),
        age_text(record.created, now),
        age_text(result.last_used, now),
        str(result.uses),
        result.keys[0][:12] + (" pinned" if record.pinned else ""),
    )


def _document(result: Listed) -> dict[str, Any]:
    record = result.record
    return {
        "keys": list(result.keys),
        "function": record.function,
        "version": record.version,
        "code": record.code.hex(),
        "text": record.text,
        "bytes": result.nbytes,
        "seconds": record.seconds,
        "created": time_text(record.created),
        "last_used": time_text(result.last_used),
        "uses": result.uses,
        "pinned": record.pinned,
    }


@click.command(cls=Command)
@click.argument("key_prefix")
@json_option
@store_option
def show(key_prefix: str, store_path: str | None, as_json: bool) -> None:
    """Show one entry in full, by the beginning of its key."""
    store = open_store(store_path, names_key=True)
    key, record = find_record(store, key_prefix)
    row = next(store.index.items(key))
    document = _full_document(key.hex(), record, row.last_used, row.uses)
    if as_json:
        print_json(document)
        return
    document |= {"bytes": size_text(record.nbytes), "seconds": f"{record.seconds:.3g}"}
    for name, value in document.items():
        if value in ("", []):
            continue
        if isinstance(value, list):
            echo(f"{name}:")
            for item in value:
                echo("  " + "  ".join(f"{word}={part}" for word, part in item.items() if part not in ("", None)))
        else:
            echo(f"{name}: {value}")


def _full_document(key: str, record: Record, last_used: float, uses: int) -> dict[str, Any]:
    return {
        "key": key,
        "function": record.function,
        "version": record.version,
        "code": record.code.hex(),
        "text": record.text,
        "bytes": record.nbytes,
        "seconds": record.seconds,
        "created": time_text(record.created),
        "last_used": time_text(last_used),
        "uses": uses,
        "pinned": record.pinned,
        "host": record.host,
        "packages": record.packages,
        "kind": record.kind,
        "token": record.token.hex(),
        "objects": [
            {
                "name": ref.name.hex(),
                "kind": ref.kind,
                "dtype": ref.dtype,
                "shape": list(ref.shape),
                "bytes": ref.nbytes,
            }
            for ref in record.all_objects()
        ],
        "ingredients": [
            {"name": part.name, "hasher": part.hasher, "token": part.token.hex(), "text": part.text}
            for part in record.ingredients
        ],
        "files": [
            {
                "path": shown_path(file.path),
                "how": file.how,
                "bytes": file.size,
                "modified": time_text(file.mtime_ns / 1e9),
                "content": file.content.hex(),
            }
            for file in record.files
        ],
    }
