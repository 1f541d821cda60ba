"""The subscripts of einsum: parsing and the shape that results."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import broadcast

# In the order of their codes, so that an output that is not given has the labels in the order of their numbers.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def parse_interleaved(args: Sequence[Any]) -> tuple[str, list[Any]]:
    """Turn ``(x, [0, 1], y, [1, 2], [0, 2])`` into subscripts and operands."""
    operands = list(args[0 : len(args) - len(args) % 2 : 2])
    lists = list(args[1::2])
    texts = [_sublist_text(sublist) for sublist in lists]
    subscripts = ",".join(texts)
    if len(args) % 2:
        subscripts += "->" + _sublist_text(args[-1])
    return subscripts, operands


def _sublist_text(sublist: Sequence[Any]) -> str:
    if isinstance(sublist, str) or not hasattr(sublist, "__iter__"):
        raise TypeError("each operand of einsum in this form is followed by a list of integers")
    letters = []
    for label in sublist:
        if label is Ellipsis:
            letters.append("...")
            continue
        number = operator.index(label)
        if not 0 <= number < len(LETTERS):
            raise ValueError("subscript is not within the valid range [0, 52)")
        letters.append(LETTERS[number])
    return "".join(letters)


def is_view(subscripts: str) -> bool:
    """Say whether elements are only put in other places; numpy gives a view then, and looks at no dtype.

    Examples
    --------
    >>> is_view("ij->ji"), is_view("ii->i"), is_view("ij->i"), is_view("i,j->ij")
    (True, True, False, False)
    """
    left, arrow, right = subscripts.replace(" ", "").replace("...", "").partition("->")
    return "," not in left and (set(left) == set(right) if arrow else len(set(left)) == len(left))


def einsum_shape(subscripts: str, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of ``einsum(subscripts, *operands)``.

    Examples
    --------
    >>> einsum_shape("...ij,jk", [(7, 2, 3), (3, 5)])
    (7, 2, 5)
    """
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    _check_text(left, right)
    terms = left.split(",")
    if len(terms) < len(shapes):
        raise ValueError("more operands provided to einstein sum function than specified in the subscripts string")
    if len(terms) > len(shapes):
        raise ValueError("fewer operands provided to einstein sum function than specified in the subscripts string")
    sizes: dict[str, Size] = {}
    dots: list[Shape] = []
    for number, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        middle = _bind(term, shape, number, sizes)
        if middle is not None:
            dots.append(middle)
    ellipsis = broadcast(*dots) if dots else ()
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        right = ("..." if ellipsis else "") + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    return _output(right, sizes, ellipsis)


def _check_text(left: str, right: str) -> None:
    for character in left.replace(",", "").replace("...", "") + right.replace("...", ""):
        if character == ".":
            raise ValueError(
                "einstein sum subscripts string contains a '.' that is not part of an ellipsis ('...') in operand 0"
            )
        if character not in LETTERS:
            raise ValueError(
                f"invalid subscript '{character}' in einstein sum subscripts string, subscripts must be letters"
            )


def _bind(term: str, shape: Shape, number: int, sizes: dict[str, Size]) -> Shape | None:
    before, dots, after = term.partition("...")
    if not dots and len(before) != len(shape):
        if len(before) > len(shape):
            raise ValueError(f"einstein sum subscripts string contains too many subscripts for operand {number}")
        raise ValueError(
            "operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
            "broadcast the extra dimensions."
        )
    if len(before) + len(after) > len(shape):
        raise ValueError(f"einstein sum subscripts string contains too many subscripts for operand {number}")
    end = len(shape) - len(after)
    own: dict[str, Size] = {}
    for letter, size in [*zip(before, shape, strict=False), *zip(after, shape[end:], strict=True)]:
        if own.setdefault(letter, size) != size:
            raise ValueError(
                f"dimensions in operand {number} for collapsing index '{letter}' don't match ({own[letter]} != {size})"
            )
    for letter, size in own.items():
        known = sizes.setdefault(letter, size)
        if known == 1 or known is None:
            sizes[letter] = size if size is not None or known == 1 else known
        elif size not in (1, None, known):
            raise ValueError(
                f"operands could not be broadcast together: subscript '{letter}' has sizes {known} and {size}"
            )
    return shape[len(before) : end] if dots else None


def _output(right: str, sizes: dict[str, Size], ellipsis: Shape) -> Shape:
    before, dots, after = right.partition("...")
    if ellipsis and not dots:
        raise ValueError(
            "output has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
            "broadcast the extra dimensions."
        )
    out: list[Size] = []
    for letter in before + after:
        if (before + after).count(letter) > 1:
            raise ValueError(f"einstein sum subscripts string includes output subscript '{letter}' multiple times")
        if letter not in sizes:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{letter}' which never appeared in an input"
            )
        out.append(sizes[letter])
    return (*out[: len(before)], *ellipsis, *out[len(before) :])
