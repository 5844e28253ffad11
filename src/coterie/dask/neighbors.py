"""The nearest rows of rows on a Dask cluster: blocks of rows travel as queries, who is the nearest comes back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, IntArray
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import Crew
from coterie.dask.extra import client_of
from coterie.dask.rows import WorkerRows
from coterie.dask.worker import Plan, Visit
from coterie.fitting.checks import check_option, check_positive_integer
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs import Neighbors, graph_of_neighbors
from coterie.graphs.exact import exact_neighbors
from coterie.graphs.knn import Weights, check_weights
from coterie.graphs.neighbors import METRICS
from coterie.limits.memory import Need, check_memory

__all__ = ["Nearest", "knn_graph", "nearest_neighbors"]

# Queries that travel at a time.
_QUERY_BYTES = 4 << 20

# Multiply-adds after which a worker looks whether the fit has ended: half a second of one thread.
_CALL_MULTIPLY_ADDS = 2e10

_NOBODY = np.iinfo(np.int32).max


class Nearest:
    """The nearest rows of some queries among all that have been looked at; equally near ones by their numbers.

    Parameters
    ----------
    n_queries, n_neighbors : int
        How many queries, and how many rows for each.
    dtype : dtype
        Of the squared distances.

    Attributes
    ----------
    ids : ndarray of shape (n_queries, n_neighbors), int32
        Numbers of the rows; the largest that there is where there are too few.
    squares : ndarray of shape (n_queries, n_neighbors)
        Their squared distances, infinite there.
    """

    def __init__(self, n_queries: int, n_neighbors: int, dtype: npt.DTypeLike) -> None:
        self.ids = np.full((n_queries, n_neighbors), _NOBODY, dtype=np.int32)
        self.squares = np.full(self.ids.shape, np.inf, dtype=dtype)

    @property
    def nbytes(self) -> int:
        """What travels of it."""
        return self.ids.nbytes + self.squares.nbytes

    def add(self, part: slice, ids: IntArray, squares: Array) -> None:
        """Take in rows that no one has looked at yet, for some of the queries."""
        ids = np.hstack([self.ids[part], ids])
        squares = np.hstack([self.squares[part], squares])
        nearest = np.lexsort((ids, squares), axis=1)[:, : self.ids.shape[1]]
        self.ids[part] = np.take_along_axis(ids, nearest, axis=1)
        self.squares[part] = np.take_along_axis(squares, nearest, axis=1)

    def take_in(self, other: Nearest) -> None:
        """Take in what is the nearest among other rows."""
        self.add(slice(None), other.ids, other.squares)


def search(visit: Visit, first: int) -> None:
    """Look for the nearest rows of the queries in a chunk, whose first row has this number."""
    chunk, queries = visit.chunk, visit.payload["queries"]
    points, nearest = np.asarray(chunk.rows.read()), visit.sums["nearest"]
    n_neighbors, begin = nearest.ids.shape[1], visit.payload["first"]
    size = max(64, int(_CALL_MULTIPLY_ADDS / points.size))
    for start in range(0, len(queries), size):
        visit.check()
        part = slice(start, min(start + size, len(queries)))
        own = np.arange(begin + part.start, begin + part.stop) - first
        are_here = own[0] < len(points) and own[-1] >= 0
        n_found = min(n_neighbors + are_here, len(points))
        ids, squares = exact_neighbors(points, queries[part], n_found, chunk.n_threads)
        is_self = ids == own[:, None]
        ids += np.int32(first)
        ids[is_self], squares[is_self] = _NOBODY, np.inf
        nearest.add(part, ids, squares)


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    n_threads: int | None = None,
    client: Any = None,
    open_options: Mapping[str, Any] | None = None,
) -> Neighbors:
    """Find the nearest rows of each row on a Dask cluster, exactly: the bits of `coterie.graphs.nearest_neighbors`.

    Parameters
    ----------
    X : Dask array, Dask DataFrame, or path
        The rows; see `coterie.dask.KMeans.fit`. They stay in the memory of the workers while it runs.
    n_neighbors : int
        How many to find for each row, less than n. A row is never its own neighbour, but rows equal to it are.
    metric : {"euclidean", "cosine"}
        "cosine": rows are scaled to length 1 first. Rows of zeros are refused.
    n_threads : int, optional
        Threads of each worker's kernels. None: as many as the worker has.
    client : distributed.Client, optional
        None: the current one.
    open_options : dict, optional
        See `coterie.dask.KMeans`.

    Returns
    -------
    Neighbors
        See `coterie.graphs.nearest_neighbors`: `ids` and `square_distances` of shape (n, n_neighbors), which fit the
        memory of this machine.

    Raises
    ------
    ConnectionError, ImportError, ValueError
        As `coterie.dask.KMeans`.
    MemoryError
        If what is found does not fit this machine.

    Notes
    -----
    All rows travel: 4 MiB at a time come to the client and go to each worker as queries, which looks among the rows
    that it holds, and sends the nearest of them back. So n d numbers go to each worker in all, and 8 or 12 bytes for
    each neighbour come back from each. It takes O(n^2 d) operations, shared by the workers. Nothing is kept between
    passes: what a worker that dies has left is searched by another one.

    Examples
    --------
    >>> from coterie.dask import nearest_neighbors
    >>> ids, squares = nearest_neighbors("s3://bucket/*.parquet", 5)  # doctest: +SKIP
    """
    check_option("metric", metric, METRICS)
    check_positive_integer("n_neighbors", n_neighbors)
    plan = Plan(1, by_angle=metric == "cosine", n_threads=n_threads)
    with Crew(client_of(client), chunks_of(X, open_options), plan) as crew, single_threaded_blas():
        data = WorkerRows(crew, None, effective_n_threads(None))
        _check_sizes(data, n_neighbors)
        ids = np.empty((data.n_rows, n_neighbors), dtype=np.int32)
        squares = np.empty(ids.shape, dtype=data.dtype)
        size = max(1, _QUERY_BYTES // (data.n_columns * data.dtype.itemsize))
        for first in range(0, data.n_rows, size):
            part = slice(first, min(first + size, data.n_rows))
            found = _of_block(data, part, n_neighbors)
            ids[part], squares[part] = found.ids, found.squares
    return Neighbors(ids, squares, "exact", 1.0)


def knn_graph(
    X: Any,
    n_neighbors: int = 5,
    *,
    metric: str = "euclidean",
    weights: Weights = "binary",
    bandwidth: float | None = None,
    symmetrize: Any = "max",
    include_self: bool = False,
    n_threads: int | None = None,
    client: Any = None,
    open_options: Mapping[str, Any] | None = None,
) -> sp.csr_array:
    """Build the graph that joins each row of a cluster to its nearest neighbours, here.

    Parameters
    ----------
    X, n_neighbors, metric, n_threads, client, open_options
        See `nearest_neighbors`.
    weights, bandwidth, symmetrize, include_self
        See `coterie.graphs.knn_graph`.

    Returns
    -------
    csr_array of shape (n, n)
        The bits of `coterie.graphs.knn_graph` of the same rows with ``method="exact"``.

    Examples
    --------
    >>> import coterie
    >>> from coterie.dask import knn_graph
    >>> graph = knn_graph("s3://bucket/*.parquet", 5)  # doctest: +SKIP
    >>> coterie.LaplacianKModes(100, affinity="precomputed").fit(graph)  # doctest: +SKIP
    """
    check_weights(weights, bandwidth)
    ids, squares = nearest_neighbors(
        X, n_neighbors, metric=metric, n_threads=n_threads, client=client, open_options=open_options
    )
    return graph_of_neighbors(
        ids, squares, weights=weights, bandwidth=bandwidth, symmetrize=symmetrize, include_self=include_self
    )


def _check_sizes(data: WorkerRows, n_neighbors: int) -> None:
    if data.n_rows > _NOBODY:
        raise ValueError(f"X has {data.n_rows} rows, but row numbers must fit int32.")
    if n_neighbors >= data.n_rows:
        raise ValueError(
            f"n_neighbors must be less than the number of rows, got {n_neighbors} of {data.n_rows} rows."
        )
    n_bytes = data.n_rows * n_neighbors * (4 + data.dtype.itemsize)
    need = Need(n_bytes, "ids and distances of the neighbours", "ask for fewer neighbours")
    check_memory([need], f"{n_neighbors} neighbours of {data.n_rows:,} rows")


def _of_block(data: WorkerRows, part: slice, n_neighbors: int) -> Nearest:
    """Return the nearest of all rows to some of them."""
    numbers = np.arange(part.start, part.stop)
    payload = {"queries": data.take(numbers), "first": part.start}
    empty = partial(Nearest, len(numbers), n_neighbors, data.dtype)
    answer = data.crew.run(
        "neighbors", search, payload, given=data.firsts[:-1].tolist(), sums={"nearest": empty}
    )
    found: Nearest = answer.sums["nearest"]
    return found
