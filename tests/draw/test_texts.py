"""Trees, Graphviz, Mermaid and networkx."""

import re
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import computed, pure
from lazycache.draw import show_tree, to_dot, to_mermaid, to_networkx, tree_text
from lazycache.draw.labels import box_text
from lazycache.draw.placing import Spacing, place
from tests.draw.graphs import GRAPHS, chain, counts, hostile, pipeline

QUOTED = r'"(?:[^"\\]|\\.)*"'
STATEMENTS = {
    "node": re.compile(rf"  n(\d+) \[label=({QUOTED})( \w+=(\d|{QUOTED}))*\];"),
    "edge": re.compile(r"  n(\d+) -> n(\d+);"),
    "other": re.compile(rf"  node \[.*\];|  label={QUOTED};|digraph {{|}}"),
}
MERMAID = {
    "node": re.compile(r'  n(\d+)(?:\("([^"]*)"\)|\["([^"]*)"\])(:::\w+)?'),
    "edge": re.compile(r"  n(\d+) --> n(\d+)"),
    "other": re.compile(r'flowchart TB|  classDef \w+ \S+|  note\["[^"]*"\]:::input'),
}


def parse(text: str, grammar: dict[str, re.Pattern[str]]) -> dict[str, list[re.Match[str]]]:
    """Return the statements of a text by kind; each line must be one."""
    found: dict[str, list[re.Match[str]]] = {kind: [] for kind in grammar}
    for line in text.split("\n"):
        matches = [(kind, match) for kind, rule in grammar.items() if (match := rule.fullmatch(line))]
        assert len(matches) == 1, line
        found[matches[0][0]].append(matches[0][1])
    return found


def undot(quoted: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], quoted[1:-1])


def unmermaid(label: str) -> str:
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), label.replace("<br/>", "\n"))


@pytest.mark.parametrize("name", GRAPHS)
def test_dot_has_every_node_and_edge(name: str) -> None:
    x = GRAPHS[name]()
    found = parse(to_dot(x), STATEMENTS)
    assert (len(found["node"]), len(found["edge"])) == counts(x)
    assert [int(match[1]) for match in found["node"]] == list(range(len(found["node"])))


@pytest.mark.parametrize("name", GRAPHS)
def test_mermaid_has_every_node_and_edge(name: str) -> None:
    x = GRAPHS[name]()
    found = parse(to_mermaid(x, max_nodes=None), MERMAID)
    assert (len(found["node"]), len(found["edge"])) == counts(x)


@pytest.mark.parametrize("name", GRAPHS)
def test_networkx_has_every_node_and_edge(name: str) -> None:
    networkx = pytest.importorskip("networkx")
    x = GRAPHS[name]()
    graph = to_networkx(x)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == counts(x)
    assert networkx.is_directed_acyclic_graph(graph)
    for user, attributes in graph.nodes.items():
        below = {id(graph.nodes[dep]["node"]) for dep in graph.predecessors(user)}
        assert below == {id(dep) for dep in attributes["node"]._deps}


def test_networkx_says_what_a_node_is() -> None:
    pytest.importorskip("networkx")
    graph = to_networkx(lz.Variable((2, 3), dtype="f4").sum(axis=0))
    assert [graph.nodes[node]["function"] for node in graph] == ["variable", "sum"]
    assert graph.nodes[1]["label"] == "sum(□, axis=0)"
    assert graph.nodes[1]["result"] == "(3,) float32"


def test_labels_survive_the_formats() -> None:
    e = hostile()
    dot = {undot(match[2]) for match in parse(to_dot(e), STATEMENTS)["node"]}
    nodes = parse(to_mermaid(e), MERMAID)["node"]
    assert {unmermaid(match[2] or match[3]) for match in nodes} == dot
    assert all(re.fullmatch(r"[A-Za-z0-9 .,:=/()'#;]*", match[2] or match[3]) for match in nodes)
    whole = "\n".join(dot)
    assert "it\\'s \\\\ \"\\x00 $x$ #quot; ]]> -->" in whole
    assert '_odd <$x_1$> & "q" \\ \\x07 `b` ]]> #35; é中(□, ' in whole
    assert "\0" not in whole
    assert "\x07" not in whole


def test_mermaid_takes_no_label_for_a_list() -> None:
    step = pure(version=1, name="12. step of data")(lambda x: x)
    labels = [match[3] or match[2] for match in parse(to_mermaid(step(computed(1.5))), MERMAID)["node"]]
    assert labels == ["1.5", "12#46; step of data(#9633;)"]


@pytest.mark.parametrize(("draw", "grammar"), [(to_dot, STATEMENTS), (to_mermaid, MERMAID)])
def test_a_large_graph_is_shortened_to_what_is_next_to_the_result(draw: Any, grammar: Any) -> None:
    e = chain(5000)
    text = draw(e, max_nodes=100)
    found = parse(text, grammar)
    assert len(found["node"]) == 100
    assert len(found["edge"]) >= 99
    assert "of 5" in text.replace("#44;", ",")
    assert "of more" in text


def test_tree_refers_to_lines_already_there() -> None:
    x = computed(3)
    y = x + 1
    assert tree_text(y * (y - x)).splitlines() == [
        "   0 □ * □",
        "   1 ├─□ + 1",
        "   2 │ ╰─← 3",
        "   3 ╰─□ - □",
        "   4   ├─… line 1",
        "   5   ╰─… line 2",
    ]


def test_tree_of_arrays_has_shapes() -> None:
    x = lz.Variable((2, 3), dtype="f8")
    assert tree_text(lz.sqrt(x + 1.0)).splitlines() == [
        "   0 sqrt(□) → (2, 3) float64",
        "   1 ╰─□ + 1.0 → (2, 3) float64",
        "   2   ╰─← Variable (2, 3) float64",
    ]


@pytest.mark.parametrize("name", GRAPHS)
def test_tree_has_a_line_for_each_node_and_each_further_use(name: str) -> None:
    x = GRAPHS[name]()
    lines = tree_text(x).splitlines()
    nodes, edges = counts(x)
    seen = [line for line in lines if "… line" not in line]
    assert len(seen) == nodes
    assert len(lines) >= edges + 1


def test_tree_stops_where_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    show_tree(pipeline(), max_lines=4)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[-1].strip() == "…"
    show_tree(pipeline(), filler=".", max_depth=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.endswith(" …") for line in lines[1:])


def test_deep_trees_take_memory_in_proportion() -> None:
    shallow, deep = len(tree_text(chain(2000))), len(tree_text(chain(20_000)))
    assert deep < 11 * shallow


def test_chains_of_a_hundred_thousand_are_written() -> None:
    e = chain(100_000)
    assert tree_text(e, max_lines=10).count("\n") == 11
    assert to_dot(e).count(" -> ") == counts(e)[1]
    assert to_mermaid(e).count(" --> ") <= 500


def test_values_are_refused() -> None:
    for draw in (to_dot, to_mermaid, tree_text):
        with pytest.raises(TypeError, match="expected a lazy expression"):
            draw([1, 2])


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.float64(0.1234567891), "\N{WHITE SQUARE} * 0.123457"),
        (np.int64(-3), "\N{WHITE SQUARE} * (-3)"),
        (np.complex128(1j), "\N{WHITE SQUARE} * (0+1j)"),
        (np.float32("nan"), "\N{WHITE SQUARE} * nan"),
    ],
)
def test_numbers_of_numpy_are_short(number: Any, text: str) -> None:
    assert box_text(lz.Variable((2,), dtype="c16") * number) == text


def test_a_dtype_goes_by_its_name() -> None:
    promised = lz.asarray(computed([1.0])[:], shape=(1,), dtype="f8")
    assert box_text(promised) == "asarray(\N{WHITE SQUARE}, (1,), float64)"
    assert box_text(promised[:1].astype("f4")) == "astype(\N{WHITE SQUARE}, float32)"


def test_rows_stand_apart_where_lines_lead_far_aside() -> None:
    size = 32
    inputs: list[list[int]] = [[] for _ in range(size)]
    straight = place([*inputs, *[[i] for i in range(size)]], [11.0] * 2 * size, 11.0, Spacing(7.0, 17.0), 30.0)
    everything = [list(range(size)) for _ in range(size)]
    crossed = place([*inputs, *everything], [11.0] * 2 * size, 11.0, Spacing(7.0, 17.0), 30.0)
    assert straight.y[size] - straight.y[0] == 28.0
    assert crossed.y[size] - crossed.y[0] > 1.2 * 28.0
