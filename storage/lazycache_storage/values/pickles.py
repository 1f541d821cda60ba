"""Pickles whose arrays are elsewhere: shared, mapped, read-only.

Every plain array in the value, however deep, is taken out: the pickle calls
`stored_array` in its place, which the reader below answers with the stored
array. Buffers that types hand out under protocol 5 go the same way.
"""

import functools
import io
import pickle
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lazycache_storage.errors import CorruptEntryError, NotStorableError, StoreError
from lazycache_storage.objects.arrays import SUBCLASSES, Array
from lazycache_storage.objects.spooling import Spooled
from lazycache_storage.values import reducers, torch_storages
from lazycache_storage.values.plain import INLINE_BYTES, NotPlain
from lazycache_storage.values.plain_decoder import Load, read_array_form
from lazycache_storage.values.plain_encoder import ArraySink, inline_form

_COUNT = struct.Struct("<I")


def stored_array(reference: Any) -> Array:  # noqa: ARG001
    """Stand in a pickle for an array; only `decode_pickle` knows where that is."""
    raise pickle.UnpicklingError("this pickle belongs to a store of lazycache and cannot be loaded without it")


def encode_pickle(value: Any, sink: ArraySink) -> bytes:
    """Return the pickle of any value; its arrays go into `sink`.

    Raises
    ------
    NotStorableError
        If it cannot be pickled.
    """
    pickler = _Pickler(sink)
    try:
        pickler.dump(value)
    except (NotStorableError, StoreError, OSError, MemoryError):
        # Of the machine, while an array was written.
        raise
    except Exception as error:
        # What a type raises when it is taken apart may be of any class.
        raise NotStorableError(type_name=_type_name(value), reason=str(error) or type(error).__name__) from error
    return pickler.payload()


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


class _Pickler(pickle.Pickler):
    """Takes plain arrays and large buffers out of what it pickles."""

    def __init__(self, sink: ArraySink) -> None:
        self._file = io.BytesIO()
        self._sink = sink
        self._buffers: list[int] = []
        self._memories: dict[int, int] = {}
        super().__init__(self._file, 5, buffer_callback=self._take_buffer)

    def payload(self) -> bytes:
        """Return the pickle, the positions of its buffers, and their number."""
        for position in (*self._buffers, len(self._buffers)):
            self._file.write(_COUNT.pack(position))
        return self._file.getvalue()

    def _take_buffer(self, buffer: pickle.PickleBuffer) -> bool:
        data = np.frombuffer(buffer.raw(), np.uint8)
        if data.nbytes <= INLINE_BYTES:
            return True
        self._buffers.append(self._sink.add(data))
        return False

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind.__module__ == "torch.storage":
            return torch_storages.reduce(value, self._memories)
        if kind is Spooled:
            return stored_array, (self._sink.add(value),)
        if kind in _ARRAYS:
            return self._reduce_array(value.view(np.ndarray) if kind is np.memmap else value)
        if issubclass(kind, np.ndarray | BaseException):
            return reducers.reduce(value)
        return NotImplemented

    def _reduce_array(self, array: Array) -> Any:
        try:
            form = inline_form(array)
        except NotPlain:
            return reducers.reduce_order(array)
        return stored_array, (self._sink.add(array) if form is None else form,)


_FIGURES = "matplotlib.figure"

_ARRAYS = frozenset(SUBCLASSES.values()) | {np.memmap}


def decode_pickle(payload: bytes, load: Load, where: str = "payload") -> Any:
    """Return the value of a pickle made by `encode_pickle`. This may run any code.

    Its arrays are read-only, unless a type in it writes into them: while it is
    put together, or later, as figures do when they are drawn. Then all of them
    are copies.

    Raises
    ------
    CorruptEntryError
        If it cannot be loaded by the code that is there.
    """
    try:
        unpickler = _Unpickler(payload, load)
        try:
            value = unpickler.load()
            if not unpickler.has_figures:
                return value
        except (TypeError, ValueError, BufferError) as error:
            if not _is_about_writing(error):
                raise
        return _Unpickler(payload, lambda position: load(position).copy("A"), np.copy).load()
    except (StoreError, OSError):
        # Of the store, while an array was opened.
        raise
    except Exception as error:
        # It does not fit the code that is there; what a type raises then may be of any class.
        raise CorruptEntryError(path=where, reason=f"cannot be unpickled: {type(error).__name__}: {error}") from error


def _is_about_writing(error: Exception) -> bool:
    text = str(error).lower().replace("-", "")
    return "readonly" in text or "writ" in text


class _Unpickler(pickle.Unpickler):
    def __init__(self, payload: bytes, load: Load, own: Callable[[Array], Array] = lambda array: array) -> None:
        super().__init__(io.BytesIO(payload), buffers=self._buffers(payload))
        self._load_array = load
        self._own = own
        self._memories: dict[int, Any] = {}
        self.has_figures = False

    def _buffers(self, payload: bytes) -> Iterator[Any]:
        (count,) = _COUNT.unpack_from(payload, len(payload) - _COUNT.size)
        start = len(payload) - _COUNT.size * (count + 1)
        if start < 0:
            raise pickle.UnpicklingError("the list of buffers is cut off")
        for (position,) in _COUNT.iter_unpack(payload[start : len(payload) - _COUNT.size]):
            yield self._load_array(position)

    def find_class(self, module: str, name: str) -> Any:
        if name == stored_array.__name__ and module == stored_array.__module__:
            return self._array
        if name == torch_storages.restore.__name__ and module == torch_storages.__name__:
            return functools.partial(torch_storages.restore, known=self._memories)
        self.has_figures |= module == _FIGURES
        return super().find_class(module, name)

    def _array(self, reference: Any) -> Array:
        if isinstance(reference, int):
            return self._load_array(reference)
        return self._own(read_array_form(reference))
