"""Whatever the types of results and arguments raise, the user's run goes on, or is told which value it was."""

from pathlib import Path
from typing import Any

import pytest

from lazycache import Cache, compute, pure
from lazycache.errors import CacheFaultWarning, NotStoredWarning, UnhashableError


class Odd(Exception):
    """An exception of nobody's family."""


class Stubborn:
    """Raises in one of the methods that copy, pickle and unpickle it."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        return type(self).__name__


class NotReduced(Stubborn):
    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self.error


class NoState(Stubborn):
    def __getstate__(self) -> Any:
        raise self.error


class NotCopied(Stubborn):
    def __deepcopy__(self, memo: Any) -> Any:
        raise self.error


class NotRestored(Stubborn):
    def __setstate__(self, state: Any) -> None:
        raise state["error"]


ERRORS = [Odd("no"), RuntimeError("no"), UserWarning("no"), StopIteration(), SystemError("no"), RecursionError("no")]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("kind", [NotReduced, NoState])
def test_a_result_that_cannot_be_pickled_is_returned_with_a_warning(tmp_path: Path, kind: Any, error: Any) -> None:
    @pure(version=1, name="lab.stubborn")
    def make() -> Any:
        return [kind(error)]

    with pytest.warns(NotStoredWarning, match=r"lab\.stubborn") as caught:
        assert type(Cache(tmp_path / "store")(make())[0]) is kind
    assert len(caught) == 1


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_a_result_that_cannot_be_unpickled_is_computed_with_a_warning(tmp_path: Path, error: Any) -> None:
    @pure(version=1)
    def make() -> Any:
        return [NotRestored(error)]

    for _ in range(2):
        with pytest.warns(CacheFaultWarning, match="unpickled") as caught:
            assert type(Cache(tmp_path / "store")(make())[0]) is NotRestored
        assert len(caught) == 1


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("kind", [NotReduced, NoState, NotCopied])
def test_an_argument_that_cannot_be_taken_apart_is_named(tmp_path: Path, kind: Any, error: Any) -> None:
    @pure(version=1)
    def use(value: Any) -> str:
        return type(value["a"]).__name__

    expression = use({"a": kind(error)})
    with pytest.raises(UnhashableError, match=kind.__name__) as caught:
        Cache(tmp_path / "store")(expression)
    assert kind is NotCopied or type(caught.value.__cause__) is type(error)
    # Without a store nothing needs a key, and what cannot be copied is handed over as it is.
    assert compute(expression) == kind.__name__


def test_a_frame_that_its_library_cannot_write_is_returned(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")

    @pure(version=1)
    def make() -> Any:
        return pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)})

    with pytest.warns(NotStoredWarning, match="Object"):
        assert Cache(tmp_path / "store")(make()).shape == (1, 1)
