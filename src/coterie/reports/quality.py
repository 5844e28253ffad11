"""Quality of clusters: silhouettes, and stability in fits of half samples."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from coterie.arrays import FloatArray, IntArray
from coterie.plotting.layout import clusters_of, sample_by_cluster
from coterie.reports.subject import Subject
from coterie.rows import as_rows

# Fits that measure stability, their rows (and those of silhouettes), and the fewest rows of each cluster.
_FITS, _MOST_ROWS, _ROWS_A_CLUSTER = 4, 2_000, 20

# Of half of the vertices of a graph most have lost half of their neighbors.
_SHARE_OF_ROWS, _SHARE_OF_GRAPH = 0.5, 0.8

_SILHOUETTE = f"Silhouette: mean silhouette coefficient of at most {_MOST_ROWS:,} rows; from -1 to 1."


@dataclass(frozen=True, slots=True)
class Quality:
    """Measures of each cluster by name, those that are known, and sentences on what they mean."""

    measures: dict[str, FloatArray]
    notes: list[str]


def measure_quality(subject: Subject, stability: bool) -> Quality:
    """Measure the clusters of the sample, and their stability on request."""
    found: dict[str, tuple[FloatArray | None, str]] = {"silhouette": (_silhouette(subject), _SILHOUETTE)}
    if stability:
        found["stability"] = measure_stability(subject)
    measures = {name: values for name, (values, _) in found.items() if values is not None}
    return Quality(
        measures, [note for name, (_, note) in found.items() if name in measures or name == "stability"]
    )


def _silhouette(subject: Subject) -> FloatArray | None:
    """Return the mean silhouette coefficient of some rows of each cluster."""
    sample = subject.sample
    inside = np.flatnonzero(sample.labels >= 0)
    chosen = inside[sample_by_cluster(sample.labels[inside], _MOST_ROWS)]
    labels = sample.labels[chosen]
    if subject.is_graph or not 1 < len(np.unique(labels)) < len(labels):
        return None
    from sklearn.metrics import silhouette_samples

    metric = str(getattr(subject.model, "metric", "euclidean"))
    values = silhouette_samples(sample.block[chosen], labels, metric=metric)
    counts = np.bincount(labels, minlength=subject.n_clusters)
    sums = np.bincount(labels, values, minlength=subject.n_clusters)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def measure_stability(subject: Subject) -> tuple[FloatArray | None, str]:
    """Return the mean overlap (Jaccard's index) of each cluster with the most similar one of four fits of halves of a
    sample (Hennig 2007), and a sentence on what was done, or why it was not.
    """
    sample = subject.sample
    if subject.method is None:
        return None, "Stability is not measured: this method is not known."
    if subject.is_graph and len(sample.rows) < subject.rows.shape[0]:
        return None, "Stability is not measured: a sample of a large graph is a different graph."
    share, what = (_SHARE_OF_GRAPH, "vertices") if subject.is_graph else (_SHARE_OF_ROWS, "rows")
    n_rows = min(int(len(sample.rows) * share), _MOST_ROWS)
    if n_rows < _ROWS_A_CLUSTER * subject.n_clusters:
        return None, (
            f"Stability is not measured: fits of {n_rows:,} {what} have fewer than {_ROWS_A_CLUSTER} for each of "
            f"{subject.n_clusters:,} clusters."
        )
    overlaps = np.array([_overlaps(subject, n_rows, seed) for seed in range(_FITS)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a cluster without a row in any half
        means = np.nanmean(overlaps, axis=0)
    if np.isnan(means).all():
        return (
            None,
            f"Stability is not measured: the parameters of this fit are for more than {n_rows:,} {what}.",
        )
    return means, (
        f"Stability: mean overlap (Jaccard's index) of a cluster with the most similar one in {_FITS} fits of "
        f"{n_rows:,} random {what} each; from 0.75 on it counts as stable, below 0.6 as not reproduced. With few "
        f"{what} it is biased downward."
    )


def _overlaps(subject: Subject, n_rows: int, seed: int) -> FloatArray:
    """Fit random rows; return for each cluster its overlap with the most similar cluster of that fit."""
    sample, n_clusters = subject.sample, subject.n_clusters
    chosen = np.sort(np.random.default_rng(seed).choice(len(sample.rows), n_rows, replace=False))
    block = sample.block[chosen][:, sample.rows[chosen]] if subject.is_graph else sample.block[chosen]
    again: Any = clone(subject.model)
    settings = {"random_state": seed, "max_time": None, "callback": None, "verbose": 0}
    known = again.get_params(deep=False)
    again.set_params(**{name: value for name, value in settings.items() if name in known})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again.fit(block)
        # A path is cut where it has as many clusters.
        found = clusters_of(again, as_rows(block), n_clusters=n_clusters)
    except ValueError:  # a size constraint, or the size of a coreset, is not feasible
        return np.full(n_clusters, np.nan)
    return _best_jaccard(sample.labels[chosen], found, n_clusters)


def _best_jaccard(labels: IntArray, found: IntArray, n_clusters: int) -> FloatArray:
    inside = (labels >= 0) & (found >= 0)
    n_found = int(found.max(initial=-1)) + 1
    pairs = labels[inside].astype(np.int64) * n_found + found[inside]
    common = np.bincount(pairs, minlength=n_clusters * n_found).reshape(n_clusters, n_found)
    own = np.bincount(labels[labels >= 0], minlength=n_clusters)[:, None]
    theirs = np.bincount(found[found >= 0], minlength=n_found)[None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        best = (common / (own + theirs - common)).max(axis=1, initial=0.0)
    return np.where(own[:, 0] > 0, best, np.nan)
