"""Pictures and plots of expressions.

Every function takes a node, or a nest of nodes, of any kind. Text, SVG, HTML,
Graphviz and Mermaid need nothing else; plots need matplotlib and graphs
networkx (``pip install lazycache[plot]``).
"""

from lazycache.draw.circuitplot import plot_circuit
from lazycache.draw.formats import to_dot, to_mermaid, to_networkx
from lazycache.draw.graphplot import plot_graph
from lazycache.draw.historyplot import plot_history_functions, plot_history_size_footprint, plot_history_stats
from lazycache.draw.svg import to_html, to_svg
from lazycache.draw.tree import show_tree, tree_text

__all__ = [
    "plot_circuit",
    "plot_graph",
    "plot_history_functions",
    "plot_history_size_footprint",
    "plot_history_stats",
    "show_tree",
    "to_dot",
    "to_html",
    "to_mermaid",
    "to_networkx",
    "to_svg",
    "tree_text",
]
