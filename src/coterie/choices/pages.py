"""Pages for people about a choice of k and about a comparison of methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.choices.choose import KChoice
from coterie.choices.comparison import Comparison
from coterie.choices.criteria import CRITERIA
from coterie.choices.pictures import plot_criteria, plot_criteria_of, plot_modes_of, plot_stability
from coterie.reports.page import Bar, Column, Facts, Page, Part, Picture, Section, Table, Text, Warnings

__all__ = ["choice_page", "comparison_page"]


def choice_page(choice: KChoice, name: str, warnings: Sequence[str] = ()) -> Page:
    """Return the page of a choice of k.

    Parameters
    ----------
    choice : KChoice
        What was found.
    name : str
        What the rows are called, such as their file.
    warnings : sequence of str
        What else should not be overlooked.
    """
    facts = choice.facts
    whole = facts["sample_rows"] == facts["rows"]
    entries = [
        ("answer", choice.answer),
        ("modes on half samples", f"{choice.interval[0]} to {choice.interval[1]}"),
        ("rows that decide", facts["sample_rows"]),
        ("principal directions", facts["directions"]),
        ("range of k", f"{facts['k_range'][0]} to {facts['k_range'][1]}"),
        ("seconds", facts["seconds"]),
    ]
    sections = [
        Section("Answer", [*map(Text, choice.reasons), Warnings(list(warnings)), Facts(entries)]),
        Section("Curves", [
            Picture(plot_modes_of(choice), "modes", f"Modes of the density: {choice.answer}.",
                    "How far the density falls between modes, and what data without clusters show."),
            *_curve_parts(choice),
            *map(Text, (f"Left out: {what}." for what in choice.left_out)),
        ]),
    ]  # fmt: skip
    subtitle = f"{facts['rows']:,} rows x {facts['columns']:,} columns"
    return Page(
        f"How many clusters in {name}: {choice.answer}",
        subtitle if whole else f"{subtitle}, decided on a sample of {facts['sample_rows']:,} rows",
        sections,
    )


def _curve_parts(choice: KChoice) -> list[Part]:
    """Return the picture and the table of the curves, if any was done."""
    if not choice.criteria:
        return []
    caption = (
        "Each criterion over k with its 90% interval. A dot: what it would take; a dotted line: the answer."
    )
    alt = "Curves over k; the table has what each would take."
    curves = Table(
        "What each curve would take by itself",
        [
            Column("curve"),
            Column("takes", True),
            Column("there", True),
            Column("90% interval"),
            Column("how it chooses"),
        ],
        [_curve_row(curve) for curve in choice.criteria],
        note="Curves explain, they do not decide: each favours a shape of clusters.",
    )
    return [Picture(plot_criteria_of(choice), "curves", alt, caption), curves]


def _curve_row(curve: Any) -> list[Any]:
    at = [place for place, k in enumerate(curve.ks.tolist()) if k == curve.choice]
    shown: list[Any] = [None, None]
    if at:
        shown = [float(curve.values[at[0]]), f"{curve.low[at[0]]:.3g} to {curve.high[at[0]]:.3g}"]
    return [curve.title, "none" if curve.choice in (None, 1) else curve.choice, *shown, curve.why]


def comparison_page(comparison: Comparison, name: str, warnings: Sequence[str] = ()) -> Page:
    """Return the page of a comparison; its arguments are those of `choice_page`."""
    facts, records = comparison.facts, comparison.records
    whole = facts["sample_rows"] == facts["rows"]
    entries = [
        ("clusters", facts["clusters"]),
        ("rows compared on", facts["sample_rows"]),
        ("seeds", facts["seeds"]),
        ("pairs of halves", facts["pairs_of_halves"]),
        ("budget, seconds", facts["budget"]),
        ("seconds", facts["seconds"]),
    ]
    names = [record["method"] for record in records]
    agreement = Table(
        "Agreement: adjusted Rand index of the best clusterings of any two",
        [Column("method"), *(Column(other, True) for other in names)],
        [
            [method, *(Bar(float(value), min(max(float(value), 0.0), 1.0)) for value in values)]
            for method, values in zip(names, comparison.agreement)
        ],
    )
    orange = "" if comparison.recommended is None else " Orange: what is advised."
    pictures = [
        Picture(plot_stability(comparison), "stability", "Stability of each method, as in the table.",
                "How alike the clusters of halves of the rows are, with 90% intervals."),
        Picture(plot_criteria(comparison), "criteria", "Criteria of each method, as in the table.",
                f"What compares clusterings whatever found them; below each, whom it favours.{orange}"),
    ]  # fmt: skip
    sections = [
        Section("Advice", [*map(Text, comparison.reasons), Warnings(list(warnings)), Facts(entries)]),
        Section("Methods", [_cost_table(records), _quality_table(records), *pictures, agreement]),
        Section("Criteria", [
            *(Text(f"{name.replace('_', ' ').capitalize()}: {sentence}.") for name, sentence in CRITERIA.items()),
            *(Text(f"Left out: {what}.") for what in comparison.left_out),
        ]),
    ]  # fmt: skip
    subtitle = f"{facts['rows']:,} rows x {facts['columns']:,} columns"
    return Page(
        f"Methods for {name}",
        subtitle if whole else f"{subtitle}, compared on a sample of {facts['sample_rows']:,} rows",
        sections,
    )


def _cost_table(records: tuple[dict[str, Any], ...]) -> Table:
    slowest = max(record["seconds"] for record in records)
    return Table(
        "What each took and found",
        [Column("method"), Column("seconds", True), Column("MiB", True), Column("objective"), Column("best", True),
         Column("smallest", True), Column("median", True), Column("largest", True), Column("clusters lost", True)],
        [
            [
                record["method"], Bar(record["seconds"], record["seconds"] / slowest if slowest else 0.0),
                None if record["peak_bytes"] is None else record["peak_bytes"] / 2**20,
                record["objective_name"], record["objective"], record["smallest"], record["median"], record["largest"],
                record["clusters_lost"],
            ]
            for record in records
        ],
        note="Median seconds of the seeds; memory above what was held before; objectives of different methods do not "
        "compare.",
    )  # fmt: skip


def _quality_table(records: tuple[dict[str, Any], ...]) -> Table:
    scores = [name for name in ("accuracy", "nmi", "ari") if name in records[0]]
    numbers = ["between_seeds", *CRITERIA, *scores]
    return Table(
        "How good it is",
        [Column("method"), Column("stability", True), Column("90% interval"),
         *(Column(name.replace("_", " "), True) for name in numbers)],
        [[record["method"], record["stability"], _interval(record), *(record[name] for name in numbers)]
         for record in records],
        note="Stability: ARI of clusterings of halves on the rows that both have. Between seeds: ARI of fits of the "
        "same rows.",
    )  # fmt: skip


def _interval(record: dict[str, Any]) -> str | None:
    if record["stability"] is None:
        return None
    return f"{record['stability_low']:.2f} to {record['stability_high']:.2f}"
