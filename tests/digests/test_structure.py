import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from lazycache.digests import Memo, digest, snapshot, token
from lazycache.errors import UnhashableError


@dataclass
class Box:
    content: Any
    other: Any = None


def shared_nest(levels: int, kind: Any) -> Any:
    value: Any = ["bottom"]
    for _ in range(levels):
        value = kind(value)
    return value


KINDS: dict[str, Callable[[Any], Any]] = {
    "list": lambda value: [value, value],
    "tuple": lambda value: (value, value),
    "dict": lambda value: {"a": value, "b": value},
    "dataclass": lambda value: Box(value, value),
    "array": lambda value: np.array([value, value, None], dtype=object)[:2],
}


@pytest.mark.parametrize("name", KINDS)
def test_shared_nests_are_linear(name: str) -> None:
    nest = shared_nest(60, KINDS[name])
    assert digest(nest) == digest(shared_nest(60, KINDS[name]))
    assert digest(nest) != digest(shared_nest(61, KINDS[name]))


def test_a_wide_nest_of_shared_lists_is_not_unfolded() -> None:
    value: Any = [0]
    for _ in range(12):
        value = [value] * 30
    # Unfolded it would have 30**12 members, which no test would outlive.
    assert digest(value) == digest([copy.deepcopy(value[0])] * 30)


@pytest.mark.parametrize("name", KINDS)
def test_sharing_does_not_count(name: str) -> None:
    build = KINDS[name]
    member = ["t"]
    shared = [build(member), member, member]
    unshared = [build(copy.deepcopy(member)), ["t"], ["".join("t")]]
    assert digest(shared) == digest(unshared)


def test_strings_made_at_run_time_count_as_literals() -> None:
    literal, made = "aa", "".join(["a", "a"])
    assert made is not literal
    assert digest(["aa", made]) == digest(["aa", "aa"])
    assert digest({"aa": made}) == digest({made: "aa"})
    one, two = Box(1), Box(1)
    vars(one)[made] = 1
    vars(two)["aa"] = 1
    assert digest([one, two]) == digest([two, two]) != digest([one, Box(1)])
    assert digest(np.zeros(1, [("aa", "f8")])) == digest(np.zeros(1, [(made, "f8")]))


@pytest.mark.parametrize("name", ["list", "tuple", "dict", "dataclass"])
def test_depth_is_not_limited(name: str) -> None:
    def deep(bottom: int) -> Any:
        value: Any = bottom
        for _ in range(5000):
            value = {"list": [value], "tuple": (value,), "dict": {"k": value}, "dataclass": Box(value)}[name]
        return value

    assert digest(deep(1)) == digest(deep(1))
    assert digest(deep(1)) != digest(deep(2))
    copied, its_token = snapshot(deep(1))
    assert its_token == token(deep(1))
    assert type(copied) is type(deep(1))


def _cycles() -> dict[str, Any]:
    a_list: list[Any] = []
    a_list.append(a_list)
    a_dict: dict[str, Any] = {}
    a_dict["self"] = [a_dict]
    an_object = Box(None)
    an_object.content = {"me": an_object}
    inner: list[Any] = []
    a_tuple = (inner,)
    inner.append(a_tuple)
    an_array = np.empty(1, dtype=object)
    an_array[0] = an_array
    return {"list": a_list, "dict": a_dict, "object": an_object, "tuple": a_tuple, "array": an_array}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("list", "value[0]"),
        ("dict", "value['self'][0]"),
        ("object", "value.content['me']"),
        ("tuple", "value[0][0]"),
        ("array", "value[0]"),
    ],
)
def test_what_contains_itself_is_refused_by_name(name: str, path: str) -> None:
    for take in (token, digest, snapshot):
        with pytest.raises(UnhashableError, match="contains itself") as caught:
            take(_cycles()[name])
        assert caught.value.path == path


def test_a_value_may_be_met_twice_without_being_a_cycle() -> None:
    member = [1]
    assert digest([member, [member, [member]]]) == digest([[1], [[1], [[1]]]])


def test_a_memo_walks_a_shared_object_once() -> None:
    asked = []

    class Asked:
        def __lazycache_digest__(self) -> str:
            asked.append(1)
            return "x"

    value, memo = Asked(), Memo()
    assert token([value, value], memo=memo) != token({"a": value}, memo=memo)
    assert len(asked) == 1


def samples() -> list[Any]:
    return [
        {"a": [np.float64(1), np.arange(3)], "b": (np.datetime64("2020"), {1, "x"})},
        [np.zeros((2, 3), order="F"), np.array([1, "x", None], dtype=object)],
        Box(np.arange(5), {"nested": Box((1, 2))}),
        np.array([(1, [2])], [("a", "i4"), ("b", object)]),
        np.ma.array([1, 2], mask=[True, False]),
    ]


@pytest.mark.parametrize("index", range(5))
def test_pickles_and_copies_have_the_digest_of_the_original(index: int) -> None:
    value = samples()[index]
    expected = token(value)
    assert token(pickle.loads(pickle.dumps(value))) == expected
    assert token(copy.deepcopy(value)) == expected
    assert token(snapshot(value)[0]) == snapshot(value)[1] == expected


def test_a_spawned_worker_sees_the_same_digests() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(token, samples()) == [token(value) for value in samples()]


SCRIPT = """
import sys
from dataclasses import dataclass
from multiprocessing import get_context
from lazycache.digests import token

@dataclass
class Local:
    x: int

if __name__ == "__main__":
    with get_context("spawn").Pool(1) as pool:
        theirs = pool.apply(token, (Local(3),))
        kind = pool.apply(type, (Local(3),))
    assert theirs == token(Local(3)), (theirs, token(Local(3)))
    sys.stdout.write("equal")
"""


def test_classes_of_a_script_are_the_same_in_its_spawned_workers(tmp_path: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=_environment())
    assert (done.stdout, done.stderr) == ("equal", "")


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
