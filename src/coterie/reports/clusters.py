"""What is in the clusters: a table of all, and a card for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray
from coterie.reports.colors import color_name
from coterie.reports.page import (
    Bar,
    Card,
    Cards,
    Cell,
    Column,
    Facts,
    Folded,
    Image,
    Images,
    Mark,
    Part,
    Section,
    Table,
    Text,
)
from coterie.reports.separation import column_statistics, term_weights, text_counts
from coterie.reports.stability import Stability
from coterie.reports.subject import Subject
from coterie.reports.thumbnails import image_png

__all__ = ["MOST_CARDS", "clusters_section"]

# More would make a page that nobody reads and no browser likes; the table has all up to the second number.
MOST_CARDS, _MOST_LINES = 60, 1000

_MOST_EFFECTS, _MOST_TERMS, _MOST_NEIGHBOURS, _MOST_COLUMNS = 6, 10, 3, 4
_MOST_OF_TEXT = 240


@dataclass(frozen=True, slots=True)
class _Terms:
    """How characteristic terms are of clusters."""

    weights: FloatArray
    names: Sequence[str]

    def of(self, cluster: int) -> list[str]:
        return self._best(self.weights[cluster])

    def between(self, one: int, other: int) -> tuple[list[str], list[str]]:
        difference = self.weights[one] - self.weights[other]
        return self._best(difference)[:5], self._best(-difference)[:5]

    def _best(self, weights: FloatArray) -> list[str]:
        order = np.argsort(-weights, kind="stable")[:_MOST_TERMS]
        return [self.names[i] for i in order if weights[i] > 0]


def clusters_section(
    subject: Subject, stability: Stability | None, about_stability: str, terms: Sequence[str] | None = None
) -> Section:
    """Return the section of clusters; `terms` are the names of columns that have none."""
    write = _Writer(subject, stability, terms)
    drawn = np.sort(np.argsort(-subject.sizes, kind="stable")[:MOST_CARDS])
    parts: list[Part] = [write.overview(), Text(about_stability)]
    if subject.n_clusters > MOST_CARDS:
        parts.append(Text(f"The largest {MOST_CARDS} of {subject.n_clusters:,} clusters have a card."))
    return Section("Clusters", [*parts, Cards([write.card(int(cluster)) for cluster in drawn])])


class _Writer:
    """Writes cards, all from the same statistics."""

    def __init__(self, subject: Subject, stability: Stability | None, terms: Sequence[str] | None) -> None:
        self._subject = subject
        self._stability = stability
        self._has_card = set(np.argsort(-subject.sizes, kind="stable")[:MOST_CARDS].tolist())
        self._terms = _terms_of(subject, terms)
        # Of embeddings and pixels a single column says nothing to people; of rows of a graph neither.
        is_mute = subject.is_graph or subject.image_shape is not None or self._terms is not None
        self._columns = None if is_mute else column_statistics(subject.sample, subject.sizes)
        self._names = list(terms) if terms is not None else subject.column_names
        self._apart = _distances_between(subject)
        self._measure = next(iter(subject.placement.measures), None)
        self._medians = {
            name: _medians(values, subject)
            for name, values in subject.placement.measures.items()
            if name != "outlier_score"
        }
        self._lines = _lines_by_cluster(subject)
        self._image_rows = _rows_of_examples(subject)

    def overview(self) -> Table:
        """Return a table with a line for each cluster."""
        subject = self._subject
        shown = range(min(subject.n_clusters, _MOST_LINES))
        columns = [Column("cluster"), Column("rows", True), Column("share", True)]
        columns += [Column(f"median {name}", True) for name in self._medians]
        if self._stability is not None:
            columns += [Column("stability", True), Column("found again")]
        if self._terms is not None:
            columns.append(Column("terms"))
        largest = max(int(subject.sizes.max(initial=1)), 1)
        rows: list[list[Cell]] = []
        for cluster in shown:
            size = int(subject.sizes[cluster])
            line: list[Cell] = [
                self.mark(cluster),
                Bar(size, size / largest),
                f"{size / len(subject.labels):.1%}",
            ]
            line += [float(values[cluster]) for values in self._medians.values()]
            if self._stability is not None:
                line += [_rounded(self._stability.means[cluster]), self._stability.word(cluster)]
            if self._terms is not None:
                line.append(", ".join(self._terms.of(cluster)[:5]))
            rows.append(line)
        left = subject.n_clusters - len(rows)
        note = f"The first {len(rows):,} of {subject.n_clusters:,} clusters; labels hold all." if left else ""
        return Table(f"{subject.n_clusters:,} clusters of {len(subject.labels):,} rows", columns, rows, note)

    def mark(self, cluster: int) -> Mark:
        """Return the name of a cluster in its color."""
        target = f"cluster-{cluster}" if cluster in self._has_card else ""
        return Mark(f"Cluster {cluster}", color_name(cluster, self._subject.n_clusters), target)

    def card(self, cluster: int) -> Card:
        """Return the card of a cluster."""
        subject = self._subject
        size = int(subject.sizes[cluster])
        entries: list[tuple[str, Cell]] = [
            ("rows", f"{size:,} ({size / len(subject.labels):.1%})"),
            *((f"median {name}", float(values[cluster])) for name, values in self._medians.items()),
        ]  # fmt: skip
        if self._stability is not None:
            mean, lowest = self._stability.means[cluster], self._stability.lowest[cluster]
            entries.append(("stability", f"{mean:.2f}, lowest {lowest:.2f}: {self._stability.word(cluster)}"))
        parts: list[Part] = [Facts(entries), *self._set_apart(cluster), *self._examples(cluster)]
        parts += self._neighbors(cluster)
        title = Mark(f"Cluster {cluster}", color_name(cluster, subject.n_clusters))
        return Card(title, f"cluster-{cluster}", parts)

    def _set_apart(self, cluster: int) -> list[Part]:
        if self._terms is not None:
            found = self._terms.of(cluster)
            return [Text(f"Terms: {', '.join(found)}." if found else "No term is characteristic.")]
        if self._columns is None:
            return []
        effects = self._columns.effects_of(cluster, _MOST_EFFECTS)
        if not effects:
            return []
        columns = [
            Column("column"), Column("effect", True), Column("95% interval", True), Column("mean here", True),
            Column("elsewhere", True),
        ]  # fmt: skip
        rows: list[list[Cell]] = [
            [self._names[e.column], _signed(e.size), _interval(e.low, e.high), e.inside, e.outside]
            for e in effects
        ]
        return [Table(f"What sets cluster {cluster} apart, in standard deviations", columns, rows)]

    def _examples(self, cluster: int) -> list[Part]:
        """Return the rows nearest to the center and the doubtful ones, as tables or as images."""
        parts: list[Part] = []
        for kind, title in (("nearest", self._called_nearest()), ("doubtful", "The most doubtful rows")):
            lines = self._lines.get((cluster, kind), [])
            if not lines:
                continue
            caption = f"{title} of cluster {cluster}"
            images = self._as_images(caption, lines)
            if images is not None or kind == "nearest":
                parts.append(images or self._as_table(caption, lines))
            elif self._measure is not None:  # else nobody knows which they are
                parts.append(Folded(title, [self._as_table(caption, lines)]))
        return parts

    def _called_nearest(self) -> str:
        if self._measure is None:
            return "The first rows"
        has_mode = hasattr(self._subject.model, "modes_")
        return f"The rows nearest to the {'mode' if has_mode else 'middle'}"

    def _as_images(self, caption: str, lines: list[int]) -> Any:
        shape = self._subject.image_shape
        if shape is None:
            return None
        pictures = []
        for line in lines:
            name = str(self._id_of(line))
            row = self._image_rows[self._subject.examples["row"][line].as_py()]
            pictures.append(Image(image_png(row, shape), f"Row {name}", name))
        return Images(pictures, caption)

    def _id_of(self, line: int) -> Any:
        subject = self._subject
        return subject.examples[subject.id_name or "row"][line].as_py()

    def _as_table(self, caption: str, lines: list[int]) -> Table:
        examples, measure = self._subject.examples, self._measure
        own = (
            "example",
            "place",
            "row",
            "cluster",
            "rank",
            "outlier_score",
            *self._subject.placement.measures,
        )
        beside = [name for name in examples.column_names if name not in own and name != self._subject.id_name]
        if self._subject.text_name in beside:
            beside.remove(self._subject.text_name)
            beside.insert(0, self._subject.text_name)
        beside = beside[:_MOST_COLUMNS]
        columns = [Column(self._subject.id_name or "row"), *(Column(name) for name in beside)]
        if measure is not None:
            columns.append(Column(measure, True))
        rows: list[list[Cell]] = []
        for line in lines:
            cells: list[Cell] = [
                str(self._id_of(line)),
                *(_shortened(examples[name][line]) for name in beside),
            ]
            if measure is not None:
                cells.append(examples[measure][line].as_py())
            rows.append(cells)
        return Table(caption, columns, rows)

    def _neighbors(self, cluster: int) -> list[Part]:
        if self._apart is None or self._subject.n_clusters < 2:
            return []
        order = [int(other) for other in np.argsort(self._apart[cluster], kind="stable") if other != cluster]
        nearest = order[:_MOST_NEIGHBOURS]
        rows: list[list[Cell]] = [
            [self.mark(other), float(self._apart[cluster, other]), self._divides(cluster, other)]
            for other in nearest
        ]
        has_words = any(row[2] for row in rows)
        columns = [
            Column("cluster"),
            Column("between centers", True),
            *([Column("divided by")] if has_words else []),
        ]
        return [
            Table(f"Clusters nearest to cluster {cluster}", columns, [row[: len(columns)] for row in rows])
        ]

    def _divides(self, cluster: int, other: int) -> str:
        if self._terms is not None:
            here, there = self._terms.between(cluster, other)
            return f"here {', '.join(here[:4])}; there {', '.join(there[:4])}" if here or there else ""
        if self._columns is None:
            return ""
        effects = self._columns.effects_between(cluster, other, 2)
        return ", ".join(f"{self._names[effect.column]} ({_signed(effect.size)})" for effect in effects)


def _terms_of(subject: Subject, terms: Sequence[str] | None) -> _Terms | None:
    """The terms of sparse rows of counts, else those of the texts; None where there are neither."""
    sample = subject.sample
    if sp.issparse(sample.block) and not subject.is_graph and sample.block.data.min(initial=0) >= 0:
        names = list(terms) if terms is not None else subject.column_names
        return _Terms(term_weights(sample.block, sample.labels, subject.n_clusters), names)
    if sample.texts is None:
        return None
    counts, names = text_counts(sample.texts)
    return _Terms(term_weights(counts, sample.labels, subject.n_clusters), names) if names else None


def _distances_between(subject: Subject) -> FloatArray | None:
    if subject.is_graph or subject.centers is None or subject.n_clusters > _MOST_LINES:
        return None
    from sklearn.metrics import pairwise_distances

    return np.asarray(pairwise_distances(subject.centers))


def _lines_by_cluster(subject: Subject) -> dict[tuple[int, str], list[int]]:
    """The lines of the table of examples, in its order."""
    found: dict[tuple[int, str], list[int]] = {}
    kinds, clusters = subject.examples["example"].to_pylist(), subject.examples["cluster"].to_pylist()
    for line, (kind, cluster) in enumerate(zip(kinds, clusters)):
        found.setdefault((cluster, kind), []).append(line)
    return found


def _rows_of_examples(subject: Subject) -> dict[int, Any]:
    """What the examples hold, by the numbers of their rows; nothing where that is not drawn."""
    if subject.image_shape is None:
        return {}
    numbers = np.unique(subject.examples["row"].to_numpy())
    block = subject.rows.take(numbers)
    return {int(number): block[[place]] for place, number in enumerate(numbers)}


def _medians(values: FloatArray, subject: Subject) -> FloatArray:
    order = np.argsort(subject.labels, kind="stable")
    sizes = subject.sizes
    starts = np.searchsorted(subject.labels[order], np.arange(subject.n_clusters))
    return np.array([
        np.median(values[order[start : start + size]]) if size else np.nan for start, size in zip(starts, sizes)
    ])  # fmt: skip


def _shortened(value: Any) -> str:
    found = value.as_py()
    if isinstance(found, float):
        return f"{found:.6g}"
    text = "–" if found is None else str(found)
    return text if len(text) <= _MOST_OF_TEXT else text[: _MOST_OF_TEXT - 1] + "…"


def _signed(size: float) -> str:
    return "always" if size == np.inf else "never" if size == -np.inf else f"{size:+.2f}"


def _interval(low: float, high: float) -> str:
    return "–" if not np.isfinite(low) else f"{low:+.2f} to {high:+.2f}"


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 2)
