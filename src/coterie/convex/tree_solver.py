"""Convex clustering with weights on a tree and the l1 norm: each column is a fused lasso on a tree, solved exactly.
Centroids give the dual flow, hence an exact certificate at each gamma. Edges fused at the previous gamma are
contracted; the kernel undoes this where their flow exceeds its bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from coterie import _kernels
from coterie.arrays import Array, FloatArray, IntArray
from coterie.convex.gammas import first_gamma, grid
from coterie.convex.path_solver import PathStep
from coterie.convex.problem import RepeatedRows
from coterie.convex.solvers import ConvexResult
from coterie.convex.weights import weights_of_edges, without_units
from coterie.fitting.checks import random_stream
from coterie.fitting.report import FitReport, Stop
from coterie.graphs.equal_rows import equal_rows
from coterie.graphs.spanning import near_rows, rooted_tree, spanning_tree

# Gaps below this share of the rows' energy are rounding errors.
_ROUNDING = 1e-12

# Factor of the last gamma above the one that fuses all rows, because of rounding.
_BEYOND = 1 + 1e-6


@dataclass(frozen=True)
class TreeProblem:
    """Rows on a tree whose m nodes are the distinct rows, depth first from the root 0."""

    data: Array  # (n, p): the rows
    columns: FloatArray  # (p, m), float64: the centered nodes
    sizes: FloatArray  # (m,): rows of each node
    parents: IntArray  # (m,), int32: parents come before their children; node 0 is the root
    weights: FloatArray  # (m,): weights of the edges to the parents
    nodes: IntArray  # (n,), int32: the node of each row
    rows: Array  # (m,): the first row of each node
    mean: FloatArray  # (p,): of the rows
    decay: float  # of the weights
    n_threads: int
    kernel: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", _kernels.weighted_tree(self.parents, self.sizes, self.weights))

    @property
    def edges(self) -> IntArray:
        """Rows at the ends of the edges, the lower one first, (m - 1, 2)."""
        ends = np.column_stack([self.rows[1:], self.rows[self.parents[1:]]])
        return np.sort(ends, axis=1).astype(np.int32)

    @property
    def last_gamma(self) -> float:
        """A gamma at which all rows are fused, and below which they are not, but for rounding."""
        return _BEYOND * float(_kernels.last_gamma(self.kernel, self.columns))

    def solve(self, gamma: float, fused: Array | None = None, *, wants_flows: bool = False) -> TreeSolution:
        """Solve for one gamma; `fused` of a smaller one, (p, m), is where rows are expected to be fused."""
        shape = self.columns.shape
        marks = np.zeros(shape, dtype=np.uint8) if fused is None else fused.copy()
        values, sums = np.empty(shape), np.empty((shape[0], 2))
        flows = np.empty(shape) if wants_flows else None
        _kernels.denoise_on_tree(self.kernel, gamma, self.columns, marks, values, flows, sums, self.n_threads)
        objective, gap = sums.sum(axis=0).tolist()
        return TreeSolution(gamma, values, marks, np.bitwise_and.reduce(marks, axis=0), objective, gap, flows)

    def clusters(self, found: TreeSolution) -> tuple[IntArray, RepeatedRows]:
        """Return the labels of the rows, numbered by their first rows, and their centroids."""
        joined = np.flatnonzero(found.joined)
        graph = sp.coo_array(
            (np.ones(len(joined)), (joined, self.parents[joined])), shape=2 * (len(self.parents),)
        )
        _, sets = csgraph.connected_components(graph, directed=False)
        _, firsts, places = np.unique(sets[self.nodes], return_index=True, return_inverse=True)
        labels = np.argsort(np.argsort(firsts)).astype(np.int32)[places]
        centroids = found.values[:, self.nodes[np.sort(firsts)]].T + self.mean
        return labels, RepeatedRows(centroids.astype(self.data.dtype), labels)


@dataclass(frozen=True)
class TreeSolution:
    """The minimum for one gamma on a tree."""

    gamma: float
    values: FloatArray  # (p, m): centroids of the nodes, around the mean
    fused: Array  # (p, m), uint8: whether a node has the value of its parent in each column
    joined: Array  # (m,), uint8: whether it has the value of its parent in all columns
    objective: float  # F
    gap: float  # F - D
    flows: FloatArray | None  # (p, m): duals of the edges to the parents

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.joined) - int(np.count_nonzero(self.joined))


def tree_problem(
    data: Array, *, n_neighbors: int, decay: float | str, random_state: Any = None, n_threads: int = 1
) -> TreeProblem:
    """Put rows on the spanning tree of their graph of nearest neighbors; weights that underflow are an error."""
    rows, scale = without_units(data)
    equal = equal_rows(data)
    first, points = equal.first, np.ascontiguousarray(rows[equal.first])
    k, seed = (
        min(n_neighbors, len(first) - 1),
        int(random_stream(random_state).randint(np.iinfo(np.int32).max)),
    )
    near = near_rows(points, k, method="auto", seed=seed, n_threads=n_threads)
    tree = spanning_tree(points, near, n_threads=n_threads)
    weights, found = weights_of_edges(tree.squares.astype(np.float64) * scale**2, decay, needs_all=True)
    order, parents, edges = rooted_tree(tree.firsts, tree.seconds)
    node_of = np.empty_like(order)
    node_of[order] = np.arange(len(order), dtype=np.int32)
    nodes = node_of[equal.places]
    mean = data.mean(axis=0, dtype=np.float64)
    return TreeProblem(
        data, np.ascontiguousarray((data - mean)[first[order]].T), np.bincount(nodes).astype(np.float64), parents,
        np.append(weights, 1.0)[np.where(parents == np.arange(len(order)), -1, edges)], nodes, first[order],
        mean, found, n_threads,
    )  # fmt: skip


def minimize_on_tree(problem: TreeProblem, gamma: float, *, report: FitReport) -> ConvexResult:
    """Find the centroids for one gamma; duals of edges point from the lower to the higher row."""
    found = problem.solve(gamma, wants_flows=True)
    labels, centroids = problem.clusters(found)
    report(
        found.objective, centroids.whole, n_steps=1, dual=found.objective - found.gap, gap=found.gap,
        n_clusters=found.n_clusters,
    )  # fmt: skip
    assert found.flows is not None
    is_lower = problem.rows[1:] < problem.rows[problem.parents[1:]]
    duals = np.where(is_lower[:, None], -found.flows[:, 1:].T, found.flows[:, 1:].T)
    return ConvexResult(
        centroids.whole(), labels, duals.astype(problem.data.dtype), found.objective, found.gap, found.n_clusters, 1,
        "converged", report.history(),
    )  # fmt: skip


def solve_tree_path(problem: TreeProblem, gammas: FloatArray, stop: Stop) -> Iterator[PathStep]:
    """Yield the solutions for ascending gammas."""
    allowed = _ROUNDING * 0.5 * float(np.sum(problem.sizes * problem.columns**2))
    fused = None
    for gamma in gammas.tolist():
        found = problem.solve(gamma, fused)
        fused = found.fused
        labels, centroids = problem.clusters(found)
        yield PathStep(
            gamma, labels, centroids, found.n_clusters, found.objective, found.gap, 1,
            found.gap <= stop.tolerance * found.objective + allowed,
        )  # fmt: skip


def default_tree_gammas(problem: TreeProblem, n_gammas: int) -> FloatArray:
    """Return 0 and a geometric grid from the first gamma that can fuse rows to the one that fuses all."""
    last = problem.last_gamma
    if last == 0:
        return np.zeros(1)
    heads, tails = np.arange(1, len(problem.parents), dtype=np.int32), problem.parents[1:]
    lengths = np.abs(problem.columns[:, heads] - problem.columns[:, tails]).max(axis=0)
    first = first_gamma(heads, tails, problem.weights[1:], lengths, problem.sizes)
    return grid(first, last, n_gammas)
