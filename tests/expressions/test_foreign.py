"""pandas, masked and sparse arrays, and plots: a node, or an error; never an array of nodes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from lazycache import compute, computed, key, lazy
from lazycache.expressions.nodes import Node

X = np.array([1.0, 2.0, 4.0])
series = pd.Series([1.0, 2.0, 3.0])
frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
sparse = scipy.sparse.csr_array(np.eye(3))


def holds_a_node(value: Any) -> bool:
    if isinstance(value, pd.DataFrame):
        return any(holds_a_node(value[name]) for name in value)
    flat = np.ma.getdata(value) if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    return any(isinstance(member, Node) for member in flat.ravel().tolist())


LAZY: dict[str, Callable[[Any], Any]] = {
    "series + x": lambda x: series + x,
    "x + series": lambda x: x + series,
    "series < x": lambda x: series < x,
    "series ** x": lambda x: series**x,
    "add(series, x)": lambda x: np.add(series, x),
    "index + x": lambda x: pd.Index([1, 2, 3]) + x,
    "masked + x": lambda x: masked + x,
    "x + masked": lambda x: x + masked,
    "masked / x": lambda x: masked / x,
    "x * sparse": lambda x: x * sparse,
}


def dense(value: Any) -> Any:
    return value.toarray() if scipy.sparse.issparse(value) else np.asarray(value)


@pytest.mark.parametrize("build", LAZY.values(), ids=LAZY.keys())
def test_stays_lazy_on_both_sides(build: Callable[[Any], Any]) -> None:
    node = build(computed(X))
    assert isinstance(node, lazy)
    expected, result = build(X), compute(node)
    assert type(result) is type(expected)
    np.testing.assert_array_equal(dense(result), dense(expected))


def test_a_frame_on_either_side() -> None:
    x = computed(2.0)
    pd.testing.assert_frame_equal(compute(frame + x), frame + 2.0)
    pd.testing.assert_frame_equal(compute(x * frame), 2.0 * frame)
    assert key(frame + x) == key(computed(frame) + x)


NODE_OR_ERROR: dict[str, Callable[[Any], Any]] = {
    "series == x": lambda x: series == x,
    "series @ x": lambda x: series @ x,
    "series[x]": lambda x: series[x],
    "frame.loc[x]": lambda x: frame.loc[x],
    "Series(x)": pd.Series,
    "DataFrame(x)": pd.DataFrame,
    "DataFrame of x": lambda x: pd.DataFrame({"a": x}),
    "assign": lambda x: frame.assign(b=x),
    "where": lambda x: series.where(x),
    "isin": lambda x: series.isin(x),
    "fillna": lambda x: series.fillna(x),
    "masked == x": lambda x: masked == x,
    "masked < x": lambda x: masked < x,
    "masked += x": lambda x: masked.copy().__iadd__(x),
    "filled": lambda x: masked.filled(x),
    "ma.array": np.ma.array,
    "ma.add": lambda x: np.ma.add(masked, x),
    "sparse @ x": lambda x: sparse @ x,
    "sparse * x": lambda x: sparse * x,
    "sparse < x": lambda x: sparse < x,
    "csr_array(x)": scipy.sparse.csr_array,
}


@pytest.mark.parametrize("use", NODE_OR_ERROR.values(), ids=NODE_OR_ERROR.keys())
def test_a_node_or_an_error(use: Callable[[Any], Any]) -> None:
    try:
        result = use(computed(X))
    except (TypeError, ValueError, KeyError):
        return
    assert isinstance(result, Node) or not holds_a_node(result)


PLOTS: dict[str, Callable[[Any, Any], Any]] = {
    "plot": lambda ax, x: ax.plot(x),
    "plot against": lambda ax, x: ax.plot(X, x),
    "scatter": lambda ax, x: ax.scatter(X, x),
    "bar": lambda ax, x: ax.bar(X, x),
    "hist": lambda ax, x: ax.hist(x),
    "imshow": lambda ax, x: ax.imshow(x),
    "errorbar": lambda ax, x: ax.errorbar(X, X, x),
    "limits": lambda ax, x: ax.set_xlim(x),
}


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS.keys())
def test_a_plot_of_a_node_is_an_error(draw: Callable[[Any, Any], Any]) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    with pytest.raises((TypeError, ValueError)):
        draw(figure.add_subplot(), computed(X))
