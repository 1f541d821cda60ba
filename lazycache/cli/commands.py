"""The group ``lazycache``."""

import click

from lazycache.cli.config import config, path
from lazycache.cli.gc import gc
from lazycache.cli.listing import ls, show
from lazycache.cli.stats import stats
from lazycache.cli.upkeep import forget, pin, unpin, verify
from lazycache.cli.why import why


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lazycache")
def lazycache() -> None:
    """Look at a cache on disk, bound it and check it.

    \b
    lazycache stats               what is kept, and what that saved
    lazycache ls --sort size      the results
    lazycache why ingest.parse    why its newest result was computed
    lazycache gc --max-size 50GB  drop what is cheapest to get back

    Results go to standard output and everything else to standard error. Where
    standard output is no terminal, tables are lines with tabs; --json gives
    one document.

    Exit codes: 0 done; 1 something was found wrong, or failed; 2 the command
    line or a setting cannot be understood, or a confirmation is missing; 130
    interrupted. Treat any other code as a failure.
    """


for _command in (config, forget, gc, ls, path, pin, show, stats, unpin, verify, why):
    lazycache.add_command(_command)
