"""Stability of clusters: comparison with fits of half samples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from coterie.arrays import FloatArray, IntArray
from coterie.reports.subject import Subject, clusters_of, refitted, seconds_of
from coterie.rows import as_rows

_MOST_ROWS = 5_000
_ROWS_A_CLUSTER = 20

# Of half of the vertices most have lost half of their neighbors.
_SHARE_OF_GRAPH = 0.8

# Seconds of all fits together.
_SECONDS = 1.2


def measure_stability(subject: Subject, n_fits: int) -> tuple[FloatArray | None, str]:
    """Fit halves of a sample, and find the clusters in these fits, unless that would take too long or mean nothing.

    Returned are the mean overlaps (Jaccard's index) of each cluster with the most similar cluster of each fit (Hennig
    2007), and a sentence on what was done, or why it was not.
    """
    model, sample = subject.model, subject.sample
    if n_fits < 1:
        return None, "Stability was not requested."
    if subject.method is None:
        return None, "Stability is not measured: the time of this method is unknown."
    if subject.is_graph and len(sample.rows) < subject.rows.shape[0]:
        return None, "Stability is not measured: a sample of a large graph is a different graph."
    share, what = (_SHARE_OF_GRAPH, "vertices") if subject.is_graph else (0.5, "rows")
    n_rows = min(int(len(sample.rows) * share), _MOST_ROWS)
    if n_rows < _ROWS_A_CLUSTER * subject.n_clusters:
        return None, (
            f"Stability is not measured: {share:.0%} of the {len(sample.rows):,} sampled {what} are fewer than "
            f"{_ROWS_A_CLUSTER} for each of {subject.n_clusters:,} clusters."
        )
    expected = seconds_of(model) * n_rows / subject.rows.shape[0]
    has_all_starts = n_fits * expected <= _SECONDS
    if not has_all_starts:
        expected /= _n_runs(model)
    affordable = n_fits if expected <= 0 else int(min(n_fits, _SECONDS / expected))
    if affordable < 2:
        return None, (
            f"Stability is not measured: {n_fits} more fits of {n_rows:,} {what} would take about "
            f"{n_fits * expected:.0f} s."
        )
    changes = {} if has_all_starts or isinstance(model.get_params().get("n_init"), str) else {"n_init": 1}
    overlaps = np.array([_overlaps(subject, n_rows, seed, changes) for seed in range(affordable)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a cluster without a row in any half
        means = np.nanmean(overlaps, axis=0)
    return means, (
        f"Stability: the mean overlap (Jaccard's index) of a cluster with the most similar one in {affordable} fits of "
        f"{n_rows:,} random {what} each{'' if not changes else ', with one run'}; from 0.75 on it counts as stable, "
        f"below 0.6 as not reproduced. With this few {what} it is biased downward."
    )


def _n_runs(model: Any) -> int:
    starts = getattr(model, "n_init", 1)
    return starts if isinstance(starts, int) and starts > 0 else 1


def _overlaps(subject: Subject, n_rows: int, seed: int, changes: dict[str, Any]) -> FloatArray:
    """Fit random rows; return for each cluster its overlap with the most similar cluster of that fit."""
    sample, n_clusters = subject.sample, subject.n_clusters
    chosen = np.sort(np.random.default_rng(seed).choice(len(sample.rows), n_rows, replace=False))
    block = sample.block[chosen][:, sample.rows[chosen]] if subject.is_graph else sample.block[chosen]
    try:
        again = refitted(subject.model, block, seed, changes)
        # A path is cut where it has as many clusters.
        found = clusters_of(again, as_rows(block), n_clusters=n_clusters)
    except ValueError:
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
