"""Two records of one function side by side: what went into their keys, then and now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from lazycache.caching.codes import name_changes
from lazycache.valuetext import clip
from lazycache_storage.digest import Digest
from lazycache_storage.errors import CorruptEntryError
from lazycache_storage.layout import KEY_BYTES
from lazycache_storage.record import CODE, Stored, decode_record

if TYPE_CHECKING:
    from lazycache.caching.codes import Parts
    from lazycache_storage.record import Ingredient, Record
    from lazycache_storage.store import Store

_LONG_TEXT = 120
_LONGEST_TEXT = 300
_BETWEEN = ", "
_BY_DATE = ("hash_by_file_date", "hash_by_file_stat")


class Compared(NamedTuple):
    """One ingredient of two keys.

    Attributes
    ----------
    name : str
        ``argument x``, ``version``, ``code`` or ``packages``.
    hasher : str
        The rule that made an argument's token.
    then, now : str
    is_same : bool
    counts : bool
        Whether it is part of the key.
    text : str
        What differs, in words; empty if nothing does.
    """

    name: str
    hasher: str
    then: str
    now: str
    is_same: bool
    counts: bool
    text: str


def arguments(record: Record) -> dict[str, Ingredient]:
    """Return the arguments of a call by name."""
    return {part.name: part for part in record.ingredients if part.name or part.hasher != CODE}


def code_of(record: Record) -> bytes:
    """Return the identity of the code of a record's function; nothing if it is not part of the key."""
    return next((part.token for part in record.ingredients if part.hasher == CODE and not part.name), b"")


def of_function(store: Store, function: str) -> Iterator[Stored]:
    """Iterate over the entries of one function; those that cannot be read are left out."""
    name = function.encode("utf-8", "replace")
    for row in store.index.items():
        # To decode a record takes ten times as long.
        if len(row.key) != KEY_BYTES or name not in row.value:
            continue
        try:
            record = decode_record(row.value)
        except CorruptEntryError:
            continue
        if record.function == function:
            yield Stored(Digest(row.key), record, row.last_used, row.uses)


def nearest(candidates: Iterable[Record], now: Record) -> Record | None:
    """Return the record that has most in common with `now`: arguments first, then their texts, then the newest."""
    here = arguments(now)

    def distance(record: Record) -> tuple[int, bool, int, float]:
        there = arguments(record)
        differing = [name for name in here | there if _token(here.get(name)) != _token(there.get(name))]
        alike = sum(_same_beginning(_text(here.get(name)), _text(there.get(name))) for name in differing)
        return len(differing), code_of(record) != code_of(now), -alike, -record.created

    return min(candidates, key=distance, default=None)


def _same_beginning(one: str, other: str) -> int:
    """Return how many letters two texts begin with in common: those of one file do, whatever its date."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def compare(then: Record, now: Record, parts_of: Callable[[bytes], Parts]) -> list[Compared]:
    """Return each ingredient of two calls of one function.

    Parameters
    ----------
    then, now : Record
    parts_of : callable
        Gives what a code consisted of, by its identity.
    """
    found = []
    if then.version or now.version:
        found.append(_compared("version", then.version or "none", now.version or "none"))
    if (code := _compare_code(then, now, parts_of)) is not None:
        found.append(code)
    before, after = arguments(then), arguments(now)
    found += [_compare_argument(name, before.get(name), after.get(name)) for name in after | before]
    if then.packages and now.packages:
        text = package_change(then.packages, now.packages)
        found.append(Compared("packages", "", then.packages, now.packages, not text, False, text))
    return found


def package_change(then: str, now: str) -> str:
    """Return which versions differ between two texts of packages, in words.

    Examples
    --------
    >>> package_change("Python 3.11.7, numpy 2.4.5", "Python 3.11.7, numpy 2.4.6")
    'packages, which do not count: was numpy 2.4.5, is numpy 2.4.6'
    """
    before, after = then.split(", "), now.split(", ")
    gone, new = [name for name in before if name not in after], [name for name in after if name not in before]
    if not then or not (gone or new):
        return ""
    return f"packages, which do not count: was {', '.join(gone) or 'none'}, is {', '.join(new) or 'none'}"


def _compared(name: str, then: str, now: str) -> Compared:
    is_same = then == now
    return Compared(name, "", then, now, is_same, True, "" if is_same else f"{name}: was {then}, is {now}")


def _compare_code(then: Record, now: Record, parts_of: Callable[[bytes], Parts]) -> Compared | None:
    before, after = code_of(then), code_of(now)
    if not (before and after):
        # Written before codes were ingredients, or a version was given or taken away.
        if then.version or now.version:
            return None
        before, after = then.code, now.code
    if before == after:
        return Compared("code", "", before.hex()[:6], after.hex()[:6], True, True, "")
    changes = name_changes(parts_of(before), parts_of(after))
    if not changes and then.version != now.version:
        # The identity has the version in it.
        return None
    text = f"code: {changes or 'the function, or something of yours that it refers to, was edited'}"
    return Compared("code", "", before.hex()[:6], after.hex()[:6], False, True, text)


def _compare_argument(name: str, before: Ingredient | None, after: Ingredient | None) -> Compared:
    label = f"argument {name}"
    then, now = _text(before), _text(after)
    hasher = "" if after is None else after.hasher
    if _token(before) == _token(after):
        return Compared(label, hasher, then, now, True, True, "")
    if before is not None and after is not None and before.hasher != after.hasher and _is_rule(before, after):
        then, now = f"{then} by {before.hasher}", f"{now} by {after.hasher}"
    was, is_now = _differing(then, now)
    text = f"was {was}, is {is_now}" if then != now else f"was another {now}"
    if then.startswith("{") and sorted(then[1:-1].split(_BETWEEN)) == sorted(now[1:-1].split(_BETWEEN)):
        text += " (the order of a dict counts: its hasher may be lazycache.unordered)"
    if then == now and hasher in _BY_DATE:
        text += " (another size, or another fraction of a second)"
    if then == now and hasher == "call":
        text = f"{now}, of which something changed"
    return Compared(label, hasher, then, now, False, True, f"{label}: {text}")


def _differing(then: str, now: str) -> tuple[str, str]:
    """Return two texts; where they are long, only the members that differ."""
    if max(len(then), len(now)) <= _LONG_TEXT:
        return then, now
    before, after = then.split(_BETWEEN), now.split(_BETWEEN)
    shorter = min(len(before), len(after))
    start = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    end = next((n for n in range(shorter - start) if before[-1 - n] != after[-1 - n]), shorter - start)

    def middle(members: list[str]) -> str:
        text = clip(_BETWEEN.join(members[start : len(members) - end]) or "nothing", _LONGEST_TEXT)
        return f"{'…' if start else ''}{text}{'…' if end else ''}"

    return middle(before), middle(after)


def _is_rule(before: Ingredient, after: Ingredient) -> bool:
    """Say whether the rules of two arguments are worth naming: a value and an expression are told by their texts."""
    return {before.hasher, after.hasher} != {"value", "call"}


def _token(part: Ingredient | None) -> bytes | None:
    return None if part is None else part.token


def _text(part: Ingredient | None) -> str:
    return "absent" if part is None else part.text
