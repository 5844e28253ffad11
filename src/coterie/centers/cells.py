"""Cells: rows put where a few steps of k-means spread centroids, so that a search needs to look into a few only."""

from __future__ import annotations

import numpy as np

from coterie.arrays import Array
from coterie.blocks.dataset import Dataset
from coterie.centers.lloyd import iterate, local_passes
from coterie.fitting.report import Report, Stop
from coterie.fitting.threads import single_threaded_blas
from coterie.rows import as_rows

__all__ = ["cell_centers"]

# Where the cells lie matters little; a few steps spread them.
_STEPS = 5


def cell_centers(rows: Array, n_cells: int, *, seed: int, n_threads: int) -> Array:
    """Return the centres of cells. Equal rows share a cell, and others stay empty.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
        What they are learnt from.
    n_cells : int
        At most n.
    seed : int
        Of the rows that they begin with.
    n_threads : int
        Threads of the kernels.

    Returns
    -------
    ndarray of shape (n_cells, d), dtype of the rows
    """
    drawn = np.random.RandomState(seed).choice(len(rows), n_cells, replace=False)
    with single_threaded_blas():
        data = Dataset(as_rows(rows), None, n_clusters=n_cells, n_threads=n_threads)
        passes = local_passes(data, rows[drawn])
        frame, _, _ = iterate(passes, rows[drawn], stop=Stop(_STEPS), report=Report())
    return frame.centers
