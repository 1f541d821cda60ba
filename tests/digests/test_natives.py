import array
import collections
import datetime
import decimal
import enum
import fractions
import pathlib
import uuid
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from lazycache.digests import container_token, digest, token


class Number(enum.IntEnum):
    ONE = 1


Pair = collections.namedtuple("Pair", "a b")

DISTINCT: list[Any] = [
    *(None, False, True, 0, 1, -1, 0.0, -0.0, 1.0, 1 + 0j, float("nan"), float("inf")),
    *("", "1", "a", b"", b"1", b"a", bytearray(b"a"), memoryview(b"a"), "None", ..., NotImplemented),
    *(10**59, 10**60, -(10**60), 2**200, 2**64, float(2**64), "é", "e\u0301", "\ud800"),
    *((), [], {}, set(), frozenset(), (1,), [1], {1}, frozenset({1}), ((1,),), [[1]], (None,), ("",)),
    *([1, 2], (1, 2), {1, 2}, [2, 1], range(1, 3), range(0), range(0, 0, 2), slice(1, 2), [(1, 2)], Pair(1, 2)),
    *({1: 2}, {(1, 2): None}, collections.OrderedDict({1: 2}), {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    *(collections.defaultdict(int, {1: 2}), collections.Counter({1: 2}), {1: "2"}, {"1": 2}),
    *(["ab", "c"], ["a", "bc"], ["a", "b", "c"], [["a"], "b"], [["a", "b"]], ("ab",), "ab", ["abc"]),
    *(np.int64(1), np.int32(1), np.uint64(1), np.float64(1), np.float32(1), np.True_, np.str_("a"), np.bytes_(b"a")),
    *(np.float64(0.0), np.float64(-0.0), np.longdouble(1), np.complex128(1), np.datetime64(1, "s")),
    *(np.datetime64(1, "ms"), np.timedelta64(1, "s"), np.dtype("f8"), np.dtype(">f8"), np.float64, float, "float"),
    *(Number.ONE, pathlib.PurePosixPath("a"), pathlib.PosixPath("a"), pathlib.PureWindowsPath("a")),
    *(decimal.Decimal("1"), decimal.Decimal("1.0"), fractions.Fraction(1), uuid.UUID(int=1)),
    *(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)),
    *(datetime.datetime(2020, 1, 1, fold=1), datetime.timedelta(1), datetime.time(0), datetime.UTC),
    *(array.array("d", [1.0]), array.array("f", [1.0]), array.array("i", [1]), array.array("l", [1])),
    *(np.array(1), np.array([1]), np.array([[1]]), np.array([1.0]), np.array([True]), np.array(["1"])),
    *(len, int, print, dict, {}.keys(), {}.values(), {}.items(), "a" * 65, b"a" * 65, ("a" * 65,)),
]


def test_different_values_have_different_digests() -> None:
    tokens = [token(value) for value in DISTINCT]
    for (first, one), (second, two) in combinations(zip(DISTINCT, tokens, strict=True), 2):
        assert one != two, (first, second)


def test_every_digest_is_that_of_the_token() -> None:
    assert digest(1) == digest(int("1"))
    assert digest((1, "a" * 100)) == digest((1, "".join(["a"] * 100)))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("exponent", [59, 60, 61, 100, 5000])
def test_large_ints_are_told_apart_in_every_place(sign: int, exponent: int) -> None:
    values = [sign * 10**exponent + step for step in (-1, 0, 1)]
    assert len({token(value) for value in values}) == 3
    assert len({token((0, 0, 0, 0, value)) for value in values}) == 3
    assert token((0, 0, 0, 0, values[0])) == container_token(b"t", [token(0)] * 4 + [token(values[0])])


def test_nan_payloads_and_signs_count() -> None:
    nans = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    assert len({digest(float(nan)) for nan in nans}) == 3
    assert len({digest(np.array([nan])) for nan in nans}) == 3


@pytest.mark.parametrize("size", [1, 4, 5, 20, 21, 30, 300, 5000])
@pytest.mark.parametrize("kind", [list, tuple])
def test_short_ways_and_the_long_way_agree(kind: type, size: int) -> None:
    # A namedtuple among the members sends the whole value through the general walk.
    members = list(range(size))
    general = kind([*members, Pair(1, 2)])
    tag = b"l" if kind is list else b"t"
    tokens = [token(member) for member in members]
    assert token(kind(members)) == container_token(tag, tokens)
    assert token(general) == container_token(tag, [*tokens, token(Pair(1, 2))])


def test_true_among_ints_is_not_one() -> None:
    assert token([1, 1, 1, 1, 1]) != token([1, 1, True, 1, 1])
    assert token((0, 0, 0, 0, 0)) != token((0, 0, 0, 0, 0.0))


def test_set_members_are_ordered_by_their_encoding() -> None:
    mixed = {None, "x", (1,), 1, 2.5, "a", frozenset({"y", 1})}
    for rotation in range(len(mixed)):
        members = list(mixed)
        assert token(set(members[rotation:] + members[:rotation])) == token(mixed)


def test_dict_order_counts_and_keyword_tokens_of_containers_follow() -> None:
    assert digest({"a": 1, "b": 2}) != digest({"b": 2, "a": 1})
    assert container_token(b"d", [token("a"), token(1)]) == token({"a": 1})
    assert container_token(b"S", [token(1), token(None), token(2)]) == token(slice(1, None, 2))
    assert container_token(b"U", [token("tests.digests.test_natives.Pair"), token(1), token(2)]) == token(Pair(1, 2))


def test_memoryviews_count_by_content_format_and_shape() -> None:
    data = bytes(range(12))
    assert digest(memoryview(data)) == digest(memoryview(bytearray(data)))
    assert digest(memoryview(data)[::2]) == digest(memoryview(data[::2]))
    assert digest(memoryview(data)) != digest(memoryview(data).cast("B", (3, 4)))
    assert digest(memoryview(data)) != digest(memoryview(data).cast("b"))


def test_large_buffers_count_in_every_byte() -> None:
    data = bytearray(3 << 20)
    before = {digest(bytes(data)), digest(data)}
    data[-1] = 1
    assert len(before | {digest(bytes(data)), digest(data)}) == 4
