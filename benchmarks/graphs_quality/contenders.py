"""The methods, each told the number of clusters and otherwise left to its defaults, on one thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.harness.contenders import Contender, bisected, leiden_on, model_of

SLK_BO, SLK_MS = "SLK-BO", "SLK-MS"
TV_3, TV_30 = "total variation (3)", "total variation (30)"
TV_PRIORS = f"{TV_3}, estimated priors"
MULTILEVEL = "multilevel"
SPECTRAL, LEIDEN, EVOC = "spectral", "Leiden", "EVoC"
NOISE = -1
N_INIT = 10
# Of Leiden: as many neighbors as scanpy takes, and decimal logarithms of the resolutions.
_N_NEIGHBORS, _RESOLUTIONS = 15, (-4.0, 2.0)
# HDBSCAN has no number of clusters: a cluster has at least this share of n / k rows.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Task:
    """What a method is given: rows or a graph, the number of classes, and a seed of what is drawn."""

    rows: Any
    is_graph: bool
    n_clusters: int
    seed: int

    @property
    def affinity(self) -> str:
        """What methods on graphs are told of the rows."""
        return "precomputed" if self.is_graph else "knn"


def _fit(path: str, *, is_seeded: bool = True, **options: Any) -> Callable[[Task], np.ndarray]:
    """Return what fits a model on rows."""

    def run(task: Task) -> np.ndarray:
        seeded = {"random_state": task.seed} if is_seeded else {}
        return model_of(path, task.n_clusters, **options, **seeded).fit(task.rows).labels_

    return run


def _mixture(
    covariance_type: str = "tied_spherical", n_factors: int = 0, init: str = "auto"
) -> Callable[[Task], np.ndarray]:
    def run(task: Task) -> np.ndarray:
        model = model_of(
            "coterie.TruncatedGaussianMixture", task.n_clusters, covariance_type=covariance_type,
            n_factors=min(n_factors, task.rows.shape[1] - 1), init=init, random_state=task.seed, n_threads=1,
        )  # fmt: skip
        return model.fit(task.rows).predict(task.rows)

    return run


def _k_modes(mode_update: str) -> Callable[[Task], np.ndarray]:
    def run(task: Task) -> np.ndarray:
        options = {"random_state": task.seed, "n_threads": 1, "mode_update": mode_update}
        model = model_of("coterie.LaplacianKModes", task.n_clusters, affinity=task.affinity, **options)
        # The graph is the kernel, too.
        return model.fit((task.rows, task.rows) if task.is_graph else task.rows).labels_

    return run


def _total_variation(n_init: int, class_priors: str | None = None) -> Callable[[Task], np.ndarray]:
    return lambda task: _fit(
        "coterie.TotalVariationClustering", affinity=task.affinity, n_init=n_init, class_priors=class_priors,
        n_threads=1,
    )(task)  # fmt: skip


def _multilevel(task: Task) -> np.ndarray:
    options = {"n_neighbors": min(_N_NEIGHBORS, task.rows.shape[0] - 1), "affinity": task.affinity}
    return _fit("coterie.MultilevelGraphClustering", is_seeded=False, n_threads=1, **options)(task)


def _spectral(task: Task) -> np.ndarray:
    import scipy.sparse as sp

    affinity = "precomputed" if task.is_graph else "nearest_neighbors"
    rows = sp.csr_matrix(task.rows) if task.is_graph else task.rows
    options = {"affinity": affinity, "assign_labels": "cluster_qr"}
    return _fit("sklearn.cluster.SpectralClustering", **options)(replace(task, rows=rows))


def _hdbscan(task: Task) -> np.ndarray:
    least = max(5, int(_LEAST_SHARE * len(task.rows) / task.n_clusters))
    model = model_of("sklearn.cluster.HDBSCAN", min_cluster_size=least, n_jobs=1, copy=True)
    return model.fit(task.rows).labels_


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
    labels = leiden_on(graph)
    kind = "RBConfigurationVertexPartition"
    return bisected(lambda at: labels(kind, resolution_parameter=at, seed=seed), n_clusters, *_RESOLUTIONS)


def _genie(task: Task) -> np.ndarray:
    model = model_of("genieclust.Genie", n_clusters=task.n_clusters)
    return model.fit_predict(np.asarray(task.rows, dtype=np.float64))


def _evoc(task: Task) -> np.ndarray:
    model = model_of("evoc.EVoC", approx_n_clusters=task.n_clusters, random_state=task.seed)
    return model.fit_predict(np.ascontiguousarray(task.rows, dtype=np.float32))


METHODS_OF_OURS: dict[str, Contender] = {
    "k-means": Contender("coterie", _fit("coterie.KMeans", n_init=N_INIT, n_threads=1)),
    **{
        f"mixture{start}{kind}": Contender("coterie", _mixture(*covariance, init=init))
        for start, init in (("", "auto"), (" from k-means", "k-means"))
        for kind, covariance in {
            "": (),
            ", diag": ("diag",),
            **{f", {h} factors": ("factors", h) for h in (1, 2, 5)},
        }.items()
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
    "k-means (scikit-learn)": Contender("sklearn", _fit("sklearn.cluster.KMeans", n_init=N_INIT)),
    SPECTRAL: Contender("sklearn", _spectral),
    "Ward": Contender("sklearn", _fit("sklearn.cluster.AgglomerativeClustering", is_seeded=False)),
    "HDBSCAN": Contender("sklearn", _hdbscan),
    LEIDEN: Contender("leidenalg", _leiden),
    "Genie": Contender("genieclust", _genie),
    EVOC: Contender("evoc", _evoc),
}
# These take a graph as it is.
GRAPH_METHODS = (SLK_BO, TV_3, TV_30, TV_PRIORS, MULTILEVEL, SPECTRAL, LEIDEN)
