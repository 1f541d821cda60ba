"""``lazycache stats``."""

from typing import Any

import click

from lazycache.cli.app import Command, json_option, open_store, place, store_option
from lazycache.cli.output import echo, print_json, print_table, size_text
from lazycache.telling import period_text
from lazycache_storage.gc import FunctionTotals, Totals, take_totals


@click.command(cls=Command)
@json_option
@store_option
def stats(store_path: str | None, as_json: bool) -> None:
    """Tell how much the cache holds and what it saved, by function."""
    nothing = _document(place(store_path)[0], Totals(0, 0, 0, 0, 0, []))
    store = open_store(store_path, nothing=nothing if as_json else None)
    totals = take_totals(store)
    if as_json:
        print_json(_document(store.path, totals))
        return
    echo(f"store: {store.path}")
    echo(f"results: {totals.results} under {totals.keys} keys")
    echo(f"objects: {totals.objects}")
    echo(f"size: {size_text(totals.nbytes)}")
    echo(f"saved by sharing: {size_text(totals.nbytes_saved)}")
    echo(f"hits: {totals.hits}, which saved {period_text(totals.seconds_saved)}")
    if totals.functions:
        columns = ("function~", "results>", "size>", "hits>", "saved>", "took to compute>-")
        print_table(columns, (_line(function) for function in totals.functions))


def _document(path: str, totals: Totals) -> dict[str, Any]:
    return {
        "store": path,
        "results": totals.results,
        "keys": totals.keys,
        "objects": totals.objects,
        "bytes": totals.nbytes,
        "bytes_saved_by_sharing": totals.nbytes_saved,
        "hits": totals.hits,
        "seconds_saved": totals.seconds_saved,
        "functions": [_of_function(function) for function in totals.functions],
    }


def _of_function(function: FunctionTotals) -> dict[str, Any]:
    return {
        "function": function.function,
        "results": function.results,
        "bytes": function.nbytes,
        "hits": function.hits,
        "seconds_saved": function.seconds_saved,
        "seconds": function.seconds,
    }


def _line(function: FunctionTotals) -> tuple[str, ...]:
    return (
        function.function,
        str(function.results),
        size_text(function.nbytes),
        str(function.hits),
        period_text(function.seconds_saved),
        period_text(function.seconds),
    )
