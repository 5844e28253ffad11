"""Columns of rounded or discrete values, whose rows are spread over the steps between the values."""

from __future__ import annotations

import numpy as np

from coterie.arrays import Array, FloatArray, IndexArray
from coterie.graphs.equal_rows import EqualRows, pair_hashes, row_hashes


def spread_rows(rows: Array, equal: EqualRows, core_distances: FloatArray, least: int) -> Array | None:
    """Return rows with random offsets of up to half a step in columns of steps of at least the median core distance;
    None if there are none. Of equal rows the first has the least offsets.
    """
    scale = max(float(np.median(core_distances[equal.places])), np.finfo(rows.dtype).tiny)
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
    ranks = [np.unique(column, return_inverse=True)[1] for column in rows.T]
    hashes = row_hashes(np.column_stack(ranks).astype(np.float64))
    by_set = np.argsort(equal.places, kind="stable")
    copies = np.arange(len(rows)) - np.repeat(np.cumsum(equal.counts) - equal.counts, equal.counts)
    numbers = np.empty((len(rows), len(columns)), dtype=np.uint64)
    numbers[by_set] = copies[:, None] * len(columns) + np.arange(len(columns))
    drawn = pair_hashes(np.broadcast_to(hashes[:, None], numbers.shape), numbers)
    offsets = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5
    offsets[by_set] = offsets[np.lexsort((np.abs(offsets).max(axis=1), equal.places))]
    return offsets
