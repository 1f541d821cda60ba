"""What a lazy array can draw of itself: methods that lead to `lazycache.draw`."""

from __future__ import annotations

from typing import Any

from lazycache.expressions.nodes import drawing


class Drawn:
    """The drawing methods of a lazy array: the functions of `lazycache.draw`, which tell all parameters."""

    __slots__ = ()

    def show(self, filler: str = " ", max_lines: int | None = None, max_depth: int | None = None) -> None:
        """Print the computation as a nested directory: each node once, later ones refer to its line.

        Parameters
        ----------
        filler : str
            What indentation is made of.
        max_lines, max_depth : int, optional
            Where to stop; ``…`` stands for the rest.

        Examples
        --------
        >>> import lazycache.array as lz
        >>> x = lz.Variable((2, 3))
        >>> (x @ x.T).show()
           0 □ @ □ → (2, 2)
           1 ├─← Variable (2, 3)
           2 ╰─permute_dims(□, (1, 0)) → (3, 2)
           3   ╰─… line 1
        """
        drawing("show_tree")(self, filler, max_lines, max_depth)

    def plot_graph(self, color_by: str = "function", **options: Any) -> Any:
        """Draw the graph of the computation; return figure and axes.

        Parameters
        ----------
        color_by : {"function", "variable", "size", "seconds", "cached"}
        **options
            Those of `lazycache.draw.plot_graph`: ``variables``, ``cache``,
            ``colors``, ``max_nodes``, ``legend``, ``figsize`` and ``ax``.

        Examples
        --------
        >>> import lazycache.array as lz
        >>> x = lz.Variable((2, 3))
        >>> figure, axes = (x @ x.T).plot_graph("size")
        >>> figure.savefig("graph.png")  # doctest: +SKIP
        """
        return drawing("plot_graph")(self, color_by, **options)

    def plot_circuit(self, color_by: str = "function", **options: Any) -> Any:
        """Draw which arrays are held at each step; return figure and axes.

        Parameters
        ----------
        color_by : {"function", "variable", "size", "seconds", "cached"}
        **options
            Those of `lazycache.draw.plot_circuit`, which are those of `plot_graph`.
        """
        return drawing("plot_circuit")(self, color_by, **options)

    def plot_history_size_footprint(self, log: Any = None, include_inputs: bool = True, **options: Any) -> Any:
        """Plot the combined size of the arrays that are held at each step; return figure and axes.

        Parameters
        ----------
        log : float or bool, optional
            The base of a logarithmic axis; True is 10.
        include_inputs : bool
        **options
            Those of `lazycache.draw.plot_history_size_footprint`: ``in_bytes``,
            ``color``, ``figsize`` and ``ax``.
        """
        return drawing("plot_history_size_footprint")(self, log, include_inputs, **options)

    def plot_history_functions(self, fn: Any = None, log: Any = None, **options: Any) -> Any:
        """Plot a number for each step, by function; return figure and axes.

        Parameters
        ----------
        fn : callable or str, optional
            A function of a node, or a name that `history_stats` knows; by default
            the elements of its array.
        log : float or bool, optional
            The base of a logarithmic axis; True is 10.
        **options
            Those of `lazycache.draw.plot_history_functions`: ``kind`` (one of
            "scatter", "lines" and "image"), ``image``, ``colors``, ``legend``,
            ``figsize`` and ``ax``.
        """
        return drawing("plot_history_functions")(self, fn, log, **options)

    def plot_history_stats(self, fn: Any = "count", **options: Any) -> Any:
        """Plot what `history_stats` returns as bars; return figure and axes.

        Parameters
        ----------
        fn : callable or str
        **options
            Those of `lazycache.draw.plot_history_stats`: ``colors``, ``log``,
            ``figsize`` and ``ax``.
        """
        return drawing("plot_history_stats")(self, fn, **options)
