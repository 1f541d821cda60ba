"""What expressions look like."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lazycache import computed, digest, hash_by_file_date, key, lazy, pure
from lazycache.expressions.tree import HashedLeaf
from lazycache.show import program, summary

SHAPED = "ndarray(shape=(1000,), dtype=float64)"
ARRAY = np.arange(1000.0)
SHORT = digest(ARRAY).short


@pytest.mark.parametrize(
    ("leaf", "text"),
    [
        (computed(3), "computed(3)"),
        (computed("hello"), "computed('hello')"),
        (computed(None), "computed(None)"),
        (computed(ARRAY.copy()), f"computed(?:{SHAPED})"),
        (computed(ARRAY.copy(), own=True), f"computed({SHORT}:{SHAPED})"),
        (lazy(3), "<lazy 3>"),
        (lazy(ARRAY.copy()), f"<lazy ? {SHAPED}>"),
        (lazy(ARRAY.copy(), own=True), f"<lazy {SHORT} {SHAPED}>"),
        (computed([1, 2, 3]), "computed(?:list(length=3))"),
        (computed(pd.DataFrame({"a": [1, 2]})), "computed(?:DataFrame(shape=(2, 1)))"),
        (computed(np.zeros((), dtype="i4")), "computed(?:ndarray(shape=(), dtype=int32))"),
        (computed(np.float64(2.5)), "computed(np.float64(2.5))"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_leaves(leaf: Any, text: str) -> None:
    assert repr(leaf) == text


@dataclasses.dataclass
class Settings:
    window: int
    data: Any = None


def test_settings_are_told_apart() -> None:
    @pure(version=1, name="smooth")
    def smooth(settings: Settings) -> int:
        return settings.window

    assert summary(smooth(Settings(5))) == "smooth(Settings(window=5, data=None))"
    assert repr(computed(Settings(7, np.zeros(3)))) == (
        "computed(?:Settings(window=7, data=ndarray(shape=(3,), dtype=float64)))"
    )
    assert summary(smooth(Settings(5, "long" * 99))) == "smooth(Settings(window=5, data=str(length=396)))"


def test_repr_takes_no_digest() -> None:
    leaf = computed(ARRAY.copy())
    node = leaf + computed(3)
    assert repr(leaf).startswith("computed(?:")
    assert repr(node).startswith("lazy(?:\n")
    assert leaf._token is None
    key(leaf)
    assert repr(leaf) == f"computed({SHORT}:{SHAPED})"
    assert repr(node).startswith(f"lazy({key(node).short}:\n")


def test_the_program_of_the_seed_document() -> None:
    zeros, fours = np.zeros(100_000), np.ones(100_000) * 4
    node = computed(zeros, own=True) + 4 - computed(fours, own=True)
    assert repr(node) == (
        f"lazy({key(node).short}:\n"
        "  v1 + 4 - v2\n"
        "  with\n"
        f"  v1: {digest(zeros).short} ndarray(shape=(100000,), dtype=float64)\n"
        f"  v2: {digest(fours).short} ndarray(shape=(100000,), dtype=float64)\n"
        ")"
    )


@pure(version=1)
def g(x: Any, y: Any) -> Any:
    return x + y


@pure(hashers={"filename": hash_by_file_date})
def parse_my_file(filename: str) -> str:
    return Path(filename).read_text()


def test_pure_calls_print_their_inputs(tmp_path: Path) -> None:
    array = computed(ARRAY.copy(), own=True)
    node = g(array, array)
    assert repr(node) == f"lazy({key(node).short}:\n  {__name__}.g(v1, v1)\n  with\n  v1: {SHORT} {SHAPED}\n)"
    path = tmp_path / "foo.dat"
    path.write_text("data")
    assert re.fullmatch(
        rf"lazy\([0-9a-f]{{6}}:\n  {re.escape(__name__)}\.parse_my_file\(v1\)\n  with\n"
        rf'  v1: [0-9a-f]{{6}} <file "{re.escape(str(path))}" modified \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d>\n\)',
        repr(parse_my_file(str(path))),
    )


x = computed(ARRAY + 1)
y = computed(ARRAY + 2)
z = computed(ARRAY + 3)

PROGRAMS = {
    "v1 - v2 - v3": x - y - z,
    "v1 - (v2 - v3)": x - (y - z),
    "(v1 + v2) * v3": (x + y) * z,
    "v1 + v2 * v3": x + y * z,
    "v1 / (v2 * v3)": x / (y * z),
    "v1 ** v2 ** v3": x ** (y**z),
    "(v1 ** v2) ** v3": (x**y) ** z,
    "(-v1) ** 2": (-x) ** 2,
    "-v1 ** 2": -(x**2),
    "2 ** -v1": 2**-x,
    "-(v1 + v2)": -(x + y),
    "v1 - -2": x - -2,
    "(-2) ** v1": (-2) ** x,
    "~v1 & v2 | v3 ^ 1": (~x & y) | (z ^ 1),
    "(v1 | v2) & v3": (x | y) & z,
    "v1 << 1 + v2": x << (1 + y),
    "(v1 < v2) < v3": (x < y) < z,
    "v1 < (v2 >= v3)": x < (y >= z),
    "(v1 > 1) & (v2 > 2)": (x > 1) & (y > 2),
    "v1 @ v2": x @ y,
    "abs(v1 - 1)": abs(x - 1),
    "divmod(v1, 2)": divmod(x, 2),
    "pow(v1, 2, 3)": pow(x, 2, 3),
    "(v1 + 1).mean(axis=0).T": (x + 1).mean(axis=0).T,
    "(-v1).real": (-x).real,
    "v1[0, 1:, ::2, ..., None]": x[0, 1:, ::2, ..., None],
    "v1[v2 > 1]": x[y > 1],
    "v1[v2:3,]": x[y:3,],
    "v1[()]": x[()],
    "v1['a']": x["a"],
    "v1(1, k=v2)": x(1, k=y),
    "(v1 + v2)(3)": (x + y)(3),
    "(3).real": computed(3).real,
    "'a' + v1": "a" + x,
    "np.sin(v1)": np.sin(x),
    "np.add.reduce(v1, axis=0)": np.add.reduce(x, axis=0),
    "np.linalg.norm(v1)": np.linalg.norm(x),
    "np.concatenate([v1, v2], axis=-1)": np.concatenate([x, y], axis=-1),
    "np.sum(v1, dtype=np.float32)": np.sum(x, dtype=np.float32),
    "v1.f({'a': [v2, (1,)]}, slice(v3, None, None))": x.f({"a": [y, (1,)]}, slice(z, None)),
    "v1.f([1, 2], ('a', None))": x.f([1, 2], ("a", None)),
}


@pytest.mark.parametrize(("text", "node"), PROGRAMS.items(), ids=PROGRAMS.keys())
def test_brackets_only_where_needed(text: str, node: Any) -> None:
    assert program(node).split("\n")[0] == text


@pytest.mark.parametrize("text", [text for text in PROGRAMS if not re.search(r"np\.|\(3\)|\.f\(", text)])
def test_what_is_printed_is_what_runs(text: str) -> None:
    """Python reads the printed text as the same tree."""
    names = {"v1": x, "v2": y, "v3": z}
    again = eval(text, names)
    assert program(again).split("\n")[0] == text
    assert again == PROGRAMS[text]


def test_shared_nodes_get_a_line() -> None:
    e = 5 * x
    assert program(e + e).split("\n")[:2] == ["e1 = 5 * v1", "e1 + e1"]
    twice = e + 1
    assert program(np.stack([twice, twice]) * e).split("\n")[:3] == [
        "e1 = 5 * v1",
        "e2 = e1 + 1",
        "np.stack([e2, e2]) * e1",
    ]


def test_ladders_print_in_linear_size() -> None:
    e = x
    for _ in range(40):
        e = e + e
    assert len(repr(e).splitlines()) < 60
    assert len(repr(e)) < 2000
    assert len(summary(e)) <= 200


def test_long_chains_are_shortened() -> None:
    e: Any = x
    for step in range(10_000):
        e = e * 2 + step
    text = repr(e)
    assert "…" in text
    assert "+ 9999\n" in text
    assert len(text) < 4000
    assert len(summary(e, 80)) <= 80


def test_many_inputs_are_cut() -> None:
    e = computed(list)(*[computed(np.zeros(3)) for _ in range(100)])
    assert len(repr(e).splitlines()) < 40
    assert "and 80 more" in repr(e)


def test_large_constants_are_named_by_type() -> None:
    node = x.f("x" * 10_000, 10**5000, b"b" * 1000, [1] * 1000)
    assert len(repr(node)) < 1000


def test_one_object_has_one_name() -> None:
    array = np.zeros(3)
    node: Any = (array + x) * array
    assert program(node).split("\n")[0] == "(v1 + v2) * v1"


def test_hashed_leaves_show_their_text() -> None:
    leaf = HashedLeaf("/data/x", digest(3), '<file "/data/x">', (), "hash_by_file_date")
    assert '<file "/data/x">' in repr(leaf)
    assert summary(computed(len)(leaf)).endswith('(<file "/data/x">)')


def test_summaries_are_one_line() -> None:
    assert summary((x + 1).sum()) == f"({SHAPED} + 1).sum()"
    assert summary(computed(3)) == "3"
    assert "\n" not in summary(computed("a\nb") * 2)
