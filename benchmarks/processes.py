"""Running a measurement in fresh processes and taking medians."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

PRELUDE = """
import gc, json, os, statistics, sys, time
def timed(function, seconds=0.4, least=5, most=20000):
    taken = []
    end = time.perf_counter() + seconds
    while len(taken) < least or (time.perf_counter() < end and len(taken) < most):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
"""


def measure(code: str, processes: int = 3, **names: Any) -> dict[str, float]:
    """Run `code` in fresh processes; return the median of each figure in its ``out``.

    Parameters
    ----------
    code : str
        Python that fills the dict ``out``; ``timed`` is at hand.
    processes : int
    **names
        Values that the code sees as variables; JSON types only.
    """
    runs = [run(code, **names) for _ in range(processes)]
    return {name: statistics.median([one[name] for one in runs]) for name in runs[0]}


def run(code: str, **names: Any) -> dict[str, float]:
    """Run `code` once in a fresh process; return its ``out``."""
    setup = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    script = f"{PRELUDE}\n{setup}\nout = {{}}\n{code}\nprint(json.dumps(out))\n"
    with tempfile.TemporaryDirectory() as folder:
        # A file, not -c: functions then have a source and a module path, as in real use.
        path = Path(folder) / "measured.py"
        path.write_text(script)
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'storage'}"}
        # An installed package has its bytecode; so must what is measured.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False, cwd=folder
        )
    if done.returncode:
        raise RuntimeError(f"a measurement failed:\n{done.stderr[-3000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


@contextmanager
def scratch() -> Iterator[str]:
    """Give a folder on the disk that stores would be on."""
    with tempfile.TemporaryDirectory(prefix="lazycache-bench-") as folder:
        yield folder
