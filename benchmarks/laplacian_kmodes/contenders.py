"""What `benchmarks.laplacian_kmodes` compares, each run in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.harness.data import mnist
from benchmarks.harness.measuring import measured
from benchmarks.kmeans.fits import Contender

N_NEIGHBORS = 5
SEED = 0
# The paper picks seeds and lambdas by the accuracy on a tenth of the rows, whose labels are given.
LABELLED_SHARE = 0.1
# Few enough that all rows still move: the update passes over those that have settled.
UPDATES, UPDATE_ROUNDS = 3, 25

GRAPH = "coterie graph"
K_MEANS = "coterie k-means"
SPECTRAL = "scikit-learn spectral"
SLK_MS, SLK_BO = "coterie SLK-MS", "coterie SLK-BO"
MODE_UPDATES = {SLK_MS: "mean_shift", SLK_BO: "byproduct"}


@dataclass(frozen=True)
class Setting:
    """Parameters of all contenders; `bandwidth_factor` multiplies the bandwidth of the modes, `init` is theirs too."""

    n_clusters: int
    lam: float
    n_init: int
    n_threads: int
    bandwidth_factor: float = 1.0
    init: str = "k-means++"


@dataclass(frozen=True)
class Neighbors:
    """The nearest rows of all rows."""

    ids: np.ndarray
    squares: np.ndarray

    @classmethod
    def load(cls, data: Path) -> Neighbors:
        """Return those that `run_graph` found."""
        with np.load(_neighbors_file(data)) as file:
            return cls(file["ids"], file["squares"])

    @contextmanager
    def given(self) -> Iterator[None]:
        """Let `LaplacianKModes` take these instead of looking for them, so that fits share one graph."""
        found = (self.ids, self.squares)
        with mock.patch("coterie.laplacian_kmodes.estimator.nearest_neighbors", return_value=found):
            yield


def run_graph(data: Path, n_threads: int) -> dict[str, Any]:
    """Find the neighbours of all rows, measure it and keep them beside the data."""
    from coterie.graphs import nearest_neighbors

    X, _ = _load(data)
    with measured() as cost:
        ids, squares = nearest_neighbors(X, N_NEIGHBORS, random_state=SEED, n_threads=n_threads)
    np.savez(_neighbors_file(data), ids=ids, squares=squares)
    return vars(cost) | {"input_bytes": X.nbytes}


def run_clustering(name: str, data: Path, setting: Setting, seed: int) -> dict[str, Any]:
    """Cluster the rows, on the graph of `run_graph` where one is needed, and measure it."""
    X, y = _load(data)
    neighbors = Neighbors.load(data)
    with neighbors.given():
        run = CONTENDERS[name].call(X, neighbors, setting, seed)
        with measured() as cost:
            model = run()
    return vars(cost) | _scores(y, model.labels_) | {"objective": getattr(model, "objective_", None)}


def run_starts(name: str, data: Path, setting: Setting, n_seeds: int) -> dict[str, list[float]]:
    """Fit once for each seed, on the graph of `run_graph`.

    Returns
    -------
    dict
        Lists over the seeds: `objective`, `nmi`, `accuracy`, `seconds`, and `known`, the accuracy on those rows whose
        labels a user may know.
    """
    X, y = _load(data)
    neighbors = Neighbors.load(data)
    known = np.random.default_rng(SEED).random(len(y)) < LABELLED_SHARE
    results: dict[str, list[float]] = {}
    with neighbors.given():
        for seed in range(n_seeds):
            started = time.perf_counter()
            model = _slk(name, X, neighbors, setting, seed).set_params(n_init=1).fit(X)
            result = {
                "seconds": time.perf_counter() - started,
                "objective": float(model.objective_),
                "known": _scores(y[known], model.labels_[known])["accuracy"],
                **_scores(y, model.labels_),
            }
            for key, value in result.items():
                results.setdefault(key, []).append(value)
    return results


def run_given_graph(path: Path, setting: Setting, seed: int) -> dict[str, Any]:
    """Cluster the vertices of a stored graph, whose weights are the kernel of the modes too."""
    import scipy.sparse as sp

    from coterie import LaplacianKModes

    with np.load(path) as file:
        graph = sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
    model = LaplacianKModes(
        setting.n_clusters, affinity="precomputed", init="random", lam=setting.lam, n_init=setting.n_init,
        random_state=seed, n_threads=setting.n_threads,
    )  # fmt: skip
    with measured() as cost:
        model.fit(graph)
    edges = graph.tocoo()
    cut = model.labels_[edges.coords[0]] != model.labels_[edges.coords[1]]
    sizes = np.bincount(model.labels_, minlength=setting.n_clusters)
    return vars(cost) | {
        "objective": float(model.objective_),
        "updates": int(model.history_["n_updates"].sum()),
        "cut": float(edges.data[cut].sum() / edges.data.sum()),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "vertices": graph.shape[0],
        "edges": graph.nnz,
    }


def run_updates(n_rows: int, n_clusters: int, n_threads: int) -> dict[str, float]:
    """Measure one update of the memberships of MNIST's rows around random modes.

    Returns
    -------
    dict
        `seconds` of an update and the `bytes` that it must move: affinities and memberships in, memberships and
        edges. Neighbours' memberships count once, as if they came from the cache.
    """
    from coterie.graphs import graph_of_neighbors, nearest_neighbors
    from coterie.laplacian_kmodes.memberships import GraphMemberships

    X = mnist(n_rows)
    ids, squares = nearest_neighbors(
        X, N_NEIGHBORS, method="approximate", random_state=SEED, n_threads=n_threads
    )
    graph = graph_of_neighbors(ids, squares, symmetrize="none")
    memberships = GraphMemberships(graph, n_clusters, shift=True, n_threads=n_threads)
    affinities = np.random.default_rng(SEED).random(memberships.affinities.shape)
    # So far apart that the softmax is not uniform.
    memberships.affinities[:] = 2 * np.log(n_clusters) * affinities

    def seconds(max_updates: int) -> float:
        started = time.perf_counter()
        # Nothing falls by less than -1 of itself: the updates end with their number.
        memberships.minimise(1.3, tol=-1.0, max_updates=max_updates)
        return time.perf_counter() - started

    seconds(1)
    update = median((seconds(1 + UPDATES) - seconds(1)) / UPDATES for _ in range(UPDATE_ROUNDS))
    values = 3 * memberships.memberships.size * memberships.memberships.itemsize
    return {"seconds": update, "bytes": values + graph.indices.nbytes + graph.indptr.nbytes}


def run_whole(name: str, data: Path, setting: Setting) -> dict[str, Any]:
    """Measure a whole fit, the search for neighbours included, or that search alone."""
    from coterie import LaplacianKModes
    from coterie.graphs import nearest_neighbors

    X = np.load(data)
    if name == GRAPH:
        with measured() as cost:
            nearest_neighbors(X, N_NEIGHBORS, random_state=SEED, n_threads=setting.n_threads)
        return vars(cost)
    model = LaplacianKModes(
        setting.n_clusters, lam=setting.lam, n_neighbors=N_NEIGHBORS, mode_update=MODE_UPDATES[name],
        n_init=setting.n_init, random_state=SEED, n_threads=setting.n_threads,
    )  # fmt: skip
    with measured() as cost:
        model.fit(X)
    return vars(cost)


def _k_means(X: np.ndarray, _: Neighbors, setting: Setting, seed: int) -> Any:
    from coterie import KMeans

    model = KMeans(setting.n_clusters, n_init=setting.n_init, random_state=seed, n_threads=setting.n_threads)
    return lambda: model.fit(X)


def _spectral(_: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Any:
    import scipy.sparse as sp
    from sklearn.cluster import SpectralClustering

    from coterie.graphs import graph_of_neighbors

    graph = sp.csr_matrix(graph_of_neighbors(neighbors.ids, neighbors.squares, symmetrize="mean"))
    model = SpectralClustering(
        setting.n_clusters, affinity="precomputed", assign_labels="cluster_qr", random_state=seed
    )
    return lambda: model.fit(graph)


def _modes(name: str) -> Any:
    def prepare(X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Any:
        model = _slk(name, X, neighbors, setting, seed)
        return lambda: model.fit(X)

    return prepare


def _slk(name: str, X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Any:
    from coterie import LaplacianKModes
    from coterie.graphs import gaussian_bandwidth

    return LaplacianKModes(
        setting.n_clusters, lam=setting.lam, n_neighbors=N_NEIGHBORS, mode_update=MODE_UPDATES[name],
        bandwidth=setting.bandwidth_factor * gaussian_bandwidth(neighbors.squares), init=setting.init,
        n_init=setting.n_init, random_state=seed, n_threads=setting.n_threads,
    )  # fmt: skip


CONTENDERS: dict[str, Contender] = {
    K_MEANS: Contender("coterie", _k_means),
    SPECTRAL: Contender("sklearn", _spectral),
    SLK_MS: Contender("coterie", _modes(SLK_MS)),
    SLK_BO: Contender("coterie", _modes(SLK_BO)),
}


def _load(data: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data) as file:
        return file["X"], file["y"]


def _neighbors_file(data: Path) -> Path:
    return data.with_name(f"{data.stem}-neighbors.npz")


def _scores(y: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    from coterie.metrics import clustering_accuracy, normalized_mutual_info_score

    return {
        "nmi": float(normalized_mutual_info_score(y, labels)),
        "accuracy": clustering_accuracy(y, labels),
    }
