"""The commands, as a person or a script meets them."""

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lazycache import Cache, hash_by_file_date, pure
from lazycache.cli.commands import lazycache
from lazycache.cli.gc import gc
from lazycache_storage.record import FileState, Ingredient
from lazycache_storage.store import Store
from tests.gc.stores import DAY, digest, environment, note_code, numbers, object_bytes, present, put

Run = Callable[..., Result]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A closed store with ten results of two functions of a module that does not exist."""
    with Store(tmp_path / "store") as opened:
        for number in range(10):
            put(
                opened,
                number,
                value=numbers(number, 100),
                function="nowhere.parse" if number % 2 else "nowhere.fit",
                code=b"code",
                created=time.time() - number * 10 * DAY,
                seconds=float(number),
                text=f"nowhere.f({number})",
                also_under=[digest("call", number)] if number == 3 else [],
            )
    return opened


@pytest.fixture
def run(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `lazycache …` on the store, with no settings but its place."""
    for name in ("MAX_SIZE", "MAX_AGE", "UNUSED_FOR", "MODE"):
        monkeypatch.delenv(f"LAZYCACHE_{name}", raising=False)
    monkeypatch.setenv("LAZYCACHE_DIR", store.path)
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments: object, expect: int = 0, command: Any = lazycache) -> Result:
        result = CliRunner().invoke(command, [str(argument) for argument in arguments])
        assert result.exit_code == expect, (result.stdout, result.stderr, result.exception)
        return result

    return run_command


def count(store: Store) -> int:
    with Store(store.path, read_only=True) as fresh:
        return len(fresh)


def read_to_the_end(terminal: int) -> bytes:
    """Return all that a terminal shows, and close it."""
    shown = b""
    try:
        while chunk := os.read(terminal, 4096):
            shown += chunk
    except OSError:
        # Linux says EIO when the other end of a terminal is closed.
        pass
    os.close(terminal)
    return shown


# -- gc -----------------------------------------------------------------------


def test_without_limits_gc_reports_and_changes_nothing(run: Run, store: Store) -> None:
    result = run("gc")
    assert "nothing was changed" in result.stderr
    assert "10 results" in result.stderr
    assert count(store) == 11


def test_without_criterion_gc_enforces_the_environment(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZYCACHE_MAX_SIZE", "500kB")
    monkeypatch.setenv("LAZYCACHE_MAX_AGE", "85d")
    run("gc")
    assert object_bytes(store) <= 500_000
    assert present(store, (9,)) == [False]


def test_without_criterion_gc_enforces_the_project(run: Run, store: Store, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.lazycache]\nmax_size = "300 kB"\n')
    run("gc")
    assert object_bytes(store) <= 300_000


def test_a_dry_run_says_what_a_run_does(run: Run, store: Store) -> None:
    dry = json.loads(run("gc", "--max-size", "400kB", "--dry-run", "--json").stdout)
    assert count(store) == 11
    wet = json.loads(run("gc", "--max-size", "400kB", "--json").stdout)
    assert (dry.pop("changed"), wet.pop("changed")) == (False, True)
    assert (dry.pop("survived"), wet.pop("survived")) == (None, 0)
    assert dry == wet
    gone = {entry["key"] for entry in wet["entries"]}
    with Store(store.path, read_only=True) as fresh:
        assert gone.isdisjoint(key.hex() for key in fresh.keys())  # noqa: SIM118
        assert len(fresh) + len(gone) == 11
    assert object_bytes(store) <= 400_000


def test_a_simulation_tells_what_a_limit_keeps(run: Run, store: Store) -> None:
    shown = run("gc", "--max-size", "400kB", "--simulate")
    lines = [line.split("\t") for line in shown.stdout.splitlines()]
    assert lines[0] == ["function", "keeps", "size", "took to compute"]
    assert "nothing was changed" in shown.stderr
    told = json.loads(run("gc", "--max-size", "400kB", "--simulate", "--json").stdout)
    assert (told["changed"], count(store)) == (False, 11)
    assert [line[1] for line in lines[1:]] == [f"{kept['results']} of {kept['of_results']}" for kept in told["kept"]]
    assert sum(kept["of_results"] for kept in told["kept"]) == 10
    assert sum(kept["nbytes"] for kept in told["kept"]) == told["bytes"]["after"]
    run("gc", "--max-size", "400kB")
    left = {each["function"]: each for each in json.loads(run("stats", "--json").stdout)["functions"]}
    for kept in told["kept"]:
        assert kept["results"] == left.get(kept["function"], {"results": 0})["results"]
        assert kept["seconds"] == pytest.approx(left.get(kept["function"], {"seconds": 0.0})["seconds"])


def test_gc_names_functions_first(run: Run) -> None:
    result = run("gc", "--max-age", "45d", "--dry-run")
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0] == ["function", "why", "results", "frees", "took to compute"]
    assert {tuple(line[:3]) for line in lines[1:]} == {
        ("nowhere.parse", "max-age", "3"),
        ("nowhere.fit", "max-age", "2"),
    }
    assert digest(9).hex()[:8] not in result.output


def test_gc_by_function(run: Run, store: Store) -> None:
    run("gc", "--function", "*.parse")
    assert present(store, *((number,) for number in range(10))) == [True, False] * 5


def test_the_name_that_stats_gives_to_expressions_picks_them(run: Run, store: Store) -> None:
    with Store(store.path) as opened:
        put(opened, "sum", value=3, function="add", version="", text="1 + 2")
    (name,) = {entry["function"] for entry in json.loads(run("stats", "--json").stdout)["functions"]} - {
        "nowhere.parse",
        "nowhere.fit",
    }
    assert [line.split("\t")[:2] for line in run("ls", "--function", name).stdout.splitlines()[1:]] == [[name, "1 + 2"]]
    run("gc", "--function", name)
    assert count(store) == 11


def test_gc_by_function_and_age(run: Run, store: Store) -> None:
    run("gc", "--function", "parse", "--max-age", "45d")
    assert present(store, *((number,) for number in range(10))) == [True] * 5 + [False, True, False, True, False]


def test_all_is_refused_without_a_terminal(run: Run, store: Store) -> None:
    result = run("gc", "--all", expect=2)
    assert "--yes" in result.stderr
    assert count(store) == 11
    run("gc", "--all", "--dry-run")
    assert count(store) == 11
    run("gc", "--all", "--yes")
    assert count(store) == 0
    assert object_bytes(store) == 0


@pytest.mark.parametrize(("answer", "left"), [(b"n\n", 11), (b"y\n", 0)])
def test_all_asks_on_a_terminal(store: Store, answer: bytes, left: int) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from lazycache.cli import main_gc; main_gc()", "--all", "--store", store.path]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment())
    os.close(theirs)
    os.write(ours, answer)
    shown = read_to_the_end(ours)
    assert child.wait() == (0 if left == 0 else 1)
    assert b"Drop 10 results" in shown
    assert count(store) == left


def test_a_long_collection_shows_a_bar_on_a_terminal_and_nothing_elsewhere(store: Store) -> None:
    code = "from lazycache.cli import main_gc, output; output._LONG_SECONDS = -1.0; main_gc()"
    command = [sys.executable, "-c", code, "--store", store.path, "--max-size"]
    quiet = subprocess.run([*command, "500kB"], env=environment(), capture_output=True, check=True)
    assert b"dropping" not in quiet.stderr
    ours, theirs = pty.openpty()
    child = subprocess.Popen([*command, "0"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment())
    os.close(theirs)
    shown = read_to_the_end(ours)
    assert child.wait() == 0
    assert b"dropping" in shown
    assert b"100%" in shown


def test_a_long_check_shows_a_bar_on_a_terminal_and_nothing_elsewhere(store: Store) -> None:
    code = "from lazycache.cli import main, output; output._LONG_SECONDS = -1.0; main()"
    command = [sys.executable, "-c", code, "verify", "--store", store.path]
    quiet = subprocess.run(command, env=environment(), capture_output=True, check=True)
    assert b"checking" not in quiet.stderr
    ours, theirs = pty.openpty()
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment())
    os.close(theirs)
    shown = read_to_the_end(ours)
    assert child.wait() == 0
    assert b"checking" in shown
    assert b"100%" in shown
    assert b"nothing is wrong" in shown


INTERRUPTED = """
import signal
from lazycache.cli import main_gc, output
output.ProgressBar.show = lambda bar, done: signal.raise_signal(signal.SIGINT) if done > 12 else None
main_gc()
"""


def test_a_collection_that_is_interrupted_says_how_far_it_came(run: Run, store: Store) -> None:
    command = [sys.executable, "-c", INTERRUPTED, "--all", "--yes", "--store", store.path]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "stopped after 11 of 11 entries" in done.stderr
    assert "Traceback" not in done.stderr
    run("gc", "--orphans")
    run("verify")
    assert object_bytes(store) == 0


@pytest.mark.parametrize(
    "arguments",
    [("--max-size", "many"), ("--max-age", "3 moons"), ("--max-size", "-5GB"), ("--such",), ("extra",)],
)
def test_what_gc_cannot_understand_is_a_usage_error(run: Run, store: Store, arguments: tuple[str, ...]) -> None:
    assert run("gc", *arguments, expect=2).stderr
    assert count(store) == 11


def test_a_setting_that_cannot_be_understood_is_a_usage_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZYCACHE_MAX_SIZE", "lots")
    assert "LAZYCACHE_MAX_SIZE" in run("gc", expect=2).stderr


def test_orphans_stale_code_and_missing_inputs(run: Run, store: Store, tmp_path: Path) -> None:
    with Store(store.path) as opened:
        note_code(opened, "nowhere.fit", version="1", started=time.time())
        note_code(opened, "nowhere.fit", version="2", started=time.time() + 1)
        put(opened, "new", value=1, function="nowhere.fit", version="2", created=time.time() + 1)
        put(opened, "gone", value=1, function="nowhere.read", files=(FileState(str(tmp_path / "gone"), "date"),))
        record = put(opened, "lost", value=numbers(99, 100))
        with opened.index.transaction() as transaction:
            transaction.delete(digest("lost"))
            transaction.delete(b"ref:" + record.objects[0].name + digest("lost"))
    before = object_bytes(store)
    run("gc", "--orphans")
    assert before - object_bytes(store) > 100_000
    assert count(store) == 13
    run("gc", "--stale-code", "--missing-inputs")
    expected = [bool(number % 2) for number in range(10)] + [True, False]
    assert present(store, *((number,) for number in range(10)), ("new",), ("gone",)) == expected


def test_lazycache_gc_is_the_same_command(run: Run, store: Store) -> None:
    run("--max-size", "0", "--store", store.path, command=gc)
    assert count(store) == 0


# -- looking --------------------------------------------------------------------


def test_every_key_that_is_listed_finds_its_entry(run: Run, store: Store) -> None:
    keys = run("ls", "-q").stdout.split()
    assert len(set(keys)) == 10
    for key in keys:
        assert json.loads(run("show", key, "--json").stdout)["key"] == key
    for key in keys:
        run("forget", key[:16])
    assert count(store) == 0
    assert object_bytes(store) == 0


def test_ls_lists_newest_first_and_names_first(run: Run) -> None:
    lines = [line.split("\t") for line in run("ls").stdout.splitlines()]
    assert lines[0][0] == "function"
    assert [line[1] for line in lines[1:]] == [f"nowhere.f({number})" for number in range(10)]
    assert lines[1][2] == "100.7 kB" or lines[1][2].startswith("10")


def test_ls_takes_one_line_for_each_result_on_a_narrow_terminal(store: Store) -> None:
    text = 'lab.read(<file "/data/of/a/long/campaign/in/a/far/away/place/run7.dat" modified 2026-01-02 03:04:05>, 1)'
    with Store(store.path) as opened:
        put(opened, "long", value=1, text=text, created=time.time() + 10)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from lazycache.cli import main; main()", "ls", "--store", store.path]
    narrow = {**environment(), "COLUMNS": "90"}
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=narrow)
    os.close(theirs)
    shown = read_to_the_end(ours)
    assert child.wait() == 0
    lines = [line.strip() for line in shown.decode().splitlines() if line.strip()]
    assert len(lines) == 2 + 11
    assert lines[2].startswith('lab.read(<file "run7.da')
    assert lines[2].endswith(digest("long").hex()[:12])


def test_ls_to_a_file_gives_calls_in_full(run: Run, store: Store) -> None:
    with Store(store.path) as opened:
        put(opened, "long", value=1, text="lab.read(" + "x" * 150 + ")", created=time.time() + 10)
    assert "lab.read(" + "x" * 150 + ")\t" in run("ls").stdout


def test_a_very_narrow_terminal_keeps_the_call_and_its_key(store: Store) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from lazycache.cli import main; main()", "ls", "--store", store.path]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment() | {"COLUMNS": "50"})
    os.close(theirs)
    shown = read_to_the_end(ours).decode()
    assert child.wait() == 0
    assert "nowhere.f(7)" in shown
    assert digest(7).hex()[:12] in shown


def test_what_somebody_wrote_into_a_store_does_nothing_to_a_terminal(run: Run, store: Store) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\x9b2K\nnext"
    with Store(store.path) as opened:
        parts = (Ingredient(hostile, hostile, b"t", hostile),)
        put(opened, "x", value=1, function=f"lab.{hostile}", text=hostile, host=hostile, ingredients=parts)
    key = digest("x").hex()[:20]
    for words in (["ls"], ["stats"], ["show", key], ["gc", "--dry-run", "--all"], ["pin", key], ["forget", key]):
        shown = run(*words).output
        assert all(letter.isprintable() or letter in "\n\t" for letter in shown), (words, shown)


def test_ls_says_that_there_is_nothing(run: Run, store: Store) -> None:
    assert "no such results" in run("ls", "--function", "mistyped").stderr
    run("gc", "--all", "--yes")
    assert f"no results in {store.path}" in run("ls").stderr


def test_the_module_runs_as_the_command(store: Store) -> None:
    command = [sys.executable, "-m", "lazycache", "path", "--store", store.path]
    assert (
        subprocess.run(command, env=environment(), capture_output=True, check=True).stdout.decode() == f"{store.path}\n"
    )


def test_both_entry_points_have_a_version(run: Run) -> None:
    assert run("--version").stdout.split()[-1] == run("--version", command=gc).stdout.split()[-1]


def test_ls_filters_sorts_and_limits(run: Run) -> None:
    def listed(*arguments: object) -> list[int]:
        texts = [entry["text"] for entry in json.loads(run("ls", "--json", *arguments).stdout)]
        return [int(text.removeprefix("nowhere.f(").removesuffix(")")) for text in texts]

    assert listed("--function", "parse") == [1, 3, 5, 7, 9]
    assert listed("--older-than", "75d") == [8, 9]
    assert listed("--larger-than", "1MB") == []
    assert listed("--sort", "seconds", "--limit", 3) == [9, 8, 7]
    assert listed("--sort", "seconds", "--reverse", "--limit", 2) == [0, 1]
    assert listed("--sort", "function") == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    assert listed("--unused-for", "1h") == []


def test_a_result_under_two_keys_is_listed_once(run: Run) -> None:
    found = [entry for entry in json.loads(run("ls", "--json").stdout) if len(entry["keys"]) == 2]
    assert len(found) == 1
    assert set(found[0]["keys"]) == {digest(3).hex(), digest("call", 3).hex()}


def test_stats_add_up(run: Run, store: Store) -> None:
    with Store(store.path) as opened:
        put(opened, "twin", value=numbers(1, 100), function="nowhere.twin", code=b"x", seconds=2.5)
        for _ in range(4):
            opened.find(digest("twin"))
        opened.find(digest(3))
    stats = json.loads(run("stats", "--json").stdout)
    assert (stats["results"], stats["keys"], stats["objects"], stats["hits"]) == (11, 12, 10, 5)
    assert stats["seconds_saved"] == 4 * 2.5 + 3.0
    assert stats["bytes_saved_by_sharing"] == pytest.approx(100_000, rel=0.01)
    assert stats["bytes"] == pytest.approx(object_bytes(store), rel=0.05)
    by_function = {function["function"]: function for function in stats["functions"]}
    assert next(iter(by_function)) == "nowhere.twin"
    assert (by_function["nowhere.twin"]["hits"], by_function["nowhere.parse"]["results"]) == (4, 5)
    assert by_function["nowhere.fit"]["seconds"] == 0 + 2 + 4 + 6 + 8
    assert "nowhere.twin" in run("stats").stdout


def test_path_is_one_line_for_scripts(run: Run, store: Store, tmp_path: Path) -> None:
    assert run("path").stdout == f"{store.path}\n"
    assert run("path", "--store", tmp_path / "elsewhere").stdout == f"{tmp_path / 'elsewhere'}\n"


def test_show_tells_all_that_is_known(run: Run, store: Store) -> None:
    with Store(store.path) as opened:
        parts = (Ingredient("filename", "hash_by_file_date", b"t", "<file /data/x>"),)
        put(opened, "x", value=numbers(1, 100), ingredients=parts, files=(FileState("/data/x", "date", 5),))
    shown = run("show", digest("x").hex()[:20]).stdout
    for text in ("lab.step", "<file /data/x>", "path=/data/x", "dtype", "12500"):
        assert text in shown


def test_a_key_that_is_none_or_ambiguous_is_told(run: Run, store: Store) -> None:
    with Store(store.path) as opened:
        first = digest("x")
        twin = type(first)(bytes(first[:31]) + bytes([first[31] ^ 1]))
        put(opened, "x", value=1, also_under=[twin])
    result = run("show", first.hex()[:40], expect=1)
    assert first.hex() in result.stderr
    assert twin.hex() in result.stderr
    assert run("show", "0" * 64, expect=1).stderr
    assert run("show", "parse", expect=2).stderr
    assert run("show", "", expect=2).stderr
    run("show", first.hex())
    run("show", first.hex()[:63], expect=1)
    run("show", digest(1).hex()[:9].upper())


# -- why --------------------------------------------------------------------------


def call(store: Store, name: str, *parts: Ingredient, **fields: Any) -> str:
    """Store a call of lab.fit with these ingredients; return its key."""
    with Store(store.path) as opened:
        put(opened, name, value=name, ingredients=parts, **{"function": "lab.fit", "text": f"lab.fit({name})"} | fields)
    return digest(name).hex()


def part(name: str, token: str, hasher: str = "value") -> Ingredient:
    return Ingredient(name, hasher, token.encode(), token)


def test_why_compares_with_the_nearest_call_before_it(run: Run, store: Store) -> None:
    now = time.time()
    call(store, "far", part("x", "7"), part("order", "9"), created=now - 5)
    near = call(store, "near", part("x", "1"), part("order", "2"), created=now - 9)
    key = call(store, "new", part("x", "1"), part("order", "3"), created=now - 3)
    call(store, "later", part("x", "1"), part("order", "3"), part("mask", "4"), created=now)
    (document,) = json.loads(run("why", key[:12], "--json").stdout)
    assert (document["key"], document["earlier"]["key"]) == (key, near)
    assert {part["name"]: (part["then"], part["now"], part["changed"]) for part in document["ingredients"]} == {
        "version": ("1", "1", False),
        "argument x": ("1", "1", False),
        "argument order": ("2", "3", True),
    }
    shown = run("why", key[:12].upper()).stdout.splitlines()
    assert shown[0] == "lab.fit(new)"
    assert "argument order\tvalue\t2\t3\tchanged" in shown
    assert "argument order: was 2, is 3" in shown


def test_why_of_a_function_is_about_its_newest_results(run: Run, store: Store) -> None:
    keys = [call(store, f"call{n}", part("x", str(n)), created=time.time() - n) for n in range(5)]
    assert [entry["key"] for entry in json.loads(run("why", "fit", "--limit", 2, "--json").stdout)] != []
    listed = json.loads(run("why", "lab.fit", "--limit", 5, "--json").stdout)
    assert [entry["key"] for entry in listed] == keys
    assert (listed[-1]["earlier"], listed[-1]["ingredients"][0]["then"]) == (None, None)
    assert "no earlier call" in run("why", keys[-1]).stdout
    assert json.loads(run("why", "lab.fit", "--json").stdout)[0]["key"] == keys[0]


def test_why_tells_what_became_of_the_files(run: Run, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "run7.dat"
    path.write_text("12345")
    os.utime(path, ns=(10**18, 10**18))
    state = FileState(str(path), "date", 5, 10**18, in_key=True)
    key = call(store, "x", part("filename", "7", "hash_by_file_date"), files=(state,))
    assert "as they were" in run("why", key).stdout
    path.write_text("123")
    os.utime(path, ns=(10**18, 10**18 + 5))
    assert f"since then: file {path} was 5 bytes" in run("why", key, expect=1).stdout
    path.unlink()
    (document,) = json.loads(run("why", key, "--json", expect=1).stdout)
    assert (document["counts"], document["changes"]) == (False, [f"file {path} is gone"])


def test_why_tells_what_became_of_the_files_of_calls_below(run: Run, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "run7.dat"

    def write(text: str, date: int) -> None:
        path.write_text(text)
        os.utime(path, ns=(date, date))

    @pure(version=1, name="lab.parse", hashers={"filename": hash_by_file_date})
    def parse(filename: Path) -> str:
        return filename.read_text()

    @pure(version=1, name="lab.count")
    def count(text: str) -> int:
        return len(text)

    def counted() -> None:
        cache = Cache(store.path)
        assert cache(count(parse(path))) == 5
        cache.close()

    write("12345", 10**18)
    counted()
    every_key = json.loads(run("ls", "--function", "lab.count", "--json").stdout)[0]["keys"]
    for named in ("lab.count", *every_key):
        assert "as they were" in run("why", named).stdout
    write("12345", 10**18 + 5)
    for named in ("lab.count", *every_key):
        assert f"since then: file {path} was 5 bytes" in run("why", named, expect=1).stdout
    # The content is the same, so that the result counts again, and is found under another key.
    counted()
    assert "as they were" in run("why", "lab.count").stdout


@pytest.mark.parametrize(
    "state",
    [
        FileState("/a\0b", "date", 5, 2**62),
        FileState("relative", "no such rule", -5, -(2**62)),
        FileState("/", "content", 5, 1, content=b"x"),
        FileState("lab.rate", "age", mtime_ns=-(2**62)),
        FileState("\0not hex", "result", 5, 1),
        FileState("/proc/self/mem", "content", 0, 0, young=True),
    ],
)
def test_why_survives_what_somebody_wrote_into_a_record(run: Run, store: Store, state: FileState) -> None:
    key = call(store, "x", files=(state,))
    assert "since then" in run("why", key, expect=1).stdout


def test_why_finds_functions_whose_names_look_like_keys(run: Run, store: Store) -> None:
    call(store, "x", function="lab.fade")
    assert json.loads(run("why", "fade", "--json").stdout)[0]["function"] == "lab.fade"
    for unknown in ("nonesuch", "0" * 64, ""):
        assert "lazycache stats" in run("why", unknown, expect=1).stderr


PROGRAM = """
from lazycache import cache, pure
def helper(x):
    return x + {added}
@pure
def step(x):
    return helper(x)
cache(step(1))
"""


def test_why_names_the_helper_that_was_edited(run: Run, store: Store, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    for added in (1, 2):
        program.write_text(PROGRAM.format(added=added))
        subprocess.run([sys.executable, program], env=environment(), check=True, capture_output=True)
    assert "code: __main__.helper was edited" in run("why", "step").stdout


# -- settings -------------------------------------------------------------------


def test_config_tells_each_setting_and_where_it_comes_from(
    run: Run, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.lazycache]\ndir = "never"\nmax_size = "5 GB"\nupstream = ["lab"]\n')
    monkeypatch.setenv("LAZYCACHE_UNUSED_FOR", "90d")
    monkeypatch.setenv("LAZYCACHE_SIGNING_KEY", "0123456789abcdef-secret")
    result = run("config", "--json")
    found = {entry["name"]: (entry["value"], entry["source"]) for entry in json.loads(result.stdout)}
    assert found == {
        "dir": (store.path, "LAZYCACHE_DIR"),
        "mode": ("rw", "default"),
        "max_size": (5_000_000_000, f"max_size in [tool.lazycache] of {project}"),
        "max_age": (None, "default"),
        "unused_for": (90 * DAY, "LAZYCACHE_UNUSED_FOR"),
        "upstream": ([str(tmp_path / "lab")], f"upstream in [tool.lazycache] of {project}"),
        "signatures": ("on", "default"),
        "signing_key": ("set", "LAZYCACHE_SIGNING_KEY"),
    }
    assert "secret" not in result.output
    assert "max_size\t5.0 GB\t" in run("config").stdout


def test_config_names_each_setting_that_means_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZYCACHE_MODE", "sometimes")
    monkeypatch.setenv("LAZYCACHE_MAX_AGE", "3 moons")
    result = run("config", "--json", expect=2)
    faults = {entry["name"]: entry["fault"] for entry in json.loads(result.stdout) if entry["fault"]}
    assert faults.keys() == {"mode", "max_age"}
    assert "one of rw, ro, refresh, off" in result.stderr
    assert "90d" in result.stderr


def test_a_misspelt_setting_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.lazycache]\nmaxsize = "5GB"\n')
    result = run("gc")
    assert "'maxsize'" in result.stderr
    assert "max_size" in result.stderr


# -- upkeep ---------------------------------------------------------------------


def test_pinned_entries_survive_gc_until_they_are_unpinned(run: Run, store: Store) -> None:
    run("pin", digest("call", 3).hex()[:12], digest(4).hex()[:12])
    run("gc", "--all", "--yes")
    assert present(store, (3,), ("call", 3), (4,), (5,)) == [True, True, True, False]
    run("unpin", digest(3).hex()[:12])
    run("gc", "--all", "--yes")
    assert present(store, (3,), ("call", 3), (4,)) == [False, False, True]


def test_a_mistyped_key_changes_nothing(run: Run, store: Store) -> None:
    run("forget", digest(1).hex(), "0" * 20, expect=1)
    assert count(store) == 11


def test_forget_drops_all_keys_of_a_result(run: Run, store: Store) -> None:
    run("forget", digest(3).hex()[:10])
    assert present(store, (3,), ("call", 3), (4,)) == [False, False, True]


def test_many_keys_are_pinned_and_forgotten_together(run: Run, store: Store) -> None:
    keys = run("ls", "-q").stdout.split()
    run("pin", *keys)
    assert run("ls").stdout.count(" pinned\n") == 10
    run("unpin", *keys)
    assert " pinned" not in run("ls").stdout
    assert len(run("forget", *keys).stdout.splitlines()) == 10
    assert count(store) == 0


def test_verify_finds_and_mends(run: Run, store: Store) -> None:
    assert run("verify").stdout == ""
    data = next(path for path in Path(store.path, "objects").rglob("0"))
    data.unlink()
    result = run("verify", expect=1)
    assert "damaged-object" in result.stdout
    assert "--repair" in result.stderr
    assert count(store) == 11
    document = json.loads(run("verify", "--repair", "--json").stdout)
    assert {(entry["kind"], entry["mended"]) for entry in document} == {("damaged-object", True)}
    assert run("verify").stdout == ""
    assert count(store) < 11


# -- places that are none ---------------------------------------------------------


@pytest.mark.parametrize("command", ["gc", "ls", "stats", "verify"])
def test_json_is_json_where_there_is_no_store_yet(
    run: Run, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    full = json.loads(run(command, "--json").stdout)
    monkeypatch.setenv("LAZYCACHE_DIR", str(tmp_path / "later"))
    empty = json.loads(run(command, "--json").stdout)
    assert type(empty) is type(full)
    if isinstance(full, dict):
        assert (empty.keys(), empty["store"]) == (full.keys(), str(tmp_path / "later"))


def test_a_place_that_is_a_file_is_no_empty_store(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LAZYCACHE_DIR", str(tmp_path / "file"))
    assert "is a file" in run("ls", expect=1).stderr


def test_a_broken_index_is_told_with_what_mends_it(run: Run, store: Store) -> None:
    Path(store.path, "index", "cache.db").write_bytes(b"no database" * 1000)
    for command in ("ls", "stats", "why parse", "gc --all --yes"):
        assert "lazycache verify --repair" in run(*command.split(), expect=1).stderr, command
    run("verify", "--repair")
    assert "no results" in run("ls").stderr


OTHER_USER = """
import sys, os
from lazycache.cli import commands
import lazycache_storage.check, lazycache_storage.removing, lazycache.cli.why, lazycache.caching, diskcache, filelock
from lazycache.caching import comparing, filechanges
if os.getuid() == 0:
    os.setgroups([])
    os.setuid(65534)
for words in ("ls", "stats --json", "why parse", "pin 0", "gc --all --yes", "gc --all --dry-run"):
    try:
        commands.lazycache([*words.split(), "--store", sys.argv[1]], prog_name="lazycache")
    except SystemExit as end:
        print("ended", words.split()[0], end.code)
"""


def test_a_store_of_somebody_else_is_read_and_never_changed(store: Store) -> None:
    # Not below tmp_path, which no other user may enter.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        there = Path(folder) / "store"
        shutil.copytree(store.path, there)
        for path in (Path(folder), there, *there.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        command = [sys.executable, "-c", OTHER_USER, str(there)]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
        for path in (there, *there.rglob("*")):
            path.chmod(0o700)
    ended = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("ended")]
    expected = [["ls", "0"], ["stats", "0"], ["why", "0"], ["pin", "1"], ["gc", "1"], ["gc", "0"]]
    assert ended == expected, done.stderr
    assert done.stderr.count(f"the store {there} may not be written") == 2


@pytest.mark.parametrize("command", ["gc", "ls", "stats", "verify"])
def test_a_store_that_was_not_made_yet_is_no_fault_and_is_not_made(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("LAZYCACHE_DIR", str(tmp_path / "later"))
    assert "no store" in run(command).stderr
    assert not (tmp_path / "later").exists()
    assert run(command, "--store", tmp_path / "mistyped", expect=2).stderr
    assert not (tmp_path / "mistyped").exists()


@pytest.mark.parametrize("command", ["show", "show --json", "forget", "pin", "unpin"])
def test_no_key_is_in_a_store_that_was_not_made_yet(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("LAZYCACHE_DIR", str(tmp_path / "later"))
    assert "no store" in run(*command.split(), "abc", expect=1).stderr
    assert not (tmp_path / "later").exists()


def test_keys_alone_or_a_document(run: Run, store: Store) -> None:
    assert "choose one" in run("ls", "--quiet", "--json", expect=2).stderr
    assert len(run("ls", "--quiet").stdout.split()) == len(json.loads(run("ls", "--json").stdout))


def test_a_store_of_another_format_is_told_in_one_line(run: Run, store: Store) -> None:
    Path(store.path, "format.json").write_text('{"format": 99}')
    result = run("ls", expect=1)
    assert "format 99" in result.stderr
    assert "Traceback" not in result.output


def test_the_users_code_is_not_imported(store: Store, tmp_path: Path) -> None:
    (tmp_path / "nowhere.py").write_text("raise SystemExit('imported')")
    env = environment() | {"LAZYCACHE_DIR": store.path}
    env["PYTHONPATH"] += f"{os.pathsep}{tmp_path}"
    for words in (["ls"], ["stats"], ["show", digest(1).hex()], ["gc", "--stale-code", "--dry-run"], ["verify"]):
        command = [sys.executable, "-c", "from lazycache.cli import main; main()", *words]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr


def test_a_reader_that_goes_away_is_no_traceback(store: Store) -> None:
    code = "from lazycache.cli import main; main()"
    line = f'"{sys.executable}" -c "{code}" ls --store "{store.path}" | head -c 10'
    done = subprocess.run(line, shell=True, env=environment(), capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["ls", "stats", "verify", "config"])
def test_without_a_standard_output_there_is_no_traceback(store: Store, command: str) -> None:
    code = "from lazycache.cli import main; main()"
    line = f'"{sys.executable}" -c "{code}" {command} >&-'
    env = environment() | {"LAZYCACHE_DIR": store.path}
    done = subprocess.run(line, shell=True, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_help_names_every_option_of_the_design(run: Run) -> None:
    text = run("gc", "--help").stdout
    options = "max-size max-age unused-for function stale-code missing-inputs orphans all dry-run yes json store"
    assert [option for option in options.split() if f"--{option}" not in text] == []
    assert set(lazycache.commands) == {
        "config",
        "forget",
        "gc",
        "ls",
        "path",
        "pin",
        "show",
        "stats",
        "unpin",
        "verify",
        "why",
    }
