"""Short texts of values, bounded however large the value is."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from lazycache.expressions.nests import NATIVES, is_nest, members

_LONG = 60
_MOST_BITS = 256
_MOST_MEMBERS = 100
_DEEPEST = 4
_BRACKETS: dict[type, tuple[str, str]] = {dict: ("{", "}"), list: ("[", "]"), tuple: ("(", ")")}
_READABLE = frozenset({"datetime", "decimal", "fractions", "pathlib", "uuid", "zoneinfo"})


def clip(text: str, limit: int) -> str:
    """Return `text` with at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def constant_text(value: Any) -> str | None:
    """Return the text of a native that is short, as Python would write it; else None.

    Examples
    --------
    >>> constant_text("hello"), constant_text(3), constant_text([1])
    ("'hello'", '3', None)
    """
    kind = type(value)
    if kind is int:
        return repr(value) if value.bit_length() <= _MOST_BITS else None
    if kind in NATIVES:
        return repr(value) if not isinstance(value, str | bytes) or len(value) <= _LONG else None
    if isinstance(value, type):
        return f"np.{value.__name__}" if issubclass(value, np.generic) else value.__qualname__
    if isinstance(value, np.dtype):
        return clip(repr(value), _LONG)
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return clip(repr(value), _LONG)
    return None


def inline_text(value: Any) -> str | None:
    """Return the text of a value that is written where it is used: natives and small nests of them."""
    if not is_nest(value):
        return constant_text(value)
    if type(value) is not slice and len(value) > 8:
        return None
    texts = [constant_text(member) for member in (*members(value), *(value if type(value) is dict else ()))]
    if None in texts or sum(len(text or "") for text in texts) > _LONG:
        return None
    return repr(value)


def content_text(value: Any, limit: int) -> str:
    """Return what is in a small container or object, to tell it from another one; else what kind of thing it is.

    Parameters
    ----------
    value : object
    limit : int
        Most characters; what is longer is told by its kind.

    Examples
    --------
    >>> content_text({"how": "mean", "data": np.zeros(3)}, limit=80)
    "{'how': 'mean', 'data': ndarray(shape=(3,), dtype=float64)}"
    >>> content_text(list(range(1000)), limit=80)
    'list(length=1000)'
    """
    return _content(value, limit, _DEEPEST)


def _content(value: Any, limit: int, depth: int) -> str:
    kind = type(value)
    if kind is str or kind is bytes:
        return repr(value) if len(value) <= limit else value_text(value)
    parts = _labelled_parts(value) if depth else None
    if parts is None or len(parts) > _MOST_MEMBERS:
        return value_text(value)
    texts: list[str] = []
    room = limit
    for label, part in parts:
        texts.append(label + _content(part, room, depth - 1))
        room -= len(texts[-1]) + len(", ")
        if room < 0:
            return value_text(value)
    opening, closing = _BRACKETS.get(kind, (f"{kind.__name__}(", ")"))
    return f"{opening}{', '.join(texts)}{',' if kind is tuple and len(texts) == 1 else ''}{closing}"


def _labelled_parts(value: Any) -> list[tuple[str, Any]] | None:
    """Return the members of a container, or the attributes of an object that has no text of its own."""
    kind = type(value)
    if kind is list or kind is tuple:
        return [("", member) for member in value]
    if kind is dict:
        return [(f"{constant_text(name) or value_text(name)}: ", member) for name, member in dict(value).items()]
    if is_nest(value) and kind is not slice:
        return [(f"{name}=", member) for name, member in zip(kind._fields, value, strict=False)]
    if hasattr(kind, "__dataclass_fields__") or getattr(kind, "__repr__", None) is object.__repr__:
        return [(f"{name}=", member) for name, member in dict(getattr(value, "__dict__", {})).items()] or None
    return None


def value_text(value: Any) -> str:
    """Return what kind of thing a value is, with its shape and dtype where it has them.

    Examples
    --------
    >>> value_text(np.zeros((2, 3)))
    'ndarray(shape=(2, 3), dtype=float64)'
    >>> value_text([1, 2, 3])
    'list(length=3)'
    """
    kind = type(value)
    name = kind.__name__
    constant = constant_text(value)
    if constant is not None:
        return constant
    if isinstance(value, enum.Enum):
        return f"{name}.{value._name_}" if value._name_ else f"{name}({value._value_!r})"
    if isinstance(value, np.ndarray):
        return f"{name}(shape={value.shape}, dtype={clip(str(value.dtype), _LONG)})"
    if kind is int:
        return f"int(bits={value.bit_length()})"
    if kind.__module__.partition(".")[0] in _READABLE:
        return clip(repr(value), 2 * _LONG)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and not isinstance(value, type):
        dtype = getattr(value, "dtype", None)
        return f"{name}(shape={shape}, dtype={dtype})" if dtype is not None else f"{name}(shape={shape})"
    if kind.__module__ == "builtins" and hasattr(kind, "__len__"):
        return f"{name}(length={len(value)})"
    qualname = getattr(value, "__qualname__", None)
    if isinstance(qualname, str) and qualname != name:
        return f"{name} {value.__module__}.{qualname}"
    return name
