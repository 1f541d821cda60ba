"""The memory of torch's tensors as arrays, so that equal ones are kept once and tensors that share memory still do."""

import sys
from typing import Any

import numpy as np

from lazycache_storage.objects.arrays import Array


def reduce(storage: Any, numbers: dict[int, int]) -> Any:
    """Return how to pickle the memory of a tensor; NotImplemented where torch knows better.

    Parameters
    ----------
    storage : torch.TypedStorage or torch.UntypedStorage
    numbers : dict
        The memories that are in this pickle already, by address; each has a number.
    """
    torch: Any = sys.modules["torch"]
    is_typed = type(storage) is torch.storage.TypedStorage
    if not is_typed and type(storage) is not torch.storage.UntypedStorage:
        return NotImplemented
    untyped = storage._untyped_storage if is_typed else storage
    if untyped.device.type != "cpu":
        return NotImplemented
    number = numbers.setdefault(untyped.data_ptr(), len(numbers)) if untyped.nbytes() else -1
    memory = torch.empty(0, dtype=torch.uint8).set_(untyped).numpy()
    return restore, (memory, storage.dtype if is_typed else None, number)


def restore(memory: Array, dtype: Any, number: int, known: dict[int, Any] | None = None) -> Any:
    """Return the memory of a tensor: a copy of an array, as torch would write into the array itself.

    Parameters
    ----------
    memory : ndarray
    dtype : torch.dtype or None
        None for memory that is no tensor's.
    number : int
        Which memory of the pickle it is.
    known : dict, optional
        The memories that were made already, by number.
    """
    import torch

    untyped = None if known is None else known.get(number)
    if untyped is None:
        untyped = torch.from_numpy(np.array(memory)).untyped_storage()
        if known is not None and number >= 0:
            known[number] = untyped
    storage: Any = torch.storage.TypedStorage
    return untyped if dtype is None else storage(wrap_storage=untyped, dtype=dtype, _internal=True)
