"""What a lazy array can draw of itself: methods that lead to `lazycache.draw`."""

from __future__ import annotations

from typing import Any

from lazycache.nodes import drawing


class Drawn:
    """The drawing methods of a lazy array; see `lazycache.draw` for their parameters."""

    __slots__ = ()

    def show(self, filler: str = " ", max_lines: int | None = None, max_depth: int | None = None) -> None:
        """Print the computation as a nested directory: each node once, later ones refer to its line."""
        drawing("show_tree")(self, filler, max_lines, max_depth)

    def plot_graph(self, **options: Any) -> Any:
        """Draw the graph of the computation; return figure and axes."""
        return drawing("plot_graph")(self, **options)

    def plot_circuit(self, **options: Any) -> Any:
        """Draw the computation as a circuit; return figure and axes."""
        return drawing("plot_circuit")(self, **options)

    def plot_history_size_footprint(self, **options: Any) -> Any:
        """Plot the memory that the computation needs at each step; return figure and axes."""
        return drawing("plot_history_size_footprint")(self, **options)

    def plot_history_functions(self, **options: Any) -> Any:
        """Plot the functions of the computation in order; return figure and axes."""
        return drawing("plot_history_functions")(self, **options)

    def plot_history_stats(self, **options: Any) -> Any:
        """Plot aggregate statistics by function; return figure and axes."""
        return drawing("plot_history_stats")(self, **options)
