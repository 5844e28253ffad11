"""Rows whose classes are known, clustered with many starts.

Contenders are Laplacian K-modes, k-means, and what the paper compares with. All but k-means share the graph of
neighbors. Peers are small, plain versions where no kept library has one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.benchmark import Result
from benchmarks.harness.contenders import Contender, model_of
from benchmarks.harness.measuring import clock, measured
from benchmarks.laplacian_kmodes.lk import gaussian, laplacian_k_modes
from coterie import LaplacianKModes
from coterie.graphs import graph_of_neighbors, nearest_neighbors
from coterie.graphs.distinct import Vertices
from coterie.graphs.knn import gaussian_bandwidth
from coterie.metrics import clustering_accuracy, normalized_mutual_info_score
from coterie.seeding import k_means_plus_plus

N_NEIGHBORS = 5
SEED = 0
K_MEANS = "coterie k-means"
NCUT, KERNEL_K_MEANS, LK = "scikit-learn NCut", "kernel k-means (own, plain)", "LK (own, plain)"
SLK_MS, SLK_BO = "coterie SLK-MS", "coterie SLK-BO"
MODE_UPDATES = {SLK_MS: "mean_shift", SLK_BO: "byproduct"}

_MOST_ROUNDS = 100


@dataclass(frozen=True)
class Setting:
    """Parameters of all contenders; `bandwidth_factor` multiplies the bandwidth of the modes."""

    n_clusters: int
    lam: float
    n_threads: int
    bandwidth_factor: float = 1.0


class Neighbors(NamedTuple):
    """The nearest rows of all rows."""

    ids: np.ndarray
    squares: np.ndarray

    @classmethod
    def found(cls, X: np.ndarray, n_threads: int) -> Self:
        return cls(*nearest_neighbors(X, N_NEIGHBORS, random_state=SEED, n_threads=n_threads)[:2])

    def graph(self, symmetrize: str = "mean") -> Any:
        return graph_of_neighbors(*self, symmetrize=symmetrize)

    def bandwidth(self, factor: float) -> float:
        return float(factor * gaussian_bandwidth(self.squares))


def _neighbors_file(data: Path) -> Path:
    return data.with_name(f"{data.stem}-neighbors.npz")


def load_neighbors(data: Path) -> Neighbors:
    """Return the neighbors that `run_graph` kept beside the data."""
    with np.load(_neighbors_file(data)) as file:
        return Neighbors(*file.values())


Prepared = Callable[[], np.ndarray]


def _labels_of(model: Any, rows: Any) -> np.ndarray:
    return model.fit(rows).labels_


def _k_means(X: np.ndarray, _: Neighbors, setting: Setting, seed: int) -> Prepared:
    options = {"n_init": 1, "random_state": seed, "n_threads": setting.n_threads}
    return partial(_labels_of, model_of("coterie.KMeans", setting.n_clusters, **options), X)


def _normalized_cut(_: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> Prepared:
    options = {"affinity": "precomputed", "assign_labels": "discretize", "random_state": seed}
    model = model_of("sklearn.cluster.SpectralClustering", setting.n_clusters, **options)
    return partial(_labels_of, model, sp.csr_matrix(neighbors.graph()))


class OnNeighbors(LaplacianKModes):
    """A `LaplacianKModes` on neighbors that are given."""

    neighbors: Neighbors

    def _neighbors(self, rows: Any, random: np.random.RandomState) -> tuple[Vertices, np.ndarray, np.ndarray]:
        return Vertices(rows), *self.neighbors


def _modes(X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int, *, mode_update: str) -> Prepared:
    model = OnNeighbors(
        setting.n_clusters, graph_weight=setting.lam, n_neighbors=N_NEIGHBORS, mode_update=mode_update,
        bandwidth=neighbors.bandwidth(setting.bandwidth_factor), init="k-means++", n_init=1,
        select_by="objective", random_state=seed, n_threads=setting.n_threads,
    )  # fmt: skip
    model.neighbors = neighbors
    return partial(_labels_of, model, X)


def greedy_centers(X: np.ndarray, n_clusters: int, seed: int, n_threads: int) -> np.ndarray:
    return k_means_plus_plus(X, n_clusters, random_state=seed, n_threads=n_threads)[0]


def _kernel_k_means(X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> np.ndarray:
    """Kernel k-means with the graph as the kernel: K_pp - 2 mean_q K_pq + the mean of K within the cluster."""
    graph, bandwidth = neighbors.graph().astype(np.float64), neighbors.bandwidth(setting.bandwidth_factor)
    labels = gaussian(X, greedy_centers(X, setting.n_clusters, seed, setting.n_threads), bandwidth).argmax(
        axis=1
    )
    for _ in range(_MOST_ROUNDS):
        members = np.eye(setting.n_clusters)[labels]
        means = (graph @ members) / np.maximum(members.sum(axis=0), 1)
        within = np.sum(members * means, axis=0) / np.maximum(members.sum(axis=0), 1)
        distances = np.where(members.any(axis=0), within - 2 * means, np.inf)
        before, labels = labels, distances.argmin(axis=1)
        if np.array_equal(before, labels):
            break
    return labels


def _lk(X: np.ndarray, neighbors: Neighbors, setting: Setting, seed: int) -> np.ndarray:
    """Wang's and Carreira-Perpinan's Laplacian K-modes (2014)."""
    bandwidth, seeds = (
        neighbors.bandwidth(setting.bandwidth_factor),
        greedy_centers(X, setting.n_clusters, seed, setting.n_threads),
    )
    return laplacian_k_modes(X, neighbors.graph("none"), seeds, bandwidth, setting.lam).labels


def _plain(call: Callable[..., np.ndarray]) -> Contender:
    return Contender("sklearn", partial(partial, call))


# In the order of the paper.
EVERYONE: dict[str, Contender] = {
    K_MEANS: Contender("coterie", _k_means),
    # The eigenvectors are discretized as Shi's and Malik's code does.
    NCUT: Contender("sklearn", _normalized_cut),
    KERNEL_K_MEANS: _plain(_kernel_k_means),
    LK: _plain(_lk),
    **{name: Contender("coterie", partial(_modes, mode_update=how)) for name, how in MODE_UPDATES.items()},
}

# The paper picks seeds and lambdas by the accuracy on a tenth of the rows, whose labels are given.
LABELED_SHARE = 0.1


def load_labeled(data: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data) as file:
        return file["X"], file["y"]


def run_graph(data: Path, n_threads: int) -> dict[str, Any]:
    """Find the neighbors of all rows, measure it and keep them beside the data."""
    X, _ = load_labeled(data)
    with measured(n_threads) as cost:
        neighbors = Neighbors.found(X, n_threads)
    np.savez(_neighbors_file(data), *neighbors)
    return vars(cost)


def run_starts(name: str, data: Path, setting: Setting, n_seeds: int) -> list[Result]:
    """Fit once for each seed, on the graph of `run_graph`.

    The scores include `known`, the accuracy on those rows whose labels a user may know.
    """
    X, y = load_labeled(data)
    neighbors = load_neighbors(data)
    known = np.random.default_rng(SEED).random(len(y)) < LABELED_SHARE
    found = []
    seconds = clock(setting.n_threads)
    for seed in range(n_seeds):
        begin = seconds()
        labels = EVERYONE[name].call(X, neighbors, setting, seed)()
        took = {"seconds": seconds() - begin, "known": _scores(y[known], labels[known])["accuracy"]}
        found.append(took | _scores(y, labels))
    return found


def _scores(y: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    nmi, accuracy = normalized_mutual_info_score(y, labels), clustering_accuracy(y, labels)
    return {"nmi": float(nmi), "accuracy": accuracy}
