"""Plots of fitted models. matplotlib is imported on use only.

Every function returns the matplotlib `Axes` or `Figure`, so that the caller can change, show or save it.
"""

from coterie.convex.plots import plot_path, plot_path_dendrogram
from coterie.density.plots import plot_condensed_tree
from coterie.figures import require_matplotlib
from coterie.plotting.cluster_map import cluster_map

__all__ = [
    "cluster_map",
    "plot_condensed_tree",
    "plot_path",
    "plot_path_dendrogram",
    "require_matplotlib",
]
