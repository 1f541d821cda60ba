"""Shapes of products and decompositions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from numpy.linalg import LinAlgError

from lazycache.array.infer import Shape, Size
from lazycache.array.infer.broadcasting import broadcast, shape_text
from lazycache.array.infer.reductions import normalize_axis


def matmul(left: Shape, right: Shape, name: str = "matmul") -> Shape:
    """Return the shape of ``left @ right``.

    Examples
    --------
    >>> matmul((7, 2, 3), (3, 4)), matmul((3,), (3,))
    ((7, 2, 4), ())
    """
    if not left or not right:
        number = 0 if not left else 1
        raise ValueError(
            f"{name}: Input operand {number} does not have enough dimensions (has 0, gufunc core with signature "
            "(n?,k),(k,m?)->(n?,m?) requires 1)"
        )
    inner, other = left[-1], right[-2] if len(right) > 1 else right[0]
    if inner != other and inner is not None and other is not None:
        raise ValueError(
            f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {other} is different from {inner})"
        )
    batch = _broadcast_batch(left, right) if len(left) > 2 or len(right) > 2 else ()
    return (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ()))


def _broadcast_batch(left: Shape, right: Shape) -> Shape:
    try:
        return broadcast(left[:-2], right[:-2])
    except ValueError:
        texts = [shape_text(shape) + "->" + shape_text(shape[:-2])[:-1] for shape in (left, right)]
        first, second = (text.rstrip(",") + ",newaxis,newaxis)" for text in texts)
        core = shape_text((*left[-2:-1], *right[-1:]))
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{first} {second}  and requested shape {core}"
        ) from None


def dot(left: Shape, right: Shape) -> Shape:
    """Return the shape of numpy's ``dot``."""
    if not left or not right:
        return (*left, *right)
    axis = len(right) - 2 if len(right) > 1 else 0
    _check_aligned(left, right, len(left) - 1, axis)
    return (*left[:-1], *right[:axis], *right[axis + 1 :])


def inner(left: Shape, right: Shape) -> Shape:
    """Return the shape of numpy's ``inner``."""
    if not left or not right:
        return (*left, *right)
    order = range(len(right))
    turned = tuple(right[i] for i in ([*order[:-2], order[-1], order[-2]] if len(right) > 1 else order))
    _check_aligned(left, turned, len(left) - 1, max(len(right) - 2, 0))
    return (*left[:-1], *right[:-1])


def _check_aligned(left: Shape, right: Shape, i: int, j: int) -> None:
    if left[i] != right[j] and left[i] is not None and right[j] is not None:
        first, second = shape_text(left), shape_text(right)
        raise ValueError(f"shapes {first} and {second} not aligned: {left[i]} (dim {i}) != {right[j]} (dim {j})")


def vecdot(left: Shape, right: Shape, axis: int) -> Shape:
    """Return the shape of products summed along one axis."""
    for number, shape in enumerate((left, right)):
        if not shape:
            raise ValueError(
                f"vecdot: Input operand {number} does not have enough dimensions (has 0, gufunc core with signature "
                "(n),(n)->() requires 1)"
            )
    i, j = normalize_axis(axis, len(left)), normalize_axis(axis, len(right))
    if left[i] != right[j] and left[i] is not None and right[j] is not None:
        raise ValueError(
            "vecdot: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n),(n)->() "
            f"(size {right[j]} is different from {left[i]})"
        )
    return broadcast(left[:i] + left[i + 1 :], right[:j] + right[j + 1 :])


def tensordot(left: Shape, right: Shape, axes: Any) -> Shape:
    """Return the shape of ``tensordot`` for a number of axes or two lists of them."""
    if isinstance(axes, (tuple, list)):
        first, second = (one if isinstance(one, (tuple, list)) else (one,) for one in axes)
    else:
        count = operator.index(axes)
        count = max(count, 0)
        first, second = tuple(range(len(left) - count, len(left))), tuple(range(count))
    if len(set(first)) != len(first) or len(set(second)) != len(second):
        raise ValueError("duplicate axes are not allowed in tensordot")
    if len(first) != len(second):
        raise ValueError("shape-mismatch for sum")
    pairs = []
    for i, j in zip(first, second, strict=True):
        if not -len(left) <= i < len(left) or not -len(right) <= j < len(right):
            raise IndexError("tuple index out of range")
        if left[i] != right[j] and left[i] is not None and right[j] is not None:
            raise ValueError("shape-mismatch for sum")
        pairs.append((i % len(left), j % len(right)))
    dropped = {i for i, _ in pairs}, {j for _, j in pairs}
    if len(dropped[0]) != len(pairs) or len(dropped[1]) != len(pairs):
        raise ValueError("duplicate axes are not allowed in tensordot")
    return (
        *(size for i, size in enumerate(left) if i not in dropped[0]),
        *(size for j, size in enumerate(right) if j not in dropped[1]),
    )


def kron(left: Shape, right: Shape) -> Shape:
    """Return the shape of a Kronecker product."""
    ndim = max(len(left), len(right))
    first: Shape = (*(1,) * (ndim - len(left)), *left)
    second: Shape = (*(1,) * (ndim - len(right)), *right)
    return tuple(None if a is None or b is None else a * b for a, b in zip(first, second, strict=True))


def cross(left: Shape, right: Shape, axis: int) -> Shape:
    """Return the shape of a cross product of vectors of three."""
    i, j = normalize_axis(axis, len(left)), normalize_axis(axis, len(right))
    if left[i] != 3 or right[j] != 3:
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {left[i]} and {right[j]} "
            "dimensional instead."
        )
    first = left[:i] + left[i + 1 :]
    second = right[:j] + right[j + 1 :]
    out = broadcast(first, second)
    position = normalize_axis(axis, len(out) + 1)
    return (*out[:position], 3, *out[position:])


def check_matrix(shape: Shape, square: bool = False) -> tuple[Size, Size]:
    """Return rows and columns; LinAlgError as numpy.linalg words it."""
    if len(shape) < 2:
        raise LinAlgError(f"{len(shape)}-dimensional array given. Array must be at least two-dimensional")
    rows, columns = shape[-2:]
    if square and rows != columns and rows is not None and columns is not None:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return rows, columns


def smaller(rows: Size, columns: Size) -> Size:
    """Return the smaller of two sizes, if both are known."""
    return None if rows is None or columns is None else min(rows, columns)


def svd(shape: Shape, full_matrices: bool) -> tuple[Shape, Shape, Shape]:
    """Return the shapes of U, S and Vh."""
    rows, columns = check_matrix(shape)
    rank = smaller(rows, columns)
    batch = shape[:-2]
    inner_u, inner_v = (rows, columns) if full_matrices else (rank, rank)
    return (*batch, rows, inner_u), (*batch, rank), (*batch, inner_v, columns)


def qr(shape: Shape, mode: str) -> tuple[Shape, Shape]:
    """Return the shapes of Q and R."""
    rows, columns = check_matrix(shape)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    rank = rows if mode == "complete" else smaller(rows, columns)
    batch = shape[:-2]
    return (*batch, rows, rank), (*batch, rank, columns)


def solve(matrix: Shape, right: Shape) -> Shape:
    """Return the shape of the solution: `right` is one vector, or a stack of matrices."""
    rows, columns = check_matrix(matrix, square=True)
    if not right:
        raise ValueError(
            "solve: Input operand 1 does not have enough dimensions (has 0, gufunc core with signature "
            "(m,m),(m,n)->(m,n) requires 2)"
        )
    if len(right) == 1:
        if right[0] != rows and rows is not None and right[0] is not None:
            raise ValueError(
                "solve1: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (m,m),(m)->(m) "
                f"(size {right[0]} is different from {rows})"
            )
        return (*matrix[:-2], columns)
    if right[-2] != rows and rows is not None and right[-2] is not None:
        raise ValueError(
            "solve: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (m,m),(m,n)->(m,n) "
            f"(size {right[-2]} is different from {rows})"
        )
    return (*_broadcast_batch(matrix, right), columns, right[-1])


def lstsq(matrix: Shape, right: Shape) -> tuple[Shape, Shape, Shape, Shape]:
    """Return the shapes of the solution, the residuals (known only by value), the rank and the singular values."""
    if len(matrix) != 2:
        raise LinAlgError(f"{len(matrix)}-dimensional array given. Array must be two-dimensional")
    if len(right) not in (1, 2):
        raise LinAlgError(f"{len(right)}-dimensional array given. Array must be two-dimensional")
    rows, columns = matrix
    if rows != right[0] and rows is not None and right[0] is not None:
        raise LinAlgError("Incompatible dimensions")
    return (columns, *right[1:]), (None,), (), (smaller(rows, columns),)


def multi_dot(shapes: Sequence[Shape]) -> Shape:
    """Return the shape of a chain of products."""
    if len(shapes) < 2:
        raise ValueError("Expecting at least two arrays.")
    for number, shape in enumerate(shapes):
        inside = 0 < number < len(shapes) - 1
        if len(shapes) > 2 and len(shape) != 2 and (inside or len(shape) != 1):
            raise LinAlgError(f"{len(shape)}-dimensional array given. Array must be two-dimensional")
    out = shapes[0]
    for shape in shapes[1:]:
        out = dot(out, shape)
    return out
