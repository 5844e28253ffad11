"""The nearest rows of rows on a Dask cluster: blocks of rows travel as queries, who is the nearest comes back.

Every chunk is searched for itself, exactly or by cells of its own rows, and of what all of them find the nearest are
kept. So nothing depends on who holds which chunk, and nothing is lost with a worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state

from coterie.arrays import Array, IndexArray, IntArray
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import Crew
from coterie.dask.extra import client_of
from coterie.dask.rows import WorkerRows
from coterie.dask.worker import Plan, Visit
from coterie.fitting.checks import check_option, check_positive_integer
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs import Neighbors, graph_of_neighbors
from coterie.graphs.approximate import Aim, approximate_neighbors
from coterie.graphs.exact import exact_neighbors
from coterie.graphs.knn import Weights, check_weights
from coterie.graphs.neighbors import LEAST_WORK, METHODS, METRICS, Seed, check_recall, warn_of_missed
from coterie.limits.memory import Need, check_memory

__all__ = ["Nearest", "knn_graph", "nearest_neighbors", "neighbors_of"]

# Queries that travel at a time. Where rows are put into cells first, there are more, for that is done anew each time.
_QUERY_BYTES, _QUERY_BYTES_OF_CELLS = 4 << 20, 64 << 20

# Multiply-adds after which a worker looks whether the fit has ended: half a second of one thread. What takes less is
# searched exactly.
_CALL_MULTIPLY_ADDS = 2e10

_NOBODY = np.iinfo(np.int32).max


class Queries(Protocol):
    """Rows that can be taken."""

    def take(self, numbers: IndexArray, /) -> Array:
        """Return rows of ascending numbers."""


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


def search(visit: Visit, first: int) -> float:
    """Look for the nearest rows of the queries in a chunk, whose first row has this number.

    Return the share of them that was found, times the pairs of a query and a row.
    """
    chunk, payload, nearest = visit.chunk, visit.payload, visit.sums["nearest"]
    points, queries, aim, recall = np.asarray(chunk.rows.read()), payload["queries"], payload["aim"], 1.0
    size = max(64, int(_CALL_MULTIPLY_ADDS / points.size))
    if len(queries) <= size:
        aim = None
    elif aim is not None:
        size = len(queries)
    for start in range(0, len(queries), size):
        visit.check()
        part = slice(start, min(start + size, len(queries)))
        own = np.arange(payload["first"] + part.start, payload["first"] + part.stop) - first
        are_here = own[0] < len(points) and own[-1] >= 0
        n_found = min(nearest.ids.shape[1] + are_here, len(points))
        if aim is None:
            ids, squares = exact_neighbors(points, queries[part], n_found, chunk.n_threads)
        else:
            seed = (payload["seed"] + chunk.number) % _NOBODY
            ids, squares, recall = approximate_neighbors(points, queries, n_found, aim, seed, chunk.n_threads)
        is_self = ids == own[:, None]
        ids += np.int32(first)
        ids[is_self], squares[is_self] = _NOBODY, np.inf
        nearest.add(part, ids, squares)
    return recall * len(queries) * len(points)


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    method: str = "auto",
    recall: float = 0.99,
    random_state: Seed = None,
    n_threads: int | None = None,
    client: Any = None,
    open_options: Mapping[str, Any] | None = None,
) -> Neighbors:
    """Find the nearest rows of each row on a Dask cluster: `coterie.graphs.nearest_neighbors`, and exact ones its bits.

    Parameters
    ----------
    X : Dask array, Dask DataFrame, or path
        The rows; see `coterie.dask.KMeans.fit`. They stay in the memory of the workers while it runs.
    n_neighbors : int
        How many to find for each row, less than n. A row is never its own neighbour, but rows equal to it are.
    metric : {"euclidean", "cosine"}
        "cosine": rows are scaled to length 1 first. Rows of zeros are refused.
    method : {"auto", "exact", "approximate"}
        See `coterie.graphs.nearest_neighbors`. "approximate": each worker puts the rows of each of its chunks into
        cells, and queries look into some of those of each chunk.
    recall : float
        The share of the nearest rows that the approximate method is to find.
    random_state : int, RandomState or None
        Seed of the approximate method.
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
    All rows travel: 4 MiB at a time (64 MiB, if approximate) come to the client and go to each worker as queries, which
    looks among the rows that it holds, and sends the nearest of them back. So n d numbers go to each worker in all, and
    8 or 12 bytes for each neighbour come back from each. It takes O(n^2 d) operations if exact, and O(n^2 d / sqrt(c))
    for chunks of c rows if not, shared by the workers. Nothing is kept between passes: what a worker that dies has left
    is searched by another one, and the bits do not depend on the workers.

    Examples
    --------
    >>> from coterie.dask import nearest_neighbors
    >>> ids, squares = nearest_neighbors("s3://bucket/*.parquet", 5)  # doctest: +SKIP
    """
    check_option("metric", metric, METRICS)
    check_option("method", method, METHODS)
    check_recall(recall)
    check_positive_integer("n_neighbors", n_neighbors)
    plan = Plan(1, by_angle=metric == "cosine", n_threads=n_threads)
    with Crew(client_of(client), chunks_of(X, open_options), plan) as crew, single_threaded_blas():
        data = WorkerRows(crew, None, effective_n_threads(None))
        return neighbors_of(data, data, n_neighbors, method=method, recall=recall, random_state=random_state)


def neighbors_of(
    data: WorkerRows,
    queries: Queries,
    n_neighbors: int,
    *,
    method: str = "auto",
    recall: float = 0.99,
    random_state: Seed = None,
) -> Neighbors:
    """Find the nearest rows of each row that workers hold already.

    Parameters
    ----------
    data : WorkerRows
        The rows.
    queries : WorkerRows or RowSource
        The same rows, where they are to be taken from.
    n_neighbors, method, recall, random_state
        See `nearest_neighbors`.
    """
    _check_sizes(data, n_neighbors)
    pairs = float(data.n_rows) ** 2
    if method == "exact" or (method == "auto" and pairs * data.n_columns <= LEAST_WORK):
        ids, squares, _ = _search_blocks(data, queries, n_neighbors, {"aim": None}, _QUERY_BYTES)
        return Neighbors(ids, squares, "exact", 1.0)
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    how = {"aim": Aim(float(recall)), "seed": seed}
    ids, squares, found = _search_blocks(data, queries, n_neighbors, how, _QUERY_BYTES_OF_CELLS)
    warn_of_missed(found, recall)
    return Neighbors(ids, squares, "approximate", found)


def knn_graph(
    X: Any,
    n_neighbors: int = 5,
    *,
    metric: str = "euclidean",
    weights: Weights = "binary",
    bandwidth: float | None = None,
    symmetrize: Any = "max",
    include_self: bool = False,
    method: str = "auto",
    recall: float = 0.99,
    random_state: Seed = None,
    n_threads: int | None = None,
    client: Any = None,
    open_options: Mapping[str, Any] | None = None,
) -> sp.csr_array:
    """Build the graph that joins each row of a cluster to its nearest neighbours, here.

    Parameters
    ----------
    X, n_neighbors, metric, method, recall, random_state, n_threads, client, open_options
        See `nearest_neighbors`.
    weights, bandwidth, symmetrize, include_self
        See `coterie.graphs.knn_graph`.

    Returns
    -------
    csr_array of shape (n, n)
        With ``method="exact"`` the bits of `coterie.graphs.knn_graph` of the same rows.

    Examples
    --------
    >>> import coterie
    >>> from coterie.dask import knn_graph
    >>> graph = knn_graph("s3://bucket/*.parquet", 5)  # doctest: +SKIP
    >>> coterie.LaplacianKModes(100, affinity="precomputed").fit(graph)  # doctest: +SKIP
    """
    check_weights(weights, bandwidth)
    ids, squares = nearest_neighbors(
        X, n_neighbors, metric=metric, method=method, recall=recall, random_state=random_state,
        n_threads=n_threads, client=client, open_options=open_options,
    )  # fmt: skip
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


def _search_blocks(
    data: WorkerRows, queries: Queries, n_neighbors: int, how: dict[str, Any], n_bytes: int
) -> tuple[IntArray, Array, float]:
    """Return the nearest of all rows to each, their squared distances, and the recall, with so many bytes at a time."""
    ids = np.empty((data.n_rows, n_neighbors), dtype=np.int32)
    squares, pairs = np.empty(ids.shape, dtype=data.dtype), 0.0
    size = max(1, n_bytes // (data.n_columns * data.dtype.itemsize))
    for first in range(0, data.n_rows, size):
        part = slice(first, min(first + size, data.n_rows))
        payload = how | {"queries": queries.take(np.arange(part.start, part.stop)), "first": first}
        empty = partial(Nearest, part.stop - part.start, n_neighbors, data.dtype)
        answer = data.crew.run(
            "neighbors", search, payload, given=data.firsts[:-1].tolist(), sums={"nearest": empty}
        )
        found = answer.sums["nearest"]
        ids[part], squares[part] = found.ids, found.squares
        pairs += sum(answer.results.values())
    return ids, squares, pairs / float(data.n_rows) ** 2
