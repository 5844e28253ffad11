"""Columns of repeated values: rows are spread over the steps of rounded and discrete ones, and a value that many rows
share among distinct ones, as imputed medians are, is replaced.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.graphs import nearest_neighbors
from coterie.graphs.equal_rows import EqualRows, pair_hashes, row_hashes

# How many times as frequent as any other value of its column a fill value is, and donors that are asked for.
_LEAST_RATIO, _MOST_DONORS = 5, 15


def fill_values(rows: Array, scale: float, least: int) -> dict[int, float]:
    """Return by column the value of at least `least` rows that others are on both sides of, most of them distinct: it
    is like an imputed median.
    """
    found: dict[int, float] = {}
    for j in np.flatnonzero(np.ptp(rows, axis=0) >= scale).tolist() if rows.shape[1] > 1 else []:
        values, counts = np.unique(rows[:, j], return_counts=True)
        most, n_others = counts.argmax(), len(rows) - counts.max()
        if counts[most] < least or 2 * (len(values) - 1) <= n_others:
            continue
        is_between = n_others / 4 <= counts[:most].sum() <= 3 * n_others / 4
        if is_between and counts[most] >= _LEAST_RATIO * np.delete(counts, most).max():
            found[j] = float(values[most])
    return found


def filled_rows(
    known: Array, asked: Array, fills: dict[int, float], search: str, seed: int, n_threads: int
) -> Array:
    """Return rows whose fill values are replaced by ones between those of the two nearest known rows in the other
    columns; hashes draw them, and decide between equally near rows.
    """
    hashes, filled = _rank_hashes(known, asked), asked.copy()
    known = known[np.argsort(_rank_hashes(known, known))]
    for j, value in fills.items():
        donors, at = known[known[:, j] != value], np.flatnonzero(asked[:, j] == value)
        if not len(at):
            continue
        others, wanted = (np.ascontiguousarray(np.delete(part, j, axis=1)) for part in (donors, asked[at]))
        ids, squares = nearest_neighbors(
            others, min(_MOST_DONORS, len(donors)), queries=wanted, method=search, random_state=seed,
            n_threads=n_threads,
        )  # fmt: skip
        n_nearest = np.sum(squares == squares[:, :1], axis=1)
        drawn = pair_hashes(hashes[at], np.full(len(at), j, dtype=np.uint64)) >> np.uint64(11)
        first = drawn.astype(np.int64) % n_nearest
        pairs = np.stack([first, (first + 1) % np.maximum(n_nearest, 2)])
        low, high = np.sort(donors[ids[np.arange(len(at)), pairs], j], axis=0)
        filled[at, j] = low + drawn * 2.0**-53 * (high - low)
    return filled


def spread_rows(rows: Array, equal: EqualRows, scale: float, least: int) -> Array | None:
    """Return rows with random offsets of up to half a step in columns of steps of at least a scale; None if there are
    none. Of equal rows the first has the least offsets.
    """
    columns = np.flatnonzero(np.ptp(rows, axis=0) >= scale)
    typical = np.array([np.median(_steps(rows[:, j], equal, least, rows.shape[1])) for j in columns])
    is_wide = typical >= scale
    # Offsets of q columns add q step^2 / 6 to squared distances: those of many must not hide what separates rows.
    is_wide &= typical >= scale * np.sqrt(is_wide.sum() / 6)
    columns = columns[is_wide]
    if not len(columns):
        return None
    steps = np.column_stack([_steps(rows[:, j], equal, least, rows.shape[1]) for j in columns])
    spread = rows.copy()
    spread[:, columns] += _offsets(rows, equal, columns) * steps
    return spread


def _steps(column: Array, equal: EqualRows, least: int, n_columns: int) -> FloatArray:
    """Return the distance of each value to the nearest other one, 0 for those of fewer than `least` rows. In several
    columns values that most distinct rows have of their own make no steps: they may be those of repeated rows.
    """
    values, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    gaps = np.concatenate([[np.inf], np.diff(values.astype(np.float64)), [np.inf]])
    is_step = (counts >= least) & (n_columns == 1 or 2 * len(values) <= len(equal.first))
    return np.where(is_step, np.minimum(gaps[1:], gaps[:-1]), 0)[places]


def _offsets(rows: Array, equal: EqualRows, columns: IndexArray) -> FloatArray:
    """Return numbers from -1/2 to 1/2 for some columns of each row, by the ranks of its values and its number among
    equal rows, so that neither units nor an order of the rows changes them.
    """
    hashes = _rank_hashes(rows, rows)
    by_set = np.argsort(equal.places, kind="stable")
    copies = np.arange(len(rows)) - np.repeat(np.cumsum(equal.counts) - equal.counts, equal.counts)
    numbers = np.empty((len(rows), len(columns)), dtype=np.uint64)
    numbers[by_set] = copies[:, None] * len(columns) + np.arange(len(columns))
    drawn = pair_hashes(np.broadcast_to(hashes[:, None], numbers.shape), numbers)
    offsets = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5
    offsets[by_set] = offsets[np.lexsort((np.abs(offsets).max(axis=1), equal.places))]
    return offsets


def _rank_hashes(known: Array, asked: Array) -> npt.NDArray[np.uint64]:
    """Return hashes of the ranks that the values of rows have among those of known rows."""
    ranks = [np.searchsorted(np.unique(column), values) for column, values in zip(known.T, asked.T)]
    return row_hashes(np.column_stack(ranks).astype(np.float64))
