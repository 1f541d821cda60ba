"""Pure functions travel: the same key, and the same result, in another process."""

import copy
import functools
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from lazycache import compute, key, pure
from lazycache.errors import FingerprintError

ROOT = Path(__file__).parents[2]
REGISTRY: list[int] = []


@pure(version=1, n_outputs=2)
def split(x: Any) -> Any:
    return x, -x


@pure
def by_code(x: Any) -> Any:
    return helper(x)


def helper(x: Any) -> Any:
    return x + 1


class Holder:
    def __init__(self, offset: int) -> None:
        self.offset = offset

    @pure(version=1)
    def method(self, x: Any) -> Any:
        return x + self.offset

    @pure
    def by_code(self, x: Any) -> Any:
        return self.helper(x)

    def helper(self, x: Any) -> Any:
        return x + 10

    @pure(version=1)
    @classmethod
    def of_class(cls, x: Any) -> Any:
        return cls.__name__, x


class SubHolder(Holder):
    def helper(self, x: Any) -> Any:
        return x + 20


def make_nested(offset: int) -> Any:
    @pure(version=1, ignore=("quiet",))
    def nested(x: Any, quiet: bool = True) -> Any:
        return x + offset

    return nested


def make_recursive() -> Any:
    @pure
    def factorial(n: int) -> int:
        return 1 if n < 2 else n * factorial(n - 1)

    return factorial


def make_mutual() -> Any:
    @pure(version=1)
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    @pure(version=1)
    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    return even


def in_another_process(tmp_path: Path, value: Any) -> Any:
    (tmp_path / "in.pickle").write_bytes(pickle.dumps(value))
    code = """
        import pickle, sys
        from lazycache import compute, key
        nodes = pickle.load(open(sys.argv[1], "rb"))
        result = [(key(node), compute(node)) for node in nodes]
        pickle.dump(result, open(sys.argv[2], "wb"))
    """
    paths = os.pathsep.join([str(ROOT), str(ROOT / "storage")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), tmp_path / "in.pickle", tmp_path / "out.pickle"],
        env={**os.environ, "PYTHONPATH": paths},
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return pickle.loads((tmp_path / "out.pickle").read_bytes())


def test_nodes_have_the_same_key_and_value_in_another_process(tmp_path: Path) -> None:
    a, _ = split(3)
    nodes = [
        a,
        by_code(3),
        Holder(1).method(5),
        Holder.of_class(5),
        SubHolder(1).by_code(5),
        make_nested(7)(1, quiet=False),
        make_recursive()(5),
        make_mutual()(10),
        pure(version=1)(lambda x: x * 2)(4),
        pure(functools.partial(helper, x=3))(),
    ]
    found = in_another_process(tmp_path, nodes)
    assert found == [(key(node), compute(node)) for node in nodes]


@pytest.mark.parametrize(
    "function", [split, by_code, Holder.method, make_nested(7), make_recursive(), Holder(1).method], ids=str
)
def test_a_function_survives_pickle_and_copy(function: Any) -> None:
    for again in (pickle.loads(pickle.dumps(function)), copy.copy(function), copy.deepcopy(function)):
        assert again.token == function.token
        assert again.name == function.name
        assert again.n_outputs == function.n_outputs


def test_a_function_of_a_module_stays_the_same_object() -> None:
    assert pickle.loads(pickle.dumps(split)) is split
    assert pickle.loads(pickle.dumps(Holder.of_class.__func__)).__wrapped__ is Holder.of_class.__func__.__wrapped__


def test_a_recursive_function_refers_to_itself_afterwards() -> None:
    again = pickle.loads(pickle.dumps(make_recursive()))
    assert again.__wrapped__.__closure__[0].cell_contents is again


def test_a_function_without_a_fingerprint_can_still_be_sent() -> None:
    @pure
    def uses_registry(x: int) -> int:
        REGISTRY.append(x)
        return x

    again = pickle.loads(pickle.dumps(uses_registry))
    assert compute(again(3)) == 3
    with pytest.raises(FingerprintError, match="REGISTRY"):
        key(again(3))
