"""Function: expressions compiled into one function, for every constant, nest and backend."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazycache.array as lz
from lazycache import Cache, cache, compute, computed, digest, hash_by_file_date, lazy, pure
from lazycache.errors import UnboundVariableError
from lazycache.purity.naming import name_of


def show(x: Any, *args: Any, **kwargs: Any) -> Any:
    return x, args, kwargs


class Pair(NamedTuple):
    first: Any
    second: Any


CONSTANTS: dict[str, Any] = {
    "quotes": 'it\'s "quoted"\n\\ and {braces}',
    "long text": "x" * 1000,
    "unicode": "\ud800 ü",
    "bytes": b"'\"\\\x00",
    "nan": math.nan,
    "inf": -math.inf,
    "negative zero": math.copysign(0.0, -1.0),
    "complex": complex(-0.0, -0.0),
    "big int": 10**5000,
    "numpy scalar": np.float32(1.5),
    "numpy nan": np.float64("nan"),
    "datetime": np.datetime64("2020-01-01"),
    "slice": slice(1, None, -2),
    "ellipsis": ...,
    "none": None,
    "bool": True,
    "dtype": np.dtype([("a", "f4")]),
    "type": int,
    "dict keys": {"it's": 1, ("a", math.inf): 2, None: {b"b": 3}},
    "nest": [1, (2,), {"x": [slice(0, 1), (), {}]}],
    "named": Pair(1, Pair("a", 2.5)),
    "array": np.arange(3),
    "int against float": (1, 1.0, True),
}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(map(repr, one)) == list(map(repr, other)) and all(map(same, one.values(), other.values()))
    return type(one) is type(other) and (one == other or repr(one) == repr(other))


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_survive(name: str) -> None:
    constant = CONSTANTS[name]
    x = lz.Variable(())
    node = lz.LazyArray(None, show, (x, constant, [constant]), {"option": constant, "with": (x, constant)}, ())
    function = lz.Function([x], node)
    value, args, kwargs = function([1])
    assert value == 1
    assert same(args, (constant, [constant]))
    assert same(kwargs, {"option": constant, "with": (1, constant)})


def test_equal_calls_are_made_once() -> None:
    x = lz.Variable((4,), "numpy", "f8")
    twice = lz.sin(x) + lz.sin(x)
    assert twice.get_function([x]).source.count("(a0)") == 2  # the definition and one call
    parts = x[1:] * x[1:] + lz.sum(x, axis=0) - lz.sum(x, axis=0)
    assert parts.get_function([x]).source.count("slice") == 1
    np.testing.assert_array_equal(parts.get_function([x])([np.arange(4.0)]), [1, 4, 9])
    numbers = (x * 0.0, x * -0.0, x * 1, x * 1.0, x**-1.0, x**-2.0, x * True)
    function = lz.Function([x], list(numbers))
    for one, node in zip(function([np.ones(4)]), numbers, strict=True):
        np.testing.assert_array_equal(np.signbit(one), np.signbit(node.get_function([x])([np.ones(4)])))
        assert one.dtype == node.dtype
    assert function.source.count("v") >= len(numbers)
    calls = []

    def impure(value: Any) -> Any:
        calls.append(1)
        return value

    lz.Function([x], x.to(impure) + x.to(impure))([np.ones(4)])
    assert len(calls) == 2


def test_deep_and_shared_nests() -> None:
    x = lz.Variable(())
    deep: Any = (x, 1)
    ladder: Any = [x]
    for _ in range(500):
        deep = [deep]
    for _ in range(40):
        ladder = [ladder, ladder]
    node = lz.LazyArray(None, lambda a, b: (a, b), (deep, ladder), {}, ())
    deep, ladder = node.get_function([x])([7])
    for _ in range(500):
        (deep,) = deep
    for _ in range(40):
        assert ladder[0] is ladder[1]
        ladder = ladder[0]
    assert (deep, ladder) == ((7, 1), [7])


def test_pure_functions_in_a_program() -> None:
    @pure(version=1)
    def inner(x: Any) -> Any:
        return x + 1

    @pure(version=1)
    def outer(x: Any) -> Any:
        return inner(x) * 2

    @pure(version=1)
    def lazily(x: Any) -> Any:
        return computed(x) * 3

    x = computed(1)
    assert lz.Function([x], [outer(x + 1), lazily(x), inner(5)])([10]) == [24, 30, 6]


def test_a_hasher_sees_what_an_argument_evaluates_to(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text("text")

    @pure(version=1, hashers={"name": hash_by_file_date})
    def read(name: Any) -> Any:
        return Path(name).read_text()

    x = computed(str(tmp_path))
    assert lz.Function([x], read(x + "/data.txt"))([str(tmp_path)]) == "text"
    with pytest.raises(FileNotFoundError):
        lz.Function([x], read(x + "/none.txt"))([str(tmp_path)])


def test_a_users_function_cannot_spoil_what_it_is_given() -> None:
    def spoil(x: Any) -> Any:
        x[0] = 100
        return x

    data = np.ones(3)
    x = lz.array(data)
    with pytest.raises(ValueError, match="read-only"):
        x.to(spoil).compute()
    with pytest.raises(ValueError, match="read-only"):
        x.to(spoil).get_function([x])([data])
    assert data[0] == 1


def test_keyword_that_is_no_name() -> None:
    x = lz.Variable(())
    node = lz.LazyArray(None, show, (x,), {"not a name": 1, "class": x}, ())
    assert lz.Function([x], node)([5]) == (5, (), {"not a name": 1, "class": 5})


def test_nests_in_and_out() -> None:
    x, y = lz.Variable((2,)), lz.Variable((2,))
    function = lz.Function({"x": x, "more": [y, (x,)]}, Pair(x + y, [{"sum": (x * y).sum()}, 3]))
    result = function({"x": np.ones(2), "more": [np.arange(2.0), (np.ones(2),)]})
    assert isinstance(result, Pair)
    np.testing.assert_array_equal(result.first, [1, 2])
    assert result.second == [{"sum": 1.0}, 3]
    with pytest.raises(TypeError, match="inputs"):
        function({"x": np.ones(2)})


def test_slices_in_and_out() -> None:
    x = lz.Variable((2,))
    result = lz.Function(slice(x, None), {"s": slice(x * 2, None)})(slice(np.ones(2), None))
    np.testing.assert_array_equal(result["s"].start, [2, 2])
    assert (result["s"].stop, result["s"].step) == (None, None)


def test_inputs_one_by_one_or_together() -> None:
    x, y = lz.Variable((2,)), lz.Variable((2,))
    function = lz.Function([x, y], x - y)
    np.testing.assert_array_equal(function([np.ones(2), np.zeros(2)]), [1, 1])
    np.testing.assert_array_equal(function(np.ones(2), np.zeros(2)), [1, 1])
    single = lz.Function(x, x + 1)
    np.testing.assert_array_equal(single(np.ones(2)), [2, 2])
    with pytest.raises(TypeError, match="expected 2 inputs"):
        function([np.ones(2)])


def test_one_array_for_several_inputs_is_refused_whatever_its_length() -> None:
    x, y = lz.Variable((2,)), lz.Variable((2,))
    with pytest.raises(TypeError, match="expected 2 inputs, got one ndarray"):
        lz.Function([x, y], x + y)(np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"expected a dict of inputs \['x', 'y'\], got ndarray"):
        lz.Function({"x": x, "y": y}, x + y)(np.ones((2, 2)))


def test_copies_of_inputs_are_inputs() -> None:
    x, y = lz.Variable((2,)), lz.Variable((2,))
    inputs, output = pickle.loads(pickle.dumps(([x, y], x - y)))
    function = lz.Function(inputs, [output, inputs[1]])
    first, second = function([np.array([3.0, 4.0]), np.ones(2)])
    np.testing.assert_array_equal(first, [2, 3])
    np.testing.assert_array_equal(second, [1, 1])
    assert function.token == lz.Function([x, y], [x - y, y]).token
    assert repr(function) == "<Function of 2 inputs, 2 outputs>"
    assert repr(lz.Function([x], x)) == "<Function of 1 input, 1 output>"


def test_a_call_with_too_many_or_too_few_inputs_is_refused() -> None:
    x = lz.Variable((2,))
    single = lz.Function(x, lz.sin(x))
    with pytest.raises(TypeError, match="expected 1 input, got 2"):
        single(np.ones(2), np.zeros(2))
    with pytest.raises(TypeError, match="expected 1 input, got 0"):
        single()
    with pytest.raises(TypeError, match="expected a dict of inputs"):
        lz.Function({"x": x}, x + 1)([np.ones(2)])


def test_an_input_that_stands_twice_takes_one_array() -> None:
    x = lz.Variable((2,))
    twice = lz.Function([x, x], x + 1)
    np.testing.assert_array_equal(twice([np.ones(2), np.ones(2)]), [2, 2])
    with pytest.raises(ValueError, match="two arrays are given for input 0"):
        twice([np.ones(2), np.zeros(2)])


@pytest.mark.parametrize("base", [-2.0, -2, np.float32(-2)])
def test_a_power_of_a_negative_number(base: Any) -> None:
    x = lz.Variable((3,), dtype="f8")
    exponents = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(lz.Function([x], base**x)([exponents]), [-2, 4, -8])
    np.testing.assert_array_equal(lz.Function([x], -(x**2) + -1.5 * x)([exponents]), [-2.5, -7, -13.5])
    n = computed(2)
    assert lz.Function(n, (-3) ** n)(2) == 9


LEAVES = st.sampled_from([computed(3), computed(-2), computed(7)])
INFIX = st.sampled_from([operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor])
PREFIX = st.sampled_from([operator.neg, operator.pos, operator.invert, operator.abs])


def _larger(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(lambda function, left, right: function(left, right), INFIX, inside, inside),
        st.builds(lambda function, inner: function(inner), PREFIX, inside),
        st.builds(lambda inner: abs(inner) % 3 + 2, inside),
        st.builds(lambda left, right: (left & 3) ** (right & 3), inside, inside),
        st.builds(lambda left, right: (left << (right & 3)) >> 1, inside, inside),
        st.builds(lambda left, right, third: (left < right) <= third, inside, inside, inside),
        st.builds(lambda inner: (lazy((1, 2)) + lazy((-3, 4)))[inner & 3], inside),
    )


@given(st.recursive(LEAVES, _larger, max_leaves=25))
@settings(max_examples=300, deadline=None)
def test_operators_bind_in_source_as_they_do_in_the_graph(expression: Any) -> None:
    assert lz.Function([], expression, fold_constants=False)([]) == compute(expression)


def test_what_one_call_needs_is_written_inside_it_unless_that_would_keep_a_value_longer() -> None:
    x, y = lz.Variable((3,)), lz.Variable((3,))
    once = lz.Function([x, y], (x - (y - x)) * 2 - -x)
    assert once.source.splitlines()[1:] == [" v0 = (a0 - (a1 - a0)) * 2", " v0 = v0 - -a0", " return [v0]"]


def test_any_node_may_be_an_input() -> None:
    x = lz.array(np.arange(3.0))
    middle = lz.sin(x)
    function = lz.Function([middle], middle * 2)
    np.testing.assert_array_equal(function([np.ones(3)]), [2, 2, 2])
    np.testing.assert_array_equal(lz.Function([x], x)([np.zeros(3)]), [0, 0, 0])


def test_constants_are_folded_and_the_graph_stays() -> None:
    calls = []

    def count(x: Any) -> Any:
        calls.append(1)
        return x + 1

    constant = lz.array(np.arange(3.0)).to(count)
    x = lz.Variable((3,))
    y = x * constant
    function = lz.Function([x], y)
    assert calls == [1]
    function([np.ones(3)])
    np.testing.assert_array_equal(function([np.ones(3)]), [1, 2, 3])
    assert calls == [1]
    assert constant.fn is count
    unfolded = y.get_function([x], fold_constants=False)
    unfolded([np.ones(3)])
    unfolded([np.ones(3)])
    assert calls == [1, 1, 1]


def test_outputs_without_inputs() -> None:
    x = lz.array(np.arange(3.0))
    assert lz.Function([], [x.sum(), x])([])[0] == 3


def test_an_unbound_variable_is_named() -> None:
    x, y = lz.Variable((3,)), lz.Variable((2, 3))
    with pytest.raises(UnboundVariableError, match=r"Variable of shape \(2, 3\) .*among the inputs"):
        lz.Function([x], x + y)([np.ones(3)])


def test_intermediates_are_freed_at_their_last_use() -> None:
    refs: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def track(*values: Any) -> Any:
        out = sum(values) + 1.0
        refs.append(weakref.ref(out))
        alive.append(sum(ref() is not None for ref in refs))
        return out

    x = lz.Variable((3,))
    node, other = x, x
    for _ in range(10):
        node = lz.LazyArray(None, track, (node, other), {}, (3,))
        other = lz.LazyArray(None, track, (node,), {}, (3,))
    lz.Function([x], node + other)([np.ones(3)])
    assert max(alive) <= 4


def test_pickled_functions_work_in_another_process() -> None:
    x = lz.Variable((3,))
    function = lz.Function([x], {"out": lz.linalg.norm(lz.sin(x) * np.arange(3.0) + math.nan * 0) + x[::-1]})
    assert pickle.loads(pickle.dumps(function)).token == function.token
    good = lz.Function([x], [lz.linalg.norm(lz.sin(x) * np.arange(3.0)) + x[::-1], lz.concat([x, x])])
    script = (
        "import sys, pickle, numpy as np\n"
        "f = pickle.loads(sys.stdin.buffer.read())\n"
        "sys.stdout.buffer.write(pickle.dumps((f.token, f([np.arange(3.0)]))))"
    )
    out = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(good), stdout=subprocess.PIPE, check=True)
    token, values = pickle.loads(out.stdout)
    assert token == good.token
    for one, expected in zip(values, good([np.arange(3.0)]), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_a_function_is_known_by_its_graph() -> None:
    def build(constant: Any = 2.0, swap: bool = False) -> lz.Function:
        x, y = lz.Variable((3,)), lz.Variable((3,))
        inputs = [y, x] if swap else [x, y]
        return lz.Function(inputs, lz.sin(x) * constant - y * np.arange(3))

    assert build().token == build().token
    assert digest(build()) == digest(build())
    tokens = {build().token, build(3.0).token, build(2).token, build(swap=True).token}
    assert len(tokens) == 4


def test_a_pickled_function_keeps_the_byte_order_of_its_constants() -> None:
    x = lz.Variable((3,))
    function = lz.Function([x], [x, lz.array(np.arange(3, dtype=">i4"))[::2]], fold_constants=False)
    for arrived in (pickle.loads(pickle.dumps(function, 2)), copy.copy(function), copy.deepcopy(function)):
        assert arrived([np.zeros(3)])[1].dtype == ">i4"
        assert arrived.token == function.token


def test_a_taken_identity_does_not_outlive_the_constants() -> None:
    data = np.ones(3)
    x = lz.Variable((3,))
    function = lz.Function([x], x + data)
    assert function.token
    data[:] = 5
    np.testing.assert_array_equal(function([np.zeros(3)]), [1, 1, 1])


def test_functions_of_general_expressions() -> None:
    x, y = computed(2), computed(5)
    e = (x + 3) * y
    function = lz.Function([x], [e, lazy(3) + x])
    assert function([10]) == [65, 13]
    assert lz.Function([x], x.real)([3 + 1j]) == 3


def test_a_function_of_lazy_arrays_is_lazy() -> None:
    x = lz.Variable((2, 3))
    function = lz.Function([x], lz.concat([lz.sin(x) * 2, lz.linalg.norm(x, axis=1)[:, None]], axis=1).astype("f4"))
    built = function([lz.array(np.ones((2, 3)))])
    assert (built.shape, built.dtype) == ((2, 4), np.float32)
    np.testing.assert_array_equal(built.compute(), function([np.ones((2, 3))]))


def test_a_function_is_a_pure_function(tmp_path: Path) -> None:
    def build() -> Any:
        x = lz.Variable((3,))
        return pure(lz.Function([x], lz.sin(x) * 2))

    with Cache(tmp_path) as store:
        first = cache(build()([np.ones(3)]))
        np.testing.assert_array_equal(cache(build()([np.ones(3)])), first)
        np.testing.assert_allclose(first, np.sin(np.ones(3)) * 2)
        assert store.stats()["runs"] == 1


def test_a_pure_function_of_arrays_is_shown_by_its_class() -> None:
    x = lz.Variable((3,))
    calls = pure(lz.Function([x], x + 1))([np.ones(3)])
    assert "  Function(v1, v2)\n" in repr(calls)
    assert "codegen" not in repr(calls)
    failing = pure(lz.Function([x], x + 1))([np.ones(3), 1, 2])
    with pytest.raises(TypeError, match="expected 1 inputs") as caught:
        compute(failing)
    assert "while computing Function(" in "".join(caught.value.__notes__)


def test_the_name_in_keys_is_not_the_one_that_is_shown() -> None:
    assert name_of(lz.Function.__call__).unique == ("lazycache.codegen.function", "Function.__call__")


def test_source() -> None:
    x = lz.Variable((3,))
    params: dict[str, Any] = {}
    source = lz.get_source(lz.array(np.arange(3.0)) * 2 + 1, params)
    exec(source, params)
    assert source.count("\n") == 1
    np.testing.assert_array_equal(params[source.rpartition("\n")[2].split(" = ")[0]], [1, 3, 5])
    assert (x + 1).get_function([x]).source.startswith("def ")
    assert lz.stringify([1, {"k": (None,)}], {}) == "[1, {'k': (None,)}]"
    scope: dict[str, Any] = {}
    leaf = lz.array(np.arange(3))
    assert eval(lz.stringify((leaf, 1), scope), scope)[0] is leaf.data


def test_a_long_chain_compiles() -> None:
    x = lz.Variable((2,), "numpy")
    node = x
    for _ in range(20_000):
        node = node + x
    np.testing.assert_array_equal(node.get_function([x])([np.ones(2)]), [20_001, 20_001])


def test_trace_from_ordinary_code() -> None:
    def model(a: Any, parts: Any) -> Any:
        hidden = np.tanh(a @ parts["w"] + parts["b"])
        return {"norm": np.linalg.norm(hidden), "first": hidden[0], "shape": np.zeros(2)}

    args = (np.random.default_rng(1).normal(size=(2, 3)), {"w": np.ones((3, 4)), "b": np.arange(4.0)})
    function = lz.trace(model, *args)
    result = function(*args)
    expected = model(*args)
    for name, value in expected.items():
        np.testing.assert_allclose(result[name], value)
    assert lz.trace(lz.Variable((3, 3), dtype="f8")).fn_name == "trace"
    # What is compiled can be traced again.
    again = lz.trace(lambda a: function(a, args[1])["norm"], args[0])
    np.testing.assert_allclose(again(args[0]), expected["norm"])
