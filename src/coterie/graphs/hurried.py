"""Nearest neighbours for a fit that is short of time: the search that can end by then."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from coterie.centers.pace import seconds_of_pass
from coterie.fitting.deadline import Phase
from coterie.fitting.threads import effective_n_threads
from coterie.fitting.warn import warn
from coterie.graphs.approximate import approximate_neighbors, seconds_of_visits
from coterie.graphs.exact import Neighbors
from coterie.graphs.neighbors import Seed, is_approximate, nearest_neighbors
from coterie.rows import Block, as_rows

__all__ = ["neighbors_in_time"]

# Rows that others are compared with to learn the pace, and what the best of all take beside a product.
_TRIED, _SELECTION = 1024, 1.5

# Cells that each row looks into: the fewer, the sooner, and the more neighbours are missed. 8 is the usual number.
_VISITS = (8, 4, 2, 1)


def neighbors_in_time(
    rows: Block, n_neighbors: int, *, random_state: Seed, n_threads: int | None, phase: Phase
) -> Neighbors:
    """Return what `nearest_neighbors` does, or near rows that can be found in time, with a warning.

    Parameters
    ----------
    rows, n_neighbors, random_state, n_threads
        See `nearest_neighbors`.
    phase : Phase
        How long it may take.

    Returns
    -------
    ids : ndarray of shape (n, n_neighbors), int32
    square_distances : ndarray of shape (n, n_neighbors)

    Notes
    -----
    Sparse rows are compared with all others, whatever time that takes.
    """
    source = as_rows(rows)
    if not phase.deadline.is_set or source.is_sparse:
        return nearest_neighbors(rows, n_neighbors, random_state=random_state, n_threads=n_threads)
    n_threads = effective_n_threads(n_threads)
    per_row = _SELECTION * seconds_of_pass(source, _TRIED, n_threads) / _TRIED
    is_usual_approximate = is_approximate("auto", source, None)
    if not is_usual_approximate and per_row * source.shape[0] <= phase.deadline.left:
        return nearest_neighbors(rows, n_neighbors, method="exact", n_threads=n_threads)
    pace = per_row / _SELECTION
    fitting = [n for n in _VISITS if seconds_of_visits(source.shape, n, pace) <= phase.deadline.left]
    n_visits = fitting[0] if fitting else _VISITS[-1]
    if not is_usual_approximate or n_visits < _VISITS[0]:
        warn(
            f"max_time is short: the neighbours of each row were looked for in {n_visits} of the cells of rows only, "
            "so some of the nearest are missed. Give more time.",
            ConvergenceWarning,
        )
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    return approximate_neighbors(source.read(), None, int(n_neighbors), seed, n_threads, n_visits)
