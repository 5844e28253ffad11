"""Pictures of the paper's Figures 1 and 3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.nested.contenders import RHOS, setting_name
from benchmarks.nested.curves import RowCurves
from coterie.figures import new_figure

# After Okabe and Ito; bounds on are solid, off dashed.
TIME_COLORS = ("#d55e00", "#0072b2")
RHO_COLORS = ("#f0e442", "#e69f00", "#cc79a7", "#0072b2", "#000000")
DPI = 110


def _figure(n_lines: int, n_columns: int) -> tuple[Any, Any]:

    figure = new_figure((5.2 * n_columns, 3.9 * n_lines + 0.6))
    return figure, figure.subplots(n_lines, n_columns, squeeze=False)


def draw_thresholds(
    rows: Sequence[RowCurves],
    times: Sequence[float],
    excess_at: Callable[[RowCurves, str, float], list[float]],
) -> Callable[[Path], None]:
    """Return what draws a line of panels for Figure 3, excess against rho, and one for all curves with bounds."""

    def draw(path: Path) -> None:
        figure, axes = _figure(2, len(rows))
        for row, above, below in zip(rows, axes[0], axes[1]):
            _draw_excess(above, row, times, excess_at)
            _draw_curves(below, row)
        axes[0, 0].set_ylabel("held-out energy above the best, %")
        axes[1, 0].set_ylabel("held-out energy above the best, %")
        for line in axes:
            handles = {
                label: handle for axis in line for handle, label in zip(*axis.get_legend_handles_labels())
            }
            line[-1].legend(handles.values(), handles, fontsize=8)
        figure.savefig(path, dpi=DPI)

    return draw


def _draw_excess(
    axis: Any, row: RowCurves, times: Sequence[float], excess_at: Callable[..., list[float]]
) -> None:
    for seconds, color in zip(times, TIME_COLORS):
        for bounds, dash in (("auto", "-"), ("off", "--")):
            names = {rho: setting_name(rho, bounds) for rho in RHOS}
            shown = [rho for rho, name in names.items() if name in row.curves]
            values = [100 * mean(excess_at(row, names[rho], seconds)) for rho in shown]
            word = "on" if bounds == "auto" else "off"
            if shown:
                axis.plot(
                    shown, values, dash, marker="o", color=color, label=f"at {seconds:g} s, bounds {word}"
                )
    axis.set(xscale="log", title=row.title, xlabel="threshold rho")
    axis.set_ylim(bottom=0)


def _draw_curves(axis: Any, row: RowCurves) -> None:
    """Draw the curves of one kind of bounds: of the first seed, for they are of different lengths."""
    bounds = "auto" if setting_name(RHOS[0], "auto") in row.curves else "off"
    for rho, color in zip(RHOS, RHO_COLORS):
        fits = row.curves.get(setting_name(rho, bounds))
        if fits:
            seconds, energies = np.array(fits[0]).T
            axis.plot(seconds, 100 * (energies / row.best_energy - 1), color=color, label=f"rho = {rho:g}")
    axis.set(xscale="log", yscale="log", xlabel="seconds of the fit, first seed")
    axis.yaxis.set_major_formatter("{x:g}")


def draw_moves(
    moves: dict[str, list[float]], corners: Sequence[tuple[str, np.ndarray]]
) -> Callable[[Path], None]:
    """Return what draws the lengths of moves by round, and the moves of one centroid in an early and a late round.

    A corner is a title, and the old centroid, that of the sample and that of twice the sample, in their own plane.
    """

    def draw(path: Path) -> None:
        figure, axes = _figure(1, 1 + len(corners))
        for (name, lengths), color in zip(moves.items(), ("#0072b2", "#d55e00", "#009e73")):
            axes[0, 0].plot(1 + np.arange(len(lengths)), lengths, marker=".", color=color, label=name)
        axes[0, 0].set(yscale="log", xlabel="round on the same sample", ylabel="mean length")
        axes[0, 0].legend(fontsize=8)
        for axis, (title, points) in zip(axes[0, 1:], corners):
            _draw_corner(axis, points)
            axis.set_title(title, fontsize=10)
        figure.savefig(path, dpi=DPI)

    return draw


def _draw_corner(axis: Any, points: np.ndarray) -> None:
    for end, color, name in ((1, "#0072b2", "by b rows"), (2, "#d55e00", "by 2b rows")):
        axis.annotate("", points[end], points[0], arrowprops={"arrowstyle": "->", "color": color})
        axis.plot(*points[end], "o", color=color, label=name)
    axis.plot(*points[0], "o", color="black", label="before")
    axis.set_aspect("equal", adjustable="datalim")
    axis.margins(0.25)
    axis.legend(fontsize=8)
