"""One computation per key, among threads and processes.

Each key has a lock file of its own, which exists only while the key is being
computed: its holder writes who it is into the file, and removes the file
while still holding it. Whoever locks a file that has lost its name has waited
for somebody who is done, and starts again. A waiter keeps the file open, so
that it can read who holds it, and whether that one ended without storing.
"""

import functools
import logging
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from lazycache_storage import forking, fsio, modes
from lazycache_storage.errors import LockTimeoutError

log = logging.getLogger("lazycache")

FIRST_PAUSE_SECONDS = 0.001
LONGEST_PAUSE_SECONDS = 0.02
TELL_AFTER_SECONDS = 3.0
TELL_AGAIN_SECONDS = 60.0

_READ_LIMIT = 4096

T = TypeVar("T")


class Holder(msgspec.Struct, omit_defaults=True):
    """Who computes a key, as written in its lock file.

    Attributes
    ----------
    pid : int
    host : str
    what : str
        A short text of what is computed.
    since : float
        Seconds since the epoch.
    expected : float
        Seconds that it took last time; 0 if unknown.
    unstored : bool
        Whether it ended, and its result will not be in the store.
    """

    pid: int = 0
    host: str = ""
    what: str = ""
    since: float = 0.0
    expected: float = 0.0
    unstored: bool = False

    def __str__(self) -> str:
        if not self.pid:
            return "an unknown process"
        since = time.strftime("%H:%M:%S", time.localtime(self.since))
        last = f", which took {self.expected:.1f} s last time" if self.expected else ""
        return f"process {self.pid} on {self.host}, computing {self.what} since {since}{last}"


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Holder)


def read_holder(descriptor: int) -> Holder:
    """Return what an open lock file says; an empty holder if it says nothing."""
    try:
        return _decoder.decode(os.pread(descriptor, _READ_LIMIT, 0))
    except (msgspec.DecodeError, ValueError):
        # The holder was seen between taking the lock and writing its name.
        return Holder()


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
    waited : float
        Seconds spent waiting for others.
    holds : bool
        Whether the lock is held. Without it the key may be computed all the
        same: either locks do not work here, or the one before did not store.

    Raises
    ------
    LockTimeoutError
        When entered, if `timeout` passed.
    """

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
        self.waited = 0.0
        self.holds = False
        self._path = path
        self._what = what
        self._ready = ready
        self._expected = expected
        self._timeout = timeout
        self._is_usable = is_usable
        self._descriptor = -1
        self._holder = Holder()

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
        except OSError as error:
            self._leave()
            if isinstance(error, LockTimeoutError):
                raise
            # Computing twice is better than not at all.
            log.info("locks do not work at %s (%s): computing without", self._path, error)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()

    def before_fork(self) -> None:
        """Do nothing: the parent goes on holding the lock."""

    def after_fork(self, *, in_child: bool) -> None:
        """Let go of the file in the child, which would keep it locked if its parent died."""
        if in_child and self.holds:
            self.holds = False
            self._close()

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        folder = os.path.dirname(self._path)
        try:
            return modes.open_for_all(self._path, flags, fsio.temporary_name(folder))
        except FileNotFoundError:
            fsio.make_folder(folder)
            return modes.open_for_all(self._path, flags, fsio.temporary_name(folder))

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _acquire(self) -> None:
        from filelock import lock_descriptor

        started, pause, tell = time.monotonic(), FIRST_PAUSE_SECONDS, TELL_AFTER_SECONDS
        while True:
            if lock_descriptor(self._descriptor, blocking=False):
                if self._is_mine():
                    return self._hold()
                # The file has lost its name: the one who held it is done.
                ended = read_holder(self._descriptor)
                self._close()
                if ended.unstored:
                    return None
                self._descriptor = self._open()
                continue
            self.waited = time.monotonic() - started
            self.record = self._ready()
            if self.record is not None or read_holder(self._descriptor).unstored:
                return self._close()
            if self._timeout is not None and self.waited > self._timeout:
                holder = read_holder(self._descriptor)
                raise LockTimeoutError(path=self._path, holder=str(holder), seconds=self.waited)
            if self.waited > tell:
                log.warning("waiting for %s", read_holder(self._descriptor))
                tell += TELL_AGAIN_SECONDS
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)

    def _is_mine(self) -> bool:
        found = os.fstat(self._descriptor)
        if found.st_size and found.st_nlink:
            # Left by a holder that was killed.
            os.ftruncate(self._descriptor, 0)
        return found.st_nlink > 0

    def _hold(self) -> None:
        self.holds = True
        forking.register(self)
        unstored = self._holder.unstored
        self._holder = Holder(os.getpid(), _host(), self._what, time.time(), self._expected, unstored)
        os.pwrite(self._descriptor, _encoder.encode(self._holder), 0)
        fsio.step("lock taken")
        self.record = self._ready()
        if self.record is not None:
            self._leave()

    def _leave(self) -> None:
        if not self.holds:
            return self._close()
        from filelock import unlock_descriptor

        self.holds = False
        try:
            if self._holder.unstored:
                os.pwrite(self._descriptor, _encoder.encode(self._holder), 0)
            fsio.step("remove lock")
            fsio.unlink(self._path)
            # A forked child may have the same open file: only this frees the lock for sure.
            unlock_descriptor(self._descriptor)
        except OSError as error:
            log.info("the lock %s was left behind: %s", self._path, error)
        finally:
            self._close()


@functools.cache
def _host() -> str:
    return os.uname().nodename
