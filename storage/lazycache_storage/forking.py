"""What an open store does when the process forks.

A connection to sqlite that exists while the process forks poisons the child:
sqlite keeps the locks of a file per process, in memory that the child
inherits, so the child believes it holds locks that only its parent has.
Whoever keeps connections or locks registers here, and is asked to put them
away before every fork.
"""

import os
import weakref
from typing import Protocol


class ForkAware(Protocol):
    """Something that must be put away before a fork."""

    def before_fork(self) -> None:
        """Close and lock what a child must not inherit; runs in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Undo `before_fork`; runs in both processes, or in the child alone."""


_registered: weakref.WeakSet[ForkAware] = weakref.WeakSet()


def register(member: ForkAware) -> None:
    """Ask `member` at every later fork, for as long as it lives."""
    _registered.add(member)


def _before() -> None:
    for member in list(_registered):
        member.before_fork()


def _after_in_parent() -> None:
    for member in list(_registered):
        member.after_fork(in_child=False)


def _after_in_child() -> None:
    for member in list(_registered):
        member.after_fork(in_child=True)


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
