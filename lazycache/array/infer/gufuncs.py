"""Shapes of generalized ufuncs, which work on the last axes, or those that are named, of their operands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from numpy.exceptions import AxisError

from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import broadcast
from lazycache.array.infer.reductions import normalize_axis

Core = tuple[str, ...]


class Signature(NamedTuple):
    """The core dimensions of each input and output, by name; one that may be absent ends in ``?``."""

    text: str
    inputs: tuple[Core, ...]
    outputs: tuple[Core, ...]


@lru_cache(maxsize=256)
def parse_signature(text: str) -> Signature:
    """Return the parts of a signature.

    Examples
    --------
    >>> parse_signature("(n?,k),(k)->(n?)").inputs
    (('n?', 'k'), ('k',))
    """
    sides = [re.findall(r"\(([^)]*)\)", side) for side in text.split("->")]
    inputs, outputs = (tuple(tuple(filter(None, one.replace(" ", "").split(","))) for one in side) for side in sides)
    return Signature(text, inputs, outputs)


def gufunc_shapes(
    name: str, text: str, shapes: Sequence[Shape], axes: Any = None, axis: Any = None, keepdims: bool = False
) -> tuple[Shape, ...]:
    """Return the shapes of the results of a generalized ufunc.

    Examples
    --------
    >>> gufunc_shapes("matvec", "(m,n),(n)->(m)", [(4, 2, 3), (3,)])
    ((4, 2),)
    """
    whole = parse_signature(text)
    _check_options(name, whole, axes, axis, keepdims)
    absent = _absent(name, whole, shapes)
    inputs, outputs = ([tuple(d for d in core if d not in absent) for core in side] for side in whole[1:])
    if keepdims:
        outputs = [inputs[0]] * len(outputs)
    places = _places(name, inputs, outputs, axes, axis)
    sizes: dict[str, Size] = {}
    loops = []
    for number, (core, shape) in enumerate(zip(inputs, shapes, strict=True)):
        at = _positions(places[number], len(shape), number, len(core))
        _take_sizes(name, whole, number, core, [shape[position] for position in at], sizes)
        loops.append(tuple(size for position, size in enumerate(shape) if position not in at))
    loop = broadcast(*loops)
    return tuple(
        _insert(loop, [1 if keepdims else sizes[d] for d in core], places[len(inputs) + number], len(inputs) + number)
        for number, core in enumerate(outputs)
    )


def _check_options(name: str, whole: Signature, axes: Any, axis: Any, keepdims: bool) -> None:
    if axes is not None and axis is not None:
        raise TypeError("cannot specify both 'axis' and 'axes'")
    if keepdims:
        count = len(whole.inputs[0])
        odd = next((number for number, core in enumerate(whole.inputs) if len(core) != count), None)
        if odd is not None or any(whole.outputs):
            raise TypeError(f"{name} does not support keepdims: its signature is {whole.text}")
    distinct = {dimension for core in (*whole.inputs, *whole.outputs) for dimension in core}
    if axis is not None and (len(distinct) != 1 or any(len(core) != 1 for core in whole.inputs)):
        raise TypeError(
            f"{name}: axis can only be used with a single shared core dimension, not with the {len(distinct)} distinct "
            f"ones implied by signature {whole.text}."
        )


def _absent(name: str, whole: Signature, shapes: Sequence[Shape]) -> set[str]:
    absent: set[str] = set()
    for number, (core, shape) in enumerate(zip(whole.inputs, shapes, strict=True)):
        needed = [dimension for dimension in core if not dimension.endswith("?")]
        if len(shape) < len(needed):
            raise ValueError(
                f"{name}: Input operand {number} does not have enough dimensions (has {len(shape)}, gufunc core with "
                f"signature {whole.text} requires {len(needed)})"
            )
        if len(shape) < len(core):
            absent.update(set(core) - set(needed))
    return absent


def _places(
    name: str, inputs: Sequence[Core], outputs: Sequence[Core], axes: Any, axis: Any
) -> list[tuple[int, ...] | None]:
    """Return for each operand on which axes its core dimensions are; None means the last."""
    cores = [*inputs, *outputs]
    if axis is not None:
        return [(axis,) if core else None for core in cores]
    if axes is None:
        return [None] * len(cores)
    if not isinstance(axes, list):
        raise TypeError("axes should be a list.")
    if len(axes) != len(cores) and not (len(axes) == len(inputs) and not any(outputs)):
        raise ValueError(
            f"axes should be a list with an entry for all {len(cores)} inputs and outputs; entries for outputs can "
            "only be omitted if none of them has core axes."
        )
    given = [one if isinstance(one, tuple) else (one,) for one in axes]
    for number, (core, one) in enumerate(zip(cores, given, strict=False)):
        if len(core) != len(one):
            raise AxisError(
                f"{name}: operand {number} has {len(core)} core dimensions, but {len(one)} dimensions are specified by "
                "axes tuple."
            )
    return [*given, *[None] * (len(cores) - len(given))]


def _positions(places: tuple[int, ...] | None, ndim: int, number: int, count: int = 0) -> list[int]:
    if places is None:
        return list(range(ndim - count, ndim))
    found = [normalize_axis(place, ndim) for place in places]
    repeated = next((place for place in found if found.count(place) > 1), None)
    if repeated is not None:
        raise ValueError(f"axes item {number} has value {repeated} repeated")
    return found


def _take_sizes(
    name: str, whole: Signature, number: int, core: Core, found: Sequence[Size], sizes: dict[str, Size]
) -> None:
    for place, (dimension, size) in enumerate(zip(core, found, strict=True)):
        known = sizes.setdefault(dimension, int(dimension) if dimension.isdigit() else size)
        if known is None:
            sizes[dimension] = size
        elif size is not None and size != known:
            raise ValueError(
                f"{name}: Input operand {number} has a mismatch in its core dimension {place}, with gufunc signature "
                f"{whole.text} (size {size} is different from {known})"
            )


def _insert(loop: Shape, core: Sequence[Size], places: tuple[int, ...] | None, number: int) -> Shape:
    ndim = len(loop) + len(core)
    at = _positions(places, ndim, number, len(core))
    rest = iter(loop)
    return tuple(core[at.index(position)] if position in at else next(rest) for position in range(ndim))
