"""Calls on their way to another process, and what comes back.

A call is pickled here, before an executor sees it: the same way for each
executor, also for functions and classes of the script itself, and an error
names what cannot be sent. What all calls of one evaluation have in common
travels with each, and is opened once in each worker.
"""

from __future__ import annotations

import contextvars
import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lazycache import current
from lazycache.errors import NotShippableError
from lazycache.evaluation import PLAIN
from lazycache.execution.failures import PICKLE_FAULTS, WorkerFailure, pack_error, unpack_error
from lazycache.execution.packing import pack
from lazycache.execution.reading import read, read_in_worker

if TYPE_CHECKING:
    from concurrent.futures import Future


class Task(Protocol):
    """A call that a worker makes."""

    @property
    def name(self) -> str:
        """The function, for messages."""

    def parts(self) -> Sequence[tuple[str, Any]]:
        """Return what is sent, each part with what it is called in messages."""

    def run(self, evaluator: Any) -> Any:
        """Make the call; nested ones are evaluated with `evaluator`."""


class Surroundings:
    """What calls find around them: the cache, the default cache, and the calls that they are nested in.

    Parameters
    ----------
    evaluator : Evaluator
        What nested pure calls are evaluated with; it must be picklable.
    """

    def __init__(self, evaluator: current.Evaluator) -> None:
        self.evaluator = evaluator
        self._default = current.default_cache()
        self._frames = _frames()
        self._run = os.urandom(16)
        self._packed = b""

    def packed(self) -> bytes:
        """Return this as bytes, the same each time, and others for each evaluation."""
        if not self._packed:
            self._packed = pack(self)
        return self._packed

    def enter(self) -> None:
        """Make these the surroundings of the present context."""
        current.enter_default(self._default)
        for is_plain, key, name in self._frames:
            current.enter(PLAIN if is_plain else self._default, key, name)


def _frames() -> list[tuple[bool, bytes | None, str]]:
    frames, frame = [], current.frame()
    while frame is not None:
        frames.append((frame.evaluator is PLAIN, frame.key, frame.name))
        frame = frame.parent
    return frames[::-1]


def send(task: Task) -> bytes:
    """Return a call as bytes.

    Raises
    ------
    NotShippableError
        If a part of it cannot be pickled.
    """
    try:
        return pack(task)
    except PICKLE_FAULTS as error:
        raise _not_shippable(task, error) from error


def _not_shippable(task: Task, error: BaseException) -> NotShippableError:
    what, reason = f"the call of {task.name}", error
    for label, part in task.parts():
        try:
            pack(part)
        except PICKLE_FAULTS as found:
            what, reason = label, found
            break
    return NotShippableError(what=what, reason=f"{type(reason).__name__}: {reason}")


def receive(future: Future[Any]) -> Any:
    """Return what `work` returned in another process, or raise what the call raised."""
    try:
        return read(future.result())
    except WorkerFailure as failure:
        error = unpack_error(failure.data)
    # Outside of the block, so that the carrier is no context of what it carried.
    raise error


def work(surroundings: bytes, data: bytes) -> bytes:
    """Make a call in a worker: what the executor runs."""
    try:
        return contextvars.copy_context().run(_work, surroundings, data)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again in the parent
        raise WorkerFailure(pack_error(error)) from None


def _work(packed: bytes, data: bytes) -> bytes:
    try:
        surroundings = _open(packed)
        task: Task = read_in_worker(data)
    except (AttributeError, ImportError) as error:
        raise NotShippableError(
            what="a call", reason=f"a worker does not find what it needs ({type(error).__name__}: {error})"
        ) from error
    surroundings.enter()
    answer = task.run(surroundings.evaluator)
    try:
        return pack(answer)
    except PICKLE_FAULTS as error:
        raise NotShippableError(what=f"the result of {task.name}", reason=f"{type(error).__name__}: {error}") from error


@functools.lru_cache(maxsize=4)
def _open(packed: bytes) -> Surroundings:
    surroundings: Surroundings = read_in_worker(packed)
    return surroundings
