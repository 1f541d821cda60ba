"""File inputs: never a stale result while size and date tell the truth."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from lazycache import (
    Cache,
    InputChangedError,
    compute,
    computed,
    hash_by_file_content,
    hash_by_file_date,
    hash_by_file_stat,
    pure,
)
from tests.conftest import Witness

OLD = 10**18
GRANULARITIES = {"10 ms": 10**7, "1 s": 10**9, "2 s": 2 * 10**9}


@pytest.fixture
def read(witness: Witness) -> Any:
    """Return a pure function that reads a file."""

    @pure(version=1, name="read", hashers={"filename": hash_by_file_date})
    def read(filename: str) -> str:
        witness("read")
        return Path(filename).read_text()

    return read


def write(path: Path, text: str, date: int = OLD) -> str:
    """Write a file with a date; return its path as text."""
    path.write_text(text)
    os.utime(path, ns=(date, date))
    return str(path)


def test_an_unchanged_file_hits_and_a_changed_one_misses(
    tmp_path: Path, cache: Cache, read: Any, witness: Witness
) -> None:
    path = write(tmp_path / "f", "one")
    assert cache(read(path)) == cache(read(path)) == "one"
    assert witness.news() == {"read": 1}
    write(tmp_path / "f", "two", OLD + 100)
    assert cache(read(path)) == "two"
    assert witness.news() == {"read": 1}
    write(tmp_path / "f", "one", OLD)
    assert cache(read(path)) == "one"
    assert witness.news() == {}


@pytest.mark.parametrize("granularity", GRANULARITIES.values(), ids=list(GRANULARITIES))
def test_a_rewrite_that_keeps_size_and_date_of_a_young_file_is_noticed(
    tmp_path: Path, read: Any, witness: Witness, granularity: int
) -> None:
    now = time.time_ns() // granularity * granularity
    path = write(tmp_path / "f", "one", now)
    assert Cache(tmp_path / "store")(read(path)) == "one"
    write(tmp_path / "f", "two", now)
    assert Cache(tmp_path / "store")(read(path)) == "two"
    assert Cache(tmp_path / "store")(read(path)) == "two"
    assert witness.ran == {"read": 2}


def test_a_young_file_that_stays_hits(tmp_path: Path, read: Any, witness: Witness) -> None:
    path = tmp_path / "f"
    path.write_text("one")
    for _ in range(3):
        assert Cache(tmp_path / "store")(read(str(path))) == "one"
    assert witness.ran == {"read": 1}


def test_a_young_file_under_an_operator_is_compared_too(tmp_path: Path, read: Any, witness: Witness) -> None:
    now = time.time_ns() // 10**9 * 10**9
    path = write(tmp_path / "f", "one", now)
    assert Cache(tmp_path / "store")(read(path) + "!") == "one!"
    write(tmp_path / "f", "two", now)
    assert Cache(tmp_path / "store")(read(path) + "!") == "two!"


def test_a_file_that_changed_since_the_expression_was_built_is_an_error(
    tmp_path: Path, cache: Cache, read: Any
) -> None:
    path = write(tmp_path / "f", "one")
    node = read(path) + "!"
    assert cache(node) == "one!"
    write(tmp_path / "f", "two", OLD + 5)
    with pytest.raises(InputChangedError, match="build the expression again") as caught:
        cache(node)
    assert caught.value.path == path


def test_a_file_that_changes_while_it_is_read_stores_nothing(tmp_path: Path, cache: Cache, witness: Witness) -> None:
    @pure(version=1, hashers={"filename": hash_by_file_date})
    def read(filename: str) -> str:
        witness("read")
        text = Path(filename).read_text()
        write(Path(filename), text + text, OLD + 7)
        return text

    path = write(tmp_path / "f", "one")
    with pytest.raises(InputChangedError):
        cache(read(path))
    assert read(path) not in cache


def test_a_missing_file_names_function_and_argument(tmp_path: Path, read: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"filename.*read"):
        read(str(tmp_path / "none"))


def test_files_of_nested_calls_belong_to_the_outer_result(
    tmp_path: Path, cache: Cache, read: Any, witness: Witness
) -> None:
    path = write(tmp_path / "f", "one")

    @pure(version=1)
    def outer(n: int) -> str:
        witness("outer")
        return str(read(path)) * n

    assert cache(outer(2)) == cache(outer(2)) == "oneone"
    assert witness.news() == {"outer": 1, "read": 1}
    write(tmp_path / "f", "two", OLD + 9)
    assert cache(outer(2)) == "twotwo"
    assert cache(outer(2) + "!") == "twotwo!"
    assert witness.news() == {"outer": 1, "read": 1}


def test_what_others_made_of_a_changed_file_is_found_at_once(
    tmp_path: Path, cache: Cache, read: Any, witness: Witness
) -> None:
    path = write(tmp_path / "f", "one")

    @pure(version=1)
    def outer(n: int) -> str:
        witness("outer")
        return str(read(path)) * n

    assert cache(outer(2)) == "oneone"
    witness.news()
    for number in range(1, 4):
        write(tmp_path / "f", f"{number}", OLD + number)
        # It has a memory of its own, as another process would.
        other = Cache(cache.path)
        assert other(outer(2)) == f"{number}{number}"
        assert witness.news() == {"outer": 1, "read": 1}
        assert outer(2) in cache
        assert cache(outer(2)) == f"{number}{number}"
        assert witness.news() == {}
        other.close()


def test_files_of_nested_calls_count_through_a_third_level_and_a_plain_hit(
    tmp_path: Path, cache: Cache, read: Any, witness: Witness
) -> None:
    path = write(tmp_path / "f", "one")

    @pure(version=1)
    def middle() -> str:
        return str(read(path))

    @pure(version=1)
    def outer() -> str:
        witness("outer")
        return str(middle()) + "."

    cache(middle())
    assert cache(outer()) == "one."
    write(tmp_path / "f", "two", OLD + 9)
    assert cache(outer()) == "two."


def test_files_read_by_an_unstored_function_count(tmp_path: Path, cache: Cache, read: Any) -> None:
    path = write(tmp_path / "f", "one")

    @pure(version=1, store=False)
    def unstored() -> str:
        return str(read(path))

    @pure(version=1)
    def outer(text: str) -> str:
        return text + "."

    assert cache(outer(unstored() + "")) == "one."
    write(tmp_path / "f", "two", OLD + 9)
    assert cache(outer(unstored() + "")) == "two."


def test_an_argument_that_had_to_be_evaluated_is_checked_by_what_it_gave(
    tmp_path: Path, cache: Cache, read: Any, witness: Witness
) -> None:
    path = write(tmp_path / "f", "one")

    @pure(version=1)
    def download(url: str) -> str:
        witness("download")
        return path

    assert cache(read(download("x"))) == cache(read(download("x"))) == "one"
    assert witness.news() == {"download": 1, "read": 1}
    write(tmp_path / "f", "two", OLD + 9)
    assert cache(read(download("x"))) == "two"
    assert witness.news() == {"read": 1}


def test_a_path_result_is_checked_on_a_hit(tmp_path: Path, cache: Cache, witness: Witness) -> None:
    target = tmp_path / "out.txt"

    @pure(version=1)
    def produce(n: int) -> Path:
        witness("produce")
        write(target, "x" * n)
        return target

    assert cache(produce(3)) == cache(produce(3)) == target
    assert witness.news() == {"produce": 1}
    target.unlink()
    assert cache(produce(3)).read_text() == "xxx"
    write(target, "edited", OLD + 3)
    assert cache(produce(3)).read_text() == "xxx"
    assert witness.news() == {"produce": 2}


@pytest.mark.parametrize("hasher", [hash_by_file_content, hash_by_file_stat], ids=["content", "stat"])
def test_a_date_that_was_put_back_is_noticed(tmp_path: Path, cache: Cache, hasher: Any) -> None:
    @pure(version=1, hashers={"filename": hasher})
    def read(filename: str) -> str:
        return Path(filename).read_text()

    path = write(tmp_path / "f", "one")
    assert cache(read(path)) == "one"
    write(tmp_path / "f", "two")
    assert cache(read(path)) == "two"


def test_content_ignores_dates_and_paths(tmp_path: Path, cache: Cache, witness: Witness) -> None:
    @pure(version=1, hashers={"filename": hash_by_file_content})
    def read(filename: str) -> str:
        witness("read")
        return Path(filename).read_text()

    assert cache(read(write(tmp_path / "f", "one"))) == "one"
    assert cache(read(write(tmp_path / "f", "one", OLD + 50))) == "one"
    assert cache(read(write(tmp_path / "g", "one", OLD + 90))) == "one"
    assert witness.ran == {"read": 1}


def test_a_movable_folder_keeps_its_hits(tmp_path: Path, cache: Cache, witness: Witness) -> None:
    def reader(root: Path) -> Any:
        @pure(version=1, name="read", hashers={"filename": hash_by_file_date.relative_to(root)})
        def read(filename: str) -> str:
            witness("read")
            return Path(filename).read_text()

        return read

    before = tmp_path / "before"
    before.mkdir()
    assert cache(reader(before)(write(before / "f", "one"))) == "one"
    after = before.rename(tmp_path / "after")
    assert cache(reader(after)(str(after / "f"))) == "one"
    assert witness.ran == {"read": 1}


def test_a_path_result_hits_while_the_file_stays(tmp_path: Path, cache: Cache, witness: Witness) -> None:
    @pure(version=1)
    def made(name: str) -> dict[str, Any]:
        witness("made")
        folder = tmp_path / "made"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("young")
        return {"file": folder / name, "folder": [folder]}

    for _ in range(3):
        cache(made("f"))
    assert witness.news() == {"made": 1}
    (tmp_path / "made" / "other").touch()
    cache(made("f"))
    assert witness.news() == {"made": 1}


def test_what_reads_the_file_of_a_path_result_follows_its_content(
    tmp_path: Path, cache: Cache, witness: Witness
) -> None:
    content = ["one"]

    @pure(version=1)
    def download(name: str) -> Path:
        return Path(write(tmp_path / name, content[0], OLD + len(content[0])))

    @pure(version=1)
    def text(path: Path) -> str:
        witness("text")
        return path.read_text()

    assert cache(text(download("f"))) == cache(text(download("f"))) == "one"
    assert witness.news() == {"text": 1}
    content[0] = "three"
    (tmp_path / "f").unlink()
    assert cache(text(download("f"))) == "three"


@pytest.mark.parametrize("kind", ["device", "missing", "itself"])
def test_a_result_that_names_no_file_is_stored_like_any_other(tmp_path: Path, cache: Cache, kind: str) -> None:
    @pure(version=1)
    def result(kind: str) -> Any:
        itself: list[Any] = []
        itself.append(itself)
        return {"device": Path(os.devnull), "missing": tmp_path / "none", "itself": itself}[kind]

    cache(result(kind))
    assert result(kind) in cache


def test_a_young_file_of_an_evaluated_argument_is_compared_by_content(
    tmp_path: Path, cache: Cache, read: Any, witness: Witness
) -> None:
    now = time.time_ns() // 10**9 * 10**9

    @pure(version=1)
    def download(name: str) -> str:
        return write(tmp_path / name, "one", now)

    for _ in range(3):
        assert cache(read(download("f"))) == "one"
    assert witness.news() == {"read": 1}
    write(tmp_path / "f", "two", now)
    assert cache(read(download("f"))) == "two"


@pytest.mark.parametrize("suffix", ["", "!"], ids=["the root", "on the way"])
def test_files_that_a_called_value_reads_count(
    tmp_path: Path, cache: Cache, read: Any, witness: Witness, suffix: str
) -> None:
    path = write(tmp_path / "f", "one")

    def ordinary(name: str) -> str:
        return str(read(name))

    def result() -> Any:
        node = computed(ordinary)(path)
        return cache(node + suffix if suffix else node)

    assert result() == result() == "one" + suffix
    assert witness.news() == {"read": 1}
    write(tmp_path / "f", "two", OLD + 9)
    assert result() == "two" + suffix

    @pure(version=1)
    def outer(suffix: str) -> Any:
        return result()

    assert cache(outer(suffix)) == "two" + suffix
    write(tmp_path / "f", "six", OLD + 18)
    assert cache(outer(suffix)) == "six" + suffix


@pytest.mark.parametrize("way", ["compute", "raw", "off", "compute of a hasher's node", "get"])
def test_files_that_a_body_reads_without_the_cache_count(tmp_path: Path, cache: Cache, read: Any, way: str) -> None:
    path = write(tmp_path / "f", "one")
    off = Cache(tmp_path / "off", mode="off")

    @pure(version=1, name="inner")
    def inner() -> str:
        return str(read(path))

    ways = {
        "compute": lambda: compute(read(computed(path)) + ""),
        "raw": inner.raw,
        "off": lambda: off(read(computed(path)) + ""),
        "get": lambda: cache.get(read(computed(path))),
        "compute of a hasher's node": lambda: compute(read(computed("").join([path])) + ""),
    }

    @pure(version=1, ignore=["call"])
    def outer(way: str, call: Any) -> str:
        return str(call())

    cache(read(path))
    assert cache(outer(way, ways[way])) == "one"
    cache(read(write(tmp_path / "f", "two", OLD + 100)))
    assert cache(outer(way, ways[way])) == "two"


def test_a_file_that_changes_while_an_unstored_call_reads_it_stores_nothing(tmp_path: Path, cache: Cache) -> None:
    @pure(version=1, store=False, hashers={"filename": hash_by_file_date})
    def read(filename: str) -> str:
        text = Path(filename).read_text()
        write(Path(filename), text, OLD + 7)
        return text

    with pytest.raises(InputChangedError):
        cache(read(write(tmp_path / "f", "one")) + "!")
