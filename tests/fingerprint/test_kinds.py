"""More kinds of references, each a notebook cell with one edit.

They are in kinds.txt: a line with ``+++`` and a name for an edit that counts,
or ``---`` for one that does not; a line with the edit; and the program.
"""

from __future__ import annotations

import itertools
import linecache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lazycache.fingerprint import fingerprint

_numbers = itertools.count()


class Kind(NamedTuple):
    name: str
    counts: bool
    old: str
    new: str
    text: str


def _kinds() -> list[Kind]:
    blocks = Path(__file__).with_name("kinds.txt").read_text().split("\n\n")
    found = []
    for block in blocks:
        head, edit, text = block.split("\n", 2)
        old, new = edit.split(" => ")
        found.append(Kind(head[4:], head.startswith("+++"), old, new, text + "\n"))
    return found


def _digest(text: str) -> bytes:
    name = f"<cell {next(_numbers)} of kinds>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), namespace)
    taken = fingerprint(namespace["run"])
    assert taken.mismatch is None
    assert taken.is_current()
    return taken.digest


@pytest.mark.parametrize("kind", _kinds(), ids=lambda kind: kind.name)
def test_an_edit_counts_or_not(kind: Kind) -> None:
    edited = kind.text.replace(kind.old, kind.new)
    assert edited != kind.text
    first = _digest(kind.text)
    assert _digest("# moved\n\n" + kind.text) == first
    assert (_digest(edited) != first) is kind.counts
