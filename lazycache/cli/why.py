"""``lazycache why``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lazycache.cli.app import FAULT, Command, find_records, json_option, open_store, store_option
from lazycache.cli.listing import list_results
from lazycache.cli.output import echo, print_json, print_table, time_text, when_text
from lazycache.telling import period_text
from lazycache_storage.digest import Digest
from lazycache_storage.gc import result_number
from lazycache_storage.record import Record

if TYPE_CHECKING:
    from lazycache.caching.comparing import Compared
    from lazycache_storage.record import FileState, Stored
    from lazycache_storage.store import Store

_SHORTEST_PREFIX = 4


class _Answer(NamedTuple):
    """What a store says of one result.

    Attributes
    ----------
    key : str
    record : Record
    earlier : Stored or None
        The nearest call of the same function that was computed before.
    compared : list of Compared
        Each ingredient of the key, against `earlier` if there is one.
    files : tuple of FileState
        What it depends on.
    changes : list of str
        What became of these files.
    """

    key: str
    record: Record
    earlier: "Stored | None"
    compared: "list[Compared]"
    files: "tuple[FileState, ...]"
    changes: list[str]


@click.command(cls=Command, short_help="Tell why a result was computed, and whether it still counts.")
@click.argument("what")
@click.option("--limit", type=click.IntRange(min=1), default=1, help="So many of a function's newest results.")
@json_option
@store_option
def why(what: str, limit: int, store_path: str | None, as_json: bool) -> None:
    """Tell why a result was computed: what differs from the nearest earlier call.

    WHAT is the beginning of a key, or a function as `lazycache stats` shows
    it: then its newest result is meant. What was called with which arguments
    is told, and what became of the files since. Whether a call that was not
    made yet would hit, and why not, is told in Python: lazycache.explain(e),
    or f.explain(...) for a pure function f.

    Exit codes: 0 the result counts as its files are now; 1 it does not, or
    there is none.
    """
    store = open_store(store_path, nothing=[] if as_json else None)
    answers = [_answer(store, key, record) for key, record in _find(store, what, limit)]
    if as_json:
        print_json([_document(answer) for answer in answers])
    else:
        for number, answer in enumerate(answers):
            if number:
                echo("")
            _report(answer)
    if any(answer.changes for answer in answers):
        raise click.exceptions.Exit(FAULT)


def _find(store: "Store", what: str, limit: int) -> Iterator[tuple[str, Record]]:
    if len(what) >= _SHORTEST_PREFIX and not what.lower().strip("0123456789abcdef"):
        found = find_records(store, what.lower())
        if found:
            yield found[0][0].hex(), found[0][1]
            return
    listed = list(list_results(store, functions=(what,), limit=limit))
    if not listed:
        raise click.ClickException(f"no key begins with {what!r}, and no function is called so (see `lazycache stats`)")
    for result in listed:
        call_key = result.record.call_key.hex()
        yield call_key if call_key in result.keys else result.keys[0], result.record


def _answer(store: "Store", key: str, record: Record) -> _Answer:
    from lazycache.caching import comparing
    from lazycache.caching.codes import decode_parts

    own = result_number(record)
    entries = list(comparing.of_function(store, record.function))
    earlier = {
        id(entry.record): entry
        for entry in entries
        if entry.record.created <= record.created and result_number(entry.record) != own
    }
    nearest = comparing.nearest((entry.record for entry in earlier.values()), record)
    compared = comparing.compare(
        record if nearest is None else nearest,
        record,
        lambda identity: decode_parts(store.code_get(Digest(identity)) if identity else None),
    )
    candidates = [record.files]
    if key == record.call_key.hex():
        # Here the content of what was read stands for its files; the calls that found it know them.
        others = [entry.record.files for entry in entries if result_number(entry.record) == own]
        candidates = [files for files in others if files] or candidates
    looked_at = [(files, _changes(files)) for files in candidates]
    files, changes = next((pair for pair in looked_at if not pair[1]), looked_at[-1])
    return _Answer(key, record, None if nearest is None else earlier[id(nearest)], compared, files, changes)


def _changes(files: "tuple[FileState, ...]") -> list[str]:
    from lazycache.caching.filechanges import file_change

    return [text for text in map(file_change, files) if text]


def _report(answer: _Answer) -> None:
    record, earlier = answer.record, answer.earlier
    echo(record.text)
    echo(f"{_origin(answer.key, record)}, took {period_text(record.seconds)}")
    if earlier is None:
        echo(f"no earlier call of {record.function} is stored")
        print_table(("ingredient", "rule-", "value~"), ((part.name, part.hasher, part.now) for part in answer.compared))
    else:
        echo(f"nearest earlier call: {earlier.record.text}")
        echo(_origin(earlier.key.hex(), earlier.record))
        print_table(("ingredient", "rule-", "then~", "now~", "changed"), map(_line, answer.compared))
        for part in answer.compared:
            if part.text:
                echo(part.text)
        if all(part.is_same for part in answer.compared if part.counts):
            echo("every part of the key was the same: it was computed anew, or depends on files that had changed")
    for change in answer.changes:
        echo(f"since then: {change}")
    if answer.files and not answer.changes:
        echo("the files that it depends on are as they were")


def _origin(key: str, record: Record) -> str:
    return f"key {key[:12]}, computed {when_text(record.created)} on {record.host}"


def _line(part: "Compared") -> tuple[str, ...]:
    changed = "" if part.is_same else "changed" if part.counts else "changed, does not count"
    return part.name, part.hasher, part.then, part.now, changed


def _document(answer: _Answer) -> dict[str, Any]:
    record, earlier = answer.record, answer.earlier
    return {
        "key": answer.key,
        "function": record.function,
        "text": record.text,
        "created": time_text(record.created),
        "host": record.host,
        "seconds": record.seconds,
        "counts": not answer.changes,
        "changes": answer.changes,
        "earlier": None
        if earlier is None
        else {
            "key": earlier.key.hex(),
            "text": earlier.record.text,
            "created": time_text(earlier.record.created),
            "host": earlier.record.host,
        },
        "ingredients": [
            {
                "name": part.name,
                "rule": part.hasher,
                "then": None if earlier is None else part.then,
                "now": part.now,
                "changed": not part.is_same,
                "counts": part.counts,
                "text": part.text,
            }
            for part in answer.compared
        ],
    }
