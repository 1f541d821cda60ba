"""The text must be the code that runs."""

from __future__ import annotations

import importlib
import linecache
import os
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from lazycache.fingerprint import fingerprint
from tests.fingerprint.process import ROOT

Load = Callable[[str], ModuleType]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def load(folder: Path) -> Load:
    """Write a text to the same file each time, and load it as a new module."""
    count = 0

    def write_and_load(text: str) -> ModuleType:
        nonlocal count
        count += 1
        (folder / "edited.py").write_text(text)
        spec = importlib.util.spec_from_file_location(f"edited{count}", folder / "edited.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        # Not by exec_module: a .pyc would be taken for new when size and date are equal.
        exec(compile(text, str(folder / "edited.py"), "exec"), vars(module))
        return module

    return write_and_load


def _digest(function: Any) -> bytes:
    taken = fingerprint(function)
    assert taken.mismatch is None
    return taken.digest


def test_old_code_does_not_get_the_new_text(load: Load, folder: Path) -> None:
    old = load("def f(x):\n    return x + 1\n")
    new = load("def f(x):\n    return x + 2\n")
    stale = fingerprint(old.f)
    assert stale.mismatch is not None
    assert str(folder / "edited.py") in stale.mismatch
    assert "f" in stale.mismatch
    assert stale.digest != _digest(new.f)


def test_old_code_is_found_again_after_it_moved(load: Load) -> None:
    text = "class A:\n    @staticmethod\n    def f(x):\n        return __private(x) + 1\n"
    first = load(text)
    digest = _digest(first.A.f)
    second = load("import os\n\n\n# moved\n" + text)
    assert _digest(second.A.f) == digest
    # A code object that nobody has asked for yet, with line numbers that are no longer true.
    third = load(text)
    load("import os\n\n\n# moved\n" + text)
    assert _digest(third.A.f) == digest


def test_editing_back_gives_the_old_digest(load: Load) -> None:
    first = _digest(load("def f(x): return x + 1\n").f)
    assert _digest(load("def f(x): return x + 2\n").f) != first
    assert _digest(load("def f(x): return x + 1\n").f) == first


def test_a_rewrite_of_equal_size_and_date_is_noticed(load: Load, folder: Path) -> None:
    old = load("def f(x): return x + 1\n")
    before = os.stat(folder / "edited.py")
    new = load("def f(x): return x + 2\n")
    os.utime(folder / "edited.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert fingerprint(old.f).mismatch is not None
    assert fingerprint(new.f).mismatch is None


def test_a_mismatch_in_a_helper_counts(load: Load, folder: Path) -> None:
    helper = load("def helper(x): return x + 1\n")
    load("def helper(x): return x + 2\n")
    caller: dict[str, Any] = {"helper": helper.helper}
    exec("def f(x): return helper(x)", caller)
    assert fingerprint(caller["f"]).mismatch is not None


KINDS = {
    "methods of imported names": """\
import math, os.path as p
from pathlib import Path
def f(x): return math.sqrt(x), p.join('a'), Path.cwd()
""",
    "a method of a nested class": """\
def outer(n):
    class Local:
        def f(self): return n, __x, super().__repr__()
    return Local().f
f = outer(1)
""",
    "functions of one name in each other": """\
def f():
    def f():
        class C:
            def g(self): return __class__
        return C
    return f
f = f()
""",
    "annotations": """\
from __future__ import annotations
def f(x: 'int', *a: int, k: str = 'a', **kw) -> None:
    y: int = 3
    return a
""",
    "private names and lambdas in lambdas": """\
def outer(__p):
    class K:
        __q = 1
        def f(self): return __p, self.__q
    return K.f
class X:
    f = staticmethod(lambda: (lambda: __z))
f = X.f()
""",
    "decorators and strings to the left": """\
@(lambda f: f)
@(lambda f: f)
def f(
    x,
    y=(lambda: 1),
):
    s = '''
left
'''
    return (
        x
    )
""",
    "an indented block": """\
if True:
    def f(x):
        # note

        return [y for y in x if y], {a: b for a, b in x}

""",
    "a generator": """\
def f(x):
    global G
    G = x
    try:
        yield x
    finally:
        del G
""",
    "a coroutine": """\
async def f(x):
    async with x as y:
        return [z async for z in y]
""",
    "a lambda with a lambda as default": """\
f = lambda x, g=lambda: 2: (yield x)
""",
    "tabs": "def f(x):\n\treturn x\n",
    "no line end at the end": "def f(): return 1",
    "carriage returns and form feeds": "def f():\r\n    return 'a\x0cb'\r\n",
    "another encoding": "# -*- coding: latin-1 -*-\ndef f(): return 'a\xe4'\n",
}


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_every_kind_of_function_is_found(load: Load, folder: Path, text: str) -> None:
    encoding = "latin-1" if "latin-1" in text else "utf-8"
    (folder / "kinds.py").write_bytes(text.encode(encoding))
    module = importlib.import_module("kinds")
    assert fingerprint(module.f, ignore=["G"]).mismatch is None


def test_lambdas_on_one_line_are_told_apart(load: Load) -> None:
    module = load("a, b, c = (lambda x: x + 1), (lambda x: x + 2), (lambda x: x + 1)\n")
    assert _digest(module.a) != _digest(module.b)
    assert _digest(module.a) == _digest(module.c)


def test_equal_lambdas_on_other_lines_are_equal(load: Load) -> None:
    module = load("f = lambda a: a\n\n# more\ng = lambda a: (\n    a\n)\n")
    assert _digest(module.f) == _digest(module.g)


def test_closures_of_one_text_differ_by_what_they_hold(load: Load) -> None:
    module = load("def make(n):\n    def f(x): return x * n\n    return f\n")
    assert _digest(module.make(2)) == _digest(module.make(2))
    assert _digest(module.make(2)) != _digest(module.make(3))
    assert _digest(module.make(2)) != _digest(module.make(2.0))
    assert _digest(module.make([1])) != _digest(module.make([2]))


def test_cells_of_a_notebook_have_a_text() -> None:
    def run_cell(number: int, text: str) -> Any:
        name = f"/nowhere/ipykernel_1/{number}.py"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        namespace: dict[str, Any] = {"__name__": "__main__", "np": os}
        exec(compile(text, name, "exec"), namespace)
        return namespace["f"]

    one = run_cell(1, "def f(x):\n    return np.getpid(x) + 1\n")
    same = run_cell(2, "# again\n\ndef f(x):\n    'Doc.'\n    return np.getpid(x) + 1  # note\n")
    other = run_cell(3, "def f(x):\n    return np.getpid(x) + 2\n")
    assert _digest(one) == _digest(same)
    assert _digest(one) != _digest(other)


def test_code_without_a_text_goes_by_its_code() -> None:
    def make(text: str) -> Any:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(text, namespace)
        return namespace["f"]

    one = make("def g(x): return x + 1\ndef f(x): return g(x)")
    assert _digest(one) == _digest(make("\n\ndef g(x): return x + 1\n\ndef f(x): return g(x)"))
    assert _digest(one) != _digest(make("def g(x): return x + 2\ndef f(x): return g(x)"))
    assert _digest(one) != _digest(make("def g(x): return x + 1\ndef f(x): return g(-x)"))


@pytest.mark.parametrize(
    "body",
    [
        "from lib_of_texts import f; return f(1)",
        "from lib_of_texts import f as g, later as h; return g(1)",
        "import lib_of_texts; return lib_of_texts.f(1)",
        "import lib_of_texts as other; return (lambda: other.f(1))()",
        "import lib_of_texts.inner; return lib_of_texts.f(1)",
    ],
)
def test_what_code_without_a_text_imports_counts(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = types.ModuleType("lib_of_texts")
    monkeypatch.setitem(sys.modules, "lib_of_texts", library)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(f"def run(): {body}", namespace)

    def digest(text: str) -> bytes:
        exec(text, vars(library))
        return _digest(namespace["run"])

    first = digest("def f(x): return x + 1")
    assert digest("def f(x): return x + 2") != first
    assert digest("def f(x): return x + 1\ndef unused(): return 3") == first


@pytest.mark.parametrize(
    "body",
    [
        "return importlib.import_module('lib_of_texts').f(1)",
        "lib = importlib.import_module('lib_of_texts'); return lib.f(1)",
        "return __import__('lib_of_texts').f(1)",
    ],
)
def test_a_module_that_is_imported_by_its_name_as_text_counts(
    body: str, load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = types.ModuleType("lib_of_texts")
    monkeypatch.setitem(sys.modules, "lib_of_texts", library)
    run = load(f"import importlib\ndef run(): {body}\n").run

    def digest(text: str) -> bytes:
        exec(text, vars(library))
        return _digest(run)

    first = digest("def f(x): return x + 1")
    assert digest("def f(x): return x + 2") != first
    assert digest("def f(x): return x + 1\ndef unused(): return 3") == first


@pytest.mark.parametrize("parameters", ["self", "*all"])
def test_methods_of_code_without_a_text_take_their_class(parameters: str) -> None:
    def digest(step: int) -> bytes:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        name = parameters.strip("*")
        given = name if name == parameters else f"{name}[0]"
        text = f"class A:\n  def step(self): return {step}\n  def run({parameters}): return {given}.step()"
        exec(text, namespace)
        return _digest(namespace["A"].run)

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_functions_that_travelled_by_value_keep_their_text(load: Load) -> None:
    text = "RATE = 3\ndef make(n):\n    def f(x): return helper(x) * n + RATE\n    return f\n"
    module = load(text + "def helper(x): return x + 1\n")
    module.__name__ = "__main__"
    f = module.make(2)
    sent = cloudpickle.dumps((f, module.make(3)))
    arrived, other = cloudpickle.loads(sent)
    assert arrived is not f
    assert _digest(arrived) == _digest(f)
    assert _digest(other) == _digest(module.make(3)) != _digest(f)
    edited = load(text + "def helper(x): return x + 2\n")
    edited.__name__ = "__main__"
    # The file has another text now, which is not the code that arrived.
    assert fingerprint(cloudpickle.loads(sent)[0]).digest not in (_digest(edited.make(2)), _digest(edited.make(3)))


MODEL = """
import collections, dataclasses, enum
RATE = 2
Pair = collections.namedtuple("Pair", "a b")
class Slots:
    __slots__ = ("a",)
    def __init__(self): self.a = 1
    def get(self): return self.a
class Colour(enum.Enum):
    RED = 1
    def shown(self): return self.name
class Base:
    @property
    def width(self): return self.scale() * RATE
    def scale(self): return self.factor
class Model(Base):
    factor = 3
    def __init__(self, a): self.a = a
    @classmethod
    def make(cls): return cls(Model.plain(1))
    @staticmethod
    def plain(x): return x
@dataclasses.dataclass
class Settings:
    a: int
    def twice(self): return self.a * RATE
"""


@pytest.mark.parametrize(
    "value",
    [
        *("Model", "Base", "Settings", "Slots", "Colour", "Pair"),
        *("Model(1)", "Settings(3)", "[Model(2)]", "Slots()", "Colour.RED", "Pair(1, 2)"),
    ],
)
def test_classes_that_travelled_by_value_keep_their_text(value: str, folder: Path) -> None:
    (folder / "travelled.py").write_text(MODEL)
    sender = "import cloudpickle, sys, travelled\nfrom lazycache import digest\n"
    sender += "cloudpickle.register_pickle_by_value(travelled)\n"
    sender += f"value = eval({value!r}, vars(travelled))\n"
    sender += "sys.stdout.buffer.write(digest(value) + cloudpickle.dumps(value))"
    receiver = "import pickle, sys\nfrom lazycache import digest\n"
    receiver += "sys.stdout.buffer.write(digest(pickle.loads(sys.stdin.buffer.read())))"
    path = os.pathsep.join([str(ROOT), str(ROOT / "storage"), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    run = partial(subprocess.run, capture_output=True, check=True, env=env)
    sent = run([sys.executable, "-c", sender], cwd=folder).stdout
    found = run([sys.executable, "-c", receiver], input=sent[32:]).stdout
    assert found == sent[:32]


def test_a_file_with_only_byte_code_is_code_without_a_text(folder: Path) -> None:
    import py_compile

    (folder / "gone.py").write_text("def f(x): return x + 1\n")
    py_compile.compile(str(folder / "gone.py"), cfile=str(folder / "gone.pyc"))
    (folder / "gone.py").unlink()
    module = importlib.import_module("gone")
    assert fingerprint(module.f).mismatch is None


def test_asserts_that_a_test_runner_rewrote_are_no_mismatch() -> None:
    def checked(x: int) -> int:
        assert x > 0, "positive"
        return x

    assert checked.__code__.co_consts != (None,)
    assert fingerprint(checked).mismatch is None
