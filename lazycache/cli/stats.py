"""``lazycache stats``."""

from typing import Any

import click
import numpy as np

from lazycache.cli.app import Command, json_option, open_store, store_option
from lazycache.cli.output import period_text, print_json, print_table, size_text
from lazycache_storage.gc import GcLimits, Results, take_survey


@click.command(cls=Command)
@json_option
@store_option
def stats(store_path: str | None, as_json: bool) -> None:
    """Tell how much the cache holds and what it saved, by function."""
    store = open_store(store_path)
    survey = take_survey(store, GcLimits())
    results = Results(survey)
    document = {"store": store.path, **totals(results), "unreadable": survey.unreadable}
    functions = by_function(survey.names, results)
    if as_json:
        print_json({**document, "functions": functions})
        return
    click.echo(f"store: {store.path}")
    click.echo(f"results: {document['results']} under {document['keys']} keys")
    click.echo(f"objects: {document['objects']}")
    click.echo(f"size: {size_text(document['bytes'])}")
    click.echo(f"saved by sharing: {size_text(document['bytes_saved_by_sharing'])}")
    click.echo(f"hits: {document['hits']}, which saved {period_text(document['seconds_saved'])}")
    if survey.unreadable:
        click.echo(f"unreadable: {survey.unreadable} (run `lazycache verify`)")
    if functions:
        columns = ("function", "results>", "size>", "hits>", "saved>", "took to compute>")
        print_table(columns, (_line(function) for function in functions))


def totals(results: Results) -> dict[str, Any]:
    """Return what all results have together."""
    shared = np.bincount(results.pair_object, minlength=len(results.object_bytes)) - 1
    return {
        "results": len(results.uses),
        "keys": len(results.rows),
        "objects": len(results.object_bytes),
        "bytes": results.nbytes(np.ones(len(results.rows), bool)),
        "bytes_saved_by_sharing": int((np.maximum(shared, 0) * results.object_bytes).sum()),
        "hits": int(results.uses.sum()),
        "seconds_saved": float((results.uses * results.seconds).sum()),
    }


def by_function(names: list[str], results: Results) -> list[dict[str, Any]]:
    """Return the same by function, what saved most first; a shared object counts for each that needs it."""
    functions, count = results.function, len(names)
    hits = np.bincount(functions, results.uses, count)
    saved = np.bincount(functions, results.uses * results.seconds, count)
    seconds = np.bincount(functions, results.seconds, count)
    nbytes = np.bincount(functions, results.sizes(), count)
    numbers = np.bincount(functions, minlength=count)
    return [
        {
            "function": names[place],
            "results": int(numbers[place]),
            "bytes": int(nbytes[place]),
            "hits": int(hits[place]),
            "seconds_saved": float(saved[place]),
            "seconds": float(seconds[place]),
        }
        for place in np.lexsort((-nbytes, -saved)).tolist()
    ]


def _line(function: dict[str, Any]) -> tuple[str, ...]:
    return (
        function["function"],
        str(function["results"]),
        size_text(function["bytes"]),
        str(function["hits"]),
        period_text(function["seconds_saved"]),
        period_text(function["seconds"]),
    )
