"""Nearest neighbours for a fit that is short of time: the search that can end by then."""

from __future__ import annotations

from functools import partial

from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array, IntArray
from coterie.centers.pace import seconds_of_pass
from coterie.fitting.deadline import Phase
from coterie.fitting.threads import effective_n_threads
from coterie.fitting.warn import warn
from coterie.graphs.neighbors import LEAST_WORK, Seed, nearest_neighbors
from coterie.rows import Block, as_rows

__all__ = ["neighbors_in_time"]

# Rows that others are compared with to learn the pace. The usual search takes the least work that it may, or some times
# that, beside the selection of the nearest.
_TRIED, _TIMES_LEAST = 1024, 2.0

# The share of the nearest rows that is looked for where there is no time for the usual one.
_RECALL_IN_HASTE = 0.5


def neighbors_in_time(
    rows: Block, n_neighbors: int, *, random_state: Seed, n_threads: int | None, phase: Phase
) -> tuple[IntArray, Array]:
    """Return what `nearest_neighbors` does; or half of it and other near rows, with a warning, if time is short.

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
    search = partial(nearest_neighbors, rows, n_neighbors, random_state=random_state, n_threads=n_threads)
    source = as_rows(rows)
    if not phase.deadline.is_set or source.is_sparse:
        return search()
    n_rows, n_columns = source.shape
    pace = seconds_of_pass(source, _TRIED, effective_n_threads(n_threads)) / (_TRIED * n_rows * n_columns)
    if _TIMES_LEAST * pace * min(LEAST_WORK, float(n_rows) ** 2 * n_columns) <= phase.deadline.left:
        return search()
    warn(
        f"max_time is short: about {_RECALL_IN_HASTE:.0%} of the {n_neighbors} nearest rows of each were looked for. "
        "Give more time.",
        ConvergenceWarning,
    )
    return search(method="approximate", recall=_RECALL_IN_HASTE)
