"""SVG and HTML: well-formed, complete, and without anything from elsewhere."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import Cache, computed
from lazycache.draw import to_html, to_svg
from tests.draw.graphs import GRAPHS, chain, counts, fan, hostile, load, orthogonal, pipeline, scale

SVG = "{http://www.w3.org/2000/svg}"


def elements(text: str, kind: str) -> list[ET.Element]:
    return [element for element in ET.fromstring(text).iter() if element.get("class") == kind]


def texts(text: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(text).iter(f"{SVG}text")]


def fills(text: str) -> list[str | None]:
    shapes = [node[1] for node in elements(text, "node")]
    return [shape.get("fill") for shape in shapes]


@pytest.mark.parametrize("name", GRAPHS)
def test_one_element_for_each_node_and_each_edge(name: str) -> None:
    x = GRAPHS[name]()
    picture = to_svg(x)
    assert (len(elements(picture, "node")), len(elements(picture, "edge"))) == counts(x)


@pytest.mark.parametrize("name", GRAPHS)
def test_everything_is_inside_the_picture_and_nothing_overlaps(name: str) -> None:
    picture = to_svg(GRAPHS[name]())
    root = ET.fromstring(picture)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    moved = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", picture)
    assert moved is not None
    boxes = []
    for node in elements(picture, "node"):
        shape = node[1]
        get = {key: float(value) for key, value in shape.attrib.items() if re.fullmatch(r"-?[\d.]+", value)}
        if shape.tag == f"{SVG}circle":
            left, top, right, bottom = (
                get["cx"] - get["r"],
                get["cy"] - get["r"],
                get["cx"] + get["r"],
                get["cy"] + get["r"],
            )
        else:
            left, top, right, bottom = get["x"], get["y"], get["x"] + get["width"], get["y"] + get["height"]
        boxes.append((left, top, right, bottom))
    dx, dy = float(moved[1]), float(moved[2])
    for left, top, right, bottom in boxes:
        assert left + dx >= 0
        assert top + dy >= 0
        assert right + dx <= width
        assert bottom + dy <= height
    lefts, tops, rights, bottoms = np.array(boxes).T
    overlap = np.minimum(rights[:, None], rights) - np.maximum(lefts[:, None], lefts) > 0.2
    overlap &= np.minimum(bottoms[:, None], bottoms) - np.maximum(tops[:, None], tops) > 0.2
    assert overlap.sum() == len(boxes)


def test_labels_survive() -> None:
    picture = to_svg(hostile())
    titles = [node[0].text or "" for node in elements(picture, "node")]
    assert "'it\\'s \\\\ \"\\x00 $x$ #quot; ]]> -->'" in titles
    assert any('_odd <$x_1$> & "q" \\ \\x07 `b` ]]> #35; é中(□, ' in title for title in titles)


def test_nothing_comes_from_elsewhere() -> None:
    page = to_html(orthogonal(4))
    assert not re.search(r"<script|href|url\(|@import|<image|<style|\bid=", page)
    assert re.findall(r"https?://[^\"]+", page) == ["http://www.w3.org/2000/svg"]


def test_html_is_well_formed_and_holds_the_picture() -> None:
    root = ET.fromstring(to_html(pipeline()))
    assert root.tag == "div"
    assert len(list(root.iter(f"{SVG}svg"))) == 1


def test_the_legend_names_each_function_with_its_nodes() -> None:
    written = texts(to_svg(pipeline()))
    assert sorted(written[-7:]) == sorted(
        ["load (2)", "scale (2)", "sub (1)", "add (1)", ".mean() (1)", ".max() (1)", "truediv (1)"]
    )


def test_many_functions_share_one_colour() -> None:
    x = lz.Variable((3,), dtype="f8")
    names = ["sin", "cos", "tan", "exp", "log", "sqrt", "sinh", "cosh", "tanh", "floor", "ceil", "log2", "log10"]
    picture = to_svg([getattr(lz, name)(x) for name in names])
    assert "4 other functions (4)" in texts(picture)
    assert len(set(fills(picture))) == 9 + 1 + 1


def test_functions_of_one_name_in_two_modules_are_told_apart() -> None:
    x = computed(np.ones(3))
    written = texts(to_svg(np.sin(x) + lz.sin(lz.array([1.0]))[0]))
    assert {"numpy.sin (1)", "sin (1)"} <= set(written)


def test_a_large_graph_is_shortened_with_a_note() -> None:
    picture = to_svg(chain(10_000), max_nodes=300)
    assert len(elements(picture, "node")) == 300
    assert "the 300 nodes next to the result, of 10,001" in texts(picture)
    assert len(re.findall("stroke-dasharray", picture)) >= 1


def test_chains_of_a_hundred_thousand_are_drawn() -> None:
    assert len(elements(to_svg(chain(100_000)), "node")) == 2000


def test_the_widest_and_the_longest_graphs_stay_in_proportion() -> None:
    for x in (fan(900), chain(1999), orthogonal(20)):
        _, _, width, height = map(float, ET.fromstring(to_svg(x)).attrib["viewBox"].split())
        assert 1 / 5 < width / height < 8


def test_results_have_a_thick_border() -> None:
    y = computed(2) + 1
    thick = [node[1].get("stroke-width") is not None for node in elements(to_svg([y, y * 2]), "node")]
    assert thick == [False, True, True]


def test_variables_and_what_depends_on_them() -> None:
    x, y = lz.Variable((3,), dtype="f8"), lz.array([1.0, 2.0, 3.0])
    e = (y * 2) + (x * 3)
    written = set(texts(to_svg(e, color_by="variable")))
    assert {"variable (1)", "depends on a variable (2)", "constant (2)"} <= written
    written = set(texts(to_svg(e, color_by="variable", variables=[y])))
    assert {"variable (1)", "depends on a variable (2)", "constant (2)"} <= written
    assert fills(to_svg(e, color_by="variable")) != fills(to_svg(e, color_by="variable", variables=[y]))


def test_sizes_have_a_colour_bar_and_the_unknown_is_said() -> None:
    x = lz.Variable((1000,), dtype="f8")
    written = texts(to_svg([x.sum(), x[x > 0]], color_by="size"))
    assert "elements (logarithmic)" in written
    assert {"1", "1,000"} <= set(written)
    assert "not known (1)" in written


def test_what_is_cached(cache: Cache) -> None:
    e = pipeline()
    assert "not cached (5)" in texts(to_svg(e, color_by="cached", cache=cache))
    cache(scale(load("light")))
    written = texts(to_svg(e, color_by="cached", cache=cache))
    assert {"cached (2)", "not cached (3)", "not kept by itself (4)"} <= set(written)
    cache(e)
    assert {"cached (5)", "not kept by itself (4)"} <= set(texts(to_svg(e, color_by="cached", cache=cache)))


def test_the_default_cache_is_asked(cache: Cache) -> None:
    e = scale(load("light"))
    with cache:
        cache(e)
        assert "cached (2)" in texts(to_svg(e, color_by="cached"))
    assert "not cached (2)" in texts(to_svg(e, color_by="cached"))


def test_a_cache_that_is_off_has_nothing(cache: Cache) -> None:
    e = scale(load("light"))
    cache(e)
    assert "not cached (2)" in texts(to_svg(e, color_by="cached", cache=Cache(cache.path, mode="off")))


def test_seconds_are_those_of_the_records(cache: Cache) -> None:
    e = scale(load("light"))
    assert "not known (2)" in texts(to_svg(e, color_by="seconds", cache=cache))
    cache(e)
    written = texts(to_svg(e, color_by="seconds", cache=cache))
    assert not any(text.startswith("not known") for text in written)
    assert any(text.startswith("seconds") for text in written)


def test_what_has_no_key_cannot_be_cached(cache: Cache) -> None:
    x = lz.Variable((3,), dtype="f8")
    e = scale(x) + scale(load("light"))
    cache(scale(load("light")))
    written = texts(to_svg(e, color_by="cached", cache=cache))
    assert {"cached (2)", "without a key (2)", "input (1)"} <= set(written)
    e = scale(np.random.default_rng(0))
    assert "without a key (1)" in texts(to_svg(e, color_by="cached", cache=cache))
    assert "not known (2)" in texts(to_svg(e, color_by="seconds", cache=cache))


def test_nothing_is_computed_or_changed_by_looking(cache: Cache) -> None:
    x = lz.array([1.0, 2.0])
    e = lz.sin(x) + 1.0
    before = repr(e)
    ways: tuple[Any, ...] = ("function", "variable", "size", "seconds", "cached")
    for color_by in ways:
        to_svg(e, color_by=color_by, cache=cache)
    assert repr(e) == before
    assert cache.stats()["runs"] == 0
    assert [dep is x for dep in e._deps[0]._deps] == [True]


def test_colours_can_be_chosen() -> None:
    picture = to_svg(computed(2) + 1, colors={"add": "#123456"})
    assert "#123456" in fills(picture)


@pytest.mark.parametrize("colour", ["red", "#f00", "tab:red", (1.0, 0.0, 0.0)], ids=str)
def test_colours_have_names(colour: Any) -> None:
    pytest.importorskip("matplotlib")
    assert set(fills(to_svg(computed(2) + 1, colors={"add": colour}))) & {"#ff0000", "#d62728"}
    with pytest.raises(ValueError, match="no colour"):
        to_svg(computed(2) + 1, colors={"add": "no colour"})


def test_results_are_found_among_many_dots() -> None:
    radii = Counter(node[1].get("r") for node in elements(to_svg(chain(300)), "node") if node[1].tag.endswith("circle"))
    assert sorted(radii.values()) == [1, 299]
    assert max(radii, key=lambda radius: float(radius or 0)) == min(radii, key=radii.__getitem__)


def test_an_unknown_way_of_colouring_is_refused() -> None:
    wrong: Any = "colour"
    with pytest.raises(ValueError, match="color_by is 'colour', expected one of 'function'"):
        to_svg(computed(2) + 1, color_by=wrong)
