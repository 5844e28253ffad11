"""The methods, each told the number of clusters and otherwise left to its defaults, on one thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender

SLK_BO, SLK_MS = "SLK-BO", "SLK-MS"
TV_3, TV_30, TV_PRIORS = (
    "total variation (3)",
    "total variation (30)",
    "total variation (3), estimated priors",
)
MULTILEVEL = "multilevel"
SPECTRAL, LEIDEN, EVOC = "spectral", "Leiden", "EVoC"
NOISE = -1
N_INIT = 10
# Of Leiden: as many neighbors as scanpy takes, and how often the resolution is halved.
_N_NEIGHBORS, _MOST_BISECTIONS, _RESOLUTIONS = 15, 20, (1e-4, 1e2)
# HDBSCAN has no number of clusters: a cluster has at least this share of n / k rows.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Task:
    """What a method is given.

    Attributes
    ----------
    rows : ndarray or csr_array
        Rows, or the graph itself.
    is_graph : bool
        Which of them.
    n_clusters : int
        Number of classes.
    seed : int
        Of what is drawn.
    """

    rows: Any
    is_graph: bool
    n_clusters: int
    seed: int


def _k_means(task: Task) -> np.ndarray:
    from coterie import KMeans

    model = KMeans(task.n_clusters, n_init=N_INIT, random_state=task.seed, n_threads=1)
    return model.fit(task.rows).labels_


def _mixture(
    covariance_type: str = "tied_spherical", n_factors: int = 0, init: str = "afk-mc2"
) -> Callable[[Task], np.ndarray]:
    def run(task: Task) -> np.ndarray:
        from coterie import TruncatedGaussianMixture

        model = TruncatedGaussianMixture(
            task.n_clusters, covariance_type=covariance_type, n_factors=min(n_factors, task.rows.shape[1] - 1),
            init=init, random_state=task.seed, n_threads=1,
        )  # fmt: skip
        return model.fit(task.rows).predict(task.rows)

    return run


def _k_modes(mode_update: str) -> Callable[[Task], np.ndarray]:
    def run(task: Task) -> np.ndarray:
        from coterie import LaplacianKModes

        options: dict[str, Any] = {"random_state": task.seed, "n_threads": 1, "mode_update": mode_update}
        if task.is_graph:
            # The graph is the kernel, too.
            model = LaplacianKModes(task.n_clusters, affinity="precomputed", **options)
            return model.fit((task.rows, task.rows)).labels_
        return LaplacianKModes(task.n_clusters, **options).fit(task.rows).labels_

    return run


def _total_variation(n_init: int, class_priors: str | None = None) -> Callable[[Task], np.ndarray]:
    def run(task: Task) -> np.ndarray:
        from coterie import TotalVariationClustering

        affinity = "precomputed" if task.is_graph else "knn"
        model = TotalVariationClustering(
            task.n_clusters, affinity=affinity, n_init=n_init, class_priors=class_priors, random_state=task.seed,
            n_threads=1,
        )  # fmt: skip
        return model.fit(task.rows).labels_

    return run


def _multilevel(task: Task) -> np.ndarray:
    from coterie import MultilevelGraphClustering

    affinity = "precomputed" if task.is_graph else "knn"
    n_neighbors = min(_N_NEIGHBORS, task.rows.shape[0] - 1)
    model = MultilevelGraphClustering(
        task.n_clusters, n_neighbors=n_neighbors, affinity=affinity, n_threads=1
    )
    return model.fit(task.rows).labels_


def _scikit_learn_k_means(task: Task) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(task.n_clusters, n_init=N_INIT, random_state=task.seed).fit(task.rows).labels_


def _spectral(task: Task) -> np.ndarray:
    import scipy.sparse as sp
    from sklearn.cluster import SpectralClustering

    affinity = "precomputed" if task.is_graph else "nearest_neighbors"
    model = SpectralClustering(
        task.n_clusters, affinity=affinity, assign_labels="cluster_qr", random_state=task.seed
    )
    return model.fit(sp.csr_matrix(task.rows) if task.is_graph else task.rows).labels_


def _ward(task: Task) -> np.ndarray:
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(task.n_clusters, linkage="ward").fit(task.rows).labels_


def _hdbscan(task: Task) -> np.ndarray:
    from sklearn.cluster import HDBSCAN

    least = max(5, int(_LEAST_SHARE * len(task.rows) / task.n_clusters))
    return HDBSCAN(min_cluster_size=least, n_jobs=1, copy=True).fit(task.rows).labels_


def _leiden(task: Task) -> np.ndarray:
    """Leiden on neighbors of either end."""
    import scipy.sparse as sp
    from sklearn.neighbors import kneighbors_graph

    if task.is_graph:
        graph = sp.csr_array(task.rows)
    else:
        one_way = sp.csr_array(kneighbors_graph(task.rows, min(_N_NEIGHBORS, len(task.rows) - 1)))
        graph = sp.csr_array(one_way.maximum(one_way.T))
    return leiden_labels(graph, task.n_clusters, task.seed)


def leiden_labels(graph: Any, n_clusters: int, seed: int) -> np.ndarray:
    """Return Leiden's labels at the first resolution tried that gives so many clusters, else at the nearest one."""
    import igraph
    import leidenalg
    import scipy.sparse as sp

    heads, tails = sp.triu(graph, 1).nonzero()
    network = igraph.Graph(graph.shape[0], np.c_[heads, tails].tolist())

    def labels_at(resolution: float) -> np.ndarray:
        partition = leidenalg.find_partition(
            network,
            leidenalg.RBConfigurationVertexPartition,
            resolution_parameter=resolution,
            seed=seed,
        )
        return np.asarray(partition.membership)

    return bisected(labels_at, n_clusters)


def bisected(labels_at: Callable[[float], np.ndarray], n_clusters: int) -> np.ndarray:
    """Return the labels of the first resolution tried that gives so many clusters, else of the one that is nearest."""
    lower, upper = np.log(_RESOLUTIONS)
    best, least_gap = np.empty(0, dtype=int), np.inf
    for _ in range(_MOST_BISECTIONS):
        labels = labels_at(float(np.exp((lower + upper) / 2)))
        n_found = len(np.unique(labels))
        if abs(n_found - n_clusters) < least_gap:
            best, least_gap = labels, abs(n_found - n_clusters)
        if least_gap == 0:
            break
        lower, upper = ((lower + upper) / 2, upper) if n_found < n_clusters else (lower, (lower + upper) / 2)
    return best


def _genie(task: Task) -> np.ndarray:
    import genieclust

    return genieclust.Genie(n_clusters=task.n_clusters).fit_predict(np.asarray(task.rows, dtype=np.float64))


def _evoc(task: Task) -> np.ndarray:
    import evoc

    model = evoc.EVoC(approx_n_clusters=task.n_clusters, random_state=task.seed)
    return model.fit_predict(np.ascontiguousarray(task.rows, dtype=np.float32))


METHODS_OF_OURS: dict[str, Contender] = {
    "k-means": Contender("coterie", _k_means),
    "mixture": Contender("coterie", _mixture()),
    "mixture, diag": Contender("coterie", _mixture("diag")),
    **{f"mixture, {h} factors": Contender("coterie", _mixture("factors", h)) for h in (1, 2, 5)},
    "mixture from k-means": Contender("coterie", _mixture(init="k-means")),
    "mixture from k-means, diag": Contender("coterie", _mixture("diag", init="k-means")),
    **{
        f"mixture from k-means, {h} factors": Contender("coterie", _mixture("factors", h, "k-means"))
        for h in (1, 2, 5)
    },
    SLK_BO: Contender("coterie", _k_modes("byproduct")),
    SLK_MS: Contender("coterie", _k_modes("mean_shift")),
    TV_3: Contender("coterie", _total_variation(3)),
    TV_30: Contender("coterie", _total_variation(30)),
    TV_PRIORS: Contender("coterie", _total_variation(3, "estimate")),
    MULTILEVEL: Contender("coterie", _multilevel),
}
CONTENDERS: dict[str, Contender] = {
    **METHODS_OF_OURS,
    "k-means (scikit-learn)": Contender("sklearn", _scikit_learn_k_means),
    SPECTRAL: Contender("sklearn", _spectral),
    "Ward": Contender("sklearn", _ward),
    "HDBSCAN": Contender("sklearn", _hdbscan),
    LEIDEN: Contender("leidenalg", _leiden),
    "Genie": Contender("genieclust", _genie),
    EVOC: Contender("evoc", _evoc),
}
# These take a graph as it is.
GRAPH_METHODS = (SLK_BO, TV_3, TV_30, TV_PRIORS, MULTILEVEL, SPECTRAL, LEIDEN)
