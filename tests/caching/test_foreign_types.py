"""Whatever the types of results and arguments raise, the user's run goes on, or is told which value it was."""

import io
from pathlib import Path
from typing import Any

import numpy as np
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


@pytest.mark.parametrize(
    "wrap", [lambda figure: figure, lambda figure: (figure, figure.axes[0])], ids=["alone", "pair"]
)
def test_a_figure_can_be_drawn_and_changed_after_a_miss_and_a_hit(tmp_path: Path, wrap: Any) -> None:
    """Drawing writes into the arrays of a figure, so none of them can be read-only."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    @pure(version=1, name="lab.plot")
    def plot(x: Any) -> Any:
        figure = Figure()
        figure.subplots().plot(x, x**2)
        return wrap(figure)

    def drawn(result: Any) -> bytes:
        figure = result if isinstance(result, Figure) else result[0]
        picture = io.BytesIO()
        figure.savefig(picture, format="rgba")
        return picture.getvalue()

    x = np.linspace(0, 1, 100)
    wanted = drawn(plot.raw(x))
    for _ in range(2):
        cache = Cache(tmp_path / "store")
        assert drawn(cache(plot(x))) == wanted
        result = cache(plot(x))
        axes = (result if isinstance(result, Figure) else result[0]).axes[0]
        axes.lines[0].set_ydata(x)
        assert drawn(result) != wanted
        assert drawn(cache(plot(x))) == wanted
        cache.close()
