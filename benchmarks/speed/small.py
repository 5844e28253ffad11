"""Runs that no other benchmark has: many trials, small fits, the first fit of a process."""

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.measuring import measured, seconds_of

_REPEATS = 200


def run_trials(_name: str, n_rows: int, n_init: int, seed: int, n_threads: int) -> dict[str, Any]:
    """Cluster a graph by total variation from many starts."""
    from benchmarks.harness.data.tables import overlapping_blobs
    from coterie import TotalVariationClustering
    from coterie.graphs import knn_graph

    graph = knn_graph(overlapping_blobs(n_rows, 32), 10)
    options = {"n_init": n_init, "random_state": seed, "n_threads": n_threads}
    model = TotalVariationClustering(20, affinity="precomputed", **options)
    with measured() as cost:
        model.fit(graph)
    return vars(cost) | {"energy": model.energy_}


def _coterie_model(kind: str, n_threads: int) -> Any:
    names = {"mini-batch": "MiniBatchKMeans", "mixture": "TruncatedGaussianMixture"}
    path = f"coterie.{names.get(kind, 'KMeans')}"
    return model_of(path, 3, random_state=0, n_threads=n_threads)


def _scikit_learn_model(kind: str, n_threads: int) -> Any:
    if kind == "mixture":
        return model_of("sklearn.mixture.GaussianMixture", 3, covariance_type="spherical", random_state=0)
    name = "MiniBatchKMeans" if kind == "mini-batch" else "KMeans"
    return model_of(f"sklearn.cluster.{name}", 3, n_init=1, random_state=0)


SMALL = {
    "coterie": Contender("coterie", _coterie_model),
    "scikit-learn": Contender("sklearn", _scikit_learn_model),
}


def run_small(name: str, kind: str, _seed: int, n_threads: int, repeats: int = _REPEATS) -> dict[str, Any]:
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
