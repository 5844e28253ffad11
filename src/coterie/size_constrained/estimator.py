"""K-means with size constraints."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array
from coterie.blocks.dataset import total_weight
from coterie.centers.lloyd import KMeansResult, lloyd, lower_inertia
from coterie.estimators.parameters import (
    Callback,
    Clusters,
    Init,
    Iterations,
    MaxTime,
    Metric,
    RandomState,
    Runs,
    SizeBound,
    SizeGap,
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.fitting.checks import random_stream
from coterie.fitting.report import FitReport, Stop, with_callbacks
from coterie.fitting.threads import single_threaded_blas
from coterie.kmeans.base import CentroidEstimator
from coterie.passes import MeasuredRows, Passes, measure
from coterie.size_constrained.passes import SizedClusters, SizedSearch
from coterie.size_constrained.sizes import SizeBounds, check_sizes

# Part of the time left that an initialization may take.
_SEEDING_SHARE = 0.25

_HISTORY_FIELDS = (("n_changed", np.int64), ("center_shift", np.float64), ("gap", np.float64))


def size_constrained(
    data: MeasuredRows,
    centers: Array,
    search: SizedSearch,
    *,
    stop: Stop,
    report: FitReport,
    unit_length: bool = False,
) -> KMeansResult:
    """Alternate assignment with size constraints and update of the centers until the centers stay."""
    clusters = SizedClusters(data, search, len(centers), unit_length=unit_length)
    return clusters.result(lloyd(clusters, centers, stop=stop, report=report), report)


class SizeConstrainedKMeans(CentroidEstimator):
    """K-means whose clusters have a minimum and a maximum size.

    Minimizes the inertia, the (weighted) sum of the squared distances of the rows to the centers of their clusters,
    among the assignments in which all sizes are within the constraints.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    size_min, size_max : float, optional
        Minimum and maximum size of every cluster: a number of rows (with weights: of their sum), or below 1 a fraction
        of all rows. 0 or None: no constraint. For equal sizes set both to n / k, or to 1 / k.
    size_gap : float
        Largest excess of the inertia of each assignment over the least possible, relative to it. `history_` has its
        upper bound, the duality gap, which is usually far smaller.
    init : {"split-merge", "k-means++", "afk-mc2", "random"}, array-like of shape (k, d), fitted model, or callable
        How centers are initialized; see `KMeans`.
    n_init : "auto" or int
        Number of runs with different initializations; the one of the lowest inertia is kept. "auto": 10 for "random"
        and callables, 1 otherwise.
    max_iter : int
        Maximum number of iterations of a run.
    tol : float
        A run has converged when the squared movement of the centers is at most `tol` times the mean variance of the
        columns, or no label changed.
    metric, zero_rows, random_state, verbose, n_threads, callback
        See `KMeans`.
    max_time : float, optional
        Time limit in seconds, labels included. If it ends within an assignment, the sizes are still within the
        constraints, and the gap shows the loss.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centers.
    labels_ : ndarray of shape (n,), int32
        The cluster of each row: not always that of the nearest center.
    inertia_ : float
        (Weighted) sum of squared distances of the rows to the centers of their clusters, or of 1 - cos.
    size_range_ : ndarray of shape (2,), float64
        The smallest and the largest (weighted) size of a cluster.
    outlier_scores_, cluster_scales_
        See `KMeans`.
    n_iter_ : int
        Iterations of the best run.
    history_ : record array
        One row per iteration of the best run: `iteration`, `seconds`, `objective` (inertia of the labels with the
        centers that gave them), `n_changed`, `center_shift` and `gap` (the most that other labels within the
        constraints could gain, relative to the objective).
    n_features_in_, feature_names_in_, preparation_
        See `KMeans`.

    Raises
    ------
    ValueError
        As `KMeans`, and if no k clusters of these sizes are possible.

    Notes
    -----
    The dual variables of the constraints, one per cluster, give a lower bound of the inertia of any assignment within
    them, fractional ones included. The dual is ascended by Newton's method on the nearest centers of each row, and the
    remaining rows are moved along shortest paths between clusters. With equal weights, or none, sizes are whole numbers
    within the constraints; with different weights sizes may exceed them by the largest weight, because rows are not
    divided, and the gap may be slightly below 0. If n / k is not a whole number, equal sizes differ by one. `predict`
    returns the nearest center: new rows do not count toward the sizes.

    References
    ----------
    Bradley, Bennett and Demiriz, Constrained k-means clustering, Microsoft Research TR-2000-65, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import SizeConstrainedKMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [50.0]])
    >>> model = SizeConstrainedKMeans(2, size_min=3, random_state=0).fit(X)
    >>> np.bincount(model.labels_).tolist()
    [3, 3]
    """

    def __init__(
        self,
        n_clusters: Clusters = 8,
        size_min: SizeBound = None,
        size_max: SizeBound = None,
        *,
        size_gap: SizeGap = 1e-3,
        init: Init = "split-merge",
        n_init: Runs = "auto",
        max_iter: Iterations = 300,
        tol: Tolerance = 1e-4,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        metric: Metric = "euclidean",
        zero_rows: ZeroRows = "error",
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.size_min = size_min
        self.size_max = size_max
        self.size_gap = size_gap
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.metric = metric
        self.zero_rows = zero_rows
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        self.check_parameters()
        report = FitReport(self, _HISTORY_FIELDS, n_runs=self._n_runs())
        rows, columns = self._rows_to_fit(X)
        given = self._given_centers(rows, self.n_init)
        self._check_n_rows(rows)
        weights, random = self._weights_of(rows, sample_weight), random_stream(self.random_state)
        total = total_weight(rows.shape[0], weights)
        bounds = SizeBounds.of(self.size_min, self.size_max, total)
        bounds.check(self.n_clusters, total)
        with (
            report.scikit_learn_callbacks(X),
            single_threaded_blas(math.prod(rows.shape) * self.n_clusters),
        ):
            data, best = measure(Passes(rows, weights, self.n_threads), self.n_clusters), None
            stop = Stop(self.max_iter, self.tol * data.mean_variance)
            for _ in report.restarts(self._n_runs()):
                centers = given
                if centers is None:
                    centers = self._drawn_centers(X, data, random, report.deadline.share(_SEEDING_SHARE))
                self._check_distances(centers, data.shift)
                search = SizedSearch(
                    bounds, total, self.n_clusters,
                    gap=float(self.size_gap), n_threads=self._n_threads, deadline=report.deadline,
                )  # fmt: skip
                result = size_constrained(
                    data, centers, search,
                    stop=stop, report=report.start_run(), unit_length=self._is_cosine,
                )  # fmt: skip
                best = lower_inertia(best, result)
            assert best is not None
        sizes = np.bincount(best.labels, weights, minlength=self.n_clusters)
        self._store_fitted(
            columns
            | self._centers_fitted(best.centers, data.shift)
            | self._labels_fitted(rows, best.centers, best.labels, best.squares, weights)
            | {"history_": best.history, "n_iter_": len(best.history)}
            | {"size_range_": np.array([sizes.min(), sizes.max()], dtype=np.float64)}
        )
        report.warn_if_out_of_time()
        return self

    def _fitted_attributes(self) -> dict[str, str]:
        return {**super()._fitted_attributes(), "size_range_": "float 2"}

    def check_parameters(self) -> None:
        super().check_parameters()
        check_sizes(self.size_min, self.size_max)
