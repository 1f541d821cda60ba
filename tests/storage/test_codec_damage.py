import contextlib
import pickle
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from lazycache_storage.errors import CorruptEntryError, UntrustedPickleError
from lazycache_storage.objects import objects
from tests.storage.shelf import Shelf
from tests.storage.values import BIG, Pair

FAULTS = [
    ModuleNotFoundError("no module"),
    ImportError("no name"),
    AttributeError("no attribute"),
    EOFError("cut off"),
    TypeError("takes 2"),
    ValueError("object array"),
    pickle.UnpicklingError("bad"),
    IndexError("pop"),
    KeyError("key"),
    MemoryError("much"),
    RecursionError("deep"),
    RuntimeError("odd"),
    ZeroDivisionError("zero"),
    UnicodeDecodeError("utf-8", b"", 0, 1, "bad"),
]


class Breaks:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise state["error"]


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_pickle_that_no_longer_fits_the_code_is_damage(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(CorruptEntryError) as caught:
        Shelf(tmp_path).round_trip(Breaks(error))
    assert type(caught.value.__cause__) is type(error)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), OSError(5, "disk")])
def test_other_errors_while_loading_pass(tmp_path: Path, error: Any) -> None:
    with pytest.raises(type(error)):
        Shelf(tmp_path).round_trip(Breaks(error))


def test_a_damaged_array_of_a_pickle_is_damage(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    encoded = shelf.encode(Pair(np.arange(BIG), 1))
    (Path(encoded[3][0]) / "0").unlink()
    with pytest.raises(CorruptEntryError, match="missing"):
        shelf.decode(encoded)


def test_a_pickle_without_its_store_says_so(tmp_path: Path) -> None:
    payload = Shelf(tmp_path).encode(Pair(np.arange(BIG), 1))[1]
    with pytest.raises(pickle.UnpicklingError, match="belongs to a store"):
        pickle.loads(payload)


def test_cut_and_flipped_payloads_are_damage(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for value in ({"a": [1, 2.5, (3, "x")], "b": np.arange(3)}, Pair(1, np.arange(BIG, dtype="g"))):
        kind, payload, refs, paths = shelf.encode(value)
        for cut in range(len(payload)):
            with contextlib.suppress(CorruptEntryError):
                shelf.decode((kind, payload[:cut], refs, paths))


def _pack(form: Any) -> bytes:
    return msgspec.msgpack.encode(form)


def _of_one_hash(count: int) -> list[Any]:
    return [[8, (sys.hash_info.modulus * i).to_bytes(12, "little")] for i in range(count)]


HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "no tag": _pack([]),
    "unknown tag": _pack([99]),
    "tag of another type": _pack(["x", 1]),
    "tag is a list": _pack([[1], 1]),
    "long list": b"\xdd\xff\xff\xff\xff",
    "long lists": b"\xdd\xff\xff\xff\xff" * 1000,
    "long map": b"\xdf\xff\xff\xff\xff",
    "long bytes": b"\xc6\xff\xff\xff\xff",
    "deep": b"\x92\x00" * 100_000 + b"\x00",
    "extension": b"\xd4\x05a",
    "rest": b"\x01\x02",
    "huge array": _pack([30, '"<f8"', [1 << 40], "C", b"", ""]),
    "huge empty array": _pack([30, '"<f8"', [0, 1 << 62, 1 << 62], "C", b"", ""]),
    "negative": _pack([30, '"<f8"', [-1, -1], "C", bytes(8), ""]),
    "pointers": _pack([30, '"|O"', [1], "C", bytes(8), ""]),
    "pointers in fields": _pack(
        [30, '{"names":["a"],"formats":["|O"],"offsets":[0],"itemsize":8}', [1], "C", bytes(8), ""]
    ),
    "pointers in a scalar": _pack([26, '"|O"', bytes(8)]),
    "order": _pack([30, '"<f8"', [1], "Z", bytes(8), ""]),
    "subclass": _pack([30, '"<f8"', [1], "C", bytes(8), "memmap"]),
    "subclass of another type": _pack([30, '"<f8"', [1], "C", bytes(8), [1]]),
    "shape": _pack([30, '"<f8"', "ab", "C", bytes(8), ""]),
    "dtype": _pack([29, "os.system"]),
    "dtype of commas": _pack([29, '"i4,O"']),
    "deep dtype": _pack([29, '{"base":' * 5000 + '"<f8"' + ',"shape":[1]}' * 5000]),
    "wide dtype": _pack([29, '{"base":"<f8","shape":[' + ",".join(["9" * 9] * 9) + "]}"]),
    "position": _pack([31, 7]),
    "negative position": _pack([31, -1]),
    "position of another type": _pack([31, "0"]),
    "text of an array of numbers": _pack([32, 0]),
    "unhashable key": _pack([2, [0], 1]),
    "odd dict": _pack([2, 1]),
    "unhashable member": _pack([3, [0]]),
    "list that is a map": _pack([5, {}]),
    "date": _pack([16, 10**6, 1, 1]),
    "zone": _pack([18, 2020, 1, 1, 0, 0, 0, 0, 0, 5]),
    "zone outside": _pack([21, "../../etc/passwd"]),
    "decimal": _pack([22, "1x"]),
    "fraction": _pack([23, 1, 0]),
    "uuid": _pack([24, b"short", 1]),
    "path": _pack([25, "Popen", "x"]),
    "windows path": _pack([25, "WindowsPath", "x"]),
    "bytearray by size": _pack([11, 1 << 50]),
    "int": _pack([8, "x"]),
    "complex": _pack([10, "1", 2]),
    "range": _pack([13, 1, 2, 0]),
    "no unicode": _pack([26, '"<U1"', b"\xff" * 4]),
    # To make a set or a dict of members that all have one hash takes hours.
    **{f"one hash {tag}": _pack([tag, *_of_one_hash(200_000)]) for tag in (2, 3, 4)},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_plain_data_is_damage(tmp_path: Path, name: str) -> None:
    with objects.Sink(str(tmp_path)) as sink:
        sink.add(np.arange(3.0))
    written = sink.written[0]
    encoded: Any = ("plain", HOSTILE[name], sink.refs, [written.path])
    with pytest.raises(CorruptEntryError):
        Shelf(tmp_path).decode(encoded)


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("code of a payload ran",))


def test_a_pickle_in_the_place_of_plain_data_does_not_run(tmp_path: Path) -> None:
    payload = Shelf(tmp_path).encode(Bomb())[1]
    with pytest.raises(CorruptEntryError):
        Shelf(tmp_path).decode(("plain", payload, (), []))
    with pytest.raises(UntrustedPickleError):
        Shelf(tmp_path).decode(("pickle", payload, (), []), allow_pickle=False)


def test_a_fraction_of_millions_of_digits_is_read_at_once(tmp_path: Path) -> None:
    """To reduce it would take hours."""
    shelf = Shelf(tmp_path)
    number = Fraction((1 << 16_000_001) - 1, 1 << 16_000_000)
    found = shelf.round_trip(number)
    assert (found.numerator, found.denominator) == (number.numerator, number.denominator)
    unreduced = _pack([23, [8, b"\x07" * 2_000_000], [8, b"\x05" * 1_999_999]])
    assert shelf.decode(("plain", unreduced, (), [])) > 1
