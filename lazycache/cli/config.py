"""``lazycache path`` and ``config``."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from lazycache import settings
from lazycache.cli.app import USAGE, Command, json_option, place, store_option
from lazycache.cli.output import print_json, print_table, say, size_text
from lazycache.errors import SettingError
from lazycache.telling import period_text


class _Effective(NamedTuple):
    """A setting as it is in force.

    Attributes
    ----------
    name : str
    value : object
        As JSON can hold it; None for no value.
    source : str
        What set it.
    fault : str
        What is wrong with it, or an empty text.
    """

    name: str
    value: Any
    source: str
    fault: str = ""


@click.command(cls=Command)
@store_option
def path(store_path: str | None) -> None:
    """Print the folder of the cache."""
    click.echo(place(store_path)[0])


@click.command(cls=Command)
@json_option
def config(as_json: bool) -> None:
    """Show each setting, and where it comes from.

    What is in the environment goes before the table [tool.lazycache] of the
    nearest pyproject.toml that has one, upwards from the working folder.

    Exit codes: 0 done; 2 a setting cannot be understood.
    """
    found = [_effective(name, read) for name, read in _READERS.items()]
    if as_json:
        print_json([entry._asdict() for entry in found])
    else:
        print_table(
            ("setting", "value~", "from~"),
            ((entry.name, "?" if entry.fault else _text(entry), entry.source) for entry in found),
        )
    faults = [entry for entry in found if entry.fault]
    for entry in faults:
        say(f"Error: {entry.fault}")
    if faults:
        raise click.exceptions.Exit(USAGE)


def _effective(name: str, read: Callable[[], Any]) -> _Effective:
    try:
        value = read()
        source = _source(name)
    except SettingError as error:
        return _Effective(name, None, error.setting, str(error))
    return _Effective(name, value, source)


def _source(name: str) -> str:
    if name == "dir":
        return settings.find_store_path()[1]
    if name == "signing_key":
        variables = ("LAZYCACHE_SIGNING_KEY", "LAZYCACHE_SIGNING_KEY_FILE")
        return next((variable for variable in variables if os.environ.get(variable)), "default")
    setting = settings.find_setting(name)
    return "default" if setting is None else setting.source


_READERS: dict[str, Callable[[], Any]] = {
    "dir": lambda: settings.find_store_path()[0],
    "mode": settings.mode,
    "max_size": lambda: settings.limit("max_size"),
    "max_age": lambda: settings.limit("max_age"),
    "unused_for": lambda: settings.limit("unused_for"),
    "upstream": lambda: list(settings.upstream()),
    "signatures": lambda: settings.signatures()[0],
    # The secret itself is nobody's to see.
    "signing_key": lambda: "set" if settings.signing_key() else None,
}


def _text(entry: _Effective) -> str:
    value = entry.value
    if value is None or value == []:
        return "none"
    if entry.name == "max_size":
        return size_text(value)
    if entry.name in settings.Limits._fields:
        return period_text(value)
    return os.pathsep.join(value) if isinstance(value, list) else str(value)
