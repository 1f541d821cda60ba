"""How pickles hold what pickle itself leaves out: attributes of array subclasses, hard masks, causes of exceptions.

The elements of such arrays are plain arrays in the pickle, which its writer
takes out like all others.
"""

from typing import Any

import numpy as np

from lazycache_storage.arrayhash import array_order
from lazycache_storage.objects.arrays import Array

_PICKLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")
_OF_EVERY_MASKED_ARRAY = frozenset(
    ("_mask", "_fill_value", "_hardmask", "_sharedmask", "_isfield", "_baseclass", "_optinfo", "_basedict")
)


def reduce(value: Any) -> Any:
    """Return how to pickle an exception or an array of a subclass; NotImplemented where its type knows best."""
    kind = type(value)
    if issubclass(kind, np.ma.MaskedArray):
        return _reduce_masked(value, kind)
    if issubclass(kind, np.ndarray):
        return _reduce_subclass(value, kind)
    if value.__context__ is None and not value.__suppress_context__:
        return NotImplemented
    reduced = value.__reduce_ex__(5)
    if isinstance(reduced, str) or any(part is not None for part in reduced[3:]):
        return NotImplemented
    state = reduced[2] if len(reduced) > 2 else None
    chain = (value.__cause__, value.__context__, value.__suppress_context__)
    return *reduced[:2], (state, *chain), None, None, set_chain


def reduce_order(array: Array) -> Any:
    """Return how to pickle an array in its byte order, which numpy may swap; NotImplemented where it does not."""
    if array.dtype.isnative or array.dtype.hasobject:
        return NotImplemented
    return in_order, (array.astype(array.dtype.newbyteorder("=")), array.dtype)


def in_order(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array in the byte order of a dtype."""
    return array.astype(dtype)


def set_chain(error: BaseException, parts: tuple[Any, ...]) -> None:
    """Give an exception its state, and what it came from."""
    state, error.__cause__, error.__context__, error.__suppress_context__ = parts
    if state is not None:
        error.__setstate__(state)


def _is_pickled_like(kind: type, base: type) -> bool:
    return all(getattr(kind, name) is getattr(base, name) for name in _PICKLING)


def _reduce_masked(value: Any, kind: type) -> Any:
    if kind is np.ma.core.MaskedConstant or not _is_pickled_like(kind, np.ma.MaskedArray):
        return NotImplemented
    fill_value = None if value._fill_value is None else value.fill_value
    own = {name: part for name, part in vars(value).items() if name not in _OF_EVERY_MASKED_ARRAY}
    parts = (kind, value.data, value.mask, fill_value, value.hardmask)
    return masked_array, parts, own or None, None, None, set_attributes


def masked_array(kind: type, data: Array, mask: Any, fill_value: Any, is_hard: bool) -> Any:
    """Put a masked array together from its stored parts, without a copy."""
    array: Any = np.ma.MaskedArray(data, mask, fill_value=fill_value, hard_mask=is_hard)
    return array if kind is np.ma.MaskedArray else array.view(kind)


def _reduce_subclass(value: Any, kind: type) -> Any:
    if not _is_pickled_like(kind, np.ndarray):
        return NotImplemented
    attributes: Any = object.__getstate__(value)
    if value.dtype.hasobject:
        function, parts, state = value.__reduce__()
        return function, parts, (state, attributes), None, None, set_elements
    return subclass_array, (kind, value.view(np.ndarray)), attributes, None, None, set_attributes


def subclass_array(kind: Any, plain: Array) -> Any:
    """Return an array of a subclass over the memory of a plain one, made as pickle would: out of nothing."""
    if not plain.nbytes:
        return np.ndarray.__new__(kind, plain.shape, plain.dtype, order=array_order(plain))
    memory = plain.reshape(-1, order="A").view(np.uint8)
    return np.ndarray.__new__(kind, plain.shape, plain.dtype, memory, order=array_order(plain))


def set_elements(array: Any, state: tuple[Any, Any]) -> None:
    """Give an array of references its elements, then its attributes."""
    array.__setstate__(state[0])
    if state[1] is not None:
        set_attributes(array, state[1])


def set_attributes(value: Any, state: Any) -> None:
    """Set the attributes that `object.__getstate__` gave."""
    held, slots = state if isinstance(state, tuple) else (state, {})
    if held:
        vars(value).update(held)
    for name, part in slots.items():
        object.__setattr__(value, name, part)
