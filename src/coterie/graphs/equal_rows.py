"""Rows that are equal, number by number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from coterie.arrays import Array, IntArray
from coterie.rows import Block

# Rows that one pass of the hash takes, and how many rows show by which columns, how many, rows mostly differ already.
_HASHED_BYTES, _SOME_ROWS, _SOME_COLUMNS = 16 << 20, 256, 32


@dataclass(frozen=True, slots=True)
class EqualRows:
    """Which rows are equal."""

    first: IntArray  # (m,), int32: the first of each set of equal rows, ascending
    places: IntArray  # (n,), int32: the set of each row
    counts: npt.NDArray[np.int64]  # (m,), int64: rows of each set


def row_hashes(rows: Block) -> npt.NDArray[np.uint64]:
    """Return a number for each row, (n,) uint64, equal for equal rows."""
    if sp.issparse(rows):
        values = _mixed(rows.data.astype(np.float64).view(np.uint64))
        entries = _mixed(rows.indices.astype(np.uint64) ^ values) * (rows.data != 0)
        ends = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
        return ends[rows.indptr[1:]] - ends[rows.indptr[:-1]]
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


def pair_hashes(first: npt.NDArray[np.uint64], second: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a number for each pair of hashes of rows, the same for both orders."""
    return _mixed(_mixed(first) ^ _mixed(second))


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return well-mixed bits (the finalizer of SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def equal_rows(rows: Block) -> EqualRows:
    """Find equal rows, by hashes first, then by comparison; sparse rows are sorted and without duplicates."""
    n, d = rows.shape
    if d < 2 * _SOME_COLUMNS or sp.issparse(rows):
        hashes = row_hashes(rows)
    else:
        some = rows[:: -(-n // _SOME_ROWS)]
        hashes = row_hashes(
            rows[:, np.argsort(np.sum(some != some[0], axis=0), kind="stable")[-_SOME_COLUMNS:]]
        )
        _, places, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        again = np.flatnonzero(counts[places] > 1)
        hashes[again] = row_hashes(rows[again])
    order = np.argsort(hashes, kind="stable")
    is_same = np.zeros(n, dtype=bool)
    is_same[1:] = hashes[order][1:] == hashes[order][:-1]
    pairs = np.flatnonzero(is_same)
    is_equal = _are_equal(rows[order[pairs]], rows[order[pairs - 1]])
    if not is_equal.all():  # different rows of one hash may lie between equal ones
        order = _in_order_of_numbers(rows, hashes)
        is_equal = _are_equal(rows[order[pairs]], rows[order[pairs - 1]])
    is_same[pairs] = is_equal
    sets = np.empty(n, dtype=np.int64)
    sets[order] = np.cumsum(~is_same) - 1
    _, first, places = np.unique(sets, return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    rank = np.empty_like(by_first)
    rank[by_first] = np.arange(len(first))
    places = rank[places]
    return EqualRows(first[by_first].astype(np.int32), places.astype(np.int32), np.bincount(places))


def _are_equal(rows: Block, others: Block) -> npt.NDArray[np.bool_]:
    """Return which rows equal those at the same place."""
    if not sp.issparse(rows):
        return np.asarray(np.all(rows == others, axis=1))
    differing = sp.csr_array(rows != others)
    return np.diff(differing.indptr) == 0


def _in_order_of_numbers(rows: Block, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return an order by hash, then by all numbers."""
    if not sp.issparse(rows):
        return np.lexsort((*(rows + rows.dtype.type(0)).T, hashes))
    keys = [
        (hashes[i], *zip(rows[[i]].indices.tolist(), rows[[i]].data.tolist())) for i in range(len(hashes))
    ]
    return np.array(sorted(range(len(hashes)), key=lambda i: keys[i]), dtype=np.int64)


def rows_of_sets(
    equal: EqualRows, sets: IntArray, squares: Array, n_rows: int, size: int = 1 << 22
) -> tuple[IntArray, Array]:
    """Return the nearest rows (q, n_rows) of the nearest sets of equal rows, by distance, then number, and the
    distances; about `size` rows are held at a time.
    """
    found, far = np.empty((len(sets), n_rows), dtype=np.int32), np.empty((len(sets), n_rows), squares.dtype)
    members = np.argsort(equal.places, kind="stable").astype(np.int32)
    firsts, counts = np.cumsum(equal.counts) - equal.counts, np.minimum(equal.counts, n_rows)[sets]
    ends = np.cumsum(counts.sum(axis=1))
    for part in np.split(np.arange(len(sets)), np.flatnonzero(np.diff(ends // size)) + 1):
        of_each = counts[part].ravel()
        starts = np.cumsum(of_each) - of_each
        near = members[np.repeat(firsts[sets[part]].ravel() - starts, of_each) + np.arange(of_each.sum())]
        distances = np.repeat(squares[part].ravel(), of_each)
        lengths = counts[part].sum(axis=1)
        order = np.lexsort((near, distances, np.repeat(np.arange(len(part)), lengths)))
        kept = order[(np.cumsum(lengths) - lengths)[:, None] + np.arange(n_rows)]
        found[part], far[part] = near[kept], distances[kept]
    return found, far


def find_rows(known: Array, queries: Array) -> IntArray:
    """Return which of some distinct rows each query equals: (q,) int32, -1 for none."""
    hashes, wanted = row_hashes(known), row_hashes(queries)
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
