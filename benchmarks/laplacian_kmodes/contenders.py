"""What clusters the rows of one graph of neighbors: Laplacian K-modes, k-means and spectral clustering.

All fits share the graph, which `LaplacianKModes` would search for itself: here its parts are put together on
neighbors that are given, and do what its `fit` does from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender
from benchmarks.laplacian_kmodes.setting import N_NEIGHBORS, Neighbors, Setting

K_MEANS = "coterie k-means"
SPECTRAL = "scikit-learn spectral"
SLK_MS, SLK_BO = "coterie SLK-MS", "coterie SLK-BO"
MODE_UPDATES = {SLK_MS: "mean_shift", SLK_BO: "byproduct"}


@dataclass(frozen=True)
class Clustering:
    """What a contender found; `objective` is that of Laplacian K-modes."""

    labels: np.ndarray
    objective: float | None = None


Prepared = Callable[[], Clustering]


def _k_means(X: np.ndarray, _: Neighbors, setting: Setting, seed: int) -> Prepared:
    from coterie import KMeans

    model = KMeans(setting.n_clusters, n_init=setting.n_init, random_state=seed, n_threads=setting.n_threads)
    return lambda: Clustering(model.fit(X).labels_)


def _spectral(_: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Prepared:
    import scipy.sparse as sp
    from sklearn.cluster import SpectralClustering

    from coterie.graphs import graph_of_neighbors

    graph = sp.csr_matrix(graph_of_neighbors(neighbors.ids, neighbors.squares, symmetrize="mean"))
    model = SpectralClustering(
        setting.n_clusters, affinity="precomputed", assign_labels="cluster_qr", random_state=seed
    )
    return lambda: Clustering(model.fit(graph).labels_)


def prepare_modes(
    X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int, *, mode_update: str
) -> Prepared:
    """Return what fits Laplacian K-modes on the graph of these neighbors."""
    from coterie import LaplacianKModes
    from coterie.graphs import gaussian_bandwidth

    model = LaplacianKModes(
        setting.n_clusters, graph_weight=setting.lam, n_neighbors=N_NEIGHBORS, mode_update=mode_update,
        bandwidth=setting.bandwidth_factor * gaussian_bandwidth(neighbors.squares), init=setting.init,
        n_init=setting.n_init, random_state=seed, n_threads=setting.n_threads,
    )  # fmt: skip
    return partial(_fit_on_graph, model, X, neighbors)


def _fit_on_graph(model: Any, X: np.ndarray, neighbors: Neighbors) -> Clustering:
    from coterie.fitting.report import Report, Stop
    from coterie.fitting.threads import single_threaded_blas
    from coterie.graphs import graph_of_neighbors
    from coterie.laplacian_kmodes.memberships import GraphMemberships
    from coterie.laplacian_kmodes.modes import VectorModes
    from coterie.laplacian_kmodes.solver import HISTORY_FIELDS, KModesProblem, bound_optimization

    graph = graph_of_neighbors(
        neighbors.ids, neighbors.squares, weights=model.weights, bandwidth=model.bandwidth,
        symmetrize=model.symmetrize,
    )  # fmt: skip
    search = VectorModes(X, model.bandwidth, mode_update=model.mode_update, n_threads=model.n_threads)
    problem = KModesProblem(graph, search, model.n_clusters, float(model.graph_weight))
    memberships = GraphMemberships(
        graph, model.n_clusters, diagonal_shift=model.diagonal_shift, n_threads=model.n_threads
    )
    random, report = np.random.RandomState(model.random_state), Report(model, HISTORY_FIELDS)
    with single_threaded_blas():
        starts = (search.start(_first_centers(model, X, random), random) for _ in range(model.n_init))
        results = (
            bound_optimization(
                problem, modes, memberships, stop=Stop(model.max_iter, model.tol),
                membership_tol=model.membership_tol, report=report.start_run(),
            )
            for modes in starts
        )  # fmt: skip
        best = min(results, key=lambda result: (result.n_empty, result.objective))
    return Clustering(best.labels, float(best.objective))


def _first_centers(model: Any, X: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    from coterie import KMeans
    from coterie.seeding import k_means_plus_plus

    if model.init == "k-means":
        seed = random.randint(np.iinfo(np.int32).max)
        fitted = KMeans(model.n_clusters, random_state=seed, n_threads=model.n_threads).fit(X)
        return fitted.cluster_centers_
    return k_means_plus_plus(X, model.n_clusters, random_state=random, n_threads=model.n_threads)[0]


CONTENDERS: dict[str, Contender] = {
    K_MEANS: Contender("coterie", _k_means),
    SPECTRAL: Contender("sklearn", _spectral),
    **{
        name: Contender("coterie", partial(prepare_modes, mode_update=update))
        for name, update in MODE_UPDATES.items()
    },
}
