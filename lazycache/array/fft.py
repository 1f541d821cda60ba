"""Fourier transforms: ``lazycache.array.fft``, as in the array API standard and numpy.fft."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lazycache.array.backends import NUMPY_RULES
from lazycache.array.creation import arange
from lazycache.array.functions import array_function
from lazycache.array.infer import Shape, Size
from lazycache.array.infer.dtypes import FLOAT64, DType, complex_dtype, real_dtype, result_type
from lazycache.array.infer.reductions import normalize_axis
from lazycache.array.node import make
from lazycache.array.operands import Operand, operand
from lazycache.expressions.nodes import NO_KWARGS

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_NORMS = (None, "backward", "ortho", "forward")


def _dtype_of(x: Operand) -> DType:
    """Return the dtype of what is transformed, unless a backend other than numpy chooses in what."""
    keeps = x.dtype is None or x.dtype.char in "fdFD" or x.backend in NUMPY_RULES
    return x.dtype if keeps else None


def _complex(dtype: DType) -> DType:
    """Return the dtype of a transform; a TypeError for what is no number."""
    if dtype is None:
        return None
    if dtype.kind not in "biufc":
        raise TypeError(f"a Fourier transform needs numbers, and this is an array of {dtype.name}")
    return complex_dtype(dtype.newbyteorder("=") if dtype.kind in "fc" else FLOAT64)


def _real(dtype: DType) -> DType:
    """Return the dtype of a transform to real numbers, which keeps the precision that is given."""
    return None if _complex(dtype) is None else result_type((real_dtype(dtype), float))


def _check_norm(norm: Any) -> None:
    if norm not in _NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')


def _check_real(name: str, x: Operand) -> None:
    """Refuse complex numbers where a transform is of real ones."""
    if name in ("rfft", "ihfft") and x.dtype is not None and x.dtype.kind == "c":
        raise TypeError(f"ufunc '{name}' did not contain a loop with signature matching types {x.dtype!r}")


def _check_points(points: Any) -> None:
    if points is not None and points < 1:
        raise ValueError(f"Invalid number of FFT data points ({points}) specified.")


def _size(name: str, size: Size, n: int | None) -> Size:
    """Return how long the transform of an axis of `size` is."""
    if name in ("irfft", "hfft"):
        return n if n is not None else None if size is None else 2 * (size - 1)
    length = size if n is None else n
    if name in ("rfft", "ihfft"):
        return None if length is None else length // 2 + 1
    return length


def _one(name: str) -> Callable[..., LazyArray]:
    def transform(x: Any, /, n: int | None = None, axis: int = -1, norm: Any = None) -> LazyArray:
        found = operand(x)
        _check_norm(norm)
        n = None if n is None else operator.index(n)
        position = normalize_axis(axis, len(found.shape))
        size = found.shape[position]
        length = _size(name, size, n)
        _check_points(n if n is not None else length if name in ("irfft", "hfft") else size)
        shape = (*found.shape[:position], length, *found.shape[position + 1 :])
        dtype = (_real if name in ("irfft", "hfft") else _complex)(_dtype_of(found))
        _check_real(name, found)
        options = {**({} if n is None else {"n": n}), **({} if axis == -1 else {"axis": axis})}
        if norm is not None:
            options["norm"] = norm
        return make(array_function(f"fft.{name}"), (found.arg,), options or NO_KWARGS, shape, dtype, found.backend)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"Along one axis, as numpy.fft's ``{name}``."
    return transform


def _sizes(inner: str, shape: Shape, axes: list[int], lengths: Sequence[int | None] | None) -> list[Size]:
    """Return the sizes after transforms along several axes, in numpy's order: an axis may be named twice."""
    if not axes and inner in ("rfft", "irfft"):
        raise IndexError(f"a transform by {inner} needs an axis")
    points = [shape[at] if lengths is None or lengths[place] == -1 else lengths[place] for place, at in enumerate(axes)]
    if inner == "irfft" and lengths is None:
        points[-1] = _size(inner, shape[axes[-1]], None)
    sizes = list(shape)
    order = range(len(axes))
    for place in order if inner == "irfft" else reversed(order):
        at, n = axes[place], points[place]
        length = _size(inner if place == len(axes) - 1 else "fft", sizes[at], n)
        _check_points(n if n is not None else length if inner == "irfft" else sizes[at])
        sizes[at] = length
    return sizes


def _many(name: str, default_axes: tuple[int, ...] | None) -> Callable[..., LazyArray]:
    inner = name.rstrip("n2")

    def transform(x: Any, /, s: Sequence[int] | None = None, axes: Any = default_axes, norm: Any = None) -> LazyArray:
        found = operand(x)
        _check_norm(norm)
        ndim = len(found.shape)
        meant = axes if axes is not None else range(ndim) if s is None else range(-len(s), 0)
        chosen = tuple(meant)
        lengths = tuple(None if n is None else operator.index(n) for n in (s if s is not None else chosen))
        _check_real(inner, found)
        if len(lengths) != len(chosen):
            raise ValueError("Shape and axes have different lengths.")
        sizes = _sizes(inner, found.shape, [normalize_axis(axis, ndim) for axis in chosen], s and lengths)
        dtype = _complex(_dtype_of(found))
        if not chosen:
            # As it is, with numpy; others make it complex all the same.
            dtype = found.dtype if found.backend in NUMPY_RULES else None
        if inner == "irfft":
            # Over several axes the last transform is of complex numbers.
            dtype = real_dtype(dtype) if len(chosen) > 1 else _real(_dtype_of(found))
        options: dict[str, Any] = {} if axes == default_axes and s is None else {"axes": chosen}
        if s is not None:
            options["s"] = lengths
        if norm is not None:
            options["norm"] = norm
        called = array_function(f"fft.{name}")
        return make(called, (found.arg,), options or NO_KWARGS, tuple(sizes), dtype, found.backend)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"Along several axes, as numpy.fft's ``{name}``."
    return transform


fft = _one("fft")
ifft = _one("ifft")
rfft = _one("rfft")
irfft = _one("irfft")
hfft = _one("hfft")
ihfft = _one("ihfft")
fftn = _many("fftn", None)
ifftn = _many("ifftn", None)
rfftn = _many("rfftn", None)
irfftn = _many("irfftn", None)
fft2 = _many("fft2", (-2, -1))
ifft2 = _many("ifft2", (-2, -1))
rfft2 = _many("rfft2", (-2, -1))
irfft2 = _many("irfft2", (-2, -1))


def _shift(name: str) -> Callable[..., LazyArray]:
    def shift(x: Any, /, axes: Any = None) -> LazyArray:
        found = operand(x)
        if axes is None and not found.shape:
            raise ValueError("a number has no axis to shift")
        for axis in () if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,):
            normalize_axis(axis, len(found.shape))
        options = {} if axes is None else {"axes": axes}
        called = array_function(f"fft.{name}")
        return make(called, (found.arg,), options or NO_KWARGS, found.shape, found.dtype, found.backend)

    shift.__name__ = shift.__qualname__ = name
    shift.__doc__ = f"As numpy.fft's ``{name}``."
    return shift


fftshift = _shift("fftshift")
ifftshift = _shift("ifftshift")


def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> LazyArray:
    """Return the frequencies of the bins of `fft`."""
    return _frequencies("fftfreq", n, n, d, dtype, device)


def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> LazyArray:
    """Return the frequencies of the bins of `rfft`."""
    return _frequencies("rfftfreq", n, n // 2 + 1, d, dtype, device)


def _frequencies(name: str, n: int, length: int, d: float, dtype: Any, device: Any) -> LazyArray:
    arange(0, device=device)
    made = make(array_function(f"fft.{name}", "numpy"), (int(n), d), NO_KWARGS, (length,), FLOAT64, "numpy")
    return made if dtype is None else made.astype(dtype)


def __dir__() -> list[str]:
    return __all__
