"""The nearest rows of each row."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array, IntArray
from coterie.fitting.checks import check_option, check_positive_integer, random_stream, warn
from coterie.fitting.threads import effective_n_threads
from coterie.graphs.approximate import approximate_index
from coterie.graphs.equal_rows import equal_rows, rows_of_sets
from coterie.graphs.exact import exact_neighbors, without_self
from coterie.rows import Block, Rows, as_rows
from coterie.rows.derived import are_zeros, normalized

Seed: TypeAlias = int | np.random.RandomState | None

METRICS = ("euclidean", "cosine")
METHODS = ("auto", "exact", "approximate")

# Multiply-adds up to which method="auto" searches exactly: about half a second on two processors.
LEAST_WORK = 5e10

# A recall this far below the target raises a warning; smaller differences may be sampling errors.
_MUCH_MISSED = 0.02


class Neighbors(tuple[IntArray, Array]):
    """The nearest rows and their squared distances: a pair of arrays with the method and the recall.

    Attributes
    ----------
    ids, square_distances : ndarray of shape (q, n_neighbors)
        The pair.
    method : {"exact", "approximate", "given"}
        Method of the search; "given" by `given_neighbors`.
    recall : float
        Share of the true nearest rows among them: 1 if the search was exact, else measured on a sample of at most 128
        rows; NaN if unknown.
    """

    method: str
    recall: float

    def __new__(cls, ids: IntArray, square_distances: Array, method: str, recall: float) -> Self:
        pair = super().__new__(cls, (ids, square_distances))  # type: ignore[arg-type]
        pair.method, pair.recall = method, recall
        return pair

    def __reduce__(self) -> Any:
        return type(self), (*self, self.method, self.recall)

    @property
    def ids(self) -> IntArray:
        return self[0]

    @property
    def square_distances(self) -> Array:
        return self[1]


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    queries: Any = None,
    metric: str = "euclidean",
    method: str = "auto",
    recall: float = 0.99,
    random_state: Seed = None,
    n_threads: int | None = None,
) -> Neighbors:
    """Find the nearest rows of each row.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        The rows to search, in the memory of one machine: rows on Dask workers are a TypeError.
    n_neighbors : int
        Number of neighbors of each row, less than n; at most n with `queries`.
    queries : the same of shape (q, d), optional
        The rows whose neighbors are found, sparse if and only if `X` is. Default: those of `X`, without each row as its
        own neighbor; rows equal to it are neighbors.
    metric : {"euclidean", "cosine"}
        "cosine": rows are scaled to length 1 first, so squared distances are 2 - 2 cos(angle). Rows of zeros are at
        right angles to all others (squared distance 2) and at distance 0 from each other.
    method : {"auto", "exact", "approximate"}
        "exact": products of blocks of rows find candidates, differences measure them, and rows for which rounding
        may have hidden a neighbor are compared with all others by differences. "approximate", for dense rows only:
        rows are partitioned into about 2 sqrt(n) cells, and two rows are compared if one of them is close enough to
        the border with the cell of the other, in a few principal directions if these are enough; distances are
        computed in all columns. It is exact as well where that takes less work. "auto": exact if rows are sparse or
        q n d is at most 5e10, half a second on two processors; else approximate.
    recall : float
        Target share of the nearest rows that the approximate method finds, above 0 and below 1. The necessary distance
        from a border and number of directions are measured on at most 128 rows, which are compared with all rows; a
        `ConvergenceWarning` reports if others miss more.
    random_state : int, RandomState or None
        Seed of the approximate method; the exact one uses none.
    n_threads : int, optional
        None: all processors. The result does not depend on it.

    Returns
    -------
    Neighbors
        A pair of arrays of shape (q, n_neighbors), with attributes `method` and `recall` (share of the true nearest
        rows): ids, int32, row numbers in `X` by ascending distance, ties by number; and squared distances, float32 or
        float64, computed from differences and accurate for close rows.

    Raises
    ------
    ValueError
        If `n_neighbors` is too large or not positive, an option is unknown, rows hold NaN or infinities (the error
        names the first such row) or squared distances overflow, rows and queries differ in width, or
        ``method="approximate"`` is given for sparse rows.
    TypeError
        If one of rows and queries is sparse and the other is not.

    Notes
    -----
    Exact: O(q n d) time, or O(n nnz) for sparse rows; memory for two copies of the rows, and O(q n_neighbors).
    Sparse rows are compared in float64. Approximate: O((q + n) sqrt(n) m + (q + n) d m) time in m directions, and
    another 2 n m numbers of memory. The distances of the neighbors are exact, but some neighbors are missed.

    Examples
    --------
    >>> from coterie.graphs import nearest_neighbors
    >>> ids, square_distances = nearest_neighbors([[0.0], [1.0], [3.0], [3.0]], 2)
    >>> ids
    array([[1, 2],
           [0, 2],
           [3, 1],
           [2, 1]], dtype=int32)
    >>> square_distances[2]
    array([0., 4.])
    """
    check_option("metric", metric, METRICS)
    check_option("method", method, METHODS)
    check_positive_integer("n_neighbors", n_neighbors)
    if isinstance(recall, bool) or not (isinstance(recall, Real) and 0 < float(recall) < 1):
        raise ValueError(
            f'recall must be a number above 0 and below 1, got {recall!r}. method="exact" finds all.'
        )
    rows = as_rows(X)
    query_rows = None if queries is None else as_rows(queries).with_dtype(rows.dtype)
    _check_sizes(rows, query_rows, n_neighbors)
    approximate = is_approximate(method, rows, rows.shape[0] if query_rows is None else query_rows.shape[0])
    points, *others = read_rows(metric, rows, *([] if query_rows is None else [query_rows]))
    wanted = others[0] if others else None
    n_threads = effective_n_threads(n_threads)
    if approximate:
        seed = int(random_stream(random_state).randint(np.iinfo(np.int32).max))
        found = _approximate_neighbors(points, wanted, int(n_neighbors), float(recall), seed, n_threads)
        if found.recall < recall - _MUCH_MISSED:
            warn(
                f"The recall is about {found.recall:.1%}, below the target of {recall:.1%}: near rows lie in many "
                'cells. Use method="exact" to find all.',
                ConvergenceWarning,
            )
        return found
    return Neighbors(*exact_neighbors(points, wanted, int(n_neighbors), n_threads), "exact", 1.0)


def _approximate_neighbors(
    points: Array, wanted: Array | None, n_neighbors: int, recall: float, seed: int, n_threads: int
) -> Neighbors:
    """Return the neighbors by a search among the distinct points: equal ones would all be in one cell."""
    equal = equal_rows(points)
    m = len(equal.first)
    some = points if m == len(points) else np.ascontiguousarray(points[equal.first])
    k = min(n_neighbors, m - (wanted is None))
    if k == 0:  # all points are equal
        method, reached, ids, squares = (
            "exact",
            1.0,
            np.empty((1, 0), np.int32),
            np.empty((1, 0), points.dtype),
        )
    else:
        search = approximate_index(some, wanted, k, recall, seed, n_threads)
        method, reached = search.method, search.recall
        ids, squares = search.neighbors(wanted, k, n_threads)
    if some is points:
        return Neighbors(ids, squares, method, reached)
    if wanted is not None:
        return Neighbors(*rows_of_sets(equal, ids, squares, n_neighbors), method, reached)
    ids, squares = np.insert(ids, 0, np.arange(m), axis=1), np.insert(squares, 0, 0, axis=1)
    ids, squares = rows_of_sets(equal, ids, squares, n_neighbors + 1)
    return Neighbors(*without_self(ids[equal.places], squares[equal.places]), method, reached)


def _check_sizes(rows: Rows, query_rows: Rows | None, n_neighbors: int) -> None:
    """Raise an error unless there are enough rows for the number of neighbors; queries None: the rows themselves."""
    n_rows = rows.shape[0]
    if n_rows > np.iinfo(np.int32).max:
        raise ValueError(f"X has {n_rows} rows, but row numbers must fit int32.")
    if query_rows is None:
        if n_neighbors >= n_rows:
            raise ValueError(
                f"n_neighbors must be less than the number of rows, got {n_neighbors} of {n_rows} rows."
            )
        return
    if n_neighbors > n_rows:
        raise ValueError(f"n_neighbors must not exceed the {n_rows} rows of X, got {n_neighbors}.")
    if query_rows.shape[1] != rows.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, but queries has {query_rows.shape[1]}.")
    if query_rows.is_sparse != rows.is_sparse:
        raise TypeError("X and queries must both be sparse or both be dense.")


def is_approximate(method: str, rows: Rows, n_queries: int) -> bool:
    """Whether the search for this number of rows is approximate."""
    if rows.is_sparse:
        if method == "approximate":
            raise ValueError('method="approximate" takes dense rows only; X is sparse.')
        return False
    if method != "auto":
        return method == "approximate"
    return float(n_queries) * rows.shape[0] * rows.shape[1] > LEAST_WORK


def read_rows(metric: str, *sources: Rows) -> list[Block]:
    """Return all rows of each source for the metric; for "cosine" with one more column if there are rows of zeros."""
    if metric != "cosine":
        return [rows.read() for rows in sources]
    blocks = [normalized(rows).read() for rows in sources]
    return [*map(_with_zeros_apart, blocks)] if any(are_zeros(block).any() for block in blocks) else blocks


def _with_zeros_apart(block: Block) -> Block:
    """Return rows with an additional column, which is 1 for rows of zeros: they are orthogonal to all others."""
    column = are_zeros(block).astype(block.dtype)[:, None]
    if not sp.issparse(block):
        return np.hstack([block, column])
    joined = sp.csr_array(sp.hstack([block, sp.csr_array(column)], format="csr"))
    joined.sort_indices()
    return joined
