"""Exact k-means of rows on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array
from coterie.centers.lloyd import KMeansResult
from coterie.coresets import draw_coreset
from coterie.dask.backend import WorkerBackend
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import ClusterLostError, Crew
from coterie.dask.estimator import ClusterMonitor, OnClusterByCentroids, WorkerInit
from coterie.dask.extra import client_of
from coterie.dask.passes import WorkerPasses
from coterie.dask.worker import Plan
from coterie.dask.worker_rows import WorkerRows
from coterie.estimators.parameters import (
    Algorithm,
    Callback,
    Clusters,
    CopyX,
    Coreset,
    Iterations,
    MaxTime,
    Metric,
    RandomState,
    Runs,
    Threads,
    Tolerance,
    Verbose,
    ZeroRows,
)
from coterie.fitting.deadline import Deadline
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import single_threaded_blas
from coterie.kmeans.exact import HISTORY_FIELDS
from coterie.kmeans.exact import KMeans as LocalKMeans

__all__ = ["KMeans"]


class KMeans(OnClusterByCentroids, LocalKMeans):
    """Exact k-means of rows on the workers of a Dask cluster: `coterie.KMeans`, whose loop and parameters it has.

    Rows stay where they are. In each pass the centroids go to the workers, one task to each, and the sums of clusters
    come back. Labels and bounds stay with the rows between passes.

    Parameters
    ----------
    n_clusters, n_init, max_iter, tol, verbose, random_state, copy_x, algorithm, metric, max_time, callback
        See `coterie.KMeans`.
    init : {"k-means++", "k-means||", "afk-mc2", "random"}, array-like of shape (k, d), fitted model, or callable
        Where to begin. "k-means++" chooses among a sample of 100,000 rows, or 64 for each centroid, and of fewer rows
        as one machine does; "k-means||" in rounds of draws from all rows. A callable gets
        `(X, n_clusters, random_state=...)`, X as it was given to `fit`.
    coreset_size : int, optional
        Draw a lightweight coreset of so many rows on the workers, find the centroids of it here, and label all rows on
        the workers.
    zero_rows : {"error"}
        Rows of zeros are refused where `metric` is "cosine".
    n_threads : int, optional
        Threads of each worker's kernels. None: as many as the worker has.
    client : distributed.Client, optional
        None: the current one.
    checkpoint : path, optional
        File to which the model is written after each iteration, complete or not at all.
        `KMeans(..., init=coterie.load(checkpoint), checkpoint=checkpoint)` goes on from there, with the bits of a fit
        that was not stopped.
    open_options : dict, optional
        Options of `coterie.open_rows` for a path, such as `columns`; `columns` and `exclude` for a Dask DataFrame.

    Attributes
    ----------
    cluster_centers_, inertia_, n_iter_, history_, runs_, n_features_in_, feature_names_in_
        See `coterie.KMeans`.
    labels_ : ndarray of shape (n,), int32, or Dask array
        Which centroid is the nearest to each row; of more than 10,000,000 rows a lazy Dask array.
    traffic_ : record array
        One row per pass over the rows: `name`, `n_tasks` (one a worker), `n_sent` and `n_received` (bytes of arrays to
        the workers and from them), `n_exchanged` (those from worker to worker, where a graph is made), `n_opened`
        (chunks that were opened, or opened again after a worker had died), `seconds`.

    Raises
    ------
    ConnectionError
        If the scheduler is lost, or has no workers for five minutes. With `max_time` a ConvergenceWarning says so, and
        the last centroids are the model's, without labels.
    ImportError
        If the extra `dask` is not installed.
    ValueError
        As `coterie.KMeans`, with the file and the row where they are known.

    Notes
    -----
    The bits are the same for any number of workers, whichever holds which chunk, and whether or not one dies: sums are
    made chunk by chunk, and chunks are added without rounding. Against one machine, labels are equal, and centroids but
    for the last digits: it adds rows one by one.

    A worker that dies is noticed within a second or two. Its chunks are opened by others, which find their labels again
    by the centroids of the pass before. Workers that are added get their share of the chunks at the next pass.

    References
    ----------
    Bahmani et al., Scalable k-means++, 2012. Demmel and Nguyen, Parallel reproducible summation, 2015.

    Examples
    --------
    >>> import coterie.dask
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
    >>> model = coterie.dask.KMeans(1000, random_state=0).fit("s3://bucket/*.parquet")  # doctest: +SKIP
    >>> model.to_local().save("model.coterie")  # doctest: +SKIP
    """

    Local = LocalKMeans

    def __init__(
        self,
        n_clusters: Clusters = 8,
        *,
        init: WorkerInit = "k-means++",
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
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        open_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            n_clusters, init=init, n_init=n_init, max_iter=max_iter, tol=tol, verbose=verbose,
            random_state=random_state, copy_x=copy_x, algorithm=algorithm, coreset_size=coreset_size, metric=metric,
            zero_rows=zero_rows, max_time=max_time, n_threads=n_threads,
            callback=callback,
        )  # fmt: skip
        self.client = client
        self.checkpoint = checkpoint
        self.open_options = open_options

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> KMeans:
        """Find the clusters of X.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or path
            The rows. A path is a file, a folder of shards or a pattern, which the workers open themselves by
            `coterie.open_rows`: they must see it under the same name.
        y : None
            Ignored.
        sample_weight : array-like or Dask array of shape (n,), optional
            Non-negative weight of each row.

        Returns
        -------
        KMeans
            This estimator.
        """
        client = client_of(self.client)
        self.check_parameters()
        monitor = ClusterMonitor(self, HISTORY_FIELDS, n_runs=self._n_runs())
        plan = Plan(self.n_clusters, by_angle=self._by_angle, n_threads=self.n_threads)
        random = random_stream(self.random_state)
        try:
            with Crew(client, chunks_of(X, self.open_options), plan) as crew, single_threaded_blas():
                data = self._rows_on(crew, sample_weight)
                data.measure()
                given = self._given_centers(data.rows, self.n_init)
                self._check_n_rows(data.rows)
                monitor.shift = data.shift
                if self.coreset_size is None:
                    best = self._best_run(X, data, given, random, monitor)
                else:
                    best = self._run_on_coreset(data, random)
                self._keep(best, data, X)
                self._note_traffic(crew)
                self.runs_ = monitor.runs()
        except ClusterLostError as error:
            self._end_early(monitor, error)
        monitor.warn_if_out_of_time()
        return self

    # --- the algorithm, whose loop is that of one machine ------------------------------------------------------------

    def _passes(self, data: Any, centers: Array, deadline: Deadline) -> WorkerPasses:
        return WorkerPasses(
            data, len(centers), self.algorithm, data.crew.plan.run + 1,
            unit_length=self._by_angle,
            always_afresh=self.checkpoint is not None,
            gathers=data.gathers,
        )  # fmt: skip

    def _run_on_coreset(self, data: WorkerRows, random: np.random.RandomState) -> KMeansResult:
        """Find centroids of a coreset here, and label all rows where they are."""
        rows, weights, _ = draw_coreset(WorkerBackend(data), int(self.coreset_size or 0), random)
        local = self._as_local(coreset_size=None, random_state=random).fit(rows, sample_weight=weights)
        labels, squares, total = data.labels_and_squares(local.cluster_centers_)
        return KMeansResult(
            local.cluster_centers_, labels, squares, self._inertia_of(total), local.history_, "converged"
        )

    def _keep(self, best: KMeansResult, data: WorkerRows, X: Any) -> None:
        self._store_centers(best.centers, data.shift)
        self.history_, self.n_iter_ = best.history, len(best.history)
        self._store_found(best.labels, best.squares, best.inertia, data, X)

    def _end_early(self, monitor: ClusterMonitor, error: ClusterLostError) -> None:
        """Keep the last centroids where the cluster is lost, if `max_time` was given; else raise the error."""
        if monitor.last is None:
            raise error
        centers, self.history_ = monitor.last
        self._store_centers(centers, monitor.shift)
        self.n_iter_ = len(self.history_)
        self._leave_unlabelled()
        self._warn_of_end(error)

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.coreset_size is not None and self.checkpoint is not None:
            raise ValueError("checkpoint is for fits of all rows: that of a coreset takes a moment.")
