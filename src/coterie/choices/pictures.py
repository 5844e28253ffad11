"""Pictures of what speaks for a number of clusters, or for a method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.choices.criteria import CRITERIA
from coterie.figures import FEW_COLOURS, INK, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coterie.choices.by_k import Criterion
    from coterie.choices.choose import KChoice
    from coterie.choices.comparison import Comparison

__all__ = [
    "plot_choice", "plot_comparison", "plot_criteria", "plot_criteria_of", "plot_modes_of", "plot_stability",
]  # fmt: skip

# Falls of the density that are larger than this look alike: nothing lies between.
_DEEPEST = 12.0

# Modes beyond those that stand out that are drawn.
_LOW_MODES = 12


def plot_choice(choice: KChoice) -> Figure:
    """Draw the modes of the density and the curves over k, with their intervals and what each would take.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    n_rows = 1 + (len(choice.criteria) + 1) // 2
    figure = new_figure((9.0, 2.7 * n_rows))
    grid = figure.add_gridspec(n_rows, 2)
    _draw_modes(figure.add_subplot(grid[0, :]), choice)
    for number, curve in enumerate(choice.criteria):
        _draw_curve(figure.add_subplot(grid[1 + number // 2, number % 2]), curve, choice.n_clusters)
    return figure


def plot_modes_of(choice: KChoice) -> Figure:
    """Draw the modes alone, as wide as can be read on a phone."""
    figure = new_figure((6.4, 2.6))
    _draw_modes(figure.subplots(), choice)
    return figure


def plot_criteria_of(choice: KChoice) -> Figure:
    """Draw the curves over k alone, in two columns."""
    n_rows = (len(choice.criteria) + 1) // 2
    figure = new_figure((6.4, 2.3 * n_rows))
    for number, curve in enumerate(choice.criteria):
        _draw_curve(figure.add_subplot(n_rows, 2, number + 1), curve, choice.n_clusters)
    return figure


def _draw_modes(ax: Axes, choice: KChoice) -> None:
    found = int(choice.facts["modes"])
    low = choice.prominences[found : found + _LOW_MODES]
    falls = np.minimum([*choice.prominences[1:found], *low[low > 0]], _DEEPEST)
    numbers = np.arange(2, len(falls) + 2)
    colours = [FEW_COLOURS[0] if number <= found else "#8C8C8C" for number in numbers]
    ax.bar(numbers, falls, color=colours, width=0.7)
    words = "above this: more than in data without clusters"
    ax.axhline(choice.threshold, color=FEW_COLOURS[5], linewidth=1.4, label=words)
    # Bars fall to the right.
    ax.legend(loc="upper right", frameon=False, fontsize=8.5)
    ax.set(xlabel="mode of the density", ylabel="fall (natural log)", title=choice.answer)
    ax.set_ylim(bottom=0, top=max(1.25 * choice.threshold, 1.05 * float(falls.max(initial=0))))
    ax.locator_params(axis="x", integer=True)
    tidy(ax)


def _draw_curve(ax: Axes, curve: Criterion, n_clusters: int | None) -> None:
    ax.fill_between(curve.ks, curve.low, curve.high, color=FEW_COLOURS[0], alpha=0.2, linewidth=0)
    ax.plot(curve.ks, curve.values, color=FEW_COLOURS[0], linewidth=1.6)
    if curve.chance is not None:
        ax.plot(
            curve.ks,
            curve.chance,
            color="#777777",
            linewidth=1.1,
            linestyle=(0, (4, 2)),
            label="without clusters",
        )
        ax.legend(frameon=False, fontsize=8.5)
    if n_clusters is not None and curve.ks[0] <= n_clusters <= curve.ks[-1]:
        ax.axvline(n_clusters, color=FEW_COLOURS[5], linewidth=1, linestyle=(0, (2, 2)))
    if curve.choice is not None and curve.choice in curve.ks:
        at = curve.values[curve.ks == curve.choice]
        ax.plot([curve.choice], at, marker="o", markersize=6, color=FEW_COLOURS[5])
    takes = "none" if curve.choice in (None, 1) else str(curve.choice)
    ax.set(xlabel="k", title=f"{curve.title}: {takes}")
    ax.locator_params(axis="x", integer=True)
    ax.tick_params(colors=INK)
    tidy(ax)


def plot_comparison(comparison: Comparison) -> Figure:
    """Draw stability with its intervals, the agreement of the methods, seconds, and each criterion.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    records = comparison.records
    names = [record["method"] for record in records]
    figure = new_figure((10.0, 5.0 + 0.35 * len(names)))
    parts: Any = figure.subfigures(2, 1, height_ratios=(1.3, 1))
    above, below = parts
    left, right = above.subplots(1, 2)
    _draw_stability(left, comparison)
    _draw_agreement(right, comparison, names)
    _draw_criteria(list(below.subplots(1, len(CRITERIA))), comparison, len(CRITERIA))
    return figure


def plot_stability(comparison: Comparison) -> Figure:
    """Draw stability with its intervals, as wide as a page is on a phone."""
    figure = new_figure((6.4, 1.2 + 0.32 * len(comparison.records)))
    _draw_stability(figure.subplots(), comparison)
    return figure


def plot_criteria(comparison: Comparison) -> Figure:
    """Draw the criteria in two columns."""
    figure = new_figure((6.4, 2.2 + 0.5 * len(comparison.records)))
    _draw_criteria(list(figure.subplots(-(-len(CRITERIA) // 2), 2).ravel()), comparison, 2)
    return figure


def _draw_criteria(panels: list[Axes], comparison: Comparison, n_columns: int) -> None:
    names = [record["method"] for record in comparison.records]
    colours = [FEW_COLOURS[5] if found == comparison.recommended else FEW_COLOURS[0] for found in names]
    for number, (name, sentence) in enumerate(CRITERIA.items()):
        ax = panels[number]
        ax.barh(names, [record[name] for record in comparison.records], color=colours, height=0.6)
        ax.set_title(name.replace("_", " "))
        ax.set_xlabel(sentence.partition(": ")[2].replace(", and", ",\nand"), fontsize=7.5)
        ax.invert_yaxis()
        # A factor for all ticks would stand on the words below.
        ax.locator_params(axis="x", nbins=4)
        ax.xaxis.set_major_formatter("{x:g}")
        tidy(ax)
        if number % n_columns:
            ax.set_yticklabels([])


def _draw_stability(ax: Axes, comparison: Comparison) -> None:
    for number, record in enumerate(comparison.records):
        if record["stability"] is None:
            continue
        is_chosen = record["method"] == comparison.recommended
        colour = FEW_COLOURS[5] if is_chosen else FEW_COLOURS[0]
        ax.plot(
            [record["stability_low"], record["stability_high"]], [number, number], color=colour, linewidth=2.2
        )
        ax.plot([record["stability"]], [number], marker="o", color=colour, markersize=6)
    ax.set_yticks(range(len(comparison.records)))
    ax.set_yticklabels([f"{record['method']}, {record['seconds']:.3g} s" for record in comparison.records])
    ax.invert_yaxis()
    ax.set_xlim(right=1.02)
    ax.set(xlabel="ARI of halves of the rows, on the rows that both have", title="stability")
    ax.grid(axis="x", color="#DDDDDD", linewidth=0.8)
    tidy(ax)


def _draw_agreement(ax: Axes, comparison: Comparison, names: list[str]) -> None:
    ax.imshow(comparison.agreement, vmin=0, vmax=1, cmap="Blues")
    for row, values in enumerate(comparison.agreement):
        for column, value in enumerate(values):
            ink = "white" if value > 0.6 else INK
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8.5, color=ink)
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.set_title("agreement (ARI)")
    tidy(ax)
