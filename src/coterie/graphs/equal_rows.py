"""Rows that are equal, number by number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, IntArray

# Rows that one pass of the hash takes.
_HASHED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class EqualRows:
    """Which rows are equal.

    Attributes
    ----------
    first : ndarray of shape (m,), int32
        The first of each set of equal rows, ascending.
    places : ndarray of shape (n,), int32
        The set of each row.
    counts : ndarray of shape (m,), int64
        Rows of each set.
    """

    first: IntArray
    places: IntArray
    counts: npt.NDArray[np.int64]


def _hashes(rows: Array) -> npt.NDArray[np.uint64]:
    """Return a number for each row, (n,) uint64, equal for equal rows."""
    words = rows.dtype.itemsize // 4 * rows.shape[1]
    factors = np.random.RandomState(0).randint(1, 2**63 - 1, words, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    hashes = np.empty(len(rows), dtype=np.uint64)
    size = max(1, _HASHED_BYTES // (8 * words))
    for start in range(0, len(rows), size):
        # -0 and 0 have the same bytes after the sum.
        block = np.ascontiguousarray(rows[start : start + size] + rows.dtype.type(0)).view(np.uint32)
        mixed = block.astype(np.uint64)
        mixed *= factors
        mixed ^= mixed >> np.uint64(29)
        hashes[start : start + size] = mixed.sum(axis=1, dtype=np.uint64)
    return hashes


def equal_rows(rows: Array) -> EqualRows:
    """Find equal rows: by hashes first, then by comparison.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Finite numbers.

    Returns
    -------
    EqualRows

    Notes
    -----
    O(n d + n log n) time.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graphs.equal_rows import equal_rows
    >>> equal_rows(np.array([[2.0], [0.0], [2.0], [-0.0]])).places
    array([0, 1, 0, 1], dtype=int32)
    """
    n = len(rows)
    hashes = _hashes(rows)
    order = np.argsort(hashes, kind="stable")
    is_same = np.zeros(n, dtype=bool)
    is_same[1:] = hashes[order][1:] == hashes[order][:-1]
    pairs = np.flatnonzero(is_same)
    is_equal = np.all(rows[order[pairs]] == rows[order[pairs - 1]], axis=1)
    if not is_equal.all():  # different rows of one hash may lie between equal ones
        order = np.lexsort((*(rows + rows.dtype.type(0)).T, hashes))
        pairs = np.flatnonzero(is_same)
        is_equal = np.all(rows[order[pairs]] == rows[order[pairs - 1]], axis=1)
    is_same[pairs] = is_equal
    sets = np.empty(n, dtype=np.int64)
    sets[order] = np.cumsum(~is_same) - 1
    _, first, places = np.unique(sets, return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    rank = np.empty_like(by_first)
    rank[by_first] = np.arange(len(first))
    places = rank[places]
    return EqualRows(first[by_first].astype(np.int32), places.astype(np.int32), np.bincount(places))


def find_rows(known: Array, queries: Array) -> IntArray:
    """Return which of some distinct rows each row equals: (q,) int32, -1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.graphs.equal_rows import find_rows
    >>> find_rows(np.array([[2.0], [0.0]]), np.array([[-0.0], [1.0]]))
    array([ 1, -1], dtype=int32)
    """
    hashes, wanted = _hashes(known), _hashes(queries)
    order = np.argsort(hashes, kind="stable")
    places = np.searchsorted(hashes[order], wanted)
    found = np.full(len(queries), -1, dtype=np.int32)
    waiting = np.arange(len(queries))
    while len(waiting):  # once, unless different rows have one hash
        is_there = places[waiting] < len(known)
        waiting = waiting[is_there]
        candidates = order[places[waiting]]
        has_hash = hashes[candidates] == wanted[waiting]
        waiting, candidates = waiting[has_hash], candidates[has_hash]
        is_equal = np.all(known[candidates] == queries[waiting], axis=1)
        found[waiting[is_equal]] = candidates[is_equal]
        waiting = waiting[~is_equal]
        places[waiting] += 1
    return found
