"""Real second processes for the tests of the engine."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

PREAMBLE = """
import os, signal, sys, time
from lazycache_storage import fsio
from lazycache_storage.digest import Digest
from lazycache_storage.index.index import Index
from lazycache_storage.locks import Claim
from lazycache_storage.store import Store

def key(number):
    return Digest(number.to_bytes(32, "big"))

def say(*words):
    print(*words, flush=True)

def hear():
    return sys.stdin.readline().strip()

def in_children(count, work):
    # Forked before anything is open; all wait for one byte each, so that they start together.
    gate, start = os.pipe()
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.read(gate, 1)
                work(number)
                status = 0
            except BaseException:
                import traceback
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    os.write(start, b"x" * count)
    return [os.waitpid(child, 0)[1] for child in children]
"""


def start(code: str, *arguments: object, **options: Any) -> "subprocess.Popen[str]":
    """Start a Python process that runs `code` after the preamble; its pipes are text."""
    search = os.pathsep.join(filter(None, (str(ROOT), f"{ROOT}/storage", os.environ.get("PYTHONPATH"))))
    environment = dict(os.environ, PYTHONPATH=search, PYTHONFAULTHANDLER="1")
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PREAMBLE + code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,
    )


def finish(process: "subprocess.Popen[str]", *, status: int = 0, seconds: float = 120) -> str:
    """Wait for a process and return what it said; fail with its errors if it did not end as expected."""
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == status, f"ended with {process.returncode}:\n{err}"
    assert "Traceback" not in err, err
    return out


def run(code: str, *arguments: object, status: int = 0, **options: Any) -> str:
    """Run a Python process to its end and return what it said."""
    return finish(start(code, *arguments, **options), status=status)


def tell(process: "subprocess.Popen[str]", line: str = "") -> None:
    """Write a line to a process."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def listen(process: "subprocess.Popen[str]") -> str:
    """Wait for a line from a process."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise AssertionError(process.communicate()[1])
    return line
