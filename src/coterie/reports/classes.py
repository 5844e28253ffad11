"""Clusters against classes that are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from coterie.arrays import Array, BoolArray, IndexArray
from coterie.metrics import adjusted_rand_score, clustering_accuracy, normalized_mutual_info_score, purity
from coterie.reports.page import Cell, Column, Facts, Mark, Part, Section, Table, Text
from coterie.reports.subject import Subject

_MOST_CELLS = 60
_MOST_STRANGERS = 20


def classes_section(subject: Subject, known: npt.ArrayLike, mark: Callable[[int], Mark]) -> Section:
    """Return the section of known classes; those of rows without one are None, NaN or -1."""
    truth = np.asarray(known)
    if truth.shape != subject.labels.shape:
        raise ValueError(
            f"known must have one class for each of {len(subject.labels):,} rows, got shape {truth.shape}."
        )
    counted = is_known(truth) & (subject.labels >= 0)
    if not counted.any():
        raise ValueError("known has no class of a row that is in a cluster.")
    # Numbers in their order, not in that of the alphabet.
    values = truth[counted] if truth.dtype.kind != "O" else truth[counted].astype(str)
    found, classes = np.unique(values, return_inverse=True)
    names = [str(name) for name in found]
    clusters = subject.labels[counted]
    counts = np.zeros((subject.n_clusters, len(names)), dtype=np.int64)
    np.add.at(counts, (clusters, classes), 1)
    parts: list[Part] = [
        Facts([
            ("rows with a class", int(counted.sum())),
            ("classes", len(names)),
            ("accuracy of the best match", f"{clustering_accuracy(classes, clusters):.1%}"),
            ("purity", f"{purity(classes, clusters):.1%}"),
            ("normalized mutual information", f"{normalized_mutual_info_score(classes, clusters):.3f}"),
            ("adjusted Rand index", f"{adjusted_rand_score(classes, clusters):.3f}"),
        ]),
        Text(
            "Accuracy and purity count rows: those of the class that a cluster is matched with, one to one, and those "
            "of the commonest class of each cluster. Mutual information and the Rand index are 1 for the same groups "
            "and near 0 for groups by chance."
        ),
        _table(subject, counts, names, mark),
        *_minority_rows(subject, counts, names, classes, np.flatnonzero(counted), mark),
    ]  # fmt: skip
    return Section("Known classes", parts)


def is_known(truth: Array) -> BoolArray:
    """Return which of some classes are known: not None, NaN, -1 or an empty text."""
    if truth.dtype.kind == "f":
        return np.asarray(~np.isnan(truth) & (truth != -1))
    if truth.dtype.kind in "iu":
        return np.asarray(truth != -1)
    return np.array(
        [value is not None and value == value and str(value) not in ("", "-1") for value in truth]
    )


def _table(subject: Subject, counts: IndexArray, names: list[str], mark: Callable[[int], Mark]) -> Table:
    """Clusters by classes, along a diagonal as far as that goes."""
    rows, columns = linear_sum_assignment(counts, maximize=True)
    order = [int(c) for c in columns[np.argsort(rows)]]
    order += [column for column in range(len(names)) if column not in order]
    shown = order[:_MOST_CELLS]
    lines: list[list[Cell]] = []
    for cluster in range(min(subject.n_clusters, _MOST_CELLS)):
        total = int(counts[cluster].sum())
        best = int(counts[cluster].argmax()) if total else -1
        cells: list[Cell] = [
            mark(cluster),
            *(int(counts[cluster, column]) or "" for column in shown),
            f"{names[best]} {counts[cluster, best] / total:.0%}" if total else "–",
        ]
        lines.append(cells)
    is_cut = len(order) > len(shown) or subject.n_clusters > len(lines)
    note = f"The first {len(lines)} clusters and {len(shown)} classes." if is_cut else ""
    headings = [Column("cluster"), *(Column(names[column], True) for column in shown), Column("mostly")]
    return Table("Rows of each class in each cluster", headings, lines, note)


def _minority_rows(
    subject: Subject,
    counts: IndexArray,
    names: list[str],
    classes: IndexArray,
    rows: IndexArray,
    mark: Callable[[int], Mark],
) -> list[Part]:
    """Return the table of rows whose class differs from most of their cluster, those nearest to its center first."""
    common = counts.argmax(axis=1)
    differs = rows[classes != common[subject.labels[rows]]]
    if not len(differs):
        return [Text("No row disagrees with its cluster.")]
    class_of = dict(zip(rows.tolist(), classes.tolist()))
    # The ids of the sample are known.
    id_of = dict(zip(subject.sample.rows.tolist(), subject.sample.ids))
    known = differs[np.isin(differs, subject.sample.rows)]
    chosen = known[np.argsort(subject.placement.ranks[known], kind="stable")][:_MOST_STRANGERS]
    lines: list[list[Cell]] = []
    for row in chosen.tolist():
        cluster = int(subject.labels[row])
        lines.append([id_of[row], mark(cluster), names[common[cluster]], names[class_of[row]]])
    headings = [Column(subject.id_name or "row"), Column("cluster"), Column("mostly"), Column("known class")]
    share = f"{len(differs):,} ({len(differs) / len(rows):.1%})"
    caption = f"Rows that disagree: {share}; those nearest to the middle of their clusters first"
    return [Table(caption, headings, lines)]
