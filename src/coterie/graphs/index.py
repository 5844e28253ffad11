"""An index of rows for repeated nearest-neighbor queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.arrays import Array, IntArray
from coterie.fitting.checks import check_positive_integer, random_stream
from coterie.fitting.threads import effective_n_threads
from coterie.graphs.approximate import approximate_index
from coterie.graphs.exact import ExactSearch, exact_neighbors
from coterie.graphs.neighbors import (
    Neighbors,
    Seed,
    are_zero,
    check_alike,
    check_recall,
    check_search,
    check_sizes,
    is_approximate,
    read_as,
    read_rows,
    warn_of_low_recall,
    with_zeros_apart,
)
from coterie.rows import Block, as_rows


class NeighborIndex:
    """An index of rows for repeated nearest-neighbor queries, in batches.

    The method, the cells, and the number of directions are chosen when the index is built. The
    result of `query` for a row does not depend on other rows, so any batches give the same result.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        The rows to search. They are held in memory, arrays without a copy: do not change them while the index is used.
    n_neighbors : int
        Maximum number of neighbors for `query`, at most n.
    queries : the same of shape (s, d), optional
        A random sample of typical queries, a few thousand, to plan the approximate search and to measure its recall.
        Default: the rows of `X`. Queries from another distribution may need more cells.
    metric : {"euclidean", "cosine"}
        See `nearest_neighbors`.
    method : {"auto", "exact", "approximate"}
        See `nearest_neighbors`. "auto": as for n queries: exact if rows are sparse or n^2 d is at most 5e10.
    recall : float
        Target share of the nearest rows that the approximate method finds, above 0 and below 1.
    random_state : int, RandomState or None
        Seed of the approximate method.
    n_threads : int, optional
        Threads of the construction and, by default, of `query`. None: all processors. The result does not depend on it.

    Attributes
    ----------
    n_neighbors : int
        As given.
    metric : str
        As given.
    method : {"exact", "approximate"}
        Method of the search.
    recall : float
        Share of the nearest rows that is found: 1 if the search is exact, else measured on at most 128 rows of
        `queries` or `X`, which are compared with all rows.
    shape : (int, int)
        n and d.

    Raises
    ------
    ValueError, TypeError
        As `nearest_neighbors`.

    See Also
    --------
    nearest_neighbors : for one batch, or the neighbors within the rows.

    Notes
    -----
    Exact: O(n d) time to build, O(q n d) for q rows. Approximate: O(n^1.5 m + n d m) to build, in m directions, and
    O(q sqrt(n) m + q d m) for q rows. Memory: the rows, and n d (exact) or 2 n m numbers.
    An index can be pickled, also by joblib, for the same version of coterie.

    Examples
    --------
    >>> from coterie.graphs import NeighborIndex
    >>> index = NeighborIndex([[0.0], [1.0], [3.0], [3.0]], 2)
    >>> index.query([[2.5]]).ids
    array([[2, 3]], dtype=int32)
    >>> ids, square_distances = index.query([[0.25], [9.0]], 1)
    >>> square_distances.ravel()
    array([ 0.0625, 36.    ])
    >>> index
    NeighborIndex of 4 x 1 rows: 2 neighbors, euclidean, exact
    """

    def __init__(
        self,
        X: Any,
        n_neighbors: int,
        *,
        queries: Any = None,
        metric: str = "euclidean",
        method: str = "auto",
        recall: float = 0.99,
        random_state: Seed = None,
        n_threads: int | None = None,
    ) -> None:
        check_search(n_neighbors, metric, method)
        check_recall(recall)
        rows = as_rows(X)
        sample = None if queries is None else as_rows(queries, dtype=rows.dtype)
        check_sizes(rows, rows if sample is None else sample, n_neighbors)
        self._n_threads, n_threads = n_threads, effective_n_threads(n_threads)
        self.shape, self.n_neighbors, self.metric = rows.shape, int(n_neighbors), metric
        self._dtype, self._is_sparse = rows.dtype, rows.is_sparse
        approximate = is_approximate(method, rows, rows.shape[0])
        self._points, *others = read_rows(metric, rows, *([] if sample is None else [sample]))
        if approximate:
            seed = int(random_stream(random_state).randint(np.iinfo(np.int32).max))
            self._search = approximate_index(
                self._points, others[0] if others else None, self.n_neighbors, float(recall), seed, n_threads,
                are_queried=False,
            )  # fmt: skip
            warn_of_low_recall(self._search.recall, recall)
        else:
            self._search = ExactSearch(self._points, n_threads)
        self.method, self.recall = self._search.method, self._search.recall

    def query(
        self, queries: Any, n_neighbors: int | None = None, *, n_threads: int | None = None
    ) -> Neighbors:
        """Find the nearest rows of the index for each query.

        Parameters
        ----------
        queries : array-like, sparse matrix, table, Dask array or Rows of shape (q, d)
            One or more rows, sparse if and only if those of the index are, converted to their type. A row of the index
            is its own nearest neighbor.
        n_neighbors : int, optional
            Number of neighbors for each row. None: the `n_neighbors` of the index, which is the maximum.
        n_threads : int, optional
            None: that of the index.

        Returns
        -------
        Neighbors
            See `nearest_neighbors`; bit-identical to its result if the index is exact. `recall` is that of the index.

        Raises
        ------
        ValueError
            If `n_neighbors` is larger than that of the index or not positive, the rows have another number of columns,
            hold NaN or infinities (the error names the first such row), or squared distances overflow.
        TypeError
            If one of rows and queries is sparse and the other is not.
        """
        wanted = check_positive_integer(
            "n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors
        )
        if wanted > self.n_neighbors:
            raise ValueError(
                f"n_neighbors must not exceed the {self.n_neighbors} that the index is made for, got {wanted}."
            )
        rows = as_rows(queries, dtype=self._dtype)
        check_alike(rows, self.shape[1], is_sparse=self._is_sparse)
        n_threads = effective_n_threads(self._n_threads if n_threads is None else n_threads)
        block = read_as(self.metric, rows)
        are_apart = self._points.shape[1] > self.shape[1]
        ids, squares = self._search.neighbors(
            with_zeros_apart(block) if are_apart else block, self.n_neighbors, n_threads
        )
        if self.metric == "cosine" and not are_apart:
            self._answer_zeros(block, ids, squares, n_threads)
        return Neighbors(
            np.ascontiguousarray(ids[:, :wanted]),
            np.ascontiguousarray(squares[:, :wanted]),
            self.method,
            self.recall,
        )

    def _answer_zeros(self, block: Block, ids: IntArray, squares: Array, n_threads: int) -> None:
        """Write the neighbors of rows of zeros for an index without such rows: all rows are orthogonal to them."""
        zeros = np.flatnonzero(are_zero(block))
        if len(zeros):
            points, one = with_zeros_apart(self._points), with_zeros_apart(block[zeros[:1]])
            ids[zeros], squares[zeros] = exact_neighbors(points, one, self.n_neighbors, n_threads)

    def __repr__(self) -> str:
        n, d = self.shape
        return f"NeighborIndex of {n} x {d} rows: {self.n_neighbors} neighbors, {self.metric}, {self.method}"
