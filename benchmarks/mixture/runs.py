"""The runs of whole fits, each in a process of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.measuring import measured, seconds_of
from benchmarks.harness.quality import inertia
from benchmarks.mixture.contenders import CORESET, FITS, SEEDING, Fit, n_trials
from benchmarks.mixture.settings import Setting

SAMPLED_CLUSTERS = 50  # of so many clusters, one is seeded to forecast the seconds of all
FORECAST_ITERATIONS = 20  # few for Lloyd's algorithm with hundreds of clusters


LABELS = "labels_seconds"


def run_fit(name: str, data: Path, setting: Setting, seed: int, n_threads: int) -> dict[str, Any]:
    """Fit one contender and measure it; labels, its error and the seconds of its parts are measured afterwards."""
    X, tested = setting.split(np.load(data))
    fit, found = fitted(name, X, setting, seed, n_threads)
    labels = {LABELS: seconds_of(partial(fit.label, X), n_threads) if fit.label else 0.0}
    return found | labels | {"error": quantization_error(tested, fit.centers)}


def fitted(
    name: str, X: np.ndarray, setting: Setting, seed: int, n_threads: int
) -> tuple[Fit, dict[str, Any]]:
    """Fit one contender; return what it returned and what it took."""
    fitting = FITS[name].call
    fitting(X[:2000], setting.tiny, seed, n_threads)
    with measured(n_threads) as cost:
        fit = fitting(X, setting, seed, n_threads)
    seconds = dict.fromkeys((CORESET, SEEDING), 0.0) | fit.seconds
    for part, function in fit.again.items():
        seconds[part] = seconds_of(function, n_threads)
    sizes = {"n_iter": int(fit.n_iter), "n_distances": fit.n_distances, "input_bytes": X.nbytes}
    return fit, vars(cost) | seconds | sizes


def quantization_error(X: np.ndarray, centers: np.ndarray) -> float:
    """Return the mean squared distance of the rows to the nearest center, found by comparing with all of them."""
    # Around the mean, where float32 products lose less.
    mean = X.mean(axis=0, dtype=np.float64)
    return inertia((X - mean).astype(np.float32), np.asarray(centers - mean, np.float32), 2048) / len(X)


def nearest_means(X: np.ndarray, centers: np.ndarray, rows_per_block: int = 2048) -> np.ndarray:
    """Return the number of the nearest center of each row, found by comparing with all of them."""
    mean = X.mean(axis=0, dtype=np.float64)
    relative = np.asarray(centers - mean, np.float32)
    squares = np.einsum("ij,ij->i", relative, relative)
    labels = np.empty(len(X), np.int32)
    for start in range(0, len(X), rows_per_block):
        block = (X[start : start + rows_per_block] - mean).astype(np.float32)
        labels[start : start + rows_per_block] = (squares - 2 * (block @ relative.T)).argmin(axis=1)
    return labels


def run_forecast(data: Path, setting: Setting, n_threads: int) -> float:
    """Return about how many seconds scikit-learn's k-means++ and Lloyd will take on all rows, at the least.

    One in so many clusters is seeded, with the trials of all; two iterations and the labels that follow give the
    seconds of an iteration.
    """
    from sklearn.cluster import KMeans, kmeans_plusplus

    X, _ = setting.split(np.load(data))
    n_clusters = setting.n_clusters
    n_seeded = max(2, n_clusters // SAMPLED_CLUSTERS)
    seeds = partial(kmeans_plusplus, X, n_seeded, n_local_trials=n_trials(n_clusters), random_state=0)
    seeding = seconds_of(seeds, n_threads) * n_clusters / n_seeded
    start = X[np.sort(np.random.default_rng(0).choice(len(X), n_clusters, replace=False))]
    model = KMeans(n_clusters, init=start, n_init=1, max_iter=2, tol=0, algorithm="lloyd")
    return seeding + FORECAST_ITERATIONS / 3 * seconds_of(partial(model.fit, X), n_threads)
