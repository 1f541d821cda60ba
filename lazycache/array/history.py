"""What a computation takes: numbers of nodes, sizes of intermediates, statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lazycache.array.infer.broadcasting import size_of
from lazycache.array.node import ArrayNode
from lazycache.expressions.nodes import Node
from lazycache.graph import ascend

if TYPE_CHECKING:
    from lazycache.array.lazyarray import LazyArray


def known_size(node: Node, in_bytes: bool = False) -> int | None:
    """Return the elements, or bytes, of a node's value; None where they are not known, or it is no array."""
    if not isinstance(node, ArrayNode) or getattr(node._function, "n_outputs", None):
        return None
    count = size_of(node._shape)
    if count is None or not in_bytes:
        return count
    itemsize: int | None = None if node._dtype is None else node._dtype.itemsize
    return None if itemsize is None else count * itemsize


def size(node: Node, in_bytes: bool = False) -> int:
    """Return the elements, or bytes, of a node's value as far as they are known."""
    return known_size(node, in_bytes) or 0


def footprint(order: Sequence[Node], include_inputs: bool = True, in_bytes: bool = False) -> list[int]:
    """Return the combined size of what is held at each step of a computation.

    Parameters
    ----------
    order : sequence of Node
        All that are computed, inputs first.
    include_inputs, in_bytes : bool
        See `History.history_size_footprint`.
    """
    uses = Counter(id(dep) for node in order for dep in node._deps)
    inputs = [node for node in order if not node._deps]
    present = sum(size(node, in_bytes) for node in inputs) if include_inputs else 0
    steps = [present]
    for node in order:
        if not node._deps:
            continue
        present += size(node, in_bytes)
        steps.append(present)
        for dep in reversed(node._deps):
            uses[id(dep)] -= 1
            if uses[id(dep)] == 0 and (include_inputs or dep._deps):
                present -= size(dep, in_bytes)
                steps.append(present)
    return steps


def function_name(node: Node) -> str:
    """Return the name of what a node calls; ``"None"`` for an input."""
    name = getattr(node, "fn_name", None) if isinstance(node, ArrayNode) else getattr(node._function, "name", "None")
    return str(name)


class History:
    """The methods of LazyArray that look at how it comes about."""

    __slots__ = ()

    def _history(self) -> list[Node]:
        return list(ascend(self))

    def history_num_nodes(self) -> int:
        """Return the number of nodes, inputs included."""
        return len(self._history())

    def history_max_size(self, in_bytes: bool = False) -> int:
        """Return the size of the largest single array, in elements or in bytes."""
        return max(size(node, in_bytes) for node in self._history())

    def history_size_footprint(self, include_inputs: bool = True, in_bytes: bool = False) -> list[int]:
        """Return the combined size of intermediates at each step of the computation.

        A step makes an array, or lets go of one that is not needed any more. What
        is not known (a size that depends on values, a value that is no lazy
        array) counts as nothing.

        Parameters
        ----------
        include_inputs : bool
            Count the inputs too: all are there at the beginning, and each is let go after its last use.
        in_bytes : bool
            Count bytes, of arrays whose dtype is known, instead of elements.

        Examples
        --------
        >>> import lazycache.array as lz
        >>> x = lz.Variable((4,))
        >>> (lz.sin(x) + 1.0).history_size_footprint()
        [4, 8, 4, 8, 4]
        """
        return footprint(self._history(), include_inputs, in_bytes)

    def history_peak_size(self, include_inputs: bool = True, in_bytes: bool = False) -> int:
        """Return the greatest combined size of intermediates at any step; see `history_size_footprint`.

        Examples
        --------
        >>> import lazycache.array as lz
        >>> x = lz.Variable((100, 100), dtype="f8")
        >>> (x @ x).sum().history_peak_size(), (x @ x).sum().history_peak_size(in_bytes=True)
        (20000, 160000)
        """
        return max(self.history_size_footprint(include_inputs, in_bytes))

    def history_total_size(self, in_bytes: bool = False) -> int:
        """Return the combined size of all arrays, as back-propagation would keep them."""
        return sum(size(node, in_bytes) for node in self._history())

    def history_stats(self, fn: Callable[[LazyArray], float] | str) -> dict[str, Any]:
        """Return a sum over the nodes of each function.

        Parameters
        ----------
        fn : callable or str
            What is summed: a function of a node, or ``"count"``, ``"sizein"``,
            ``"sizeout"``, ``"bytesin"``, ``"bytesout"``.

        Returns
        -------
        dict
            From the names of functions to sums; ``"None"`` stands for inputs.

        Examples
        --------
        >>> import lazycache.array as lz
        >>> x = lz.Variable((4, 3))
        >>> y = (x @ x.T).sum() + x[0, 0]
        >>> y.history_stats("count")
        {'None': 1, 'permute_dims': 1, 'matmul': 1, 'sum': 1, 'getitem': 1, 'add': 1}
        >>> y.history_stats(lambda node: node.size)["matmul"]
        16
        """
        count = statistic(fn)
        stats: dict[str, Any] = {}
        for node in self._history():
            name = function_name(node)
            stats[name] = stats.get(name, 0) + count(node)
        return stats

    def history_fn_frequencies(self) -> dict[str, int]:
        """Return how often each function is called; ``"None"`` stands for inputs."""
        return self.history_stats("count")


def statistic(fn: Callable[[Any], Any] | str) -> Callable[[Any], Any]:
    """Return the function of a node that a name stands for, or the function that is given."""
    if not isinstance(fn, str):
        return fn
    if fn not in STATISTICS:
        raise ValueError(f"fn is {fn!r}, expected a function or one of {', '.join(map(repr, STATISTICS))}")
    return STATISTICS[fn]


STATISTICS: dict[str, Callable[[Any], float]] = {
    "count": lambda _: 1,
    "sizein": lambda node: sum(size(dep) for dep in node._deps),
    "sizeout": size,
    "bytesin": lambda node: sum(size(dep, True) for dep in node._deps),
    "bytesout": lambda node: size(node, True),
}
