"""Some rows that stand for all, where time is too short for a path of all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.arrays import Array, IndexArray, IntArray
from coterie.centers.labels import nearest_labels
from coterie.fitting.deadline import Deadline
from coterie.graphs.hurried import rows_in_time
from coterie.rows import as_rows

__all__ = ["Followed", "followed_in_time"]


@dataclass(frozen=True)
class Followed:
    """Rows that stand for all.

    Attributes
    ----------
    ids : ndarray of shape (s,)
        Which they are, in the order of the first rows that follow them: what is numbered by the first of these rows is
        then numbered by the first of all rows, too.
    places : ndarray of shape (n,), int32
        Which of them each row follows: the nearest.
    """

    ids: IndexArray
    places: IntArray


def followed_in_time(
    data: Array,
    n_neighbors: int,
    work: float,
    random: np.random.RandomState,
    n_threads: int,
    deadline: Deadline,
) -> Followed | None:
    """Return the rows that there is time for, with a warning, and who follows them; None where all can be solved for.

    Parameters
    ----------
    data : ndarray of shape (n, p)
        The rows.
    n_neighbors : int
        Neighbours of each row.
    work : float
        Multiply-adds that the fit takes for each row.
    random : RandomState
        Of the draw.
    n_threads : int
        Threads.
    deadline : Deadline
        When the fit is to end.
    """
    some = rows_in_time(
        data, 1, n_neighbors, work=work, needed=np.empty(0, np.intp), random=random, n_threads=n_threads,
        deadline=deadline,
    )  # fmt: skip
    if some is None:
        return None
    places = nearest_labels(as_rows(data), data[some.ids], data.mean(axis=0, dtype=np.float64), n_threads)
    places[some.ids] = np.arange(len(some.ids))
    _, first, found = np.unique(places, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return Followed(some.ids[order], np.argsort(order)[found].astype(np.int32))
