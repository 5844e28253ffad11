"""Moves of whole clusters, which descent of the relaxation cannot make: halve one and merge two, or cut two again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from coterie.arrays import Array, BoolArray, FloatArray, IndexArray, IntArray
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.graphs.cuts import cut_of_edges
from coterie.graphs.edges import edges_of_graph
from coterie.multilevel.solver import multilevel_partition
from coterie.total_variation.problem import CutProblem
from coterie.total_variation.rounding import matched_numbers

__all__ = ["cut_pairs_again", "split_and_merge"]

Halve = Callable[[sp.csr_array], Array]

# Replaces the infinite energy of an empty cluster, so that it can be subtracted from sums.
_EMPTY = 1e6

# Part of the mean energy of a cluster by which (P) must fall if a pair is cut again. Halves across the border cost
# twice that; smaller gains take one more run and are seldom better clusters.
_CLEARLY = 0.1


@dataclass(frozen=True)
class _Move:
    energy: float
    divided: int
    kept: int
    freed: int


def split_and_merge(
    problem: CutProblem, labels: IntArray, halve: Halve, most: int, deadline: Deadline = UNLIMITED
) -> IntArray:
    """Halve one cluster and merge two of those that result, as long as (P) falls.

    Parameters
    ----------
    problem : CutProblem
        With at least two clusters. Clusters are numbered so that most known classes agree; other labeled vertices are
        set to their classes.
    labels : ndarray of shape (n,), int32
        The clusters.
    halve : callable
        Returns 0 or 1 for each vertex of a part of the graph.
    most : int
        Moves, at most.
    deadline : Deadline
        Moves end when it has passed.

    Returns
    -------
    ndarray of shape (n,), int32

    Notes
    -----
    A move is the best of all R halved clusters and all pairs: O(edges + R^4) operations, and those of `halve`, which is
    called again only for clusters that have changed.
    """
    graph, n_clusters, edges = problem.graph, problem.n_clusters, edges_of_graph(problem.graph)
    balance_weights, weights = problem.balance_weights, problem.weights
    energy = cut_of_edges(edges, labels, n_clusters, balance_weights, weights)
    is_second = np.zeros(len(labels), dtype=bool)
    changed = np.arange(n_clusters)
    for _ in range(most):
        for cluster in changed:
            if deadline.is_over:
                return labels
            rows = np.flatnonzero(labels == cluster)
            is_second[rows] = halve(sp.csr_array(graph[rows][:, rows])) == 1 if len(rows) > 1 else False
        move = _best_move(graph, labels, is_second, balance_weights, weights)
        moved = np.where((labels == move.divided) & is_second, n_clusters, labels)
        moved[moved == move.freed] = move.kept
        moved[moved == n_clusters] = move.freed
        moved = _with_known(moved, problem.known, n_clusters)
        if problem.is_matched:
            moved = matched_numbers(edges, moved, balance_weights, weights)[moved].astype(np.int32)
        found = cut_of_edges(edges, moved, n_clusters, balance_weights, weights)
        if not found < energy:
            break
        changed = _changed(labels, moved, n_clusters)
        labels, energy = moved, found
    return labels


def cut_pairs_again(problem: CutProblem, labels: IntArray, deadline: Deadline = UNLIMITED) -> IntArray:
    """Cut the union of two clusters again where that clearly lowers (P), for the R pairs with the most edges between.

    Descent can end with a border inside of each of two clusters instead of between them. The smaller cut must keep as
    much of the weight of the edges at labeled vertices.

    Parameters
    ----------
    problem : CutProblem
        With labels of each class, and size bounds, if any.
    labels : ndarray of shape (n,), int32
        The clusters; labeled vertices are in theirs, and remain there.
    deadline : Deadline
        No further pairs when it has passed.

    Returns
    -------
    ndarray of shape (n,), int32
        The same array if no pair was cut again.

    Notes
    -----
    Unions are cut by multilevel partitions: O(R edges) operations at most.
    """
    graph, R, known, bounds = problem.graph, problem.n_clusters, problem.known, problem.bounds
    edges = edges_of_graph(graph)
    heads, tails = edges.heads, edges.tails
    at_labels = edges.weights * ((known[heads] >= 0) != (known[tails] >= 0))

    def cut_and_kept(labels: IntArray) -> tuple[float, float]:
        kept = at_labels @ (labels[heads] == labels[tails])
        return cut_of_edges(edges, labels, R, problem.balance_weights, problem.weights), kept

    energy, kept = cut_and_kept(labels)
    between = np.zeros((R, R))
    np.add.at(between, (labels[heads], labels[tails]), edges.weights)
    between = np.triu(between + between.T, 1)
    for pair in np.argsort(-between, axis=None, kind="stable")[: min(R, np.count_nonzero(between))]:
        if deadline.is_over:
            break
        ends = np.array(divmod(pair, R))
        rows = np.flatnonzero(np.isin(labels, ends))
        halves = multilevel_partition(sp.csr_array(graph[rows][:, rows]), 2)[0]
        most = energy * (1 - _CLEARLY / R)
        for numbers in (ends, ends[::-1]):
            moved = labels.copy()
            moved[rows] = numbers[halves]
            moved = np.where(known >= 0, known, moved)
            found, kept_by_it = cut_and_kept(moved)
            is_allowed = bounds is None or bounds.allow(np.bincount(moved, minlength=R))
            if found < most and kept_by_it >= kept and is_allowed:
                labels, energy, kept, most = moved, found, kept_by_it, found
    return labels


def _changed(before: IntArray, after: IntArray, n_clusters: int) -> IndexArray:
    """Return the clusters that have not existed before with the same rows."""
    table = np.bincount(before.astype(np.int64) * n_clusters + after, minlength=n_clusters**2) > 0
    table = table.reshape(n_clusters, n_clusters)
    from_one, to_one = table.sum(axis=0) == 1, table.sum(axis=1) == 1
    return np.flatnonzero(~(from_one & (table & to_one[:, None]).any(axis=0)))


def _with_known(labels: Array, known: IntArray, n_clusters: int) -> IntArray:
    """Number clusters to agree with as many known classes as possible, and set the other labeled vertices."""
    rows = np.flatnonzero(known >= 0)
    if len(rows) == 0:
        return labels.astype(np.int32)
    agreeing = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(agreeing, (labels[rows], known[rows]), 1)
    numbers = linear_sum_assignment(agreeing, maximize=True)[1]
    return np.where(known >= 0, known, numbers[labels]).astype(np.int32)


def _best_move(
    graph: sp.csr_array,
    labels: IntArray,
    is_second: BoolArray,
    balance_weights: FloatArray,
    weights_of_vertices: FloatArray | None = None,
) -> _Move:
    """Return the move to the lowest (P); the second half of the divided cluster counts as number R."""
    R = len(balance_weights)
    halves = 2 * labels.astype(np.int64) + is_second
    pairs = np.repeat(halves, np.diff(graph.indptr)) * (2 * R) + halves[graph.indices]
    weights = np.bincount(pairs, graph.data, minlength=4 * R * R).reshape(2 * R, 2 * R)
    sizes = np.bincount(halves, weights_of_vertices, minlength=2 * R)
    moves = []
    for divided in range(R):
        groups = np.arange(2 * R) // 2
        groups[2 * divided + 1] = R
        joined = np.eye(R + 1)[groups].T
        energies = _energies_of_merging(joined @ weights @ joined.T, joined @ sizes, balance_weights)
        energies[divided, R] = energies[R, divided] = np.inf
        kept, freed = np.unravel_index(int(energies.argmin()), energies.shape)
        moves.append(_Move(float(energies[kept, freed]), divided, int(kept), int(freed)))
    return min(moves, key=lambda move: move.energy)


def _energies_of_merging(weights: FloatArray, sizes: FloatArray, balance_weights: FloatArray) -> FloatArray:
    """Return (P) of R clusters for each pair of R + 1 that becomes one, [kept, freed]; infinite on the diagonal.

    The merged cluster has the lambda of the kept number, and number R that of the freed one. With R + 1 equal lambdas
    each pair occurs once, kept < freed.
    """
    n = sizes.sum()
    is_equal = np.ptp(balance_weights) == 0
    # The energy of number R, with the lambda of each number that it may get; in the sums below it has the last one.
    of_all = np.append(balance_weights, balance_weights[-1])

    def energy(cut: FloatArray, size: FloatArray, balance_weight: FloatArray) -> FloatArray:
        limits = np.minimum(balance_weight * size, n - size)
        return np.where(limits > 0, cut / np.where(limits > 0, limits, 1), _EMPTY)

    cuts = weights.sum(axis=1) - np.diag(weights)
    alone = energy(cuts, sizes, of_all)
    joined_cuts, joined_sizes = cuts[:, None] + cuts - weights - weights.T, sizes[:, None] + sizes
    together = energy(joined_cuts, joined_sizes, of_all[:, None])
    energies = alone.sum() - alone[:, None] - alone + together
    energies += energy(cuts[-1:], sizes[-1:], of_all) - alone[-1]
    energies[np.tri(len(sizes), dtype=bool) if is_equal else np.eye(len(sizes), dtype=bool)] = np.inf
    energies[-1] = np.inf
    return energies
