"""``lazycache verify``, ``pin``, ``unpin`` and ``forget``."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from lazycache.cli.app import FAULT, Command, find_record, json_option, open_store, store_option
from lazycache.cli.output import ProgressBar, echo, print_json, print_table, say, size_text
from lazycache_storage.check import check, repair
from lazycache_storage.digest import Digest
from lazycache_storage.gc import result_number
from lazycache_storage.record import Record

if TYPE_CHECKING:
    from lazycache_storage.record import Stored
    from lazycache_storage.store import Store


@click.command(cls=Command)
@click.option("--repair", "mend", is_flag=True, help="Mend what was found; lost entries are dropped.")
@click.option("--quick", is_flag=True, help="Do not read the content of the objects.")
@json_option
@store_option
def verify(store_path: str | None, mend: bool, quick: bool, as_json: bool) -> None:
    """Check that everything in the cache is as it was written.

    Exit codes: 0 nothing wrong, or all mended; 1 something is wrong.
    """
    store = open_store(store_path, read_only=not mend, nothing=[] if as_json else None)
    with ProgressBar("checking") as bar:
        findings = check(store, content=not quick, on_step=bar.show)
    left = repair(store, findings) if mend else findings
    if as_json:
        document = [
            {
                "kind": finding.kind,
                "path": finding.path,
                "reason": finding.reason,
                "key": finding.key.hex(),
                "bytes": finding.nbytes,
                "mended": finding not in left,
            }
            for finding in findings
        ]
        print_json(document)
    elif findings:
        columns = ("what", "where~", "why~", "mended")
        print_table(columns, ((f.kind, f.path, f.reason, "no" if f in left else "yes") for f in findings))
    counts = ", ".join(f"{count} x {kind}" for kind, count in sorted(Counter(f.kind for f in findings).items()))
    say(f"{store.path}: {counts or 'nothing is wrong'}")
    if left and not mend:
        lost = sum(finding.costs_an_entry for finding in left)
        say("`lazycache verify --repair` mends this" + (f" and drops {lost} lost entries" if lost else ""))
    if left:
        raise click.exceptions.Exit(FAULT)


@click.command(cls=Command, short_help="Keep results whatever lazycache-gc is told.")
@click.argument("key_prefixes", nargs=-1, required=True)
@store_option
def pin(key_prefixes: tuple[str, ...], store_path: str | None) -> None:
    """Keep results whatever lazycache-gc is told, by the beginnings of their keys.

    \b
    lazycache ls -q --function fit | xargs lazycache pin
    """
    _set_pinned(store_path, key_prefixes, pinned=True)


@click.command(cls=Command, short_help="Let lazycache-gc drop results again.")
@click.argument("key_prefixes", nargs=-1, required=True)
@store_option
def unpin(key_prefixes: tuple[str, ...], store_path: str | None) -> None:
    """Let lazycache-gc drop results again, by the beginnings of their keys."""
    _set_pinned(store_path, key_prefixes, pinned=False)


@click.command(cls=Command)
@click.argument("key_prefixes", nargs=-1, required=True)
@store_option
def forget(key_prefixes: tuple[str, ...], store_path: str | None) -> None:
    """Drop results, pinned ones too, by the beginnings of their keys."""
    store = open_store(store_path, read_only=False, names_key=True)
    for result in _named_results(store, key_prefixes):
        for entry in result.entries:
            store.forget(entry.key)
        echo(f"forgot {result.text} ({size_text(result.record.nbytes)})")


def _set_pinned(store_path: str | None, key_prefixes: Iterable[str], *, pinned: bool) -> None:
    store = open_store(store_path, read_only=False, names_key=True)
    for result in _named_results(store, key_prefixes):
        for entry in result.entries:
            store.update(entry.key, msgspec.structs.replace(entry.record, pinned=pinned))
        echo(f"{'pinned' if pinned else 'unpinned'} {result.text}")


class _Named(NamedTuple):
    """A result that was named by one of its keys, and all of its entries."""

    key: Digest
    record: Record
    entries: "list[Stored]"

    @property
    def text(self) -> str:
        return f"{self.record.function} {self.key.hex()[:12]}"


def _named_results(store: "Store", key_prefixes: Iterable[str]) -> list[_Named]:
    """Return the results first, so that a mistyped key changes nothing.

    Entries of one result, often that of the expression and that of the call,
    are found in one pass for all.
    """
    found: dict[int, _Named] = {}
    for key, record in (find_record(store, prefix) for prefix in key_prefixes):
        found.setdefault(result_number(record), _Named(key, record, []))
    for entry in store.records():
        named = found.get(result_number(entry.record))
        if named is not None:
            named.entries.append(entry)
    return list(found.values())
