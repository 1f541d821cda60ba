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


CASES = (
    Case(
        "its own text",
        '''
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
        "from lib import first\ndef run(x): return first(x)\n",
        "def first(x): return second(x)\ndef second(x): return x + 1  # note\n",
        counts=(("x + 1", "x + 2"), ("second(x)\n", "-second(x)\n")),
        keeps=(
            ("# note", ""),
            ("def second(x): return", "\n\ndef second(x):\n    return"),
            ("def second", "unused = 3\ndef second"),
        ),
    ),
    Case(
        "a member of a module",
        "import lib\nimport lib as other\ndef run(x): return lib.helper(x), other.RATE\n",
        "RATE = 1.5\ndef helper(x): return x + 1\nUNUSED = [3]\n",
        counts=(("x + 1", "x + 2"), ("1.5", "1.25")),
        keeps=(("[3]", "[4]"), ("UNUSED", "import os\nUNUSED")),
    ),
    Case(
        "an import in the body",
        "def run(x):\n    import lib as l\n    from lib import more\n    return l.helper(x) + more(x)\n",
        "def helper(x): return x + 1\ndef more(x): return x * 3\ndef unused(): return 9\n",
        counts=(("x + 1", "x + 2"), ("x * 3", "x * 4")),
        keeps=(("return 9", "return 8"),),
    ),
    Case(
        "constants",
        "from pathlib import Path\nA, B, C, D, E = 1, 'x', (1, (2.0, None)), frozenset({'p', 'q'}), Path('data')\n"
        "UNUSED = 7\ndef run(): return [A, B, C, D, E]\n",
        counts=(("1, 'x'", "True, 'x'"), ("'x'", "b'x'"), ("2.0", "2"), ("'q'", "'r'"), ("'data'", "'date'")),
        keeps=(("{'p', 'q'}", "{'q', 'p'}"), ("UNUSED = 7", "UNUSED = 8")),
    ),
    Case(
        "dispatch tables",
        "from lib import one, two\nTABLE = {'a': one, 'b': [two, 3]}\ndef run(k): return TABLE[k]\n",
        "def one(x): return x + 1\ndef two(x): return x + 2\n",
        counts=(("x + 1", "x + 10"), ("x + 2", "x + 20"), ("'a': one", "'c': one"), ("two, 3", "two, 4")),
    ),
    Case(
        "a wrapper made with wraps",
        "from lib import timed\n@timed\ndef helper(x): return x + 1\ndef run(x): return helper(x)\n",
        "import functools\nTIMES = 2\ndef timed(function):\n    @functools.wraps(function)\n"
        "    def wrapper(*a): return function(*a) * TIMES\n    return wrapper\n",
        counts=(("x + 1", "x + 2"), ("* TIMES", "+ TIMES"), ("TIMES = 2", "TIMES = 3")),
        keeps=(("def timed(function):", "def timed(function):  # note"),),
    ),
    Case(
        "a wrapper made without wraps",
        "from lib import scaled\n@scaled(3)\ndef helper(x): return x + 1\ndef run(x): return helper(x)\n",
        "def scaled(by):\n    def deco(function):\n        def wrapper(*a): return function(*a) * by\n"
        "        return wrapper\n    return deco\n",
        counts=(("x + 1", "x + 2"), ("* by", "+ by"), ("scaled(3)", "scaled(4)")),
    ),
    Case(
        "cached helpers",
        "import functools\n@functools.lru_cache(maxsize=10)\ndef one(x): return x + 1\n@functools.cache\n"
        "def two(x): return x + 2\ndef run(x): return one(x) + two(x)\n",
        counts=(("x + 1", "x + 3"), ("x + 2", "x + 3")),
    ),
    Case(
        "context managers and single dispatch",
        "import functools, contextlib\n@contextlib.contextmanager\ndef opened(x):\n    yield x + 1\n"
        "@functools.singledispatch\ndef kind(x): return 'any'\n@kind.register\ndef _(x: int): return 'int'\n"
        "def run(x):\n    with opened(x) as y: return kind(y)\n",
        counts=(("x + 1", "x + 2"), ("'any'", "'all'"), ("'int'", "'integer'")),
    ),
    Case(
        "partials",
        "import functools\nfrom lib import power\nsquare = functools.partial(power, exponent=2)\nrun = functools.partial(square, 3)\n",
        "def power(x, exponent): return x ** exponent\n",
        counts=(("exponent=2", "exponent=4"), ("(square, 3)", "(square, 3.0)"), ("x **", "-x **")),
    ),
    Case(
        "mutual recursion",
        "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\ndef run(n): return even(n)\n",
        counts=(("n == 0", "n == 1"), ("n != 0", "n != 1")),
        keeps=(("def odd", "# note\ndef odd"),),
    ),
    Case(
        "recursion from the root",
        "def run(n): return 1 if n < 2 else n * step(n)\ndef step(n): return run(n - 1)\n",
        counts=(("n < 2", "n < 3"), ("n - 1", "n - 2")),
    ),
    Case(
        "closures",
        "from lib import make\nrun = make(3, lambda x: x + 1)\n",
        "def make(by, function):\n    def inner(x):\n        def deeper(): return function(x) * by\n        return deeper()\n    return inner\n",
        counts=(("make(3", "make(4"), ("x + 1", "x + 2"), ("* by", "- by")),
        keeps=(("def make", "def other(): pass\ndef make"),),
    ),
    Case(
        "nested functions, lambdas and comprehensions",
        "from lib import one, two, three, four\ndef run(xs):\n    def inner(y): return one(y)\n    class Local:\n"
        "        kept = three(1)\n    return [two(x) for x in map(inner, xs)], (lambda z: four(z))(1), Local.kept\n",
        "def one(x): return 1\ndef two(x): return 2\ndef three(x): return 3\ndef four(x): return 4\n",
        counts=(
            ("return 1", "return 10"),
            ("return 2", "return 20"),
            ("return 3", "return 30"),
            ("return 4", "return 40"),
        ),
    ),
    Case(
        "names that only look global",
        "data = [1]\nhelper = {2}\ndef run(x):\n    data = x.helper\n    return [helper for helper in data], lambda data: data\n",
        keeps=(("data = [1]", "data = object"), ("{2}", "{3}")),
    ),
    Case(
        "a method through self",
        "class Run:\n    rate = 2\n    def __init__(self): self.value = 3\n    def run(self, x): return self.step(x) * self.rate\n"
        "    def step(self, x): return self.twice(x) + 1\n    @property\n    def unused(self): return 5\n"
        "    @staticmethod\n    def twice(x): return x * 2\n",
        root="Run.run",
        counts=(("rate = 2", "rate = 3"), (") + 1", ") + 2"), ("x * 2", "x * 3")),
        keeps=(("return 5", "return 6"), ("self.value = 3", "self.value = 4")),
    ),
    Case(
        "a method of a base class, a property and a class method",
        "from lib import Base\nclass Run(Base):\n    def run(self): return self.inherited(), self.size, self.make()\n",
        "class Base:\n    def inherited(self): return 1\n    @property\n    def size(self): return 2\n"
        "    @classmethod\n    def make(cls): return 3\n    def other(self): return 4\n",
        root="Run.run",
        counts=(("return 1", "return 10"), ("return 2", "return 20"), ("return 3", "return 30")),
        keeps=(("return 4", "return 40"),),
    ),
    Case(
        "super",
        "from lib import Base\nclass Run(Base):\n    def run(self): return super().run() + 1\n",
        "class Base:\n    def run(self): return 2\n",
        root="Run.run",
        counts=(("return 2", "return 3"),),
    ),
    Case(
        "a class with bases",
        "from lib import Base\nclass Thing(Base):\n    kind = 'a'\n    table = {'k': [1]}\n    def get(self): return 1\n"
        "def run(): return Thing()\n",
        "class Root:\n    def low(self): return 'low'\nclass Base(Root):\n    def get(self): return 'get'\n",
        counts=(
            ("'a'", "'b'"),
            ("return 1", "return 2"),
            ("'low'", "'lower'"),
            ("'get'", "'got'"),
            ("[1]", "[2]"),
            ("(Root)", ""),
        ),
        keeps=(("    kind", "    # note\n    kind"), ("class Root:\n", "class Root:\n    '''Doc.'''\n")),
    ),
    Case(
        "a dataclass",
        "from dataclasses import dataclass, field\n@dataclass\nclass P:\n    x: int\n    y: list = field(default_factory=list)\n"
        "    z: float = 1.0\n    def area(self): return self.x * 2\ndef run(): return P(1).area()\n",
        counts=(
            ("1.0", "2.0"),
            ("x * 2", "x * 3"),
            ("@dataclass\n", "@dataclass(frozen=True)\n"),
            ("    x: int\n", "    w: int\n"),
            ("factory=list", "factory=dict"),
        ),
    ),
    Case(
        "enums and named tuples",
        "import enum, collections, typing\nclass E(enum.Enum):\n    A = 1\n    B = 2\n    def shown(self): return 'shown'\n"
        "N = collections.namedtuple('N', 'a b', defaults=[7])\nclass T(typing.NamedTuple):\n    u: int = 5\n"
        "    def total(self): return 'total'\nO = E.A\ndef run(): return E.B, N(1, 2), T(), O\n",
        counts=(
            ("B = 2", "B = 3"),
            ("'shown'", "'show'"),
            ("'a b'", "'a c'"),
            ("[7]", "[8]"),
            ("u: int = 5", "u: int = 6"),
            ("'total'", "'sum'"),
            ("O = E.A", "O = E.B"),
        ),
    ),
    Case(
        "a callable instance and a bound method",
        "from lib import Scale\nscale = Scale(2)\ncall = Scale(5).twice\ndef run(x): return scale(x) + call(x)\n",
        "class Scale:\n    def __init__(self, by): self.by = by\n    def __call__(self, x): return x * self.by\n"
        "    def twice(self, x): return 2 * self.by\n",
        counts=(("Scale(2)", "Scale(3)"), ("x * self", "x + self"), ("2 * self", "3 * self"), ("Scale(5)", "Scale(6)")),
    ),
    Case(
        "frozen dataclasses as constants",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Settings:\n    rate: float\n    kind: str = 'a'\n"
        "S = Settings(1.0)\ndef run(): return S.rate\n",
        counts=(("1.0", "1.5"), ("'a'", "'b'")),
    ),
    Case(
        "installed packages, modules and loggers by name",
        "import logging, math, os.path as path\nimport lib\nlog = logging.getLogger('job')\nOTHER = 1\n"
        "def run(x):\n    log.info('x'); return math.sqrt(x), path.join('a'), len([x]), str(lib)\n",
        "anything = 1\n",
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
        "from lib import helper\ndef run(x, y=1): return helper(x) + 1\n",
        "def helper(x): return x + 5\n",
        options={"code": "self"},
        counts=((") + 1", ") + 2"), ("y=1", "y=2")),
        keeps=(("x + 5", "x + 6"),),
    ),
    Case(
        "nothing",
        "def run(x): return x + 1\n",
        options={"code": "none"},
        keeps=(("x + 1", "x + 2"),),
    ),
    Case(
        "ignored globals",
        "import lib\nCALLS = []\nclass K:\n    seen = 0\ndef run(x):\n    CALLS.append(x); lib.LOG[x] = 1; return K\n",
        "LOG = {}\n",
        options={"ignore": ["CALLS", "lib.LOG", "K.seen"]},
        keeps=(("CALLS = []", "CALLS = [object()]"), ("LOG = {}", "LOG = {1: 2}"), ("seen = 0", "seen = 1")),
    ),
    Case(
        "dependencies",
        "def run(x): return x\n",
        "X = 1  # note\n",
        options={"depends": ["lib"]},
        counts=(("X = 1", "X = 2"),),
        keeps=(("# note", ""),),
    ),
    Case(
        "decorators of lazycache itself",
        "from lazycache.current import in_context\ndef noted(**options): return lambda f: f\n"
        "@in_context  # a decorator of ours\ndef helper(x): return x + 1\nrun = helper\n"
        "@noted(a=1)\ndef other(x): return x\n",
        counts=(("x + 1", "x + 2"),),
        keeps=(("a=1", "a=2"),),
    ),
)
