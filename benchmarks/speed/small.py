"""Runs that no other benchmark has: the first pass with bounds, many trials, small fits, the first fit of a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender
from benchmarks.harness.measuring import measured, seconds_of

_PASSES, _REPEATS = 5, 200


def run_first_pass(algorithm: str, data: Path, first_centers: Path) -> dict[str, Any]:
    """Assign all rows for the first time, bounds included, on one thread; the least of some tries."""
    from coterie.backend import LocalBackend
    from coterie.backend.measure import measure
    from coterie.centers.frame import CenterFrame
    from coterie.centers.lloyd import passes_of
    from coterie.rows import as_rows

    X, centers = np.load(data), np.load(first_centers)
    rows = measure(LocalBackend(as_rows(X), n_threads=1), len(centers))
    frame = CenterFrame(centers, rows.shift)
    tries = [passes_of(rows, len(centers), algorithm) for _ in range(_PASSES)]
    with measured(1) as cost:
        seconds = [seconds_of(lambda passes=passes: passes.assign(frame, afresh=True), 1) for passes in tries]  # type: ignore[misc]
    return vars(cost) | {"seconds": min(seconds), "cpu_seconds": min(seconds)}


def run_trials(n_rows: int, n_init: int, seed: int, n_threads: int) -> dict[str, Any]:
    """Cluster a graph by total variation from many starts."""
    from benchmarks.harness.data.generated import overlapping_blobs
    from coterie import TotalVariationClustering
    from coterie.graphs import knn_graph

    graph = knn_graph(overlapping_blobs(n_rows, 32), 10)
    options = {"n_init": n_init, "random_state": seed, "n_threads": n_threads}
    model = TotalVariationClustering(20, affinity="precomputed", **options)
    with measured() as cost:
        model.fit(graph)
    return vars(cost) | {"energy": model.energy_}


def _coterie_model(kind: str, n_threads: int) -> Any:
    from coterie import KMeans, MiniBatchKMeans, TruncatedGaussianMixture

    models: dict[str, Callable[..., Any]] = {
        "mini-batch": MiniBatchKMeans,
        "mixture": TruncatedGaussianMixture,
    }
    return models.get(kind, KMeans)(3, random_state=0, n_threads=n_threads)


def _scikit_learn_model(kind: str, n_threads: int) -> Any:
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.mixture import GaussianMixture

    if kind == "mixture":
        return GaussianMixture(3, covariance_type="spherical", random_state=0)
    if kind == "mini-batch":
        return MiniBatchKMeans(3, n_init=1, random_state=0)
    return KMeans(3, n_init=1, random_state=0)


SMALL = {
    "coterie": Contender("coterie", _coterie_model),
    "scikit-learn": Contender("sklearn", _scikit_learn_model),
}


def run_small(kind: str, name: str, n_threads: int, repeats: int = _REPEATS) -> dict[str, Any]:
    """Fit 150 rows of 4 columns with 3 clusters, or label one of them; the median of many, or the first of all."""
    X = np.random.default_rng(0).normal(size=(150, 4)) + np.repeat([[0.0], [3.0], [6.0]], 50, axis=0)
    model = SMALL[name].call(kind, n_threads)
    if kind == "first":
        with measured() as cost:
            model.fit(X)
        return vars(cost)
    model.fit(X)
    row = X[:1].copy()
    task: Callable[[], object] = (lambda: model.predict(row)) if kind == "predict" else (lambda: model.fit(X))
    task()
    with measured() as cost:
        seconds = [seconds_of(task) for _ in range(repeats)]
    return vars(cost) | {"seconds": median(seconds), "cpu_seconds": cost.cpu_seconds / len(seconds)}
