"""The methods, each told the number of clusters and otherwise left to its defaults, on one thread; one run on a set."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.neighbors import kneighbors_graph

from benchmarks.harness.contenders import Contender, bisected, leiden_on, model_of
from benchmarks.harness.measuring import measured
from benchmarks.harness.reporting import Cell
from coterie.metrics import clustering_accuracy

SLK_BO, SLK_MS = "SLK-BO", "SLK-MS"
TV, MULTILEVEL = "total variation", "multilevel"
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


def _fit(task: Task, path: str, *, is_seeded: bool = True, **options: Any) -> np.ndarray:
    seeded = {"random_state": task.seed} if is_seeded else {}
    return model_of(path, task.n_clusters, **options, **seeded).fit(task.rows).labels_


def _mixture(task: Task) -> np.ndarray:
    model = model_of("coterie.TruncatedGaussianMixture", task.n_clusters, random_state=task.seed, n_threads=1)
    return model.fit(task.rows).predict(task.rows)


def _k_modes(task: Task, mode_update: str) -> np.ndarray:
    options = {"mode_update": mode_update, "affinity": task.affinity, "n_threads": 1}
    # The graph is the kernel, too.
    rows = (task.rows, task.rows) if task.is_graph else task.rows
    return _fit(replace(task, rows=rows), "coterie.LaplacianKModes", **options)


def _total_variation(task: Task, **options: Any) -> np.ndarray:
    return _fit(task, "coterie.TotalVariationClustering", affinity=task.affinity, n_threads=1, **options)


def _multilevel(task: Task, **options: Any) -> np.ndarray:
    options |= {"n_neighbors": min(_N_NEIGHBORS, task.rows.shape[0] - 1), "affinity": task.affinity}
    return _fit(task, "coterie.MultilevelGraphClustering", is_seeded=False, n_threads=1, **options)


def _spectral(task: Task) -> np.ndarray:
    affinity = "precomputed" if task.is_graph else "nearest_neighbors"
    rows = sp.csr_matrix(task.rows) if task.is_graph else task.rows
    options = {"affinity": affinity, "assign_labels": "cluster_qr"}
    return _fit(replace(task, rows=rows), "sklearn.cluster.SpectralClustering", **options)


def _hdbscan(task: Task) -> np.ndarray:
    least = max(5, int(_LEAST_SHARE * len(task.rows) / task.n_clusters))
    model = model_of("sklearn.cluster.HDBSCAN", min_cluster_size=least, n_jobs=1, copy=True)
    return model.fit(task.rows).labels_


def _leiden(task: Task) -> np.ndarray:
    """Leiden on neighbors of either end."""
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


def _evoc(task: Task) -> np.ndarray:
    model = model_of("evoc.EVoC", approx_n_clusters=task.n_clusters, random_state=task.seed)
    return model.fit_predict(np.ascontiguousarray(task.rows, dtype=np.float32))


def _ours(call: Callable[..., np.ndarray], *args: Any, **options: Any) -> Contender:
    return Contender("coterie", lambda task: call(task, *args, **options))


METHODS_OF_OURS: dict[str, Contender] = {
    "k-means": _ours(_fit, "coterie.KMeans", n_init=N_INIT, n_threads=1),
    "mixture": _ours(_mixture),
    SLK_BO: _ours(_k_modes, "byproduct"),
    SLK_MS: _ours(_k_modes, "mean_shift"),
    TV: _ours(_total_variation),
    f"{TV}, binary": _ours(_total_variation, weights="binary"),
    MULTILEVEL: _ours(_multilevel),
    f"{MULTILEVEL}, binary": _ours(_multilevel, weights="binary"),
}
_K_MEANS, _WARD = "sklearn.cluster.KMeans", "sklearn.cluster.AgglomerativeClustering"
CONTENDERS: dict[str, Contender] = {
    **METHODS_OF_OURS,
    "k-means (scikit-learn)": Contender("sklearn", partial(_fit, path=_K_MEANS, n_init=N_INIT)),
    SPECTRAL: Contender("sklearn", _spectral),
    "Ward": Contender("sklearn", partial(_fit, path=_WARD, is_seeded=False)),
    "HDBSCAN": Contender("sklearn", _hdbscan),
    LEIDEN: Contender("leidenalg", _leiden),
    "Genie": Contender(
        "genieclust",
        lambda task: model_of("genieclust.Genie", task.n_clusters).fit_predict(task.rows.astype(float)),
    ),
    EVOC: Contender("evoc", _evoc),
}
# These take a graph as it is.
GRAPH_METHODS = (SLK_BO, TV, MULTILEVEL, SPECTRAL, LEIDEN)


_WARM_ROWS, _WARM_CLUSTERS = 300, 3


@cache
def warm_up(method: str) -> None:
    """Import what a method needs and let it compile itself, on rows that do not count; once a process."""
    rows = np.random.RandomState(0).normal(size=(_WARM_ROWS, 5)).astype(np.float32)
    rows[:, 0] += 20 * (np.arange(_WARM_ROWS) % _WARM_CLUSTERS)
    CONTENDERS[method].call(Task(rows, False, _WARM_CLUSTERS, 0))


def run_cell(method: str, data: Path, seed: int) -> Cell:
    """Cluster a set by a method; score the labels, rows that are told to be noise being one cluster more."""
    task, classes = task_of(data, seed)
    with measured() as cost:
        labels = np.asarray(CONTENDERS[method].call(task))
    is_noise = labels == NOISE
    return {
        **scores_of(classes, labels),
        "clusters": len(np.unique(labels[~is_noise])),
        "noise": float(is_noise.mean()),
        **vars(cost),
        "n_rows": task.rows.shape[0],
        "n_columns": task.rows.shape[1],
        "classes": task.n_clusters,
    }


def scores_of(classes: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return by what clusters are compared with classes."""
    return {
        "accuracy": float(clustering_accuracy(classes, labels - labels.min())),
        "nmi": float(normalized_mutual_info_score(classes, labels)),
        "ari": float(adjusted_rand_score(classes, labels)),
    }


def task_of(data: Path, seed: int) -> tuple[Task, np.ndarray]:
    with np.load(data) as arrays:
        classes = arrays["y"]
        is_graph = "X" not in arrays
        parts = tuple(arrays[name] for name in ("data", "indices", "indptr")) if is_graph else ()
        rows: Any = sp.csr_array(parts, shape=(len(classes), len(classes))) if is_graph else arrays["X"]
        return Task(rows, is_graph, int(classes.max()) + 1, seed), classes
