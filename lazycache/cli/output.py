"""How the commands print: sizes, times, tables and JSON."""

import json
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Self

import click

from lazycache.telling import period_text

_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")

_READABLE = 24
"""How many letters of a cell that is cut still tell something."""

_GAP = 3
_LONG_SECONDS = 1.0


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


def when_text(seconds: float) -> str:
    """Return a time for people, by the clock of this machine."""
    try:
        return datetime.fromtimestamp(seconds).isoformat(" ", "seconds")
    except (OverflowError, ValueError, OSError):
        return "?"


def print_json(document: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def printable(text: str) -> str:
    """Return a text in one line that does nothing to a terminal, whoever wrote it into a store.

    Examples
    --------
    >>> printable("größe('a\\tb')"), printable("\\x1b[31mred\\n")
    ("größe('a b')", '\\\\x1b[31mred ')
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else " " if letter in "\t\n\r" else ascii(letter)[1:-1] for letter in text
    )


def echo(text: str) -> None:
    """Print a line of a result."""
    click.echo(printable(text))


def is_terminal() -> bool:
    """Say whether people read what is printed, and not another program."""
    # Python has no standard output at all if the shell closed it.
    return sys.stdout is not None and sys.stdout.isatty()


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """Print a table: for people on a terminal, else one line a row with tabs between.

    What a column's name ends in says how it is shown on a terminal: ``>`` to
    the right, ``~`` cut where there is no room, ``-`` left out before another
    column has to be cut to less than can be read. Returns how many rows there
    were.
    """
    names = [column.rstrip(">~-") for column in columns]
    lines = ([printable(cell) for cell in row] for row in rows)
    if is_terminal():
        shown = list(lines)
        _print_grid(columns, names, shown)
        return len(shown)
    click.echo("\t".join(names))
    count = 0
    for line in lines:
        count += 1
        click.echo("\t".join(line))
    return count


def _print_grid(columns: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    kept = _fitting(columns, [max(map(len, cells)) for cells in zip(names, *rows, strict=True)], console.width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for position in kept:
        justify: Literal["left", "right"] = "right" if ">" in columns[position] else "left"
        table.add_column(names[position], justify=justify, no_wrap="~" not in columns[position])
    for row in rows:
        table.add_row(*(Text(row[position], no_wrap=True, overflow="ellipsis") for position in kept))
    console.print(table)


def _fitting(columns: Sequence[str], widths: Sequence[int], room: int) -> list[int]:
    """Return which columns to show, so that those which are cut keep a width that can be read."""
    needed = [min(width, _READABLE) if "~" in column else width for column, width in zip(columns, widths, strict=True)]
    kept = list(range(len(columns)))
    for position in reversed(range(len(columns))):
        if sum(needed[place] + _GAP for place in kept) <= room:
            break
        if "-" in columns[position]:
            kept.remove(position)
    return kept


class ProgressBar:
    """A bar on standard error while something takes long; nothing if that is no terminal.

    Parameters
    ----------
    what : str
    total : int
        How many steps there are, as far as that is known.
    """

    def __init__(self, what: str, total: int = 0) -> None:
        self._what = what
        self._total = total
        self._started = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: int, total: int | None = None) -> None:
        """Show how many steps are done, if it takes longer than a second."""
        if total is not None:
            self._total = total
        if self._bar is None:
            if time.monotonic() - self._started < _LONG_SECONDS or not _errors_on_terminal():
                return
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=min(done, self._total))


def _errors_on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def say(text: str) -> None:
    """Print something that is not a result."""
    click.echo(printable(text), err=True)
