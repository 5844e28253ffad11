"""Laplacian K-modes of rows on a Dask cluster: the graph is made by the workers, what is left fits one machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coterie.arrays import Array, IntArray
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import Crew
from coterie.dask.estimator import OnCluster
from coterie.dask.extra import client_of
from coterie.dask.neighbors import neighbors_of
from coterie.dask.worker import Plan
from coterie.dask.worker_rows import WorkerRows
from coterie.estimators.memory import check_fit_memory
from coterie.estimators.parameters import Affinity, Metric, Runs
from coterie.fitting.monitor import FitProgress
from coterie.laplacian_kmodes.estimator import DiagonalShift, GraphWeight, SelectBy
from coterie.laplacian_kmodes.estimator import LaplacianKModes as LocalLaplacianKModes
from coterie.rows import Block, RowSource, as_rows

__all__ = ["LaplacianKModes"]

# Rows that come to the client at a time.
_TAKEN_BYTES = 64 << 20


class LaplacianKModes(OnCluster, LocalLaplacianKModes):
    """Clusters of any shape, each around a mode of its density: the workers of a Dask cluster make the graph.

    `coterie.LaplacianKModes`, whose fit and parameters it has. The graph of nearest neighbours is most of the work, and
    is made by the workers; rows, graph and memberships must fit the memory of this machine, where the rest is done.

    Parameters
    ----------
    n_clusters, graph_weight, n_neighbors, weights, symmetrize, mode_update, bandwidth, diagonal_shift, metric, \
init, n_init, select_by, max_iter, tol, membership_tol, random_state, verbose, callback
        See `coterie.LaplacianKModes`.
    affinity : {"knn"}
        Affinities of one's own are in one place already: see `coterie.LaplacianKModes`.
    max_time : float, optional
        Seconds from when the rows have come. The graph is made whole, whatever time that takes.
    n_threads : int, optional
        Threads of the kernels, here and on each worker. None: as many as each of them has.
    client : distributed.Client, optional
        None: the current one.
    open_options : dict, optional
        Options of `coterie.open_rows` for a path, such as `columns`; `columns` and `exclude` for a Dask DataFrame.

    Attributes
    ----------
    labels_, memberships_, outlier_scores_, cluster_scales_, modes_, cluster_centers_, mode_indices_, objective_, \
published_objective_, relaxation_, is_shifted_, bandwidth_, graph_weight_, affinity_matrix_, converged_, n_iter_, \
history_, runs_, n_features_in_, feature_names_in_
        See `coterie.LaplacianKModes`.
    traffic_ : record array
        One row per pass; see `coterie.dask.WorkerRows`.

    Raises
    ------
    ConnectionError
        If the scheduler is lost, or has no workers for five minutes.
    ImportError
        If the extra `dask` is not installed.
    MemoryError
        If rows, graph and memberships do not fit this machine. Then fit `coterie.LaplacianKModes` to rows of
        `coterie.coresets.lightweight_coreset`, and label all rows by `predict`.
    ValueError
        As `coterie.LaplacianKModes`, with the file and the row where they are known.

    Notes
    -----
    Where the graph is exact (n^2 d of at most 5e10, as on one machine) the clusters are those of
    `coterie.LaplacianKModes`, bit by bit. Else it is approximate: see
    `coterie.dask.nearest_neighbors`.

    References
    ----------
    Ziko, Granger and Ben Ayed, Scalable Laplacian K-modes, NeurIPS 2018.

    Examples
    --------
    >>> from coterie.dask import LaplacianKModes
    >>> model = LaplacianKModes(100, random_state=0).fit("s3://bucket/*.parquet")  # doctest: +SKIP
    >>> labels = model.predict("s3://bucket/new/*.parquet")  # doctest: +SKIP
    """

    Local = LocalLaplacianKModes

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        graph_weight: GraphWeight = "auto",
        n_neighbors: int = 5,
        affinity: Affinity = "knn",
        weights: Any = "binary",
        symmetrize: Any = "none",
        mode_update: Any = "byproduct",
        bandwidth: float | None = None,
        diagonal_shift: DiagonalShift = "auto",
        metric: Metric = "euclidean",
        init: Any = "auto",
        n_init: Runs = "auto",
        select_by: SelectBy = "normalized_cut",
        max_iter: int = 100,
        tol: float = 1e-5,
        membership_tol: float = 1e-6,
        random_state: int | np.random.RandomState | None = None,
        verbose: int | bool = 0,
        max_time: float | None = None,
        n_threads: int | None = None,
        callback: Callable[[FitProgress], Any] | None = None,
        client: Any = None,
        open_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            n_clusters, graph_weight=graph_weight, n_neighbors=n_neighbors, affinity=affinity, weights=weights,
            symmetrize=symmetrize, mode_update=mode_update, bandwidth=bandwidth, diagonal_shift=diagonal_shift,
            metric=metric, init=init, n_init=n_init, select_by=select_by, max_iter=max_iter, tol=tol,
            membership_tol=membership_tol, random_state=random_state, verbose=verbose, max_time=max_time,
            n_threads=n_threads, callback=callback,
        )  # fmt: skip
        self.client = client
        self.open_options = open_options

    def fit(self, X: Any, y: Any = None) -> LaplacianKModes:
        """Find the clusters of X.

        Parameters
        ----------
        X : Dask array, Dask DataFrame, or path
            The rows; see `coterie.dask.rows`.
        y : None
            Ignored.

        Returns
        -------
        LaplacianKModes
            This estimator.
        """
        client = client_of(self.client)
        self.check_parameters()
        plan = Plan(1, by_angle=self.metric == "cosine", n_threads=self.n_threads)
        with Crew(client, chunks_of(X, self.open_options), plan) as crew:
            self._on_workers = data = self._rows_on(crew, None)
            try:
                self._check_n_rows(data.rows)
                check_fit_memory(self, data.rows)
                self._fit(_rows_of_all(data))
            finally:
                del self._on_workers
            self._note_traffic(crew)
        return self

    def _lean(self) -> Any:
        # Other rows are compared with those of the fit.
        return self.to_local().set_params(callback=None)

    # --- the algorithm, which is that of one machine but for the graph ------------------------------------------------

    def _rows_of(self, X: Any, reset: bool) -> RowSource:
        # Of the rows of a fit all is known, and they have been prepared, once they have come from the workers.
        return as_rows(X) if reset else super()._rows_of(X, reset)

    def _neighbors(self, rows: Block, random: np.random.RandomState) -> tuple[IntArray, Array]:
        ids, squares = neighbors_of(self._on_workers, as_rows(rows), self.n_neighbors, random_state=random)
        return ids, squares

    def _check_init(self) -> None:
        pass  # seedings are among rows that are here

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.affinity != "knn":
            raise ValueError(
                "affinity='precomputed' is for coterie.LaplacianKModes: a graph that is in one place, such as "
                "coterie.dask.knn_graph makes it, is fitted there."
            )


def _rows_of_all(data: WorkerRows) -> Array:
    """Return all rows, which come here some at a time."""
    rows = np.empty((data.n_rows, data.n_columns), dtype=data.dtype)
    size = max(1, _TAKEN_BYTES // (data.n_columns * data.dtype.itemsize))
    for start in range(0, data.n_rows, size):
        part = np.arange(start, min(start + size, data.n_rows))
        rows[start : start + len(part)] = data.take(part)
    return rows
