"""Nested mini-batch k-means of rows on a Dask cluster."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array
from coterie.blocks.shuffled import run_length, shuffled
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import ClusterLostError, Crew
from coterie.dask.estimator import ClusterMonitor, OnClusterByCentroids
from coterie.dask.extra import client_of
from coterie.dask.sample import ROUND, WorkerSample, WorkerVotes
from coterie.dask.worker import Plan
from coterie.dask.worker_rows import WorkerRows
from coterie.estimators.parameters import (
    Callback,
    Clusters,
    ComputeLabels,
    Init,
    Iterations,
    MaxTime,
    Metric,
    RandomState,
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.estimators.seeded import SEEDINGS
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import single_threaded_blas
from coterie.kmeans.nested import (
    HISTORY_FIELDS,
    Bounds,
    DoublingThreshold,
    EarlierSums,
    FirstBatch,
    LeastGain,
    NestedResult,
    n_bounds_per_row,
)
from coterie.kmeans.nested import NestedMiniBatchKMeans as LocalNestedMiniBatchKMeans

__all__ = ["NestedMiniBatchKMeans"]


class NestedMiniBatchKMeans(OnClusterByCentroids, LocalNestedMiniBatchKMeans):
    """K-means on a random sample of rows on workers, that doubles whenever the centroids have settled on it.

    `coterie.NestedMiniBatchKMeans`, whose loop and parameters it has. Rows, their labels and their bounds stay on the
    workers. In each round the centroids go there and the changes of the sums of clusters come back; when the sample
    grows, the numbers of its new rows go with them.

    Parameters
    ----------
    n_clusters, batch_size, doubling_threshold, least_gain, max_iter, tol, verbose, compute_labels, random_state, \
metric, bounds, max_time, callback
        See `coterie.NestedMiniBatchKMeans`.
    init : {"k-means++", "afk-mc2", "random"}, array-like of shape (k, d), fitted model, or callable
        Where to begin. What is drawn is drawn from the first batch, which comes to the client.
    zero_rows : {"error"}
        Rows of zeros are refused where `metric` is "cosine".
    n_threads : int, optional
        Threads of each worker's kernels. None: as many as the worker has.
    client : distributed.Client, optional
        None: the current one.
    checkpoint : path, optional
        File to which the centroids are written after each round, as a `coterie.KMeans`, complete or not at all.
        `init=coterie.load(checkpoint)` begins that round again and goes on from there, with the bits of a fit that was
        not stopped, where rows, weights, chunks and `batch_size` are those of before. Else, and in `partial_fit`, it
        begins with the centroids and a first batch.
    open_options : dict, optional
        Options of `coterie.open_rows` for a path, such as `columns`; `columns` and `exclude` for a Dask DataFrame.

    Attributes
    ----------
    cluster_centers_, inertia_, counts_, n_iter_, history_, n_features_in_, feature_names_in_
        See `coterie.NestedMiniBatchKMeans`.
    labels_ : ndarray of shape (n,), int32, or Dask array
        Which centroid is the nearest to each row; of more than 10,000,000 rows a lazy Dask array.
    traffic_ : record array
        One row per pass; see `coterie.dask.KMeans`.

    Raises
    ------
    ConnectionError
        If the scheduler is lost, or has no workers for five minutes. With `max_time` a ConvergenceWarning says so, and
        the model is that of the last round, without labels.
    ImportError
        If the extra `dask` is not installed.
    ValueError
        As `coterie.NestedMiniBatchKMeans`, with the file and the row where they are known.

    Notes
    -----
    The sample is that of one machine for the same seed and shape, so for float32 rows the clusters are, too, but for
    one digit in millions. The bits do not depend on the number of workers, on who holds which chunk, or on whether one
    dies.

    References
    ----------
    Newling and Fleuret, Nested mini-batch k-means, 2016. Demmel and Nguyen, Parallel reproducible summation, 2015.

    Examples
    --------
    >>> from coterie.dask import NestedMiniBatchKMeans
    >>> model = NestedMiniBatchKMeans(1000, random_state=0).fit("s3://bucket/*.parquet")  # doctest: +SKIP
    """

    Local = LocalNestedMiniBatchKMeans
    seedings = SEEDINGS  # of the first batch, which is here

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        init: Init = "k-means++",
        batch_size: FirstBatch = "auto",
        doubling_threshold: DoublingThreshold = 100.0,
        least_gain: LeastGain = 0.0,
        max_iter: Iterations = 10_000,
        tol: Tolerance = 1e-4,
        verbose: Verbose = 0,
        compute_labels: ComputeLabels = True,
        random_state: RandomState = None,
        metric: Metric = "euclidean",
        zero_rows: ZeroRows = "error",
        bounds: Bounds = "auto",
        max_time: MaxTime = None,
        n_threads: Threads = None,
        callback: Callback = None,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        open_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            n_clusters, init=init, batch_size=batch_size, doubling_threshold=doubling_threshold, least_gain=least_gain,
            max_iter=max_iter, tol=tol, verbose=verbose, compute_labels=compute_labels, random_state=random_state,
            metric=metric, zero_rows=zero_rows, bounds=bounds, max_time=max_time,
            n_threads=n_threads, callback=callback,
        )  # fmt: skip
        self.client = client
        self.checkpoint = checkpoint
        self.open_options = open_options

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> NestedMiniBatchKMeans:
        """Find the clusters of X.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or path
            The rows; see `coterie.dask.KMeans.fit`.
        y : None
            Ignored.
        sample_weight : array-like or Dask array of shape (n,), optional
            Non-negative weight of each row's vote.

        Returns
        -------
        NestedMiniBatchKMeans
            This estimator.
        """
        return self._fit(X, sample_weight, goes_on=False)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> NestedMiniBatchKMeans:
        """Go on with more rows of a stream, on the cluster; see `coterie.NestedMiniBatchKMeans.partial_fit`."""
        self._check_goes_on()
        return self._fit(X, sample_weight, goes_on=hasattr(self, "cluster_centers_"))

    def _fit(self, X: Any, sample_weight: Any, goes_on: bool) -> NestedMiniBatchKMeans:
        client = client_of(self.client)
        self.check_parameters()
        monitor = ClusterMonitor(self, HISTORY_FIELDS)
        plan = Plan(self.n_clusters, by_angle=self._by_angle, n_threads=self.n_threads)
        votes: list[WorkerVotes] = []
        try:
            with Crew(client, chunks_of(X, self.open_options), plan) as crew, single_threaded_blas():
                self._fit_on(crew, X, sample_weight, monitor, votes, goes_on=goes_on)
                self._note_traffic(crew)
        except ClusterLostError as error:
            if self.max_time is None or not len(monitor.history()):
                raise
            result = NestedResult(votes[0].means.centers, votes[0], monitor.history(), "lost")
            self.__dict__.update(self._result_fitted(result, monitor.shift))
            self._leave_unlabelled()
            self._warn_of_end(error)
        monitor.warn_if_out_of_time()
        return self

    def _fit_on(
        self,
        crew: Crew,
        X: Any,
        sample_weight: Any,
        monitor: ClusterMonitor,
        kept: list[WorkerVotes],
        *,
        goes_on: bool,
    ) -> None:
        """Fit the rows of some workers; put the votes where they are kept whatever happens to these."""
        random = random_stream(self.random_state)
        data = self._rows_on(crew, sample_weight)
        centers = self.cluster_centers_.astype(data.dtype) if goes_on else self._given_centers(data.rows)
        if not goes_on:
            self._check_n_rows(data.rows)
        earlier = self._earlier_sums(data.rows) if goes_on else None
        begun = None if goes_on else self._begun(centers)
        drawn = copy.deepcopy(random if begun is None else begun["random"])
        sample = self._sampled(data, random if begun is None else begun["random"], earlier)
        if begun is not None and not _are_same(begun, sample):
            begun, drawn = None, copy.deepcopy(random)
            sample = self._sampled(data, random, None)
        monitor.shift = sample.shift
        if begun is not None:
            centers = begun["centers"]
        elif centers is None:
            centers = self._centers_from_first_batch(sample, random, monitor)
        self._check_distances(centers, sample.shift)
        means = self._new_means(data.rows, centers, sample.shift, data.n_threads)
        n_bounds = n_bounds_per_row(
            data.rows_per_worker, data.n_columns, self.n_clusters, data.dtype.itemsize, self.bounds
        )
        votes = WorkerVotes(sample, means, n_bounds, earlier)
        kept.append(votes)
        if begun is not None:
            votes.go_on(begun)
        if self.checkpoint is not None and not goes_on:
            votes.is_kept = True
            monitor.unfinished = lambda: votes.begun | {"random": drawn}
        result = self._solve(sample, votes, monitor, votes.rounds)
        self.__dict__.update(self._result_fitted(result, sample.shift))
        if self.compute_labels:
            labels, squares, total = data.labels_and_squares(self.cluster_centers_)
            self._store_found(labels, squares, self._inertia_of(total), data, X)
        else:
            self._leave_unlabelled()

    def _begun(self, centers: Array | None) -> dict[str, Any] | None:
        """Return the round that another fit had begun, as its checkpoint in `init` tells; None where it is none."""
        begun = getattr(self.init, "_unfinished", None)
        if centers is None or not isinstance(begun, dict) or not begun.keys() >= ROUND:
            return None
        its = begun["centers"]
        return copy.deepcopy(begun) if (its.shape, its.dtype) == (centers.shape, centers.dtype) else None

    def _sampled(
        self, data: WorkerRows, random: np.random.RandomState, earlier: EarlierSums | None
    ) -> WorkerSample:
        """Return the rows in the random order of one machine, the first batch taken in."""
        size = self._first_size()
        order = shuffled(data.n_rows, run_length(data.rows, size), random)
        shift = None if earlier is None else earlier.shift
        return WorkerSample(data, self._those_that_count_first(order, data.weights), size, shift)


def _are_same(begun: Mapping[str, Any], sample: WorkerSample) -> bool:
    """Tell whether a round was that of the same rows, weights, chunks and first batch."""
    return np.array_equal(begun["told"], sample.told) and begun["sizes"][0] == sample.size
