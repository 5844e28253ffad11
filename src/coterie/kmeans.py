"""Exact k-means: Lloyd's algorithm and its accelerations, which all give the same clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from coterie.assignment import (
    BoundedAssignment,
    CenterFrame,
    ClusterSums,
    Dataset,
    PlainAssignment,
    nearest_labels,
    own_square_distances,
    weighted_sum,
)
from coterie.fitting import (
    CallbackSupportMixin,
    FitMonitor,
    FitProgress,
    check_iteration_parameters,
    check_sample_weight,
    effective_n_threads,
    single_threaded_blas,
    with_callbacks,
)
from coterie.persistence import Persistable
from coterie.rows import RowSource, as_rows
from coterie.seeding import Seeds, seed_at_random, seed_by_markov_chain, seed_by_square_distance

__all__ = ["KMeans"]

ALGORITHMS = ("auto", "lloyd", "elkan", "yinyang", "hamerly")
SEEDINGS: dict[str, Callable[[Dataset, int, np.random.RandomState], Seeds]] = {
    "k-means++": seed_by_square_distance,
    "afk-mc2": seed_by_markov_chain,
    "random": seed_at_random,
}
_HISTORY_FIELDS = (("n_changed", np.int64), ("center_shift", np.float64))


@dataclass
class _Run:
    """What one start of k-means arrived at."""

    centers: npt.NDArray[Any]
    labels: npt.NDArray[np.int32]
    inertia: float
    n_iter: int
    history: npt.NDArray[Any]


class KMeans(
    Persistable,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Exact k-means on anything with rows: arrays, sparse matrices, tables, memory maps, files.

    Minimises the inertia, the (weighted) sum of the squared distances of the rows to their nearest centroids. All
    values of `algorithm` give the same labels from the same start; they differ in speed and memory only.

    Parameters
    ----------
    n_clusters : int
        Number of clusters k.
    init : {"k-means++", "afk-mc2", "random"}, array-like of shape (k, d), or callable
        Where to begin: see `coterie.seeding`. A callable gets `(X, n_clusters, random_state=...)` and returns the
        centroids.
    n_init : "auto" or int
        Number of starts; the one with the lowest inertia wins. "auto": 1 for "k-means++", "afk-mc2" and arrays,
        10 otherwise.
    max_iter : int
        Iterations per start, at most.
    tol : float
        A start has converged when the centroids' squared movement is at most `tol` times the mean variance of the
        columns, or no label changed.
    verbose : bool or int
        Print each iteration.
    random_state : int, RandomState or None
        Same seed, same bits: for any number of threads, and for the same rows in memory or in files.
    copy_x : bool
        Accepted for compatibility with scikit-learn; the data is never changed.
    algorithm : {"auto", "lloyd", "elkan", "yinyang", "hamerly"}
        "lloyd" compares every row with every centroid. The others skip comparisons by bounds: "elkan" keeps k
        bounds per row, "yinyang" one per group of neighbouring centroids, "hamerly" one. "auto" chooses, see Notes.
    max_time : float, optional
        Seconds. The best model found by then is returned, with a ConvergenceWarning.
    n_threads : int, optional
        None: all processors that this process may use.
    callback : callable, optional
        Called with a `FitProgress` after each iteration; the fit stops if it returns True.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), float32 or float64
        The centroids.
    labels_ : ndarray of shape (n,), int32
        Which centroid is the nearest to each row.
    inertia_ : float
        (Weighted) sum of squared distances of the rows to their centroids.
    n_iter_ : int
        Iterations of the best start.
    history_ : record array
        One row per iteration of the best start: `iteration`, `seconds` (since the fit began), `objective` (inertia
        of the labels with the centroids that gave them), `n_changed` (labels), `center_shift` (sum of the squared
        movements of the centroids).
    n_features_in_ : int
        Number of columns d.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns, where X was a table.

    Raises
    ------
    ValueError
        On NaN or infinity (with the row's number), an empty or one-dimensional X, k > n, negative weights, or an
        unknown option.

    Notes
    -----
    One iteration of "lloyd" costs 2 n k d floating-point operations at nearly the speed of a matrix product, and
    12 bytes per row beside the data. Per row (float32) the bounds of "elkan" cost 4 k bytes more, those of "yinyang"
    k / 4 (one per panel of 16 centroids, at most 1 GiB in all), that of "hamerly" 4.

    The rule of "auto", measured (docs/benchmarks.md): "lloyd" for k < 4; "elkan" for d >= 256 and k <= 2 d if its
    bounds fit in 128 MiB; "yinyang" otherwise.

    float32 rows are compared in float32 with centroids relative to the mean, and summed in float64.

    References
    ----------
    Lloyd, Least squares quantization in PCM, 1982. Elkan, Using the triangle inequality to accelerate k-means, 2003.
    Hamerly, Making k-means even faster, 2010. Ding et al., Yinyang k-means, 2015. Newling and Fleuret, Fast k-means
    with accurate bounds, 2016.

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
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int | bool = 0,
        random_state: int | np.random.RandomState | None = None,
        copy_x: bool = True,
        algorithm: str = "auto",
        max_time: float | None = None,
        n_threads: int | None = None,
        callback: Callable[[FitProgress], Any] | None = None,
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
        self.max_time = max_time
        self.n_threads = n_threads
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> KMeans:
        """Find the clusters of X.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            The data; see `coterie.open_rows` for files. Never changed; float32 and float64 arrays are never copied.
            What must be parsed or converted is converted once and kept if it takes at most 1 GiB as floats, else
            block by block in every pass: the bits are the same.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        KMeans
            This estimator.
        """
        n_threads = effective_n_threads(self.n_threads)
        self._check_parameters()
        monitor = FitMonitor(self, self._n_runs(), _HISTORY_FIELDS)
        rows = self._rows_of(X, reset=True)
        init = self._init_array(rows)
        if self.n_clusters > rows.shape[0]:
            raise ValueError(f"n_samples={rows.shape[0]} should be >= n_clusters={self.n_clusters}.")
        weights = check_sample_weight(sample_weight, rows)
        random = check_random_state(self.random_state)
        with monitor.scikit_learn_callbacks(X), single_threaded_blas():
            data = Dataset(rows, weights, n_clusters=self.n_clusters, n_threads=n_threads)
            best: _Run | None = None
            for _ in range(self._n_runs()):
                monitor.start_run()
                centers = self._first_centers(X, data, init, random)
                run = self._run(data, centers, monitor)
                if best is None or run.inertia < best.inertia:
                    best = run
                if monitor.stopped_by is not None:
                    break
        assert best is not None
        self._store(best, data)
        monitor.warn_if_out_of_time()
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.int32]:
        """Find the clusters of X and return `labels_`; see `fit`."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the nearest centroid of each row of X, block by block.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n,), int32
            Labels; for the rows of the fit, those of `labels_`.
        """
        check_is_fitted(self)
        rows = self._rows_of(X, reset=False)
        centers = self.cluster_centers_.astype(rows.dtype, copy=False)
        return nearest_labels(rows, centers, self._shift, effective_n_threads(self.n_threads))

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Return the distance of each row of X to every centroid.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Any rows.

        Returns
        -------
        ndarray of shape (n, k), float32 or float64
            Euclidean distances.
        """
        check_is_fitted(self)
        rows = self._rows_of(X, reset=False)
        centers = self.cluster_centers_.astype(rows.dtype, copy=False)
        out = np.empty((rows.shape[0], len(centers)), dtype=rows.dtype)
        for start, block in rows.blocks():
            out[start : start + block.shape[0]] = euclidean_distances(block, centers)
        return out

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> npt.NDArray[Any]:
        """Find the clusters of X and return the distance of each row to every centroid; see `transform`."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return minus the inertia that the centroids leave on X: the higher, the better.

        Parameters
        ----------
        X : array-like, sparse matrix, table, Dask array or RowSource of shape (n, d)
            Any rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        float
            Minus the (weighted) sum of squared distances to the nearest centroids.
        """
        labels = self.predict(X)
        rows = self._rows_of(X, reset=False)
        weights = check_sample_weight(sample_weight, rows)
        squares = own_square_distances(
            rows, self.cluster_centers_, labels, effective_n_threads(self.n_threads)
        )
        return -weighted_sum(squares, weights)

    # --- the algorithm -------------------------------------------------------------------------------------------

    def _run(self, data: Dataset, centers: npt.NDArray[Any], monitor: FitMonitor) -> _Run:
        """One start: assign, move, until nothing changes."""
        frame = CenterFrame(centers, data.shift, data.n_threads)
        if not np.all(np.isfinite(frame.offsets)):
            raise ValueError(
                f"The initial centers are too far from the rows for {data.dtype}: squared distances overflow."
            )
        assignment = self._assignment(data, frame)
        clusters = ClusterSums(data, self.n_clusters)
        tolerance = self.tol * data.mean_variance
        n_changed = data.n_rows
        n_iter = 0
        stable = False
        for n_iter in range(1, self.max_iter + 1):
            first = n_iter == 1
            n_changed = _assign_and_sum(data, assignment, clusters, frame, n_changed, first)
            objective = clusters.inertia(frame)
            stable = n_changed == 0
            center_shift = 0.0
            if not stable:
                moved = CenterFrame(
                    _moved_centers(data, assignment, clusters, frame), data.shift, data.n_threads
                )
                center_shift = float(np.sum(moved.square_distances(frame)))
                frame = moved
            stop = monitor.report(objective, frame.centers, n_changed=n_changed, center_shift=center_shift)
            if stable or stop or center_shift <= tolerance:
                break
        if not stable:
            # The centroids moved after the last assignment: labels are those of the centroids that are returned.
            _assign_and_sum(data, assignment, clusters, frame, n_changed, False)
        labels = assignment.labels
        inertia = weighted_sum(data.own_square_distances(frame.centers, labels), data.weights)
        return _Run(frame.centers, labels, inertia, n_iter, monitor.history())

    def _assignment(self, data: Dataset, frame: CenterFrame) -> PlainAssignment | BoundedAssignment:
        algorithm, itemsize = self.algorithm, data.dtype.itemsize
        if algorithm == "auto":
            algorithm = choose_algorithm(data.n_rows, data.n_columns, self.n_clusters, itemsize)
        if algorithm == "lloyd" or self.n_clusters == 1:
            return PlainAssignment(data)
        return BoundedAssignment(data, frame, n_bounds_of(algorithm, data.n_rows, self.n_clusters, itemsize))

    def _first_centers(
        self, X: Any, data: Dataset, init: npt.NDArray[Any] | None, random: np.random.RandomState
    ) -> npt.NDArray[Any]:
        if init is not None:
            return init
        if callable(self.init):
            centers = self.init(X, self.n_clusters, random_state=random)
            return self._checked_centers(centers, data.rows)
        return SEEDINGS[self.init](data, self.n_clusters, random)[0]

    # --- checks and bookkeeping ----------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if (
            isinstance(self.n_clusters, bool)
            or self.n_clusters != int(self.n_clusters)
            or self.n_clusters < 1
        ):
            raise ValueError(f"n_clusters must be a positive integer, got {self.n_clusters!r}.")
        check_iteration_parameters(self)
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {self.algorithm!r}.")
        if isinstance(self.init, str) and self.init not in SEEDINGS:
            raise ValueError(
                f"init must be one of {', '.join(SEEDINGS)}, an array or a callable, got {self.init!r}."
            )
        if self.n_init != "auto" and (isinstance(self.n_init, str) or self.n_init < 1):
            raise ValueError(f"n_init must be 'auto' or a positive integer, got {self.n_init!r}.")

    def _n_runs(self) -> int:
        if not isinstance(self.init, str) and not callable(self.init):
            return 1
        if self.n_init != "auto":
            return int(self.n_init)
        return 10 if callable(self.init) or self.init == "random" else 1

    def _init_array(self, rows: RowSource) -> npt.NDArray[Any] | None:
        if isinstance(self.init, str) or callable(self.init):
            return None
        if self.n_init not in ("auto", 1):
            warnings.warn(
                f"Explicit initial center position passed: performing only one init instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=3,
            )
        return self._checked_centers(self.init, rows)

    def _checked_centers(self, centers: Any, rows: RowSource) -> npt.NDArray[Any]:
        centers = check_array(centers, dtype=rows.dtype, order="C", copy=True, input_name="init")
        if centers.shape != (self.n_clusters, rows.shape[1]):
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match the number of clusters "
                f"{self.n_clusters} and of features {rows.shape[1]}."
            )
        return centers

    def _rows_of(self, X: Any, reset: bool) -> RowSource:
        rows = as_rows(X)
        _check_feature_names(self, X, reset=reset)
        _check_n_features(self, rows, reset=reset)
        return rows

    def _store(self, run: _Run, data: Dataset) -> None:
        distinct = len(np.unique(run.labels))
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.cluster_centers_ = run.centers
        self.labels_ = run.labels
        self.inertia_ = run.inertia
        self.n_iter_ = run.n_iter
        self.history_ = run.history
        self._shift = data.shift
        self._n_features_out = len(run.centers)


# Memory that the bounds of "yinyang" may take, and beyond which those of "elkan" cost more time than they save.
_BOUND_BYTES = 1 << 30
_ELKAN_BYTES = 128 << 20


def choose_algorithm(n_rows: int, n_columns: int, n_clusters: int, itemsize: int) -> str:
    """Return what `algorithm="auto"` stands for; see the notes of `KMeans`."""
    if n_clusters < 4:
        return "lloyd"
    elkan_fits = n_rows * n_clusters * itemsize <= _ELKAN_BYTES
    return "elkan" if n_columns >= 256 and n_clusters <= 2 * n_columns and elkan_fits else "yinyang"


def n_bounds_of(algorithm: str, n_rows: int, n_clusters: int, itemsize: int) -> int | None:
    """Return the lower bounds per row: None for one per centroid. Yinyang's ten centroids per group are a minimum."""
    if algorithm == "elkan":
        return None
    if algorithm == "hamerly":
        return 1
    return max(1, min(n_clusters // 10, _BOUND_BYTES // (n_rows * itemsize)))


def _assign_and_sum(
    data: Dataset,
    assignment: PlainAssignment | BoundedAssignment,
    clusters: ClusterSums,
    frame: CenterFrame,
    n_changed_before: int,
    first: bool,
) -> int:
    """One pass over the data: bring labels and sums up to date; return how many labels changed."""
    # Moving a row costs two additions, so sums are made afresh while many rows move; that also sheds rounding.
    afresh = first or 2 * n_changed_before > data.n_rows
    if afresh:
        clusters.clear()
    assignment.start(frame)
    n_changed = 0
    for part, x in data.blocks():
        before = assignment.labels[part].copy()
        assignment.assign(part, x)
        labels = assignment.labels[part]
        clusters.add(part, x, labels, None if afresh else before)
        n_changed += int(np.count_nonzero(labels != before))
    return n_changed


def _moved_centers(
    data: Dataset, assignment: PlainAssignment | BoundedAssignment, clusters: ClusterSums, frame: CenterFrame
) -> npt.NDArray[Any]:
    """Return the mean of each cluster. A cluster without mass takes the row that is the farthest from its centroid."""
    empty = _clusters_without_mass(data, assignment, clusters)
    if len(empty):
        _relocate(data, assignment, clusters, frame, empty)
    return clusters.means(frame.centers)


def _clusters_without_mass(
    data: Dataset, assignment: PlainAssignment | BoundedAssignment, clusters: ClusterSums
) -> npt.NDArray[np.intp]:
    """Return the empty clusters, after removing what rounding left of their sums."""
    doubtful = np.flatnonzero(clusters.masses <= 1e-9 * data.total_weight / len(clusters.masses))
    if len(doubtful) == 0:
        return doubtful
    exact = np.bincount(assignment.labels, weights=data.weights, minlength=len(clusters.masses))
    empty = doubtful[exact[doubtful] == 0]
    clusters.masses[empty] = 0
    clusters.sums[empty] = 0
    return empty


def _relocate(
    data: Dataset,
    assignment: PlainAssignment | BoundedAssignment,
    clusters: ClusterSums,
    frame: CenterFrame,
    empty: npt.NDArray[np.intp],
) -> None:
    squares = data.own_square_distances(frame.centers, assignment.labels)
    if data.weights is not None:
        squares[data.weights == 0] = 0
    farthest = np.argsort(-squares, kind="stable")[: len(empty)]
    farthest = farthest[squares[farthest] > 0]
    empty = empty[: len(farthest)]
    for row, target in zip(farthest, empty):
        clusters.move(int(row), int(assignment.labels[row]), int(target))
    assignment.relabel(farthest, empty.astype(np.int32))
