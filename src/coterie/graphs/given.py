"""Neighbors from other libraries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, BoolArray, IntArray
from coterie.graphs.neighbors import Neighbors
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


def _nearest_first(ids: IntArray, squares: Array) -> tuple[IntArray, Array]:
    """Sort lists by distance, then number; -1 last."""
    order = np.lexsort((ids, squares), axis=1)
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(squares, order, axis=1)


def _refuse(is_bad: BoolArray, what: str) -> None:
    bad = is_bad.any(axis=1)
    if bad.any():
        raise ValueError(f"{what}. First bad row: {int(bad.argmax())}.")
