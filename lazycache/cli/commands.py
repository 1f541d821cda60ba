"""The group ``lazycache``."""

import click

from lazycache.cli.config import config, path
from lazycache.cli.gc import gc
from lazycache.cli.listing import ls, show
from lazycache.cli.stats import stats
from lazycache.cli.upkeep import forget, pin, unpin, verify


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lazycache")
def lazycache() -> None:
    """Look at a cache on disk, bound it and check it.

    Why a call hits or misses is told in Python: f.explain(...) for a pure
    function f, or Cache().explain(expression).

    Exit codes: 0 done; 1 something was found wrong, or failed; 2 the command
    line or a setting cannot be understood, or a confirmation is missing.
    """


for _command in (config, forget, gc, ls, path, pin, show, stats, unpin, verify):
    lazycache.add_command(_command)
