"""What a fingerprint rests on, and a quick look at whether that is still so.

Everything is compared by identity: the objects are held here, so an identity
cannot be taken by another object meanwhile.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import is_
from types import CellType, CodeType, FunctionType
from typing import Any

from lazycache_storage.digest import Digest

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "MISSING", "__module__": __name__})()

Contents = Callable[[Any], Iterable[Any]]


class Watch:
    """The objects that a fingerprint was taken from.

    Not thread-safe while it is filled; afterwards nothing changes it.
    """

    __slots__ = ("_cells", "_containers", "_functions", "_names", "_opaque", "_unset_cells")

    def __init__(self) -> None:
        self._functions: list[tuple[FunctionType, CodeType, Any, Any]] = []
        self._names: dict[tuple[int, str], tuple[Mapping[str, Any], str, Any]] = {}
        self._cells: list[tuple[CellType, Any]] = []
        self._unset_cells: list[CellType] = []
        self._containers: list[tuple[Any, Contents, list[Any]]] = []
        self._opaque: list[tuple[Any, Callable[[Any], bytes], bytes]] = []

    def function(self, function: FunctionType) -> None:
        """Watch the code and the defaults of a function."""
        self._functions.append((function, function.__code__, function.__defaults__, function.__kwdefaults__))

    def name(self, place: Mapping[str, Any], name: str, value: object, *, owner: object = None) -> None:
        """Watch what a name stands for in a namespace; `MISSING` if it stands for nothing.

        The owner is given where the namespace is a view made for this call.
        """
        self._names[id(place if owner is None else owner), name] = (place, name, value)

    def cell(self, cell: CellType, content: object) -> None:
        """Watch the content of a closure cell; `MISSING` if it is empty."""
        if content is MISSING:
            self._unset_cells.append(cell)
        else:
            self._cells.append((cell, content))

    def container(self, container: object, contents: Contents = list) -> None:
        """Watch which objects a container holds, in order."""
        self._containers.append((container, contents, list(contents(container))))

    def opaque(self, value: object, take: Callable[[Any], bytes], token: bytes) -> None:
        """Watch a value that can change inside, by taking its token again."""
        self._opaque.append((value, take, token))

    def holds(self) -> bool:
        """Return whether everything is as it was."""
        for function, code, defaults, kwdefaults in self._functions:
            if (
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__ is not kwdefaults
            ):
                return False
        for place, name, value in self._names.values():
            if place.get(name, MISSING) is not value:
                return False
        return self._cells_hold() and self._contents_hold()

    def _cells_hold(self) -> bool:
        for cell, content in self._cells:
            if get_cell(cell) is not content:
                return False
        return all(get_cell(cell) is MISSING for cell in self._unset_cells)

    def _contents_hold(self) -> bool:
        for container, contents, known in self._containers:
            now = list(contents(container))
            if len(now) != len(known) or not all(map(is_, now, known)):
                return False
        return all(take(value) == token for value, take, token in self._opaque)


def get_cell(cell: CellType) -> Any:
    """Return the content of a closure cell, or `MISSING`."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


class Fingerprint:
    """The digest of a function's code, and what it was taken from.

    Attributes
    ----------
    digest : Digest
    mismatch : str or None
        Why a text that was found is not the code that runs; then results must
        not be kept, since the next process will see the other text.
    """

    __slots__ = ("_watch", "digest", "mismatch")

    def __init__(self, digest: Digest, mismatch: str | None, watch: Watch) -> None:
        self.digest = digest
        self.mismatch = mismatch
        self._watch = watch

    def is_current(self) -> bool:
        """Return whether all that the digest was taken from is still the same.

        Objects are compared by identity, so this takes about a microsecond; a
        closure or a default that can change inside is hashed again.
        """
        return self._watch.holds()

    def __repr__(self) -> str:
        return f"<Fingerprint {self.digest.short}{' of code that has no text' if self.mismatch else ''}>"
