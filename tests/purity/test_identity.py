"""Two functions never share an identity; one function keeps its own."""

import functools
import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lazycache import Cache, compute, key, pure

ROOT = Path(__file__).parents[2]


def load(path: Path, text: str, name: str = "analysis") -> ModuleType:
    """Write a module and import it anew."""
    path.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Not through sys.modules, so that an old one stays as it was.
    code = compile(path.read_text(), path, "exec")
    exec(code, module.__dict__)
    return module


def run(*command: str, cwd: Path | None = None) -> str:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "storage")])
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=cwd,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def script(path: Path, text: str) -> str:
    path.write_text(textwrap.dedent(text))
    return str(path)


# -- scripts and notebooks --------------------------------------------------------------


def test_two_scripts_do_not_return_each_others_results(tmp_path: Path) -> None:
    text = """
        from lazycache import pure, cache
        @pure(version=1)
        def g(x):
            return x {operator} 10
        print(cache(g(2)))
    """
    add = script(tmp_path / "add.py", text.format(operator="+"))
    multiply = script(tmp_path / "multiply.py", text.format(operator="*"))
    assert [run(add), run(multiply), run(add), run(multiply)] == ["12", "20", "12", "20"]


def test_a_script_has_one_identity_from_everywhere_and_in_its_workers(tmp_path: Path) -> None:
    path = script(
        tmp_path / "one.py",
        """
        import multiprocessing
        from lazycache import pure, key
        @pure(version=1)
        def g(x):
            return x
        @pure
        def h(x):
            return g(x)
        def keys(_):
            return key(g(1)).hex() + key(h(1)).hex()
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(keys(0), *pool.map(keys, [0]))
        """,
    )
    os.mkdir(tmp_path / "sub")
    os.symlink(path, tmp_path / "sub" / "link.py")
    here, worker = run(path).split()
    assert here == worker
    assert run("../one.py", cwd=tmp_path / "sub") == f"{here} {here}"
    assert run("link.py", cwd=tmp_path / "sub") == f"{here} {here}"


def test_without_a_file_the_code_is_the_identity() -> None:
    text = "from lazycache import pure, key\n@pure(version=1)\ndef g(x): return x {} 1\nprint(key(g(1)).hex())"
    one, other = run("-c", text.format("+")), run("-c", text.format("-"))
    assert one == run("-c", text.format("+"))
    assert one != other


# -- versions, names and code -------------------------------------------------------------


VERSIONED = """
    from lazycache import pure
    @pure(version={version!r}{more})
    def g(x):
        return {body}
"""


def test_with_a_version_the_code_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "analysis.py"
    one = load(path, VERSIONED.format(version=1, more="", body="x + 1"))
    other = load(path, VERSIONED.format(version=1, more="", body="print(x) or x + 1"))
    assert key(one.g(1)) == key(other.g(1))


def test_every_version_is_another_one(tmp_path: Path) -> None:
    versions = [1, 2, True, 1.0, "1", (1,), (1, 0), "", 0]
    path = tmp_path / "analysis.py"
    keys = {key(load(path, VERSIONED.format(version=version, more="", body="x")).g(1)) for version in versions}
    keys.add(key(load(path, VERSIONED.format(version=None, more="", body="x")).g(1)))
    assert len(keys) == len(versions) + 1


def test_without_a_version_an_edit_misses_and_editing_back_hits(tmp_path: Path) -> None:
    path = tmp_path / "analysis.py"
    template = (
        "from lazycache import pure\nRATE = {rate}\ndef helper(x): return x + RATE\n@pure\ndef g(x): return helper(x)\n"
    )
    one = key(load(path, template.format(rate=1)).g(1))
    other = key(load(path, template.format(rate=2)).g(1))
    again = key(load(path, "# moved\n" + template.format(rate=1)).g(1))
    assert one == again != other


def test_a_global_that_changes_in_the_running_process_counts(tmp_path: Path) -> None:
    module = load(tmp_path / "analysis.py", "from lazycache import pure\nRATE = 1\n@pure\ndef g(x): return x + RATE\n")
    before = key(module.g(1))
    module.RATE = 2  # type: ignore[attr-defined]
    changed = key(module.g(1))
    module.RATE = 1  # type: ignore[attr-defined]
    assert before == key(module.g(1)) != changed


def test_a_name_stands_in_for_module_and_function(tmp_path: Path) -> None:
    text = VERSIONED.format(version=1, more=", name='lab.g'", body="x")
    one = load(tmp_path / "one.py", text, "one")
    other = load(tmp_path / "other.py", text.replace("def g", "def renamed"), "other")
    assert key(one.g(1)) == key(other.renamed(1))
    assert one.g.name == "lab.g"
    assert key(one.g(1)) != key(load(tmp_path / "one.py", VERSIONED.format(version=1, more="", body="x"), "one").g(1))


def test_depends_counts_beside_a_version(tmp_path: Path) -> None:
    path = tmp_path / "analysis.py"
    texts = [
        VERSIONED.format(version=1, more=more, body=body)
        for more, body in [("", "x"), (", depends=(1,)", "x"), (", depends=(2,)", "x"), (", depends='numpy'", "x")]
    ]
    keys = [key(load(path, text).g(1)) for text in texts]
    assert len(set(keys)) == 4
    assert key(load(path, VERSIONED.format(version=1, more=", depends=(1,)", body="x + 1")).g(1)) == keys[1]


def test_a_global_can_be_left_out(tmp_path: Path) -> None:
    template = "from lazycache import pure\nSEEN = {seen}\n@pure(ignore=('SEEN',))\ndef g(x): return x + len(SEEN)\n"
    path = tmp_path / "analysis.py"
    assert key(load(path, template.format(seen=[])).g(1)) == key(load(path, template.format(seen=[1])).g(1))


def test_two_functions_that_claim_one_name_are_told_apart(tmp_path: Path, cache: Cache) -> None:
    os.mkdir(tmp_path / "here")
    os.mkdir(tmp_path / "there")
    here = load(tmp_path / "here" / "analysis.py", VERSIONED.format(version=1, more="", body="x + 1"))
    there = load(tmp_path / "there" / "analysis.py", VERSIONED.format(version=1, more="", body="x * 10"))
    moved = load(tmp_path / "there" / "same.py", VERSIONED.format(version=1, more="", body="x + 1"))
    assert cache(here.g(5)) == 6
    with pytest.warns(UserWarning, match="name="):
        assert cache(there.g(5)) == 50
    assert cache(moved.g(5)) == 6


def test_a_global_of_a_helper_can_be_left_out(tmp_path: Path) -> None:
    template = """
        from lazycache import pure
        SEEN = {seen}
        def helper(x): return x + len(SEEN)
        @pure(ignore=('SEEN',))
        def g(x): return helper(x)
    """
    path = tmp_path / "analysis.py"
    assert key(load(path, template.format(seen=[])).g(1)) == key(load(path, template.format(seen=[1])).g(1))


# -- functions without a name of their own ----------------------------------------------------


def in_a() -> Any:
    @pure(version=1)
    def n(x: Any) -> Any:
        return x

    return n


def in_b() -> Any:
    @pure(version=1)
    def n(x: Any) -> Any:
        return x

    return n


def by_flag(flag: bool) -> Any:
    if flag:

        @pure(version=1)
        def n(x: Any) -> Any:
            return x + 1

    else:

        @pure(version=1)
        def n(x: Any) -> Any:
            return x * 2

    return n


def by_cell(held: Any, **options: Any) -> Any:
    @pure(version=1, **options)
    def n(x: Any) -> Any:
        return x, held

    return n


def fa(x: Any) -> Any:
    return x + 1


def fb(x: Any) -> Any:
    return x * 2


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


def named(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return -function(*args)

    return wrapper


def test_functions_of_one_bare_name_in_other_parents() -> None:
    assert key(in_a()(1)) == key(in_a()(1)) != key(in_b()(1))


def test_functions_of_one_qualified_name_in_one_parent() -> None:
    assert key(by_flag(True)(1)) == key(by_flag(True)(1)) != key(by_flag(False)(1))


@pytest.mark.parametrize(
    ("held", "other"),
    [(1, 2), (1, True), ([1], [2]), (fa, fb), (functools.partial(fa, 1), functools.partial(fa, 2)), (fa, named(fa))],
)
@pytest.mark.parametrize("options", [{}, {"name": "lab.n"}])
def test_functions_that_close_over_different_things(held: Any, other: Any, options: dict[str, Any]) -> None:
    assert key(by_cell(held, **options)(1)) == key(by_cell(held, **options)(1)) != key(by_cell(other, **options)(1))


def test_a_closure_counts_as_it_was_when_decorated() -> None:
    calls: list[int] = []
    n = by_cell(calls)
    before = key(n(1))
    calls.append(1)
    assert key(n(1)) == before


@pytest.mark.parametrize("version", [1, None])
def test_functions_in_one_wrapper_without_metadata(version: Any) -> None:
    decorate = pure(version=version)
    a, b = decorate(bare(fa)), decorate(bare(fb))
    assert key(a(3)) != key(b(3))
    assert key(a(3)) == key(decorate(bare(fa))(3))
    assert compute([a(3), b(3)]) == [4, 6]


@pytest.mark.parametrize("version", [1, None])
def test_a_wrapped_function_is_another_one(version: Any) -> None:
    decorate = pure(version=version)
    keys = {key(decorate(f)(3)) for f in (fa, named(fa), named(named(fa)), functools.lru_cache(fa), bare(fa))}
    assert len(keys) == 5


@pytest.mark.parametrize("version", [1, None])
def test_partials_carry_what_they_bind(version: Any) -> None:
    def f(a: Any, b: Any = 0, **more: Any) -> Any:
        return a, b, more

    decorate = pure(version=version)
    partials = [
        functools.partial(f, b="one"),
        functools.partial(f, b="two"),
        functools.partial(f, z=1),
        functools.partial(f, z=2),
        functools.partial(f),
    ]
    assert len({key(decorate(p)(3)) for p in partials} | {key(decorate(functools.partial(f, 3))())}) == 6
    assert compute([decorate(p)(3) for p in partials]) == [p(3) for p in partials]
    assert key(decorate(partials[0])(3)) == key(decorate(functools.partial(f, b="one"))(3))
    assert key(decorate(functools.partial(f, 3))()) != key(decorate(functools.partial(f, 4))())


def test_a_partial_cannot_be_changed_afterwards() -> None:
    def f(a: Any, b: Any, **more: Any) -> Any:
        for part in (a, more["c"]):
            part.append(b)
        return a, more["c"]

    bound, extra = [1], [3]
    g = pure(version=1)(functools.partial(f, bound, c=extra))
    before = key(g(2))
    bound.append(5)
    extra.append(5)
    assert key(g(2)) == before
    assert [compute(g(2)), compute(g(2))] == [([1, 2], [3, 2])] * 2
    assert (bound, extra) == ([1, 5], [3, 5])


def test_lambdas_carry_their_code() -> None:
    one, other = pure(version=1)(lambda x: x + 1), pure(version=1)(lambda x: x + 2)
    assert key(one(1)) != key(other(1))
    assert key(one(1)) == key(pure(version=1)(lambda x: x + 1)(1))
    named_one = pure(version=1, name="step")(lambda x: x + 1)
    assert key(named_one(1)) == key(pure(version=1, name="step")(lambda x: x + 2)(1))


def test_a_nested_function_may_refer_to_itself_and_to_later_ones() -> None:
    @pure(version=1)
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    @pure(version=1)
    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    assert compute(even(10)) is True
    assert key(even(10)) != key(odd(10))
