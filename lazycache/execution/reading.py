"""Reading what cloudpickle wrote by value, without two classes where there was one.

A class of the script itself travels by value. When it comes home, cloudpickle
finds the class that is there, but fills it once more, and so changes the code
that its users see; and in a worker the stored results that name it by
``__main__`` would not find it.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_is_worker: ContextVar[bool] = ContextVar("lazycache_reads_in_worker", default=False)


def read(data: bytes) -> Any:
    """Return what a pickle holds; classes that are here already stay as they are."""
    return _Reader(io.BytesIO(data)).load()


def read_in_worker(data: bytes) -> Any:
    """Return what a pickle holds; classes of the parent's script become those of the script here."""
    token = _is_worker.set(True)
    try:
        return read(data)
    finally:
        _is_worker.reset(token)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if name == "_class_setstate" and module.partition(".")[0] in ("cloudpickle", "joblib"):
            return _filler(found)
        return found


def _filler(fill: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def fill_if_new(cls: Any, state: Any) -> Any:
        if not vars(cls).keys() >= state[0].keys():
            cls = fill(cls, state)
        if _is_worker.get() and cls.__module__ == "__main__" and "." not in cls.__qualname__:
            setattr(sys.modules["__main__"], cls.__name__, cls)
        return cls

    return fill_if_new
