"""Graphs for a fit that is short of time: a search that can end by then, or one among some of the rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from coterie.arrays import Array, IndexArray, IntArray
from coterie.centers.pace import seconds_of_pass
from coterie.fitting.deadline import Deadline, Phase
from coterie.fitting.randomness import random_stream
from coterie.fitting.threads import effective_n_threads
from coterie.fitting.warn import warn
from coterie.graphs.approximate import Aim, approximate_neighbors
from coterie.graphs.neighbors import LEAST_WORK, Seed, nearest_neighbors
from coterie.rows import Block, RowSource, as_rows

__all__ = ["Pace", "SomeRows", "graph_with_followers", "neighbors_in_time", "rows_in_time"]

# Rows that others are compared with to learn the pace. The usual search takes the least work that it may, or some times
# that, beside the selection of the nearest.
_TRIED, _TIMES_LEAST = 1024, 2.0

# The share of the nearest rows that is looked for where there is no time for the usual one.
_RECALL_IN_HASTE = 0.5

# Multiply-adds of the least approximate search, for each row and column: so many for each root of the number of rows
# (cells, and the visits of few of them), and those of probes and of learning the cells.
_WORK_PER_ROOT, _WORK_PER_ROW = 16.0, 2000.0

# Parts of the time left that a graph may take, and the rest of the least fit; and, where some rows stand for all, the
# search for those that the others follow.
_GRAPH_SHARE, _FIT_SHARE, _FOLLOWING_SHARE = 0.5, 0.5, 0.25

# What else it takes to follow, in multiply-adds for each cluster and each neighbour of a row; and how many rows of
# each cluster, and in all, are the fewest that can stand for the others.
_FOLLOWING_PER_CLUSTER, _FOLLOWING_PER_NEIGHBOR = 2e3, 1.6e4
_FEWEST_PER_CLUSTER, _FEWEST_ROWS = 4, 64


@dataclass(frozen=True)
class Pace:
    """How fast rows are compared with others now; what else takes time goes by the same measure.

    Attributes
    ----------
    per_pair : float
        Seconds for a row and another.
    per_multiply_add : float
        Seconds for each number of theirs.
    """

    per_pair: float
    per_multiply_add: float

    @classmethod
    def of(cls, source: RowSource, n_threads: int) -> Pace:
        """Return the pace of rows, of which some are compared."""
        n_rows, n_columns = source.shape
        per_pair = seconds_of_pass(source, _TRIED, n_threads) / (_TRIED * n_rows)
        return cls(per_pair, per_pair / n_columns)


@dataclass(frozen=True)
class SomeRows:
    """Rows that stand for all.

    Attributes
    ----------
    ids : ndarray of shape (m,)
        Which they are, ascending.
    seconds : float
        About how long it will take to let the others follow.
    """

    ids: IndexArray
    seconds: float


def rows_in_time(
    rows: Block,
    n_clusters: int,
    n_neighbors: int,
    *,
    work: float,
    needed: IndexArray,
    random: np.random.RandomState,
    n_threads: int,
    deadline: Deadline,
) -> SomeRows | None:
    """Return the rows that there is time to cluster by a graph, with a warning; None where all of them can be.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n, d)
        The rows.
    n_clusters, n_neighbors : int
        Clusters, and neighbours of each row.
    work : float
        Multiply-adds that the least fit takes for each row and cluster, besides its graph.
    needed : ndarray of shape (r,)
        Rows that are to be among them, as far as half of them go.
    random : RandomState
        Of the draw.
    n_threads : int
        Threads.
    deadline : Deadline
        When the fit is to end.
    """
    n_rows = rows.shape[0]
    fewest = max(_FEWEST_ROWS, _FEWEST_PER_CLUSTER * n_clusters, 2 * n_neighbors + 2)
    if not deadline.is_set or n_rows <= fewest:
        return None
    source = as_rows(rows)
    pace, left = Pace.of(source, n_threads), max(deadline.left, 0.0)
    per_row = pace.per_multiply_add * work * n_clusters
    if _seconds_of_graph(source, pace) <= _GRAPH_SHARE * left and per_row * n_rows <= _FIT_SHARE * left:
        return None
    wanted = _FOLLOWING_SHARE * left / max(pace.per_pair * n_rows, per_row)
    n_some = min(max(int(wanted), fewest), n_rows)
    warn(
        f"max_time is short: the clusters are those of {n_some} of the {n_rows} rows, drawn at random; the others "
        "follow the nearest of these. Give more time.",
        ConvergenceWarning,
    )
    some = _drawn(n_rows, n_some, needed, random)
    each = n_clusters * _FOLLOWING_PER_CLUSTER + n_neighbors * _FOLLOWING_PER_NEIGHBOR
    return SomeRows(some, n_rows * (pace.per_pair * n_some + pace.per_multiply_add * each))


def _seconds_of_graph(source: RowSource, pace: Pace) -> float:
    """Return how long the quickest search takes."""
    n_rows = source.shape[0]
    exact = pace.per_pair * float(n_rows) ** 2
    if source.is_sparse:
        return exact
    return min(exact, pace.per_pair * n_rows * (_WORK_PER_ROOT * np.sqrt(n_rows) + _WORK_PER_ROW))


def _drawn(n_rows: int, n_some: int, needed: IndexArray, random: np.random.RandomState) -> IndexArray:
    if len(needed) > n_some // 2:
        needed = random.choice(needed, n_some // 2, replace=False)
    order = random.permutation(n_rows)
    drawn = np.concatenate([needed, order[~np.isin(order, needed)]])[:n_some]
    return np.sort(drawn)


def graph_with_followers(
    graph: sp.csr_array, some: IndexArray, others: IndexArray, ids: IntArray, weights: Array, symmetrize: str
) -> sp.csr_array:
    """Return the graph of all rows in which neighbours were looked for among some rows only.

    Parameters
    ----------
    graph : csr_array of shape (m, m)
        Of those rows, made symmetric already as it is to be.
    some, others : ndarray of shape (m,) and (n - m,)
        Which rows they are, and all others.
    ids : ndarray of shape (n - m, n_neighbors), int32
        The nearest of the former to the latter.
    weights : ndarray of the same shape
        Of these edges.
    symmetrize : {"max", "mean", "none"}
        See `coterie.graphs.knn_graph`.

    Returns
    -------
    csr_array of shape (n, n)
        With sorted indices.
    """
    inner = sp.coo_array(graph)
    heads, tails = np.repeat(others, ids.shape[1]), some[ids.ravel()]
    values = weights.ravel().astype(graph.dtype, copy=False)
    if symmetrize == "mean":
        values = values * graph.dtype.type(0.5)
    ways = [(heads, tails)] if symmetrize == "none" else [(heads, tails), (tails, heads)]
    n_rows = len(some) + len(others)
    rows = np.concatenate([some[inner.row], *(way[0] for way in ways)]).astype(np.int32)
    columns = np.concatenate([some[inner.col], *(way[1] for way in ways)]).astype(np.int32)
    data = np.concatenate([inner.data, *(values for _ in ways)])
    joined = sp.csr_array(sp.coo_array((data, (rows, columns)), shape=(n_rows, n_rows)))
    joined.eliminate_zeros()
    joined.sort_indices()
    return joined


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
    Sparse rows are compared with all others, whatever time that takes: `rows_in_time` sees to it that they are few.
    """
    search = partial(nearest_neighbors, rows, n_neighbors, random_state=random_state, n_threads=n_threads)
    source = as_rows(rows)
    if not phase.deadline.is_set or source.is_sparse:
        return search()
    n_rows, n_columns = source.shape
    pace = Pace.of(source, effective_n_threads(n_threads))
    usual = min(LEAST_WORK, float(n_rows) ** 2 * n_columns)
    if _TIMES_LEAST * pace.per_multiply_add * usual <= phase.deadline.left:
        return search()
    return _hurried_search(rows, n_neighbors, random_state, effective_n_threads(n_threads), pace, phase)


def _hurried_search(
    rows: Any, n_neighbors: int, random_state: Seed, n_threads: int, pace: Pace, phase: Phase
) -> tuple[IntArray, Array]:
    """Search in as few cells as find half of the nearest rows, or in those that there is time for."""
    seed = int(random_stream(random_state).randint(np.iinfo(np.int32).max))
    n_rows, n_columns = rows.shape
    before = pace.per_multiply_add * _WORK_PER_ROW * n_rows * n_columns
    most_work = max(phase.deadline.left - before, 0.0) / (_TIMES_LEAST * pace.per_multiply_add)
    aim = Aim(_RECALL_IN_HASTE, most_work=most_work)
    ids, squares, recall = approximate_neighbors(rows, None, n_neighbors, aim, seed, n_threads)
    warn(
        f"max_time is short: about {recall:.0%} of the {n_neighbors} nearest rows of each were found. Give more time.",
        ConvergenceWarning,
    )
    return ids, squares
