"""A program whose fingerprints are kept in golden.json; it needs nothing but Python.

Every kind of statement is in it, since other Python versions parse some of them into other trees.
"""

import collections
import contextlib
import enum
import functools
import logging
import math
import os.path
import typing
from dataclasses import dataclass, field

RATE = 3
NAMES = frozenset({"a", "b", "c", "d"})
NEGATIVE_ZERO, INFINITE, HUGE = -0.0, math.inf, 10**40
log = logging.getLogger("golden")


def helper(x):
    """Doc."""
    return x * RATE


@functools.lru_cache
def cached(x):
    return helper(x) if x in NAMES else even(3)


TABLE = {"a": helper, "b": [cached, len, math.sqrt]}


@dataclass(frozen=True)
class Point:
    x: int = 1
    y: list = field(default_factory=list)
    kind: typing.ClassVar[str] = "p"

    def area(self):
        return helper(self.x)


class Color(enum.Enum):
    RED = 1
    BLUE = (2, "x")

    def shown(self):
        return helper(self.value)


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


Pair = collections.namedtuple("Pair", "a b", defaults=[1])


class Typed(typing.NamedTuple):
    u: int
    v: float = 2.0


class Base:
    table = {"k": (1, {2, 3})}

    @property
    def size(self):
        return 1

    @classmethod
    def make(cls, *a, **k):
        return cls

    @staticmethod
    def plain(x, /, y=2, *, z=helper):
        return x

    @functools.cached_property
    def kept(self):
        return 5


class Derived(Base):
    __slots__ = ("_private", "shown")

    def __init__(self):
        super().__init__()
        self.__mangled = RATE

    def run(self):
        return self.size, self.kept, self.make(), self.plain(1), self.__mangled


@contextlib.contextmanager
def opened(x):
    try:
        yield helper(x)
    except (ValueError, OSError) as error:
        log.info("failed: %s", error)
        raise RuntimeError from error
    else:
        pass
    finally:
        x = None


@functools.singledispatch
def kind(x):
    return x


@kind.register(int)
def _(x):
    return helper(x)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def strings(x, width=8):
    """Doc."""
    "not a docstring"
    return (
        f"{x!r:>{width}} and" " more" f" of {x=} {x:%H:%M}" "",
        f"{x}{{}}{x!s:{'>'}10}" + "\N{BULLET}\x00\ud800",
        f"{'nested'}" f"{x.real:.{width}f}", b"by\x00tes" b"\xff", 'it''s',
        f"", f"{x}", f"a{''}b", 1_000, 0xFF, 1e-300, 2j, ..., None, True, not x, -1, +x, ~x,
    )  # fmt: skip


def statements(xs, *, flag=False):
    global WRITTEN
    WRITTEN = 1
    total: int = 0
    bare: str
    for i, (a, *rest) in enumerate(xs):
        if not a:
            continue
        elif a > 3 > i:
            break
        total += i
    else:
        del rest
    while (n := total) > 10:
        total -= n // 2 % 3**2 @ 1 << 1 >> 2 | 4 & 5 ^ 6
    with opened(1) as q, opened(2):
        assert q is not None, "message"
    lambdas = [lambda *a, k=1, **kw: (a, k, kw), lambda: (yield)]
    sets = {x for x in xs if x if flag}, {k: v for k, v in xs}, {**TABLE}, [*xs], (y async for y in xs)
    a = b = xs[1:2, ..., ::3]
    a, b.c, b[0] = sets
    try:
        import golden_missing.part as missing
        from os import path as p, sep
    except* ValueError:
        pass
    return a if flag else lambdas, missing, p, sep, os.path.join("a", "b"), log, NEGATIVE_ZERO, INFINITE, HUGE


def matching(x):
    match x:
        case {"a": [1, *rest], **others} if rest:
            return others
        case Point(x=3, y=[]) | None | Color.RED:
            return 3
        case -1 | 2 + 3j | "text" | True as y:
            return y
        case [_, _]:
            return 4


def nested(n):
    class Local(Base, metaclass=type):
        """Doc."""

        field: int = RATE
        """About the field."""

        async def method(self):
            count = n

            def step():
                nonlocal count
                count += 1

            await self
            return [z async for z in self], __class__

    def inner(x=lambda: n):
        return n, Local, x

    return inner


inner = nested(1)
partial = functools.partial(strings, width=functools.partial(helper, 2))


def run():
    return Pair(1, 2), Typed(3), Color.RED, Flags.A, Point(), kind(2), Derived().run(), TABLE, statements, matching
