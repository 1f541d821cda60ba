"""Random stores against a model: sizes, sharing and survivors are those of plain Python."""

import tempfile
from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lazycache_storage.check import check
from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.store import Store
from tests.gc.stores import digest, load, numbers, object_bytes, present, put

Entry = tuple[int, ...]

entries = st.lists(st.lists(st.integers(0, 5), max_size=3, unique=True).map(tuple), min_size=1, max_size=12)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("forget"), st.integers(0, 11)),
        st.tuples(st.just("put"), st.integers(0, 11)),
        st.tuples(st.just("trim"), st.integers(0, 600_000)),
        st.tuples(st.just("gc"), st.integers(0, 2)),
    ),
    max_size=8,
)


@settings(max_examples=25, deadline=None)
@given(entries, actions)
def test_any_sequence_of_puts_forgets_and_collections(shapes: list[Entry], steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/store") as store:
        there = set()

        def write(place: int) -> None:
            value = [numbers(seed, 40 + 10 * seed) for seed in shapes[place]]
            put(store, place, value=value, function=f"lab.f{place % 3}", seconds=float(place))
            there.add(place)

        def forget(place: int) -> None:
            store.forget(digest(place))
            there.discard(place)

        def trim(limit: int) -> None:
            run_gc(store, plan_gc(store, GcLimits(max_size=limit)))
            assert object_bytes(store) <= limit
            there.intersection_update(place for place in tuple(there) if present(store, (place,))[0])

        def collect(number: int) -> None:
            run_gc(store, plan_gc(store, GcLimits(functions=(f"lab.f{number}",))))
            there.difference_update({place for place in there if place % 3 == number})

        do: dict[str, Callable[[int], None]] = {"put": write, "forget": forget, "trim": trim, "gc": collect}
        for place in range(len(shapes)):
            write(place)
        for action, number in steps:
            if action in ("trim", "gc") or number < len(shapes):
                do[action](number)
        assert {place for place in range(len(shapes)) if present(store, (place,))[0]} == there
        # The disk holds exactly the arrays that somebody needs, each once.
        needed = {seed for place in there for seed in shapes[place]}
        data = sum(1000 * (40 + 10 * seed) for seed in needed)
        assert data <= object_bytes(store) <= data + 1000 * len(needed)
        assert plan_gc(store, GcLimits(everything=True)).results == len(there)
        for place in there:
            for array, seed in zip(load(store, place), shapes[place], strict=True):
                np.testing.assert_array_equal(array, numbers(seed, 40 + 10 * seed))
        assert check(store) == []
