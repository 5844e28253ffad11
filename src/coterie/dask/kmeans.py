"""Exact k-means of rows on a Dask cluster."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_n_features, check_is_fitted

from coterie.arrays import Array, FloatArray
from coterie.centers.frame import CenterFrame
from coterie.centers.lloyd import Lloyd
from coterie.dask.chunks import chunks_of
from coterie.dask.coresets import coreset_of
from coterie.dask.crew import Crew
from coterie.dask.elsewhere import by_chunk, score_of
from coterie.dask.extra import client_of
from coterie.dask.passes import WorkerPasses
from coterie.dask.rows import WorkerRows
from coterie.dask.seeding import SEEDINGS
from coterie.dask.worker import Plan
from coterie.estimators.preparation import remember_preparation
from coterie.fitting.deadline import UNHURRIED, Phase
from coterie.fitting.monitor import FitMonitor, FitProgress
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.kmeans.exact import HISTORY_FIELDS, Run
from coterie.kmeans.exact import KMeans as LocalKMeans

__all__ = ["KMeans"]

# Labels of so many rows come to the client; those of more are a lazy Dask array.
GATHERED_ROWS = 10_000_000

_TRAFFIC = [
    ("name", "U16"),
    ("n_tasks", np.int64),
    ("n_sent", np.int64),
    ("n_received", np.int64),
    ("n_opened", np.int64),
]


class KMeans(LocalKMeans):
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
        the workers and from them), `n_opened` (chunks that were opened, or opened again after a worker had died).

    Raises
    ------
    ConnectionError
        If the scheduler is lost, or has no workers for five minutes.
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
        coreset_size: int | None = None,
        metric: str = "euclidean",
        zero_rows: str = "error",
        max_time: float | None = None,
        n_threads: int | None = None,
        callback: Callable[[FitProgress], Any] | None = None,
        client: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        open_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            n_clusters, init=init, n_init=n_init, max_iter=max_iter, tol=tol, verbose=verbose,
            random_state=random_state, copy_x=copy_x, algorithm=algorithm, coreset_size=coreset_size, metric=metric,
            zero_rows=zero_rows, max_time=max_time, n_threads=n_threads, callback=callback,
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
        monitor = _Monitor(self, self._n_runs(), HISTORY_FIELDS)
        plan = Plan(self.n_clusters, by_angle=self._by_angle, n_threads=self.n_threads)
        self._search = None  # sizes have no bounds here
        random = check_random_state(self.random_state)
        n_threads = effective_n_threads(None)
        with Crew(client, chunks_of(X, self.open_options), plan) as crew, single_threaded_blas():
            data = WorkerRows(crew, sample_weight, n_threads)
            remember_preparation(self, data.rows, data.rows)
            _check_n_features(self, data.rows, reset=True)
            given = self._given_centers(data.rows, self.n_init)
            self._check_n_rows(data.rows)
            monitor.shift = data.shift
            if self.coreset_size is None:
                best = self._best_run(X, data, given, random, monitor)
            else:
                best = self._run_on_coreset(data, random)
            self._keep(best, data, X)
            self.runs_ = monitor.runs()
            self.traffic_ = np.array(
                [
                    (done.name, done.n_tasks, done.n_sent, done.n_received, done.n_opened)
                    for done in crew.passes
                ],
                dtype=_TRAFFIC,
            ).view(np.recarray)
        monitor.warn_if_out_of_time()
        return self

    def predict(self, X: Any, *, return_distance: bool = False) -> Any:
        """Return the nearest centroid of each row of X; of rows elsewhere as a lazy Dask array.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, path, or anything that `coterie.KMeans` takes
            Any rows.
        return_distance : bool
            For rows of this process only: see `coterie.KMeans.predict`.

        Returns
        -------
        Dask array or ndarray of shape (n,), int32
        """
        check_is_fitted(self)
        if not _is_elsewhere(X):
            return self.to_local().predict(X, return_distance=return_distance)
        if return_distance:
            raise ValueError(
                "return_distance is for rows of this process: call transform, which is lazy, too."
            )
        return by_chunk(self._lean(), "predict", X, np.int32, None, self.open_options)

    def transform(self, X: Any) -> Any:
        """Return the distance of each row of X to every centroid: of rows elsewhere as a lazy Dask array."""
        check_is_fitted(self)
        if not _is_elsewhere(X):
            return self.to_local().transform(X)
        dtype, n_clusters = self.cluster_centers_.dtype, len(self.cluster_centers_)
        return by_chunk(self._lean(), "transform", X, dtype, n_clusters, self.open_options)

    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return minus the inertia that the centroids leave on X, computed where the rows are."""
        check_is_fitted(self)
        if not _is_elsewhere(X):
            return self.to_local().score(X, sample_weight=sample_weight)
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is for rows of this process: score chunk by chunk with map_blocks."
            )
        return score_of(self._lean(), X, self.open_options)

    def to_local(self) -> LocalKMeans:
        """Return the same model as a `coterie.KMeans`, without labels that are elsewhere."""
        check_is_fitted(self)
        local, own = self._as_local(), self.get_params(deep=False)
        fitted = {
            name: value for name, value in vars(self).items() if name not in (*own, "traffic_", "_search")
        }
        for name, value in fitted.items():
            setattr(local, name, value)
        if not isinstance(local.__dict__.get("labels_"), np.ndarray):
            local.__dict__.pop("labels_", None)
        return local

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this model to a file that `coterie.load` reads, as a `coterie.KMeans`."""
        self.to_local().save(path)

    # --- the algorithm, whose loop is that of one machine ------------------------------------------------------------

    def _drawn_centers(
        self, X: Any, data: Any, random: np.random.RandomState, phase: Phase = UNHURRIED
    ) -> Array:
        if callable(self.init):
            return self._checked_centers(self.init(X, self._n_centers, random_state=random), data.rows)
        centers = SEEDINGS[self.init](data, self._n_centers, random)
        return self._checked_centers(centers, data.rows)

    def _passes(self, data: Any, centers: Array) -> WorkerPasses:
        data.n_runs = getattr(data, "n_runs", 0) + 1
        return WorkerPasses(
            data, len(centers), self.algorithm, data.n_runs,
            unit_length=self._by_angle,
            always_afresh=self.checkpoint is not None,
            gathers=data.n_rows <= GATHERED_ROWS,
        )  # fmt: skip

    def _finished(self, lloyd: Lloyd, data: Any, history: Array) -> Run:
        labels, squares = lloyd.labels_and_squares()
        passes = lloyd.passes
        assert isinstance(passes, WorkerPasses)
        return Run(lloyd.centers, labels, squares, self._inertia_of(passes.inertia), history)

    def _run_on_coreset(self, data: WorkerRows, random: np.random.RandomState) -> Run:
        """Find centroids of a coreset here, and label all rows where they are."""
        rows, weights, _ = coreset_of(data, int(self.coreset_size or 0), random)
        local = self._as_local(coreset_size=None, random_state=random).fit(rows, sample_weight=weights)
        passes = self._passes(data, local.cluster_centers_)
        frame = CenterFrame(local.cluster_centers_, data.shift, data.n_threads)
        passes.assign(frame, afresh=True)
        labels, squares = passes.labels_and_squares(frame)
        return Run(local.cluster_centers_, labels, squares, self._inertia_of(passes.inertia), local.history_)

    def _keep(self, best: Run, data: WorkerRows, X: Any) -> None:
        if len(best.labels):
            self._store(best, data)
            self._warn_of_empty_clusters()
        else:
            self._store_centers(best.centers, data.shift)
            self.history_, self.n_iter_ = best.history, len(best.history)
            self._forget_distances()
            self.labels_ = by_chunk(self._lean(), "predict", X, np.int32, None, self.open_options)
            self.inertia_ = best.inertia

    # --- checks and bookkeeping --------------------------------------------------------------------------------------

    def _as_local(self, **others: Any) -> LocalKMeans:
        """Return a `coterie.KMeans` with the same parameters, but for others."""
        own = self.get_params(deep=False)
        known = LocalKMeans().get_params(deep=False)
        parameters = {name: own[name] for name in known if name in own}
        if isinstance(self.init, str) and self.init == "k-means||":
            parameters["init"] = "k-means++"
        return LocalKMeans(**(parameters | others))

    def _lean(self) -> LocalKMeans:
        """Return what other rows are compared with: a model without what belongs to the rows of the fit."""
        local = self.to_local()
        for name in ("labels_", "_own_distances", "_outlier_scores", "history_", "runs_"):
            local.__dict__.pop(name, None)
        return local.set_params(callback=None, init="k-means++")

    def _check_init(self) -> None:
        if isinstance(self.init, str) and self.init not in SEEDINGS:
            raise ValueError(
                f"init must be one of {', '.join(SEEDINGS)}, an array, a fitted model or a callable, got {self.init!r}."
            )

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.coreset_size is not None and self.checkpoint is not None:
            raise ValueError("checkpoint is for fits of all rows: that of a coreset takes a moment.")
        if self.zero_rows != "error":
            raise ValueError(
                "zero_rows='ignore' is for coterie.KMeans: leave such rows out, or use metric='euclidean'."
            )


class _Monitor(FitMonitor):
    """Writes the model after each iteration, where that was asked for."""

    shift: FloatArray

    def report(self, objective: float, centers: Any, *, closeness: float = math.nan, **extra: Any) -> bool:
        model = self._estimator
        if model.checkpoint is not None:
            columns = ("n_features_in_", "feature_names_in_", "preparation_")
            fitted = {name: value for name, value in vars(model).items() if name in columns}
            fitted |= {"cluster_centers_": centers, "_shift": self.shift, "_n_features_out": len(centers)}
            kept = LocalKMeans(model.n_clusters, metric=model.metric)
            for name, value in fitted.items():
                setattr(kept, name, value)
            kept.save(model.checkpoint)
        return super().report(objective, centers, closeness=closeness, **extra)


def _is_elsewhere(X: Any) -> bool:
    return isinstance(X, str | os.PathLike) or type(X).__module__.partition(".")[0].startswith("dask")
