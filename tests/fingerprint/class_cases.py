"""Programs with classes; see `cases`."""

from tests.fingerprint.cases import Case

OF_CLASSES = (
    Case(
        "a method through self",
        """\
class Run:
    rate = 2
    def __init__(self): self.value = 3
    def run(self, x): return self.step(x) * self.rate
    def step(self, x): return self.twice(x) + 1
    @property
    def unused(self): return 5
    @staticmethod
    def twice(x): return x * 2
""",
        root="Run.run",
        counts=(("rate = 2", "rate = 3"), (") + 1", ") + 2"), ("x * 2", "x * 3")),
        keeps=(("return 5", "return 6"), ("self.value = 3", "self.value = 4")),
    ),
    Case(
        "a method of a base class, a property and a class method",
        """\
from lib import Base
class Run(Base):
    def run(self): return self.inherited(), self.size, self.make()
""",
        """\
class Base:
    def inherited(self): return 1
    @property
    def size(self): return 2
    @classmethod
    def make(cls): return 3
    def other(self): return 4
""",
        root="Run.run",
        counts=(("return 1", "return 10"), ("return 2", "return 20"), ("return 3", "return 30")),
        keeps=(("return 4", "return 40"),),
    ),
    Case(
        "super",
        """\
from lib import Base
class Run(Base):
    def run(self): return super().run() + 1
""",
        """\
class Base:
    def run(self): return 2
""",
        root="Run.run",
        counts=(("return 2", "return 3"),),
    ),
    Case(
        "a class with bases",
        """\
from lib import Base
class Thing(Base):
    kind = 'a'
    table = {'k': [1]}
    def get(self): return 1
def run(): return Thing()
""",
        """\
class Root:
    def low(self): return 'low'
class Base(Root):
    def get(self): return 'get'
""",
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
        """\
from dataclasses import dataclass, field
@dataclass
class P:
    x: int
    y: list = field(default_factory=list)
    z: float = 1.0
    def area(self): return self.x * 2
def run(): return P(1).area()
""",
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
        """\
import enum, collections, typing
class E(enum.Enum):
    A = 1
    B = 2
    def shown(self): return 'shown'
N = collections.namedtuple('N', 'a b', defaults=[7])
class T(typing.NamedTuple):
    u: int = 5
    def total(self): return 'total'
O = E.A
def run(): return E.B, N(1, 2), T(), O
""",
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
        """\
from lib import Scale
scale = Scale(2)
call = Scale(5).twice
def run(x): return scale(x) + call(x)
""",
        """\
class Scale:
    def __init__(self, by): self.by = by
    def __call__(self, x): return x * self.by
    def twice(self, x): return 2 * self.by
""",
        counts=(("Scale(2)", "Scale(3)"), ("x * self", "x + self"), ("2 * self", "3 * self"), ("Scale(5)", "Scale(6)")),
    ),
    Case(
        "frozen dataclasses as constants",
        """\
from dataclasses import dataclass
@dataclass(frozen=True)
class Settings:
    rate: float
    kind: str = 'a'
S = Settings(1.0)
def run(): return S.rate
""",
        counts=(("1.0", "1.5"), ("'a'", "'b'")),
    ),
)
