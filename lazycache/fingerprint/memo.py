"""What was found out about an object, as long as it lives."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class IdentityMemo(Generic[T]):
    """A weak memo that goes by identity.

    Equal code objects may come from texts that differ, and a metaclass may
    define ``==`` and ``hash``, so equality will not do.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], T]] = {}

    def get(self, value: object) -> T | None:
        """Return what is known of an object."""
        entry = self._entries.get(id(value))
        return entry[1] if entry is not None and entry[0]() is value else None

    def put(self, value: object, known: T) -> None:
        """Remember something about an object, if its type allows weak references."""
        place = id(value)

        def forget(_: weakref.ref[Any], entries: dict[int, Any] = self._entries) -> None:
            # The default outlives the module's names when the interpreter ends.
            entries.pop(place, None)

        try:
            self._entries[place] = (weakref.ref(value, forget), known)
        except TypeError:
            return
