"""Searching, sorting and sets."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lazycache.array.backends import index_dtype
from lazycache.array.functions import array_function
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import size_of
from lazycache.array.infer.dtypes import BOOL, DType, result_type
from lazycache.array.infer.reductions import normalize_axis, whole_axis
from lazycache.array.node import known_dtype, make
from lazycache.array.operands import Operand, common_backend, operand
from lazycache.expressions.nests import find_nodes
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def parts(
    name: str, args: tuple[Any, ...], kwargs: Any, backend: str | None, outputs: list[tuple[Shape, DType]]
) -> tuple[LazyArray, ...]:
    """Make the node of a function that returns a tuple, and those of the parts of it."""
    count = len(outputs)
    whole = make(array_function(name, None, count), args, kwargs or NO_KWARGS, (count,), None, backend)
    pick = array_function("getitem")
    made = []
    for number, (shape, dtype) in enumerate(outputs):
        known = known_dtype(name, dtype, backend, whole._deps)
        made.append(make(pick, (whole, number), NO_KWARGS, shape, known, backend, (whole,)))
    return tuple(made)


def nonzero(x: Any, /) -> tuple[LazyArray, ...]:
    """Return the indices of the elements that are not zero, one array for each axis."""
    found = operand(x)
    if not found.shape:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    outputs: list[tuple[Shape, DType]] = [((None,), index_dtype(found.backend))] * len(found.shape)
    return parts("nonzero", (found.arg,), None, found.backend, outputs)


def argwhere(x: Any, /) -> LazyArray:
    """Return the indices of the elements that are not zero, one row for each."""
    found = operand(x)
    shape = (None, len(found.shape))
    return make(array_function("argwhere"), (found.arg,), NO_KWARGS, shape, index_dtype(found.backend), found.backend)


def flatnonzero(x: Any, /) -> LazyArray:
    """Return the indices, in the flattened array, of the elements that are not zero."""
    found = operand(x)
    return make(
        array_function("flatnonzero"), (found.arg,), NO_KWARGS, (None,), index_dtype(found.backend), found.backend
    )


# numpy looks at their first letters only: quick, heap, merge, stable.
_SORTS = frozenset("qhms")


def _check_kind(kind: Any, stable: bool | None) -> None:
    """Refuse an algorithm for sorting that numpy does not have, or that is named beside what it should do."""
    if not isinstance(kind, str):
        raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
    if kind[:1].lower() not in _SORTS:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    if stable is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")


def _ordered(name: str) -> Callable[..., LazyArray]:
    def ordered(
        x: Any,
        /,
        axis: int | None = -1,
        kind: str | None = None,
        order: None = None,
        *,
        descending: bool = False,
        stable: bool | None = None,
    ) -> LazyArray:
        if kind is not None:
            _check_kind(kind, stable)
        if order is not None:
            raise TypeError(f"np.{name} with order= has no lazy form: sort by x[field]")
        found = operand(x)
        shape = found.shape
        if axis is None:
            shape = (size_of(shape),)
        elif name == "sort" or shape:
            (normalize_axis if name == "sort" else whole_axis)(axis, len(shape))
        else:
            whole_axis(axis, 1)
            shape = () if found.backend == "torch" else (1,)
        options: dict[str, Any] = {} if axis == -1 else {"axis": axis}
        if kind is not None:
            options["kind"] = kind
        elif stable is not False and name == "argsort":
            options["stable"] = True
        dtype = found.dtype if name == "sort" else index_dtype(found.backend)
        if descending:
            return _descending(name, found, axis, shape, dtype)
        return make(array_function(name), (found.arg,), options or NO_KWARGS, shape, dtype, found.backend)

    ordered.__name__ = ordered.__qualname__ = name
    ordered.__doc__ = f"As numpy's ``{name}``; with ``descending=True`` the largest come first."
    return ordered


def _descending(name: str, x: Operand, axis: int | None, shape: Shape, dtype: DType) -> LazyArray:
    options: dict[str, Any] = {"axis": axis, "descending": True}
    return make(array_function(name), (x.arg,), options, shape, dtype, x.backend)


sort = _ordered("sort")
argsort = _ordered("argsort")


def check_places(kth: Any, shape: Shape, axis: int) -> None:
    """Refuse places, in the order of an axis, that it does not have; of an array of nothing numpy asks none."""
    size = shape[axis]
    if size is None or 0 in shape or find_nodes(kth):
        return
    for place in np.ravel(kth).tolist():
        if not -size <= operator.index(place) < size:
            raise ValueError(f"kth(={place}) out of bounds ({size})")


def check_selection(kind: Any) -> None:
    """Refuse an algorithm for partitions that numpy does not have."""
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")


def partition(x: Any, kth: Any, /, axis: int | None = -1, kind: str = "introselect") -> LazyArray:
    """Return the array, flattened if there is no axis, with the `kth` element in its sorted place."""
    check_selection(kind)
    found = operand(x)
    shape = found.shape if axis is not None else (size_of(found.shape),)
    check_places(kth, shape, 0 if axis is None else normalize_axis(axis, len(shape)))
    return make(array_function("partition"), (found.arg, kth), {"axis": axis}, shape, found.dtype, found.backend)


def check_order(left: Operand, right: Operand) -> None:
    """Refuse to compare dates with what are no dates; numpy would try with objects."""
    dtypes = [one.dtype for one in (left, right) if one.dtype is not None]
    if any(dtype.kind in "mM" for dtype in dtypes):
        np.result_type(*dtypes)


def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> LazyArray:
    """Return where the elements of `x2` belong in the sorted `x1`."""
    first, second = operand(x1), operand(x2)
    if len(first.shape) != 1:
        raise ValueError("object too deep for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    options: dict[str, Any] = {} if side == "left" else {"side": side}
    if sorter is not None:
        options["sorter"] = operand(sorter).arg
    check_order(first, second)
    args = (first.arg, second.arg)
    backend = common_backend((first, second))
    return make(array_function("searchsorted"), args, options or NO_KWARGS, second.shape, index_dtype(backend), backend)


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: LazyArray
    indices: LazyArray
    inverse_indices: LazyArray
    counts: LazyArray


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: LazyArray
    counts: LazyArray


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: LazyArray
    inverse_indices: LazyArray


def unique_all(x: Any, /) -> UniqueAll:
    """Return the distinct values, where each is first, how to put `x` together again, and how often each is there."""
    found = operand(x)
    positions = index_dtype(found.backend)
    outputs = [((None,), found.dtype), ((None,), positions), (found.shape, positions), ((None,), positions)]
    return UniqueAll(*parts("unique_all", (found.arg,), None, found.backend, outputs))


def unique_counts(x: Any, /) -> UniqueCounts:
    """Return the distinct values, and how often each is there."""
    found = operand(x)
    positions = index_dtype(found.backend)
    outputs: list[tuple[Shape, DType]] = [((None,), found.dtype), ((None,), positions)]
    return UniqueCounts(*parts("unique_counts", (found.arg,), None, found.backend, outputs))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """Return the distinct values, and how to put `x` together again."""
    found = operand(x)
    positions = index_dtype(found.backend)
    outputs = [((None,), found.dtype), (found.shape, positions)]
    return UniqueInverse(*parts("unique_inverse", (found.arg,), None, found.backend, outputs))


def unique_values(x: Any, /) -> LazyArray:
    """Return the distinct values; their number depends on the values."""
    found = operand(x)
    return make(array_function("unique_values"), (found.arg,), NO_KWARGS, (None,), found.dtype, found.backend)


def _distinct(x: Operand, axis: int | None) -> tuple[Shape, Shape]:
    """Return the shape of distinct elements, or of distinct slices, and of what puts them together again."""
    if axis is None:
        return (None,), x.shape
    if x.backend == "torch":
        raise TypeError("unique with axis= has no lazy form for arrays of torch: call torch.unique in a pure function")
    position = normalize_axis(axis, len(x.shape))
    return (*x.shape[:position], None, *x.shape[position + 1 :]), (x.shape[position],)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,  # noqa: A002
) -> Any:
    """Return the distinct values in order, as numpy's function of that name; their number depends on the values.

    Parameters
    ----------
    ar : array
    return_index, return_inverse, return_counts : bool
        Whether to return also where each is first, how to put `ar` together
        again, and how often each is there; all that is asked for is a tuple.
    axis : int, optional
        Along which the distinct slices are found; else the elements are.
    equal_nan : bool
    sorted : bool
        They are sorted in any case.

    Examples
    --------
    >>> import lazycache.array as lz
    >>> values, counts = lz.unique(lz.array([3, 1, 3]), return_counts=True)
    >>> values.shape, counts.compute()
    ((None,), array([1, 2]))
    """
    del sorted
    found = operand(ar)
    options: dict[str, Any] = {} if equal_nan else {"equal_nan": False}
    values, places = _distinct(found, axis)
    if axis is not None:
        options["axis"] = operator.index(axis)
    wanted = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    shapes: dict[str, Shape] = {"return_index": (None,), "return_inverse": places, "return_counts": (None,)}
    asked = [name for name, is_wanted in wanted.items() if is_wanted]
    options.update(dict.fromkeys(asked, True))
    if not asked:
        called = array_function("unique")
        return make(called, (found.arg,), options or NO_KWARGS, values, found.dtype, found.backend)
    positions = index_dtype(found.backend)
    outputs: list[tuple[Shape, DType]] = [(values, found.dtype), *((shapes[name], positions) for name in asked)]
    return parts("unique", (found.arg,), options, found.backend, outputs)


def isin(
    x1: Any, x2: Any, /, *, assume_unique: bool = False, invert: bool = False, kind: str | None = None
) -> LazyArray:
    """Say which elements of `x1` are among those of `x2`; by which algorithm, makes no difference to the result."""
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: {kind!r}. Please use None, 'sort' or 'table'.")
    first, second = operand(x1), operand(x2)
    if kind == "table" and any(one.dtype is not None and one.dtype.kind not in "biu" for one in (first, second)):
        raise ValueError("The 'table' method is only supported for boolean or integer arrays.")
    options = {**({"invert": True} if invert else {}), **({"assume_unique": True} if assume_unique else {})}
    args = (first.arg, second.arg)
    backend = common_backend((first, second))
    return make(array_function("isin"), args, options or NO_KWARGS, first.shape, BOOL, backend)


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> LazyArray:
    """Return how often each number from zero is there; the length depends on the values."""
    found = operand(x)
    if len(found.shape) != 1:
        raise ValueError(f"object {'too deep' if found.shape else 'of too small depth'} for desired array")
    if found.dtype is not None and not np.can_cast(found.dtype, np.intp) and found.dtype.kind != "u":
        raise TypeError(
            f"Cannot cast array data from {found.dtype!r} to {np.dtype(np.intp)!r} according to the rule 'safe'"
        )
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    options: dict[str, Any] = {} if not minlength else {"minlength": minlength}
    dtype: DType = index_dtype(found.backend)
    if weights is not None:
        heavy = operand(weights)
        if heavy.shape != found.shape and None not in (*heavy.shape, *found.shape):
            raise ValueError("The weights and list don't have the same length.")
        options["weights"] = heavy.arg
        dtype = result_type((np.dtype(float),))
    return make(array_function("bincount"), (found.arg,), options or NO_KWARGS, (None,), dtype, found.backend)


def sort_complex(x: Any, /) -> LazyArray:
    """Return the elements as complex numbers, sorted along the last axis by the real and then the imaginary part."""
    found = operand(x)
    normalize_axis(-1, len(found.shape))
    dtype = found.dtype
    if dtype is not None and dtype.kind != "c":
        dtype = np.dtype("F" if dtype.char in "bhBH" else "G" if dtype.char == "g" else "D")
    return make(array_function("sort_complex"), (found.arg,), NO_KWARGS, found.shape, dtype, found.backend)
