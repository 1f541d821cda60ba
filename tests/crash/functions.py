"""A function in a file of its own, whose text nobody has read yet."""

from lazycache import pure


@pure(version=1, name="crash.late")
def late(n: int) -> int:
    return n * 2
