"""Values as bytes for another process."""

from __future__ import annotations

import functools
import io
import pickle
from typing import Any

from lazycache.expressions.freezing import in_order, loses_order


def pack(value: Any) -> bytes:
    """Return a value as bytes, also if it has functions and classes of the script itself.

    Raises
    ------
    Exception
        Whatever pickling raises.
    """
    file = io.BytesIO()
    _pickler_type()(file, pickle.HIGHEST_PROTOCOL).dump(value)
    return file.getvalue()


@functools.cache
def _pickler_type() -> Any:
    # Imported when something is sent.
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """cloudpickle's, but arrays arrive in the byte order that they have: numpy's own way may swap it."""

        def reducer_override(self, obj: Any) -> Any:
            if loses_order(obj):
                return in_order, (obj.astype(obj.dtype.newbyteorder("=")), obj.dtype)
            return super().reducer_override(obj)

    return Pickler
