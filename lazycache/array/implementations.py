"""Functions that a backend lacks, or has under other names and parameters.

`OWN` is for numpy. The functions of `FOREIGN` and `FALLBACK` take the namespace of
another backend first; the latter are for backends that have no such function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazycache.array.adapted import ADAPTED, isclose, own
from lazycache.array.backends import as_numpy


def _cumulative(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def cumulative(x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
        array = np.asarray(x)
        along = axis if axis is not None else 0
        out = ufunc.accumulate(
            array if array.ndim else array.reshape(1), axis=along, dtype=_summed(ufunc, array, dtype)
        )
        if include_initial:
            shape = list(out.shape)
            shape[along] = 1
            out = np.concatenate([np.full(shape, ufunc.identity, out.dtype), out], axis=along)
        return out

    cumulative.__name__ = name
    return cumulative


def _summed(ufunc: np.ufunc, array: np.ndarray[Any, Any], dtype: Any) -> Any:
    return dtype if dtype is not None else ufunc.resolve_dtypes((None, array.dtype, None), reduction=True)[2]


def _seeded(method: str) -> Callable[..., Any]:
    def draw(seed: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.pop("dtype", None)
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        drawn = getattr(generator, method)(*args, **kwargs)
        return drawn if dtype is None else np.asarray(drawn).astype(dtype)

    return draw


def _expm(x: Any) -> Any:
    from scipy.linalg import expm

    return expm(x)


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    return np.full(shape, fill_value, dtype, order)


def _take_axis(x: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    return np.take(x, indices, axis=axis, mode=mode)  # type: ignore[call-overload]


def _astype(x: Any, dtype: Any) -> Any:
    # np.astype refuses the scalars that numpy's reductions give.
    return x.astype(dtype) if hasattr(x, "astype") else np.asarray(x).astype(dtype)[()]


def _sort(x: Any, axis: int | None = -1, descending: bool = False, **kwargs: Any) -> Any:
    ordered = np.sort(x, axis=axis, **kwargs)
    return np.flip(ordered, axis=-1 if axis is None else axis) if descending else ordered


def _argsort(x: Any, axis: int | None = -1, descending: bool = False, **kwargs: Any) -> Any:
    if not descending:
        return np.argsort(x, axis=axis, **kwargs)
    array = np.ravel(x) if axis is None else np.asarray(x)
    along = -1 if axis is None else axis
    # Turned round before and after, so that equal elements stay in their order.
    order = np.flip(np.argsort(np.flip(array, axis=along), axis=along, stable=True), axis=along)
    return array.shape[along] - 1 - order


def _fields(x: Any, names: tuple[str, ...]) -> Any:
    return x[list(names)]


def _unique_values(x: Any) -> Any:
    # numpy's own has them in the order of a hash table.
    return np.unique(x, equal_nan=False)


def _count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims), dtype=np.intp)[()]


def _asarray(x: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Return a value as an array of what was said of it when its node was built."""
    made = as_numpy(x)
    if made is None:
        raise TypeError(f"the value is no array but {type(x).__name__}: its elements are objects")
    _check(made.shape, shape)
    return made if dtype is None or made.dtype == dtype else made.astype(dtype)


def _check(found: Any, said: Any) -> None:
    """Refuse a shape that is not what was said of it."""
    sizes = tuple(found)
    fits = said is None or (
        len(said) == len(sizes)
        # Sizes of dask may be unknown, NaN, still.
        and all(one in (None, size) or size != size for one, size in zip(said, sizes, strict=True))
    )
    if not fits:
        raise ValueError(f"asarray(e, shape={said}): the value of e has the shape {sizes}")


OWN: dict[str, Callable[..., Any]] = {
    "asarray": _asarray,
    "cumulative_sum": _cumulative("cumulative_sum", np.add),
    "cumulative_prod": _cumulative("cumulative_prod", np.multiply),
    "linalg.expm": _expm,
    "argsort": _argsort,
    "astype": _astype,
    "fields": _fields,
    "full": _full,
    "sort": _sort,
    "take": _take_axis,
    "count_nonzero": _count_nonzero,
    "unique_values": _unique_values,
    "random.random": _seeded("random"),
    "random.uniform": _seeded("uniform"),
    "random.normal": _seeded("normal"),
    "random.standard_normal": _seeded("standard_normal"),
    "random.exponential": _seeded("exponential"),
    "random.integers": _seeded("integers"),
    "random.permutation": _seeded("permutation"),
    "random.choice": _seeded("choice"),
    "random.poisson": _seeded("poisson"),
    "random.binomial": _seeded("binomial"),
}


def _on_numpy(name: str) -> Callable[..., Any]:
    """Draw with numpy and hand over: a seed gives the same numbers on every backend."""
    return lambda xp, *args, **kwargs: xp.asarray(np.asarray(OWN[name](*args, **kwargs)))


def _kron(xp: Any, left: Any, right: Any) -> Any:
    ndim = max(left.ndim, right.ndim)
    first = xp.reshape(left, (1,) * (ndim - left.ndim) + tuple(left.shape))
    second = xp.reshape(right, (1,) * (ndim - right.ndim) + tuple(right.shape))
    spread = xp.reshape(first, tuple(n for size in first.shape for n in (size, 1)))
    product = spread * xp.reshape(second, tuple(n for size in second.shape for n in (1, size)))
    return xp.reshape(product, tuple(a * b for a, b in zip(first.shape, second.shape, strict=True)))


def _swapaxes(xp: Any, x: Any, axis1: int, axis2: int) -> Any:
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return xp.permute_dims(x, tuple(order))


def _dot(xp: Any, left: Any, right: Any) -> Any:
    left, right = xp.asarray(left), xp.asarray(right)
    if not left.ndim or not right.ndim:
        return left * right
    axis = right.ndim - 2 if right.ndim > 1 else 0
    return xp.tensordot(left, right, axes=((left.ndim - 1,), (axis,)))


def _diagonal(xp: Any, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return xp.linalg.diagonal(xp.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset)


def _trace(xp: Any, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **kwargs: Any) -> Any:
    return xp.linalg.trace(xp.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset, **kwargs)


def _outer(xp: Any, left: Any, right: Any) -> Any:
    return xp.linalg.outer(xp.reshape(left, (-1,)), xp.reshape(right, (-1,)))


def _select(xp: Any, conditions: Sequence[Any], choices: Sequence[Any], default: Any) -> Any:
    out = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = xp.where(condition, choice, out)
    return out


def _take(xp: Any, x: Any, indices: Any, axis: int | None = None) -> Any:
    """Take by the standard's function, which knows one axis and indices in one dimension."""
    array, along = (xp.reshape(x, (-1,)), 0) if axis is None or not x.ndim else (x, axis % x.ndim)
    places = xp.asarray(indices)
    taken = xp.take(array, xp.reshape(places, (-1,)), axis=along)
    if places.ndim == 1:
        return taken
    return xp.reshape(taken, (*array.shape[:along], *places.shape, *array.shape[along + 1 :]))


def _cholesky(xp: Any, x: Any, upper: bool = False) -> Any:
    if not xp.__name__.endswith("dask.array"):
        return xp.linalg.cholesky(x, upper=upper)
    from dask.array.linalg import cholesky

    # dask's own default is the upper factor.
    lower = cholesky(x, lower=True)
    return xp.conj(xp.matrix_transpose(lower)) if upper else lower


def _median(name: str) -> Callable[..., Any]:
    def median(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if not xp.__name__.endswith("torch"):
            return own(xp, name, name)(x, axis=axis, keepdims=keepdims)
        # torch's median is the lower of the two in the middle.
        quantile = xp.nanquantile if name == "nanmedian" else xp.quantile
        return quantile(x, 0.5, dim=axis, keepdim=keepdims)

    return median


def _quantile(name: str) -> Callable[..., Any]:
    def quantile(xp: Any, x: Any, q: Any, **options: Any) -> Any:
        # torch takes shares of the dtype of the array only.
        shares = xp.asarray(q, dtype=x.dtype) if xp.__name__.endswith("torch") else q
        return own(xp, name, name)(x, shares, **options)

    return quantile


def _matrix_exponential(xp: Any, x: Any) -> Any:
    return own(xp.linalg, "matrix_exp", "linalg.expm")(x)


def _ptp(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return xp.max(x, axis=axis, keepdims=keepdims) - xp.min(x, axis=axis, keepdims=keepdims)


def _allclose(xp: Any, left: Any, right: Any, **options: Any) -> Any:
    return xp.all(isclose(xp, left, right, **options))


def _array_equal(xp: Any, left: Any, right: Any, equal_nan: bool = False) -> Any:
    if left.shape != right.shape:
        return xp.asarray(False)
    same = left == right
    return xp.all(same | (xp.isnan(left) & xp.isnan(right)) if equal_nan else same)


def _pad(xp: Any, x: Any, pairs: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    if mode != "constant" or isinstance(constant_values, tuple):
        raise TypeError(f"this backend has no function 'pad' with mode {mode!r}, nor with several values")
    for axis, (before, after) in enumerate(np.broadcast_to(np.asarray(pairs), (x.ndim, 2)).tolist()):
        edges = []
        for width in (before, after):
            shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
            edges.append(xp.full(shape, constant_values, dtype=x.dtype))
        x = xp.concat([edges[0], x, edges[1]], axis=axis)
    return x


def _power(xp: Any, left: Any, right: Any) -> Any:
    return xp.pow(left, right)


def _foreign_asarray(xp: Any, x: Any, shape: Any = None, dtype: Any = None) -> Any:
    made = xp.asarray(x) if dtype is None else xp.asarray(x, dtype=getattr(xp, dtype.name))
    _check(made.shape, shape)
    return made


FOREIGN: dict[str, Callable[..., Any]] = {
    **ADAPTED,
    "allclose": _allclose,
    "asarray": _foreign_asarray,
    "kron": _kron,
    "swapaxes": _swapaxes,
    "dot": _dot,
    "diagonal": _diagonal,
    "outer": _outer,
    "linalg.cholesky": _cholesky,
    "median": _median("median"),
    "nanmedian": _median("nanmedian"),
    "nanquantile": _quantile("nanquantile"),
    "power": _power,
    "quantile": _quantile("quantile"),
    "select": _select,
    "take": _take,
    "trace": _trace,
    **{name: _on_numpy(name) for name in OWN if name.startswith("random.")},
}

FALLBACK: dict[str, Callable[..., Any]] = {
    "array_equal": _array_equal,
    "linalg.expm": _matrix_exponential,
    "pad": _pad,
    "ptp": _ptp,
}
