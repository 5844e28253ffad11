"""The picture of time-energy curves."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.nested.curves import LEVELS, RowCurves
from coterie.figures import new_figure

LEAST_EXCESS = 1e-4  # what lies below is drawn there
# Colors that also the color-blind tell apart (after Okabe and Ito, and Tol). Ours are solid, peers dashed.
STYLES = {
    "coterie nested": ("#d55e00", "-"),
    "coterie nested, k-means++": ("#e69f00", "-"),
    "coterie mini-batch": ("#009e73", "-"),
    "coterie mini-batch, no reassignment": ("#b15928", "-"),
    "coterie lloyd": ("#0072b2", "-"),
    "coterie yinyang": ("#56b4e9", "-"),
    "scikit-learn mini-batch, partial_fit": ("#117733", "--"),
    "scikit-learn mini-batch, fit": ("#999933", "--"),
    "faiss, 256 rows per centroid": ("#cc79a7", "--"),
    "faiss, all rows": ("#882255", "--"),
    "superkmeans, all rows": ("#000000", "--"),
}
OTHER_STYLE = ("#555555", ":")


def draw(rows: Sequence[RowCurves], path: Path) -> None:
    """Draw one panel per data row: the median excess over the seeds against seconds, with its range as a band."""
    n_columns = min(3, len(rows)) if len(rows) != 4 else 2
    n_lines = ceil(len(rows) / n_columns)
    figure = new_figure((max(7.0, 5.2 * n_columns), 4.0 * n_lines + 1.1))
    axes = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axis, row in zip(axes, rows):
        _draw_row(axis, row)
    for axis in axes[len(rows) :]:
        axis.set_axis_off()
    for axis in axes[::n_columns]:
        axis.set_ylabel("validation energy above the best, %")
    handles = {label: h for axis in axes for h, label in zip(*axis.get_legend_handles_labels())}
    shown = [name for name in (*STYLES, *(set(handles) - set(STYLES))) if name in handles]
    figure.legend(
        [handles[name] for name in shown], shown, loc="outside lower center", ncols=min(4, 2 * n_columns)
    )
    figure.savefig(path, dpi=110)


def _draw_row(axis: Any, row: RowCurves) -> None:
    for level in LEVELS:
        axis.axhline(100 * level, color="#bbbbbb", linewidth=0.8, zorder=0)
    highest = 0.0
    for name in row.curves:
        seconds, excess = _on_grid(row, name)
        color, dash = STYLES.get(name, OTHER_STYLE)
        middle = 100 * np.median(excess, axis=0)
        width = 2.4 if name == "coterie nested" else 1.5
        axis.plot(seconds, middle, dash, color=color, linewidth=width, label=name)
        axis.plot(seconds[-1], middle[-1], "o", color=color, markersize=5)  # where it ended
        low, high = 100 * excess.min(axis=0), 100 * excess.max(axis=0)
        axis.fill_between(seconds, low, high, color=color, alpha=0.12, linewidth=0)
        highest = max(highest, float(middle[0]))
    axis.set(xscale="log", yscale="log", title=row.title, xlabel="seconds of the fit")
    axis.set_ylim(80 * LEAST_EXCESS, min(2 * highest, 200))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.grid(axis="x", color="#eeeeee", linewidth=0.8)


def _on_grid(row: RowCurves, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return common seconds and the excess of every seed at them: that of its last point before.

    From the median of the first seconds to that of the last; what is a single point stays one.
    """
    curves = [np.array(curve).T for curve in row.curves[name]]
    begin = median(seconds[0] for seconds, _ in curves)
    end = max(begin, median(seconds[-1] for seconds, _ in curves))
    grid = np.geomspace(begin, end, 200 if any(len(seconds) > 1 for seconds, _ in curves) else 1)
    places = [np.searchsorted(seconds, grid * (1 + 1e-9), side="right") - 1 for seconds, _ in curves]
    held = [energies[np.maximum(at, 0)] for (_, energies), at in zip(curves, places)]
    return grid, np.maximum(np.array(held) / row.best_energy - 1, LEAST_EXCESS)
