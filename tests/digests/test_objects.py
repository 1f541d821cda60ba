import collections
import contextvars
import enum
import functools
import gc
import io
import itertools
import logging
import os
import random
import socket
import threading
import types
import unittest.mock
import weakref
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from lazycache.digests import digest, register_type, token
from lazycache.errors import UnhashableError


class Plain:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Twin:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@dataclass
class Settings:
    cfg: dict[str, Any] = field(default_factory=dict)


class Slotted:
    __slots__ = ("__weakref__", "a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.b, self.a = b, a


class Pair(NamedTuple):
    a: Any
    b: Any


class Words(list[str]):
    pass


class Bag(set[str]):
    note: str


class Celsius(float):
    place: str


def test_instances_count_by_class_and_attributes() -> None:
    distinct = [Plain(), Plain(a=1), Plain(a=2), Plain(b=1), Twin(a=1), Slotted(1, 2), Slotted(2, 1), {"a": 1}]
    assert len({digest(value) for value in distinct}) == len(distinct)
    assert digest(Plain(a=1, b=2)) == digest(Plain(b=2, a=1))
    assert digest(Slotted(1, [2])) == digest(Slotted(1, [2]))


def test_subclasses_of_builtins_count_by_content_type_and_attributes() -> None:
    words, bag, warm = Words(["a"]), Bag("abc"), Celsius(20.5)
    bag.note, warm.place = "x", "here"
    distinct: list[Any] = [["a"], words, Words(["b"]), set("abc"), Bag("abc"), bag, 20.5, Celsius(20.5), warm]
    assert len({digest(value) for value in distinct}) == len(distinct)
    other = Bag("cba")
    other.note = "x"
    assert digest(other) == digest(bag)


def test_objects_count_to_the_bottom() -> None:
    def model(weight: float) -> Plain:
        nest = Plain(weights=np.full(3, weight))
        for _ in range(10):
            nest = Plain(layer=nest)
        return nest

    assert digest(model(1.0)) == digest(model(1.0)) != digest(model(1.0 + 1e-15))


class Shouting:
    def __init__(self, data: Any) -> None:
        self.data = data

    def __repr__(self) -> str:
        return "the same for all"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


def test_repr_eq_and_hash_are_never_asked() -> None:
    one, two = np.zeros((1000, 1000)), np.zeros((1000, 1000))
    two[500, 500] = 1
    assert digest((Shouting(one),)) != digest((Shouting(two),))
    assert digest({Shouting(1): 1}) != digest({Shouting(2): 1})


class Cached:
    def __init__(self, n: int) -> None:
        self.n = n

    @functools.cached_property
    def double(self) -> int:
        return 2 * self.n


def test_cached_properties_are_no_part_of_the_value() -> None:
    value = Cached(3)
    before = digest(value)
    assert value.double == 6
    assert digest(value) == before


class Colour(enum.Enum):
    RED = 1


class Paint(enum.Enum):
    RED = 1


class Flags(enum.Flag):
    A = 1
    B = 2


def test_enum_members_count_by_class_name_and_value() -> None:
    assert len({digest(v) for v in (Colour.RED, Paint.RED, 1, "RED", Flags.A, Flags.B, Flags.A | Flags.B)}) == 7


def test_partials_count_by_function_and_arguments() -> None:
    def of(function: Any, *args: Any, **kwargs: Any) -> bytes:
        return digest(functools.partial(function, *args, **kwargs))

    assert of(int, base=2) == of(int, base=2)
    assert of(max, key=abs, default=1) == of(max, default=1, key=abs)
    assert len({of(int), of(int, "1"), of(int, base=2), of(int, base=8), of(float), digest(int)}) == 6


class Protocol:
    def __init__(self, shown: Any) -> None:
        self.shown, self.hidden = shown, object()

    def __lazycache_digest__(self) -> Any:
        return self.shown


class OtherProtocol(Protocol):
    pass


def test_a_class_may_say_what_stands_for_it() -> None:
    assert digest(Protocol([1])) == digest(Protocol([1]))
    assert len({digest(v) for v in (Protocol(1), Protocol(2), OtherProtocol(1), 1)}) == 4
    with pytest.raises(UnhashableError) as caught:
        digest(Protocol({"a": object()}))
    assert caught.value.path == "value['a']"


def test_a_type_may_be_registered() -> None:
    class Handle:
        def __init__(self, number: int) -> None:
            self.number, self.lock = number, threading.Lock()

    with pytest.raises(UnhashableError):
        digest(Handle(1))
    register_type(Handle, lambda handle: handle.number)
    assert digest(Handle(1)) == digest(Handle(1)) != digest(Handle(2))
    assert digest(Handle(1)) != digest(1)
    with pytest.raises(TypeError, match="needs a type"):
        register_type(3, len)  # type: ignore[arg-type]


class Proxy:
    def __init__(self, target: Any) -> None:
        self.target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "target"), name)


class Answering:
    """Has every attribute that it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return Answering()


def test_hash_protocols_are_looked_up_on_the_type() -> None:
    with pytest.raises(UnhashableError) as caught:
        digest(Proxy(os))
    assert caught.value.path == "value.target"
    assert digest(Proxy(Protocol(1))) != digest(Proxy(Protocol(2))) != digest(Protocol(2))
    assert digest(Answering()) == digest(Answering())
    lying = Plain(__lazycache_digest__=lambda: 1)
    with pytest.raises(UnhashableError):
        digest([lying, object()])


class Endless:
    def __reduce__(self) -> Any:
        return Endless, (), {"next": Endless()}


def test_what_makes_new_parts_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lazycache.digests.walk.MAX_DEPTH", 1000)
    with pytest.raises(UnhashableError, match="without an end"):
        digest(Endless())


def _generator() -> Any:
    yield 1


def refused() -> dict[str, Any]:
    return {
        "object": object(),
        "lock": threading.Lock(),
        "rlock": threading.RLock(),
        "local": threading.local(),
        "generator": _generator(),
        "iterator": iter([1]),
        "map": map(len, []),
        "count": itertools.count(),
        "module": os,
        "weakref": weakref.ref(Plain()),
        "weak dict": weakref.WeakValueDictionary(),
        "context variable": contextvars.ContextVar("v"),
        "code": _generator.__code__,
        "property": property(len),
        "mock": unittest.mock.Mock(),
        "Random": random.Random(1),
        "Generator": np.random.default_rng(1),
        "RandomState": np.random.RandomState(1),
        "PCG64": np.random.PCG64(1),
    }


@pytest.mark.parametrize("name", refused())
def test_what_has_no_stable_digest_is_refused_with_its_path(name: str) -> None:
    value = refused()[name]
    with pytest.raises(UnhashableError) as caught:
        token((Settings({"log": [value]}),), path="args")
    assert caught.value.path == "args[0].cfg['log'][0]"
    assert caught.value.type_name == type(value).__name__
    assert str(caught.value).startswith("args[0].cfg['log'][0] is a ")


def test_open_files_and_sockets_are_refused() -> None:
    with open(os.devnull) as file, socket.socket() as connection:
        for value in (file, file.buffer, connection):
            with pytest.raises(UnhashableError):
                digest(value)
    assert digest(io.BytesIO(b"a")) == digest(io.BytesIO(b"a")) != digest(io.BytesIO(b"b"))


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, random.Random])
def test_generators_of_random_numbers_come_with_advice(make: Any) -> None:
    with pytest.raises(UnhashableError, match=r"seed.*SeedSequence"):
        digest(make(1))


def test_seed_sequences_count() -> None:
    seeds = [np.random.SeedSequence(1), np.random.SeedSequence(2), np.random.SeedSequence([1, 2])]
    spawned = np.random.SeedSequence(1)
    children = spawned.spawn(2)
    assert len({digest(seed) for seed in (*seeds, spawned, *children)}) == 6
    assert digest(np.random.SeedSequence(1)) == digest(seeds[0])


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([1, [object()]], "x[1][0]"),
        ({"a": {2.5: object()}}, "x['a'][2.5]"),
        ({object(): 1}, "x.keys()[0]"),
        ({1, object()}, "x{…}"),
        (Plain(a=Slotted(object(), 1)), "x.a.a"),
        (Words([object()]), "x[0]"),  # type: ignore[list-item]
        (collections.OrderedDict(k=object()), "x['k']"),
        (Pair(1, object()), "x.b"),
        (slice(0, object()), "x.stop"),
        (np.array([[1, 2], [3, object()]], dtype=object), "x[1, 1]"),
        (np.array([(1, object())], [("a", int), ("b", object)]), "x['b'][0]"),
        (types.SimpleNamespace(a=object()), "x.a"),
        (Plain(a=types.MappingProxyType({"b": object()})), "x.a['b']"),
    ],
)
def test_the_path_is_written_as_python_would(value: Any, path: str) -> None:
    with pytest.raises(UnhashableError) as caught:
        digest(value, path="x")
    assert caught.value.path == path


def test_loggers_count_by_name() -> None:
    assert digest(logging.getLogger("a")) == digest(logging.getLogger("a")) != digest(logging.getLogger("b"))


def test_installed_functions_and_classes_count_by_name() -> None:
    values: list[Any] = [len, np.mean, np.add, np.float64, dict, os.path.join, str.upper, np.linalg.norm, type(None)]
    assert len({digest(value) for value in values}) == len(values)


def test_errors_of_users_pass_unchanged() -> None:
    class Broken:
        def __lazycache_digest__(self) -> Any:
            raise ZeroDivisionError("theirs")

    with pytest.raises(ZeroDivisionError, match="theirs"):
        digest([Broken()])


def test_functions_and_classes_die_with_their_last_reference() -> None:
    def made() -> tuple[Any, Any]:
        data = np.zeros(3)

        class Local:
            def method(self) -> Any:
                return data

        return Local, lambda: data

    kind, function = made()
    digest([kind(), kind, function])
    alive = weakref.ref(kind), weakref.ref(function)
    del kind, function
    gc.collect()
    assert [reference() for reference in alive] == [None, None]
