import re
from pathlib import Path

from lazycache_storage import layout, record
from tests.storage.processes import ROOT

TEXT = (ROOT / "storage" / "FORMAT.md").read_text()


def test_every_invariant_names_tests_that_exist() -> None:
    invariants = re.findall(r"^\| (I\d+) \|.*\| (.*) \|$", TEXT, re.MULTILINE)
    assert len(invariants) >= 16
    for name, tests in invariants:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests)
        assert named, name
        for file, test in named:
            assert f"def {test}(" in Path(ROOT, file).read_text(), f"{name}: {file}::{test}"


def test_the_versions_and_names_are_those_of_the_code() -> None:
    assert f"| layout | {layout.STORE_FORMAT} |" in TEXT
    assert f"| record | {record.RECORD_FORMAT} |" in TEXT
    for name in (*layout.TOP_NAMES, layout.CREATE_LOCK_FILE, layout.BROKEN_SUFFIX):
        assert name in TEXT, name
