"""Bisecting k-means (Steinbach, Karypis & Kumar 2000): clusters halved one after the other, which makes a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import weighted_sum
from coterie.blocks.kernel_rows import kept_rows
from coterie.centers.frame import unit_centers
from coterie.centers.labels import nearest_labels, squares_to_centers
from coterie.centers.lloyd import ClusteredRows, KMeansResult, lloyd, lower_inertia
from coterie.estimators.base import by_chunk
from coterie.estimators.initialization import draw_centers, draws_centers
from coterie.estimators.parameters import (
    Algorithm,
    Callback,
    Clusters,
    CopyX,
    Iterations,
    MaxTime,
    Metric,
    Param,
    RandomState,
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.fitting.checks import check_positive_integer, random_stream
from coterie.fitting.deadline import Deadline
from coterie.fitting.report import FitReport, Stop, with_callbacks
from coterie.fitting.threads import single_threaded_blas
from coterie.kmeans.base import NO_CLUSTER, CentroidEstimator
from coterie.passes import Passes, measure
from coterie.rows import Rows, as_rows
from coterie.rows.derived import rows_of_zeros, selected_rows

__all__ = ["STRATEGIES", "BisectingKMeans", "BisectionTree", "bisecting"]

# Part of the time left that the initialization of a split may take.
_SEEDING_SHARE = 0.25

# Of equal rows at length 1, the distances to their scaled mean in units of the last place.
_ROUNDINGS = 8

SplitInit = Annotated[
    Literal["k-means++", "afk-mc2", "random"] | Any,
    Param("How the two centers of a split are initialized.", also="a callable"),
]
RunsOfSplit = Annotated[int, Param("Number of runs of each split; the best one is kept.", least=1)]
Strategy = Annotated[
    Literal["biggest_inertia", "largest_cluster"],
    Param("The cluster that is split next: the one of the largest inertia, or of the most rows."),
]
STRATEGIES = get_args(get_args(Strategy)[0])

_HISTORY_FIELDS = (("divided", np.int64), ("n_clusters", np.int64))


@dataclass(frozen=True)
class Leaf:
    """The rows of a node that is not halved, by number, and their inertia."""

    rows: IndexArray
    inertia: float


class BisectionTree:
    """Splits of nodes: node 0 is the `root`, with a centroid (d,), and split i makes the nodes 2 i + 1 and 2 i + 2."""

    def __init__(self, root: Array) -> None:
        self._splits: list[int] = []
        self._centers: list[Array] = [root]
        self._shifts: list[FloatArray] = []

    @classmethod
    def of(cls, splits: IntArray, centers: Array, shifts: FloatArray) -> BisectionTree:
        """Return the tree of these arrays, which are those that it has."""
        tree = cls(centers[0])
        tree._splits, tree._centers, tree._shifts = splits.tolist(), list(centers), list(shifts)
        return tree

    @staticmethod
    def problem(splits: IntArray, centers: Array) -> str | None:
        """Return the error of invalid arrays, or None."""
        if len(centers) != 2 * len(splits) + 1:
            return f"tree_centers_ has {len(centers)} rows, splits_ makes {2 * len(splits) + 1} nodes"
        if np.any(splits > 2 * np.arange(len(splits))) or len(np.unique(splits)) < len(splits):
            return "splits_ holds a node twice, or before there is one of that number"
        return None

    @property
    def splits(self) -> IntArray:
        """Which node each split halves, shape (m,)."""
        return np.array(self._splits, dtype=np.int64)

    @property
    def centers(self) -> Array:
        """The centroids of the nodes, shape (2 m + 1, d)."""
        return np.stack(self._centers)

    @property
    def shifts(self) -> FloatArray:
        """The shift of each split, shape (m, d)."""
        return np.array(self._shifts, dtype=np.float64).reshape(len(self._splits), len(self._centers[0]))

    def divide(self, node: int, centers: Array, shift: FloatArray) -> tuple[int, int]:
        """Halve a leaf at two centers, compared with rows by a shift; return the numbers of the halves."""
        first = len(self._centers)
        self._splits.append(node)
        self._centers += list(centers)
        self._shifts.append(shift)
        return first, first + 1

    def centers_of(self, nodes: Iterable[int]) -> Array:
        """Return the centroids of some nodes."""
        return np.stack([self._centers[node] for node in nodes])

    def leaves(self, n_splits: int | None = None) -> IndexArray:
        """Return the nodes that are not halved by the first splits, from left to right: the order of labels."""
        halved = {node: number for number, node in enumerate(self._splits[:n_splits])}
        found, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            if node in halved:
                left = 2 * halved[node] + 1
                waiting += [left + 1, left]
            else:
                found.append(node)
        return np.array(found)

    def labels_at(self, n_clusters: int) -> IntArray:
        """Return the label of each leaf of the tree for a smaller number of clusters."""
        labels = np.full(len(self._centers), -1, dtype=np.int32)
        few = self.leaves(n_clusters - 1)
        labels[few] = np.arange(len(few))
        # Later nodes are made of earlier ones, and those above the cut are of no cluster.
        for number, node in enumerate(self._splits):
            for half in (2 * number + 1, 2 * number + 2):
                labels[half] = labels[node] if labels[node] >= 0 else labels[half]
        return labels[self.leaves()]

    def labels_of(self, rows: Rows, n_threads: int) -> IntArray:
        """Return the label of each row: at each split it goes to the nearer centroid."""
        places = np.empty(len(self._centers), dtype=np.int32)
        leaves = self.leaves()
        places[leaves] = np.arange(len(leaves))
        labels = np.empty(rows.shape[0], dtype=np.int32)
        centers = self.centers.astype(rows.dtype, copy=False)
        for start, block in rows.blocks():
            members = {0: np.arange(block.shape[0])}
            for number, node in enumerate(self._splits):
                numbers = members.pop(node)
                left = 2 * number + 1
                side = np.empty(0, dtype=np.int32)
                if len(numbers):
                    some = as_rows(block[numbers])
                    side = nearest_labels(some, centers[left : left + 2], self._shifts[number], n_threads)
                members[left], members[left + 1] = numbers[side == 0], numbers[side == 1]
            for node, numbers in members.items():
                labels[start + numbers] = places[node]
        return labels


def bisecting(
    rows: Rows,
    weights: Array | None,
    split: Callable[[Any, Array | None, int], tuple[KMeansResult, FloatArray]],
    *,
    n_clusters: int,
    strategy: str,
    report: FitReport,
    inertia_scale: float = 1.0,
    rounding: float = 0.0,
) -> tuple[BisectionTree, str]:
    """Halve the worst cluster until there are enough, or none has rows that differ by more than `rounding`, a squared
    distance (Steinbach, Karypis and Kumar 2000); return the tree, and the reason for the end. `split` returns k-means
    of some rows with weights, and their shift.
    """

    def leaf(numbers: IndexArray, squares: FloatArray) -> Leaf:
        differ = squares.max(initial=0) > rounding
        own = None if weights is None else weights[numbers]
        return Leaf(numbers, inertia_scale * weighted_sum(squares, own) if differ else 0.0)

    whole, _ = split(rows, weights, 1)
    tree = BisectionTree(whole.centers[0])
    leaves = {0: leaf(np.arange(rows.shape[0]), whole.squares)}
    while len(leaves) < n_clusters:
        worst = _worst(leaves, strategy)
        if worst is None:
            break
        numbers = leaves.pop(worst).rows
        some = rows.take(numbers) if rows.in_memory else selected_rows(rows, numbers)
        own = None if weights is None else weights[numbers]
        halves, shift = split(some, own, 2)
        for label, node in enumerate(tree.divide(worst, halves.centers, shift)):
            part = np.flatnonzero(halves.labels == label)
            leaves[node] = leaf(numbers[part], halves.squares[part])
        is_over = report(
            sum(leaf.inertia for leaf in leaves.values()),
            lambda: tree.centers_of(tree.leaves()),
            divided=worst,
            n_clusters=len(leaves),
        )
        if is_over:
            break
    return tree, report.reason or "converged"


def _worst(leaves: Mapping[int, Leaf], strategy: str) -> int | None:
    """Return the leaf that is to be halved; None if no leaf has rows that differ."""
    divisible = [node for node, leaf in leaves.items() if leaf.inertia > 0 and len(leaf.rows) > 1]
    by_rows = strategy == "largest_cluster"
    return max(
        divisible,
        key=lambda node: len(leaves[node].rows) if by_rows else leaves[node].inertia,
        default=None,
    )


class BisectingKMeans(CentroidEstimator):
    """Bisecting k-means: split the worst cluster in two by k-means until there are `n_clusters` clusters.

    One fit gives the clusters of all numbers up to `n_clusters`, see `labels_at`. Cluster sizes are more even than
    those of k-means, and large numbers of clusters take less time, as a split compares rows with two centers only; the
    inertia is higher.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"random", "k-means++", "afk-mc2"} or callable
        Initialization of each split, see `KMeans`. A callable gets `(rows of the cluster, 2, random_state=...)`.
    n_init : int
        Number of runs of each split, of which the best is kept.
    random_state : int, RandomState or None
        Seed of the initializations.
    max_iter : int
        Maximum number of iterations of each split.
    verbose : bool or int
        Print each split.
    tol : float
        Tolerance of the convergence of a split: see `KMeans`, with the rows of its cluster.
    copy_x : bool
        Accepted for compatibility with scikit-learn; X is never changed.
    algorithm : {"auto", "lloyd", "elkan", "yinyang"}
        Algorithm of the assignment step, see `KMeans`; the clusters are the same.
    bisecting_strategy : {"biggest_inertia", "largest_cluster"}
        The cluster that is split next: that with the largest (weighted) sum of squared distances, or with the most
        rows.
    metric : {"euclidean", "cosine"}
        "cosine": spherical k-means; see `KMeans`.
    zero_rows : {"error", "ignore"}
        What to do with rows of zeros where `metric` is "cosine"; see `KMeans`.
    max_time : float, optional
        Time limit in seconds. The clusters split off so far are returned, with a ConvergenceWarning.
    n_threads : int, optional
        None: all processors available to this process. The result is bit-identical for any number.
    callback : callable, optional
        Called with a `FitProgress` after each split; the fit stops if it returns True.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centers, in the order of the tree: those of one half before those of the other.
    labels_ : ndarray of shape (n,), int32
        The cluster of each row: not always that of the nearest center.
    inertia_ : float
        (Weighted) sum of the squared distances of rows to their centers.
    splits_ : ndarray of shape (k - 1,), int64
        The node that each split divides. Node 0 is all rows; split i makes the nodes 2 i + 1 and 2 i + 2.
    tree_centers_ : ndarray of shape (2 k - 1, d)
        The center of each node.
    outlier_scores_, cluster_scales_
        See `KMeans`.
    n_iter_ : int
        Number of splits.
    history_ : record array
        One row per split: `iteration`, `seconds`, `objective` (the inertia), `divided` (the node), `n_clusters`.
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        See `KMeans`.

    Notes
    -----
    The interface and the rules are scikit-learn's. A split of a cluster of m rows costs O(m d) in each of its
    iterations. Clusters whose rows are all equal are not split, so that there may be fewer clusters, with a
    ConvergenceWarning.

    References
    ----------
    Steinbach, Karypis and Kumar, A comparison of document clustering techniques, KDD workshop on text mining, 2000.

    Examples
    --------
    >>> from coterie import BisectingKMeans
    >>> model = BisectingKMeans(4, random_state=0).fit([[1.0], [2], [5], [6], [101], [102], [105], [106]])
    >>> len(set(model.labels_.tolist()))
    4
    >>> halves = model.labels_at(2)
    >>> bool((halves[:4] == halves[0]).all() and (halves[4:] == halves[7]).all() and halves[0] != halves[7])
    True
    >>> model.predict([[0.0], [200.0]]).tolist() == [model.labels_[0], model.labels_[7]]
    True
    """

    _shifts: FloatArray

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        init: SplitInit = "random",
        n_init: RunsOfSplit = 1,
        random_state: RandomState = None,
        max_iter: Iterations = 300,
        verbose: Verbose = 0,
        tol: Tolerance = 1e-4,
        copy_x: CopyX = True,
        algorithm: Algorithm = "auto",
        bisecting_strategy: Strategy = "biggest_inertia",
        metric: Metric = "euclidean",
        zero_rows: ZeroRows = "error",
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.bisecting_strategy = bisecting_strategy
        self.metric = metric
        self.zero_rows = zero_rows
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        self.check_parameters()
        report = FitReport(self, _HISTORY_FIELDS, n_steps=max(1, int(self.n_clusters) - 1))
        rows, columns = self._rows_to_fit(X)
        self._check_n_rows(rows)
        weights, random = self._weights_of(rows, sample_weight), random_stream(self.random_state)

        def split(some: Any, weights: Array | None, n_clusters: int) -> tuple[KMeansResult, FloatArray]:
            return self._split(some, weights, n_clusters, random, report.deadline)

        with report.scikit_learn_callbacks(X), single_threaded_blas():
            kept = kept_rows(rows)
            tree, reason = bisecting(
                kept, weights, split, n_clusters=self.n_clusters, strategy=self.bisecting_strategy,
                report=report.start_run(), inertia_scale=self._inertia_of(1.0),
                rounding=(_ROUNDINGS * np.finfo(rows.dtype).eps) ** 2 if self._is_cosine else 0.0,
            )  # fmt: skip
            centers, labels = tree.centers[tree.leaves()], tree.labels_of(kept, self._n_threads)
            squares = squares_to_centers(kept, centers, labels, self._n_threads)
        if reason not in ("callback", "max_time"):
            self._warn_of_empty_clusters(labels)
        history = report.history()
        self._store_fitted(
            columns
            | self._centers_fitted(centers, np.zeros(rows.shape[1]))
            | self._labels_fitted(rows, centers, labels, squares, weights)
            | {"splits_": tree.splits, "tree_centers_": tree.centers, "_shifts": tree.shifts}
            | {"history_": history, "n_iter_": len(history)}
        )
        report.warn_if_out_of_time()
        return self

    def _split(
        self,
        some: Any,
        weights: Array | None,
        n_clusters: int,
        random: np.random.RandomState,
        deadline: Deadline,
    ) -> tuple[KMeansResult, FloatArray]:
        """Return k-means of some rows, and the shift by which these were compared with its centers."""
        report = FitReport(deadline=deadline)
        init, n_init, algorithm = self.init, self.n_init, self.algorithm
        if n_clusters == 1:
            init, n_init, algorithm = "random", 1, "lloyd"
        data, best = measure(Passes(as_rows(some), weights, self._n_threads), n_clusters), None
        stop = Stop(self.max_iter, self.tol * data.mean_variance)
        for _ in report.restarts(int(n_init)):
            centers = draw_centers(init, some, data, n_clusters, random, deadline.share(_SEEDING_SHARE))
            centers = unit_centers(centers) if self._is_cosine else centers
            self._check_distances(centers, data.shift)
            clusters = ClusteredRows.of(
                data, n_clusters, algorithm, max_iter=self.max_iter, unit_length=self._is_cosine
            )
            frame = lloyd(clusters, centers, stop=stop, report=report.start_run())
            best = lower_inertia(best, clusters.result(frame, report))
        assert best is not None
        return best, data.shift

    def labels_at(self, n_clusters: int) -> IntArray:
        """Return the labels of the rows of the fit for a smaller number of clusters.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of clusters that there are.

        Returns
        -------
        ndarray of shape (n,), int32
            As `labels_` of a fit with this `n_clusters` and the same integer as `random_state`.

        Raises
        ------
        ValueError
            If the tree has fewer clusters.
        """
        check_is_fitted(self)
        n_clusters = check_positive_integer("n_clusters", n_clusters)
        if n_clusters > len(self.cluster_centers_):
            raise ValueError(
                f"n_clusters={n_clusters} is more than the {len(self.cluster_centers_)} clusters of the tree."
            )
        of_leaves = self._bisection.labels_at(n_clusters)
        return np.where(self.labels_ < 0, self.labels_, of_leaves[self.labels_])

    @property
    def _bisection(self) -> BisectionTree:
        return BisectionTree.of(self.splits_, self.tree_centers_, self._shifts)

    @by_chunk
    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the cluster of each row of X: at each node of the tree, on the side of the nearer centroid.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
            Any rows.
        return_distance : bool
            Whether to return the distances to the centroids, too; see `KMeans.predict`.

        Returns
        -------
        labels : ndarray of shape (n,), int32
            For the rows of the fit, those of `labels_`.
        distances : ndarray of shape (n,), float64
            Only with `return_distance`.
        """
        check_is_fitted(self)
        rows = self._rows_of(X)
        labels = self._bisection.labels_of(rows, self._n_threads)
        squares = (
            squares_to_centers(rows, self.cluster_centers_, labels, self._n_threads)
            if return_distance
            else None
        )
        if self._ignores_zeros:
            labels[rows_of_zeros(rows)] = NO_CLUSTER
        return labels if squares is None else (labels, self._own_distances_of(squares, labels))

    def _labels_and_squares(self, rows: Rows) -> tuple[IntArray, FloatArray]:
        labels = self._bisection.labels_of(rows, self._n_threads)
        return labels, squares_to_centers(rows, self.cluster_centers_, labels, self._n_threads)

    def _fitted_attributes(self) -> dict[str, str]:
        more = {"splits_": "int k-1", "tree_centers_": "float m d", "_shifts": "float k-1 d"}
        return {**super()._fitted_attributes(), **more}

    def check_parameters(self) -> None:
        super().check_parameters()
        if not draws_centers(self.init):
            raise ValueError(
                f"init must say how the two centroids of a split are drawn, got {type(self.init).__name__}."
            )
