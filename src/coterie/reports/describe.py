"""Descriptions of clusters: terms, columns, names, and quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.blocks.kernel_rows import dense
from coterie.names import read_names
from coterie.reports.subject import EXAMPLES, Subject, cluster_sums

Names: TypeAlias = "str | Path | Mapping[int, str] | Callable[[list[str], list[str]], str] | None"

_READ, _MOST_WORDS = 2_000, 20_000
_MOST_TERMS, _MOST_EFFECTS, _MOST_NAMED = 10, 6, 1_000

# Smaller differences of means (in standard deviations) name no cluster.
_NOTABLE = 0.5

# Columns without names, if they are more, are those of an embedding or of pixels.
_MOST_UNNAMED = 20

# Texts of fewer words on average are labels.
_FEWEST_WORDS = 4


@dataclass(frozen=True, slots=True)
class Clusters:
    """Descriptions of clusters.

    `effects` are differences of means in standard deviations; None where columns mean nothing by themselves. `cohesion`
    is the mean share of the nearest rows of a row that are in its cluster, `separation` the mean simplified silhouette.
    `exemplars` and `borderline` are positions in the sample, the most representative and the least certain rows first.
    """

    names: list[str]
    terms: list[list[str]]
    effects: FloatArray | None
    column_names: list[str]
    cohesion: FloatArray | None
    separation: FloatArray | None
    stability: FloatArray | None
    exemplars: list[list[int]]
    borderline: list[list[int]]

    def columns_of(self, cluster: int) -> list[tuple[str, float]]:
        """Return the most distinctive columns of a cluster with their differences."""
        if self.effects is None:
            return []
        values = self.effects[cluster]
        order = np.argsort(-np.abs(values), kind="stable")[:_MOST_EFFECTS]
        return [(self.column_names[i], float(values[i])) for i in order if values[i] != 0]


def describe(
    subject: Subject,
    neighbors: IndexArray,
    stability: FloatArray | None = None,
    *,
    names: Names = None,
    terms: Sequence[str] | None = None,
) -> Clusters:
    """Describe and name the clusters of a sample, of whose rows `neighbors` are the nearest ones.

    `names` are those of `coterie.report`, `terms` names of columns that have none. A ValueError is raised if names are
    of clusters that there are not.
    """
    sample, k = subject.sample, subject.n_clusters
    column_names = list(terms) if terms is not None else subject.rows.column_names
    found = _terms(subject, column_names)
    has_columns = not subject.is_graph and subject.image_shape is None and not found
    has_columns &= column_names is not None or subject.rows.shape[1] <= _MOST_UNNAMED
    effects = column_effects(sample.block, sample.labels, subject.sizes) if has_columns else None
    shown = column_names or [f"column {i}" for i in range(subject.rows.shape[1])]
    exemplars = _examples(subject, subject.placement.ranks)
    made = Clusters(
        names=[f"Cluster {cluster}" for cluster in range(k)],
        terms=found or [[] for _ in range(k)],
        effects=effects,
        column_names=shown,
        cohesion=_cohesion(sample.labels, neighbors, k),
        separation=_separation(subject),
        stability=stability,
        exemplars=exemplars,
        # Without distances or memberships there are no borderline rows.
        borderline=_examples(subject, subject.placement.borderline)
        if subject.placement.measures
        else [[]] * k,
    )
    if found:
        ours = [", ".join(words[:3]) for words in found]
    elif effects is not None and column_names is not None:
        ours = [_column_name(made, effects[cluster], sample.block) for cluster in range(k)]
    else:
        ours = [""] * k
    ours = [name or f"Cluster {i}" for i, name in enumerate(ours)]
    counts = Counter(ours)
    made.names[:] = [name if counts[name] == 1 else f"{name} ({i})" for i, name in enumerate(ours)]
    _rename(made, subject, names)
    return made


def measures_of(clusters: Clusters) -> dict[str, FloatArray]:
    """Return the measures of quality that are known, by name, with a number for each cluster."""
    found = {name: getattr(clusters, name) for name in ("cohesion", "separation", "stability")}
    return {name: values for name, values in found.items() if values is not None}


def _rename(clusters: Clusters, subject: Subject, names: Names) -> None:
    """Put names that were given in the place of ours."""
    k = subject.n_clusters
    if callable(names):
        given = {}
        for cluster in range(min(k, _MOST_NAMED)):
            columns = [
                f"{'high' if size > 0 else 'low'} {name}" for name, size in clusters.columns_of(cluster)
            ]
            rows = [_text_of(subject, place, clusters) for place in clusters.exemplars[cluster]]
            given[cluster] = str(names(rows, clusters.terms[cluster] or columns))
    else:
        given = {} if names is None else read_names(names)
    unknown = [cluster for cluster in given if not 0 <= cluster < k]
    if unknown:
        raise ValueError(f"names has cluster {unknown[0]}, and there are {k:,}, numbered from 0.")
    for cluster, name in given.items():
        clusters.names[cluster] = name


def _text_of(subject: Subject, place: int, clusters: Clusters) -> str:
    """Return a row of the sample as text."""
    sample = subject.sample
    if sample.texts is not None:
        return sample.texts[place]
    if clusters.effects is None:
        return sample.ids[place]
    values = dense(sample.block[[place]])[0]
    return ", ".join(f"{name} {value:.4g}" for name, value in zip(clusters.column_names, values))


def _column_name(clusters: Clusters, effects: FloatArray, block: Any) -> str:
    """Return the two most distinctive columns in words: "high income, low age"."""
    words = []
    for i in np.argsort(-np.abs(effects), kind="stable")[:2]:
        if abs(effects[i]) < _NOTABLE:
            break
        column = block[:, [i]]
        values = np.unique(column.toarray() if sp.issparse(column) else np.asarray(column)[:1000])
        is_high = effects[i] > 0
        binary = np.isin(values, (0, 1)).all()
        words.append(
            f"{('' if is_high else 'not ') if binary else ('high ' if is_high else 'low ')}{clusters.column_names[i]}"
        )
    return ", ".join(words)


def _terms(subject: Subject, column_names: Sequence[str] | None) -> list[list[str]]:
    """Return the terms of each cluster: of sparse rows of counts, else of the texts; [] where there are neither."""
    sample = subject.sample
    if sp.issparse(sample.block) and not subject.is_graph and sample.block.data.min(initial=0) >= 0:
        if column_names is None:
            return []
        counts, words = sample.block, list(column_names)
    else:
        texts = sample.texts or []
        few = texts[:200]
        # Short texts beside columns that have names are categories and titles rather than what rows are about.
        are_labels = sum(len(text.split()) for text in few) < _FEWEST_WORDS * len(few)
        if not few or (are_labels and subject.rows.column_names is not None):
            return []
        counts, words = text_counts(texts)
    if not words:
        return []
    weights = term_weights(counts, sample.labels, subject.n_clusters)
    order = np.argsort(-weights, axis=1, kind="stable")[:, :_MOST_TERMS]
    return [[words[i] for i in best if line[i] > 0] for best, line in zip(order, weights)]


def term_weights(counts: Any, labels: IntArray, n_clusters: int) -> FloatArray:
    """Return how characteristic each term is of each cluster: c-TF-IDF.

    ``tf log(1 + A / f)``: the share tf of a term among those of a cluster, the count f of the term in all clusters, and
    the mean count A of terms of a cluster (Grootendorst, BERTopic, 2022). `counts` are those of terms in rows.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from coterie.reports.describe import term_weights
    >>> counts = sp.csr_array(np.array([[3, 0, 1], [0, 2, 1]]))
    >>> term_weights(counts, np.array([0, 1], dtype=np.int32), 2).argmax(axis=1)
    array([0, 1])
    """
    sums = cluster_sums(labels, n_clusters, counts)
    lengths, of_terms = sums.sum(axis=1), sums.sum(axis=0)
    mean = lengths.sum() / max(np.count_nonzero(lengths), 1)
    rarity = np.where(of_terms > 0, np.log1p(mean / np.maximum(of_terms, 1e-12)), 0.0)
    return sums / np.maximum(lengths, 1e-12)[:, None] * rarity


def text_counts(texts: list[str]) -> tuple[Any, list[str]]:
    """Return the counts of words in texts, and the words, without rare ones and those that are in most texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        stop_words="english", max_features=_MOST_WORDS, min_df=2 if len(texts) > 50 else 1, max_df=0.8
    )
    try:
        counts = vectorizer.fit_transform(text[:_READ] for text in texts)
    except ValueError:  # no word is left
        return sp.csr_array((len(texts), 0)), []
    return sp.csr_array(counts), list(vectorizer.get_feature_names_out())


def column_effects(block: Any, labels: IntArray, sizes: IndexArray) -> FloatArray:
    """Return by how many standard deviations the mean of each column in a cluster differs from that of other rows.

    Cohen's d with the standard deviation within the two groups; +-inf for a column that is constant in both. `block` is
    a sample of the rows, `sizes` are those of the clusters in all rows.
    """
    k = len(sizes)
    counts = np.bincount(labels[labels >= 0], minlength=k)[:, None]
    values: Any = block.astype(np.float64) if sp.issparse(block) else np.asarray(block, dtype=np.float64)
    middle = 0.0 if sp.issparse(block) else values.mean(axis=0)
    values = values - middle if np.ndim(middle) else values
    squares: Any = values.multiply(values) if sp.issparse(block) else values * values
    mass = np.where(counts > 0, sizes[:, None], 0).astype(np.float64)
    means = cluster_sums(labels, k, values) / np.maximum(counts, 1)
    seconds = cluster_sums(labels, k, squares) / np.maximum(counts, 1)
    rest = mass.sum() - mass
    others = np.maximum(rest, 1)
    mean_out = ((mass * means).sum(axis=0) - mass * means) / others
    second_out = ((mass * seconds).sum(axis=0) - mass * seconds) / others
    variances, variances_out = seconds - means**2, second_out - mean_out**2
    within = (mass * variances + rest * variances_out) / max(mass.sum(), 1)
    # Zero up to rounding.
    within = np.where(within > 1e-12 * (seconds + second_out), within, 0.0)
    difference = means - mean_out
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(difference == 0, 0.0, difference / np.sqrt(within))
    return np.where((mass > 0) & (rest > 0), found, 0.0)


def _cohesion(labels: IntArray, neighbors: IndexArray, n_clusters: int) -> FloatArray | None:
    """Return for each cluster the mean share of the nearest rows of its rows that are in it."""
    if not neighbors.shape[1]:
        return None
    known = neighbors >= 0
    same = (known & (labels[neighbors] == labels[:, None])).sum(axis=1)
    inside = (labels >= 0) & known.any(axis=1)
    return _means(same[inside] / known.sum(axis=1)[inside], labels[inside], n_clusters)


def _separation(subject: Subject) -> FloatArray | None:
    """Return the mean simplified silhouette of each cluster: (b - a) / max(a, b) of the two nearest centers."""
    sample, centers = subject.sample, subject.centers
    if centers is None or len(centers) < 2:
        return None
    from sklearn.metrics import pairwise_distances_chunked

    inside = np.flatnonzero(sample.labels >= 0)
    found, start = np.zeros(len(inside)), 0
    among = sp.csr_array(centers) if sp.issparse(sample.block) else centers
    for distances in pairwise_distances_chunked(sample.block[inside], among):
        rows, own = np.arange(len(distances)), sample.labels[inside[start : start + len(distances)]]
        a = distances[rows, own]
        distances[rows, own] = np.inf
        b = distances.min(axis=1)
        found[start : start + len(rows)] = (b - a) / np.maximum(np.maximum(a, b), 1e-300)
        start += len(rows)
    return _means(found, sample.labels[inside], subject.n_clusters)


def _means(values: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    counts = np.bincount(labels, minlength=n_clusters)
    sums = np.bincount(labels, values, minlength=n_clusters)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _examples(subject: Subject, places: IntArray) -> list[list[int]]:
    """Return the positions in the sample of the first rows of each cluster."""
    own = places[subject.sample.rows]
    found: list[list[int]] = [[] for _ in range(subject.n_clusters)]
    near = np.flatnonzero((own > 0) & (own <= EXAMPLES))
    for place in near[np.argsort(own[near], kind="stable")].tolist():
        found[subject.sample.labels[place]].append(place)
    return found
