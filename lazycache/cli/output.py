"""How the commands print: sizes, times, tables and JSON."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")
_PERIODS = ((86400.0 * 365.25, "y"), (86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def size_text(nbytes: float) -> str:
    """Return a size for people, in powers of 1000.

    Examples
    --------
    >>> size_text(999), size_text(1_250_000), size_text(50e9)
    ('999 B', '1.2 MB', '50.0 GB')
    """
    for unit in _SIZES:
        if nbytes < 999.95 or unit == _SIZES[-1]:
            break
        nbytes /= 1000
    return f"{nbytes:.0f} B" if unit == "B" else f"{nbytes:.1f} {unit}"


def period_text(seconds: float) -> str:
    """Return a length of time for people.

    Examples
    --------
    >>> period_text(0.0123), period_text(75), period_text(90 * 86400)
    ('12 ms', '1.2 min', '90.0 d')
    """
    for length, unit in _PERIODS:
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.0f} ms"


def age_text(then: float, now: float) -> str:
    """Return how long ago something was.

    Examples
    --------
    >>> age_text(0.0, 7200.0), age_text(10.0, 7.0)
    ('2.0 h ago', 'now')
    """
    return f"{period_text(now - then)} ago" if now - then >= 1 else "now"


def time_text(seconds: float) -> str | None:
    """Return a time as RFC 3339 in UTC, for JSON; None if there is no such time.

    Examples
    --------
    >>> time_text(0.0)
    '1970-01-01T00:00:00+00:00'
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None


def print_json(document: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def is_terminal() -> bool:
    """Say whether people read what is printed, and not another program."""
    return sys.stdout.isatty()


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """Print a table: for people on a terminal, else one line a row with tabs between.

    A column whose name ends in ``>`` is set to the right; one whose name ends
    in ``~`` is cut where the terminal is too narrow. Returns how many rows
    there were.
    """
    count = 0
    names = [column.rstrip(">~") for column in columns]
    if not is_terminal():
        click.echo("\t".join(names))
        for row in rows:
            count += 1
            click.echo("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row))
        return count
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, name in zip(columns, names, strict=True):
        table.add_column(name, justify="right" if column.endswith(">") else "left", no_wrap=not column.endswith("~"))
    for row in rows:
        count += 1
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    Console().print(table)
    return count


def say(text: str) -> None:
    """Print something that is not a result."""
    click.echo(text, err=True)
