"""Are the files that a result depends on still as they were?"""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from lazycache import current, files
from lazycache.errors import InputChangedError
from lazycache.expressions.keys import call_key
from lazycache.expressions.tree import HashedLeaf, Node, computed
from lazycache_storage.digest import Digest
from lazycache_storage.record import FileState

if TYPE_CHECKING:
    from lazycache_storage.record import Record


logger = logging.getLogger("lazycache")


def check_leaves(node: Node, function: str = "") -> None:
    """Look once at each file that `node` was built from.

    Raises
    ------
    InputChangedError
        If one is no longer as it was when the expression was built.
    """
    for leaf in node._inputs:
        check_states(leaf._files, function or _reader(node, leaf))


def check_states(states: Iterable[FileState], function: str) -> None:
    """Raise InputChangedError if a file is not as `states` say."""
    for state in states:
        if not files.unchanged(state):
            raise InputChangedError(path=state.path, function=function)


def _reader(root: Node, leaf: HashedLeaf) -> str:
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if any(dep is leaf for dep in node._deps):
            return str(node._function.name)
        stack.extend(node._deps)
    return "an expression"


def still_valid(record: Record, node: Node) -> tuple[bool, Record | None]:
    """Say whether a record's files are as they were.

    Returns
    -------
    valid : bool
    cleared : Record or None
        The record with the marks of young files taken off, where their content
        was compared and they are young no longer; it should be written back.
    """
    now = time.time_ns()
    states = []
    for state in record.files:
        if state.how == "age":
            if state.mtime_ns <= now:
                return False, None
            states.append(state)
            continue
        if state.in_key and not state.young:
            # Size and date are in the key, and the leaf was looked at already.
            states.append(state)
            continue
        if state.in_key:
            state = msgspec.structs.replace(state, path=_present_path(state, node))
        try:
            confirmed = files.confirm(state, now)
        except (OSError, ValueError):
            # What cannot be read any more, or is no path, is not as it was.
            return False, None
        if confirmed is None:
            return False, None
        states.append(confirmed)
    cleared = any(old.young and not new.young for old, new in zip(record.files, states, strict=True))
    return True, msgspec.structs.replace(record, files=tuple(states)) if cleared else None


def _present_path(state: FileState, node: Node) -> str:
    """Where a file that is part of the key lies today: a movable folder may have moved."""
    candidates: list[FileState] = [now for leaf in node._inputs for now in leaf._files]
    for now in candidates:
        if now.path == state.path:
            return now.path
    for now in candidates:
        if (now.size, now.mtime_ns) == (state.size, state.mtime_ns):
            return now.path
    return state.path


def lifetime(node: Node) -> tuple[FileState, ...]:
    """Return until when a result of `node` that is made now counts, in a form that follows those made of it."""
    function = node._function
    if not function.is_pure or function.max_age is None:
        return ()
    # Beyond what 64 bits of nanoseconds hold, it is for ever.
    until = min(time.time() + function.max_age, 2.0**33)
    return (FileState(function.name, "age", mtime_ns=int(until * 1e9)),)


def as_nested(states: Iterable[FileState]) -> tuple[FileState, ...]:
    """Return what nested calls read as an outer record keeps it: not part of its key."""
    return tuple(msgspec.structs.replace(state, in_key=False) for state in states)


def join_frame(record: Record) -> None:
    """Tell the pure call that is running, if any, what a nested result depends on."""
    if record.files and (frame := current.frame()) is not None:
        frame.files.extend(record.files)


def changed(leaf: HashedLeaf, function: str) -> NoReturn:
    """Raise InputChangedError for a leaf whose content changed while its date did not."""
    raise InputChangedError(path=leaf._files[0].path, function=function)


def _is_path(value: Any) -> bool:
    # Whoever has a Path has imported pathlib, which this way costs those nothing who have none.
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and isinstance(value, pathlib.Path)


def result_files(value: Any) -> tuple[FileState, ...]:
    """Return the states of the files and folders that a result names by Path."""
    found: list[FileState] = []
    stack, seen = [value], set()
    while stack:
        part = stack.pop()
        if _is_path(part):
            try:
                found.extend(files.mark_young((files.look(str(part), "result"),), in_key=False))
            except OSError as error:
                # It names nothing yet, or nothing that a date could be compared of.
                logger.debug("the result %s is not checked on a hit: %s", part, error)
        elif isinstance(part, tuple | list | dict) and id(part) not in seen:
            seen.add(id(part))
            stack.extend(part.values() if isinstance(part, dict) else part)
    return tuple(found)


def union(*groups: Iterable[FileState]) -> tuple[FileState, ...]:
    """Return the states of all groups, each once."""
    return tuple({state: None for group in groups for state in group})


def deferred_call_key(
    node: Node, args: tuple[Any, ...], token_of: Callable[[Node], bytes]
) -> tuple[Digest, tuple[FileState, ...]]:
    """Return the call key where arguments with hashers had to be evaluated first, and the files that they name.

    Parameters
    ----------
    node : Node
    args : tuple
        The arguments as they were evaluated.
    token_of : callable
        Gives what stands for a node in the key, but for these.
    """
    from lazycache.graph import find_nodes

    resolved = node._function.resolve_arguments(node._args, args)
    # Taken before the function reads: a rewrite in between makes the next look-up a miss.
    deferred = files.mark_young(resolved.files, in_key=False)
    tokens = {}
    for position, leaf in resolved.leaves.items():
        for dep in find_nodes(node._args[position]):
            if not isinstance(dep, computed):
                tokens[id(dep)] = b"K" + hashlib.sha256(token_of(dep) + leaf._token).digest()
    return call_key(node, lambda dep: tokens.get(id(dep)) or token_of(dep)), deferred
