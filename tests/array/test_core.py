"""LazyArray itself: what it knows, how it is computed, and how it sits among other expressions."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazycache.array as lz
from lazycache import Cache, compute, computed, key, lazy, pure
from lazycache.errors import NotComputedError, UnboundVariableError
from lazycache.show import summary


def test_a_node_knows_how_it_comes_about() -> None:
    x = lz.Variable((2, 3), backend="numpy", dtype="f4")
    y = (x * 2).sum(axis=0)
    assert (y.fn_name, y.shape, y.ndim, y.size, y.nbytes, y.depth, y.backend) == ("sum", (3,), 1, 3, 12, 2, "numpy")
    assert y.fn is np.sum
    assert y.kwargs == {"axis": 0}
    assert y.args[0] is y.deps[0]
    assert y.deps[0].args == (x, 2) or y.deps[0].args[0] is x
    assert (x.fn, x.fn_name, x.args, x.deps, x.depth) == (None, "None", (), (), 0)
    assert (lz.get_depth(y), lz.get_data(y), lz.get_data(lz.array(5))) == (2, lz.PLACEHOLDER, 5)


def test_the_constructor_takes_any_function() -> None:
    x = lz.Variable((3,), "numpy", "f8")
    data = np.array([3.0, 1.0, 2.0])
    y = lz.LazyArray("numpy", np.flip, (x,), {"axis": 0}, (3,), dtype="f8")
    z = y.to(np.linalg.norm, shape=())
    assert (z.shape, z.dtype, z.backend, z.deps[0] is y) == ((), None, "numpy", True)
    assert z.get_function([x])([data]) == np.linalg.norm(data)
    assert lz.LazyArray("numpy", None, (), {}, (2, 2)).shape == (2, 2)


def test_what_is_no_function_makes_no_array() -> None:
    x = lz.array(np.ones(3))
    with pytest.raises(TypeError, match="made by a function, not by 'cuda:0'"):
        x.to("cuda:0")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="made by a function, not by 3"):
        lz.LazyArray("numpy", 3, (x,), None, (3,))  # type: ignore[arg-type]


def test_lazy_values_anywhere_in_the_arguments_are_dependencies() -> None:
    x, n, kind = lz.Variable((4,)), lz.Variable(()), lz.Variable(())

    def call(parts: Any, where: Any, *, options: Any) -> Any:
        return parts[0][0][where] + options["n"]

    y = lz.LazyArray(None, call, ([(x, 1)], slice(n, None)), {"options": {"n": kind}}, (None,))
    assert [dep is node for dep, node in zip(y.deps, (x, n, kind), strict=True)] == [True] * 3
    f = y.get_function([x, n, kind])
    np.testing.assert_array_equal(f([np.arange(4), 2, 10]), [12, 13])
    assert lz.zeros_like(x).astype(kind).deps[1] is kind


def test_lazy_sizes_and_tolerances() -> None:
    n = lz.array(np.array([1, 2])).sum()
    x = lz.array(np.arange(6.0).reshape(2, 3))
    made = lz.zeros((n, 2))
    assert made.shape == (None, 2)
    assert made.compute().shape == (3, 2)
    np.testing.assert_array_equal(lz.full(n, 7).compute(), [7, 7, 7])
    sizes = lz.array(np.array([3, 2]))
    for shaped in (lz.full(sizes, 7), lz.reshape(x, sizes), x.reshape(sizes)):
        assert shaped.shape == (None, None)
        assert shaped.compute().shape == (3, 2)
    # What -1 stands for depends on the lazy size beside it.
    assert x.reshape((-1, n)).shape == (None, None)
    assert x.reshape((-1, n)).compute().shape == (2, 3)
    assert x.sum(dtype=computed(np.dtype("f4"))).dtype == np.float32
    near = lz.isclose(x, x + 0.5, atol=n * 1.0)
    assert any(node is n for node in lz.ascend(near))
    assert near.compute().all()
    assert lz.isclose(x, x, rtol=np.ones((4, 1, 1))).shape == (4, 2, 3)


def test_shapes_and_axes_of_any_sequence() -> None:
    x = lz.array(np.arange(6.0).reshape(2, 3))
    assert x.reshape(np.array([3, 2])).shape == (3, 2)
    assert lz.permute_dims(x, range(1, -1, -1)).shape == (3, 2)
    assert lz.zeros(np.array([2, 3])).shape == (2, 3)


def test_arguments_are_taken_as_they_are_when_the_node_is_built() -> None:
    x = lz.Variable((3,))
    weights: list[Any] = [1, [2.0]]
    options = {"k": [3]}
    node = lz.LazyArray(None, lambda a, w, o: (a, w, o), (x, weights, options), {}, (3,))
    taken = key(node)
    weights[1] = 9
    options["k"] = [4]
    assert node.get_function([x])([0]) == (0, [1, [2.0]], {"k": [3]})
    assert key(node) == taken
    data = np.arange(3.0)
    made = lz.LazyArray("numpy", np.dot, (x, data), {}, ())
    taken = key(made)
    data[:] = 0
    assert key(made) == taken
    assert made.get_function([x])([np.ones(3)]) == 3
    values = [7, 8]
    padded = lz.pad(x, 1, constant_values=values)
    values[0] = 0
    np.testing.assert_array_equal(padded.get_function([x])([np.ones(3)]), [7, 1, 1, 1, 8])


def test_numbers_alone_give_what_numpy_gives() -> None:
    for built, expected in ((lz.add(1, 2), np.add(1, 2)), (lz.divide(1, 2.5), np.divide(1, 2.5))):
        assert built.dtype == expected.dtype
        assert type(built.compute()) is type(expected)
        assert built.compute() == expected


def test_compute_stores_the_value_and_lets_go() -> None:
    data = np.arange(6.0)
    x = lz.array(data)
    y = x + 1
    z = y * 2
    np.testing.assert_array_equal(z.compute(), data * 2 + 2)
    assert (z.fn, z.args, dict(z.kwargs), z.deps) == (None, (), {}, ())
    assert y.fn is None
    assert z.compute() is z.compute()
    assert z.data is z.compute()
    leaf = weakref.ref(y)
    del y
    gc.collect()
    assert leaf() is None


def test_intermediates_are_freed_while_computing() -> None:
    alive: list[int] = []
    refs: list[weakref.ref[Any]] = []

    def track(value: Any) -> Any:
        out = value + 1
        refs.append(weakref.ref(out))
        alive.append(sum(ref() is not None for ref in refs))
        return out

    node = lz.array(np.zeros(3))
    for _ in range(20):
        node = node.to(track)
    node.compute()
    assert max(alive) <= 3


def test_materialize_computes_what_it_needs() -> None:
    x = lz.array(np.arange(3.0))
    y = x + 1
    z = y * y
    np.testing.assert_array_equal(z._materialize(), [1, 4, 9])
    assert y.fn is None
    assert lz.maybe_materialize({"a": [x + 1, 5]})["a"][1] == 5


def test_compute_takes_nests() -> None:
    x = lz.array(np.arange(3.0))
    assert lz.compute(((x.sum(), 1), {"m": x.max()})) == ((3.0, 1), {"m": 2.0})
    assert lz.compute("nothing lazy") == "nothing lazy"


def test_constants_are_computed_in_place() -> None:
    x = lz.Variable((3,), "numpy", "f8")
    constant = lz.array(np.arange(3.0)) * 2 + 1
    y = x * constant
    lz.compute_constants(y, [x])
    assert constant.fn is None
    assert y.fn_name == "multiply"
    np.testing.assert_array_equal(y.get_function([x])([np.ones(3)]), [1, 3, 5])


def test_a_variable_without_data_cannot_be_computed() -> None:
    x = lz.Variable((3,))
    with pytest.raises(UnboundVariableError, match=r"Variable of shape \(3,\) .*get_function"):
        (x + 1).compute()
    with pytest.raises(UnboundVariableError):
        compute(x + 1)
    with pytest.raises(UnboundVariableError):
        lz.compute([x])
    assert key(x) != key(lz.Variable((3,)))
    assert key(pickle.loads(pickle.dumps(x))) == key(x)


def test_an_error_names_the_node() -> None:
    x = lz.array(np.eye(2) * 0)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        (lz.linalg.inv(x) + 1).compute()
    assert any("linalg.inv" in note for note in caught.value.__notes__)


USES: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "in a list": lambda a: a in [1],
    "contains": lambda a: 1 in a,
    "format": lambda a: f"{a:.2f}",
    "asarray": np.asarray,
    "from_dlpack": np.from_dlpack,
    "index": lambda a: [1][a],
    "item": lambda a: a.item(),
    "iteration": list,
}


@pytest.mark.parametrize("name", USES)
def test_what_needs_a_value_is_refused(name: str) -> None:
    with pytest.raises((NotComputedError, TypeError)):
        USES[name](lz.Variable((), dtype="f8"))
    assert round(lz.Variable((), dtype="f8")).fn_name == "round"


@pytest.mark.parametrize(("name", "function"), [("sort", "sort"), ("norm", "linalg.norm"), ("rfft", "fft.rfft")])
def test_a_method_that_is_a_function_is_named(name: str, function: str) -> None:
    x = lz.array(np.arange(3.0))
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': .* lazycache.array.{function}$"):
        getattr(x, name)
    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name'$"):
        x.no_such_name  # type: ignore[attr-defined]  # noqa: B018


def test_a_lazy_array_is_handed_over_by_dlpack_as_it_is() -> None:
    x = lz.Variable((2,), dtype="f8")
    assert lz.from_dlpack(x) is x
    assert x.__dlpack_device__() == np.zeros(2).__dlpack_device__()
    assert lz.from_dlpack(x, copy=True).get_function([x])([np.ones(2)]).sum() == 2


def test_equality_is_elementwise_and_hashing_by_identity() -> None:
    x, y = lz.array(np.array([1, 2])), lz.array(np.array([1, 3]))
    assert (x == y).dtype == bool
    np.testing.assert_array_equal((x == y).compute(), [True, False])
    np.testing.assert_array_equal((x != 1).compute(), [False, True])
    assert {x: "x", y: "y"}[x] == "x"
    with pytest.raises(TypeError):
        bool(x == y)
    with pytest.raises(TypeError):
        _ = x == lazy(3) + 1


def test_writing_into_an_array_is_refused() -> None:
    x = lz.array(np.ones(3))
    data = np.ones(3)
    with pytest.raises(TypeError):
        x[0] = 1
    with pytest.raises(TypeError, match="out="):
        data += x
    with pytest.raises(TypeError, match="out="):
        np.add(x, x, out=data)
    with pytest.raises(TypeError, match="out="):
        np.sum(x, out=np.array(0.0))


def test_keys_follow_what_is_done_on_which_data() -> None:
    data = np.arange(4.0)
    assert key(lz.array(data) + 1) == key(lz.array(data.copy()) + 1)
    assert key(lz.array(data) + 1) != key(lz.array(data) + 1.0)
    assert key(lz.array(data) ** -1) != key(lz.array(data) ** -2)
    assert key(lz.array(data)[1:]) != key(lz.array(data)[2:])
    assert key(lz.sum(lz.array(data))) == key(np.sum(lz.array(data))) == key(lz.array(data).sum())
    assert key(np.add(data, lz.array(data))) == key(data + lz.array(data))


def test_a_key_that_was_taken_stays_after_computing() -> None:
    x = lz.array(np.arange(4.0))
    y = x + 1
    z = y * 2
    before = key(z)
    value = y.compute()
    assert key(y * 2) == before
    assert not value.flags.writeable
    # A node computed before anyone asked becomes a leaf, known by its value.
    w = lz.array(np.arange(4.0)) + 1
    w.compute()
    assert key(w) == key(lz.array(np.arange(4.0) + 1))


def test_a_key_does_not_outlive_the_bytes() -> None:
    data = np.arange(4.0)
    x = lz.array(data)
    taken = key(x + 1)
    data[:] = 7
    assert key(x + 1) == taken
    np.testing.assert_array_equal((x + 1).compute(), [1, 2, 3, 4])


def test_arrays_among_other_expressions() -> None:
    other = computed(np.arange(3.0))
    x = lz.array(np.ones(3))
    assert (x + other).shape == (3,)
    np.testing.assert_array_equal((x + other).compute(), [1, 2, 3])
    general = other * 2 + x
    np.testing.assert_array_equal(compute(general), [1, 3, 5])
    shaped = lz.asarray(general, shape=(3,), dtype="f8")
    assert (shaped.sum() + 1).dtype == np.float64
    assert (shaped.sum() + 1).compute() == 10
    with pytest.raises(TypeError, match="shape"):
        lz.sin(general)


def test_each_node_runs_once_among_other_expressions() -> None:
    calls = []

    @pure(version=1)
    def middle(x: Any) -> Any:
        calls.append("middle")
        return x + 1

    def start(x: Any) -> Any:
        calls.append("start")
        return x * 2

    x = lz.array(np.ones(3)).to(start)
    between = middle(x)
    first = lz.asarray(between, shape=(3,), dtype="f8") + x
    second = lz.asarray(between * 1, shape=(3,), dtype="f8") * first
    np.testing.assert_array_equal(second.compute(), [15, 15, 15])
    assert sorted(calls) == ["middle", "start"]
    np.testing.assert_array_equal(lz.compute([between, first])[0], [3, 3, 3])


def test_pickled_graphs_keep_what_is_shared() -> None:
    x = lz.array(np.arange(3.0))
    y = x + 1
    z = (y * y)[1:, None]
    back = pickle.loads(pickle.dumps(z))
    assert (back.shape, back.dtype, back.history_num_nodes()) == (z.shape, z.dtype, z.history_num_nodes())
    assert key(back) == key(z)
    np.testing.assert_array_equal(back.compute(), z.compute())


def test_a_long_chain() -> None:
    x = lz.array(np.zeros(1))
    node = x
    for _ in range(200_000):
        node = node + 1.0
    assert node.depth == 200_000
    copied = pickle.loads(pickle.dumps(node))
    assert key(copied) == key(node)
    assert node.compute() == [200_000.0]
    del copied, node


def test_a_ladder_of_shared_nodes_is_linear() -> None:
    node = lz.array(np.ones(2))
    for _ in range(1000):
        node = (node + node) / 2.0
    assert node.history_num_nodes() == 2001
    key(node)
    repr(node)
    np.testing.assert_array_equal(node.compute(), [1, 1])


def test_dropped_graphs_leave_nothing_behind() -> None:
    data = np.zeros(10)
    leaf = weakref.ref(data)
    with lz.shared_intermediates():
        node = lz.array(data)
        for _ in range(100):
            node = lz.sin(node)
    node.compute()
    del node, data
    gc.collect()
    assert leaf() is None


def test_threads_may_compute_one_graph() -> None:
    x = lz.array(np.arange(100.0))
    node = x
    for _ in range(300):
        node = node * 1.0 + 1.0
    barrier = threading.Barrier(4)
    results: list[Any] = []

    def work() -> None:
        barrier.wait()
        results.append(node.compute())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, np.arange(100.0) + 300)


def test_threads_may_look_at_a_graph_that_another_computes() -> None:
    def look(node: lz.LazyArray) -> list[Any]:
        return [
            lambda: node.compute(),
            lambda: (key(node), node.compute())[1],
            lambda: lz.Function((), node)(),
            lambda: pickle.loads(pickle.dumps(node)).compute(),
            lambda: compute(node),
            lambda: (lz.get_source(node), node.history_peak_size(), node.compute())[-1],
        ]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as threads:
            for _ in range(40):
                x = lz.array(np.arange(5.0))
                for number in range(60):
                    x = lz.sin(x) + number * 0.5
                results = [task.result() for task in [threads.submit(one) for one in look(x.sum())]]
                assert len(set(map(float, results))) == 1
    finally:
        sys.setswitchinterval(interval)


def test_threads_may_cache_a_graph_that_another_computes(tmp_path: Path) -> None:
    def look(middle: lz.LazyArray, y: lz.LazyArray) -> list[Any]:
        return [
            lambda: y.compute(),
            lambda: cache(y),
            lambda: cache(y + 1.0) - 1.0,
            lambda: sum(cache([middle, y, middle.sum()])[0]),
            lambda: (cache.explain(y), y in cache, cache(y))[-1],
            lambda: (repr(lazy(abs)(y)), summary(lazy(abs)(y)), compute(y))[-1],
        ]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    double = pure(version=1, name="threads.double")(_double)
    try:
        with Cache(tmp_path) as cache, ThreadPoolExecutor(6) as threads:
            for round_ in range(40):
                x = lz.array(np.arange(5.0) + round_)
                for number in range(30):
                    x = lz.sin(x) + number * 0.5
                # The one in the middle is stored too, and can be computed in place.
                middle = x.to(double)
                results = [task.result() for task in [threads.submit(one) for one in look(middle, middle.sum())]]
                assert np.ptp(results) <= 1e-12
    finally:
        sys.setswitchinterval(interval)


def _double(x: Any) -> Any:
    return x * 2.0


def test_history() -> None:
    x, y = lz.Variable((2, 3), dtype="f8"), lz.Variable((3,), dtype="f4")
    z = (x @ y) + 1.0
    assert z.history_num_nodes() == 4
    assert z.history_max_size() == 6
    assert z.history_total_size() == 6 + 3 + 2 + 2
    assert z.history_size_footprint()[0] == 9
    assert z.history_size_footprint(include_inputs=False) == [0, 2, 4, 2]
    assert z.history_peak_size() == 11
    assert z.history_peak_size(include_inputs=False) == 4
    assert z.history_peak_size(in_bytes=True) == 48 + 12 + 16
    assert z.history_fn_frequencies() == {"None": 2, "matmul": 1, "add": 1}
    assert z.history_stats("sizein") == {"None": 0, "matmul": 9, "add": 2}
    assert z.history_stats("sizeout") == {"None": 9, "matmul": 2, "add": 2}
    assert z.history_stats(lambda node: node.ndim) == {"None": 3, "matmul": 1, "add": 1}


def test_the_deepest_argument_is_computed_first_as_the_history_counts() -> None:
    ran: list[str] = []

    def note(name: str) -> Callable[[Any], Any]:
        def noting(value: Any) -> Any:
            ran.append(name)
            return value

        return noting

    x = lz.array(np.ones(2))
    shallow, deep = x.to(note("shallow")), (x + 1).to(note("deep"))
    (shallow + deep).compute()
    assert ran == ["deep", "shallow"]


def test_show_refers_to_lines(capsys: pytest.CaptureFixture[str]) -> None:
    x = lz.Variable((2, 3))
    y = x + 1.0
    (y * y.sum()).show()
    printed = capsys.readouterr().out
    assert "□ * □ → (2, 3)" in printed
    assert "… line 1" in printed
    y.show(filler=".", max_lines=1)
    assert "…" in capsys.readouterr().out
    (y * y).show(max_depth=0)
    assert "□ + 1" not in capsys.readouterr().out


def test_drawing_from_the_array_itself() -> None:
    x = lz.Variable((2, 3))
    y = (x + 1.0).sum()
    assert y._repr_html_().lstrip().startswith("<")
    for name in ("graph", "circuit", "history_size_footprint", "history_functions", "history_stats"):
        figure, axes = getattr(y, f"plot_{name}")()
        assert axes.figure is figure


def test_a_key_stays_when_the_array_is_computed() -> None:
    x = lz.array(np.arange(3.0)) + 1
    before = key(x)
    x.compute()
    assert key(x) == before


def test_views() -> None:
    data = np.arange(6).reshape(2, 3) * (1 + 1j)
    x = lz.array(data)
    for name in ("T", "mT", "real", "imag"):
        np.testing.assert_array_equal(getattr(x, name).compute(), getattr(data, name))
    np.testing.assert_array_equal(x.H.compute(), data.conj().T)
    assert x.real.dtype == np.float64
    assert lz.Variable((2, 3), dtype="f4").H.fn_name == "permute_dims"


def test_walks_take_nests() -> None:
    x = lz.Variable((3,))
    y = x + 1
    z = y * x
    assert [node is other for node, other in zip(lz.ascend([z, {"y": y}]), (x, y, z), strict=True)] == [True] * 3
    assert [node is other for node, other in zip(lz.descend(z), (z, y, x), strict=True)] == [True] * 3
    assert [node is other for node, other in zip(lz.to_queue([z, y, x]), (x, y, z), strict=True)] == [True] * 3
    assert [node.depth for node in z.ascend() if isinstance(node, lz.LazyArray)] == [0, 1, 2]


def test_random_numbers_follow_the_seed() -> None:
    first = lz.random.normal(3, size=(2, 2))
    assert (first.shape, first.dtype) == ((2, 2), np.float64)
    np.testing.assert_array_equal(first.compute(), lz.random.normal(3, size=(2, 2)).compute())
    assert not np.array_equal(lz.random.random(1, 4).compute(), lz.random.random(2, 4).compute())
    assert key(lz.random.random(1, 4)) == key(lz.random.random(1, 4))
    assert lz.random.integers(1, 5, size=3, dtype="i4").dtype == np.int32
    assert lz.random.permutation(1, 5).compute().sum() == 10
    assert lz.random.choice(1, 7, 3, replace=False).shape == (3,)
    assert lz.random.uniform(1, np.zeros(3), 2.0).shape == (3,)
    with pytest.raises(TypeError, match="seed"):
        lz.random.random(np.random.default_rng(1), 3)
    with pytest.raises(TypeError, match="seed"):
        lz.random.random(None, 3)
