"""Which results ``--stale-code`` drops: those of code that was edited since, and no others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.index.index import CODE_PREFIX
from lazycache_storage.store import Store
from tests.gc.stores import environment

LAB = """
from lazycache import pure
GAIN = 2
def helper(x): return x * GAIN
@pure
def fit(x): return helper(x) + 1
@pure
def other(x): return x
@pure(version=1)
def kept(x): return x
class Model:
    def __init__(self, a): self.a = a
    @pure
    def run(self, x): return self.a * x
class Better(Model): pass
"""


class Lab:
    """A project whose module is edited, and run by one process after the other."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.folder = folder
        self.store = store
        folder.mkdir()
        self.write(LAB)

    def write(self, text: str) -> None:
        (self.folder / "lab.py").write_text(text)

    def edit(self, before: str, after: str) -> None:
        text = (self.folder / "lab.py").read_text()
        assert before in text
        self.write(text.replace(before, after))

    def run(self, *calls: str, more: str = "", n_jobs: int | None = None) -> None:
        asked = ", ".join(calls)
        code = f"from lazycache import Cache\nimport lab\ncache = Cache({str(self.store)!r})\n{more}\n"
        code += f"cache([{asked}], n_jobs={n_jobs})\n"
        places = os.pathsep.join([str(self.folder), environment()["PYTHONPATH"]])
        found = environment() | {"PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([sys.executable, "-c", code], env=found, check=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def lab(tmp_path: Path, path: Path) -> Lab:
    return Lab(tmp_path / "project", path)


def drop_stale(path: Path) -> dict[str, int]:
    """Drop the results of code that is not current; return how many of each function went."""
    with Store(path) as store:
        plan = plan_gc(store, GcLimits(stale_code=True))
        run_gc(store, plan)
        return {group.function: group.results for group in plan.groups}


@pytest.mark.parametrize(
    "edit", [("x * GAIN", "x + GAIN"), ("GAIN = 2", "GAIN = 3"), ("helper(x) + 1", "helper(x) + 2")]
)
def test_an_edit_of_a_function_a_helper_or_a_global_makes_its_results_stale(
    path: Path, lab: Lab, edit: tuple[str, str]
) -> None:
    lab.run("lab.fit(1)", "lab.fit(2)", "lab.other(1)", "lab.kept(1)")
    assert drop_stale(path) == {}
    lab.edit(*edit)
    assert drop_stale(path) == {}
    lab.run("lab.fit(1)")
    assert drop_stale(path) == {"lab.fit": 2}
    with Store(path) as store:
        assert sorted(entry.record.function for entry in store.records()) == ["lab.fit", "lab.kept", "lab.other"]
    assert drop_stale(path) == {}


def test_results_made_by_workers_are_told_apart_too(path: Path, lab: Lab) -> None:
    lab.run("lab.fit(1)", "lab.fit(2)", "lab.other(1)", n_jobs=2)
    assert drop_stale(path) == {}
    lab.edit("x * GAIN", "x + GAIN")
    lab.run("lab.fit(1)", "lab.fit(2)", n_jobs=2)
    assert drop_stale(path) == {"lab.fit": 2}


def test_code_that_came_back_is_current(path: Path, lab: Lab) -> None:
    lab.run("lab.fit(1)")
    lab.edit("x * GAIN", "x + GAIN")
    lab.run("lab.fit(1)")
    lab.edit("x + GAIN", "x * GAIN")
    lab.run("lab.fit(1)")
    assert drop_stale(path) == {}
    lab.edit("x * GAIN", "x - GAIN")
    lab.run("lab.fit(1)")
    assert drop_stale(path) == {"lab.fit": 2}


def test_code_that_was_dropped_and_came_back_replaces_what_came_between(path: Path, lab: Lab) -> None:
    lab.run("lab.fit(1)")
    lab.edit("x * GAIN", "x + GAIN")
    lab.run("lab.fit(1)")
    assert drop_stale(path) == {"lab.fit": 1}
    lab.edit("x + GAIN", "x * GAIN")
    lab.run("lab.fit(1)")
    assert drop_stale(path) == {"lab.fit": 1}
    with Store(path) as store:
        assert len(store) == 1


def test_two_projects_with_modules_of_one_name_leave_each_other_alone(path: Path, lab: Lab, tmp_path: Path) -> None:
    other = Lab(tmp_path / "branch", path)
    other.edit("x * GAIN", "x + GAIN")
    lab.run("lab.fit(1)")
    other.run("lab.fit(1)")
    assert drop_stale(path) == {}
    lab.run("lab.fit(2)")
    assert drop_stale(path) == {}
    other.edit("x + GAIN", "x - GAIN")
    other.run("lab.fit(1)")
    assert drop_stale(path) == {"lab.fit": 1}


def test_code_that_two_projects_share_is_stale_when_both_have_edited_it(path: Path, lab: Lab, tmp_path: Path) -> None:
    other = Lab(tmp_path / "branch", path)
    lab.run("lab.fit(1)")
    other.run("lab.fit(2)")
    lab.edit("x * GAIN", "x + GAIN")
    lab.run("lab.fit(1)")
    assert drop_stale(path) == {}
    other.edit("x * GAIN", "x - GAIN")
    other.run("lab.fit(1)")
    assert drop_stale(path) == {"lab.fit": 2}


def test_a_new_version_makes_results_of_the_earlier_one_stale_and_an_edit_under_one_version_does_not(
    path: Path, lab: Lab
) -> None:
    lab.run("lab.kept(1)")
    lab.edit("def kept(x): return x", "def kept(x): return 1 * x")
    lab.run("lab.kept(2)")
    assert drop_stale(path) == {}
    lab.edit("version=1", "version=2")
    lab.run("lab.kept(1)")
    assert drop_stale(path) == {"lab.kept": 2}


def test_two_versions_that_are_made_side_by_side_are_both_current(path: Path, lab: Lab) -> None:
    both = "from lazycache import pure\none = pure(lab.helper, version=1)\ntwo = pure(lab.helper, version=2)\n"
    lab.run("one(1)", more=both)
    lab.run("two(1)", "one(1)", more=both)
    assert drop_stale(path) == {}
    lab.run("one(2)", "two(2)", more=both)
    assert drop_stale(path) == {}
    lab.run("two(3)", more=both.replace("version=2", "version=3"))
    lab.run("one(3)", more=both.replace("version=2", "version=3"))
    assert drop_stale(path) == {"lab.helper": 2}


def test_a_method_is_current_for_each_class(path: Path, lab: Lab) -> None:
    lab.run("lab.Model(1).run(2)")
    lab.run("lab.Better(1).run(2)")
    assert drop_stale(path) == {}
    lab.edit("self.a * x", "self.a + x")
    lab.run("lab.Better(1).run(2)")
    assert drop_stale(path) == {"lab.Model.run": 1}


@pytest.mark.parametrize(
    "definition",
    [
        "f = pure(lambda x: x + {n})",
        "def make(n):\n    @pure\n    def f(x): return x + n\n    return f\nf = make({n})",
        "import functools, operator\nf = pure(functools.partial(operator.add, {n}))",
        "exec('@pure\\ndef f(x): return x + {n}')",
    ],
)
def test_functions_of_which_many_have_one_name_are_left_alone(path: Path, lab: Lab, definition: str) -> None:
    for number in (1, 2):
        lab.run("f(1)", more="from lazycache import pure\n" + definition.format(n=number))
    assert drop_stale(path) == {}


def test_notes_that_somebody_else_wrote_drop_nothing(path: Path, lab: Lab) -> None:
    lab.run("lab.fit(1)")
    lab.edit("x * GAIN", "x + GAIN")
    lab.run("lab.fit(1)")
    with Store(path) as store:
        for row in list(store.index.items(CODE_PREFIX)):
            store.index.put(row.key, b"\x91\xc1")
    assert drop_stale(path) == {}
