import copy
import pickle
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from lazycache.digests import digest, snapshot, token
from lazycache.errors import UnhashableError
from lazycache.protection import protect

# Neither has type stubs everywhere.
pd: Any = import_module("pandas")
sparse: Any = import_module("scipy.sparse")


def frame() -> Any:
    return pd.DataFrame({"a": [1, 2, 3], "b": [1.5, None, 3.0], "c": ["x", None, "z"], "d": [1, 2, 3]})


def test_frames_of_equal_columns_have_one_digest_whatever_the_blocks() -> None:
    direct = frame()
    by_column = pd.DataFrame(index=range(3))
    for name in direct:
        by_column[name] = direct[name].to_numpy() if name != "c" else direct[name]
    doubled = pd.concat([direct, direct]).drop_duplicates()
    wider = direct.assign(extra=1)
    del wider["extra"]
    longer = pd.concat([direct, direct.iloc[:1]], ignore_index=True).iloc[:3]
    for other in (by_column, doubled, wider, longer, direct.copy(), direct.loc[:], direct.loc[[0, 1, 2]]):
        pd.testing.assert_frame_equal(other, direct, check_index_type=False)
        assert digest(other) == digest(direct)


def test_frames_that_differ_have_different_digests() -> None:
    base = frame()
    attrs, index, names = base.copy(), base.copy(), base.copy()
    attrs.attrs["unit"] = "m"
    index.index = [1, 2, 3]
    names.index.name = "n"
    columns = base.rename(columns={"a": "A"})
    distinct = [base, attrs, index, names, columns, base[["b", "a", "c", "d"]], base.iloc[::-1], base["a"]]
    distinct += [
        base.astype({"a": "int32"}),
        base.astype({"c": "category"}),
        base.iloc[:2],
        base.set_flags(allows_duplicate_labels=False),
        base.astype({"a": "Int64"}),
        base.astype(object),
    ]
    assert len({digest(value) for value in distinct}) == len(distinct)


def test_the_categories_order_counts_only_if_it_is_ordered() -> None:
    def made(categories: str, ordered: bool) -> Any:
        return pd.Series(pd.Categorical(["b", "a", None], categories=list(categories), ordered=ordered))

    assert digest(made("abc", False)) == digest(made("cba", False)) != digest(made("ab", False))
    assert digest(made("abc", True)) != digest(made("cba", True))
    assert digest(made("abc", True).dtype) != digest(made("cba", True).dtype)
    assert digest(made("abc", False).dtype) == digest(made("bca", False).dtype)


def test_what_lies_below_missing_values_does_not_count() -> None:
    direct = pd.array([1, None, 3], dtype="Int64")
    computed = pd.array([1, 7, 3], dtype="Int64")
    computed[1] = pd.NA
    assert digest(direct) == digest(computed)
    assert digest(direct) != digest(pd.array([1, 0, 3], dtype="Int64"))


def test_multi_indexes_count_by_their_values() -> None:
    whole = pd.MultiIndex.from_product([[1, 2, 3], ["x", "y"]], names=["n", None])
    assert digest(whole[:2]) == digest(pd.MultiIndex.from_product([[1], ["x", "y"]], names=["n", None]))
    assert digest(whole) != digest(whole.rename(["n", "m"]))


def test_ranges_and_arrays_of_numbers_make_one_index() -> None:
    for start, stop, step in ((0, 5, 1), (3, -7, -2), (0, 0, 1), (4, 5, 1)):
        numbers = np.arange(start, stop, step, dtype="i8")
        assert digest(pd.RangeIndex(start, stop, step)) == digest(pd.Index(numbers))
    assert digest(pd.Index([0, 1, 2])) != digest(pd.Index([0, 1, 3])) != digest(pd.Index([0.0, 1.0, 3.0]))
    assert digest(pd.Index([0, 5, 2, 3])) != digest(pd.RangeIndex(4))


STABLE: dict[str, Any] = {
    "timestamp": pd.Timestamp("2020-01-01 12:00", tz="Europe/Oslo"),
    "timedelta": pd.Timedelta("3s"),
    "period": pd.Period("2020-01", "M"),
    "interval": pd.Interval(0, 1, closed="left"),
    "NaT": pd.NaT,
    "NA": pd.NA,
    "month end": pd.offsets.MonthEnd(2),
    "date offset": pd.DateOffset(months=1),
    "custom business day": pd.offsets.CustomBusinessDay(holidays=["2020-01-01"]),
    "zoned index": pd.date_range("2020", periods=3, tz="UTC"),
    "period index": pd.period_range("2020-01", periods=3, freq="M"),
    "interval index": pd.interval_range(0, 3),
    "nullable": pd.array([1.5, None], dtype="Float64"),
    "boolean": pd.array([True, None], dtype="boolean"),
    "string": pd.array(["a", None], dtype="string"),
    "sparse": pd.arrays.SparseArray([0.0, 1.0]),
    "zoned dtype": pd.DatetimeTZDtype("ns", "UTC"),
    "objects": pd.Series([[1], {"a": np.arange(2)}]),
    "frame": frame(),
}


@pytest.mark.parametrize("name", STABLE)
def test_values_of_pandas_survive_pickles_and_copies(name: str) -> None:
    value = STABLE[name]
    expected = token(value)
    assert token(pickle.loads(pickle.dumps(value))) == token(copy.deepcopy(value)) == expected
    assert token(snapshot(value)[0]) == snapshot(value)[1] == expected


def test_values_of_pandas_are_all_distinct() -> None:
    offsets = [pd.offsets.Day(1), pd.offsets.Day(2), pd.offsets.BusinessDay(1), pd.DateOffset(months=2)]
    dated = [pd.date_range("2020", periods=3, tz="Europe/Oslo"), pd.date_range("2020", periods=3)]
    values = [*STABLE.values(), *offsets, *dated, pd.Timestamp("2020-01-01 12:00"), pd.Interval(0, 1)]
    assert len({digest(value) for value in values}) == len(values)


def test_a_frame_beside_settings_counts_member_by_member() -> None:
    assert digest((frame(), {"n": 1})) == digest((frame(), {"n": 1})) != digest((frame(), {"n": 2}))


def test_snapshots_and_handed_out_frames_are_deep() -> None:
    original = pd.DataFrame({"n": [1, 2], "o": [[1], [2]]})
    copied, its_token = snapshot(original)
    handed = protect(original)
    handed.loc[0, "n"] = 9
    handed["n"].array[1] = 9
    handed["o"][1].append(9)
    assert token(original) == its_token
    original["o"][0].append(5)
    assert token(copied) == its_token != token(original)


def test_the_path_names_the_column() -> None:
    with pytest.raises(UnhashableError) as caught:
        digest(pd.DataFrame({"a": [1], "b": [object()]}), path="df")
    assert caught.value.path == "df['b'][0]"


FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("name", FORMATS)
def test_sparse_matrices_count_by_content(name: str, kind: str) -> None:
    make = getattr(sparse, f"{name}_{kind}")
    dense = np.diag([1.0, 2.0, 3.0])
    assert token(make(dense)) == token(pickle.loads(pickle.dumps(make(dense)))) == snapshot(make(dense))[1]
    other = dense.copy()
    other[2, 2] = 4
    assert token(make(dense)) != token(make(other))


def test_sparse_formats_are_distinct() -> None:
    values = [getattr(sparse, f"{name}_{kind}")(np.eye(3)) for name in FORMATS for kind in ("array", "matrix")]
    assert len({digest(value) for value in values}) == len(values)


def test_a_dictionary_of_keys_counts_whatever_the_order() -> None:
    one, two = sparse.dok_array((3, 3)), sparse.dok_array((3, 3))
    one[0, 1], one[2, 2] = 5, 6
    two[2, 2], two[0, 1] = 6, 5
    assert digest(one) == digest(two)
