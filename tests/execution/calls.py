"""Pure functions that worker processes import; files in a folder tell what ran, and let calls wait for each other."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import lazycache
from lazycache import hash_by_file_date, pure

DEADLINE_SECONDS = 120


def note(folder: str, what: str) -> None:
    """Add a line to the witness."""
    with (Path(folder) / "witness.txt").open("a") as file:
        file.write(what + "\n")


def wait_for(path: Path) -> None:
    """Wait until another process has made a file."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody made {path}")
        time.sleep(0.002)


@pure(version=1, ignore=("folder",))
def meet(mine: str, other: str, folder: str) -> int:
    """Return the process, once the other call runs as well: only calls that overlap come to an end."""
    note(folder, f"meet {mine}")
    (Path(folder) / mine).touch()
    wait_for(Path(folder) / other)
    return os.getpid()


@pure(version=1, ignore=("folder",))
def grid(n: int, folder: str) -> Any:
    note(folder, f"grid {n}")
    return np.arange(200_000.0) + n


@pure(version=1, ignore=("folder",))
def total(array: Any, folder: str) -> float:
    note(folder, "total")
    return float(array.sum())


@pure(version=1, store=False, ignore=("folder",))
def passing(array: Any, folder: str) -> Any:
    note(folder, "passing")
    return array * 2


@pure(version=1, ignore=("folder",))
def outer(n: int, folder: str) -> float:
    note(folder, f"outer {n}")
    return total(grid(7, folder), folder) + n  # type: ignore[no-any-return]


@pure(version=1, hashers={"path": hash_by_file_date}, ignore=("folder",))
def parse(path: str, folder: str) -> str:
    note(folder, "parse")
    return Path(path).read_text()


@pure(version=1, ignore=("folder",))
def reads_nested(path: str, folder: str) -> str:
    note(folder, "reads_nested")
    return parse(path, folder).upper()  # type: ignore[no-any-return]


@pure(version=1, ignore=("folder",))
def located(base: str, folder: str) -> str:
    note(folder, "located")
    return base + "/input.txt"


@pure(version=1, ignore=("folder",))
def endless(n: int, folder: str) -> Any:
    """Ask for its own result, by way of another."""
    return detour(n, folder)


@pure(version=1, ignore=("folder",))
def detour(n: int, folder: str) -> Any:
    return lazycache.cache(endless(n, folder) + 0, n_jobs=2)


class OddError(Exception):
    """An exception that does not survive pickle by itself."""

    def __init__(self, code: int, *, reason: str) -> None:
        super().__init__(f"{reason} ({code})")
        self.code = code


@pure(version=1, ignore=("folder",))
def fail(n: int, folder: str) -> Any:
    note(folder, f"fail {n}")
    try:
        os.environ["LAZYCACHE_NOTHING"]
    except KeyError as error:
        raise OddError(n, reason="as planned") from error


@pure(version=1, ignore=("folder",))
def die(n: int, folder: str) -> Any:
    note(folder, "die")
    os._exit(3)


@pure(version=1, ignore=("folder",))
def through_default(n: int, folder: str) -> int:
    """Evaluate through the default cache by hand, outside of what its arguments say."""
    return int(lazycache.cache(grid(n, folder).sum() + 0))


@pure(version=1)
def setting(name: str) -> str | None:
    return os.environ.get(name)


@pure(version=1, ignore=("folder",))
def hang(n: int, folder: str) -> Any:
    (Path(folder) / f"hanging{n}").touch()
    time.sleep(600)
