"""Run the temperature pipeline again and again, with one thing changed each time.

Each run is a process of its own. What ran is read from a file that the
functions themselves write, and the numbers are compared with a run that uses
no cache at all: the demo does not believe the cache's own counters.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CITIES = ("seattle-temps.csv", "sf-temps.csv")
EVERYTHING = {"parse seattle-temps": 1, "parse sf-temps": 1, "fit": 2, "bootstrap": 2, "compare": 1, "figure": 1}
INTRODUCTION = f"""\
A year of hourly temperatures of two cities: parse, fit, bootstrap, compare, figure.
Each line is a run in a process of its own, after one change, and next to it the same without a cache.

{"what changed":<40}{"cached":>8} {"without":>8}  {"numbers":<8} functions that ran"""


class Demo:
    """A working copy of the pipeline and its data, with a store beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.pipeline = folder / "pipeline.py"
        self.store = folder / "store"
        self.witness = folder / "witness.txt"
        self.failures: list[str] = []
        self.data.mkdir()
        for city in CITIES:
            shutil.copy(data_folder() / city, self.data / city)
        shutil.copy(HERE / "pipeline.py", self.pipeline)

    def run(self, mode: str = "rw") -> tuple[dict[str, Any], Counter[str], float]:
        """Run the pipeline in a process; return its numbers, what ran, and the seconds."""
        self.witness.write_text("")
        environment = {
            **os.environ,
            "LAZYCACHE_DIR": str(self.store),
            "LAZYCACHE_MODE": mode,
            "WITNESS": str(self.witness),
            # Small matrices are solved faster by one thread.
            "OPENBLAS_NUM_THREADS": "1",
        }
        started = time.perf_counter()
        command = [sys.executable, str(self.pipeline), str(self.data), str(self.folder / "plot.png")]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - started
        return json.loads(done.stdout), Counter(self.witness.read_text().splitlines()), seconds

    def step(self, title: str, expected: dict[str, int]) -> None:
        """Run with the cache and without, and say whether what ran is what had to."""
        numbers, ran, seconds = self.run()
        truth, _, without = self.run(mode="off")
        self.report(title, seconds, without, ran, same=numbers == truth)
        if numbers != truth:
            self.failures.append(f"{title}: {numbers} with the cache, {truth} without")
        if ran != Counter(expected):
            self.failures.append(f"{title}: ran {dict(ran)}, expected {expected}")

    def report(self, title: str, seconds: float, without: float, ran: Counter[str], *, same: bool) -> None:
        """Print the line of a step."""
        what = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in sorted(ran.items())) or "nothing"
        verdict = "same" if same else "OTHER"
        print(f"{title:<40}{seconds:6.2f} s {without:6.2f} s  {verdict:<8} {what}", flush=True)

    def edit(self, path: Path, old: str, new: str) -> None:
        """Replace one passage of a file."""
        text = path.read_text()
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times in {path.name}")
        path.write_text(text.replace(old, new))

    def collect(self, limit: int) -> None:
        """Bound the store with lazycache-gc."""
        before = size_of(self.store / "objects")
        command = [
            str(Path(sys.executable).with_name("lazycache-gc")),
            "--store",
            str(self.store),
            "--max-size",
            str(limit),
            "--yes",
        ]
        subprocess.run(command, check=True, capture_output=True)
        after = size_of(self.store / "objects")
        print(f"  lazycache-gc --max-size {limit}: from {before:,} to {after:,} bytes", flush=True)
        if after > limit:
            self.failures.append(f"{after} bytes after a collection to {limit}")


def data_folder() -> Path:
    """Return where the vega_datasets package keeps its files, without importing it."""
    spec = importlib.util.find_spec("vega_datasets")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("the demo reads the data files of vega_datasets: pip install vega_datasets")
    return Path(spec.submodule_search_locations[0]) / "_data"


def in_words(numbers: dict[str, Any]) -> str:
    """Return the results as sentences."""
    lines = [
        f"{city.title()}: mean {mean:.2f} °C, yearly amplitude {yearly:.2f} °C, daily amplitude {daily:.2f} °C."
        for city in ("seattle", "san francisco")
        for mean, yearly, daily in [numbers[city]]
    ]
    mean, yearly, daily = numbers["difference"]
    lines.append(f"They differ by {mean:.1f}, {yearly:.1f} and {daily:.1f} standard errors.")
    return "\n".join(lines)


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> None:
    """Go through the steps; a step that surprises ends the demo with an error."""
    print(INTRODUCTION, flush=True)
    with tempfile.TemporaryDirectory() as text:
        demo = Demo(Path(text))
        demo.step("first run", EVERYTHING)
        demo.step("again, in another process", {})
        sf = demo.data / "sf-temps.csv"
        os.utime(sf)
        demo.step("one input touched, its content unchanged", {"parse sf-temps": 1})
        demo.edit(sf, "47.8,2010/01/01 00:00:00", "48.9,2010/01/01 00:00:00")
        demo.step(
            "one reading of San Francisco changed",
            {"parse sf-temps": 1, "fit": 1, "bootstrap": 1, "compare": 1, "figure": 1},
        )
        demo.edit(
            demo.pipeline,
            '    """Convert temperatures."""\n',
            '    """Convert temperatures."""\n    # The freezing point is 32 F.\n',
        )
        demo.step("a comment added to a helper", {})
        demo.edit(demo.pipeline, "np.std(samples, axis=0)", "np.std(samples, axis=0, ddof=1)")
        demo.step("a helper of bootstrap edited", {"bootstrap": 2, "compare": 1, "figure": 1})
        demo.edit(demo.pipeline, "np.std(samples, axis=0, ddof=1)", "np.std(samples, axis=0)")
        demo.step("the edit taken back", {})
        limit = size_of(demo.store / "objects") // 2
        demo.collect(limit)
        numbers, ran, seconds = demo.run()
        truth, _, without = demo.run(mode="off")
        demo.report("half of the store dropped", seconds, without, ran, same=numbers == truth)
        if numbers != truth:
            demo.failures.append("other numbers after the collection")
        plot = Path(os.environ.get("LAZYCACHE_DEMO_PLOT", Path(tempfile.gettempdir()) / "lazycache-temperatures.png"))
        shutil.copy(demo.folder / "plot.png", plot)
        print(f"\n{in_words(numbers)}\nThe plot: {plot}")
        if demo.failures:
            sys.exit("\n".join(["", "the demo did not go as it should:", *demo.failures]))


if __name__ == "__main__":
    main()
