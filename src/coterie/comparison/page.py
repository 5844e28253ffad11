"""HTML page and plot of `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from coterie.arrays import IntArray
from coterie.comparison.scores import CRITERIA
from coterie.figures import new_figure, style_of
from coterie.plotting.layout import Layout, lay_out
from coterie.reports.page import Bar, Cell, Column, Facts, Page, Picture, Section, Table, Text, Warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coterie.comparison.compare import Comparison


def comparison_page(comparison: Comparison, name: str, warnings: Sequence[str] = ()) -> Page:
    """Return the page of a comparison; `name` is that of the data set, such as its file."""
    facts, records = comparison.facts, comparison.records
    layout = _layout(comparison)
    maps = [
        Picture(
            _map_alone(comparison, layout, record),
            f"map-{number}",
            f"Map of {len(layout.points):,} rows, colored by the {record['clusters']} clusters of {record['method']}.",
            f"{_marked(comparison, record)}, score {record['score']:.2f}",
            is_raster=True,
            is_small=True,
        )
        for number, record in enumerate(records)
    ]
    known = [score for score in ("accuracy", "nmi", "ari") if score in records[0]]
    table = Table(
        "Scores (higher is better), sizes of clusters, and seconds of the fits",
        [
            Column("method"),
            *(Column(name, True) for name in CRITERIA),
            *(Column({"nmi": "NMI", "ari": "ARI"}.get(name, name), True) for name in known),
            Column("smallest, median, largest", True),
            Column("seconds", True),
        ],
        [
            [
                _marked(comparison, record),
                *(_bar(record[score]) for score in CRITERIA),
                *(f"{record[score]:.2f}" for score in known),
                ", ".join(f"{record[size]:,}" for size in ("smallest", "median", "largest")),
                f"{record['seconds']:.2f}",
            ]
            for record in records
        ],
        note="Known classes (accuracy, NMI, ARI) do not influence the scores." if known else "",
        is_stacked=True,
    )
    entries: list[tuple[str, Cell]] = [
        ("recommended", comparison.recommended or "none"),
        ("confidence", comparison.confidence),
        ("clusters", facts["clusters"]),
        ("rows compared on", facts["sample_rows"]),
    ]
    caption = f"{len(layout.points):,} rows, by {layout.method}; the same map for each method."
    sections = [
        Section("Answer", [*map(Text, comparison.reasons), Warnings(list(warnings)), Facts(entries)]),
        Section("Maps", [Text(f"{caption} Matching clusters have the same color."), *maps]),
        Section("Methods", [table, *map(Text, comparison.differences)]),
        Section(
            "Criteria",
            [
                *(Text(f"{name.capitalize()}: {sentence}.") for name, sentence in CRITERIA.items()),
                *(Text(f"Not compared: {what}.") for what in comparison.left_out),
            ],
        ),
    ]
    subtitle = f"{facts['rows']:,} rows x {facts['columns']:,} columns"
    if facts["sample_rows"] < facts["rows"]:
        subtitle += f", compared on a random sample of {facts['sample_rows']:,} rows"
    return Page(f"Methods for {name}", subtitle, sections)


def _layout(comparison: Comparison) -> Layout:
    _, block = comparison._drawn
    metric = str(getattr(comparison.best_model_, "metric", "euclidean"))
    return lay_out(block, metric=metric)


def _map_alone(comparison: Comparison, layout: Layout, record: dict[str, Any]) -> Figure:
    figure = new_figure((3.0, 2.7))
    _draw_map(figure.subplots(), comparison, layout, record)
    return figure


def _draw_map(ax: Axes, comparison: Comparison, layout: Layout, record: dict[str, Any]) -> None:
    drawn, _ = comparison._drawn
    best, own = comparison.best_model_.labels_, comparison.models[record["method"]].labels_
    labels = _numbered_like(np.asarray(best), np.asarray(own))[drawn]
    count = int(labels.max(initial=0)) + 1
    for cluster in range(count):
        color, shape = style_of(cluster, count)
        points = layout.points[labels == cluster]
        ax.scatter(points[:, 0], points[:, 1], s=5, c=color, marker=shape, linewidths=0, alpha=0.75)
    ax.set(xticks=[], yticks=[])
    is_best = record["method"] == comparison.best
    for spine in ax.spines.values():
        spine.set(color="#D55E00" if is_best else "#CCCCCC", linewidth=2.5 if is_best else 0.8)


def _numbered_like(best: IntArray, own: IntArray) -> IntArray:
    """Return labels under the numbers of the matching clusters of the best method."""
    counts = np.zeros((int(own.max()) + 1, max(int(best.max()), int(own.max())) + 1), dtype=np.int64)
    np.add.at(counts, (own, best), 1)
    return np.asarray(linear_sum_assignment(counts, maximize=True)[1][own], dtype=np.int32)


def _marked(comparison: Comparison, record: dict[str, Any]) -> str:
    name = str(record["method"])
    if name != comparison.best:
        return name
    return f"{name} ({'recommended' if comparison.recommended else 'highest score'})"


def _bar(value: float) -> Bar | str:
    return Bar(f"{value:.2f}", min(value, 1.0)) if value > 0 else f"{value:.2f}"
