"""What of an argument goes into the key, and what the function gets."""

import os
import threading
import time
from collections import OrderedDict, namedtuple
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

from lazycache import UnhashableError
from lazycache.files import (
    HashedArgument,
    hash_argument,
    hash_by_file_content,
    hash_by_file_date,
    hash_by_file_stat,
    hash_directory,
    ignore,
    unchanged,
    unordered,
    whole,
)

DATE = 1_423_854_001 * 1_000_000_000 + 999_999_931
BY_PATH = [hash_by_file_date, hash_by_file_stat]
OF_FILES = [*BY_PATH, hash_by_file_content]

Pair = namedtuple("Pair", "first second")


def make(folder: Path, name: str, content: str = "1 2 3") -> str:
    path = os.path.realpath(folder / name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(content)
    os.utime(path, ns=(DATE, DATE))
    return path


@pytest.fixture
def data(tmp_path: Path) -> str:
    return make(tmp_path, "foo.dat")


def test_the_argument_becomes_the_real_path(tmp_path: Path, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink("foo.dat", "link.dat")
    os.mkdir("sub")
    for spelled in ("foo.dat", "./foo.dat", "sub/../foo.dat", "link.dat"):
        hashed = hash_by_file_date(spelled)
        assert hashed.value == os.path.realpath(os.path.abspath(spelled)) == data
        assert hashed.token == hash_by_file_date(data).token


@pytest.mark.parametrize("hasher", [*OF_FILES, hash_by_file_date.relative_to("/")])
def test_each_class_of_path_has_a_token_of_its_own(data: str, hasher: Any) -> None:
    kinds: list[Any] = [str, Path, PurePosixPath, os.fsencode]
    tokens = {hasher(kind(data)).token for kind in kinds}
    assert len(tokens) == len(kinds)
    assert hasher(Path(data)).token == hasher(Path(data)).token


@pytest.mark.parametrize("kind", [str, Path, PurePosixPath, os.fsencode])
def test_a_path_keeps_its_class(data: str, kind: Any) -> None:
    hashed = hash_by_file_date(kind(data))
    assert hashed.value == kind(data)
    assert type(hashed.value) is type(kind(data))


def test_the_text_shows_the_path_and_the_date(data: str) -> None:
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(1_423_854_001))
    assert hash_by_file_date(data).text == f'<file "{data}" modified {date}>'


@pytest.mark.parametrize("hasher", BY_PATH)
def test_dates_that_differ_by_a_hundred_nanoseconds_have_other_tokens(data: str, hasher: Any) -> None:
    before = hasher(data).token
    os.utime(data, ns=(DATE, DATE + 100))
    assert hasher(data).token != before


def test_the_size_counts_where_the_date_is_kept(data: str) -> None:
    before = hash_by_file_date(data).token
    make(Path(data).parent, "foo.dat", "1 2 3 4")
    assert hash_by_file_date(data).token != before


def test_two_files_with_swapped_names_have_other_tokens(tmp_path: Path, data: str) -> None:
    other = make(tmp_path, "bar.dat", "3 2 1")
    before = hash_by_file_stat(data).token, hash_by_file_content(data).token
    os.rename(data, tmp_path / "aside")
    os.rename(other, data)
    assert hash_by_file_stat(data).token != before[0]
    assert hash_by_file_content(data).token != before[1]


def test_the_path_counts_except_by_content(tmp_path: Path, data: str) -> None:
    twin = make(tmp_path, "twin.dat")
    assert hash_by_file_date(data).token != hash_by_file_date(twin).token
    assert hash_by_file_content(data).token == hash_by_file_content(twin).token
    assert hash_by_file_content(twin).value == twin


def test_rules_have_tokens_of_their_own(data: str) -> None:
    tokens = {hasher(data).token for hasher in OF_FILES} | {hash_by_file_date.relative_to("/")(data).token}
    assert len(tokens) == 4


def test_a_data_folder_moves_with_relative_to(tmp_path: Path) -> None:
    here = make(tmp_path, "here/runs/7.dat")
    there = make(tmp_path, "there/runs/7.dat")
    by_here = hash_by_file_date.relative_to(tmp_path / "here")
    by_there = hash_by_file_date.relative_to(str(tmp_path / "there"))
    assert by_here(here).token == by_there(there).token
    assert by_there(there).value == there
    with pytest.raises(ValueError, match="is not below"):
        by_here(there)


@pytest.mark.parametrize("hasher", [*OF_FILES, hash_directory, hash_directory.by_content])
def test_what_is_missing_is_an_error_with_its_path(tmp_path: Path, hasher: Any) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        hasher(tmp_path / "missing")
    assert caught.value.filename == os.path.realpath(tmp_path / "missing")


@pytest.mark.parametrize("hasher", OF_FILES)
def test_a_folder_and_a_pipe_are_no_files(tmp_path: Path, hasher: Any) -> None:
    with pytest.raises(IsADirectoryError, match="hash_directory"):
        hasher(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="regular file"):
        hasher(tmp_path / "pipe")


@pytest.mark.parametrize("value", [3, 2.5, {"a"}, np.zeros(2), b"".join])
def test_what_is_no_path_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="hash_by_file_date takes a path"):
        hash_argument(hash_by_file_date, value)


def test_a_link_is_watched_beside_its_target(tmp_path: Path, data: str) -> None:
    link = tmp_path / "link.dat"
    link.symlink_to(data)
    states = hash_by_file_date(link).files
    assert all(map(unchanged, states))
    link.unlink()
    link.symlink_to(make(tmp_path, "other.dat"))
    assert not all(map(unchanged, states))


# -- containers ---------------------------------------------------------------


def test_hashers_run_through_lists_tuples_dicts_and_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    a, b = make(tmp_path, "a"), make(tmp_path, "b")
    given = {"runs": ["a", None], "pair": Pair("a", "b"), "deep": ({"x": "b"},)}
    hashed = hash_argument(hash_by_file_date, given)
    assert hashed.value == {"runs": [a, None], "pair": Pair(a, b), "deep": ({"x": b},)}
    assert type(hashed.value["pair"]) is Pair
    assert [state.path for state in hashed.files] == [a, a, b, b]
    assert given["runs"] == ["a", None]
    os.utime(b, ns=(DATE, DATE + 1))
    assert hash_argument(hash_by_file_date, given).token != hashed.token


def test_containers_of_one_file_differ_from_each_other_and_from_the_file(data: str) -> None:
    nests: list[Any] = [
        data,
        [data],
        (data,),
        [[data]],
        {"a": data},
        {"b": data},
        [data, data],
        [data, None],
        [],
        (),
        {},
    ]
    tokens = {hash_argument(hash_by_file_date, nest).token for nest in nests}
    assert len(tokens) == len(nests)


def test_the_order_of_files_counts(tmp_path: Path) -> None:
    a, b = make(tmp_path, "a"), make(tmp_path, "b")
    assert hash_argument(hash_by_file_date, [a, b]).token != hash_argument(hash_by_file_date, [b, a]).token


def test_none_stays_none() -> None:
    assert hash_argument(hash_by_file_date, None).value is None


def test_subclasses_of_dict_are_kept(data: str) -> None:
    hashed = hash_argument(hash_by_file_date, OrderedDict(a=data))
    assert type(hashed.value) is OrderedDict
    assert hashed.token != hash_argument(hash_by_file_date, {"a": data}).token


# -- folders --------------------------------------------------------------------


def test_every_kind_of_change_in_a_folder_counts(tmp_path: Path) -> None:
    root = tmp_path / "data"
    make(root, "a/one")
    make(root, "a/b/two")
    tokens = {hash_directory(root).token}
    make(root, "a/three")
    tokens.add(hash_directory(root).token)
    os.rename(root / "a/three", root / "a/four")
    tokens.add(hash_directory(root).token)
    os.utime(root / "a/b/two", ns=(DATE, DATE + 1))
    tokens.add(hash_directory(root).token)
    os.mkdir(root / "empty")
    tokens.add(hash_directory(root).token)
    os.symlink("nowhere", root / "dangling")
    tokens.add(hash_directory(root).token)
    os.unlink(root / "a/one")
    tokens.add(hash_directory(root).token)
    assert len(tokens) == 7


def test_a_folder_is_watched(tmp_path: Path) -> None:
    root = tmp_path / "data"
    make(root, "one")
    hashed = hash_directory(root)
    assert hashed.value == Path(os.path.realpath(root))
    assert all(map(unchanged, hashed.files))
    make(root, "shadow")
    assert not all(map(unchanged, hashed.files))


def test_a_young_file_in_a_folder_has_a_state_of_its_own(tmp_path: Path) -> None:
    make(tmp_path, "old")
    (tmp_path / "new").write_text("1")
    marks = {os.path.basename(state.path): state.young for state in hash_directory(tmp_path).files}
    assert marks.pop("new") is True
    assert not any(marks.values())
    assert "old" not in marks


def test_links_to_folders_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    root = tmp_path / "data"
    elsewhere = make(tmp_path, "elsewhere/file")
    make(root, "one")
    os.symlink(tmp_path / "elsewhere", root / "linked")
    os.symlink(root, root / "again")
    before = hash_directory(root).token
    assert hash_directory(root).token == before
    os.utime(elsewhere, ns=(DATE, DATE + 1))
    assert hash_directory(root).token != before


def test_a_folder_by_content_may_be_copied(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    make(here, "a/one", "1")
    one = make(there, "a/one", "1")
    os.utime(one, ns=(0, 0))
    rule = hash_directory.by_content
    hashed = rule(here)
    assert hashed.token == rule(there).token
    assert hash_directory(here).token != hash_directory(there).token
    os.utime(here / "a/one", ns=(DATE, DATE + 1))
    assert all(map(unchanged, hashed.files))
    make(here, "a/one", "2")
    assert rule(here).token != rule(there).token
    assert not all(map(unchanged, hashed.files))


def test_a_file_is_no_folder(data: str) -> None:
    for hasher in (hash_directory, hash_directory.by_content):
        with pytest.raises(NotADirectoryError, match="folder was expected"):
            hasher(data)


# -- values -----------------------------------------------------------------------


def test_ignored_values_share_one_token() -> None:
    lock = threading.Lock()
    hashed = hash_argument(ignore, [lock, None])
    assert hashed.value == [lock, None]
    assert hashed.token == hash_argument(ignore, None).token == hash_argument(ignore, 3).token


def test_the_order_of_dicts_does_not_count_at_any_depth() -> None:
    one = {"a": {"x": 1, "y": 2}, "b": [{"p": 1, "q": 2}]}
    other = {"b": [{"q": 2, "p": 1}], "a": {"y": 2, "x": 1}}
    assert unordered(one).token == unordered(other).token
    assert unordered({"a": 1}).token != unordered({"a": True}).token
    assert unordered({"a": 1, "b": 2}).token != unordered({"a": 2, "b": 1}).token


def test_the_order_of_the_outermost_list_does_not_count_but_repetition_does() -> None:
    assert unordered([3, 1, 1]).token == unordered([1, 3, 1]).token
    assert unordered([3, 1, 1]).token != unordered([3, 3, 1]).token
    assert unordered([1, 2]).token != unordered((1, 2)).token
    assert unordered({"range": [0, 10]}).token != unordered({"range": [10, 0]}).token


def test_unordered_keeps_a_copy_that_the_caller_cannot_change() -> None:
    given = {"a": [1]}
    hashed = unordered(given)
    given["a"].append(2)
    assert hashed.value == {"a": [1]}


def test_unordered_says_where_the_offender_is() -> None:
    with pytest.raises(UnhashableError, match=r"value\['log'\]"):
        unordered({"log": threading.Lock()})


def test_any_callable_is_a_hasher() -> None:
    class Session:
        def __init__(self, url: str) -> None:
            self.url = url
            self.lock = threading.Lock()

    def url(session: Session) -> str:
        return session.url

    session = Session("db://a")
    hashed = hash_argument(url, [session, None])
    assert hashed.value[0] is session
    assert hashed.token == hash_argument(url, [Session("db://a"), None]).token
    assert hashed.token != hash_argument(url, [Session("db://b"), None]).token


def test_whole_gives_a_callable_the_container() -> None:
    assert hash_argument(whole(len), [1, 2]).token == hash_argument(whole(len), [3, 4]).token
    assert hash_argument(whole(len), [1, 2]).token != hash_argument(whole(len), [3]).token
    assert hash_argument(len, ["ab"]).token != hash_argument(len, ["a", "b"]).token


def test_a_callable_may_use_a_hasher_of_ours(data: str) -> None:
    def named(run: dict[str, Any]) -> HashedArgument:
        return hash_by_file_date(run["path"])

    assert hash_argument(whole(named), {"path": data}).files == hash_by_file_date(data).files


def test_a_hasher_that_returns_what_has_no_digest_is_named() -> None:
    with pytest.raises(UnhashableError, match=r"what .* returned"):
        hash_argument(lambda value: threading.Lock(), 3)
