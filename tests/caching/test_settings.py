"""Where the default store is, and how it behaves: the block, the environment, the project, the user's folder."""

import math
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

from lazycache import Cache, cache, computed, settings
from lazycache.caching import default_cache
from lazycache.errors import CacheFaultWarning, SettingError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project folder; the working folder is two levels below it, and the environment says nothing."""
    monkeypatch.delenv("LAZYCACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    below = tmp_path / "project" / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return tmp_path / "project"


def test_the_users_folder_is_the_last_resort_and_lasts(project: Path, tmp_path: Path) -> None:
    assert cache(computed(20) + 1) == 21
    assert Path(default_cache().path) == tmp_path / "user" / "lazycache"
    assert computed(20) + 1 in Cache(tmp_path / "user" / "lazycache")


def test_a_project_file_upwards_sets_place_and_mode(project: Path, tmp_path: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.lazycache]\ndir = "kept/here"\nmode = "refresh"\n')
    (project / "a" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert cache(computed(20) + 2) == 22
    assert (Path(default_cache().path), default_cache().mode) == (project / "kept" / "here", "refresh")
    assert not (tmp_path / "user").exists()


def test_the_environment_goes_before_the_project_and_a_block_before_both(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text('[tool.lazycache]\ndir = "kept"\nmode = "off"\n')
    monkeypatch.setenv("LAZYCACHE_DIR", str(tmp_path / "environment"))
    monkeypatch.setenv("LAZYCACHE_MODE", "rw")
    assert (Path(default_cache().path), default_cache().mode) == (tmp_path / "environment", "rw")
    with Cache(tmp_path / "outer") as outer:
        with Cache(tmp_path / "inner") as inner:
            assert default_cache() is inner
        assert default_cache() is outer
        cache(computed(20) + 3)
        assert computed(20) + 3 in outer
    assert Path(default_cache().path) == tmp_path / "environment"


def test_a_project_file_that_is_no_toml_is_left_out_with_a_warning(project: Path, tmp_path: Path) -> None:
    (project / "a" / "pyproject.toml").write_text("[tool.lazycache\n")
    with pytest.warns(CacheFaultWarning, match="not valid TOML"):
        assert cache(computed(20) + 4) == 24


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[tool.lazycache]\nmaxsize = "5GB"\n', "'maxsize', which is left out; known are dir, mode, max_size"),
        ('[tool]\nlazycache = "dir"\n', "is no table"),
    ],
)
def test_a_project_file_with_what_nobody_knows_is_told_once(project: Path, text: str, told: str) -> None:
    (project / "pyproject.toml").write_text(text)
    with pytest.warns(CacheFaultWarning, match=told):
        assert cache(computed(20) + 7) == 27
    assert cache(computed(20) + 8) == 28


def test_a_folder_that_is_none_names_the_setting(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.lazycache]\ndir = 5\n")
    with pytest.raises(SettingError, match=r"dir in \[tool\.lazycache\] of .*pyproject\.toml is 5, expected a folder"):
        cache(computed(20) + 9)


READER = """
import os, sys, warnings
from lazycache import Cache, cache, computed
cache(computed(1) + 1)
os.environ["LAZYCACHE_DIR"] = ""
os.environ["XDG_CACHE_HOME"] = sys.argv[1] + "/user"
if os.getuid() == 0:
    os.setgroups([])
    os.setuid(65534)
os.chdir(sys.argv[1])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(cache(computed(20) + 1), len(caught), "cannot be read" in str(caught[0].message))
"""


def test_a_project_file_that_may_not_be_read_is_left_out_with_a_warning() -> None:
    # Not below tmp_path, which no other user may enter.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder)
        path.chmod(0o777)
        (path / "pyproject.toml").write_text('[tool.lazycache]\nmode = "sometimes"\n')
        (path / "pyproject.toml").chmod(0)
        command = [sys.executable, "-c", READER, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["21", "1", "True"], done.stderr


def test_a_mode_that_means_nothing_names_the_file(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.lazycache]\nmode = "sometimes"\n')
    with pytest.raises(SettingError, match=r"pyproject\.toml is 'sometimes', expected one of rw, ro, refresh, off"):
        cache(computed(20) + 5)


@pytest.mark.parametrize("place", ["environment", "user"])
def test_a_working_folder_that_was_removed_stops_nobody(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place == "environment":
        monkeypatch.setenv("LAZYCACHE_DIR", str(tmp_path / "environment"))
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache(computed(20) + 6) == 26
    assert computed(20) + 6 in Cache(tmp_path / ("environment" if place == "environment" else "user/lazycache"))


def test_one_log_line_says_where_a_new_store_is_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    node = computed(1) + 1
    with caplog.at_level("INFO", logger="lazycache"):
        for _ in range(2):
            Cache(tmp_path / "a new place")(node)
    assert [str(tmp_path / "a new place") in message for message in caplog.messages].count(True) == 1


def test_numbers_beyond_any_float() -> None:
    assert settings.age(10**400) == math.inf
    for refuse in (lambda: settings.size(10**400), lambda: settings.size("9" * 400), lambda: settings.age(-(10**400))):
        with pytest.raises(SettingError):
            refuse()
