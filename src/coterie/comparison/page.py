"""HTML page of `compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from coterie.arrays import IntArray
from coterie.comparison.scores import CRITERIA
from coterie.figures import new_figure, style_of
from coterie.plotting.layout import lay_out
from coterie.reports.page import Bar, Cell, Column, Facts, Page, Part, Picture, Section, Table, Text, Warnings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from coterie.arrays import FloatArray
    from coterie.comparison.compare import Comparison


def comparison_page(comparison: Comparison, name: str, warnings: Sequence[str] = ()) -> Page:
    """Return the page of a comparison; `name` is that of the data set, such as its file."""
    facts, records = comparison.facts, comparison.records
    chosen, block = comparison._drawn
    layout = lay_out(block, metric=str(getattr(comparison.best_model_, "metric", "euclidean")))
    best = np.asarray(comparison.best_model_.labels_)
    titles, maps = {}, []
    for number, record in enumerate(records):
        method = titles[number] = str(record["method"])
        labels = _numbered_like(best, np.asarray(comparison.models[method].labels_))[chosen]
        is_best = method == comparison.best
        if is_best:
            titles[number] += f" ({'recommended' if comparison.recommended else 'highest score'})"
        figure = _map(layout.points, labels, is_best)
        words = f"Map of {len(chosen):,} rows, colored by the {record['clusters']} clusters of {method}."
        caption = f"{titles[number]}, score {record['score']:.2f}"
        maps.append(Picture(figure, words, caption, is_small=True))
    caption = f"{len(chosen):,} rows, by {layout.method}; the same map for each method."
    entries: list[tuple[str, Cell]] = [
        ("recommended", comparison.recommended or "none"), ("confidence", comparison.confidence),
        ("clusters", facts["clusters"]), ("rows compared on", facts["sample_rows"]),
    ]  # fmt: skip
    criteria = [f"{name.capitalize()}: {sentence}." for name, sentence in CRITERIA.items()]
    criteria += [f"Not compared: {what}." for what in comparison.left_out]
    answer: list[Part] = [*map(Text, comparison.reasons), Warnings(list(warnings)), Facts(entries)]
    sections = [
        Section("Answer", answer),
        Section("Maps", [Text(f"{caption} Matching clusters have the same color."), *maps]),
        Section("Methods", [_table(records, list(titles.values())), *map(Text, comparison.differences)]),
        Section("Criteria", list(map(Text, criteria))),
    ]
    subtitle = f"{facts['rows']:,} rows x {facts['columns']:,} columns"
    if facts["sample_rows"] < facts["rows"]:
        subtitle += f", compared on a random sample of {facts['sample_rows']:,} rows"
    return Page(f"Methods for {name}", subtitle, sections)


def _table(records: Sequence[Mapping[str, Any]], titles: Sequence[str]) -> Table:
    known = [score for score in ("accuracy", "nmi", "ari") if score in records[0]]
    heads = [*CRITERIA, *({"nmi": "NMI", "ari": "ARI"}.get(name, name) for name in known)]
    lines: list[list[Cell]] = []
    for record, title in zip(records, titles):
        bars = [Bar(f"{record[name]:.2f}", float(np.clip(record[name], 0, 1))) for name in CRITERIA]
        sizes = ", ".join(f"{record[size]:,}" for size in ("smallest", "median", "largest"))
        scores = [f"{record[name]:.2f}" for name in known]
        lines.append([title, *bars, *scores, sizes, f"{record['seconds']:.2f}"])
    return Table(
        "Scores (higher is better), sizes of clusters, and seconds of the fits",
        [
            Column("method"),
            *(Column(name, True) for name in (*heads, "smallest, median, largest", "seconds")),
        ],
        lines,
        "Known classes (accuracy, NMI, ARI) do not influence the scores." if known else "",
        is_stacked=True,
    )


def _map(points: FloatArray, labels: IntArray, is_best: bool) -> Figure:
    """Return a small map without names, with a frame that marks the best method."""
    figure, count = new_figure((3.0, 2.7)), int(labels.max(initial=0)) + 1
    ax = figure.subplots()
    for cluster in range(count):
        color, shape = style_of(cluster, count)
        own = points[labels == cluster]
        ax.scatter(own[:, 0], own[:, 1], s=5, c=color, marker=shape, linewidths=0, alpha=0.75)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(color="#D55E00" if is_best else "#CCCCCC", linewidth=2.5 if is_best else 0.8)
    return figure


def _numbered_like(best: IntArray, own: IntArray) -> IntArray:
    """Return labels under the numbers of the matching clusters of the best method."""
    counts = np.zeros((int(own.max()) + 1, max(int(best.max()), int(own.max())) + 1), dtype=np.int64)
    np.add.at(counts, (own, best), 1)
    return np.asarray(linear_sum_assignment(counts, maximize=True)[1][own], dtype=np.int32)
