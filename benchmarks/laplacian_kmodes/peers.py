"""What the paper compares with, beside k-means: K-modes, mean shift, normalized cuts, kernel k-means, and LK.

All but mean shift get the same seeds and the same graph as ours. Small, plain versions where no kept library has one.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness.contenders import Contender
from benchmarks.laplacian_kmodes.contenders import CONTENDERS, Clustering, Prepared
from benchmarks.laplacian_kmodes.lk import gaussian, laplacian_k_modes, mean_shifts
from benchmarks.laplacian_kmodes.setting import Neighbors, Setting

K_MODES, KERNEL_K_MEANS, LK = "K-modes (own, plain)", "kernel k-means (own, plain)", "LK (own, plain)"
MEAN_SHIFT, NCUT = "scikit-learn mean shift", "scikit-learn NCut"

_MOST_ROUNDS = 100
# Mean shifts from every row of MNIST take hours.
_MEAN_SHIFT_ROWS, _MEAN_SHIFT_SEEDS, _MEAN_SHIFT_QUANTILES = 1000, 30, (0.01, 0.02, 0.05, 0.1, 0.2)


def _seeds(X: np.ndarray, setting: Setting, seed: int) -> np.ndarray:
    from coterie.seeding import k_means_plus_plus

    random = np.random.RandomState(seed)
    return k_means_plus_plus(X, setting.n_clusters, random_state=random, n_threads=setting.n_threads)[0]


def _bandwidth(neighbors: Neighbors, setting: Setting) -> float:
    from coterie.graphs import gaussian_bandwidth

    return float(setting.bandwidth_factor * gaussian_bandwidth(neighbors.squares))


def k_modes(X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Prepared:
    """Carreira-Perpinan and Wang's K-modes (2013): rows go to the closest mode, modes are mean shifts of their rows."""

    def run() -> Clustering:
        bandwidth, modes, labels = _bandwidth(neighbors, setting), _seeds(X, setting, seed), None
        for _ in range(_MOST_ROUNDS):
            # The logarithm of the kernel: far rows have a closest mode, too.
            squares = np.einsum("ij,ij->i", modes, modes) - 2 * (X @ modes.T)
            before, labels = labels, squares.argmin(axis=1)
            if before is not None and np.array_equal(before, labels):
                break
            modes = mean_shifts(X, np.eye(len(modes), dtype=X.dtype)[labels], modes, bandwidth)
        return Clustering(labels)

    return run


def mean_shift(X: np.ndarray, _: Neighbors, setting: Setting, seed: int) -> Prepared:
    """Mean shifts among 1,000 rows, from 30 of them; each row goes to the closest end.

    It finds a number of clusters by itself: of several bandwidths the one with about as many as are wanted counts.
    """
    from sklearn.cluster import MeanShift, estimate_bandwidth

    def run() -> Clustering:
        random = np.random.RandomState(seed)
        some = X[random.permutation(len(X))[:_MEAN_SHIFT_ROWS]]
        models = [
            MeanShift(bandwidth=bandwidth, seeds=some[:_MEAN_SHIFT_SEEDS], max_iter=100).fit(some)
            for quantile in _MEAN_SHIFT_QUANTILES
            if (bandwidth := estimate_bandwidth(some, quantile=quantile, random_state=seed)) > 0
        ]
        best = min(models, key=lambda model: abs(len(model.cluster_centers_) - setting.n_clusters))
        return Clustering(best.predict(X))

    return run


def ncut(_: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Prepared:
    """Normalized cuts, with the eigenvectors discretized as Shi's and Malik's code does."""
    import scipy.sparse as sp
    from sklearn.cluster import SpectralClustering

    from coterie.graphs import graph_of_neighbors

    def run() -> Clustering:
        graph = sp.csr_matrix(graph_of_neighbors(neighbors.ids, neighbors.squares, symmetrize="mean"))
        model = SpectralClustering(
            setting.n_clusters, affinity="precomputed", assign_labels="discretize", random_state=seed
        )
        return Clustering(model.fit(graph).labels_)

    return run


def kernel_k_means(X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Prepared:
    """Kernel k-means with the graph as the kernel: K_pp - 2 mean_q K_pq + the mean of K within the cluster."""
    from coterie.graphs import graph_of_neighbors

    def run() -> Clustering:
        graph = graph_of_neighbors(neighbors.ids, neighbors.squares, symmetrize="mean").astype(np.float64)
        labels = gaussian(X, _seeds(X, setting, seed), _bandwidth(neighbors, setting)).argmax(axis=1)
        for _ in range(_MOST_ROUNDS):
            members = np.eye(setting.n_clusters)[labels]
            means = (graph @ members) / np.maximum(members.sum(axis=0), 1)
            within = np.sum(members * means, axis=0) / np.maximum(members.sum(axis=0), 1)
            distances = np.where(members.any(axis=0), within - 2 * means, np.inf)
            before, labels = labels, distances.argmin(axis=1)
            if np.array_equal(before, labels):
                break
        return Clustering(labels)

    return run


def lk(X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Prepared:
    """Wang's and Carreira-Perpinan's Laplacian K-modes (2014)."""
    from coterie.graphs import graph_of_neighbors

    def run() -> Clustering:
        graph = graph_of_neighbors(neighbors.ids, neighbors.squares, symmetrize="none")
        bandwidth = _bandwidth(neighbors, setting)
        return Clustering(
            laplacian_k_modes(X, graph, _seeds(X, setting, seed), bandwidth, setting.lam).labels
        )

    return run


PEERS: dict[str, Contender] = {
    K_MODES: Contender("numpy", k_modes),
    MEAN_SHIFT: Contender("sklearn", mean_shift),
    NCUT: Contender("sklearn", ncut),
    KERNEL_K_MEANS: Contender("scipy", kernel_k_means),
    LK: Contender("scipy", lk),
}
EVERYONE = {**CONTENDERS, **PEERS}
