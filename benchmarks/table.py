"""The rows of the report, and how they are written."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
PEERS = ("numpy", "joblib", "diskcache", "zarr", "filelock", "msgspec", "cachier", "dask", "autoray")


@dataclass(frozen=True)
class Row:
    """One figure: what was asked, what was measured, and how.

    Attributes
    ----------
    what : str
    measured : str
        Absolute figures, ours first.
    ratio : float
        Ours over the bound of the same run: at most 1 meets it.
    bound : str
        What was asked.
    """

    what: str
    measured: str
    ratio: float
    bound: str

    @property
    def met(self) -> str:
        """Say whether the bound was met."""
        return "yes" if self.ratio <= 1.0 else "**no**"


def duration(seconds: float) -> str:
    """Return seconds in a unit that reads well."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def report(sections: dict[str, list[Row]]) -> str:
    """Return the report as Markdown."""
    lines = ["# Measured", "", machine(), ""]
    lines += [
        "Ratios within one run are what counts; absolute figures move with the machine. "
        "`of bound` is ours divided by the bound that the same run measured: at most 1 meets it.",
        "",
    ]
    return "\n".join(lines) + "\n" + "\n".join(section(title, rows) for title, rows in sections.items())


def section(title: str, rows: list[Row]) -> str:
    """Return one section of the report as Markdown."""
    lines = [f"## {title}", "", "| what | bound | measured | of bound | met |", "|---|---|---|---:|---|"]
    lines += [f"| {row.what} | {row.bound} | {row.measured} | {row.ratio:.2f} | {row.met} |" for row in rows]
    return "\n".join(lines) + "\n"


def replace_sections(text: str, sections: dict[str, list[Row]]) -> str:
    """Return a report with some of its sections measured anew."""
    head, *parts = re.split(r"(?m)^(?=## )", text)
    titles = [part.partition("\n")[0].removeprefix("## ") for part in parts]
    anew = [
        section(title, sections[title]) + "\n" if title in sections else part
        for title, part in zip(titles, parts, strict=True)
    ]
    return (head + "".join(anew)).rstrip() + "\n"


def machine() -> str:
    """Say on what the figures were measured."""
    versions = ", ".join(f"{name} {version}" for name in PEERS if (version := _version(name)))
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {_cores()} cores; {versions}."
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0))
