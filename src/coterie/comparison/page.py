"""HTML page and plot of `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.comparison.compare import CRITERIA
from coterie.figures import FEW_COLORS, INK, new_figure, tidy
from coterie.reports.page import Bar, Column, Facts, Page, Section, Table, Text, Warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coterie.comparison.compare import Comparison


def comparison_page(comparison: Comparison, name: str, warnings: Sequence[str] = ()) -> Page:
    """Return the page of a comparison; `name` is that of the data set, such as its file."""
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
