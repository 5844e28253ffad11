"""Pictures of the paper's figures: paths of centroids by class, a graph, and box plots of seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.convex.paper_data import Known
from coterie.figures import new_figure

# Colors that also the color-blind tell apart (after Okabe and Ito).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")

Panel = tuple[str, Known, Any]  # title, rows, fitted path


def draw_panels(panels: Sequence[Panel], n_columns: int, named: Sequence[str], path: Path) -> None:
    """Draw the paths of centroids, each panel on the first two principal components of its rows.

    The rows that are `named` have their names beside them; a single "*" is all of them.
    """
    n_lines = -(-len(panels) // n_columns)
    figure = new_figure((5.2 * n_columns, 4.2 * n_lines))
    axes = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axis, (title, known, fitted) in zip(axes, panels):
        _draw_paths(axis, known, fitted, named)
        axis.set_title(title, fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 3 * n_columns))
    figure.savefig(path, dpi=110)


def _draw_paths(axis: Any, known: Known, fitted: Any, named: Sequence[str]) -> None:
    from matplotlib.collections import LineCollection

    mean, axes = _principal_plane(known.rows)
    curves = ((fitted.centroids_path_ - mean) @ axes).transpose(1, 0, 2)
    classes = np.zeros(len(curves), dtype=int) if known.classes is None else known.classes
    colors = np.array(COLORS)[classes] if known.classes is not None else np.full(len(curves), COLORS[0])
    axis.add_collection(LineCollection(list(curves), colors=colors, linewidths=0.8, alpha=0.55))
    for label, name in enumerate(known.class_names or ("",)):
        own = curves[classes == label, 0]
        axis.scatter(*own.T, s=16, color=COLORS[label], linewidths=0, zorder=2, label=name or None)
    _draw_ends(axis, curves)
    for at, name in known.names.items():
        if name in named or "*" in named:
            place = {"xytext": (3, 3), "textcoords": "offset points", "fontsize": 7, "zorder": 4}
            axis.annotate(name, curves[at, 0], color=colors[at], **place)
    axis.autoscale_view()
    axis.margins(0.08)
    axis.set(xlabel="first principal component", ylabel="second principal component")


def _draw_ends(axis: Any, curves: np.ndarray) -> None:
    """Mark where the centroids are in the end."""
    ends = np.unique(np.round(curves[:, -1], 9), axis=0)
    axis.scatter(*ends.T, s=60, color="white", edgecolors="black", linewidths=1.4, zorder=3)


def _principal_plane(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the two directions of greatest variance, signs so that they do not depend on chance."""
    mean = rows.mean(axis=0)
    axes = np.linalg.svd(rows - mean, full_matrices=False)[2][:2].T
    return mean, axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])


def draw_graph(rows: np.ndarray, fitted: Any, path: Path) -> None:
    """Draw a graph with numbered nodes, and where its centroids go."""
    figure = new_figure((5.2, 4.2))
    axis = figure.subplots()
    for head, tail in fitted.edges_:
        axis.plot(*rows[[head, tail]].T, color="#777777", linewidth=1, linestyle=":")
    curves = fitted.centroids_path_.transpose(1, 0, 2)
    for curve in curves:
        axis.plot(*curve.T, color=COLORS[0], linewidth=1.5)
    axis.scatter(*rows.T, s=300, color="white", edgecolors="black", zorder=2)
    for at, row in enumerate(rows):
        axis.annotate(str(at + 1), row, ha="center", va="center", zorder=3)
    _draw_ends(axis, curves)
    axis.margins(0.15)
    axis.set_title("edges dotted, centroids blue, their limits white", fontsize=10)
    figure.savefig(path, dpi=110)
