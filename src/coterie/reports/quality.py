"""Quality of clusters: cohesion, separation, and stability in fits of half samples."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from coterie.arrays import FloatArray, IndexArray, IntArray
from coterie.plotting.layout import clusters_of
from coterie.reports.subject import Subject
from coterie.rows import as_rows

# Fits that measure stability, their rows, and the fewest rows of each cluster.
_FITS, _MOST_ROWS, _ROWS_A_CLUSTER = 4, 2_000, 20

# Of half of the vertices of a graph most have lost half of their neighbors.
_SHARE_OF_ROWS, _SHARE_OF_GRAPH = 0.5, 0.8

_MEANINGS = {
    "cohesion": "Cohesion: mean share of the ten nearest rows of a row that are in its cluster, in the sample.",
    "separation": "Separation: mean simplified silhouette, (b - a) / max(a, b) of the distances a to the own center "
    "and b to the nearest other one, in the sample; from -1 to 1.",
}


@dataclass(frozen=True, slots=True)
class Quality:
    """Measures of each cluster by name, those that are known, and sentences on what they mean."""

    measures: dict[str, FloatArray]
    notes: list[str]


def measure_quality(subject: Subject, neighbors: IndexArray, stability: bool) -> Quality:
    """Measure the clusters of a sample, of whose rows `neighbors` are the nearest ones."""
    found = {
        "cohesion": _cohesion(subject.sample.labels, neighbors, subject.n_clusters),
        "separation": _separation(subject),
    }
    notes = [_MEANINGS[name] for name, values in found.items() if values is not None]
    if stability:
        found["stability"], note = measure_stability(subject)
        notes.append(note)
    return Quality({name: values for name, values in found.items() if values is not None}, notes)


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


def measure_stability(subject: Subject) -> tuple[FloatArray | None, str]:
    """Fit halves of a sample four times, and find the clusters in these fits.

    Returned are the mean overlaps (Jaccard's index) of each cluster with the most similar cluster of each fit (Hennig
    2007), and a sentence on what was done, or why it was not.
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
