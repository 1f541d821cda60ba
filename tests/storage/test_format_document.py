import re
from pathlib import Path

from lazycache_storage import layout, record
from lazycache_storage.values.plain import Tag
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


def test_every_tag_of_plain_data_is_described() -> None:
    described = re.findall(r"^\| (\d+(?:, \d+)*) \|.*\|.*\|$", TEXT, re.MULTILINE)
    tags = sorted(int(number) for numbers in described for number in numbers.split(", "))
    assert tags == sorted(value for name, value in vars(Tag).items() if name.isupper())
