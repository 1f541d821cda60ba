"""What `stats` adds up, against a model that counts by itself."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lazycache_storage.check import check, repair
from lazycache_storage.gc import GcLimits, plan_gc, run_gc, take_totals
from lazycache_storage.index.index import REF_PREFIX
from lazycache_storage.store import Store
from tests.gc.stores import digest, files_below, index_bytes, numbers, put


def object_folders(store: Store) -> list[Path]:
    return [path for path in Path(store.path, "objects").glob("*/*") if path.suffix in (".zarr", ".blob")]


@pytest.mark.parametrize("seed", range(6))
def test_totals_are_right_after_any_sequence(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    store = Store(tmp_path / "store")
    # By number of the result: function, seconds, the arrays that it holds, uses, number of keys.
    model: dict[int, dict[str, Any]] = {}

    def add(number: int) -> None:
        arrays = chance.sample(range(4), chance.randrange(3))
        value = [number, *(numbers(array, 20) for array in arrays)]
        also = [digest("also", number)] if chance.random() < 0.5 else []
        function, seconds = f"lab.f{number % 3}", float(chance.randrange(10))
        if number in model:
            return
        put(store, number, value=value, also_under=also, function=function, seconds=seconds)
        model[number] = {"f": function, "s": seconds, "arrays": arrays, "uses": 0, "keys": 1 + len(also)}

    def drop(number: int) -> None:
        store.forget(digest(number))
        store.forget(digest("also", number))
        model.pop(number, None)

    for _ in range(60):
        number = chance.randrange(12)
        what = chance.random()
        if what < 0.5:
            add(number)
        elif what < 0.7:
            drop(number)
        elif what < 0.9 and number in model:
            assert store.find(digest(number)) is not None
            model[number]["uses"] += 1
        elif what >= 0.97:
            run_gc(store, plan_gc(store, GcLimits(functions=("lab.f1",))))
            model = {key: result for key, result in model.items() if result["f"] != "lab.f1"}
    store.flush()
    totals = take_totals(store)
    held = [array for result in model.values() for array in result["arrays"]]
    assert totals.results == len(model)
    assert totals.keys == sum(result["keys"] for result in model.values())
    assert totals.objects == len(set(held)) == len(object_folders(store))
    assert totals.hits == sum(result["uses"] for result in model.values())
    assert totals.seconds_saved == sum(result["uses"] * result["s"] for result in model.values())
    assert totals.nbytes_saved == pytest.approx((len(held) - len(set(held))) * 20_400, rel=0.05)
    files = sum(files_below(f"{store.path}/objects").values())
    assert files <= totals.nbytes <= files + index_bytes(store)
    for function in totals.functions:
        mine = [result for result in model.values() if result["f"] == function.function]
        assert (function.results, function.hits) == (len(mine), sum(result["uses"] for result in mine))
        assert function.seconds == sum(result["s"] for result in mine)
    store.close()


def test_a_repaired_reference_counts_again(store: Store) -> None:
    record = put(store, 1, value=numbers(1, 20))
    before = take_totals(store)
    store.index.delete(REF_PREFIX + record.objects[0].name + digest(1))
    assert take_totals(store).objects == 0
    assert repair(store, check(store)) == []
    assert take_totals(store) == before


def test_an_empty_store_has_nothing(store: Store) -> None:
    totals = take_totals(store)
    assert (totals.results, totals.objects, totals.nbytes, totals.functions) == (0, 0, 0, [])


def test_seconds_that_are_no_number_do_not_spoil_the_sum(store: Store) -> None:
    put(store, 1, value=1, seconds=float("nan"))
    put(store, 2, value=np.float64(2), seconds=2.0)
    assert [function.seconds for function in take_totals(store).functions] == [2.0]


def test_a_store_from_before_there_were_totals_is_added_up_too(store: Store) -> None:
    put(store, 1, value=numbers(1, 20), function="lab.a", seconds=2.0, also_under=[digest("also")])
    put(store, 2, value=[numbers(1, 20), numbers(2, 30)], function="lab.b", seconds=3.0)
    put(store, 3, value=3, function="np.sin(v1) + 1", version="")
    for _ in range(3):
        store.find(digest(2))
    store.flush()
    before = take_totals(store)
    for name in ("insert", "delete", "update"):
        store.index.fetch(f"DROP TRIGGER Totals_{name}")
    store.index.fetch("DROP TABLE Totals")
    assert (before.results, before.keys, before.objects, before.hits) == (3, 4, 2, 3)
    assert take_totals(store) == before
    put(store, 4, value=4, function="lab.a")
    assert take_totals(store).results == 4


def test_totals_that_are_wrong_are_found_and_added_up_anew(store: Store) -> None:
    for number in range(5):
        put(store, number, value=[number, numbers(number % 2, 20)], function=f"lab.f{number % 2}", seconds=2.0)
        assert store.find(digest(number)) is not None
    store.flush()
    right = take_totals(store)
    for damage in (
        "UPDATE Totals SET bytes = bytes + 1",
        "DELETE FROM Totals",
        "INSERT INTO Totals VALUES ('1nobody', 1, 3, 4, 5, 6.0, 7.0)",
        "DROP TABLE Totals",
        "DROP TRIGGER Totals_delete",
    ):
        store.index.fetch(damage)
        findings = check(store)
        assert [finding.kind for finding in findings] == ["wrong-totals"], damage
        assert repair(store, findings) == []
        assert check(store) == []
        assert take_totals(store) == right
    put(store, 9, value=9)
    store.forget(digest(0))
    assert check(store) == []
