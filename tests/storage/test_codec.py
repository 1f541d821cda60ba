import collections
import inspect
import pickle
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache_storage.errors import NotStorableError, UntrustedPickleError
from tests.storage.shelf import Shelf, facts
from tests.storage.values import ARRAYS, BIG, PICKLED, PLAIN, Model, Pair


@pytest.mark.parametrize("name", PLAIN)
def test_plain_data_comes_back_to_the_bit_and_the_type(tmp_path: Path, name: str) -> None:
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(PLAIN[name])
    assert encoded[0] == "plain"
    assert facts(shelf.decode(encoded, allow_pickle=False)) == facts(PLAIN[name])


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_to_the_bit_and_read_only(tmp_path: Path, name: str) -> None:
    array = ARRAYS[name]
    shelf = Shelf(tmp_path)
    cases: list[tuple[str, Any, Callable[[Any], Any]]] = [
        ("plain", array, lambda back: back),
        ("plain", [array], lambda back: back[0]),
        ("plain", {"key": (array, 1)}, lambda back: back["key"][0]),
        ("pickle", Model(array, "m"), lambda back: back.weights),
    ]
    for kind, value, unpack in cases:
        encoded = shelf.encode(value)
        assert encoded[0] == kind
        back = unpack(shelf.decode(encoded))
        assert facts(back) == facts(array)
        with pytest.raises(ValueError, match="WRITEABLE"):
            back.setflags(write=True)


@pytest.mark.parametrize("name", PICKLED)
def test_everything_else_goes_through_pickle(tmp_path: Path, name: str) -> None:
    shelf = Shelf(tmp_path)
    value = PICKLED[name]
    encoded = shelf.encode(value)
    assert encoded[0] == "pickle"
    back = shelf.decode(encoded)
    assert type(back) is type(value)
    if isinstance(value, np.ndarray):
        assert back.dtype == value.dtype
        np.testing.assert_array_equal(back, value)
    else:
        assert repr(back) == repr(value)
    with pytest.raises(UntrustedPickleError):
        shelf.decode(encoded, allow_pickle=False)


def test_numbers_after_a_look_by_eye(tmp_path: Path) -> None:
    # facts() uses repr and tobytes; here are literals, so that a fault in it cannot hide one in the codec.
    back = Shelf(tmp_path).round_trip([1, True, 1.0, -0.0, np.int64(1), (1,), 2**64])
    assert [type(member) for member in back] == [int, bool, float, float, np.int64, tuple, int]
    assert str(back) == "[1, True, 1.0, -0.0, np.int64(1), (1,), 18446744073709551616]"


def test_containers_are_new_each_time(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    encoded = shelf.encode({"a": [1, 2], "b": {"c": {3}}, "d": bytearray(b"x")})
    first = shelf.decode(encoded)
    first["a"].append(3)
    first["b"]["c"].add(4)
    first["d"][0] = 0
    assert shelf.decode(encoded) == {"a": [1, 2], "b": {"c": {3}}, "d": bytearray(b"x")}


def test_a_value_is_not_changed_by_storing_it(tmp_path: Path) -> None:
    array = np.arange(BIG * 10)
    value = {"array": array, "bytes": bytearray(2 << 20)}
    Shelf(tmp_path).encode(value)
    array[0] = 5
    value["bytes"].append(1)  # type: ignore[attr-defined]
    assert array.flags.writeable


@pytest.mark.parametrize(
    "value", [[np.arange(BIG)] * 3, Pair(np.arange(BIG), [np.arange(BIG)])], ids=["list", "pickle"]
)
def test_equal_arrays_are_stored_once_and_shared(tmp_path: Path, value: Any) -> None:
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(value)
    assert len(encoded[2]) == 1
    back = shelf.decode(encoded)
    assert facts(list(back)) == facts(list(value))


def test_an_array_that_sits_in_two_places_is_one_after_unpickling(tmp_path: Path) -> None:
    for size in (3, BIG):
        array = np.arange(size)
        back = Shelf(tmp_path).round_trip(Pair(array, [array]))
        assert back.a is back.b[0]


def test_cycles_and_shared_lists_keep_their_identity(tmp_path: Path) -> None:
    shared: list[Any] = [1]
    cycle: list[Any] = [shared, {"again": shared}, np.arange(BIG)]
    cycle.append(cycle)
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(cycle)
    assert encoded[0] == "pickle"
    back = shelf.decode(encoded)
    assert back[3] is back
    assert back[0] is back[1]["again"]
    back[0].append(2)
    assert back[1]["again"] == [1, 2]
    assert not back[2].flags.writeable


@pytest.mark.parametrize(
    "make", [lambda x: (x, x), lambda x: [x, x], lambda x: {"l": x, "r": x}], ids=["tuple", "list", "dict"]
)
def test_a_ladder_of_shared_containers_is_linear(tmp_path: Path, make: Any) -> None:
    value: Any = ("leaf", 1)
    for _ in range(60):
        value = make(value)
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(value)
    assert len(encoded[1]) < 3000
    back = shelf.decode(encoded)
    for _ in range(60):
        first, second = back.values() if isinstance(back, dict) else back
        assert first is second
        back = first
    assert back == ("leaf", 1)


def test_a_caller_deep_in_recursion_gets_a_value_or_a_refusal(tmp_path: Path) -> None:
    value: Any = 1
    for _ in range(60):
        value = [value, np.float64(1)]

    def dive(levels: int) -> str:
        if levels:
            return dive(levels - 1)
        try:
            return Shelf(tmp_path).encode(value)[0]
        except NotStorableError:
            return "refused"

    for left in (60, 100, 150, 400):
        frames = len(inspect.stack(0))
        assert dive(sys.getrecursionlimit() - frames - left) in ("plain", "pickle", "refused")


WRAPPERS: dict[str, Any] = {
    "list": lambda x: [x],
    "tuple": lambda x: (x,),
    "dict": lambda x: {"k": x},
    "frozenset": lambda x: frozenset([x]),
}


@pytest.mark.parametrize("depth", [63, 64, 65, 300, 5_000])
@pytest.mark.parametrize("kind", WRAPPERS)
def test_a_deep_nest_is_stored_or_refused(tmp_path: Path, depth: int, kind: str) -> None:
    wrap = WRAPPERS[kind]
    value: Any = wrap(1)
    for _ in range(depth - 1):
        value = wrap(value)
    shelf = Shelf(tmp_path)
    try:
        encoded = shelf.encode(value)
    except NotStorableError:
        assert depth > 300
        return
    back = shelf.decode(encoded)
    for _ in range(depth):
        (back,) = back.values() if isinstance(back, dict) else back
    assert back == 1
    if depth <= 64:
        assert encoded[0] == "plain"


@pytest.mark.parametrize(
    "long", [bytes(2 << 20), "x" * (2 << 20), "\U0001f600" * (1 << 18)], ids=["bytes", "str", "wide str"]
)
def test_long_strings_are_objects_wherever_they_are(tmp_path: Path, long: Any) -> None:
    shelf = Shelf(tmp_path)
    for value in (long, [long, 1, None], [long], (long, "a"), {"k": long}, {"k": long, "n": 1}, {long: 1}):
        encoded = shelf.encode(value)
        assert (encoded[0], len(encoded[2]), len(encoded[1]) < 100) == ("plain", 1, True)
        assert facts(shelf.decode(encoded)) == facts(value)


def test_the_payload_of_a_large_array_is_a_few_bytes(tmp_path: Path) -> None:
    kind, payload, refs, _ = Shelf(tmp_path).encode(np.zeros(10**6))
    assert (kind, len(payload), refs[0].nbytes) == ("plain", 3, 8 * 10**6)


@pytest.mark.parametrize(
    "error", [ValueError("x", 3), KeyError("k"), OSError(2, "no", "f"), NotStorableError(type_name="t", reason="r")]
)
def test_exceptions_are_values_too(tmp_path: Path, error: Exception) -> None:
    back = Shelf(tmp_path).round_trip(error)
    assert (type(back), back.args, str(back)) == (type(error), error.args, str(error))


def _generator() -> Any:
    yield 1


class Refuses:
    def __getstate__(self) -> Any:
        raise RuntimeError("not today")


class Outer:
    class Hidden:
        __qualname__ = "Hidden"


def _local_value() -> Any:
    class Local:
        pass

    return Local()


UNSTORABLE: dict[str, Any] = {
    "generator": _generator,
    "lock": threading.Lock,
    "lambda": lambda: lambda: 1,
    "local class": _local_value,
    "local namedtuple": lambda: collections.namedtuple("Inner", ["x"])(*"1"),
    "file": lambda: sys.__stdout__,
    "module": lambda: types,
    "frame": sys._getframe,
    "refuses": Refuses,
    "class that its name does not find": Outer.Hidden,
}


@pytest.mark.parametrize("name", UNSTORABLE)
def test_what_cannot_be_pickled_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    value = UNSTORABLE[name]()
    for wrapped in (value, [np.arange(BIG), value]):
        with pytest.raises(NotStorableError) as caught:
            Shelf(tmp_path).encode(wrapped)
        told = vars(caught.value)
        assert told["type_name"].endswith(type(wrapped).__qualname__)
        assert told["reason"]
        assert list(tmp_path.iterdir()) == []


def test_an_interrupt_passes_and_leaves_nothing(tmp_path: Path) -> None:
    class Interrupts:
        def __reduce__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Shelf(tmp_path).encode([np.arange(BIG), Interrupts()])
    assert list(tmp_path.iterdir()) == []


HIT = """
import sys, pickle
from pathlib import Path
from tests.storage.shelf import Shelf, facts
encoded = pickle.loads(Path(sys.argv[1], "encoded").read_bytes())
told = {name: facts(Shelf(Path(sys.argv[1])).decode(value)) for name, value in encoded.items()}
Path(sys.argv[1], "told").write_bytes(pickle.dumps(told))
"""


def test_another_process_gets_the_same_types_strides_and_bits(tmp_path: Path) -> None:
    values = PLAIN | ARRAYS
    shelf = Shelf(tmp_path)
    encoded = {name: shelf.encode(value) for name, value in values.items()}
    (tmp_path / "encoded").write_bytes(pickle.dumps(encoded))
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7", "PATH": ""}
    subprocess.run([sys.executable, "-c", HIT, tmp_path], check=True, env=environment, cwd=Path(__file__).parents[2])
    told = pickle.loads((tmp_path / "told").read_bytes())
    for name in values:
        assert told[name] == facts(values[name]), name
