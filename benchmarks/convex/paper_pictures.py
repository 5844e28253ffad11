"""Pictures of the paper's figures: paths of centroids by class, a graph, and box plots of seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.convex.paper_data import Known
from coterie.figures import new_figure

# Colors that also the color-blind tell apart (after Okabe and Ito).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GRAY = "#777777"
DPI = 110

Panel = tuple[str, Known, Any]  # title, rows, fitted path


def _figure(n_lines: int, n_columns: int, height: float = 4.2, width: float = 5.2) -> tuple[Any, Any]:

    figure = new_figure((width * n_columns, height * n_lines))
    return figure, figure.subplots(n_lines, n_columns, squeeze=False)


def draw_panels(panels: Sequence[Panel], n_columns: int, named: Sequence[str] = ()) -> Callable[[Path], None]:
    """Return what draws the paths of centroids, each panel on the first two principal components of its rows.

    The rows that are `named` have their names beside them; a single "*" is all of them.
    """

    def draw(path: Path) -> None:
        figure, axes = _figure(-(-len(panels) // n_columns), n_columns)
        for axis, (title, known, fitted) in zip(axes.ravel(), panels):
            _draw_paths(axis, known, fitted, named)
            axis.set_title(title, fontsize=10)
        handles, labels = axes.ravel()[0].get_legend_handles_labels()
        if labels:
            figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 3 * n_columns))
        figure.savefig(path, dpi=DPI)

    return draw


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
            axis.annotate(
                name,
                curves[at, 0],
                xytext=(3, 3),
                textcoords="offset points",
                fontsize=7,
                color=colors[at],
                zorder=4,
            )
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


def draw_graph(rows: np.ndarray, fitted: Any) -> Callable[[Path], None]:
    """Return what draws a graph with numbered nodes, and where its centroids go."""

    def draw(path: Path) -> None:
        figure, axes = _figure(1, 1)
        axis = axes[0, 0]
        for head, tail in fitted.edges_:
            axis.plot(*rows[[head, tail]].T, color=GRAY, linewidth=1, linestyle=":")
        curves = fitted.centroids_path_.transpose(1, 0, 2)
        for curve in curves:
            axis.plot(*curve.T, color=COLORS[0], linewidth=1.5)
        axis.scatter(*rows.T, s=300, color="white", edgecolors="black", zorder=2)
        for at, row in enumerate(rows):
            axis.annotate(str(at + 1), row, ha="center", va="center", zorder=3)
        _draw_ends(axis, curves)
        axis.margins(0.15)
        axis.set_title("edges dotted, centroids blue, their limits white", fontsize=10)
        figure.savefig(path, dpi=DPI)

    return draw


def draw_boxes(
    seconds: Mapping[str, Mapping[int, Sequence[float]]], published: Mapping[str, Sequence[float]], title: str
) -> Callable[[Path], None]:
    """Return what draws box plots of the square root of seconds, as the paper does, with its means as crosses.

    `seconds` has the replicates by solver and number of rows, `published` the mean seconds for 100, 200, ... rows.
    """

    def draw(path: Path) -> None:
        figure, axes = _figure(1, 1, height=5.4, width=7.6)
        axis = axes[0, 0]
        width = 70 / len(seconds)
        for number, (solver, by_size) in enumerate(seconds.items()):
            color = COLORS[number % len(COLORS)]
            shift = width * (number - (len(seconds) - 1) / 2)
            axis.boxplot(
                [np.sqrt(values) for values in by_size.values()], positions=[n + shift for n in by_size],
                widths=0.8 * width, patch_artist=True, manage_ticks=False, label=f"ours, {solver}",
                boxprops={"facecolor": color, "edgecolor": color}, medianprops={"color": "white"},
                whiskerprops={"color": color}, capprops={"color": color},
                flierprops={"marker": ".", "markeredgecolor": color},
            )  # fmt: skip
        for (name, means), mark in zip(published.items(), "xv+"):
            sizes = 100 * np.arange(1, len(means) + 1)
            axis.plot(sizes, np.sqrt(means), mark, color="black", label=f"published mean, {name}")
        axis.set(yscale="log", xlabel="rows", ylabel="square root of seconds", title=title)
        axis.set_xticks(100 * np.arange(1, 6))
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
        figure.savefig(path, dpi=DPI)

    return draw
