"""Exact k-means: Lloyd's algorithm and its accelerations, which all give the same clusters."""

from __future__ import annotations

import math
import warnings
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array
from coterie.centers.annealed import anneal_centers
from coterie.centers.labels import label_all
from coterie.centers.lloyd import ClusteredRows, lloyd, lower_inertia
from coterie.coresets import draw_coreset
from coterie.estimators.parameters import (
    Algorithm,
    Callback,
    Clusters,
    CopyX,
    Coreset,
    Iterations,
    MaxTime,
    Metric,
    Param,
    RandomState,
    Runs,
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.fitting.checks import random_stream, warn
from coterie.fitting.deadline import Deadline
from coterie.fitting.report import FitReport, Stop, with_callbacks
from coterie.fitting.threads import single_threaded_blas
from coterie.kmeans.base import CentroidEstimator
from coterie.passes import Passes, measure, open_passes
from coterie.rows import as_rows

__all__ = ["HISTORY_FIELDS", "KMeans", "k_means_until"]

KMeansInit = Annotated[
    Literal["split-merge", "k-means++", "k-means||", "afk-mc2", "random"] | Any,
    Param(
        "How centers are initialized: split-merge (a pass of mini-batches, then swaps of clusters), k-means++, "
        "k-means|| (rounds of draws), afk-mc2 (k-means++ by a Markov chain), random rows, or given ones.",
        also="an array of centers, a fitted model or a callable",
        reads=("array", "model"),
    ),
]

# Seconds that `k_means_until` gives where none are left: there must be a model.
_LEAST_SECONDS = 1e-3

# Annealed epochs between split-merge and Lloyd's algorithm, and the number of clusters from which they pay.
_EPOCHS, _LEAST_ANNEALED = 2, 50

# Part of the time left that an initialization may take.
_SEEDING_SHARE = 0.25

HISTORY_FIELDS = (("n_changed", np.int64), ("center_shift", np.float64), ("algorithm", np.int8))


class KMeans(CentroidEstimator):
    """Exact k-means of arrays, sparse matrices, tables, memory maps and files.

    Minimizes the inertia, the (weighted) sum of the squared distances of the rows to their nearest centroids. All
    values of `algorithm` give the same labels for the same initialization; they differ in speed and memory only.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"split-merge", "k-means++", "k-means||", "afk-mc2", "random"}, array-like of shape (k, d), model or callable
        Initialization of the centers. A name: see `coterie.seeding`; "split-merge" takes random rows through a pass of
        annealed mini-batches (see `MiniBatchKMeans`), and then makes a few iterations, after which clusters are split
        and others merged, where that lowers the inertia; with 50 or more clusters two more passes of mini-batches
        follow, but not on Dask workers. "k-means||" draws candidates from all rows in five rounds. An array: the
        centers. A fitted model: its `cluster_centers_`. A callable gets `(X, n_clusters, random_state=...)` and returns
        the centers. For rows on Dask workers, k-means++ and split-merge begin with a random sample of 100,000 rows, or
        64 for each center, at most 256 MiB.
    n_init : "auto" or int
        Number of runs with different initializations; the one with the lowest inertia is kept. "auto": 10 for "random"
        and callables, 1 otherwise.
    max_iter : int
        Maximum number of iterations of a run.
    tol : float
        A run has converged when the squared movement of the centers is at most `tol` times the mean variance of the
        columns (of the rows at length 1, if `metric` is "cosine"), or when no label has changed. Rows whose distance is
        so large that rounding hides the variance of all others are left out of this variance.
    verbose : bool or int
        Print each iteration.
    random_state : int, RandomState or None
        Seed. The result is bit-identical for any number of threads, and for the same rows in memory or in files.
    copy_x : bool
        Accepted for compatibility with scikit-learn; X is never changed.
    algorithm : {"auto", "lloyd", "elkan", "yinyang"}
        "lloyd" compares every row with every center. The others skip comparisons by bounds: "elkan" keeps k bounds per
        row, "yinyang" one per group of neighboring centers. "auto" chooses, see Notes.
    coreset_size : int, optional
        Fit a lightweight coreset of this number of weighted rows instead of all rows (see `coterie.coresets`), and
        label all rows at the end. The inertia is then a few percent above that of a fit to all rows.
    metric : {"euclidean", "cosine"}
        "cosine": spherical k-means, which clusters by cosine distance. Rows and centers are scaled to length 1, those
        of `init` too, and the inertia is the (weighted) sum of 1 - cos. See Notes.
    zero_rows : {"error", "ignore"}
        Rows of zeros, for which the cosine distance is undefined, if `metric` is "cosine": raise an error, or ignore
        them. Ignored rows get the label -1 in `labels_` and `predict`, and the model is bit-identical to that of the
        other rows; finding them takes one more pass over the rows.
    max_time : float, optional
        Time limit in seconds, labels included. The best result so far is returned, with a ConvergenceWarning; if the
        initialization takes too long, a faster one is used, with another warning. At least an initialization, one step
        and the labels of all rows are computed.
    n_threads : int, optional
        None: all processors available to this process.
    callback : callable, optional
        Called with a `FitProgress` after each iteration; the fit stops if it returns True.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centroids.
    labels_ : ndarray of shape (n,), int32
        Index of the nearest center of each row.
    inertia_ : float
        (Weighted) sum of squared distances of the rows to their centroids, or of 1 - cos.
    outlier_scores_ : ndarray of shape (n,), float32
        Distance of each row to its center, divided by the scale of its cluster (`cluster_scales_`): 1 for the median
        row of a cluster. See Notes.
    cluster_scales_ : ndarray of shape (k,), float64
        The (weighted) lower median of the distances of the rows of each cluster to its center.
    n_iter_ : int
        Iterations of the run that was kept.
    history_ : record array
        One row per iteration of that run: `iteration`, `seconds` (since the fit began), `objective` (inertia of the
        labels with the centers that gave them), `n_changed` (labels), `center_shift` (sum of the squared movements of
        the centers), `algorithm` (that of most rows: 0 "lloyd", 1 "elkan", 2 "yinyang").
    n_features_in_ : int
        Number of columns d.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where X was a table.
    preparation_ : tuple of tuple
        Steps that `prepare_rows` applied to the columns of X, and that are applied to new rows.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, k > n, negative weights, or an
        unknown option.

    Notes
    -----
    One iteration of "lloyd" costs 2 n k d floating-point operations at nearly the speed of a matrix product, and 12
    bytes per row in addition to the data. In float32 the bounds of "elkan" take 2 k bytes per row more, those of
    "yinyang" k / 8 (one per panel of 16 centers, at most 1 GiB in all): they are stored in 16 bits, rounded down.

    The rule of "auto": "lloyd" for k < 4, for sparse rows, for fewer than 4 iterations, and for rows of at most 256
    bytes with k d <= 2,048, where reading bounds takes as long as comparing; also where products of 8-bit integers
    are faster than bounds: with AVX-512 and VNNI for k >= 128 and d >= 12; with other AVX-512 or AVX2 for k >= 256
    and 24 <= d < 192, or for fewer than 12 iterations; with all of them from some 10,000 numbers of all centers on,
    and until at most 2% of the rows change their label in an iteration: then "yinyang", whose memory is limited.
    Otherwise "elkan" for d >= 256 and k <= d, else "yinyang".
    With `max_time` the first iteration has no bounds; later ones have them if there is time for 4 iterations as long.

    Rows are compared by products in 8 bits or in their dtype, relative to the mean; the centers that may be nearest by
    bounds of the errors are compared in float64. Rows are summed in float64.

    Spherical k-means. At length 1 the squared distance of a row to a center is 2 - 2 cos, so the nearest center has the
    smallest cosine distance, and the mean, scaled to length 1, minimizes the sum of 1 - cos. The algorithms and their
    exactness are the same. The lengths of rows have no effect. Rows scaled to length 1 before a fit with
    `metric="euclidean"` give other clusters, because Euclidean means are shorter than 1. Rows
    are scaled once and kept. A cluster whose rows sum to zero keeps its center.

    `outlier_scores_`, and those that `predict(X, return_distance=True)` returns for any rows, need no further pass over
    the rows. Until first used they take 8 bytes per row; the scales are saved with the model. A cluster of one row, or
    of equal rows, has the median of the other scales.

    Each row has the label of its nearest center in float64, of equally near ones the first, for rows of any dtype.
    Rows whose squared distances overflow or vanish raise an error: 1e160 or 1e-200 in float64, 1e20 or 1e-25 in
    float32.

    With a coreset of N' rows a fit takes two passes over the data and one for the labels; otherwise its time does not
    depend on n. `inertia_` is that of all rows; the objective in `history_` is estimated from the coreset.

    References
    ----------
    Lloyd, Least squares quantization in PCM, 1982. Elkan, Using the triangle inequality to accelerate k-means, 2003.
    Ding et al., Yinyang k-means, 2015. Newling and Fleuret, Fast k-means
    with accurate bounds, 2016. Kaukoranta, Fränti and Nevalainen, Iterative split-and-merge algorithm for vector
    quantization codebook generation, 1998. Bachem, Lucic and Krause, Scalable k-means clustering via lightweight
    coresets, 2018. Dhillon and Modha, Concept decompositions for large sparse text data using clustering, 2001. Hornik
    et al., Spherical k-means clustering, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import KMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> model.inertia_
    16.0
    >>> model.predict([[0, 0], [12, 3]]).shape
    (2,)
    >>> spherical = KMeans(n_clusters=2, metric="cosine", random_state=0).fit(X)
    >>> bool(spherical.predict([[1, 5]]) == spherical.predict([[20, 100]]))
    True
    """

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        init: KMeansInit = "split-merge",
        n_init: Runs = "auto",
        max_iter: Iterations = 300,
        tol: Tolerance = 1e-4,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        copy_x: CopyX = True,
        algorithm: Algorithm = "auto",
        coreset_size: Coreset = None,
        metric: Metric = "euclidean",
        zero_rows: ZeroRows = "error",
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.coreset_size = coreset_size
        self.metric = metric
        self.zero_rows = zero_rows
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        self.check_parameters()
        report = FitReport(self, HISTORY_FIELDS, n_runs=self._n_runs())
        rows, columns = self._rows_to_fit(X)
        given = self._given_centers(rows, self.n_init)
        self._check_n_rows(rows)
        weights, random = self._weights_of(rows, sample_weight), random_stream(self.random_state)
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warn(
                "algorithm='elkan' doesn't make sense for a single cluster: 'lloyd' is used.", RuntimeWarning
            )
        with (
            report.scikit_learn_callbacks(X),
            single_threaded_blas(math.prod(rows.shape) * self.n_clusters),
            open_passes(rows, weights, self.n_threads) as passes,
        ):
            fitted = passes
            if self.coreset_size is not None:
                report.n_final_steps = rows.shape[0] / self.coreset_size
                some, some_weights, _ = draw_coreset(passes, self.coreset_size, random)
                fitted = Passes(as_rows(some), some_weights, self.n_threads)
            data, best = measure(fitted, self.n_clusters), None
            stop = Stop(self.max_iter, self.tol * data.mean_variance)
            for _ in report.restarts(self._n_runs()):
                centers = given
                if centers is None:
                    seeding_deadline = report.deadline.share(_SEEDING_SHARE)
                    centers = self._drawn_centers(X, data, random, seeding_deadline)
                    if self._anneals(passes):
                        centers = anneal_centers(
                            data,
                            centers,
                            _EPOCHS,
                            random,
                            unit_length=self._is_cosine,
                            deadline=seeding_deadline,
                        )
                self._check_distances(centers, data.shift)
                clusters = ClusteredRows.of(
                    data, len(centers), self.algorithm,
                    max_iter=self.max_iter, unit_length=self._is_cosine, deadline=report.deadline,
                )  # fmt: skip
                frame = lloyd(clusters, centers, stop=stop, report=report.start_run())
                best = lower_inertia(best, clusters.result(frame, report))
            assert best is not None
            labels, squares = best.labels, best.squares
            if self.coreset_size is not None:
                labels, squares = label_all(passes, best.centers, data.shift)
        self._warn_of_empty_clusters(labels)
        self._store_fitted(
            columns
            | self._centers_fitted(best.centers, data.shift)
            | self._labels_fitted(rows, best.centers, labels, squares, weights)
            | {"history_": best.history, "n_iter_": len(best.history)}
        )
        report.warn_if_out_of_time()
        return self

    def _anneals(self, passes: Passes) -> bool:
        """Return whether centers are annealed before Lloyd's algorithm: on workers each batch is a round trip."""
        is_split_merge = isinstance(self.init, str) and self.init == "split-merge"
        return is_split_merge and self.n_clusters >= _LEAST_ANNEALED and passes.is_here

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.coreset_size is not None and self.coreset_size < self.n_clusters:
            raise ValueError(f"coreset_size={self.coreset_size} should be >= n_clusters={self.n_clusters}.")


def k_means_until(
    deadline: Deadline,
    rows: Any,
    n_clusters: int,
    *,
    sample_weight: Array | None = None,
    **parameters: Any,
) -> KMeans:
    """Return k-means from k-means++ as a step of another fit that ends at the deadline, and warns by itself."""
    parameters = {"init": "k-means++"} | parameters
    if not deadline.is_set:
        return KMeans(n_clusters, **parameters).fit(rows, sample_weight=sample_weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(n_clusters, max_time=max(deadline.left, _LEAST_SECONDS), **parameters).fit(
            rows, sample_weight=sample_weight
        )
