"""Programs, with edits that must change the fingerprint of `run` and edits that must not."""

from __future__ import annotations

from dataclasses import dataclass, field

Edit = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A program in job.py and lib.py; each edit replaces a text in either."""

    name: str
    job: str
    lib: str = ""
    counts: tuple[Edit, ...] = ()
    keeps: tuple[Edit, ...] = ()
    root: str = "run"
    options: dict[str, object] = field(default_factory=dict)

    def files(self, edit: Edit | None = None) -> dict[str, str]:
        """Return the two files, edited."""
        both = {"job.py": self.job, "lib.py": self.lib}
        if edit is None:
            return both
        assert sum(text.count(edit[0]) for text in both.values()) == 1, (self.name, edit)
        return {name: text.replace(*edit) for name, text in both.items()}


OF_FUNCTIONS = (
    Case(
        "names in constant texts",
        """\
import lib
def first(x): return x + 1
def second(x): return x + 2
def third(x): return x + 3
class Steps:
    def fourth(self, x): return x + 4
def run(x, first=None):
    found = globals()["first"](x), globals().get("second")(x)
    found += vars(lib)["fifth"](x), lib.__dict__["sixth"](x), getattr(lib, "inner").seventh(x)
    return found, getattr(lib, "nine", 9)
""",
        lib="""\
import types
def fifth(x): return x + 5
def sixth(x): return x + 6
class inner:
    def seventh(x): return x + 7
def eighth(x): return x + 8
""",
        counts=(
            ("x + 1", "x + 10"),
            ("x + 2", "x + 20"),
            ("x + 5", "x + 50"),
            ("x + 6", "x + 60"),
            ("x + 7", "x + 70"),
            ("import types", "nine = 10"),
        ),
        keeps=(("x + 3", "x + 30"), ("x + 4", "x + 40"), ("x + 8", "x + 80")),
    ),
    Case(
        "its own text",
        '''\
import os  # imports

def run(x, y: int = 1) -> int:
    """Doc."""
    # why
    a = x+1; b = f"{a!r:>{y}}"
    return (a, b, "one" "two")
''',
        counts=(("x+1", "x+2"), ("!r", "!s"), ('"one"', '"uno"'), ("int = 1", "int = 2"), ("(x, y", "(x, *, y")),
        keeps=(
            ('"""Doc."""', '"""Other."""'),
            ("# why", "# how\n\n"),
            ("x+1; b", "(x +\n        1)\n    b"),
            ("y: int = 1", "y: float = 1"),
            (" -> int", ""),
            ("# imports", "# imports\n\n\ndef other():\n    return 2\n"),
            ("    a = x", "    a: set = x"),
            ('"one" "two"', "'onetwo'"),
            ("    # why", "    'not a docstring'"),
        ),
    ),
    Case(
        "a helper of a helper",
        """\
from lib import first
def run(x): return first(x)
""",
        """\
def first(x): return second(x)
def second(x): return x + 1  # note
""",
        counts=(("x + 1", "x + 2"), ("second(x)\n", "-second(x)\n")),
        keeps=(
            ("# note", ""),
            ("def second(x): return", "\n\ndef second(x):\n    return"),
            ("def second", "unused = 3\ndef second"),
        ),
    ),
    Case(
        "a member of a module",
        """\
import lib
import lib as other
def run(x): return lib.helper(x), other.RATE
""",
        """\
RATE = 1.5
def helper(x): return x + 1
UNUSED = [3]
""",
        counts=(("x + 1", "x + 2"), ("1.5", "1.25")),
        keeps=(("[3]", "[4]"), ("UNUSED", "import os\nUNUSED")),
    ),
    Case(
        "an import in the body",
        """\
def run(x):
    import lib as l
    from lib import more
    return l.helper(x) + more(x)
""",
        """\
def helper(x): return x + 1
def more(x): return x * 3
def unused(): return 9
""",
        counts=(("x + 1", "x + 2"), ("x * 3", "x * 4")),
        keeps=(("return 9", "return 8"),),
    ),
    Case(
        "constants",
        """\
from pathlib import Path
A, B, C, D, E = 1, 'x', (1, (2.0, None)), frozenset({'p', 'q'}), Path('data')
UNUSED = 7
def run(): return [A, B, C, D, E]
""",
        counts=(("1, 'x'", "True, 'x'"), ("'x'", "b'x'"), ("2.0", "2"), ("'q'", "'r'"), ("'data'", "'date'")),
        keeps=(("{'p', 'q'}", "{'q', 'p'}"), ("UNUSED = 7", "UNUSED = 8")),
    ),
    Case(
        "dispatch tables",
        """\
from lib import one, two
TABLE = {'a': one, 'b': [two, 3]}
def run(k): return TABLE[k]
""",
        """\
def one(x): return x + 1
def two(x): return x + 2
""",
        counts=(("x + 1", "x + 10"), ("x + 2", "x + 20"), ("'a': one", "'c': one"), ("two, 3", "two, 4")),
    ),
    Case(
        "a wrapper made with wraps",
        """\
from lib import timed
@timed
def helper(x): return x + 1
def run(x): return helper(x)
""",
        """\
import functools
TIMES = 2
def timed(function):
    @functools.wraps(function)
    def wrapper(*a): return function(*a) * TIMES
    return wrapper
""",
        counts=(("x + 1", "x + 2"), ("* TIMES", "+ TIMES"), ("TIMES = 2", "TIMES = 3")),
        keeps=(("def timed(function):", "def timed(function):  # note"),),
    ),
    Case(
        "a wrapper made without wraps",
        """\
from lib import scaled
@scaled(3)
def helper(x): return x + 1
def run(x): return helper(x)
""",
        """\
def scaled(by):
    def deco(function):
        def wrapper(*a): return function(*a) * by
        return wrapper
    return deco
""",
        counts=(("x + 1", "x + 2"), ("* by", "+ by"), ("scaled(3)", "scaled(4)")),
    ),
    Case(
        "cached helpers",
        """\
import functools
@functools.lru_cache(maxsize=10)
def one(x): return x + 1
@functools.cache
def two(x): return x + 2
def run(x): return one(x) + two(x)
""",
        counts=(("x + 1", "x + 3"), ("x + 2", "x + 3")),
    ),
    Case(
        "context managers and single dispatch",
        """\
import functools, contextlib
@contextlib.contextmanager
def opened(x):
    yield x + 1
@functools.singledispatch
def kind(x): return 'any'
@kind.register
def _(x: int): return 'int'
def run(x):
    with opened(x) as y: return kind(y)
""",
        counts=(("x + 1", "x + 2"), ("'any'", "'all'"), ("'int'", "'integer'")),
    ),
    Case(
        "partials",
        """\
import functools
from lib import power
square = functools.partial(power, exponent=2)
run = functools.partial(square, 3)
""",
        """\
def power(x, exponent): return x ** exponent
""",
        counts=(("exponent=2", "exponent=4"), ("(square, 3)", "(square, 3.0)"), ("x **", "-x **")),
    ),
    Case(
        "mutual recursion",
        """\
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def run(n): return even(n)
""",
        counts=(("n == 0", "n == 1"), ("n != 0", "n != 1")),
        keeps=(("def odd", "# note\ndef odd"),),
    ),
    Case(
        "recursion from the root",
        """\
def run(n): return 1 if n < 2 else n * step(n)
def step(n): return run(n - 1)
""",
        counts=(("n < 2", "n < 3"), ("n - 1", "n - 2")),
    ),
    Case(
        "closures",
        """\
from lib import make
run = make(3, lambda x: x + 1)
""",
        """\
def make(by, function):
    def inner(x):
        def deeper(): return function(x) * by
        return deeper()
    return inner
""",
        counts=(("make(3", "make(4"), ("x + 1", "x + 2"), ("* by", "- by")),
        keeps=(("def make", "def other(): pass\ndef make"),),
    ),
    Case(
        "nested functions, lambdas and comprehensions",
        """\
from lib import one, two, three, four
def run(xs):
    def inner(y): return one(y)
    class Local:
        kept = three(1)
    return [two(x) for x in map(inner, xs)], (lambda z: four(z))(1), Local.kept
""",
        """\
def one(x): return 1
def two(x): return 2
def three(x): return 3
def four(x): return 4
""",
        counts=(
            ("return 1", "return 10"),
            ("return 2", "return 20"),
            ("return 3", "return 30"),
            ("return 4", "return 40"),
        ),
    ),
    Case(
        "names that only look global",
        """\
data = [1]
helper = {2}
def run(x):
    data = x.helper
    return [helper for helper in data], lambda data: data
""",
        keeps=(("data = [1]", "data = object"), ("{2}", "{3}")),
    ),
    Case(
        "installed packages, modules and loggers by name",
        """\
import logging, math, os.path as path
import lib
log = logging.getLogger('job')
OTHER = 1
def run(x):
    log.info('x'); return math.sqrt(x), path.join('a'), len([x]), str(lib)
""",
        """\
anything = 1
""",
        counts=(
            ("import logging, math", "import logging, cmath as math"),
            ("'job'", "'work'"),
            ("OTHER = 1", "len = max"),
            ("import lib", "import json as lib"),
        ),
        keeps=(("anything = 1", "anything = 2"),),
    ),
    Case(
        "only itself",
        """\
from lib import helper
def run(x, y=1): return helper(x) + 1
""",
        """\
def helper(x): return x + 5
""",
        options={"code": "self"},
        counts=((") + 1", ") + 2"), ("y=1", "y=2")),
        keeps=(("x + 5", "x + 6"),),
    ),
    Case(
        "nothing",
        """\
def run(x): return x + 1
""",
        options={"code": "none"},
        keeps=(("x + 1", "x + 2"),),
    ),
    Case(
        "ignored globals",
        """\
import lib
CALLS = []
class K:
    seen = 0
def run(x):
    CALLS.append(x); lib.LOG[x] = 1; return K
""",
        """\
LOG = {}
""",
        options={"ignore": ["CALLS", "lib.LOG", "K.seen"]},
        keeps=(("CALLS = []", "CALLS = [object()]"), ("LOG = {}", "LOG = {1: 2}"), ("seen = 0", "seen = 1")),
    ),
    Case(
        "dependencies",
        """\
def run(x): return x
""",
        """\
X = 1  # note
""",
        options={"depends": ["lib"]},
        counts=(("X = 1", "X = 2"),),
        keeps=(("# note", ""),),
    ),
    Case(
        "decorators of lazycache itself",
        """\
from lazycache.current import in_context
def noted(**options): return lambda f: f
@in_context  # a decorator of ours
def helper(x): return x + 1
run = helper
@noted(a=1)
def other(x): return x
""",
        counts=(("x + 1", "x + 2"),),
        keeps=(("a=1", "a=2"),),
    ),
)
