"""The encoding of arrays and of large buffers: a tree of hashes, by threads.

The bytes of an array are cut into blocks of about 1 MiB (a whole number of
elements). Each block has a leaf hash; with more than one block, the root is the
hash of the leaves one after the other. dtype and shape fix the length, so the
tree needs no further framing, and it does not depend on who hashed which block.

Threads start with the call and end with it: hashlib and numpy's copies release
the GIL, and a pool would be inherited broken by a forked child.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import prod
from typing import Any, Literal

import numpy as np

from lazycache_storage.digest import Digest, digest_of_encoding

BLOCK = 1 << 20
MAX_THREADS = 16
# A thread costs about 50 us to start, a block about 700 us to hash.
BLOCKS_PER_THREAD = 2

# One whole block of sha256 each, so that the data behind it stays aligned.
_LEAF = b"lazycache leaf".ljust(64, b"\0")
_new_leaf = hashlib.sha256(_LEAF).copy
_NODE = b"lazycache node".ljust(64, b"\0")

# Type codes whose elements have no byte to spare.
_DENSE = frozenset("?bhilqBHILQefdFDMmSU")

Array = np.ndarray[Any, Any]
Order = Literal["C", "F"]


def bytes_encoding(buffer: bytes | bytearray | memoryview, tag: bytes = b"b") -> bytes:
    """Return the encoding of a contiguous buffer: its bytes, or a tree root beyond 1 MiB."""
    size = buffer.nbytes if isinstance(buffer, memoryview) else len(buffer)
    if size <= BLOCK:
        return b"%b%d:%b" % (tag, size, bytes(buffer))
    flat = np.frombuffer(buffer, np.uint8)
    return b"%b%d>%b" % (tag, size, _tree_root(flat))


def bytes_digest(buffer: bytes | bytearray | memoryview) -> Digest:
    """Return the digest of the bytes in a contiguous buffer.

    Examples
    --------
    >>> bytes_digest(b"abc") == bytes_digest(bytearray(b"abc"))
    True
    """
    return digest_of_encoding(bytes_encoding(buffer))


def array_encoding(array: Array) -> bytes:
    """Return the encoding of an array: dtype, shape, order and the root of its bytes.

    Subclasses of ndarray are taken for plain arrays. Arrays that are neither in
    C nor in Fortran order are taken in C order, block by block.

    Raises
    ------
    TypeError
        If the elements are references (object or variable-length string dtypes).
    """
    order, oriented = _orient(array)
    return _header(array.dtype, array.shape, order) + _tree_root(oriented)


def block_items(dtype: np.dtype[Any]) -> int:
    """Return how many elements are hashed together."""
    return max(1, BLOCK // max(1, _packing(dtype)[0].itemsize))


def encoding_of_parts(dtype: np.dtype[Any], shape: tuple[int, ...], order: Order, parts: Iterable[Array]) -> bytes:
    """Return the encoding of an array of which no more than a part need be in memory.

    Parameters
    ----------
    dtype : dtype
    shape : tuple of int
    order : {"C", "F"}
    parts : iterable of ndarray
        The elements in that order, flat; every part but the last has a
        multiple of `block_items` of them.

    Examples
    --------
    >>> a = np.arange(300_000.0)
    >>> half = block_items(a.dtype)
    >>> encoding_of_parts(a.dtype, a.shape, "C", [a[:half], a[half:]]) == array_encoding(a)
    True
    """
    leaves = [leaf for part in parts for leaf in _leaves(part)]
    return _header(dtype, shape, order) + _root(leaves)


def array_digest(array: Array) -> Digest:
    """Return the digest of an array; also the name of its object in a store.

    Examples
    --------
    >>> a = np.arange(6.0).reshape(2, 3)
    >>> array_digest(a) == array_digest(a[::-1][::-1].copy())
    True
    >>> array_digest(a) == array_digest(np.asfortranarray(a))
    False
    """
    return digest_of_encoding(array_encoding(array))


def copy_and_encode(array: Array) -> tuple[Array, bytes]:
    """Return a copy that cannot be made writeable, and its encoding.

    Every block is copied and then hashed while it is still in the processor's
    cache. What is hashed is the copy.
    """
    order, oriented = _orient(array)
    if array.nbytes == 0:
        copy: Array = np.array(array, order=order, subok=False)
        copy.setflags(write=False)
        return copy, _header(array.dtype, array.shape, order) + _tree_root(oriented)
    buffer = np.empty(array.nbytes, np.uint8)
    # An array over a read-only memoryview refuses setflags(write=True), which the owner of its memory would grant.
    guarded = np.frombuffer(buffer.data.toreadonly(), np.uint8)
    copy = guarded.view(array.dtype).reshape(array.shape, order=order)
    return copy, _header(array.dtype, array.shape, order) + _tree_root(oriented, buffer.view(array.dtype))


def dtype_encoding(dtype: np.dtype[Any]) -> bytes:
    """Return the encoding of a dtype: byte order, unit, fields, offsets, titles, sub-arrays."""
    if dtype.names is None and dtype.subdtype is None:
        return _simple_encoding(dtype)
    return _framed(_dtype_text(dtype))


def array_order(array: Array) -> Order:
    """Return "F" for arrays in Fortran order only, else "C"."""
    flags = array.flags
    return "F" if flags.f_contiguous and not flags.c_contiguous else "C"


def _header(dtype: np.dtype[Any], shape: tuple[int, ...], order: Order) -> bytes:
    lengths = ",".join(map(str, shape))
    return b"A%b(%b)%b" % (dtype_encoding(dtype), lengths.encode(), order.encode())


def _orient(array: Array) -> tuple[Order, Array]:
    """Return the order, and the array turned so that C order is the order to hash in."""
    if array.dtype.hasobject:
        raise TypeError(f"the elements of dtype {array.dtype} are references; they have no bytes to hash")
    plain = array if type(array) is np.ndarray else array.view(np.ndarray)
    order = array_order(plain)
    return order, plain.T if order == "F" else plain


def _framed(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(data), data)


@lru_cache(maxsize=256)
def _simple_encoding(dtype: np.dtype[Any]) -> bytes:
    return _framed(_simple_text(dtype))


def _simple_text(dtype: np.dtype[Any]) -> str:
    if dtype.num >= 256 or dtype.kind not in "?biufcmMSUV":
        return f"{dtype.str}/{dtype.type.__module__}.{dtype.type.__qualname__}"
    return dtype.str


def _dtype_text(dtype: np.dtype[Any]) -> str:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"[{_dtype_text(base)}{shape}]"
    if dtype.names is None or dtype.fields is None:
        return _simple_text(dtype)
    parts = [f"{{{dtype.itemsize}{'r' if issubclass(dtype.type, np.record) else ''}"]
    for name in dtype.names:
        field, offset, *title = dtype.fields[name]
        titles = [f"{len(str(t))}:{t}" for t in title]
        parts.append(f"{len(name)}:{name}@{offset}{_dtype_text(field)}{''.join(titles)}")
    return ";".join(parts) + "}"


def _tree_root(array: Array, into: Array | None = None) -> bytes:
    """Return the root over `array` in C order; fill the flat `into` on the way, if given."""
    return _root(_leaves(array, into))


def _root(leaves: list[bytes]) -> bytes:
    if not leaves:
        return _leaf(b"")
    return leaves[0] if len(leaves) == 1 else hashlib.sha256(_NODE + b"".join(leaves)).digest()


def _leaves(array: Array, into: Array | None = None) -> list[bytes]:
    size = array.size
    if 0 < array.nbytes <= BLOCK and into is None and array.dtype.char in _DENSE and array.flags.c_contiguous:
        return [_leaf(array.reshape(-1).view(np.uint8).data)]
    packed, seen_as = _packing(array.dtype)
    itemsize = packed.itemsize
    if size == 0 or itemsize == 0:
        if into is not None:
            into[...] = array.reshape(-1)
        return [_leaf(b"")]
    step = max(1, BLOCK // itemsize)
    count = -(-size // step)
    leaves = [b""] * count
    flat = array.reshape(-1) if array.flags.c_contiguous else None

    def work(numbers: Iterator[int]) -> None:
        scratch = np.empty(min(step, size), array.dtype) if flat is None and into is None else None
        bare = np.empty(min(step, size), packed) if seen_as is not None else None
        for number in numbers:
            low = number * step
            high = min(size, low + step)
            if flat is not None and into is None:
                block = flat[low:high]
            else:
                block = into[low:high] if into is not None else scratch[: high - low]  # type: ignore[index]
                if flat is not None:
                    block[...] = flat[low:high]
                else:
                    _gather(array, low, high, block)
            if bare is not None and seen_as is not None:
                np.copyto(bare[: high - low], block.view(seen_as), casting="unsafe")
                block = bare[: high - low]
            leaves[number] = _leaf(block.view(np.uint8).data)

    _share(count, work)
    return leaves


def _leaf(data: bytes | memoryview) -> bytes:
    state = _new_leaf()
    state.update(data)
    return state.digest()


def _gather(array: Array, low: int, high: int, out: Array) -> None:
    """Copy the elements `low` to `high`, counted in C order, into the flat `out`."""
    start = 0
    for piece in _pieces(array, low, high):
        stop = start + piece.size
        np.copyto(out[start:stop].reshape(piece.shape), piece)
        start = stop


def _pieces(array: Array, low: int, high: int) -> Iterator[Array]:
    """Cut a range of elements in C order into at most two sub-arrays per dimension."""
    if array.ndim <= 1:
        yield array[low:high] if array.ndim else array
        return
    inner = prod(array.shape[1:])
    first, head = divmod(low, inner)
    last, tail = divmod(high, inner)
    if first == last:
        yield from _pieces(array[first], head, tail)
        return
    if head:
        yield from _pieces(array[first], head, inner)
        first += 1
    if first < last:
        yield array[first:last]
    if tail:
        yield from _pieces(array[last], 0, tail)


def _packing(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], np.dtype[Any] | None]:
    """Return the dtype to hash, without padding, and what to view the array as first.

    The second is None where no byte is padding, and the bytes are hashed as they lie.
    """
    if dtype.kind not in "Vfc" or dtype.char in _DENSE:
        return dtype, None
    seen_as = _without_extended(dtype)
    packed = _packed(seen_as)
    return (dtype, None) if _is_dense(seen_as) else (packed, seen_as)


def _without_extended(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Name the bytes in use of x86 extended floats: 10 of 16 (or of 12)."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((_without_extended(base), shape))
    if dtype.char in "gG" and np.finfo(np.longdouble).nmant == 63:
        size = np.dtype(np.longdouble).itemsize
        first = 0 if dtype.isnative == (np.little_endian) else size - 10
        offsets = [first + size * part for part in range(dtype.itemsize // size)]
        names = [f"f{number}" for number in range(len(offsets))]
        return np.dtype(
            {"names": names, "formats": ["V10"] * len(names), "offsets": offsets, "itemsize": dtype.itemsize}
        )
    if dtype.names is None or dtype.fields is None:
        return dtype
    fields = [dtype.fields[name] for name in dtype.names]
    return np.dtype(
        {
            "names": [f"f{number}" for number in range(len(fields))],
            "formats": [_without_extended(field[0]) for field in fields],
            "offsets": [field[1] for field in fields],
            "itemsize": dtype.itemsize,
        }
    )


def _packed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((_packed(base), shape))
    if dtype.names is None or dtype.fields is None:
        return dtype
    return np.dtype([(name, _packed(dtype.fields[name][0])) for name in dtype.names])


def _is_dense(dtype: np.dtype[Any]) -> bool:
    if dtype.subdtype is not None:
        return _is_dense(dtype.subdtype[0])
    if dtype.names is None or dtype.fields is None:
        return True
    end = 0
    for field, offset in sorted((dtype.fields[name][:2] for name in dtype.names), key=lambda pair: pair[1]):
        if offset != end or not _is_dense(field):
            return False
        end = offset + field.itemsize
    return end == dtype.itemsize


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _share(count: int, work: Callable[[Iterator[int]], None]) -> None:
    """Give the numbers below `count` out to `work`, in this thread and in helpers that end here."""
    helpers_wanted = min(_cores(), MAX_THREADS, count // BLOCKS_PER_THREAD) - 1
    if helpers_wanted < 1:
        work(iter(range(count)))
        return
    todo = deque(range(count))
    failures: list[BaseException] = []

    def numbers() -> Iterator[int]:
        while True:
            try:
                yield todo.popleft()
            except IndexError:
                return

    def help_out() -> None:
        try:
            work(numbers())
        except BaseException as error:  # noqa: BLE001  it is raised again by the caller of _share
            failures.append(error)
            todo.clear()

    helpers = []
    try:
        for _ in range(helpers_wanted):
            helper = threading.Thread(target=help_out, name="lazycache hash", daemon=True)
            try:
                helper.start()
            except RuntimeError:  # no more threads, or the interpreter is ending: the work is done here alone
                break
            helpers.append(helper)
        work(numbers())
    finally:
        # On an interrupt the helpers find nothing more to do, and end within one block.
        todo.clear()
        for helper in helpers:
            helper.join()
    if failures:
        raise failures[0]
