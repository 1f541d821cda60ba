"""Run every benchmark, print the table, and write it to RESULTS.md."""

from __future__ import annotations

import importlib
import sys

from benchmarks.table import RESULTS, Row, replace_sections, report

SECTIONS = {
    "startup": "Start",
    "hits": "Hits",
    "digesting": "Digests",
    "storing": "Storing and memory",
    "flights": "Single flight",
    "scale": "Scale and faults",
    "graphs": "Lazy arrays",
}


def main(chosen: list[str]) -> None:
    """Run the chosen sections, or all of them, and write them to the file; each is measured in one run."""
    sections: dict[str, list[Row]] = {}
    for name in chosen or SECTIONS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        sections[SECTIONS[name]] = importlib.import_module(f"benchmarks.{name}").rows()
    text = report(sections)
    print(text)
    RESULTS.write_text(replace_sections(RESULTS.read_text(), sections) if chosen else text)


if __name__ == "__main__":
    main(sys.argv[1:])
