"""Bisecting k-means (Steinbach, Karypis & Kumar 2000): clusters halved one after the other, which makes a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from coterie.arrays import Array, FloatArray, IndexArray, IntArray
from coterie.blocks.dataset import weighted_sum
from coterie.blocks.kernel_rows import kept_rows
from coterie.centers.labels import squares_to_centers
from coterie.estimators.declared import Declared, Numbers
from coterie.estimators.parameters import (
    Algorithm,
    Callback,
    Clusters,
    CopyX,
    Init,
    Iterations,
    MaxTime,
    Param,
    RandomState,
    Threads,
    Tolerance,
    Verbose,
)
from coterie.fitting.callbacks import with_callbacks
from coterie.fitting.checks import check_positive_integer
from coterie.fitting.randomness import random_stream
from coterie.fitting.report import Report
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.kmeans.base import CentroidEstimator
from coterie.kmeans.bisection import BisectionTree, Halves, Leaf
from coterie.kmeans.within import k_means_within
from coterie.rows import RowSource, as_rows
from coterie.rows.normalized import SelectedRows

__all__ = ["STRATEGIES", "BisectingKMeans"]

RunsOfSplit = Annotated[int, Param("Number of runs of each split; the best one is kept.", least=1)]
Strategy = Annotated[
    Literal["biggest_inertia", "largest_cluster"],
    Param("The cluster that is split next: the one of the largest inertia, or of the most rows."),
]
STRATEGIES = get_args(get_args(Strategy)[0])

_HISTORY_FIELDS = (("divided", np.int64), ("n_clusters", np.int64))


class BisectingKMeans(CentroidEstimator):
    """K-means of two clusters again and again: the worst cluster is halved, until there are enough.

    All numbers of clusters up to `n_clusters` come out of one fit: `labels_at`. Clusters are of more even sizes than
    those of k-means, and many of them cost less, as a split compares rows with two centroids; their inertia is higher.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"random", "k-means++", "afk-mc2"} or callable
        Where each split begins, see `KMeans`. A callable gets `(rows of the cluster, 2, random_state=...)`.
    n_init : int
        Number of starts of each split, of which the best is kept.
    random_state : int, RandomState or None
        Source of randomness.
    max_iter : int
        Iterations of each split, at most.
    verbose : bool or int
        Print each split.
    tol : float
        When a split has converged: see `KMeans`, with the rows of its cluster.
    copy_x : bool
        Accepted for scikit-learn's sake; X is never changed.
    algorithm : {"auto", "lloyd", "elkan", "yinyang", "hamerly"}
        How rows find their nearest centroids; the clusters are the same.
    bisecting_strategy : {"biggest_inertia", "largest_cluster"}
        Which cluster is halved next: that with the largest (weighted) sum of squared distances, or with the most rows.
    max_time : float, optional
        Seconds, from the call on. There are as many clusters then as have been split off, with a ConvergenceWarning.
    n_threads : int, optional
        None: all processors. The bits do not depend on it.
    callback : callable, optional
        Called with a `FitProgress` after each split; the fit stops if it returns True.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centroids, in the order of the tree: those of one half before those of the other.
    labels_ : ndarray of shape (n,), int32
        The cluster of each row: not always that of the nearest centroid.
    inertia_ : float
        (Weighted) sum of the squared distances of rows to their centroids.
    splits_ : ndarray of shape (k - 1,), int64
        Which node each split halved. Node 0 is all rows; split number i makes the nodes 2 i + 1 and 2 i + 2.
    tree_centers_ : ndarray of shape (2 k - 1, d)
        The centroid of each node.
    outlier_scores_, cluster_scales_
        See `KMeans`.
    n_iter_ : int
        Splits.
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
    Interface and rules are scikit-learn's. A split of a cluster of m rows costs O(m d) in each of its iterations.
    Clusters whose rows are all equal are not split: there are fewer clusters then, with a ConvergenceWarning.

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

    metric = "euclidean"
    zero_rows = "error"
    _shifts: FloatArray

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        init: Init = "random",
        n_init: RunsOfSplit = 1,
        random_state: RandomState = None,
        max_iter: Iterations = 300,
        verbose: Verbose = 0,
        tol: Tolerance = 1e-4,
        copy_x: CopyX = True,
        algorithm: Algorithm = "auto",
        bisecting_strategy: Strategy = "biggest_inertia",
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
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> BisectingKMeans:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            The data; see `coterie.open_rows` for files. Never changed.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        BisectingKMeans
            This estimator.
        """
        n_threads = effective_n_threads(self.n_threads)
        self.check_parameters()
        report = Report(self, _HISTORY_FIELDS, n_steps=max(1, int(self.n_clusters) - 1))
        rows = kept_rows(self._fit_rows_of(X, reset=True), n_threads)
        self._check_n_rows(rows)
        weights = self._weights_of(rows, sample_weight)
        random = random_stream(self.random_state)
        with report.scikit_learn_callbacks(X), single_threaded_blas():
            report.start_run()
            tree = self._tree(rows, weights, random, report)
            self._store(tree, rows, weights)
        self.history_ = report.history()
        self.n_iter_ = len(self.history_)
        if report.reason is None:
            self._warn_of_empty_clusters()
        report.warn_if_out_of_time()
        return self

    def labels_at(self, n_clusters: int) -> IntArray:
        """Return the labels of the rows of the fit when there were so many clusters.

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
            If there never were so many.
        """
        check_is_fitted(self)
        check_positive_integer("n_clusters", n_clusters)
        if n_clusters > len(self.cluster_centers_):
            raise ValueError(
                f"n_clusters={n_clusters} is more than the {len(self.cluster_centers_)} clusters of the tree."
            )
        return self._bisection.labels_at(n_clusters)[self.labels_]

    # --- the algorithm -------------------------------------------------------------------------------------------

    def _tree(
        self, rows: RowSource, weights: Array | None, random: np.random.RandomState, report: Report
    ) -> BisectionTree:
        """Halve the worst cluster, until there are enough or none can be halved."""
        whole = self._run(rows, weights, 1, random, report)
        everything = np.arange(rows.shape[0])
        tree = BisectionTree(whole.cluster_centers_[0])
        leaves = {0: Leaf(everything, whole.inertia_)}
        while len(leaves) < self.n_clusters:
            worst = self._worst(leaves)
            if worst is None:
                break
            halves = self._halves(rows, weights, leaves.pop(worst).rows, random, report)
            leaves.update(zip(tree.divide(worst, halves), halves.leaves))
            stop = report(
                sum(leaf.inertia for leaf in leaves.values()),
                lambda: tree.centers_of(tree.leaves()),
                divided=worst,
                n_clusters=len(leaves),
            )
            if stop:
                break
        return tree

    def _worst(self, leaves: Mapping[int, Leaf]) -> int | None:
        """Return the leaf that is to be halved; None if no leaf has rows that differ."""
        divisible = [node for node, leaf in leaves.items() if leaf.inertia > 0 and len(leaf.rows) > 1]
        by_rows = self.bisecting_strategy == "largest_cluster"
        return max(
            divisible,
            key=lambda node: len(leaves[node].rows) if by_rows else leaves[node].inertia,
            default=None,
        )

    def _halves(
        self,
        rows: RowSource,
        weights: Array | None,
        numbers: IndexArray,
        random: np.random.RandomState,
        report: Report,
    ) -> Halves:
        some = rows.take(numbers) if rows.in_memory else SelectedRows(rows, numbers)
        own = None if weights is None else weights[numbers]
        model = self._run(some, own, 2, random, report)
        squares = squares_to_centers(
            as_rows(some), model.cluster_centers_, model.labels_, effective_n_threads(self.n_threads)
        )
        leaves = []
        for label in (0, 1):
            part = np.flatnonzero(model.labels_ == label)
            inertia = weighted_sum(squares[part], None if own is None else own[part])
            leaves.append(Leaf(numbers[part], inertia))
        return Halves(model.cluster_centers_, model._shift, (leaves[0], leaves[1]))

    def _run(
        self,
        rows: Any,
        weights: Array | None,
        n_clusters: int,
        random: np.random.RandomState,
        report: Report,
    ) -> Any:
        return k_means_within(
            report.deadline,
            rows,
            n_clusters,
            sample_weight=weights,
            init=self.init if n_clusters > 1 else "random",
            n_init=self.n_init if n_clusters > 1 else 1,
            max_iter=self.max_iter,
            tol=self.tol,
            algorithm="lloyd" if n_clusters == 1 else self.algorithm,
            random_state=random,
            n_threads=self.n_threads,
        )

    def _store(self, tree: BisectionTree, rows: RowSource, weights: Array | None) -> None:
        self.splits_, self.tree_centers_ = tree.splits, tree.centers
        self._shifts = tree.shifts
        self._store_centers(tree.centers[tree.leaves()], np.zeros(rows.shape[1]))
        self._store_labels(*self._labels_and_squares(rows), weights)

    # --- a fitted model ------------------------------------------------------------------------------------------

    @property
    def _bisection(self) -> BisectionTree:
        return BisectionTree.of(self.splits_, self.tree_centers_, self._shifts)

    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the cluster of each row of X: at each node of the tree, on the side of the nearer centroid.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Any rows.
        return_distance : bool
            Whether to return how far the rows are from their centroids, too; see `KMeans.predict`.

        Returns
        -------
        labels : ndarray of shape (n,), int32
            For the rows of the fit, those of `labels_`.
        distances : ndarray of shape (n,), float32
            Only with `return_distance`.
        """
        check_is_fitted(self)
        rows = self._rows_of(X, reset=False)
        if not return_distance:
            return self._bisection.labels_of(rows, effective_n_threads(self.n_threads))
        self._check_scales()
        labels, squares = self._labels_and_squares(rows)
        return labels, self._relative(self._distances_of(squares), labels)

    def _labels_and_squares(self, rows: RowSource) -> tuple[IntArray, FloatArray]:
        n_threads = effective_n_threads(self.n_threads)
        labels = self._bisection.labels_of(rows, n_threads)
        return labels, squares_to_centers(rows, self.cluster_centers_, labels, n_threads)

    def fitted_attributes(self) -> dict[str, Declared]:
        return {
            **super().fitted_attributes(),
            "splits_": Numbers(("k-1",), "integer", least=0, may_be_empty=True),
            "tree_centers_": Numbers(("m", "d")),
            "_shifts": Numbers(("k-1", "d"), may_be_empty=True),
        }

    def check_state(self, fitted: Mapping[str, Any]) -> None:
        super().check_state(fitted)
        if "splits_" in fitted:
            problem = BisectionTree.problem(fitted["splits_"], fitted["tree_centers_"])
            if problem:
                raise ValueError(problem)

    def check_parameters(self) -> None:
        super().check_parameters()
        if not self._draws_centers():
            raise ValueError(
                f"init must say how the two centroids of a split are drawn, got {type(self.init).__name__}."
            )
