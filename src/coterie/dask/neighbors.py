"""The nearest rows of rows on a Dask cluster.

Exactly: blocks of rows travel as queries, every chunk is searched for itself, and of what all of them find the nearest
are kept. Approximately: rows travel to where the cells are searched that they visit (`coterie.dask.cells`). Neither
depends on who holds which chunk, and nothing is lost with a worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, IndexArray
from coterie.dask.cells import nearest_by_cells
from coterie.dask.chunks import chunks_of
from coterie.dask.crew import Crew
from coterie.dask.extra import client_of
from coterie.dask.parcels import NOBODY, Nearest
from coterie.dask.worker import Plan, Visit
from coterie.dask.worker_rows import WorkerRows
from coterie.fitting.checks import check_option, check_positive_integer
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads, single_threaded_blas
from coterie.graphs import Neighbors, graph_of_neighbors
from coterie.graphs.exact import ExactSearch
from coterie.graphs.knn import Weights, check_weights
from coterie.graphs.neighbors import LEAST_WORK, METHODS, METRICS, Seed, check_recall, warn_of_missed
from coterie.graphs.probes import N_PROBES, Probes
from coterie.limits.memory import Need, check_memory

__all__ = ["knn_graph", "nearest_neighbors", "neighbors_of"]

# Queries that travel at a time.
_QUERY_BYTES = 4 << 20

# Multiply-adds after which a worker looks whether the fit has ended: half a second of one thread.
_CALL_MULTIPLY_ADDS = 2e10


class Queries(Protocol):
    """Rows that can be taken."""

    def take(self, numbers: IndexArray, /) -> Array:
        """Return rows of ascending numbers."""


def search(visit: Visit, first: int) -> None:
    """Look for the nearest rows of the queries in a chunk, whose first row has this number."""
    chunk, payload, nearest = visit.chunk, visit.payload, visit.sums["nearest"]
    points, queries = np.asarray(chunk.rows.read()), payload["queries"]
    size = max(64, int(_CALL_MULTIPLY_ADDS / points.size))
    search_here = ExactSearch(points, chunk.n_threads)
    for start in range(0, len(queries), size):
        visit.check()
        part = slice(start, min(start + size, len(queries)))
        own = payload["numbers"][part] - first
        are_here = bool(np.any((own >= 0) & (own < len(points))))
        n_found = min(nearest.ids.shape[1] + are_here, len(points))
        ids, squares = search_here.neighbors(queries[part], n_found, chunk.n_threads)
        is_self = ids == own[:, None]
        ids += np.int32(first)
        ids[is_self], squares[is_self] = NOBODY, np.inf
        nearest.add(part, ids, squares)


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
        The rows; see `coterie.dask.rows`. They stay in the memory of the workers while it runs.
    n_neighbors : int
        How many to find for each row, less than n. A row is never its own neighbour, but rows equal to it are.
    metric : {"euclidean", "cosine"}
        "cosine": rows are scaled to length 1 first. Rows of zeros are refused.
    method : {"auto", "exact", "approximate"}
        See `coterie.graphs.nearest_neighbors`. "approximate": all rows are put into cells, each of which is searched by
        one worker, and each row travels to the workers of the cells that it visits.
    recall : float
        The share of the nearest rows that the approximate method is to find.
    random_state : int, RandomState or None
        Seed of the approximate method.
    n_threads : int, optional
        Threads of each worker's kernels. None: as many as the worker has.
    client : distributed.Client, optional
        None: the current one.
    open_options : dict, optional
        See `coterie.dask.rows`.

    Returns
    -------
    Neighbors
        See `coterie.graphs.nearest_neighbors`: `ids` and `square_distances` of shape (n, n_neighbors), which fit the
        memory of this machine.

    Raises
    ------
    ConnectionError, ImportError, ValueError
        As `coterie.dask.rows`, and for rows as `coterie.KMeans`.
    MemoryError
        If what is found does not fit this machine.

    Notes
    -----
    Exact: all rows travel, 4 MiB at a time, to the client and from there to each worker as queries, which looks among
    the rows that it holds, and sends the nearest of them back. So n d numbers go to each worker in all, and 8 or 12
    bytes for each neighbour come back from each. It takes O(n^2 d) operations, shared by the workers.

    Approximate: the client learns cells from a sample of at most 256 MiB. Rows travel from worker to worker, each at
    most once to each other worker; of 8 or 12 bytes for each neighbour there come as many sets here as workers have
    looked for a row. It takes O(n^1.5 d) operations, shared by the workers, each of which needs memory for the rows
    that it holds, and about three times as much while it searches.

    The bits depend on the chunks, but neither on the workers nor on whether one of them dies.

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
    everyone = np.arange(data.n_rows)
    pairs = float(data.n_rows) ** 2
    if method == "exact" or (method == "auto" and pairs * data.n_columns <= LEAST_WORK):
        nearest = _search_all(data, queries, everyone, n_neighbors)
        return Neighbors(nearest.ids, nearest.squares, "exact", 1.0)
    seed = int(random_stream(random_state).randint(np.iinfo(np.int32).max))
    drawn = np.random.RandomState(seed).choice(data.n_rows, min(N_PROBES, data.n_rows), replace=False)
    known = _search_all(data, queries, np.sort(drawn), n_neighbors)
    probes = Probes(
        np.sort(drawn), np.sort(drawn).astype(np.int32), queries.take(np.sort(drawn)), known.ids,
        known.squares[:, -1].astype(np.float64),
    )  # fmt: skip
    nearest, found = nearest_by_cells(data, probes, n_neighbors, float(recall), seed)
    few = np.flatnonzero(nearest.ids[:, -1] == NOBODY)  # whose cells hold too few rows
    if len(few):
        all_of_few = _search_all(data, queries, few, n_neighbors)
        nearest.ids[few], nearest.squares[few] = all_of_few.ids, all_of_few.squares
    warn_of_missed(found, recall)
    return Neighbors(nearest.ids, nearest.squares, "approximate", found)


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
    if data.n_rows > NOBODY:
        raise ValueError(f"X has {data.n_rows} rows, but row numbers must fit int32.")
    if n_neighbors >= data.n_rows:
        raise ValueError(
            f"n_neighbors must be less than the number of rows, got {n_neighbors} of {data.n_rows} rows."
        )
    n_bytes = data.n_rows * n_neighbors * (4 + data.dtype.itemsize)
    need = Need(n_bytes, "ids and distances of the neighbors", "ask for fewer neighbors")
    check_memory([need], f"{n_neighbors} neighbors of {data.n_rows:,} rows")


def _search_all(data: WorkerRows, queries: Queries, numbers: IndexArray, n_neighbors: int) -> Nearest:
    """Return the nearest of all rows to some of them, of ascending numbers."""
    nearest = Nearest(len(numbers), n_neighbors, data.dtype)
    size = max(1, _QUERY_BYTES // (data.n_columns * data.dtype.itemsize))
    for first in range(0, len(numbers), size):
        part = slice(first, min(first + size, len(numbers)))
        payload = {"queries": queries.take(numbers[part]), "numbers": numbers[part]}
        empty = partial(Nearest, part.stop - part.start, n_neighbors, data.dtype)
        answer = data.crew.run(
            "neighbors", search, payload, given=data.firsts[:-1].tolist(), sums={"nearest": empty}
        )
        found = answer.sums["nearest"]
        nearest.ids[part], nearest.squares[part] = found.ids, found.squares
    return nearest
