"""What counts is noticed, what does not count is not: each edit in its own process, on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fingerprint.cases import OF_FUNCTIONS, Case, Edit
from tests.fingerprint.class_cases import OF_CLASSES
from tests.fingerprint.process import digests

CASES = OF_FUNCTIONS + OF_CLASSES
Taken = dict[tuple[str, Edit | None], str]


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Taken:
    """The fingerprints of every program in every form: a process for each round of edits, at the same paths."""
    base = tmp_path_factory.mktemp("programs")
    found: Taken = {}
    rounds = 1 + max(len(case.counts) + len(case.keeps) for case in CASES)
    for number in range(rounds + 1):
        requests = []
        names: list[tuple[str, Edit | None]] = []
        for index, case in enumerate(CASES):
            edits: list[Edit | None] = [None, *case.counts, *case.keeps]
            # The last round is the original again: editing back gives the old digest.
            edit = edits[number] if number < len(edits) and number < rounds else None
            folder = base / f"case{index}"
            _write(folder, case.files(edit))
            requests.append((str(folder), case.root, case.options))
            names.append((case.name, edit))
        for name, digest in zip(names, digests(requests, hash_seed=str(number)), strict=True):
            assert found.setdefault(name, digest) == digest, f"{name} is not stable"
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_has_a_digest(case: Case, taken: Taken) -> None:
    assert len(bytes.fromhex(taken[case.name, None])) == 32


@pytest.mark.parametrize(
    ("case", "edit"),
    [(case, edit) for case in CASES for edit in case.counts],
    ids=lambda value: getattr(value, "name", repr(value)),
)
def test_an_edit_counts(case: Case, edit: Edit, taken: Taken) -> None:
    assert taken[case.name, edit] != taken[case.name, None]
    assert len(bytes.fromhex(taken[case.name, edit])) == 32


@pytest.mark.parametrize(
    ("case", "edit"),
    [(case, edit) for case in CASES for edit in case.keeps],
    ids=lambda value: getattr(value, "name", repr(value)),
)
def test_an_edit_does_not_count(case: Case, edit: Edit, taken: Taken) -> None:
    assert taken[case.name, edit] == taken[case.name, None]
