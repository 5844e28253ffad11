"""HTML pages and plots of `choose_k` and `compare`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.figures import FEW_COLORS, INK, new_figure, tidy
from coterie.reports.page import Bar, Column, Facts, Page, Part, Picture, Section, Table, Text, Warnings
from coterie.selection.compare import CRITERIA
from coterie.selection.criteria_by_k import Criterion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coterie.selection.choose_k import KChoice
    from coterie.selection.compare import Comparison

# Largest prominence that is drawn; at larger ones the density between the modes is practically zero.
_DEEPEST = 12.0

# Modes below the threshold that are drawn.
_LOW_MODES = 12


def choice_page(choice: KChoice, name: str, warnings: Sequence[str] = ()) -> Page:
    """Return the page of a choice of k; `name` is that of the data set, such as its file."""
    facts = choice.facts
    entries = [
        ("answer", choice.answer),
        ("modes on half samples", f"{choice.interval[0]} to {choice.interval[1]}"),
        ("rows of the sample", facts["sample_rows"]),
        ("principal directions", facts["directions"]),
        ("range of k", f"{facts['k_range'][0]} to {facts['k_range'][1]}"),
        ("seconds", facts["seconds"]),
    ]
    sections = [
        Section("Answer", [*map(Text, choice.reasons), Warnings(list(warnings)), Facts(entries)]),
        Section("Curves", [
            Picture(_drawn((6.4, 2.6), _draw_modes, choice), "modes", f"Modes of the density: {choice.answer}.",
                    "Prominence of each mode, and the threshold from data without clusters."),
            *_curve_parts(choice),
            *map(Text, (f"Not computed: {what}." for what in choice.left_out)),
        ]),
    ]  # fmt: skip
    title = f"Number of clusters in {name}: {choice.answer}"
    return Page(title, _subtitle(facts, "decided on"), sections)


def _curve_parts(choice: KChoice) -> list[Part]:
    """Return the plot and the table of the curves, if there are any."""
    if not choice.criteria:
        return []
    pictures = [
        Picture(
            _drawn((4.2, 2.6), _draw_curve, curve, choice.n_clusters),
            f"curve-{number}",
            f"Curve over k: {curve.title}.",
            curve.why,
            is_small=True,
        )
        for number, curve in enumerate(choice.criteria)
    ]
    curves = Table(
        "Choice of each criterion",
        [Column("criterion"), Column("k", True), Column("value", True), Column("90% interval")],
        [_curve_row(curve) for curve in choice.criteria],
        note="These criteria do not decide the answer: each favors clusters of one shape.",
    )
    explained = Text(
        "Each criterion over k with its 90% interval. Dot: its own choice of k. Dotted line: the answer."
    )
    return [explained, *pictures, curves]


def _curve_row(curve: Criterion) -> list[Any]:
    at = next((record for record in curve.records() if record["chosen"]), None)
    shown = [None, None] if at is None else [at["value"], f"{at['low']:.3g} to {at['high']:.3g}"]
    return [curve.title, "none" if curve.choice in (None, 1) else curve.choice, *shown]


def comparison_page(comparison: Comparison, name: str, warnings: Sequence[str] = ()) -> Page:
    """Return the page of a comparison; for the arguments see `choice_page`."""
    facts, records = comparison.facts, comparison.records
    names = [record["method"] for record in records]
    known = [score for score in ("accuracy", "nmi", "ari") if score in records[0]]
    slowest = max(record["seconds"] for record in records)
    entries = [
        ("recommended", comparison.recommended or "no clear winner"),
        ("confidence", comparison.confidence),
        ("clusters", facts["clusters"]),
        ("rows compared on", facts["sample_rows"]),
        ("budget, seconds", facts["budget"]),
        ("seconds", facts["seconds"]),
    ]
    scores = Table(
        "Scores, without known classes unless named",
        [
            Column("method"),
            *(Column(score, True) for score in (*CRITERIA, *known)),
        ],
        [
            [
                record["method"],
                *(_bar(record[score], records, score) for score in CRITERIA),
                *(record[score] for score in known),
            ]
            for record in records
        ],
    )
    sizes = Table(
        "Time, objective and cluster sizes",
        [
            Column("method"),
            Column("seconds", True),
            Column("objective"),
            *(Column(size, True) for size in ("value", "smallest", "median", "largest", "empty clusters")),
        ],
        [
            [
                record["method"],
                Bar(record["seconds"], record["seconds"] / slowest if slowest else 0.0),
                record["objective_name"],
                *(record[key] for key in ("objective", "smallest", "median", "largest", "clusters_lost")),
            ]
            for record in records
        ],
        note="Seconds of the fit. Objectives of different methods cannot be compared.",
    )
    agreement = Table(
        "Adjusted Rand index of any two methods",
        [Column("method"), *(Column(other, True) for other in names)],
        [
            [method, *(Bar(float(value), min(max(float(value), 0.0), 1.0)) for value in values)]
            for method, values in zip(names, comparison.agreement)
        ],
    )
    sections = [
        Section("Recommendation", [*map(Text, comparison.reasons), Warnings(list(warnings)), Facts(entries)]),
        Section("Methods", [scores, agreement, sizes]),
        Section(
            "Criteria",
            [
                *(Text(f"{name.capitalize()}: {sentence}.") for name, sentence in CRITERIA.items()),
                *(Text(f"Not compared: {what}.") for what in comparison.left_out),
            ],
        ),
    ]
    return Page(f"Methods for {name}", _subtitle(facts, "compared on"), sections)


def _bar(value: float | None, records: Sequence[dict[str, Any]], score: str) -> Any:
    """Return a score with a bar as long as its share of the best one."""
    best = np.nanmax([0.0, *(np.nan if record[score] is None else record[score] for record in records)])
    return value if value is None or not value > 0 else Bar(value, value / float(best))


def _subtitle(facts: dict[str, Any], use: str) -> str:
    subtitle = f"{facts['rows']:,} rows x {facts['columns']:,} columns"
    if facts["sample_rows"] == facts["rows"]:
        return subtitle
    return f"{subtitle}, {use} a sample of {facts['sample_rows']:,} rows"


# --- plots -----------------------------------------------------------------------------------------------------------


def plot_choice(choice: KChoice) -> Figure:
    """Draw the modes of the density and the curves over k."""
    n_rows = 1 + (len(choice.criteria) + 1) // 2
    figure = new_figure((9.0, 2.7 * n_rows))
    grid = figure.add_gridspec(n_rows, 2)
    _draw_modes(figure.add_subplot(grid[0, :]), choice)
    for number, curve in enumerate(choice.criteria):
        _draw_curve(figure.add_subplot(grid[1 + number // 2, number % 2]), curve, choice.n_clusters)
    return figure


def _drawn(size: tuple[float, float], draw: Callable[..., None], *arguments: Any) -> Figure:
    """Draw one plot alone, legible on a phone."""
    figure = new_figure(size)
    draw(figure.subplots(), *arguments)
    return figure


def _draw_modes(ax: Axes, choice: KChoice) -> None:
    found = int(choice.facts["modes"])
    low = choice.prominences[found : found + _LOW_MODES]
    falls = np.minimum([*choice.prominences[1:found], *low[low > 0]], _DEEPEST)
    numbers = np.arange(2, len(falls) + 2)
    colors = [FEW_COLORS[0] if number <= found else "#8C8C8C" for number in numbers]
    ax.bar(numbers, falls, color=colors, width=0.7)
    words = "threshold from data without clusters"
    ax.axhline(choice.threshold, color=FEW_COLORS[5], linewidth=1.4, label=words)
    # Bars fall to the right.
    ax.legend(loc="upper right", frameon=False, fontsize=8.5)
    ax.set(xlabel="mode of the density", ylabel="prominence (log density)", title=choice.answer)
    ax.set_ylim(bottom=0, top=max(1.25 * choice.threshold, 1.05 * float(falls.max(initial=0))) or 1.0)
    # One mode is a bar, not a block.
    ax.set_xlim(1.4, max(len(falls) + 1.6, 8))
    ax.locator_params(axis="x", integer=True)
    tidy(ax)


def _draw_curve(ax: Axes, curve: Criterion, n_clusters: int | None) -> None:
    ax.fill_between(curve.ks, curve.low, curve.high, color=FEW_COLORS[0], alpha=0.2, linewidth=0)
    ax.plot(curve.ks, curve.values, color=FEW_COLORS[0], linewidth=1.6)
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
        ax.axvline(n_clusters, color=FEW_COLORS[5], linewidth=1, linestyle=(0, (2, 2)))
    if curve.choice is not None and curve.choice in curve.ks:
        at = curve.values[curve.ks == curve.choice]
        ax.plot([curve.choice], at, marker="o", markersize=6, color=FEW_COLORS[5])
    chosen = "none" if curve.choice in (None, 1) else str(curve.choice)
    ax.set(xlabel="k", title=f"{curve.title}: {chosen}")
    ax.locator_params(axis="x", integer=True)
    ax.tick_params(colors=INK)
    tidy(ax)


def plot_comparison(comparison: Comparison) -> Figure:
    """Draw the scores of each method and the agreement of any two."""
    n_methods = len(comparison.records)
    figure = new_figure((10.0, 3.6 + 0.5 * n_methods))
    parts: Any = figure.subfigures(2, 1, height_ratios=(1, 1.2))
    above, below = parts
    _draw_scores(list(above.subplots(1, len(CRITERIA))), comparison)
    _draw_agreement(below.subplots(), comparison)
    return figure


def _draw_scores(panels: list[Axes], comparison: Comparison) -> None:
    names = [record["method"] for record in comparison.records]
    colors = [FEW_COLORS[5] if name == comparison.recommended else FEW_COLORS[0] for name in names]
    for number, name in enumerate(CRITERIA):
        ax = panels[number]
        ax.barh(names, [record[name] for record in comparison.records], color=colors, height=0.6)
        ax.set_title(name)
        ax.invert_yaxis()
        ax.locator_params(axis="x", nbins=4)
        ax.xaxis.set_major_formatter("{x:g}")
        tidy(ax)
        if number:
            ax.set_yticklabels([])


def _draw_agreement(ax: Axes, comparison: Comparison) -> None:
    names = [record["method"] for record in comparison.records]
    ax.imshow(comparison.agreement, vmin=0, vmax=1, cmap="Blues")
    for row, values in enumerate(comparison.agreement):
        for column, value in enumerate(values):
            ink = "white" if value > 0.6 else INK
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8.5, color=ink)
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.set_title("adjusted Rand index of any two methods")
    tidy(ax)
