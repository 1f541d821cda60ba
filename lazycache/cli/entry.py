"""What the two console scripts call."""


def main() -> None:
    """Run ``lazycache``."""
    # Imported here, so that `lazycache-gc` starts without the other commands.
    from lazycache.cli.commands import lazycache

    lazycache(prog_name="lazycache")


def main_gc() -> None:
    """Run ``lazycache-gc``."""
    from lazycache.cli.gc import gc

    gc(prog_name="lazycache-gc")
