"""Hashers apply however an argument comes, also when it must be evaluated first."""

import functools
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache import Cache, InputChangedError, compute, computed, hash_by_file_date, ignore, key, pure, unordered
from tests.conftest import Witness

DATE = 1_423_854_001 * 1_000_000_000


def make(folder: Path, name: str, content: str = "1 2 3") -> str:
    path = os.path.realpath(folder / name)
    Path(path).write_text(content)
    os.utime(path, ns=(DATE, DATE))
    return path


def parse_any(filename: Any = "foo.dat", *others: Any, **named: Any) -> Any:
    return filename, others, named


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return make(tmp_path, "foo.dat")


def test_a_hasher_applies_by_position_by_keyword_and_by_default(data: str) -> None:
    parse = pure(version=1, hashers={"filename": hash_by_file_date})(parse_any)
    calls: list[Any] = [
        parse,
        lambda: parse("foo.dat"),
        lambda: parse(filename="./foo.dat"),
        lambda: parse(data),
        functools.partial(parse, "foo.dat"),
        functools.partial(parse, filename="foo.dat"),
        lambda: parse(computed("foo.dat")),
        lambda: parse(filename=computed("foo.dat")),
    ]
    keys = {key(call()) for call in calls}
    assert len(keys) == 1
    assert all(compute(call()) == (data, (), {}) for call in calls)
    os.utime(data, ns=(DATE, DATE + 1))
    assert {key(call()) for call in calls}.isdisjoint(keys)


def test_a_path_is_another_argument_than_its_text(data: str) -> None:
    parse = pure(version=1, hashers={"filename": hash_by_file_date})(parse_any)
    assert compute(parse(Path("foo.dat")))[0] == Path(data)
    assert isinstance(compute(parse(Path("foo.dat")))[0], Path)
    assert key(parse(Path("foo.dat"))) == key(parse(Path(data))) != key(parse(data))


def test_a_hasher_applies_to_star_arguments(tmp_path: Path, data: str) -> None:
    other = make(tmp_path, "bar.dat")
    parse = pure(version=1, hashers={"others": hash_by_file_date, "named": hash_by_file_date})(parse_any)
    node = parse("x", "foo.dat", [None, "bar.dat"], z="bar.dat")
    before = key(node)
    assert compute(node) == ("x", (data, [None, other]), {"z": other})
    os.utime(other, ns=(DATE, DATE + 1))
    assert key(parse("x", "foo.dat", [None, "bar.dat"], z="bar.dat")) != before


def test_a_hasher_applies_within_a_partial(data: str) -> None:
    parse = pure(version=1, hashers={"filename": hash_by_file_date})(functools.partial(parse_any, filename="foo.dat"))
    before = key(parse())
    assert compute(parse())[0] == data
    os.utime(data, ns=(DATE, DATE + 1))
    assert key(parse()) != before


def test_none_stays_none(data: str) -> None:
    parse = pure(version=1, hashers={"filename": hash_by_file_date})(parse_any)
    assert compute(parse(None)) == (None, (), {})
    assert key(parse(None)) != key(parse(data))


def test_a_missing_file_names_function_and_argument(tmp_path: Path) -> None:
    @pure(version=1, hashers={"filename": hash_by_file_date})
    def parse(filename: str) -> str:
        return filename

    missing = str(tmp_path / "missing.dat")
    with pytest.raises(FileNotFoundError, match=r"argument 'filename' of .*parse: '.*missing.dat'") as caught:
        parse([missing])
    assert caught.value.filename == os.path.realpath(missing)
    with pytest.raises(TypeError, match="takes a path") as other:
        parse(3)
    assert any("argument 'filename' of" in note for note in other.value.__notes__)


def test_an_error_class_of_the_users_own_passes_unchanged() -> None:
    class ServerError(OSError):
        def __init__(self, *, code: int) -> None:
            super().__init__(5, "server")
            self.code = code

    def ask(url: str) -> str:
        raise ServerError(code=503)

    @pure(version=1, hashers={"url": ask})
    def body(url: str) -> str:
        return url

    with pytest.raises(ServerError) as caught:
        body("x")
    assert caught.value.code == 503
    assert any("argument 'url'" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("options", [{"ignore": ("verbose",)}, {"ignore": "verbose"}, {"hashers": {"verbose": ignore}}])
def test_an_ignored_argument_does_not_count_and_arrives_as_it_is(options: dict[str, Any]) -> None:
    seen: list[Any] = []

    @pure(version=1, **options)
    def body(x: int, verbose: Any = False) -> int:
        seen.append(verbose)
        return x

    lock, out = threading.Lock(), np.zeros(2)
    nodes = [body(1), body(1, True), body(1, verbose=lock), body(verbose=out, x=1)]
    assert len({key(node) for node in nodes}) == 1
    assert [compute(node) for node in nodes] == [1] * 4
    assert seen[:2] == [False, True]
    assert seen[2] is lock
    assert seen[3] is out


def test_the_result_of_a_callable_is_hashed_in_the_place_of_the_argument() -> None:
    @pure(version=1, hashers={"table": lambda table: table["id"]})
    def body(table: Any) -> Any:
        return table["rows"]

    def table(identity: int) -> Any:
        # Not a dict, through which a hasher would run.
        return type("Table", (), {"__getitem__": lambda self, name: {"id": identity, "rows": threading}[name]})()

    assert key(body(table(1))) == key(body(table(1))) != key(body(table(2)))
    assert compute(body(table(1))) is threading


def test_an_array_with_a_callable_for_a_hasher_cannot_be_spoiled() -> None:
    @pure(version=1, hashers={"a": len})
    def spoil(a: Any) -> None:
        a[0] = 1

    array = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        compute(spoil(array))


def test_unordered_arguments_have_one_key() -> None:
    @pure(version=1, hashers={"options": unordered})
    def body(options: dict[str, int]) -> int:
        return sum(options.values())

    assert key(body({"a": 1, "b": 2})) == key(body({"b": 2, "a": 1}))


# -- arguments that are expressions ---------------------------------------------------


def test_a_hasher_waits_for_an_argument_that_is_an_expression(data: str, cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def download(url: str) -> str:
        return url

    @pure(version=1, hashers={"filename": hash_by_file_date})
    def parse(filename: str) -> tuple[str, str]:
        witness("parse")
        return filename, Path(filename).read_text()

    assert compute(parse(download("foo.dat"))) == (data, "1 2 3")
    assert witness.news()["parse"] == 1
    assert cache(parse(download("foo.dat"))) == (data, "1 2 3")
    assert cache(parse(download("foo.dat"))) == (data, "1 2 3")
    assert witness.news()["parse"] == 1
    make(Path(data).parent, "foo.dat", "4 5 6 7")
    assert cache(parse(download("foo.dat")))[1] == "4 5 6 7"
    assert witness.news()["parse"] == 1


def test_a_hasher_waits_for_an_expression_in_a_list(tmp_path: Path, data: str) -> None:
    parse = pure(version=1, hashers={"filename": hash_by_file_date})(parse_any)
    node = parse([computed("foo.dat"), None, "foo.dat"])
    assert compute(node)[0] == [data, None, data]
    with pytest.raises(FileNotFoundError, match="argument 'filename'"):
        compute(parse([computed("missing.dat")]))


def test_a_file_that_changes_after_the_call_is_an_error(data: str, cache: Cache) -> None:
    parse = pure(version=1, hashers={"filename": hash_by_file_date})(parse_any)
    node = parse("foo.dat")
    os.utime(data, ns=(DATE, DATE + 1))
    with pytest.raises(InputChangedError, match=r"foo.dat.*parse_any"):
        cache(node)
    assert cache(parse("foo.dat"))[0] == data


def test_a_parsed_file_is_shown_as_a_file(data: str) -> None:
    @pure(version=1, hashers={"filename": hash_by_file_date})
    def parse(filename: str) -> str:
        return filename

    assert f'<file "{data}" modified 2015-02-' in repr(parse("foo.dat"))
