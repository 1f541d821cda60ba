"""``python -m lazycache`` is the command ``lazycache``."""

from lazycache.cli import main

if __name__ == "__main__":
    main()
