"""One computation per key, among threads and processes.

Each key has a lock file of its own, which exists only while the key is being
computed: its holder writes who it is into the file, and removes the file
while still holding it. Whoever locks a file that has lost its name has waited
for somebody who is done, and starts again. A waiter keeps the file open, so
that it can read who holds it, and whether that one ended without storing.

Who holds keys and waits for another writes that into the files that it holds.
So a ring of holders that wait for each other, which only calls that ask for
themselves can form, is seen by all of them, and is an error.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

from lazycache_storage import forking, fsio, machine, modes
from lazycache_storage.errors import LockTimeoutError, WaitCycleError
from lazycache_storage.holders import MOST_WAITS, Holder, Step, find_way, read_holder, write_holder

log = logging.getLogger("lazycache")

FIRST_PAUSE_SECONDS = 0.001
LONGEST_PAUSE_SECONDS = 0.005
LOOK_FOR_RESULT_SECONDS = 0.05
"""As often it is looked for the result itself; that the lock is gone is seen earlier, and costs less to see."""

TELL_AFTER_SECONDS = 3.0
TELL_AGAIN_SECONDS = 60.0
LOOK_FOR_CYCLE_SECONDS = 0.5
"""After waiting for so long, and as often, it is looked whether the wait can end."""

_MOST_TEXT = 400

T = TypeVar("T")


_held: ContextVar[tuple["Claim[Any]", ...]] = ContextVar("lazycache_claims", default=())
"""The claims that this context holds, the outermost first."""


class Claim(Generic[T]):
    """The right to compute a key, or the news that it is not needed; a context manager.

    Parameters
    ----------
    path : str
        The lock file.
    what : str
        A short text of what is computed, for those who wait.
    ready : callable
        Looks for the result; called while waiting and once after the lock was
        taken. None means that there is none.
    expected : float
        Seconds that the computation took last time; 0 if unknown.
    timeout : float, optional
        Seconds after which waiting is given up.
    is_usable : bool
        False where no lock file may be made: then `ready` is asked, and that is all.

    Attributes
    ----------
    record : object or None
        What `ready` returned: then another one has computed it, and no lock is held.
    path, what : str
    above : callable
        Returns name of the lock file and text of each computation that this one
        is nested in, the outermost first, also of those that other processes
        hold; set by whoever knows. It is asked after a while of waiting.
    waited : float
        Seconds spent waiting for others.
    holds : bool
        Whether the lock is held. Without it the key may be computed all the
        same: either locks do not work here, or the one before did not store.

    Raises
    ------
    LockTimeoutError
        When entered, if `timeout` passed.
    WaitCycleError
        When entered, if the wait could never end: the holder waits, perhaps
        over others, for what this context holds.
    """

    waits_at_fork: ClassVar[bool] = False
    _descriptor = -1

    def __init__(
        self,
        path: str,
        what: str,
        ready: Callable[[], T | None],
        *,
        expected: float = 0.0,
        timeout: float | None = None,
        is_usable: bool = True,
    ) -> None:
        self.record: T | None = None
        self.above: Callable[[], list[tuple[str, str]]] = list
        self.waited = 0.0
        self.holds = False
        self.path = path
        self.what = what
        self._ready = ready
        self._expected = expected
        self._timeout = timeout
        self._is_usable = is_usable
        self._holder = Holder()
        self._room = 0
        # Several threads of one body may wait at once.
        self._noting = threading.Lock()

    def unstored(self) -> None:
        """Say that the result will not be in the store: all who wait go on at once when the block ends."""
        self._holder.unstored = True

    def __enter__(self) -> Self:
        if not self._is_usable:
            self.record = self._ready()
            return self
        try:
            self._descriptor = self._open()
            self._acquire()
        except WaitCycleError:
            self._leave()
            raise
        except OSError as error:
            self._leave()
            if isinstance(error, LockTimeoutError):
                raise
            # Computing twice is better than not at all.
            log.info("locks do not work at %s (%s): computing without", self.path, error)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()

    def note_wait(self, name: str, *, begins: bool) -> None:
        """Write into the file that what holds it waits for another lock, or has ceased to."""
        with self._noting:
            if not self.holds:
                return
            waits = [other for other in self._holder.waits if other != name]
            self._holder.waits = (*waits, name)[-MOST_WAITS:] if begins else tuple(waits)
            self._room = write_holder(self._descriptor, self._holder, self._room)

    def end(self) -> None:
        """Give the lock back, if that has not happened yet: a block may be interrupted as it ends."""
        self._leave()

    def before_fork(self) -> None:
        """Do nothing: the parent goes on holding the lock."""

    def after_fork(self, *, in_child: bool) -> None:
        """Let go of the file in the child, which would keep it locked if its parent died."""
        if in_child:
            self.holds = False
            self._close()

    def _open(self) -> int:
        # Before there is a file: also a child of one who waits would keep it locked.
        forking.register(self)
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        folder = os.path.dirname(self.path)
        try:
            return modes.open_for_all(self.path, flags, fsio.temporary_name(folder))
        except FileNotFoundError:
            fsio.make_folder(folder)
            return modes.open_for_all(self.path, flags, fsio.temporary_name(folder))

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _acquire(self) -> None:
        from filelock import lock_descriptor

        wait = _Wait(self.path, self.above)
        try:
            while True:
                is_done = not os.fstat(self._descriptor).st_nlink
                if not is_done and lock_descriptor(self._descriptor, blocking=False):
                    if self._is_mine():
                        return self._hold()
                    is_done = True
                self.waited = wait.seconds()
                if is_done:
                    # The file has lost its name, and the one who held it is done.
                    if self._look_after(read_holder(self._descriptor)):
                        return self._close()
                    self._close()
                    self._descriptor = self._open()
                    continue
                if wait.is_to_look():
                    if self._look_after(read_holder(self._descriptor)):
                        return self._close()
                    if self._timeout is not None and self.waited > self._timeout:
                        holder = read_holder(self._descriptor)
                        raise LockTimeoutError(path=self.path, holder=str(holder), seconds=self.waited)
                wait.go_on(self._descriptor)
        finally:
            wait.end()

    def _look_after(self, holder: Holder) -> bool:
        """Return whether the wait for a holder is over: it has not stored, or what it has stored is there."""
        if not holder.unstored:
            self.record = self._ready()
        return holder.unstored or self.record is not None

    def _has_name(self) -> bool:
        """Tell whether the path leads to this file still: the folder may have been removed, and made again."""
        found = fsio.stat(self.path, follow=False)
        return found is not None and os.path.samestat(found, os.fstat(self._descriptor))

    def _is_mine(self) -> bool:
        found = os.fstat(self._descriptor)
        if found.st_size and found.st_nlink:
            # Left by a holder that was killed.
            os.ftruncate(self._descriptor, 0)
        return found.st_nlink > 0

    def _hold(self) -> None:
        self.holds = True
        _held.set((*_held.get(), self))
        unstored = self._holder.unstored
        what = self.what[:_MOST_TEXT].encode("utf-8", "backslashreplace").decode()
        self._holder = Holder(os.getpid(), machine.host(), what, time.time(), self._expected, unstored)
        self._room = write_holder(self._descriptor, self._holder, 0)
        fsio.step("lock taken")
        self.record = self._ready()
        if self.record is not None:
            self._leave()

    def _leave(self) -> None:
        # An interrupt at any point leaves something to do for `end`.
        if self.holds:
            try:
                self._remove()
            except OSError as error:
                log.info("the lock %s was left behind: %s", self.path, error)
            with self._noting:
                self.holds = False
            _held.set(tuple([claim for claim in _held.get() if claim is not self]))
        self._close()

    def _remove(self) -> None:
        from filelock import unlock_descriptor

        if self._holder.unstored:
            write_holder(self._descriptor, self._holder, self._room)
        fsio.step("remove lock")
        if self._has_name():
            fsio.unlink(self.path)
        # A forked child may have the same open file: only this frees the lock for sure.
        unlock_descriptor(self._descriptor)

    def __del__(self) -> None:
        self._close()


class _Wait:
    """A wait for a lock: how long it has been, what is told meanwhile, and whether it can end."""

    def __init__(self, path: str, above: Callable[[], list[tuple[str, str]]]) -> None:
        self._path = path
        self._above = above
        self._started = time.monotonic()
        self._pause = FIRST_PAUSE_SECONDS
        self._tell = TELL_AFTER_SECONDS
        self._look_for_result = 0.0
        self._look = LOOK_FOR_CYCLE_SECONDS
        self._noted: list[Claim[Any]] = []
        self._seen: tuple[tuple[Step, ...], str] = ((), "")

    def seconds(self) -> float:
        """Return how long this has been going on."""
        return time.monotonic() - self._started

    def is_to_look(self) -> bool:
        """Tell whether it is time to look for the result."""
        seconds = self.seconds()
        if seconds < self._look_for_result:
            return False
        self._look_for_result = seconds + LOOK_FOR_RESULT_SECONDS
        return True

    def go_on(self, descriptor: int) -> None:
        """Wait for a moment."""
        seconds = self.seconds()
        if seconds > self._tell:
            log.warning("waiting for %s", read_holder(descriptor))
            self._tell += TELL_AGAIN_SECONDS
        if seconds > self._look:
            self._look = seconds + LOOK_FOR_CYCLE_SECONDS
            self._look_for_cycle()
        time.sleep(self._pause)
        self._pause = min(self._pause * 1.5, LONGEST_PAUSE_SECONDS)

    def end(self) -> None:
        """Take back what was noted in the files that this context holds."""
        noted, self._noted = self._noted, []
        for claim in noted:
            claim.note_wait(os.path.basename(self._path), begins=False)

    def _look_for_cycle(self) -> None:
        held = [claim for claim in _held.get() if claim.holds]
        # What is held here says more of itself.
        above = dict(self._above()) | {os.path.basename(claim.path): claim.what for claim in held}
        if not above:
            return
        try:
            if not self._noted:
                self._noted = held
                for claim in held:
                    claim.note_wait(os.path.basename(self._path), begins=True)
            seen, self._seen = self._seen, find_way(self._path, above)
        except OSError as error:
            log.debug("it could not be seen who waits for whom: %s", error)
            return
        way, target = self._seen
        # The same twice: all of it was there at one moment between the two looks, so none of them can go on.
        if way and seen == self._seen:
            inner = list(above.values())[list(above).index(target) :]
            cycle = (*inner, *[step.what for step in way], inner[0])
            raise WaitCycleError(cycle=cycle, chain=" -> ".join(cycle))


def note_wait(path: str, *, begins: bool) -> None:
    """Write into the files that this context holds that others wait, for its sake, for the lock at `path`."""
    for claim in _held.get():
        claim.note_wait(os.path.basename(path), begins=begins)
