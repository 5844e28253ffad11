"""Neighbors from other libraries, and updates for added rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, BoolArray, IntArray
from coterie.fitting.checks import random_stream
from coterie.graphs.neighbors import Neighbors, Seed, nearest_neighbors
from coterie.rows import as_rows
from coterie.rows.checks import compute_dtype


def given_neighbors(ids: npt.ArrayLike, distances: npt.ArrayLike, *, squared: bool = False) -> Neighbors:
    """Check neighbors from another library, and return them in the form of `nearest_neighbors`.

    Parameters
    ----------
    ids : array-like of shape (n, m), of integers
        Near rows of each row, 0 to n - 1, in any order, with or without the row itself; -1 for none. The output of
        pynndescent, hnswlib, faiss, cuML or scikit-learn's `kneighbors`.
    distances : array-like of shape (n, m)
        Their distances; those of -1 are ignored.
    squared : bool
        Whether distances are squared, as in hnswlib and faiss.

    Returns
    -------
    Neighbors
        By distance, then number, without the row itself: one column less if every row was in its own list. Shorter
        lists end with -1, at infinite distance. `method` is "given", and `recall` is NaN (unknown).

    Raises
    ------
    ValueError
        If the shapes differ, a number is out of range or occurs twice in a list, or a distance is negative or NaN (the
        error names the first such row).
    TypeError
        If the ids are not integers.

    See Also
    --------
    graph_of_neighbors : builds a graph from them for `affinity="precomputed"`.

    Examples
    --------
    >>> from coterie.graphs import given_neighbors
    >>> ids, square_distances = given_neighbors([[0, 1], [1, 0], [2, 1]], [[0, 1], [0, 1], [0, 2]])
    >>> ids.ravel(), square_distances.ravel()
    (array([1, 0, 1], dtype=int32), array([1., 1., 4.]))
    """
    numbers, lengths = np.asarray(ids), np.asarray(distances)
    if numbers.ndim != 2 or numbers.shape != lengths.shape:
        raise ValueError(
            f"ids and distances must be of one shape (n, m), got {numbers.shape} and {lengths.shape}."
        )
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"ids must be integers, got {numbers.dtype}.")
    if lengths.dtype.kind not in "fiu":
        raise TypeError(f"distances must be numbers, got {lengths.dtype}.")
    n = len(numbers)
    if n > np.iinfo(np.int32).max:
        raise ValueError(f"ids has {n} rows, but row numbers must fit int32.")
    # -1 stored as an unsigned number.
    is_none = numbers == np.array(-1).astype(numbers.dtype)
    _refuse(~is_none & ((numbers < 0) | (numbers >= n)), f"ids has a number that is not -1, or 0 to {n - 1}")
    dtype = compute_dtype(lengths.dtype)
    squares = np.where(is_none, np.inf, lengths).astype(dtype)
    _refuse(~(squares >= 0), "distances has NaN or a negative number")
    if not squared:
        with np.errstate(over="ignore"):
            squares = np.square(squares)
    _refuse(np.isinf(squares) & ~is_none, "distances has an infinite number, or its square is")
    near = np.where(is_none, -1, numbers.astype(np.int64)).astype(np.int32)
    ascending = np.sort(near, axis=1)
    _refuse(
        (ascending[:, 1:] == ascending[:, :-1]) & (ascending[:, 1:] >= 0), "ids names a row twice in the list"
    )
    is_self = near == np.arange(n, dtype=np.int32)[:, None]
    near[is_self], squares[is_self] = -1, np.inf
    near, squares = _nearest_first(near, squares)
    if n > 0 and near.shape[1] > 0 and is_self.any(axis=1).all():
        near, squares = near[:, :-1].copy(), squares[:, :-1].copy()
    return Neighbors(near, squares, "given", float("nan"))


def extend_neighbors(
    X: Any,
    neighbors: tuple[IntArray, Array],
    rows: Any,
    *,
    metric: str = "euclidean",
    method: str = "auto",
    recall: float = 0.99,
    random_state: Seed = None,
    n_threads: int | None = None,
) -> Neighbors:
    """Add rows to those with known neighbors, and update all lists.

    The new rows are compared with all rows, the old ones with the new ones only.

    Parameters
    ----------
    X : array-like, sparse matrix, table, Dask array or Rows of shape (n, d)
        The old rows.
    neighbors : Neighbors, or a pair of arrays of shape (n, m)
        Nearest neighbors and squared distances of the old rows, from `nearest_neighbors` or `given_neighbors`.
    rows : the same as X, of shape (q, d)
        The new rows, sparse if and only if `X` is.
    metric : {"euclidean", "cosine"}
        That of `neighbors`.
    method, recall, random_state, n_threads
        See `nearest_neighbors`.

    Returns
    -------
    Neighbors
        Neighbors of the old rows and the new ones, which are numbered n to n + q - 1. With exact methods, bit-identical
        to `nearest_neighbors` of all rows. `recall` is the least of those of the parts.

    Raises
    ------
    ValueError
        If the numbers of rows of `neighbors` and `X` differ; otherwise as in `nearest_neighbors`.
    TypeError
        If `neighbors` is not a pair.

    Notes
    -----
    Exact: O(n q d + q^2 d) time, instead of O((n + q)^2 d).

    Examples
    --------
    >>> from coterie.graphs import extend_neighbors, nearest_neighbors
    >>> old = [[0.0], [1.0], [3.0]]
    >>> extend_neighbors(old, nearest_neighbors(old, 1), [[2.9], [0.1]]).ids.ravel()
    array([4, 4, 3, 2, 0], dtype=int32)
    """
    if not (isinstance(neighbors, tuple | list) and len(neighbors) == 2):
        raise TypeError(
            "neighbors must be a pair of arrays, ids and squared distances of the rows of X, before the new rows: "
            "extend_neighbors(X, neighbors, rows)."
        )
    old = as_rows(X)
    new = as_rows(rows, dtype=old.dtype)
    n, q = old.shape[0], new.shape[0]
    known_ids, known_squares = neighbors
    if known_ids.ndim != 2 or known_ids.shape != known_squares.shape or len(known_ids) != n:
        raise ValueError(
            f"neighbors must be two arrays with a row for each of the {n} rows of X, got shapes {known_ids.shape} and "
            f"{known_squares.shape}."
        )
    _refuse((known_ids < -1) | (known_ids >= n), f"neighbors has a number that is not -1, or 0 to {n - 1}")
    m = known_ids.shape[1]
    seed = int(random_stream(random_state).randint(np.iinfo(np.int32).max))
    how: dict[str, Any] = dict(
        metric=metric, method=method, recall=recall, random_state=seed, n_threads=n_threads
    )
    of_old = nearest_neighbors(new, min(m, q), queries=old, **how)
    of_new = nearest_neighbors(old, min(m, n), queries=new, **how)
    parts = [of_old, of_new]
    lists = [_joined((known_ids, known_squares), (of_old.ids + np.int32(n), of_old.square_distances), m)]
    if q > 1:
        among = nearest_neighbors(new, min(m, q - 1), **how)
        parts.append(among)
        lists.append(_joined(of_new, (among.ids + np.int32(n), among.square_distances), m))
    else:
        lists.append(_joined(of_new, of_new[:0], m))
    ids, squares = (np.concatenate(arrays) for arrays in zip(*lists))
    recalls = [getattr(neighbors, "recall", 1.0), *(part.recall for part in parts)]
    methods = {getattr(neighbors, "method", "given"), *(part.method for part in parts)}
    return Neighbors(ids, squares, methods.pop() if len(methods) == 1 else "mixed", float(np.min(recalls)))


def _joined(first: Any, second: Any, m: int) -> tuple[IntArray, Array]:
    """Return the nearest m of two lists for each row; the first list has the smaller numbers."""
    both = [np.hstack(arrays) for arrays in zip(first, second)] if len(second) else list(first)
    ids, squares = _nearest_first(both[0], both[1].astype(first[1].dtype, copy=False))
    missing = m - ids.shape[1]
    if missing > 0:
        ids = np.pad(ids, ((0, 0), (0, missing)), constant_values=-1)
        squares = np.pad(squares, ((0, 0), (0, missing)), constant_values=np.inf)
    return ids[:, :m], squares[:, :m]


def _nearest_first(ids: IntArray, squares: Array) -> tuple[IntArray, Array]:
    """Sort lists by distance, then number; -1 last."""
    order = np.lexsort((ids, squares), axis=1)
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(squares, order, axis=1)


def _refuse(is_bad: BoolArray, what: str) -> None:
    bad = is_bad.any(axis=1)
    if bad.any():
        raise ValueError(f"{what}. First bad row: {int(bad.argmax())}.")
