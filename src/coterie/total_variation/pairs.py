"""Pairs of clusters that are cut again, a move of many vertices, which descent of the relaxation cannot make."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from coterie.arrays import IntArray
from coterie.fitting.deadline import UNLIMITED, Deadline
from coterie.graphs.cuts import cut_of_edges
from coterie.graphs.edges import edges_of_graph
from coterie.multilevel.solver import multilevel_partition
from coterie.total_variation.problem import CutProblem

# Part of the mean energy of a cluster by which (P) must fall if a pair is cut again. Halves across the border cost
# twice that; smaller gains take one more run and are seldom better clusters.
_CLEARLY = 0.1


def cut_pairs_again(problem: CutProblem, labels: IntArray, deadline: Deadline = UNLIMITED) -> IntArray:
    """Cut the union of two clusters again where that clearly lowers (P), for the R pairs with the most edges
    between.

    Descent can end with a border inside of two clusters instead of between them. Labeled vertices remain in
    their clusters.
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
