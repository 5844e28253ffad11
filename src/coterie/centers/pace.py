"""How long a pass over the data will take, so that a fit in a hurry knows what it has time for."""

from __future__ import annotations

import numpy as np

from coterie.blocks.kernel_rows import dense, kernel_rows
from coterie.centers.frame import CenterFrame
from coterie.fitting.deadline import now
from coterie.rows import RowSource

__all__ = ["seconds_of_pass"]

# Multiply-adds of a trial, and the rows of one: some milliseconds.
_MULTIPLY_ADDS = 2e8
_FEWEST_ROWS, _MOST_ROWS = 64, 4096


def seconds_of_pass(rows: RowSource, n_clusters: int, n_threads: int) -> float:
    """Return about how long it takes to compare all rows with so many centroids, without the reading of files.

    Parameters
    ----------
    rows : RowSource of shape (n, d)
        The data; its first rows are compared with some, twice.
    n_clusters : int
        Number of centroids.
    n_threads : int
        Threads of the kernel.

    Returns
    -------
    float
    """
    n_rows, n_columns = rows.shape
    size = min(n_rows, int(np.clip(_MULTIPLY_ADDS / (n_columns * n_clusters), _FEWEST_ROWS, _MOST_ROWS)))
    block = rows.take(np.arange(size))
    centers = np.resize(dense(block), (n_clusters, n_columns)).astype(rows.dtype)
    frame = CenterFrame(centers, np.zeros(n_columns), n_threads)
    x, labels, scores = kernel_rows(block), np.empty(size, np.int32), np.empty(size, rows.dtype)
    trials = []
    for _ in range(2):
        begin = now()
        frame.nearest(x, labels, scores)
        trials.append(now() - begin)
    return min(trials) * n_rows / size
