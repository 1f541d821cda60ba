"""The memory of torch's tensors as arrays, so that equal ones are kept once."""

import sys
from typing import Any

import numpy as np

from lazycache_storage.arrays import Array
from lazycache_storage.plain import INLINE_BYTES


def reduce(storage: Any) -> Any:
    """Return how to pickle the memory of a tensor; NotImplemented where torch knows better."""
    torch: Any = sys.modules["torch"]
    if type(storage) is not torch.storage.TypedStorage:
        return NotImplemented
    untyped = storage._untyped_storage
    if untyped.device.type != "cpu" or untyped.nbytes() <= INLINE_BYTES:
        return NotImplemented
    memory = torch.empty(0, dtype=torch.uint8).set_(untyped).numpy()
    return restore, (memory, storage.dtype)


def restore(memory: Array, dtype: Any) -> Any:
    """Return the memory of a tensor with a copy of an array in it: torch would write into the array itself."""
    import torch

    untyped = torch.from_numpy(np.array(memory)).untyped_storage()
    storage: Any = torch.storage.TypedStorage
    return storage(wrap_storage=untyped, dtype=dtype, _internal=True)
