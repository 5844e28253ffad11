"""What speaks for each number of clusters: a curve over k with intervals, and which k it would take, if any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from coterie.arrays import FloatArray, IndexArray
from coterie.choices.sample import references
from coterie.choices.stability import LEAST_ARI, MOST_ARI, Interval, half_pairs, interval_of, pair_agreement
from coterie.convex.path import ConvexClusterPath
from coterie.graphs import knn_graph
from coterie.kmeans.exact import KMeans
from coterie.mixture.estimator import TruncatedGaussianMixture

__all__ = ["Criterion", "Resampling", "bic", "convex_merges", "eigengaps", "gap_statistic", "stability"]

# Half samples, and reference sets of each kind.
_PAIRS = 5
_REFERENCE_SETS = 3
_REFERENCE_PAIRS = 2
_MIXTURE_HALVES = 4

_MAX_ITER = 50

# Graphs of so many rows are decomposed as dense matrices, exactly: Lanczos' method loses equal eigenvalues.
_GRAPH_ROWS = 1_000
_GRAPH_NEIGHBORS = 10
_GRAPHS = 4

# Rows of a convex path, and the share of them that a cluster must have to count: the last rows to fuse are outliers.
_PATH_ROWS = 200
_PATH_SHARE = 0.02
_PATHS = 4

# How alike clusterings must be to be called stable.
_STABLE = 0.9


@dataclass(frozen=True)
class Criterion:
    """A curve over the number of clusters.

    Attributes
    ----------
    name : str
        In tables, such as "gap".
    title : str
        For people.
    ks : ndarray of shape (m,), int64
        Numbers of clusters.
    values, low, high : ndarray of shape (m,), float64
        The curve, and what it lies between with a confidence of 90%.
    chance : ndarray of shape (m,), float64, or None
        What data without clusters would show.
    choice : int or None
        Which number it would take; 1 or None for none.
    why : str
        How it chooses, and what it favours.
    """

    name: str
    title: str
    ks: IndexArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray | None
    choice: int | None
    why: str


@dataclass(frozen=True)
class Resampling:
    """The points of a sample, and how they are clustered again and again.

    Attributes
    ----------
    points : ndarray of shape (m, e), float64
        Along their principal directions.
    ks : sequence of int
        Numbers of clusters, ascending, from 2.
    random : RandomState
        What draws.
    n_threads : int
        Threads of the fits.
    check_time : callable
        Raises TimeoutError when the time is over.
    """

    points: FloatArray
    ks: Sequence[int]
    random: np.random.RandomState
    n_threads: int
    check_time: Callable[[], None]

    def seed(self) -> int:
        """Draw a seed."""
        return int(self.random.randint(np.iinfo(np.int32).max))

    def k_means(self, points: FloatArray, k: int) -> KMeans:
        """Cluster points."""
        self.check_time()
        return KMeans(k, max_iter=_MAX_ITER, random_state=self.seed(), n_threads=self.n_threads).fit(points)


def _criterion(
    name: str,
    title: str,
    ks: Sequence[int],
    curve: Sequence[Interval],
    choice: int | None,
    why: str,
    chance: FloatArray | None = None,
) -> Criterion:
    values, low, high = np.array(curve, dtype=np.float64).reshape(-1, 3).T
    return Criterion(name, title, np.array(ks, dtype=np.int64), values, low, high, chance, choice, why)


def stability(task: Resampling) -> Criterion:
    """Agreement of k-means on half samples, on the rows that two of them share."""
    usable = [k for k in task.ks if 2 * k <= len(task.points) // 2]
    drawn = [points for _, points in references(task.points, 1, task.random)]
    curve, chance = [], []
    for k in usable:
        curve.append(interval_of(_agreements(task, task.points, k, _PAIRS), LEAST_ARI, MOST_ARI))
        chance.append(max(float(np.mean(_agreements(task, points, k, _REFERENCE_PAIRS))) for points in drawn))
    stable = [k for k, interval, other in zip(usable, curve, chance) if interval.low >= max(_STABLE, other)]
    why = (
        f"The most clusters that half samples find again (ARI of {_STABLE} or more, and above that of data without "
        "clusters). Favours few clusters."
    )
    choice = max(stable, default=None)
    return _criterion("stability", "stability of k-means (ARI)", usable, curve, choice, why, np.array(chance))


def _agreements(task: Resampling, points: FloatArray, k: int, n_pairs: int) -> list[float]:
    pairs = half_pairs(len(points), n_pairs, task.random)
    return [pair_agreement(pair, lambda rows: task.k_means(points[rows], k).labels_) for pair in pairs]


def gap_statistic(task: Resampling) -> Criterion:
    """How much tighter k-means is than on data without clusters (Tibshirani et al. 2001), also with k = 1."""
    ks = [1, *task.ks]
    own = _log_inertias(task, task.points, ks)
    kinds: dict[str, list[FloatArray]] = {}
    for kind, drawn in references(task.points, _REFERENCE_SETS, task.random):
        kinds.setdefault(kind, []).append(_log_inertias(task, drawn, ks))
    gaps = {kind: np.mean(found, axis=0) - own for kind, found in kinds.items()}
    # The reference that is the harder to beat.
    kind = min(gaps, key=lambda kind: float(np.max(gaps[kind] - gaps[kind][0])))
    values = gaps[kind]
    errors = np.std(kinds[kind], axis=0, ddof=1) * np.sqrt(1 + 1 / _REFERENCE_SETS)
    curve = [Interval(value, value - 2 * error, value + 2 * error) for value, error in zip(values, errors)]
    enough = values[:-1] >= values[1:] - errors[1:]
    choice = int(ks[int(enough.argmax())]) if enough.any() else None
    words = {"gaussian": "one Gaussian of the same covariance", "box": "uniform data in the box of the rows"}
    why = f"The fewest clusters whose gap to {words[kind]} the next number does not raise. Favours round clusters."
    return _criterion("gap", "gap statistic", ks, curve, choice, why)


def _log_inertias(task: Resampling, points: FloatArray, ks: Sequence[int]) -> FloatArray:
    centred = points - points.mean(axis=0)
    inertias = [float(np.square(centred).sum()) if k == 1 else task.k_means(points, k).inertia_ for k in ks]
    return np.log(np.maximum(inertias, 1e-300))


def bic(task: Resampling) -> Criterion:
    """The Bayesian information criterion of Gaussian mixtures, per row of half samples; the lower the better."""
    ks = [k for k in task.ks if 4 * k <= len(task.points) // 2]
    halves = [first for first, _ in half_pairs(len(task.points), _MIXTURE_HALVES, task.random)]
    curve = [interval_of([_bic_per_row(task, task.points[half], k) for half in halves]) for k in [1, *ks]]
    choice = [1, *ks][int(np.argmin([interval.mean for interval in curve]))]
    why = (
        "The mixture of Gaussians (one variance a cluster and column) that is the likeliest for its size. Takes "
        "several clusters where one is no Gaussian."
    )
    return _criterion("bic", "BIC per row of Gaussian mixtures", [1, *ks], curve, choice, why)


def _bic_per_row(task: Resampling, points: FloatArray, k: int) -> float:
    if k == 1:
        n_rows, n_columns = points.shape
        variances = np.maximum(points.var(axis=0), 1e-300)
        likelihood = -0.5 * float(np.log(2 * np.pi * variances).sum() + n_columns)
        return -2 * likelihood + 2 * n_columns * np.log(n_rows) / n_rows
    task.check_time()
    model = TruncatedGaussianMixture(
        k, covariance_type="diag", init="k-means++", max_iter=_MAX_ITER, random_state=task.seed(),
        n_threads=task.n_threads,
    )  # fmt: skip
    return model.fit(points).bic(points) / len(points)


def eigengaps(task: Resampling) -> Criterion:
    """The gap behind the k-th eigenvalue of the normalised Laplacian of the graph of nearest neighbours."""
    n_rows = min(_GRAPH_ROWS, (len(task.points) + 1) // 2)
    ks = [k for k in range(2, max(task.ks) + 1) if k + 1 < n_rows]
    found = [
        _gaps(task, task.points[task.random.permutation(len(task.points))[:n_rows]], ks)
        for _ in range(_GRAPHS)
    ]
    curve = [interval_of(column, lowest=0.0) for column in np.transpose(found)]
    drawn = [points[:n_rows] for _, points in references(task.points, 2, task.random)]
    chance = np.max([_gaps(task, points, ks) for points in drawn], axis=0)
    best = int(np.argmax([interval.mean for interval in curve]))
    choice = ks[best] if curve[best].low > chance.max() else None
    why = (
        "The largest gap, if it is larger than any of data without clusters. Favours clusters of any shape with few "
        "edges between them."
    )
    return _criterion("eigengap", "eigengap of the graph", ks, curve, choice, why, chance)


def _gaps(task: Resampling, points: FloatArray, ks: Sequence[int]) -> FloatArray:
    task.check_time()
    directed = knn_graph(
        points, min(_GRAPH_NEIGHBORS, len(points) - 1), method="exact", n_threads=task.n_threads
    )
    graph = directed.maximum(directed.T)
    degrees = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-300)
    scale = sp.diags_array(1 / np.sqrt(degrees))
    values = np.sort(1 - np.linalg.eigvalsh((scale @ graph @ scale).toarray().astype(np.float64)))
    return np.diff(values)[np.array(ks) - 1]


def convex_merges(task: Resampling) -> Criterion:
    """How long a number of clusters lasts on the path of convex clustering, as a share of its logarithm."""
    size = min(_PATH_ROWS, len(task.points))
    ks = [k for k in range(2, max(task.ks) + 1) if k <= size * _PATH_SHARE * 10]
    found = [
        _lifetimes(task, task.points[task.random.permutation(len(task.points))[:size]], ks)
        for _ in range(_PATHS)
    ]
    curve = [interval_of(column, lowest=0.0) for column in np.transpose(found)]
    best = int(np.argmax([interval.mean for interval in curve]))
    choice = ks[best] if curve[best].low > 0 else None
    why = (
        f"The number that lasts longest, of clusters of {_PATH_SHARE:.0%} of {size} rows or more. Favours round "
        "clusters."
    )
    return _criterion("convex path", "share of the convex path", ks, curve, choice, why)


def _lifetimes(task: Resampling, points: FloatArray, ks: Sequence[int]) -> FloatArray:
    task.check_time()
    path = ConvexClusterPath(n_gammas=50, tol=1e-3, random_state=task.seed(), n_threads=task.n_threads).fit(
        points
    )
    least = max(2, int(np.ceil(_PATH_SHARE * len(points))))
    counts = np.array([int(np.sum(np.bincount(labels) >= least)) for labels in path.labels_path_])
    gammas = path.gammas_
    lasts = np.diff(np.log(gammas[1:])) if len(gammas) > 2 else np.zeros(0)
    whole = max(float(lasts.sum()), 1e-300)
    return np.array([lasts[counts[1:-1] == k].sum() / whole for k in ks])
