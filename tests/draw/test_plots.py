"""Plots: complete, in the axes that were given, and without a trace in pyplot."""

import itertools
import re
import subprocess
import sys
import warnings
from collections import Counter
from io import BytesIO
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import lazycache.array as lz
from lazycache import Cache, computed, draw
from lazycache.graph import ascend
from tests.draw.graphs import GRAPHS, chain, counts, hostile, load, orthogonal, pipeline, scale

# The annotations of matplotlib know less of what is drawn than is asked here.
_draw: Any = draw
plot_graph, plot_circuit = _draw.plot_graph, _draw.plot_circuit
plot_history_functions, plot_history_stats = _draw.plot_history_functions, _draw.plot_history_stats
plot_history_size_footprint = _draw.plot_history_size_footprint

PLOTS: dict[str, Any] = {
    "graph": plot_graph,
    "circuit": plot_circuit,
    "footprint": plot_history_size_footprint,
    "scatter": plot_history_functions,
    "lines": lambda x, **options: plot_history_functions(x, kind="lines", **options),
    "image": lambda x, **options: plot_history_functions(x, image=True, **options),
    "stats": plot_history_stats,
}
plots = pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)


def part(ax: Any, gid: str) -> Any:
    (found,) = [collection for collection in ax.collections if collection.get_gid() == gid]
    return found


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def render(fig: Any) -> None:
    fig.savefig(BytesIO(), dpi=40)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("plot", [plot_graph, plot_circuit])
def test_every_node_and_edge_is_drawn(plot: Any, name: str) -> None:
    x = GRAPHS[name]()
    _, ax = plot(x)
    nodes, edges = counts(x)
    assert len(part(ax, "nodes").get_paths()) == nodes
    assert len(part(ax, "nodes").get_facecolors()) == nodes
    assert len(part(ax, "edges").get_paths()) == edges


@plots
@pytest.mark.parametrize("name", ["leaf", "nest", "orthogonal", "variable"])
def test_a_new_figure_is_returned_and_pyplot_knows_nothing_of_it(
    plot: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("show() was called"))
    fig, ax = plot(GRAPHS[name]())
    assert isinstance(fig, Figure)
    assert ax in fig.axes
    assert plt.get_fignums() == []
    render(fig)


@plots
def test_axes_that_are_given_are_used(plot: Any) -> None:
    fig, (left, right) = plt.subplots(1, 2)
    try:
        found = plot(orthogonal(3), ax=right)
        assert found == (fig, right)
        assert plt.get_fignums() == [fig.number]
        assert not left.has_data()
        assert not left.texts
        render(fig)
    finally:
        plt.close(fig)


@plots
def test_axes_of_a_subfigure_are_used(plot: Any) -> None:
    fig = Figure()
    parts: Any = fig.subfigures(1, 2)
    ax = parts[1].subplots()
    assert plot(pipeline(), ax=ax) == (fig, ax)
    render(fig)


@plots
def test_the_size_of_a_figure_can_be_chosen(plot: Any) -> None:
    fig, _ = plot(pipeline(), figsize=(5.0, 3.0))
    assert tuple(fig.get_size_inches()) == (5.0, 3.0)


@plots
def test_labels_that_matplotlib_would_read_as_formulas_are_drawn(plot: Any) -> None:
    with warnings.catch_warnings():
        # No font here has this letter of the name.
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        fig, _ = plot(hostile())
        render(fig)


def test_names_stand_as_they_are() -> None:
    _, ax = plot_history_stats(hostile())
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert '_odd <$x_1$> & "q" \\ \\x07 `b` ]]> #35; é中' in names
    _, ax = plot_circuit(hostile())
    assert any(text.startswith("_odd <$x_1$>") for text in legend(ax))


def test_small_graphs_have_text_in_their_boxes() -> None:
    _, ax = plot_graph(pipeline())
    written = {text.get_text() for text in ax.texts}
    assert {"load('light')", "scale(□, 3.0)", "□ - □", "□.mean(axis=0)", "□ + 100"} <= written


def test_larger_graphs_have_none() -> None:
    _, ax = plot_graph(orthogonal(12))
    assert not ax.texts


def test_lines_that_would_cover_the_picture_are_faint() -> None:
    fan = lz.Variable((30,))
    _, ax = plot_graph(lz.stack([fan * float(number) for number in range(1900)]))
    assert part(ax, "edges").get_alpha() < 0.3
    _, ax = plot_graph(orthogonal(12))
    assert part(ax, "edges").get_alpha() == 0.7
    _, ax = plot_graph(pipeline())
    assert part(ax, "edges").get_alpha() == 1.0


def test_boxes_hold_their_text() -> None:
    fig, ax = plot_graph(orthogonal(4))
    fig.draw_without_rendering()
    boxes = [path.get_extents(ax.transData) for path in part(ax, "nodes").get_paths()]
    for text in ax.texts:
        extent = text.get_window_extent()
        assert any(box.x0 <= extent.x0 and extent.x1 <= box.x1 for box in boxes), text.get_text()


@pytest.mark.parametrize("plot", [plot_graph, plot_circuit])
def test_large_graphs_are_shortened_with_a_note(plot: Any) -> None:
    _, ax = plot(chain(10_000), max_nodes=200)
    assert len(part(ax, "nodes").get_paths()) == 200
    assert ax.get_title() == "the 200 nodes next to the result, of 10,001"


@plots
def test_long_chains_are_plotted(plot: Any) -> None:
    plot(chain(100_000 if plot in (plot_graph, plot_circuit) else 20_000))


@pytest.mark.parametrize("color_by", ["function", "variable", "size", "seconds", "cached"])
@pytest.mark.parametrize("plot", [plot_graph, plot_circuit])
def test_colours_are_explained(plot: Any, color_by: str, cache: Cache) -> None:
    cache(scale(load("light")))
    e = scale(load("light")) + lz.array([1.0]).sum()
    fig, ax = plot(e, color_by=color_by, cache=cache)
    bars = [other for other in fig.axes if other is not ax]
    assert len(bars) == (color_by in ("size", "seconds"))
    assert ax.get_legend() is not None
    render(fig)
    fig, ax = plot(e, color_by=color_by, cache=cache, legend=False)
    assert ax.get_legend() is None
    assert len(fig.axes) == 1


def test_the_legend_counts_nodes() -> None:
    _, ax = plot_graph(orthogonal(4))
    calls = Counter(node.fn_name for node in ascend(orthogonal(4)))  # type: ignore[attr-defined]
    expected = {f"{name} ({count})" for name, count in calls.items()}
    assert {text.replace("variable", "Variable") for text in legend(ax)} == {
        text.replace("None", "Variable") for text in expected
    }


def test_the_lanes_of_a_circuit_hold_one_value_at_a_time() -> None:
    x = orthogonal(8)
    _, ax = plot_circuit(x)
    wires = sorted((y0, x0, x1) for (x0, y0), (x1, _) in part(ax, "wires").get_segments())
    assert len(wires) == counts(x)[0]
    for (lane, _, end), (next_lane, start, _) in itertools.pairwise(wires):
        assert lane != next_lane or end <= start
    nodes = list(ascend(x))
    uses = {id(dep): step for step, node in enumerate(nodes) for dep in node._deps}
    ends = {x0: x1 for _, x0, x1 in wires}
    assert all(ends[step] == uses.get(id(node), len(nodes)) for step, node in enumerate(nodes))


@pytest.mark.parametrize("include_inputs", [True, False])
@pytest.mark.parametrize("in_bytes", [True, False])
def test_the_footprint_is_the_history(include_inputs: bool, in_bytes: bool) -> None:
    x = orthogonal(5)
    _, ax = plot_history_size_footprint(x, include_inputs=include_inputs, in_bytes=in_bytes)
    drawn = list(ax.lines[0].get_ydata())
    assert drawn == x.history_size_footprint(include_inputs, in_bytes)
    assert f"peak {x.history_peak_size(include_inputs, in_bytes):,}" in ax.texts[0].get_text()


def test_sizes_that_no_integer_of_numpy_holds_are_plotted(tmp_path: Any) -> None:
    x = lz.Variable((2**40,))
    grown = lz.sum(lz.exp(x[:, None] * x[None, :]))
    assert grown.history_peak_size() > 2**64
    for plot in PLOTS.values():
        for log in (None, 2):
            render(plot(grown, **({} if plot in (plot_graph, plot_circuit) else {"log": log}))[0])
    for plot in (plot_graph, plot_circuit):
        render(plot(grown, color_by="size")[0])
    _, ax = plot_history_size_footprint(grown)
    assert ax.texts[0].get_text() == "peak 2.42e+24 elements"


def test_sizes_that_are_not_known_are_left_out_and_counted() -> None:
    signal = lz.asarray(load("light"), shape=(3, 4), dtype="f8")
    found = lz.linalg.svd(signal)[1].sum() + signal[signal > 0].sum()
    for plot in (plot_history_functions, PLOTS["lines"], PLOTS["image"], plot_history_size_footprint):
        fig, ax = plot(found)
        assert ax.get_title() == "2 of 8 sizes are not known"
        render(fig)
    _, ax = plot_history_functions(found)
    drawn = np.ma.filled(ax.collections[0].get_offsets(), np.nan)[:, 1]
    assert np.isnan(drawn).sum() == 3
    assert np.nanmin(drawn) == 1


@plots
def test_where_no_size_is_known_it_is_said(plot: Any) -> None:
    fig, ax = plot(pipeline())
    if plot not in (plot_graph, plot_circuit, plot_history_stats):
        assert ax.get_title() == "no size is known before it is computed"
    render(fig)


def test_a_function_may_know_of_no_number() -> None:
    x = orthogonal(3)
    measure = lambda node: node.size if node.fn_name == "sum" else None  # noqa: E731
    _, ax = plot_history_functions(x, measure)
    assert np.ma.count(ax.collections[0].get_offsets()[:, 1]) == x.history_fn_frequencies()["sum"]
    _, ax = plot_history_stats(x, measure)
    assert max(bar.get_width() for bar in ax.patches) == x.history_stats("sizeout")["sum"]


@plots
def test_what_is_counted_has_whole_numbers_at_its_ticks(plot: Any) -> None:
    fig, ax = plot(lz.sin(lz.Variable((2,))) + 1)
    fig.draw_without_rendering()
    for axis in (ax.xaxis, ax.yaxis):
        labels = [tick.get_text() for tick in axis.get_ticklabels() if tick.get_visible()]
        assert not any(re.fullmatch(r"[0-9]+\.[1-9]+", text) for text in labels), labels


def test_a_wire_stands_as_low_as_values_are_held() -> None:
    x = orthogonal(6)
    _, ax = plot_circuit(x)
    lanes = {y0 for (_, y0), _ in part(ax, "wires").get_segments()}
    assert min(lanes) == 1
    assert lanes == set(range(1, len(lanes) + 1))


@pytest.mark.parametrize("log", [2, 10, True])
def test_logarithmic_axes(log: Any) -> None:
    x = orthogonal(3)
    base = 10 if log is True else log
    for plot in (PLOTS["footprint"], PLOTS["scatter"], PLOTS["lines"]):
        fig, ax = plot(x, log=log)
        assert ax.get_yscale() == "log"
        assert ax.yaxis.get_transform().base == base
        render(fig)
    _, ax = plot_history_stats(x, log=log)
    assert ax.get_xscale() == "log"
    fig, _ = plot_history_functions(x, image=True, log=log)
    render(fig)


def test_functions_by_step() -> None:
    x = orthogonal(3)
    nodes: list[Any] = list(ascend(x))
    _, ax = plot_history_functions(x)
    assert ax.collections[0].get_offsets().tolist() == [[step, node.size] for step, node in enumerate(nodes)]
    _, ax = plot_history_functions(x, lambda node: node.depth)
    assert ax.collections[0].get_offsets()[:, 1].tolist() == [node.depth for node in nodes]
    _, ax = plot_history_functions(x, "sizein", kind="lines")
    heights = [segment[1][1] for segment in ax.collections[0].get_segments()]
    assert heights == [sum(dep.size for dep in node.deps) for node in nodes]


def test_the_image_has_a_row_for_each_function_and_the_largest_value_of_a_cell() -> None:
    x = orthogonal(3)
    nodes: list[Any] = list(ascend(x))
    fig, ax = plot_history_functions(x, kind="image")
    shown = ax.images[0].get_array()
    rows = [tick.get_text() for tick in ax.get_yticklabels()]
    assert shown.shape == (len(rows), len(nodes))
    assert shown.count() == len(nodes)
    for step, node in enumerate(nodes):
        name = "variable" if node.fn_name == "None" else node.fn_name
        assert shown[rows.index(name), step] == node.size
    assert len(fig.axes) == 2


def test_an_unknown_kind_is_refused() -> None:
    wrong: Any = "pie"
    with pytest.raises(ValueError, match="kind is 'pie', expected 'scatter', 'lines' or 'image'"):
        plot_history_functions(pipeline(), kind=wrong)


@pytest.mark.parametrize("plot", [plot_history_functions, plot_history_stats, lz.LazyArray.history_stats])
def test_an_unknown_statistic_is_refused(plot: Any) -> None:
    with pytest.raises(ValueError, match="fn is 'flops', expected a function or one of 'count', 'sizein'"):
        plot(orthogonal(2), "flops")


def test_steps_have_names_where_there_is_room() -> None:
    _, ax = plot_circuit(pipeline())
    assert next(tick.get_text() for tick in ax.get_xticklabels()) == "load('light')"
    narrow = Figure(figsize=(1.0, 1.0)).subplots()
    plot_circuit(pipeline(), ax=narrow)
    assert narrow.get_xlabel() == "step"


@pytest.mark.parametrize("fn", ["count", "sizein", "sizeout", "bytesout", lambda node: 2.5])
def test_bars_are_the_statistics(fn: Any) -> None:
    x = orthogonal(4)
    _, ax = plot_history_stats(x, fn)
    names = [tick.get_text().replace("variable", "None") for tick in ax.get_yticklabels()]
    drawn = dict(zip(names, [bar.get_width() for bar in ax.patches], strict=True))
    assert drawn == x.history_stats(fn)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(widths, reverse=True)


def test_nodes_of_any_kind_are_counted() -> None:
    _, ax = plot_history_stats(pipeline())
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert set(names) == {"load", "scale", "sub", "add", ".mean()", ".max()", "truediv"}


def test_what_is_missing_is_named() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = sys.modules['networkx'] = None\n"
        "from lazycache import computed\n"
        "from lazycache.draw import plot_graph, to_networkx, to_svg\n"
        "assert to_svg(computed(1) + 1)\n"
        "for draw in (plot_graph, to_networkx):\n"
        "    try:\n"
        "        draw(computed(1) + 1)\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [
        "this needs matplotlib: pip install lazycache[plot]",
        "this needs networkx: pip install lazycache[plot]",
    ]


def test_pictures_need_neither_matplotlib_nor_networkx_nor_the_arrays() -> None:
    program = (
        "import sys\n"
        "from lazycache import computed\n"
        "from lazycache.draw import to_html, to_dot, tree_text\n"
        "e = computed(1) + 1\n"
        "to_html(e), to_dot(e), tree_text(e)\n"
        "print([name for name in ('matplotlib', 'networkx', 'lazycache.array') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_looking_at_values_is_left_to_the_caller() -> None:
    for plot in PLOTS.values():
        with pytest.raises(TypeError, match="expected a lazy expression"):
            plot(np.ones(3))
    assert plot_graph(computed(np.ones(3)))


def test_numbers_below_bars_do_not_touch() -> None:
    fig, ax = plot_history_stats(lz.Variable((1234, 567)) @ lz.Variable((567, 1234)), "sizein")
    fig.draw_without_rendering()
    extents = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(extents))
